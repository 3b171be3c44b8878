// The logistic function in the form that the gate of SwiGLU and its derivative need.

import package::lib::columns::Columns;

// s(x) = 1 / (1 + exp(-x)) and 1 - s(x), which is computed as exp(-x) * s(x): a subtraction would lose its digits.
struct Logistic {
    s: Columns,
    rest: Columns,
}

// Past +-80 both are 0 or 1 to F32, and exp would come near to overflowing.
fn logistic(x: Columns) -> Logistic {
    let e = exp(-clamp(x, Columns(-80.0), Columns(80.0)));
    let s = 1.0 / (1.0 + e);
    return Logistic(s, e * s);
}
