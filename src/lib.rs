//! Headroom trains small real networks on any GPU through WebGPU and shows where every byte of training memory goes.
//!
//! The modules stand in reading order; ARCHITECTURE.md has the map.
#![warn(clippy::disallowed_methods)]
#![cfg_attr(
    not(test),
    deny(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::unreachable
    )
)]

pub mod units;

pub mod dtype;

pub mod experiment;

pub mod graph;

pub mod nn;

pub mod technique;

pub mod plan;

pub mod data;

pub mod step;

pub mod engine;

pub mod fit;

pub mod report;

pub mod train;

pub mod lesson;

pub mod app;

#[cfg(not(target_arch = "wasm32"))]
pub mod cli;
