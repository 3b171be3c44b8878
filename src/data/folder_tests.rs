//! Tests of folders of images: layouts, formats, and what is no image.

use super::*;
use crate::data::tests::{Folder, data, load, noticed, refused, sample};
use crate::data::{Split, source_info};
use image::{GrayImage, ImageFormat, Luma, Rgb, RgbImage, Rgba, RgbaImage};
use std::io::Cursor;

fn encode(image: impl Into<DynamicImage>, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    image.into().write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

fn png(colour: [u8; 3]) -> Vec<u8> {
    encode(RgbImage::from_pixel(4, 4, Rgb(colour)), ImageFormat::Png)
}

fn load_folder(folder: &Folder, size: usize) -> Result<Split, DataError> {
    let mut data = data("images", &folder.shown());
    data.size = size;
    let split = load(&data, None);
    if let Ok(split) = &split {
        assert_eq!(split.info, source_info(&data).unwrap());
    }
    split
}

/// Two classes with three images each.
fn two_classes() -> Folder {
    let folder = Folder::new();
    for (class, shade) in [("dogs", 100), ("cats", 200)] {
        for number in 0..3 {
            folder.write(&format!("{class}/{number}.png"), png([shade, number, 7]));
        }
    }
    folder
}

#[test]
fn folders_are_classes_in_the_order_of_their_names() {
    let split = load_folder(&two_classes(), 4).unwrap();
    assert_eq!(split.info.class_names(), ["cats", "dogs"]);
    assert_eq!(split.info.shape(), [4, 4, 3]);
    assert_eq!(
        (split.train.labels.as_slice(), split.test.labels.as_slice()),
        (&[0, 0, 0, 1, 1][..], &[1][..])
    );
    assert!(split.notices.is_empty());
    let scaled = |bytes: [u8; 3]| bytes.map(|byte| f32::from(byte) / 255.0);
    assert_eq!(sample(&split.train, 1)[..3], scaled([200, 1, 7]));
    assert_eq!(sample(&split.test, 0)[45..], scaled([100, 2, 7]));
}

#[test]
fn images_are_resized_to_squares_whatever_their_format() {
    let folder = two_classes();
    let wide = RgbImage::from_fn(8, 2, |x, _| {
        if x < 4 {
            Rgb([0, 0, 0])
        } else {
            Rgb([255, 255, 255])
        }
    });
    for (name, format) in [
        ("a.bmp", ImageFormat::Bmp),
        ("b.gif", ImageFormat::Gif),
        ("c", ImageFormat::Png),
    ] {
        let folder = Folder::new();
        folder.write(&format!("x/{name}"), encode(wide.clone(), format));
        folder.write("x/z.png", png([1, 1, 1]));
        let split = load_folder(&folder, 2).unwrap();
        let halves = sample(&split.train, 0);
        assert!(halves[0] < 0.2 && halves[3] > 0.8, "{name}: {halves:?}");
    }
    folder.write(
        "cats/grey.png",
        encode(GrayImage::from_pixel(9, 5, Luma([50])), ImageFormat::Png),
    );
    folder.write(
        "cats/clear.PNG",
        encode(
            RgbaImage::from_pixel(3, 3, Rgba([50, 50, 50, 9])),
            ImageFormat::Png,
        ),
    );
    folder.write(
        "cats/photo.JPG",
        encode(
            RgbImage::from_pixel(16, 16, Rgb([50, 50, 50])),
            ImageFormat::Jpeg,
        ),
    );
    let split = load_folder(&folder, 3).unwrap();
    assert_eq!(split.train.len() + split.test.len(), 9);
    for index in [3, 4, 5] {
        let grey = sample(&split.train, index);
        assert_eq!(grey.len(), 27);
        assert!(
            grey.iter()
                .all(|&value| (value - 50.0 / 255.0).abs() < 0.02),
            "{index}: {grey:?}"
        );
    }
}

#[test]
fn parts_may_have_folders_of_their_own() {
    for name in TEST {
        let folder = Folder::new();
        folder.write("train/a/1.png", png([9, 9, 9]));
        folder.write("train/b/1.png", png([8, 8, 8]));
        folder.write(&format!("{name}/b/2.png"), png([7, 7, 7]));
        folder.write("notes.txt", "beside the parts nothing is looked at");
        let split = load_folder(&folder, 4).unwrap();
        assert_eq!(
            (split.train.labels.as_slice(), split.test.labels.as_slice()),
            (&[0, 1][..], &[1][..])
        );
        assert!(split.notices.is_empty(), "{:?}", split.notices);
        folder.write(&format!("{name}/c/3.png"), png([7, 7, 7]));
        refused(
            load_folder(&folder, 4),
            &[
                &format!("{name}/c: "),
                "train has no folder of this name",
                "its folders are a, b",
            ],
        );
    }
    let folder = Folder::new();
    folder.write("train/a/1.png", png([9, 9, 9]));
    folder.write("train/a/2.png", png([9, 9, 9]));
    assert_eq!(
        load_folder(&folder, 4).unwrap().test.len(),
        1,
        "a share of train is held out"
    );
    folder.write("val/a/1.png", png([9, 9, 9]));
    folder.write("test/a/1.png", png([9, 9, 9]));
    noticed(
        &load_folder(&folder, 4).unwrap(),
        &["val: the folder is not used, a test folder is there"],
    );
}

#[test]
fn what_is_no_image_is_counted_in_one_notice() {
    let folder = two_classes();
    folder.write("cats/notes.txt", "not an image");
    folder.write("dogs/Thumbs.db", [0, 1, 2]);
    folder.write("dogs/more/1.png", png([1, 1, 1]));
    folder.write("dogs/.hidden", "not even counted");
    folder.write("readme.md", "beside the classes");
    let split = load_folder(&folder, 4).unwrap();
    assert_eq!(split.train.len() + split.test.len(), 6);
    noticed(
        &split,
        &[
            "skipped 2 files and 1 folder that are no images",
            "cats/notes.txt",
        ],
    );
}

/// DL-21: an empty class is no error as long as others have images.
#[test]
fn an_empty_class_is_a_notice_and_an_empty_set_an_error() {
    let folder = two_classes();
    fs::create_dir(folder.path("birds")).unwrap();
    fs::create_dir(folder.path("ants")).unwrap();
    let split = load_folder(&folder, 4).unwrap();
    assert_eq!(split.info.class_names(), ["ants", "birds", "cats", "dogs"]);
    assert_eq!(split.train.labels, [2, 2, 2, 3, 3]);
    noticed(
        &split,
        &["no images in ", "ants, ", "birds, so these add no samples"],
    );
    let empty = Folder::new();
    refused(
        load_folder(&empty, 4),
        &[&empty.shown(), "there are no samples in it; give a folder"],
    );
    fs::create_dir(empty.path("a")).unwrap();
    refused(
        load_folder(&empty, 4),
        &["there are no samples in it; give a folder"],
    );
    refused(
        load(&data("images", "/nowhere"), None),
        &["data.path = \"/nowhere\"", "this is none"],
    );
}

#[test]
fn a_broken_image_is_named() {
    let folder = two_classes();
    let sound = png([1, 2, 3]);
    for bytes in [
        &sound[..sound.len() / 2],
        b"GIF89a",
        b"no image at all",
        b"",
    ] {
        folder.write("dogs/1.png", bytes);
        refused(
            load_folder(&folder, 4),
            &[
                "dogs/1.png: the image cannot be decoded",
                "mend it or remove it",
            ],
        );
    }
    // Of two the first is told, on however many processors they are found.
    folder.write("cats/2.png", "broken");
    refused(load_folder(&folder, 4), &["cats/2.png"]);
    let damaged = Folder::new();
    let image = encode(
        RgbImage::from_fn(8, 8, |x, y| Rgb([x as u8, y as u8, 9])),
        ImageFormat::Jpeg,
    );
    damaged.write("a/0.png", png([1, 2, 3]));
    for place in (0..image.len()).step_by(3) {
        let mut bytes = image.clone();
        bytes[place] ^= 0xff;
        damaged.write("a/1.jpg", bytes);
        // Whether a bit is noticed is the decoder's business; it must not end the program.
        let _ = load_folder(&damaged, 4);
    }
}

#[test]
fn formats_that_are_not_read_are_refused_and_not_skipped() {
    let folder = two_classes();
    folder.write("cats/photo.WebP", "RIFF");
    refused(
        load_folder(&folder, 4),
        &["photo.WebP", ".webp images are not read; convert them"],
    );
}
