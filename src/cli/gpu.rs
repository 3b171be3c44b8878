//! `headroom gpu`.

use super::args::GpuArgs;
use super::run::{check_outputs, is_stdout, write_json};
use super::{CliError, print};
use crate::engine::gpu::{AdapterReport, adapters};
use crate::units::Bytes;
use std::fmt::Write as _;

pub(super) fn gpu(args: &GpuArgs) -> Result<(), CliError> {
    check_outputs(None, args.json.as_deref(), &[])?;
    let all = pollster::block_on(adapters());
    let json = serde_json::to_string_pretty(&all)? + "\n";
    write_json(args.json.as_deref(), "JSON adapter list", &json)?;
    if args.json.as_deref().is_some_and(is_stdout) {
        return Ok(());
    }
    print(&describe(&all))
}

fn describe(all: &[AdapterReport]) -> String {
    if all.is_empty() {
        return "No graphics adapter was found: training runs on the CPU engine.\n\
            On Linux without a graphics card, mesa-vulkan-drivers brings a software one.\n"
            .into();
    }
    let mut text = String::new();
    for adapter in all {
        // Writing to a string cannot fail.
        let _ = describe_one(adapter, &mut text);
    }
    text
}

fn describe_one(adapter: &AdapterReport, text: &mut String) -> std::fmt::Result {
    let info = &adapter.info;
    let preferred = if adapter.preferred {
        "  <- used for training"
    } else {
        ""
    };
    writeln!(text, "{}{preferred}", info.adapter)?;
    writeln!(
        text,
        "  backend                 {} ({})",
        info.backend, info.device_type
    )?;
    writeln!(
        text,
        "  driver                  {}",
        if info.driver.is_empty() {
            "unknown"
        } else {
            &info.driver
        }
    )?;
    let features = if info.features.is_empty() {
        "none".to_owned()
    } else {
        info.features.join(", ")
    };
    writeln!(text, "  optional features       {features}")?;
    writeln!(
        text,
        "  largest binding         {}",
        Bytes(adapter.max_binding_bytes)
    )?;
    writeln!(
        text,
        "  largest buffer          {}",
        Bytes(adapter.max_buffer_bytes)
    )?;
    writeln!(
        text,
        "  workgroup               {} invocations, {}",
        adapter.max_workgroup_invocations,
        Bytes(u64::from(adapter.max_workgroup_bytes))
    )?;
    writeln!(
        text,
        "  workgroups a dimension  {}",
        adapter.max_workgroups_per_dimension
    )?;
    writeln!(
        text,
        "  storage buffers bound   {}",
        adapter.max_storage_buffers
    )?;
    let [vectors, any] = adapter.matmul;
    writeln!(
        text,
        "  matrix product          {vectors} where the sides are multiples of 4, else {any}"
    )
}
