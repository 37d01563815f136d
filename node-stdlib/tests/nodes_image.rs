//! Image: headers as programs write them, and those that are damaged or none.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/files.rs"]
mod files;
#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use files::Host;
use proptest::prelude::*;

fn info(file: &[u8]) -> String {
    let mut host = Host::default();
    let file = host.add("a", file.to_vec());
    match host.run("Image", "{}", file) {
        Ok(found) => found.to_json(),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

fn told(format: &str, (width, height): (u32, u32), more: &str) -> String {
    format!(r#"{{"format":"{format}","type":"image/{format}","width":{width},"height":{height}{more}}}"#)
}

/// A segment of a JPEG.
fn segment(kind: u8, content: &[u8]) -> Vec<u8> {
    let length = u16::try_from(content.len() + 2).unwrap().to_be_bytes();
    [&[0xff, kind][..], &length, content].concat()
}

fn jpeg(segments: &[Vec<u8>]) -> Vec<u8> {
    [&[0xff, 0xd8][..], &segments.concat()].concat()
}

/// A frame of 640 × 480 pixels in three colours, as baseline and progressive encoders begin it.
fn frame(kind: u8) -> Vec<u8> {
    segment(
        kind,
        &[8, 1, 0xe0, 2, 0x80, 3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1],
    )
}

const EXIF_LITTLE: &[u8] =
    b"Exif\0\0II*\0\x08\0\0\0\x02\0\x0f\x01\x02\0\x04\0\0\0abc\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0";
const EXIF_BIG: &[u8] = b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x08\0\0\0\0\0\0";

#[test]
fn the_header_says_format_and_size() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0";
    let lossy = b"RIFF\x24\0\0\0WEBPVP8 \x18\0\0\0\x30\x01\0\x9d\x01\x2a\x80\x42\xe0\x41";
    let lossless = b"RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0\x2f\x7f\xc2\x77\0";
    let extended = b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0\x10\0\0\0\x7f\x02\0\xdf\x01\0";
    let gif = b"GIF89a\x80\x02\xe0\x01\0\0\0;";
    for (file, format) in [
        (&png[..], "png"),
        (&lossy[..], "webp"),
        (&lossless[..], "webp"),
        (&extended[..], "webp"),
        (&gif[..], "gif"),
    ] {
        assert_eq!(info(file), told(format, (640, 480), ""));
    }
}

#[test]
fn a_jpeg_has_its_size_behind_other_segments() {
    let jfif = segment(0xe0, b"JFIF\0\x01\x02\0\0\x01\0\x01\0\0");
    let tables = segment(0xc4, &[0; 30]);
    let plain = told("jpeg", (640, 480), "");
    assert_eq!(info(&jpeg(&[jfif.clone(), tables, frame(0xc0)])), plain);
    for (exif, turned) in [(EXIF_LITTLE, 6), (EXIF_BIG, 8)] {
        let file = jpeg(&[jfif.clone(), segment(0xe1, exif), vec![0xff; 9], frame(0xc2)]);
        let orientation = format!(",\"orientation\":{turned}");
        assert_eq!(info(&file), told("jpeg", (640, 480), &orientation));
    }
    // Previews and profiles of two MiB are more than one piece.
    let large = vec![segment(0xe2, &[0; 65_000]); 33];
    assert_eq!(info(&jpeg(&[large.concat(), frame(0xc0)])), plain);
}

#[test]
fn what_can_t_be_read_says_why() {
    let none = "PARSE: This isn't a PNG, JPEG, GIF or WebP image: it doesn't begin like one.";
    for file in [&b""[..], b"%PDF-1.4", b"RIFF\0\0\0\0WAVEfmt ", b"\xff"] {
        assert_eq!(info(file), none);
    }
    let endless = vec![segment(0xe2, &[0; 65_533]); 257].concat();
    for (file, why) in [
        (
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0".to_vec(),
            "This PNG can't be read: its header",
        ),
        (b"GIF89a\0\0\x01\0".to_vec(), "This GIF can't be read: its header"),
        (
            b"RIFF\0\0\0\0WEBPALPH\0\0\0\0".to_vec(),
            "This WebP can't be read: its header",
        ),
        (jpeg(&[]), "it ends before its size"),
        (jpeg(&[segment(0xe1, EXIF_BIG)]), "it ends before its size"),
        (jpeg(&[vec![0xff, 0xda, 0, 2]]), "it has no size"),
        (
            jpeg(&[vec![0xff, 0xe0, 0, 1]]),
            "a segment is shorter than its length",
        ),
        (jpeg(&[vec![0, 0]]), "between its segments is something else"),
        (
            jpeg(&[segment(0xc0, &[8, 0, 0, 2, 0x80, 1])]),
            "its header is damaged",
        ),
        (jpeg(&[endless]), "its size is not within the first 16 MiB"),
    ] {
        let found = info(&file);
        assert!(found.starts_with("PARSE: ") && found.contains(why), "{found}");
    }
}

proptest! {
    #[test]
    fn no_header_is_too_strange(
        begin in prop::sample::select(vec![&b"\x89PNG\r\n\x1a\n"[..], b"GIF87a", b"RIFF\0\0\0\0WEBPVP8", b"\xff\xd8\xff\xe1\0\x40Exif\0\0II*\0", b"\xff\xd8"]),
        rest in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let found = info(&[begin, &rest].concat());
        prop_assert!(found.starts_with('{') || found.starts_with("PARSE: "), "{}", found);
    }
}
