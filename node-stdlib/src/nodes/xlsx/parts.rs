//! The documents of a workbook besides its sheets.

use super::escapes;
use super::sheet::Sheet;

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
const MAIN: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATION: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const PACKAGE: &str = "http://schemas.openxmlformats.org/package/2006";
const SPREADSHEET: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml";

/// Formats of cells: as they come, a date, a date with a time, a time, a name of a column.
const STYLES: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n\
    <styleSheet xmlns=\"http://schemas.openxmlformats.org/spreadsheetml/2006/main\">\
    <numFmts count=\"3\"><numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd\"/>\
    <numFmt numFmtId=\"165\" formatCode=\"yyyy\\-mm\\-dd\\ hh:mm:ss\"/><numFmt numFmtId=\"166\" formatCode=\"hh:mm:ss\"/></numFmts>\
    <fonts count=\"2\"><font><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font>\
    <font><b/><sz val=\"11\"/><name val=\"Calibri\"/><family val=\"2\"/></font></fonts>\
    <fills count=\"2\"><fill><patternFill patternType=\"none\"/></fill><fill><patternFill patternType=\"gray125\"/></fill></fills>\
    <borders count=\"1\"><border><left/><right/><top/><bottom/><diagonal/></border></borders>\
    <cellStyleXfs count=\"1\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\"/></cellStyleXfs>\
    <cellXfs count=\"5\"><xf numFmtId=\"0\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\"/>\
    <xf numFmtId=\"164\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"165\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"166\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>\
    <xf numFmtId=\"0\" fontId=\"1\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyFont=\"1\"/></cellXfs>\
    <cellStyles count=\"1\"><cellStyle name=\"Normal\" xfId=\"0\" builtinId=\"0\"/></cellStyles></styleSheet>";

/// Where the document of a sheet is, by its number from 1.
pub(super) fn sheet_path(number: usize) -> String {
    format!("xl/worksheets/sheet{number}.xml")
}

/// Paths and contents of all documents but the sheets.
pub(super) fn parts(sheets: &[Sheet]) -> [(&'static str, String); 5] {
    let (mut types, mut listed, mut relations) = (String::new(), String::new(), String::new());
    for (number, sheet) in (1..).zip(sheets) {
        types.push_str(&format!(
            "<Override PartName=\"/{}\" ContentType=\"{SPREADSHEET}.worksheet+xml\"/>",
            sheet_path(number)
        ));
        listed.push_str("<sheet name=\"");
        escapes::write(&mut listed, &sheet.name);
        listed.push_str(&format!("\" sheetId=\"{number}\" r:id=\"rId{number}\"/>"));
        relations.push_str(&format!(
            "<Relationship Id=\"rId{number}\" Type=\"{RELATION}/worksheet\" Target=\"worksheets/sheet{number}.xml\"/>"
        ));
    }
    let content_types = format!(
        "{XML}<Types xmlns=\"{PACKAGE}/content-types\">\
         <Default Extension=\"rels\" ContentType=\"application/vnd.openxmlformats-package.relationships+xml\"/>\
         <Default Extension=\"xml\" ContentType=\"application/xml\"/>\
         <Override PartName=\"/xl/workbook.xml\" ContentType=\"{SPREADSHEET}.sheet.main+xml\"/>\
         <Override PartName=\"/xl/styles.xml\" ContentType=\"{SPREADSHEET}.styles+xml\"/>{types}</Types>"
    );
    let package = format!(
        "{XML}<Relationships xmlns=\"{PACKAGE}/relationships\">\
         <Relationship Id=\"rId1\" Type=\"{RELATION}/officeDocument\" Target=\"xl/workbook.xml\"/></Relationships>"
    );
    let book = format!(
        "{XML}<workbook xmlns=\"{MAIN}\" xmlns:r=\"{RELATION}\"><sheets>{listed}</sheets></workbook>"
    );
    let relations = format!(
        "{XML}<Relationships xmlns=\"{PACKAGE}/relationships\">{relations}\
         <Relationship Id=\"rId{}\" Type=\"{RELATION}/styles\" Target=\"styles.xml\"/></Relationships>",
        sheets.len() + 1
    );
    [
        ("[Content_Types].xml", content_types),
        ("_rels/.rels", package),
        (super::workbook::BOOK, book),
        (super::workbook::RELATIONS, relations),
        ("xl/styles.xml", STYLES.to_owned()),
    ]
}
