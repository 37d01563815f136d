//! Pdf: files as programs write them, and those that are damaged or none.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/files.rs"]
mod files;
#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use files::Host;
use proptest::prelude::*;

fn read(parameters: &str, file: &[u8]) -> String {
    let mut host = Host::default();
    let file = host.add("a.pdf", file.to_vec());
    match host.run("Pdf", parameters, file) {
        Ok(found) => found.to_json(),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// A file of these objects.
fn file(objects: &str) -> Vec<u8> {
    format!("%PDF-1.7\n{objects}\ntrailer <</Root 1 0 R>>").into_bytes()
}

/// A file of one page with this content, and further objects.
fn page(content: &str, more: &str) -> Vec<u8> {
    file(&format!(
        "1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj 2 0 obj <</Kids [3 0 R]>> endobj \
         3 0 obj <</Contents 4 0 R /Resources <</Font <</F 5 0 R>> /XObject <</X 6 0 R>>>>>> endobj \
         4 0 obj <<>>\nstream\n{content}\nendstream endobj {more}"
    ))
}

const HELVETICA: &str = "5 0 obj <</Subtype /Type1 /BaseFont /Helvetica /Encoding <</BaseEncoding /WinAnsiEncoding /Differences [1 /fi /uni20AC /Aacute /a.sc]>>>> endobj";

fn text(content: &str, more: &str) -> String {
    let found = read("{}", &page(content, more));
    let Some((text, _)) = found.split_once(",\"pageCount\":1,\"version\":\"1.7\",\"info\":{}") else {
        return found;
    };
    text.strip_prefix("{\"text\":").unwrap_or(text).to_owned()
}

#[test]
fn words_and_lines_are_those_of_the_page() {
    let letter = read("{}", include_bytes!("../../tests/cli/letter.pdf"));
    assert_eq!(
        letter,
        r#"{"text":"Dear Ann,\nyour order of 12 € is on its way.","pageCount":1,"version":"1.4","info":{"Title":"Letter"}}"#
    );
    for (content, expected) in [
        // Escapes, names of glyphs, hexadecimal.
        (r"BT /F 10 Tf (a\(b\)\\ \101\1\2\3\4) Tj ET", r#""a(b)\\ Afi€Áa""#),
        ("BT /F 10 Tf <48 69 2> Tj T* 12 TL (x) ' ET", r#""Hi\nx""#),
        // Forms, and what is turned.
        (
            "q 1 0 0 1 0 100 cm /X Do Q BT /F 10 Tf (out) Tj ET",
            r#""in\nout""#,
        ),
        (
            "BT /F 10 Tf 0 1 -1 0 50 50 Tm (up) Tj 0 1 -1 0 50 100 Tm (ward) Tj ET",
            r#""up ward""#,
        ),
        // Images within content have no text.
        ("BI /W 1 /H 1 ID (BT) Tj EI BT /F 10 Tf (a) Tj ET", r#""a""#),
        ("", r#""""#),
    ] {
        let form = "6 0 obj <</Subtype /Form>>\nstream\nBT /F 10 Tf (in) Tj /X Do ET\nendstream endobj";
        assert_eq!(
            text(content, &format!("{HELVETICA} {form}")),
            expected,
            "{content}"
        );
    }
}

#[test]
fn codes_are_read_by_the_font_s_map() {
    let font = "5 0 obj <</Subtype /Type0 /ToUnicode 7 0 R /DescendantFonts [<</DW 500 /W [1 [600 600] 3 9 250]>>]>> endobj \
        7 0 obj <<>>\nstream\n1 begincodespacerange <0000> <FFFF> endcodespacerange \
        2 beginbfchar <0001> <00480065> <0002> <D83DDE00> endbfchar \
        2 beginbfrange <0003> <0005> <0061> <0006> <0007> [<0078> <0079>] endbfrange\nendstream endobj";
    assert_eq!(
        text("BT /F 10 Tf <0001000200030004000500060007> Tj ET", font),
        "\"He😀abcxy\""
    );
}

#[test]
fn codes_by_identity_have_two_bytes_whatever_the_map_says() {
    let font = "5 0 obj <</Subtype /Type0 /Encoding /Identity-H /ToUnicode 7 0 R /DescendantFonts [<<>>]>> endobj \
        7 0 obj <<>>\nstream\n1 begincodespacerange <00> <FF> endcodespacerange \
        1 beginbfrange <00> <FF> <0000> endbfrange 1 beginbfrange <41> <42> <0061> endbfrange\nendstream endobj";
    assert_eq!(text("BT /F 10 Tf <004100420043> Tj ET", font), "\"abC\"");
}

#[test]
fn what_is_damaged_is_not_read_over_and_over() {
    for piece in ["1 0 obj [(", "trailer ("] {
        let found = read("{}", format!("%PDF-1.7\n{}", piece.repeat(2_000)).as_bytes());
        assert!(found.contains("too much of it is damaged"), "{piece}: {found}");
    }
    // A thousand objects in one place are not as many copies of it.
    let places: String = (10..1_010).map(|number| format!("{number} 0 ")).collect();
    let packed = format!("{places}[{}]", "(a) ".repeat(1_000));
    let objects = format!(
        "8 0 obj <</Type /ObjStm /N 1000 /First {}>>\nstream\n{packed}\nendstream endobj",
        places.len()
    );
    assert_eq!(
        text("BT /F 10 Tf (a) Tj ET", &format!("{HELVETICA} {objects}")),
        "\"a\""
    );
}

#[test]
fn objects_are_found_within_streams_and_whatever_was_changed_last() {
    // The page is in a stream of objects, in hexadecimal, and the content was replaced.
    let packed: String = "3 0 <</Contents 4 0 R /Resources <</Font <</F 5 0 R>>>>>>"
        .bytes()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let objects = format!(
        "1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj 2 0 obj <</Kids [3 0 R 3 0 R 2 0 R]>> endobj {HELVETICA} \
         4 0 obj <<>>\nstream\nBT /F 10 Tf (old) Tj ET\nendstream endobj \
         8 0 obj <</Type /ObjStm /N 1 /First 4 /Filter /ASCIIHexDecode /Length 1>>\nstream\n{packed}>\nendstream endobj \
         4 0 obj <<>>\nstream\nBT /F 10 Tf (new) Tj ET\nendstream endobj"
    );
    let found = read(r#"{"perPage": true, "limit": 1}"#, &file(&objects));
    assert!(found.starts_with(r#"{"pages":["new"],"pageCount":1,"#), "{found}");
    // The end is missing, and with it the catalog and the list of pages.
    let cut = format!(
        "%PDF-1.7\n{HELVETICA} 4 0 obj <<>>\nstream\nBT /F 10 Tf (kept) Tj ET\nendstream endobj \
         3 0 obj <</Type /Page /Parent 2 0 R /Contents 4 0 R /Resources <</Font <</F 5 0 R>>>>>> endobj 7 0 obj <</Ty"
    );
    let found = read(r#"{"perPage": true}"#, cut.as_bytes());
    assert!(
        found.starts_with(r#"{"pages":["kept"],"pageCount":1,"#),
        "{found}"
    );
}

#[test]
fn what_can_t_be_read_says_why() {
    assert!(
        read("{}", b"hello")
            .starts_with("PARSE: This isn't a PDF file that can be read: it does not begin like one")
    );
    assert!(read("{}", b"%PDF-1.4").contains("it has no catalog"));
    assert!(read("{}", &file("1 0 obj <</Type /Catalog>> endobj")).contains("it has no pages"));
    let encrypted = b"%PDF-1.4\n1 0 obj <<>> endobj trailer <</Root 1 0 R /Encrypt 2 0 R>>";
    assert!(read("{}", encrypted).starts_with("PARSE: The PDF is encrypted."));
}

#[test]
fn what_unpacks_to_more_than_memory_is_refused() {
    let whole = page("PACKED", "");
    let stream = b"<<>>\nstream\nPACKED";
    let at = whole.windows(stream.len()).position(|bytes| bytes == stream);
    let (before, after) = whole.split_at(at.unwrap());
    // Each two bytes are 128 spaces.
    let packed = [129, b' '].repeat((64 << 20) / 128 + 1);
    let filtered = &b"<</Filter /RunLengthDecode>>\nstream\n"[..];
    let found = read(
        "{}",
        &[before, filtered, &packed, &after[stream.len()..]].concat(),
    );
    assert_eq!(
        found,
        "FILE_LIMIT: A part of the PDF has more than 64 MiB once it is unpacked."
    );
}

proptest! {
    #[test]
    fn no_page_is_too_strange(content in "[-0-9.()<>\\[\\]/ BTEFfjJmdQqcDoXI'\"\\\\*%]{0,200}", more in "[0-9 R<>/\\[\\]objendstramKisFilter]{0,200}") {
        let found = read("{}", &page(&content, &more));
        prop_assert!(found.starts_with('{') || found.starts_with("PARSE: "), "{}", found);
    }
}
