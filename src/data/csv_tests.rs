//! Tests of tables: labels, numbers, encodings, and each way a table can be bad.

use super::*;
use crate::data::tests::{Folder, data, load, load_picked, refused, sample};
use crate::data::{Split, source_info};

const TABLE: &str = "size,kind,weight\n1.5,cat,2\n-3,dog,4e2\n5,cat,6\n7,ant,8\n";

fn load_text(text: impl AsRef<[u8]>, label: &str) -> Result<Split, DataError> {
    let folder = Folder::new();
    let mut data = data("csv", &folder.write("table.csv", text));
    data.label = label.to_owned();
    let split = load(&data, None);
    // What is said before loading is what comes.
    if let (Ok(split), Ok(info)) = (&split, source_info(&data)) {
        assert_eq!(split.info, info);
    }
    split
}

/// Every row as (class, numbers), training part first.
fn rows(split: &Split) -> Vec<(String, Vec<f32>)> {
    let of = |part: &crate::data::Dataset| -> Vec<_> {
        let row = |index: u32| {
            let class = part.labels[index as usize] as usize;
            (split.info.class_names()[class].clone(), sample(part, index))
        };
        (0..part.len() as u32).map(row).collect()
    };
    [of(&split.train), of(&split.test)].concat()
}

#[test]
fn columns_beside_the_label_are_the_features_in_their_order() {
    let split = load_text(TABLE, "kind").unwrap();
    assert_eq!(split.info.class_names(), ["ant", "cat", "dog"]);
    assert_eq!(
        (split.info.shape(), split.train.len(), split.test.len()),
        (&[2][..], 3, 1)
    );
    let expected = [
        ("cat", [1.5, 2.0]),
        ("dog", [-3.0, 400.0]),
        ("cat", [5.0, 6.0]),
        ("ant", [7.0, 8.0]),
    ];
    let expected: Vec<_> = expected
        .map(|(class, row)| (class.to_owned(), row.to_vec()))
        .to_vec();
    assert_eq!(rows(&split), expected);
}

/// DL-19: a mark, other line ends, blanks and quotes are no part of a name.
#[test]
fn a_label_column_is_found_behind_a_mark() {
    let table = "label,text\n1,5\n0,6\n1,7\n";
    let expected = rows(&load_text(table, "label").unwrap());
    let marked = [b"\xef\xbb\xbf", table.as_bytes()].concat();
    let crlf = table.replace('\n', "\r\n");
    let wide: Vec<u8> = table.encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (name, bytes) in [
        ("mark", marked.clone()),
        ("crlf", crlf.clone().into_bytes()),
        ("mark and crlf", [b"\xef\xbb\xbf", crlf.as_bytes()].concat()),
        ("utf-16", [&[0xff, 0xfe], &wide[..]].concat()),
        (
            "quotes and blanks",
            b"\"label\" , text\n\n\"1\",5\n0, 6\n1,7".to_vec(),
        ),
    ] {
        assert_eq!(
            rows(&load_text(&bytes, "label").unwrap()),
            expected,
            "{name}"
        );
    }
    let picked = load_picked("csv", "csv_tests.csv", &marked).unwrap();
    assert_eq!(rows(&picked), expected);
}

#[test]
fn whole_labels_are_their_own_classes() {
    for (labels, names, numbers) in [
        (["2", "0", "2"], &["0", "1", "2"][..], [2, 0, 2]),
        (["1.0", "0.0", "1"], &["0", "1"], [1, 0, 1]),
        (["-1", "1", "-1"], &["-1", "1"], [0, 1, 0]),
        (["10", "9", "x"], &["10", "9", "x"], [0, 1, 2]),
        (["100000", "7", "7"], &["100000", "7"], [0, 1, 1]),
    ] {
        let table = format!(
            "a,label\n1,{}\n2,{}\n3,{}\n",
            labels[0], labels[1], labels[2]
        );
        let split = load_text(table, "label").unwrap();
        assert_eq!(split.info.class_names(), names, "{labels:?}");
        let found = [&split.train.labels[..], &split.test.labels].concat();
        assert_eq!(found, numbers, "{labels:?}");
    }
}

#[test]
fn whole_numbers_up_to_255_are_kept_as_bytes() {
    let split = load_text("a,b,label\n0,255,0\n51,102,1\n", "label").unwrap();
    assert_eq!(sample(&split.train, 0), [0.0, 1.0]);
    assert_eq!(split.train.bytes() + split.test.bytes(), 4 + 8);
}

#[test]
fn a_missing_label_column_names_the_ones_there_are() {
    refused(
        load_text(TABLE, "label"),
        &[
            "table.csv: there is no column data.label = \"label\"",
            "size, kind, weight",
            "set data.label to one of these",
        ],
    );
    refused(
        load_text("a;label\n1;2\n", "label"),
        &["names a;label; columns must be separated by commas"],
    );
    let wide: Vec<String> = (0..800).map(|column| format!("p{column}")).collect();
    refused(
        load_text(wide.join(","), "label"),
        &["p0, p1,", "p11 and 788 more"],
    );
    refused(
        load_text("label,x,label\n1,2,3\n", "label"),
        &["two columns have the name data.label = \"label\""],
    );
    refused(
        load_text("label\n1\n2\n", "label"),
        &["no column beside data.label = \"label\""],
    );
}

#[test]
fn bad_cells_are_named_by_line_and_column() {
    for (row, parts) in [
        (
            "x,cat,3",
            &["line 6, column \"size\": \"x\" is no finite number"][..],
        ),
        (
            "1,cat,",
            &[
                "line 6, column \"weight\": \"\" is no finite number",
                "remove",
            ],
        ),
        ("nan,cat,3", &["column \"size\": \"nan\" is no finite"]),
        ("1,cat,1e99", &["column \"weight\": \"1e99\" is no finite"]),
        ("1,,3", &["line 6 has no label in column \"kind\""]),
        (
            "1,cat",
            &["line 6 has 2 values, the first line names 3 columns"],
        ),
        ("1,cat,2,3", &["line 6 has 4 values"]),
    ] {
        let table = format!("{TABLE}{row}\n");
        refused(
            load_text(table, "kind"),
            &[&["table.csv: "][..], parts].concat(),
        );
    }
}

/// DL-21: without rows there is no training.
#[test]
fn tables_without_rows_are_errors() {
    refused(
        load_text("", "label"),
        &["table.csv: there are no samples in it", "names the columns"],
    );
    refused(
        load_text("a,label\n", "label"),
        &["there are no samples in it; give a file with rows"],
    );
    refused(
        load_text("a,label\n1,2\n", "label"),
        &["there is only 1 sample in it"],
    );
}

#[test]
fn a_column_of_measurements_is_no_column_of_classes() {
    let rows: String = (0..=MOST_CLASSES)
        .map(|row| format!("1,{row}.5\n"))
        .collect();
    refused(
        load_text(format!("a,label\n{rows}"), "label"),
        &["column \"label\" has more than 65536 different values"],
    );
}
