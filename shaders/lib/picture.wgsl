// Where a pixel stands: pictures are stored [batch, height, width, channels], pixels are counted through all of them.

struct Place {
    picture: u32,
    y: u32,
    x: u32,
}

fn place(pixel: u32, height: u32, width: u32) -> Place {
    let row = pixel / width;
    return Place(row / height, row % height, pixel % width);
}

// Four pixels in a row of all pixels. Those from `end` on repeat the last one; what is made of them is not stored.
struct Places {
    picture: vec4u,
    y: vec4u,
    x: vec4u,
}

fn places(first: u32, end: u32, height: u32, width: u32) -> Places {
    let pixel = min(vec4u(first) + vec4u(0u, 1u, 2u, 3u), vec4u(end - 1u));
    let row = pixel / width;
    return Places(row / height, row % height, pixel % width);
}
