//! Headroom.
