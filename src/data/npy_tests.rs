//! Tests of one array: types of elements, order, versions, and each way a file can be bad.

use super::*;
use crate::data::tests::{Folder, refused};
use std::fs::File;
use std::io::{Cursor, Write};

/// An array as NumPy writes it.
pub(crate) fn npy(descr: &str, fortran: bool, shape: &str, body: &[u8]) -> Vec<u8> {
    let order = if fortran { "True" } else { "False" };
    let header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
    let mut file = [MAGIC, &[1, 0], &(header.len() as u16 + 1).to_le_bytes()].concat();
    file.extend(header.as_bytes());
    file.push(b'\n');
    file.extend(body);
    file
}

fn read(file: &[u8]) -> Result<(Header, Values), DataError> {
    let mut reader = Cursor::new(file);
    let header = Header::read("a.npy", &mut reader)?;
    header.check_size("a.npy", file.len() as u64)?;
    let values = header.read_rows("a.npy", &mut reader, header.rows())?;
    Ok((header, values))
}

fn numbers(file: &[u8]) -> Vec<f32> {
    match read(file).unwrap().1 {
        Values::Numbers(numbers) => numbers,
        Values::Bytes(bytes) => bytes.into_iter().map(f32::from).collect(),
        tokens => panic!("{tokens:?}"),
    }
}

#[test]
fn every_type_of_number_is_read_in_both_byte_orders() {
    let both = |descr: &str, little: &[u8]| {
        let mut big = little.to_vec();
        let width: usize = descr[1..].parse().unwrap();
        big.chunks_mut(width).for_each(<[u8]>::reverse);
        let little = numbers(&npy(&format!("<{descr}"), false, "(2,)", little));
        assert_eq!(
            numbers(&npy(&format!(">{descr}"), false, "(2,)", &big)),
            little,
            "{descr}"
        );
        little
    };
    let f64s: Vec<u8> = [1.5f64, -2e10]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    assert_eq!(both("f8", &f64s), [1.5, -2e10]);
    let f32s: Vec<u8> = [1.5f32, -2e10]
        .iter()
        .flat_map(|n| n.to_le_bytes())
        .collect();
    assert_eq!(both("f4", &f32s), [1.5, -2e10]);
    assert_eq!(both("f2", &[0x00, 0x3c, 0xff, 0xfb]), [1.0, -65504.0]);
    assert_eq!(
        both("f2", &[0x01, 0x00, 0x00, 0x80]),
        [2f32.powi(-24), -0.0]
    );
    assert_eq!(
        both("i8", &[(-3i64).to_le_bytes(), 9i64.to_le_bytes()].concat()),
        [-3.0, 9.0]
    );
    assert_eq!(
        both("i4", &[(-3i32).to_le_bytes(), 9i32.to_le_bytes()].concat()),
        [-3.0, 9.0]
    );
    assert_eq!(both("i2", &[0xfd, 0xff, 9, 0]), [-3.0, 9.0]);
    assert_eq!(
        both("u8", &[300u64.to_le_bytes(), 9u64.to_le_bytes()].concat()),
        [300.0, 9.0]
    );
    assert_eq!(
        both("u4", &[0, 0, 0, 0x80, 9, 0, 0, 0]),
        [2147483648.0, 9.0]
    );
    assert_eq!(both("u2", &[0xff, 0xff, 9, 0]), [65535.0, 9.0]);
    assert_eq!(numbers(&npy("|i1", false, "(2,)", &[0xfd, 9])), [-3.0, 9.0]);
    assert_eq!(numbers(&npy("|b1", false, "(2,)", &[0, 1])), [0.0, 1.0]);
    let bytes = read(&npy("|u1", false, "(2,)", &[200, 9])).unwrap().1;
    assert_eq!(bytes, Values::Bytes(vec![200, 9]));
}

#[test]
fn columns_first_becomes_rows_first() {
    let rows = numbers(&npy("|u1", false, "(2, 3)", &[1, 2, 3, 4, 5, 6]));
    assert_eq!(
        numbers(&npy("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6])),
        rows
    );
    // numpy.arange(24).reshape(2, 3, 4) in the order of columns.
    let body: Vec<u8> = (0..24u8)
        .map(|i| i % 2 * 12 + i / 2 % 3 * 4 + i / 6)
        .collect();
    let expected: Vec<f32> = (0..24u8).map(f32::from).collect();
    assert_eq!(numbers(&npy("|u1", true, "(2, 3, 4)", &body)), expected);
    let wide: Vec<u8> = body
        .iter()
        .flat_map(|&byte| f32::from(byte).to_le_bytes())
        .collect();
    assert_eq!(numbers(&npy("<f4", true, "(2, 3, 4)", &wide)), expected);
}

#[test]
fn longer_headers_of_later_versions_are_read() {
    let old = npy("<u2", false, "(1,)", &[7, 0]);
    for version in [2, 3] {
        let mut new = old.clone();
        new[6] = version;
        new.splice(10..10, [0, 0]);
        assert_eq!(numbers(&new), [7.0]);
    }
    let mut unknown = old;
    unknown[6] = 9;
    refused(
        read(&unknown),
        &["a.npy: version 9 of the NPY format is unknown, allowed are 1 to 3"],
    );
}

#[test]
fn files_that_are_no_arrays_of_numbers_are_refused() {
    let odd = |descr: &str| npy(descr, false, "(1,)", &[0; 16]);
    for (file, parts) in [
        (
            b"PK\x03\x04 and more".to_vec(),
            &["this is no NPY file", "numpy.save"][..],
        ),
        (Vec::new(), &["it ends in its header", "0 came", "cut off"]),
        (odd("<f4")[..30].to_vec(), &["it ends in its header"]),
        (odd("|O"), &["its elements are '|O'", "astype(\"float32\")"]),
        (odd("<U3"), &["its elements are '<U3'", "numpy.unique"]),
        (odd("<c8"), &["its elements are '<c8'"]),
        (odd("<f16"), &["its elements are '<f16'"]),
        (
            npy("<f4", false, "(x,)", &[0; 4]),
            &["no 'shape' that can be read"],
        ),
        (
            npy("<f4", false, "(-1,)", &[0; 4]),
            &["no 'shape' that can be read"],
        ),
        (
            npy("<f4", false, "(3, 2)", &[0; 20]),
            &["declares 3x2 = 24 bytes, but 20 follow", "cut off"],
        ),
        (
            npy("|u1", false, "(3, 2)", &[0; 5]),
            &["declares 3x2 = 6 bytes, but 5 follow"],
        ),
        (
            npy("<f4", false, "(2,)", &[0, 0, 0, 0, 0, 0, 0xc0, 0x7f]),
            &["element 1 of its 2 is NaN"],
        ),
        (
            npy("<f8", false, "(1,)", &1e300f64.to_le_bytes()),
            &["element 0 of its 1 is inf"],
        ),
    ] {
        refused(read(&file), &[&["a.npy: "][..], parts].concat());
    }
    let mut long = odd("<f4");
    long[6] = 2;
    long.splice(8..10, [0xff, 0xff, 0xff, 0xff]);
    refused(
        read(&long),
        &["its header has 4294967295 bytes, at most 65536 are read"],
    );
    for header in [
        "{}",
        "{'descr': '<f4'}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
    ] {
        let file = [MAGIC, &[1, 0, header.len() as u8, 0], header.as_bytes()].concat();
        assert!(read(&file).is_err(), "{header}");
    }
}

/// Sizes that no file has are refused by arithmetic, not by asking for memory.
#[test]
fn absurd_sizes_are_refused() {
    for shape in [
        "(4294967296, 4294967296)",
        "(18446744073709551615,)",
        "(2, 9223372036854775807, 3)",
    ] {
        refused(
            read(&npy("<f8", false, shape, &[])),
            &["more than this program can address"],
        );
    }
    refused(
        read(&npy("|u1", false, "(99999999999999999999999,)", &[])),
        &["no 'shape'"],
    );
    refused(
        read(&npy("|u1", false, "(9000000000000000000,)", &[1])),
        &["9000000000000000000 bytes, but 1 follow"],
    );
    assert_eq!(
        numbers(&npy("<f4", false, "(0, 7)", &[])),
        Vec::<f32>::new()
    );
}

/// DL-24: the last rows of an array of 2^31 + 16 bytes, and of one above 2^32, are read where they are, in files most of
/// which is a hole.
#[test]
fn rows_behind_two_and_four_gibibytes_are_read_by_range() {
    let folder = Folder::new();
    for bytes in [(1u64 << 31) + 16, 4_300_000_016] {
        let rows = bytes / 16;
        let header = npy("|u1", false, &format!("({rows}, 16)"), &[]);
        let path = folder.path("large.npy");
        let mut file = File::create(&path).unwrap();
        file.write_all(&header).unwrap();
        file.set_len(header.len() as u64 + bytes).unwrap();
        file.seek(SeekFrom::End(-16)).unwrap();
        file.write_all(&[5; 16]).unwrap();
        let shown = path.display().to_string();
        let mut opened = crate::data::file::open(&shown).unwrap();
        let header = Header::read(&shown, &mut opened.reader).unwrap();
        header.check_size(&shown, opened.bytes).unwrap();
        header.seek(&shown, &mut opened.reader, rows - 2).unwrap();
        let values = header.read_rows(&shown, &mut opened.reader, 2).unwrap();
        assert_eq!(values, Values::Bytes([[0; 16], [5; 16]].concat()));
        let text = format!("{bytes} bytes, but {} follow", bytes - 1);
        refused(header.check_size(&shown, opened.bytes - 1), &[&text]);
        // As numbers it would be four times as large, which a browser refuses with both sizes.
        let element = Element::Float(4);
        let (_, bytes) = Header { element, ..header }.count(&shown, rows).unwrap();
        let limit = crate::data::WASM_HOST_LIMIT_BYTES;
        let size = crate::units::Bytes(4 * rows * 16).to_string();
        refused(
            crate::data::check_host_capacity(bytes, limit),
            &[&size, "4.00 GiB"],
        );
    }
}

#[test]
fn rows_that_do_not_stand_together_are_not_read_by_range() {
    let file = npy("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6]);
    let mut reader = Cursor::new(&file);
    let header = Header::read("a.npy", &mut reader).unwrap();
    refused(
        header.read_rows("a.npy", &mut reader, 1),
        &["fortran_order", "ascontiguousarray"],
    );
}
