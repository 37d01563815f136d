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
    assert!(read("{}", b"PK").starts_with("PARSE: This is no ZIP archive"));
    let mut host = Host::default();
    let files = value(r#"{"operation": "make", "files": [{"path": "a.txt", "content": "a"}]}"#).to_json();
    let archive = host.run("Zip", &files, Value::Null).unwrap();
    let archive = host.content(&archive).to_vec();
    assert_eq!(
        read("{}", &archive),
        "PARSE: This is no workbook that can be read: it has no `xl/workbook.xml`."
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

proptest! {
    #[test]
    fn no_sheet_is_too_strange(cells in "[<>/crowvtisr\"= 0-9A-Z&;#-]{0,200}", number in any::<f64>(), style in "[dmyhs0#\\[\\]\"\\\\;@_*]{0,12}") {
        let sheet = format!("<worksheet><sheetData><row><c s=\"0\"><v>{number}</v></c></row>{cells}</sheetData></worksheet>");
        let styles = format!("<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode='{style}'/></numFmts><cellXfs><xf numFmtId=\"164\"/></cellXfs></styleSheet>");
        let found = read(r#"{"header": false}"#, &workbook(&sheet, &styles));
        prop_assert!(found.starts_with('[') || found.starts_with("PARSE: "), "{}", found);
    }
}
