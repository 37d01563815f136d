//! Zip: archives of other programs and our own, and those that mean harm.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/files.rs"]
mod files;
#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use files::{Host, decoded};
use heddle_node_stdlib::failure::Failure;
use heddle_values::Value;
use proptest::prelude::*;
use support::value;

/// By Python's zipfile: `a.txt` deflated, the folder `größe/`, `größe/b.csv` stored, `empty`, and a comment that begins like a record.
const PYTHON: &str = "UEsDBBQAAAAIAMYjel0AiFkLCwAAABgAAAAFAAAAYS50eHTLSM3JyVfIQCe5AFBLAwQUAAAICADGI3pdAAAAAAIAAAAAAAAACAAAAGdyw7bDn2UvAwBQSwMEFAAACAAAxiN6XQ/pW80FAAAABQAAAA0AAABncsO2w59lL2IuY3N2aWQKMQpQSwMEFAAAAAgAxiN6XQAAAAACAAAAAAAAAAUAAABlbXB0eQMAUEsBAhQDFAAAAAgAxiN6XQCIWQsLAAAAGAAAAAUAAAAAAAAAAAAAAIABAAAAAGEudHh0UEsBAhQDFAAACAgAxiN6XQAAAAACAAAAAAAAAAgAAAAAAAAAAAAAAIABLgAAAGdyw7bDn2UvUEsBAhQDFAAACAAAxiN6XQ/pW80FAAAABQAAAA0AAAAAAAAAAAAAAIABVgAAAGdyw7bDn2UvYi5jc3ZQSwECFAMUAAAACADGI3pdAAAAAAIAAAAAAAAABQAAAAAAAAAAAAAAgAGGAAAAZW1wdHlQSwUGAAAAAAQABADXAAAAqwAAAA4AUEsFBiBhIGNvbW1lbnQ=";
/// By the same, with sizes in the form for large files in the header of `z64.txt`.
const LARGE: &str = "UEsDBC0AAAAIAAAAIQC+KWtZ//////////8HABQAejY0LnR4dAEAEAAFAAAAAAAAAAcAAAAAAAAAy0ksSk8FAFBLAQItAy0AAAAIAAAAIQC+KWtZBwAAAAUAAAAHAAAAAAAAAAAAAACAAQAAAAB6NjQudHh0UEsFBgAAAAABAAEANQAAAEAAAAAAAA==";

/// Paths and contents of the files that come out of an archive.
fn unpacked(host: &mut Host, parameters: &str, archive: Vec<u8>) -> Result<Vec<(String, Vec<u8>)>, Failure> {
    let archive = host.add("a.zip", archive);
    let Value::Array(files) = host.run("Zip", parameters, archive)? else {
        panic!("no list")
    };
    let path = |file: &Value| match file {
        Value::Object(file) => file.get("path").unwrap().to_text().to_utf8().into_owned(),
        other => panic!("{other:?}"),
    };
    Ok(files
        .iter()
        .map(|file| (path(file), host.content(file).to_vec()))
        .collect())
}

fn failure(archive: Vec<u8>) -> String {
    match unpacked(&mut Host::default(), "{}", archive) {
        Ok(files) => panic!("{files:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// The archive with other bytes at each place where these are.
fn replaced(from: &[u8], to: &[u8]) -> Vec<u8> {
    let mut archive = decoded(PYTHON);
    let places: Vec<usize> = (0..archive.len() - from.len())
        .filter(|at| archive[*at..].starts_with(from))
        .collect();
    assert!(!places.is_empty() && from.len() == to.len());
    for at in places {
        archive[at..at + to.len()].copy_from_slice(to);
    }
    archive
}

#[test]
fn archives_of_others_are_read() {
    let hello = "hello hello hello hello\n".as_bytes().to_vec();
    let all = unpacked(&mut Host::default(), "{}", decoded(PYTHON)).unwrap();
    assert_eq!(
        all,
        [
            ("a.txt".to_owned(), hello),
            ("größe/b.csv".to_owned(), b"id\n1\n".to_vec()),
            ("empty".to_owned(), Vec::new()),
        ]
    );
    let one = unpacked(&mut Host::default(), r#"{"only": ["empty"]}"#, decoded(PYTHON)).unwrap();
    assert_eq!(one, [("empty".to_owned(), Vec::new())]);
    let large = unpacked(&mut Host::default(), "{}", decoded(LARGE)).unwrap();
    assert_eq!(large, [("z64.txt".to_owned(), b"large".to_vec())]);
    let mut host = Host::default();
    let archive = host.add("a.zip", decoded(PYTHON));
    let list = host
        .run("Zip", r#"{"operation": "list"}"#, archive)
        .unwrap()
        .to_json();
    assert!(
        list.starts_with(r#"[{"path":"a.txt","isFolder":false,"size":24,"packedSize":11,"modified":"2026-11-26T04:30:12"},{"path":"größe/","isFolder":true"#),
        "{list}"
    );
}

#[test]
fn what_was_packed_is_unpacked() {
    let mut host = Host::default();
    // Three pieces that do not get smaller, and three that do.
    // Xorshift (Marsaglia, 2003).
    let mut state = 88_172_645_463_325_252_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    };
    let random: Vec<u8> = (0..2_500_000).map(|_| byte()).collect();
    let same = vec![b'x'; 3_000_000];
    let files: Value = vec![
        host.add("random.bin", random.clone()),
        host.add("same.txt", same.clone()),
        host.add("same.txt", Vec::new()),
        value(r#"{"path": "data/a.json", "content": {"a": "ö"}}"#),
        value(r#"{"path": "b", "content": "text"}"#),
    ]
    .into();
    let archive = host
        .run("Zip", r#"{"operation": "make", "name": "all.zip"}"#, files)
        .unwrap();
    let archive = host.content(&archive).to_vec();
    assert!(
        (2_500_000..2_700_000).contains(&archive.len()),
        "{}",
        archive.len()
    );
    host.effects = 0;
    let found = unpacked(&mut host, "{}", archive).unwrap();
    let expected = [
        ("random.bin", random),
        ("same.txt", same),
        ("same (2).txt", Vec::new()),
        ("data/a.json", "{\"a\":\"ö\"}".as_bytes().to_vec()),
        ("b", b"text".to_vec()),
    ];
    assert!(
        found
            .iter()
            .map(|(path, content)| (path.as_str(), content))
            .eq(expected.iter().map(|(path, content)| (*path, content)))
    );
    assert!(host.effects < 25, "{}", host.effects);
    let empty = host
        .run("Zip", r#"{"operation": "make", "files": []}"#, Value::Null)
        .unwrap();
    let empty = host.content(&empty).to_vec();
    assert_eq!(unpacked(&mut host, "{}", empty).unwrap(), []);
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    for (name, why) in [
        ("../.t", "it leads out of the archive"),
        ("x/../", "it leads out of the archive"),
        ("..\\\\x", "it leads out of the archive"),
        ("/etcx", "it begins at the root"),
        ("C:\\\\x", "it begins at the root"),
        ("a\0txt", "it has control characters"),
    ] {
        let name = name.replace("\\\\", "\\");
        let found = failure(replaced(b"a.txt", &[name.as_bytes(), b"xxxxx"].concat()[..5]));
        assert!(
            found.starts_with("PARSE: ") && found.contains(why),
            "{name}: {found}"
        );
    }
    let made = Host::default().run(
        "Zip",
        r#"{"operation": "make", "files": [{"path": "../a", "content": ""}]}"#,
        Value::Null,
    );
    assert!(made.unwrap_err().message.contains("leads out of the archive"));
}

#[test]
fn archives_that_are_not_what_they_say_are_refused() {
    let found = failure(b"no archive".to_vec());
    assert_eq!(
        found,
        "PARSE: This ZIP archive can't be read: it has no directory."
    );
    // The checksum of `a.txt`, in both places.
    let found = failure(replaced(&[0x00, 0x88, 0x59, 0x0b], &[0, 0, 0, 0]));
    assert!(found.contains("do not have the checksum"), "{found}");
    // Its size, smaller and larger.
    for (size, why) in [(23, "more bytes than"), (25, "fewer bytes than")] {
        let found = failure(replaced(
            &[11, 0, 0, 0, 24, 0, 0, 0],
            &[11, 0, 0, 0, size, 0, 0, 0],
        ));
        assert!(found.contains(why), "{found}");
    }
    // All of it said to be 4 GB: refused before anything is unpacked.
    let found = failure(replaced(
        &[11, 0, 0, 0, 24, 0, 0, 0],
        &[11, 0, 0, 0, 0, 0, 0, 0xee],
    ));
    assert!(
        found.starts_with("FILE_LIMIT: ") && found.contains("`maxBytes` allows 1073741824"),
        "{found}"
    );
    // Encrypted, and by an unknown method.
    let found = failure(replaced(
        &[0x14, 0, 0, 0, 8, 0, 0xc6],
        &[0x14, 0, 1, 0, 8, 0, 0xc6],
    ));
    assert!(found.contains("it is encrypted"), "{found}");
    let found = failure(replaced(
        &[0x14, 0, 0, 0, 8, 0, 0xc6],
        &[0x14, 0, 0, 0, 9, 0, 0xc6],
    ));
    assert!(found.contains("method 9"), "{found}");
    // The second file where the first one is, as bombs have it.
    let mut archive = decoded(PYTHON);
    let at = archive
        .windows(4)
        .position(|bytes| bytes == [0x2e, 0, 0, 0])
        .unwrap();
    archive[at] = 0;
    let found = failure(archive);
    assert!(found.contains("overlaps what comes after it"), "{found}");
    // The header of `a.txt` says that more comes before its bytes than the directory does: they would end in the second file.
    let mut archive = decoded(PYTHON);
    archive[28] = 1;
    let found = failure(archive);
    assert!(
        found.contains("\"a.txt\" overlaps what comes after it"),
        "{found}"
    );
    let missing = unpacked(&mut Host::default(), r#"{"only": ["b.txt"]}"#, decoded(PYTHON)).unwrap_err();
    assert_eq!(missing.message, "The archive has no file `b.txt`.");
    let many = unpacked(&mut Host::default(), r#"{"maxBytes": 28}"#, decoded(PYTHON)).unwrap_err();
    assert_eq!(
        many.message,
        "The files of the archive have 29 bytes together, but `maxBytes` allows 28."
    );
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(
        start in 0..400_usize, changes in proptest::collection::vec((0..422_usize, any::<u8>()), 1..12), end in 0..40_usize,
    ) {
        let mut archive = decoded(PYTHON);
        for (at, byte) in changes {
            archive[at] = byte;
        }
        archive.truncate(422 - end);
        archive.drain(..start.saturating_sub(380));
        let mut host = Host::default();
        let _ = unpacked(&mut host, "{}", archive);
        prop_assert!(host.effects < 20);
    }
}
