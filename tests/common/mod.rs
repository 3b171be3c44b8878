//! What the integration tests share: experiments, tiny data, and engines that must be there.
#![allow(dead_code, reason = "each test binary uses its own part")]
