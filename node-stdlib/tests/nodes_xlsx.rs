//! Xlsx: workbooks of other programs, and those that are none.

#![expect(clippy::unwrap_used, reason = "tests")]

#[path = "support/files.rs"]
mod files;
#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use files::Host;
use heddle_values::Value;
use proptest::prelude::*;
use support::value;

const OPENPYXL: &[u8] = include_bytes!("workbooks/openpyxl.xlsx");
const XLSXWRITER: &[u8] = include_bytes!("workbooks/xlsxwriter.xlsx");

fn read(parameters: &str, workbook: &[u8]) -> String {
    let mut host = Host::default();
    let file = host.add("a.xlsx", workbook.to_vec());
    match host.run("Xlsx", parameters, file) {
        Ok(rows) => rows.to_json(),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// A workbook of one sheet.
fn workbook(sheet: &str, styles: &str) -> Vec<u8> {
    let parts = [
        (
            "xl/workbook.xml",
            "<workbook><sheets><sheet name='S' r:id='1'/></sheets></workbook>",
        ),
        (
            "xl/_rels/workbook.xml.rels",
            "<R><Relationship Id='1' Type='x/worksheet' Target='s.xml'/><Relationship Id='2' Type='x/styles' Target='t.xml'/></R>",
        ),
        ("xl/s.xml", sheet),
        ("xl/t.xml", styles),
    ];
    let files: Vec<String> = parts
        .into_iter()
        .map(|(path, content)| {
            format!(
                r#"{{"path": "{path}", "content": {}}}"#,
                Value::from(content).to_json()
            )
        })
        .collect();
    let mut host = Host::default();
    let parameters = format!(r#"{{"operation": "make", "files": [{}]}}"#, files.join(","));
    let archive = host.run("Zip", &parameters, Value::Null).unwrap();
    host.content(&archive).to_vec()
}

#[test]
fn rows_are_objects_by_the_names_of_their_columns() {
    // Texts in the cells themselves, dates since 1900, an empty row, and a cell beyond the names.
    let expected = r#"[
        {"id": 1, "name": "Lee, \"Ann\" & ü€", "total": 12.5, "day": "2026-11-26", "at": "2026-11-26T04:30:12", "paid": true, "name_2": "x"},
        {"id": 2, "name": null, "total": -0.25, "day": "1900-01-01", "at": "13:05:00", "paid": false, "name_2": null},
        {"id": 3, "name": null, "total": 1e21, "day": null, "at": "9999-12-31T23:59:59", "paid": null, "name_2": null},
        {"id": null, "name": null, "total": null, "day": null, "at": null, "paid": null, "name_2": null, "I": "beyond"}
    ]"#;
    assert_eq!(read("{}", OPENPYXL), value(expected).to_json());
    // Shared texts, of which one has parts, dates since 1904, results of formulas and an error.
    let expected =
        r##"[{"a": "2026-11-26", "b": 2}, {"a": "inline", "b": "text"}, {"a": "#N/A", "b": "richer"}]"##;
    assert_eq!(read("{}", XLSXWRITER), value(expected).to_json());
}

#[test]
fn a_sheet_is_found_by_name_and_number() {
    let third = "[[null,null,1],[\"12:00:00\"]]";
    let by_name = r#"{"sheet": "Größe & more", "header": false}"#;
    assert_eq!(read(by_name, OPENPYXL), third);
    assert_eq!(read(r#"{"sheet": 3, "header": false}"#, OPENPYXL), third);
    assert_eq!(
        read(r#"{"sheet": "Hidden", "header": false}"#, OPENPYXL),
        "[[null,\"secret\"]]"
    );
    let missing = read(r#"{"sheet": "None"}"#, OPENPYXL);
    assert_eq!(
        missing,
        "PARAMETER: The workbook has no such sheet. It has: Orders, Hidden, Größe & more."
    );
    let part = r#"{"header": false, "skip": 1, "limit": 1}"#;
    assert_eq!(read(part, XLSXWRITER), "[[\"2026-11-26\",2]]");
}

#[test]
fn cells_that_do_not_say_where_they_are_follow_those_before() {
    let sheet = "<worksheet><sheetData>\
        <row><c><v>1</v></c><c/><c><v>3</v></c></row>\
        <row><c/><c r=\"C2\"/><c><v>4</v></c><c/></row>\
        <row><c/></row>\
        <row><c><v>5</v></c></row>\
        </sheetData></worksheet>";
    assert_eq!(
        read(r#"{"header": false}"#, &workbook(sheet, "<styleSheet/>")),
        "[[1,null,3],[null,null,null,4],[5]]"
    );
}

#[test]
fn what_is_no_workbook_is_refused() {
    assert!(read("{}", b"PK").starts_with("PARSE: This ZIP archive can't be read"));
    let mut host = Host::default();
    let files = value(r#"{"operation": "make", "files": [{"path": "a.txt", "content": "a"}]}"#).to_json();
    let archive = host.run("Zip", &files, Value::Null).unwrap();
    let archive = host.content(&archive).to_vec();
    assert_eq!(
        read("{}", &archive),
        "PARSE: This workbook can't be read: it has no `xl/workbook.xml`."
    );
    for (book, why) in [
        ("<a", "its XML is damaged"),
        (
            "<!DOCTYPE a [<!ENTITY b \"c\">]><a>&b;</a>",
            "its XML has entities of its own",
        ),
        ("<workbook/>", "it has no sheet"),
    ] {
        let parts = format!(
            r#"{{"operation": "make", "files": [{{"path": "xl/workbook.xml", "content": {}}}, {{"path": "xl/_rels/workbook.xml.rels", "content": "<a/>"}}]}}"#,
            Value::from(book).to_json()
        );
        let archive = host.run("Zip", &parts, Value::Null).unwrap();
        let found = read("{}", host.content(&archive));
        assert!(
            found.starts_with("PARSE: ") && found.contains(why),
            "{book}: {found}"
        );
    }
}

#[test]
fn what_would_unpack_to_more_than_memory_is_refused_before_it_is_unpacked() {
    let mut workbook = workbook("<worksheet/>", "<styleSheet/>");
    let name = b"xl/t.xml";
    let place = workbook.windows(name.len()).rposition(|bytes| bytes == name);
    // The size that the archive's directory tells.
    let size = place.unwrap() - 22;
    workbook[size..size + 4].copy_from_slice(&(65_u32 << 20).to_le_bytes());
    let found = read("{}", &workbook);
    assert!(
        found.starts_with("FILE_LIMIT: `xl/t.xml` in the workbook has 68157440 bytes"),
        "{found}"
    );
}

proptest! {
    #[test]
    fn no_sheet_is_too_strange(cells in "[<>/crowvtisr\"= 0-9A-Z&;#-]{0,200}", number in any::<f64>(), style in "[dmyhs0#\\[\\]\"\\\\;@_*]{0,12}") {
        let sheet = format!("<worksheet><sheetData><row><c s=\"0\"><v>{number}</v></c></row>{cells}</sheetData></worksheet>");
        let styles = format!("<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode='{style}'/></numFmts><cellXfs><xf numFmtId=\"164\"/></cellXfs></styleSheet>");
        let found = read(r#"{"header": false}"#, &workbook(&sheet, &styles));
        prop_assert!(found.starts_with('[') || found.starts_with("PARSE: "), "{}", found);
    }
}

/// A workbook that was written, and the host that has it.
fn written(parameters: &str, input: &str) -> Result<(Host, Value), String> {
    let mut host = Host::default();
    let made = host.run("Xlsx", parameters, value(input));
    let made = made.map_err(|failure| format!("{}: {}", failure.code, failure.message))?;
    Ok((host, made))
}

#[test]
fn what_was_written_is_read() {
    let rows = r#"[
        {"id": 1, "name": "Lee, \"Ann\" & <ü€>", "day": "2026-11-26", "at": "2026-11-26T04:30:12.250", "paid": true},
        {"id": -0.25, "day": "1900-01-01", "at": "13:05:00", "paid": false, "more": "=1+1"},
        {"id": 1e21, "name": " two\nlines\r\u0001_x0041_ ", "day": "1900-03-01", "at": "9999-12-31T23:59:59", "paid": null},
        {"id": 4, "name": "1899-12-31", "day": "2026-02-29", "at": "24:00:00", "more": {"a": [1]}}
    ]"#;
    let (host, workbook) = written(r#"{"operation": "write", "sheet": "A & B"}"#, rows).unwrap();
    let expected = r#"[
        {"id": 1, "name": "Lee, \"Ann\" & <ü€>", "day": "2026-11-26", "at": "2026-11-26T04:30:12.250", "paid": true, "more": null},
        {"id": -0.25, "name": null, "day": "1900-01-01", "at": "13:05:00", "paid": false, "more": "=1+1"},
        {"id": 1e21, "name": " two\nlines\r\u0001_x0041_ ", "day": "1900-03-01", "at": "9999-12-31T23:59:59", "paid": null, "more": null},
        {"id": 4, "name": "1899-12-31", "day": "2026-02-29", "at": "24:00:00", "paid": null, "more": "{\"a\":[1]}"}
    ]"#;
    let found = read(r#"{"sheet": "A & B"}"#, host.content(&workbook));
    assert_eq!(found, value(expected).to_json());
    // A zone is left out; texts stay texts if that is wanted.
    let input = r#"[["2026-11-26T04:30:12+02:00", "04:30:12"], [null, ["x"]]]"#;
    let (host, workbook) = written(r#"{"operation": "write"}"#, input).unwrap();
    let found = read(r#"{"header": false}"#, host.content(&workbook));
    assert_eq!(found, r#"[["2026-11-26T04:30:12","04:30:12"],[null,"[\"x\"]"]]"#);
    let (host, workbook) = written(r#"{"operation": "write", "dates": false}"#, input).unwrap();
    let found = read(r#"{"header": false}"#, host.content(&workbook));
    assert_eq!(
        found,
        r#"[["2026-11-26T04:30:12+02:00","04:30:12"],[null,"[\"x\"]"]]"#
    );
}

#[test]
fn rows_pass_through_a_workbook_one_after_the_other() {
    // The sheet's document has several MiB, so that it is cut within cells.
    const ROWS: usize = 20_000;
    let row = |row: usize| format!(r#"{{"id":{row},"name":"Lee & <{row}>","day":"2026-11-26"}}"#);
    let rows: Vec<String> = (0..ROWS).map(row).collect();
    let mut host = Host::default();
    let write = r#"{"to": "xlsx", "sheet": "All", "name": "all.xlsx"}"#;
    let list = value(&format!("[{}]", rows.join(",")));
    let book = host.run("ConvertFile", write, list.clone()).unwrap();
    assert!(read(r#"{"sheet": "All"}"#, host.content(&book)) == list.to_json());
    let lines = r#"{"to": "jsonLines", "limit": 19999}"#;
    let lines = host.run("ConvertFile", lines, book.clone()).unwrap();
    let expected: String = rows.iter().take(ROWS - 1).map(|row| format!("{row}\n")).collect();
    assert!(host.content(&lines) == expected.as_bytes());
    let few = r#"{"limit": 1, "header": false, "sheet": 1}"#;
    let few = host.run("ConvertFile", few, book).unwrap();
    assert_eq!(few.to_json(), r#"[["id","name","day"]]"#);
}

#[test]
fn a_sheet_is_cut_neither_in_comments_nor_in_cdata() {
    const ROWS: usize = 8_000;
    // Each has in it what the other begins with.
    let tags = "<".repeat(300);
    let text = format!("<!--{tags}");
    let row =
        format!("<row><!-- <![CDATA[{tags} --><c t='inlineStr'><is><t><![CDATA[{text}]]></t></is></c></row>");
    let sheet = format!(
        "<worksheet><sheetData>{}</sheetData></worksheet>",
        row.repeat(ROWS)
    );
    let found = read(r#"{"header": false}"#, &workbook(&sheet, "<styleSheet/>"));
    let row = format!("[\"{text}\"]");
    assert!(
        found == format!("[{}]", vec![row; ROWS].join(",")),
        "{}",
        &found[..100]
    );
}

#[test]
fn a_workbook_of_records_has_the_columns_of_the_first() {
    let made = |parameters: &str, list: &str| {
        let mut host = Host::default();
        match host.run("ConvertFile", parameters, value(list)) {
            Ok(book) => read(r#"{"header": false}"#, host.content(&book)),
            Err(failure) => format!("{}: {}", failure.code, failure.message),
        }
    };
    let write = r#"{"to": "xlsx"}"#;
    assert_eq!(
        made(write, r#"[{"a": 1, "b": 2}, {"b": 3}]"#),
        r#"[["a","b"],[1,2],[null,3]]"#
    );
    assert_eq!(made(write, "[]"), "[]");
    let other = made(write, r#"[{"a": 1}, {"b": 2}]"#);
    assert!(
        other.starts_with("PARAMETER: Record 1 has the field `b`"),
        "{other}"
    );
    let none = made(write, "[1]");
    assert!(
        none.starts_with("PARAMETER: Record 0 must be an object or an array"),
        "{none}"
    );
    let chosen = r#"{"to": "xlsx", "columns": ["b"], "header": false}"#;
    assert_eq!(made(chosen, r#"[{"a": 1}, {"b": 2}]"#), "[[2]]");
    let name = made(r#"{"to": "xlsx", "sheet": "a/b"}"#, "[]");
    assert!(name.starts_with("PARAMETER: A sheet can't be called"), "{name}");
}

#[test]
fn columns_are_chosen_and_sheets_have_names() {
    let input = r#"[{"a": {"b": 1, "c": ["x", {"d": true}]}, "e": {}}, {"f": 2}]"#;
    let (host, workbook) = written(r#"{"operation": "write", "flatten": true}"#, input).unwrap();
    let found = read(r#"{"header": false}"#, host.content(&workbook));
    assert_eq!(
        found,
        r#"[["a.b","a.c.0","a.c.1.d","f"],[1,"x",true],[null,null,null,2]]"#
    );
    let parameters = r#"{"operation": "write", "sheets": [
        {"name": "One", "rows": [{"a": 1, "b": 2}], "columns": ["b"]}, {"rows": []}]}"#;
    let (host, workbook) = written(parameters, "null").unwrap();
    let book = host.content(&workbook);
    assert_eq!(read("{}", book), r#"[{"b":2}]"#);
    assert_eq!(read(r#"{"sheet": "Sheet2"}"#, book), "[]");
    let parameters = r#"{"operation": "write", "header": false}"#;
    let (host, workbook) = written(parameters, r#"[{"a": 1}]"#).unwrap();
    assert_eq!(read(r#"{"header": false}"#, host.content(&workbook)), "[[1]]");
}

#[test]
fn what_excel_does_not_take_is_refused() {
    let long = "x".repeat(32_768);
    let names = "1,".repeat(16_384) + "1";
    for (parameters, input, why) in [
        (
            "{}",
            "{}".to_owned(),
            "`value` takes a list of rows, but it is an empty object",
        ),
        (
            "{}",
            "[1]".to_owned(),
            "Row 0 of the sheet \"Sheet1\" is to be an object or an array",
        ),
        (
            "{}",
            format!("[[\"{long}\"]]"),
            "The text for cell A1 of the sheet \"Sheet1\" has 32768 characters",
        ),
        ("{}", format!("[[{names}]]"), "would have 16385 columns"),
        (
            r#"{"sheet": "a:b"}"#,
            "[]".to_owned(),
            "A sheet can't be called \"a:b\"",
        ),
        (r#"{"sheet": "'a"}"#, "[]".to_owned(), "an apostrophe"),
        (
            r#"{"sheet": "12345678901234567890123456789012"}"#,
            "[]".to_owned(),
            "at most 31 characters",
        ),
        (r#"{"sheets": []}"#, "[]".to_owned(), "at least one sheet"),
        (
            r#"{"sheets": [{"name": "a", "rows": []}, {"name": "A", "rows": []}]}"#,
            "[]".to_owned(),
            "Two sheets are called \"A\"",
        ),
    ] {
        let parameters = parameters
            .replacen('{', "{\"operation\": \"write\",", 1)
            .replace(",}", "}");
        let found = written(&parameters, &input).err().unwrap_or_default();
        assert!(found.contains(why), "{parameters}: {found}");
    }
}

#[test]
fn a_large_workbook_is_written_in_pieces() {
    let rows: Vec<Value> = (0..50_000_u64)
        .map(|number| {
            // Digits that do not get much smaller.
            let digits = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_string();
            Value::from(vec![Value::Number(number as f64), Value::from(digits)])
        })
        .collect();
    let mut host = Host::default();
    let made = host
        .run("Xlsx", r#"{"operation": "write"}"#, rows.into())
        .unwrap();
    assert!((2..6).contains(&host.effects), "{}", host.effects);
    let last = read(r#"{"header": false, "skip": 49999}"#, host.content(&made));
    assert_eq!(
        last,
        format!("[[49999,\"{}\"]]", 49_999_u64.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    );
}
