//! The files of `lessons/` that are part of the program, so that lessons work in a browser too.

/// The folder of a lesson.
pub(super) struct Folder {
    /// Its name.
    pub(super) slug: &'static str,
    /// The text of `lesson.md`.
    pub(super) markdown: &'static str,
    /// Name without `.toml` and text of each experiment.
    pub(super) experiments: &'static [(&'static str, &'static str)],
    /// The text of `claims.toml`.
    pub(super) claims: &'static str,
}

/// Takes in the folder `$slug` with the named experiments.
macro_rules! folder {
    ($slug:literal, [$($experiment:literal),+ $(,)?]) => {
        Folder {
            slug: $slug,
            markdown: include_str!(concat!("../../lessons/", $slug, "/lesson.md")),
            experiments: &[$((
                $experiment,
                include_str!(concat!("../../lessons/", $slug, "/", $experiment, ".toml")),
            )),+],
            claims: include_str!(concat!("../../lessons/", $slug, "/claims.toml")),
        }
    };
}

/// All lessons in reading order, each with its experiments in the order its text brings them up.
pub(super) const FOLDERS: &[Folder] = &[
    folder!("01-where-memory-goes", ["base", "large-batch", "sgd"]),
    folder!(
        "02-efficient-architectures",
        ["base", "mobilenet", "efficientnet"]
    ),
    folder!(
        "03-attention-memory",
        ["base", "long", "fused", "long-fused", "all-fused"]
    ),
    folder!("04-fused-loss", ["base", "fused"]),
];
