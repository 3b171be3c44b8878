//! Bounds that fields of several models share.

use super::section::Problems;

/// Checks `model.dropout`.
pub(super) fn check_dropout(dropout: f32, problems: &Problems) {
    if !(0.0..1.0).contains(&dropout) {
        let allowed = "must be at least 0 and below 1 (the share of outputs set to zero)";
        problems.value("model.dropout", dropout, allowed);
    }
}

/// Checks that a count of the model lies between `least` and `most`.
pub(super) fn check_count(
    field: &str,
    count: usize,
    (least, most): (usize, usize),
    problems: &Problems,
) {
    if !(least..=most).contains(&count) {
        let allowed = format!("must be {least} to {most}");
        problems.value(&format!("model.{field}"), count, &allowed);
    }
}
