// What a kernel reads of a row at a time: one column, or four neighbouring ones in the variants vec4, which need rows
// of a length that is a multiple of 4. A load of four costs hardly more than a load of one.

@if(vec4) alias Columns = vec4f;
@if(vec4) const COLUMNS: u32 = 4u;
@if(!vec4) alias Columns = f32;
@if(!vec4) const COLUMNS: u32 = 1u;

// The sum over the columns.
fn total(v: Columns) -> f32 {
    @if(vec4) return (v.x + v.y) + (v.z + v.w);
    @if(!vec4) return v;
}
