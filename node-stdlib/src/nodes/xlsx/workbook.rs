//! What a workbook says of its sheets, and what they share: texts, and how cells are shown.

use super::escapes;
use super::events::{Seen, attribute, walk};
use super::failure::broken;
use super::numbers::{Shown, built_in, custom};
use crate::failure::Failure;
use heddle_values::Text;
use std::collections::BTreeMap;

/// Where the sheets are listed, and where their documents are.
pub(super) const BOOK: &str = "xl/workbook.xml";
pub(super) const RELATIONS: &str = "xl/_rels/workbook.xml.rels";
/// As many sheets are listed.
const SHEETS_MAX: usize = 10_000;

/// A workbook.
#[derive(Debug, Default)]
pub(super) struct Book {
    pub sheets: Vec<Sheet>,
    /// Whether days are counted from 1904 on instead of 1900.
    pub since_1904: bool,
    pub strings: Option<String>,
    pub styles: Option<String>,
}

#[derive(Clone, Debug)]
pub(super) struct Sheet {
    pub name: String,
    pub is_hidden: bool,
    pub path: String,
}

impl Book {
    pub fn read(book: &[u8], relations: &[u8]) -> Result<Self, Failure> {
        let mut targets = BTreeMap::new();
        let mut found = Book::default();
        walk(relations, |seen| {
            let Seen::Start("Relationship", start) = seen else {
                return Ok(());
            };
            let (id, kind) = (attribute(start, "Id")?, attribute(start, "Type")?);
            let (Some(id), Some(kind), Some(target)) = (id, kind, attribute(start, "Target")?) else {
                return Ok(());
            };
            let path = path(&target);
            match kind.rsplit_once('/').map(|(_, kind)| kind) {
                Some("sharedStrings") => found.strings = Some(path),
                Some("styles") => found.styles = Some(path),
                Some("worksheet") => {
                    targets.insert(id, path);
                }
                _ => {}
            }
            Ok(())
        })?;
        walk(book, |seen| {
            match seen {
                Seen::Start("workbookPr", start) => {
                    let from = attribute(start, "date1904")?;
                    found.since_1904 = matches!(from.as_deref(), Some("1" | "true"));
                }
                Seen::Start("sheet", start) if found.sheets.len() < SHEETS_MAX => {
                    let id = attribute(start, "id")?.unwrap_or_default();
                    // Others are charts and macros, which have no rows.
                    if let (Some(path), Some(name)) = (targets.get(&id), attribute(start, "name")?) {
                        let state = attribute(start, "state")?;
                        found.sheets.push(Sheet {
                            name: escapes::read(&name).into_owned(),
                            is_hidden: matches!(state.as_deref(), Some("hidden" | "veryHidden")),
                            path: path.clone(),
                        });
                    }
                }
                _ => {}
            }
            Ok(())
        })?;
        match found.sheets.is_empty() {
            true => Err(broken("it has no sheet")),
            false => Ok(found),
        }
    }
}

/// A document that is named from within `xl/`.
fn path(target: &str) -> String {
    match target.strip_prefix('/') {
        Some(target) => target.to_owned(),
        None => format!("xl/{target}"),
    }
}

/// The texts to which cells refer by number.
pub(super) fn strings(document: &[u8]) -> Result<Vec<Text>, Failure> {
    let mut found = Vec::new();
    let (mut text, mut is_text, mut is_reading) = (String::new(), false, true);
    walk(document, |seen| {
        match seen {
            Seen::Start("t", _) => is_text = true,
            Seen::End("t") => is_text = false,
            // How it is read aloud is no part of it.
            Seen::Start("rPh", _) => is_reading = false,
            Seen::End("rPh") => is_reading = true,
            Seen::Text(part) if is_text && is_reading => text.push_str(part),
            Seen::End("si") => {
                found.push(Text::from(escapes::read(&text).as_ref()));
                text.clear();
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}

/// How the numbers of cells are meant, by the number of their style.
pub(super) fn styles(document: &[u8]) -> Result<Vec<Shown>, Failure> {
    let (mut formats, mut found, mut is_cells) = (BTreeMap::new(), Vec::new(), false);
    walk(document, |seen| {
        match seen {
            Seen::Start("numFmt", start) => {
                let id: Option<u32> = attribute(start, "numFmtId")?.and_then(|id| id.parse().ok());
                if let (Some(id), Some(format)) = (id, attribute(start, "formatCode")?) {
                    formats.insert(id, custom(&format));
                }
            }
            Seen::Start("cellXfs", _) => is_cells = true,
            Seen::End("cellXfs") => is_cells = false,
            Seen::Start("xf", start) if is_cells => {
                let id = attribute(start, "numFmtId")?
                    .and_then(|id| id.parse().ok())
                    .unwrap_or(0);
                found.push(formats.get(&id).copied().unwrap_or_else(|| built_in(id)));
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(found)
}
