// Where an invocation stands in a dispatch that is one-dimensional in meaning.
//
// WebGPU allows 65535 workgroups in each dimension, so a larger dispatch is folded into rows of workgroups.
// `gid` is the global invocation id, `groups` the number of workgroups, `width` the invocations of a workgroup.
fn linear_index(gid: vec3u, groups: vec3u, width: u32) -> u32 {
    return gid.y * (groups.x * width) + gid.x;
}
