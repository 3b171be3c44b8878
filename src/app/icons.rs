//! The two icons that the lesson text's copy button needs, drawn here: the fonts that hold them weigh 700 KiB, which
//! every visitor of the page would download.

use egui::epaint::text::{GlyphBitmap, GlyphRasterizer, GlyphRasterizerRequest, RasterizedGlyph};
use egui::{Color32, ColorImage, Pos2, Vec2, pos2, vec2};

/// Half the width of a drawn line, as a share of the font size.
const HALF_STROKE: f32 = 0.045;

/// Lines in a square of side 1; y points down.
type Lines = &'static [&'static [[f32; 2]]];

/// Two sheets, the rear one half hidden.
const COPY: Lines = &[
    &[
        [0.15, 0.30],
        [0.60, 0.30],
        [0.60, 0.95],
        [0.15, 0.95],
        [0.15, 0.30],
    ],
    &[
        [0.32, 0.30],
        [0.32, 0.12],
        [0.80, 0.12],
        [0.80, 0.75],
        [0.60, 0.75],
    ],
];
/// A check mark.
const CHECK: Lines = &[&[[0.12, 0.55], [0.38, 0.82], [0.85, 0.20]]];

/// Makes the icons known to `ctx`.
pub(super) fn install(ctx: &egui::Context) {
    ctx.add_glyph_rasterizer(GlyphRasterizer::new("headroom::icons", rasterize));
}

fn rasterize(request: &GlyphRasterizerRequest<'_>) -> Option<RasterizedGlyph> {
    let lines = match request.cluster {
        "🗐" => COPY,
        "✔" => CHECK,
        _ => return None,
    };
    let size = request.font_size_px;
    let side = size.ceil().max(1.0) as usize;
    let offset = vec2(request.subpixel_offset_px, 0.0);
    let alphas = (0..side * side).map(|index| {
        let pixel = pos2((index % side) as f32 + 0.5, (index / side) as f32 + 0.5) - offset;
        let distance = distance(lines, (pixel.to_vec2() / size).to_pos2()) - HALF_STROKE;
        // A pixel whose centre lies on the edge is half covered.
        let coverage = (0.5 - distance * size).clamp(0.0, 1.0);
        Color32::from_white_alpha((coverage * 255.0) as u8)
    });
    let image = ColorImage::new([side, side], alphas.collect());
    // The origin of a glyph is on the base line, about a fifth of the size above the lower end of the square.
    let bitmap = GlyphBitmap {
        image,
        offset_px: vec2(0.0, -0.85 * size),
        is_color: false,
    };
    Some(RasterizedGlyph {
        bitmap,
        advance_px: size,
    })
}

/// From `point` to the nearest of the lines.
fn distance(lines: Lines, point: Pos2) -> f32 {
    let segments = lines.iter().flat_map(|line| line.windows(2));
    segments.fold(f32::INFINITY, |nearest, ends| match ends {
        [from, to] => nearest.min(to_segment(point, Pos2::from(*from), Pos2::from(*to))),
        _ => nearest,
    })
}

fn to_segment(point: Pos2, from: Pos2, to: Pos2) -> f32 {
    let along: Vec2 = to - from;
    let share = ((point - from).dot(along) / along.length_sq()).clamp(0.0, 1.0);
    (from + along * share).distance(point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::FontFamily;

    #[test]
    fn icons_have_ink_and_other_characters_are_left_to_the_fonts() {
        let draw = |cluster| {
            let family = FontFamily::Proportional;
            rasterize(&GlyphRasterizerRequest {
                cluster,
                family: &family,
                font_size_px: 14.0,
                subpixel_offset_px: 0.0,
            })
        };
        for icon in ["🗐", "✔"] {
            let image = draw(icon).expect("an icon").bitmap.image;
            let inked = image.pixels.iter().filter(|pixel| pixel.a() > 128).count();
            assert!(
                (5..image.pixels.len() / 2).contains(&inked),
                "{icon}: {inked} pixels"
            );
        }
        assert!(draw("A").is_none());
    }
}
