//! Samples by path, through the whole program: text, CSV, pictures and arrays, and what is refused.

use std::path::Path;

/// What a run of the program has left.
struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn headroom(args: &[&str]) -> Ran {
    let output = crate::headroom().args(args).output().unwrap();
    Ran {
        code: output.status.code().unwrap(),
        stdout: crate::stdout(&output),
        stderr: crate::stderr(&output),
    }
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// An experiment with this model and data.
fn experiment(folder: &Path, model: &str, data: &str) -> String {
    let text = format!(
        "name = \"by path\"\n[model]\n{model}\n[data]\n{data}\n[train]\nsteps = 3\noptimizer = {{ kind = \"adam\", lr = 0.01 }}\n"
    );
    let file = folder.join("run.toml");
    std::fs::write(&file, text).unwrap();
    file.display().to_string()
}

#[test]
fn a_csv_with_a_byte_order_mark_and_windows_line_ends_trains() {
    let folder = tempfile::tempdir().unwrap();
    let csv = folder.path().join("flowers.csv");
    let mut text = String::from("\u{feff}label,a,b\r\n");
    for i in 0..40 {
        let kind = ["rose", "lily"][i % 2];
        text.push_str(&format!("{kind},{}.5,{}\r\n", i % 2 * 3, i % 5));
    }
    std::fs::write(&csv, text).unwrap();
    let data = format!(
        "source = \"csv\"\npath = {:?}\nbatch = 8",
        csv.display().to_string()
    );
    let file = experiment(folder.path(), "kind = \"mlp\"\nhidden = [8]", &data);
    let output = headroom(&["run", &file, "--json", "-", "--quiet"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let report = json(&output.stdout);
    assert_eq!(report["loss"]["curve"].as_array().unwrap().len(), 3);
    assert_eq!(report["model"]["parameters"], 2 * 8 + 8 + 8 * 2 + 2);
    assert_eq!(
        report["metrics"]["test_top5"],
        serde_json::Value::Null,
        "two classes have no top five"
    );

    let wrong = headroom(&["run", &file, "--set", "data.label=kind", "--quiet"]);
    assert_eq!(wrong.code, 2);
    for part in ["kind", "label", "flowers.csv"] {
        assert!(
            wrong.stderr.contains(part),
            "{part} is missing in: {}",
            wrong.stderr
        );
    }
}

#[test]
fn a_folder_of_pictures_trains_a_convolutional_network() {
    let folder = tempfile::tempdir().unwrap();
    for (class, level) in [("dark", 20u8), ("light", 220)] {
        let path = folder.path().join("pictures").join(class);
        std::fs::create_dir_all(&path).unwrap();
        for i in 0..12u8 {
            let picture =
                image::RgbImage::from_pixel(20, 14, image::Rgb([level + i, level, level]));
            picture.save(path.join(format!("{i}.png"))).unwrap();
        }
    }
    let path = folder.path().join("pictures").display().to_string();
    let data = format!("source = \"images\"\npath = {path:?}\nsize = 16\nbatch = 8");
    let file = experiment(
        folder.path(),
        "kind = \"cnn\"\nwidth = 4\nstages = 2\ndepth = 6",
        &data,
    );
    let output = headroom(&["run", &file, "--json", "-", "--quiet"]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    let report = json(&output.stdout);
    assert_eq!(
        report["model"]["layers"][0]["output"],
        serde_json::json!([16, 16, 4])
    );

    std::fs::write(
        folder.path().join("pictures/dark/broken.png"),
        b"no picture",
    )
    .unwrap();
    let broken = headroom(&["run", &file, "--quiet"]);
    assert_eq!(broken.code, 2);
    assert!(broken.stderr.contains("broken.png"), "{}", broken.stderr);
}

#[test]
fn a_text_trains_a_transformer_that_goes_on_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let text = folder.path().join("rhyme.txt");
    std::fs::write(
        &text,
        "the cat sat on the mat and the rat sat on the cat\n".repeat(40),
    )
    .unwrap();
    let path = text.display().to_string();
    let data = format!(
        "source = \"text\"\npath = {path:?}\nbatch = 4\ntokenizer = {{ kind = \"bpe\", vocabulary = 270 }}"
    );
    let model = "kind = \"transformer\"\nlayers = 1\nwidth = 16\nheads = 2\ncontext = 8";
    let file = experiment(folder.path(), model, &data);
    let args = [
        "run", &file, "--sample", "12", "--prompt", "the cat", "--json",
    ];
    let out = folder.path().join("out.json").display().to_string();
    let output = headroom(&[&args[..], &[&out]].concat());
    assert_eq!(output.code, 0, "{}", output.stderr);
    let report = json(&std::fs::read_to_string(&out).unwrap());
    let sample = report["sample"].as_str().unwrap();
    assert!(
        sample.starts_with("the cat") && sample.len() > 12,
        "{sample}"
    );
    assert!(
        output.stdout.contains("Sampled text:") && output.stdout.contains("perplexity"),
        "{}",
        output.stdout
    );
    assert!(report["metrics"]["test_accuracy"].is_null());

    // A sample of a model without text, and a model without text on one, are refused before anything is trained.
    let mlp = experiment(folder.path(), "kind = \"mlp\"\nhidden = [4]", &data);
    let refused = headroom(&["run", &mlp, "--sample", "5"]);
    assert_eq!(refused.code, 2);
    assert!(
        refused.stderr.contains("predicts no text"),
        "{}",
        refused.stderr
    );
    let refused = headroom(&["plan", &mlp]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("transformer"), "{}", refused.stderr);

    std::fs::write(&text, "").unwrap();
    let file = experiment(folder.path(), model, &data);
    let empty = headroom(&["run", &file, "--quiet"]);
    assert_eq!(empty.code, 2);
    assert!(empty.stderr.contains("rhyme.txt"), "{}", empty.stderr);
}

#[test]
fn plan_prints_layers_and_what_separable_ones_save() {
    let folder = tempfile::tempdir().unwrap();
    let data = "source = \"fashion-mnist\"\nbatch = 4";
    let file = experiment(
        folder.path(),
        "kind = \"mobilenet\"\nwidth = 0.25\nlayers = 2",
        data,
    );
    let output = headroom(&["plan", &file]);
    assert_eq!(output.code, 0, "{}", output.stderr);
    for part in [
        "multiply-adds",
        "layer1.pointwise",
        "1/N + 1/K²",
        "0.142361",
    ] {
        assert!(
            output.stdout.contains(part),
            "{part} is missing in: {}",
            output.stdout
        );
    }
}
