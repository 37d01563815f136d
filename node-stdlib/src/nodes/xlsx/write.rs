//! A workbook of rows, written piece by piece: in memory are the rows, and 1 MiB of what becomes of them.

use super::parts::{parts, sheet_path};
use super::sheet::{Sheet, Style, TAIL};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use crate::nodes::parameters::{array, boolean, mismatch, text};
use crate::nodes::text::{refuse_secret, value_or_input};
use crate::nodes::zip::delivery::Delivery;
use crate::nodes::zip::shared::asked;
use heddle_contract::abi::code;
use heddle_values::{Array, Object, Text, Value};
use std::collections::HashSet;

pub(in super::super) const MEDIA_TYPE: &str =
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
const SHEETS_MAX: usize = 1_000;
/// UTF-16 units of a sheet's name.
const NAME_UNITS_MAX: usize = 31;
/// As much of a sheet is made before it is packed, in bytes.
pub(super) const TEXT_BYTES: usize = 64 << 10;

/// Checks the sheets, and begins to write.
pub(super) fn begin(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let style = Style {
        has_header: boolean(parameters, "header", true)?,
        dates: boolean(parameters, "dates", true)?,
        flatten: boolean(parameters, "flatten", false)?,
    };
    let sheets = match array(parameters, "sheets")? {
        Some(given) => several(given, style)?,
        None => {
            let name = text(parameters, "sheet")?.unwrap_or_else(|| "Sheet1".into());
            let rows = value_or_input(parameters, context);
            let rows = list("value", &rows)?;
            vec![Sheet::new(checked(&name)?, rows, columns(parameters)?, style)?]
        }
    };
    let name = text(parameters, "name")?.unwrap_or_else(|| "workbook.xlsx".into());
    let writing = Writing {
        sheets,
        sheet: 0,
        row: None,
        has_parts: false,
        delivery: Delivery::new(name, MEDIA_TYPE, context),
    };
    Box::new(writing).proceed()
}

fn list(name: &str, value: &Value) -> Result<Array, Failure> {
    match value {
        Value::Array(rows) => Ok(rows.clone()),
        other => Err(mismatch(name, "a list of rows", other)),
    }
}

fn columns(parameters: &Object) -> Result<Option<Vec<Text>>, Failure> {
    let columns = array(parameters, "columns")?;
    Ok(columns.map(|names| names.iter().map(Value::to_text).collect()))
}

fn several(given: &Array, style: Style) -> Result<Vec<Sheet>, Failure> {
    if given.is_empty() {
        return Err(Failure::new(
            code::PARAMETER,
            "Parameter `sheets` takes a list of at least one sheet, but it is empty.",
        ));
    }
    if given.len() > SHEETS_MAX {
        let message = format!(
            "A workbook that is written has at most {SHEETS_MAX} sheets, but `sheets` has {}.",
            given.len()
        );
        return Err(Failure::new(code::FILE_LIMIT, message));
    }
    let (mut sheets, mut names) = (Vec::new(), HashSet::new());
    for (index, value) in given.iter().enumerate() {
        let Value::Object(sheet) = value else {
            return Err(mismatch(&format!("sheets[{index}]"), "{name, rows}", value));
        };
        let name = text(sheet, "name")?.unwrap_or_else(|| format!("Sheet{}", index + 1));
        let name = checked(&name)?;
        if !names.insert(name.to_lowercase()) {
            let message = format!(
                "Two sheets are called \"{name}\". Capital letters make no difference to Excel: give each sheet a name of its own."
            );
            return Err(Failure::new(code::PARAMETER, message));
        }
        let rows = sheet.get("rows").cloned().unwrap_or_default();
        let rows = list(&format!("sheets[{index}].rows"), &rows)?;
        sheets.push(Sheet::new(name, rows, columns(sheet)?, style)?);
    }
    Ok(sheets)
}

/// The name of a sheet, if Excel takes it.
pub(super) fn checked(name: &str) -> Result<String, Failure> {
    let refused = |why: &str| {
        let shown: String = name.chars().take(100).collect();
        let message = format!("A sheet can't be called {shown:?}: {why}.");
        Err(Failure::new(code::PARAMETER, message))
    };
    refuse_secret(name)?;
    let is_forbidden = |character: char| character.is_control() || r":\/?*[]".contains(character);
    if name.is_empty() {
        return refused("the name is empty");
    }
    if name.encode_utf16().count() > NAME_UNITS_MAX {
        return refused("a name has at most 31 characters");
    }
    if name.contains(is_forbidden) {
        return refused(r"a name has none of the characters : \ / ? * [ ], and no control characters");
    }
    if name.starts_with('\'') || name.ends_with('\'') {
        return refused("a name neither begins nor ends with an apostrophe");
    }
    if name.eq_ignore_ascii_case("history") {
        return refused("Excel keeps that name for itself");
    }
    Ok(name.to_owned())
}

struct Writing {
    sheets: Vec<Sheet>,
    /// The sheet at hand, and its next row; `None`: it is not begun.
    sheet: usize,
    row: Option<usize>,
    /// Whether the other documents are written.
    has_parts: bool,
    delivery: Delivery,
}

impl Writing {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        loop {
            if let Some((kind, request)) = self.delivery.request() {
                return asked(kind, request, self);
            }
            self.pack()?;
        }
    }

    /// Packs the next part of the workbook.
    fn pack(&mut self) -> Result<(), Failure> {
        let packer = &mut self.delivery.packer;
        if !self.has_parts {
            self.has_parts = true;
            for (path, content) in parts(&self.sheets) {
                packer.file(path, content.as_bytes())?;
            }
            return Ok(());
        }
        let Some(sheet) = self.sheets.get(self.sheet) else {
            packer.end();
            return Ok(());
        };
        let mut out = String::new();
        let mut row = match self.row {
            Some(row) => row,
            None => {
                packer.begin(sheet_path(self.sheet + 1))?;
                sheet.begin(&mut out)?;
                0
            }
        };
        while row < sheet.rows.len() && out.len() < TEXT_BYTES {
            sheet.row(&mut out, row)?;
            row += 1;
        }
        let is_whole = row >= sheet.rows.len();
        if is_whole {
            out.push_str(TAIL);
        }
        packer.pack(out.as_bytes())?;
        self.row = Some(row);
        if is_whole {
            packer.end_file()?;
            self.sheet += 1;
            self.row = None;
        }
        Ok(())
    }
}

impl Stepping for Writing {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        if let Some(file) = self.delivery.taken(result)? {
            return Ok(Outcome::Emit(Emission::one(0, file)));
        }
        self.proceed()
    }
}
