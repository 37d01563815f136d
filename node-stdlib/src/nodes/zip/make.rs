//! An archive of files, each of which is read once, piece by piece.

use super::super::file::file_value;
use super::super::file_value::is_file;
use super::super::parameters::{mismatch, text};
use super::delivery::Delivery;
use super::path::checked;
use super::shared::{ENTRIES_MAX, PIECE, asked};
use super::source::Source;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome, Stepping};
use heddle_contract::abi::code;
use heddle_values::Value;
use std::collections::BTreeSet;
use std::collections::VecDeque;

const MEDIA_TYPE: &str = "application/zip";

/// `files`: a list of files, and of objects with `path` and `content`.
pub(super) fn begin(files: &Value, name: String, context: &mut dyn Context) -> NodeResult {
    let list = match files {
        Value::Array(list) => list.iter().cloned().collect(),
        Value::Object(_) => vec![files.clone()],
        other => return Err(mismatch("files", "a list of files", other)),
    };
    if list.len() > ENTRIES_MAX {
        let message = format!(
            "An archive has at most {ENTRIES_MAX} files, but there are {}.",
            list.len()
        );
        return Err(Failure::new(code::FILE_LIMIT, message));
    }
    let mut paths = BTreeSet::new();
    let mut items = VecDeque::new();
    for (index, value) in list.iter().enumerate() {
        items.push_back(item(index, value, &mut paths)?);
    }
    let making = Making {
        items,
        packing: None,
        reading: None,
        delivery: Delivery::new(name, MEDIA_TYPE, context),
    };
    Box::new(making).proceed()
}

struct Item {
    path: String,
    source: Source,
}

/// A file has the path that it had in another archive, or else its name; a second one of a name gets a number.
fn item(index: usize, value: &Value, paths: &mut BTreeSet<String>) -> Result<Item, Failure> {
    let parameter = format!("files[{index}]");
    let takes = "a file, or {path, content}";
    let Value::Object(object) = value else {
        return Err(mismatch(&parameter, takes, value));
    };
    let named = text(object, "path")?;
    let source = match object.get("content") {
        _ if is_file(object) => Source::new(file_value(&parameter, value)?.0),
        Some(Value::String(content)) => Source::of(content.to_utf8().into_owned().into_bytes()),
        Some(content) => Source::of(content.to_json().into_bytes()),
        None => return Err(mismatch(&parameter, takes, value)),
    };
    let path = match named {
        Some(path) => path,
        None => text(object, "name")?.ok_or_else(|| mismatch(&parameter, takes, value))?,
    };
    let path = checked(&path)?;
    let (stem, ending) = match path.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() && !ending.contains('/') => (stem, format!(".{ending}")),
        _ => (path.as_str(), String::new()),
    };
    let mut free = path.clone();
    let mut number = 1;
    while !paths.insert(free.clone()) {
        number += 1;
        free = format!("{stem} ({number}){ending}");
    }
    Ok(Item { path: free, source })
}

struct Making {
    items: VecDeque<Item>,
    /// The file at hand, and how much of it is packed.
    packing: Option<(Source, u64)>,
    /// Where the piece of it begins that the host was asked for.
    reading: Option<u64>,
    delivery: Delivery,
}

impl Making {
    fn proceed(mut self: Box<Self>) -> NodeResult {
        loop {
            if let Some((kind, request)) = self.delivery.request() {
                return asked(kind, request, self);
            }
            let packer = &mut self.delivery.packer;
            let Some((source, at)) = &mut self.packing else {
                match self.items.pop_front() {
                    Some(Item { path, source }) => {
                        packer.begin(path)?;
                        self.packing = Some((source, 0));
                    }
                    None => packer.end(),
                }
                continue;
            };
            let offset = *at;
            let Some(bytes) = source.at(offset, 1) else {
                let request = source.request(offset);
                self.reading = Some(offset);
                return asked(PIECE, request, self);
            };
            *at += bytes.len() as u64;
            if bytes.is_empty() {
                packer.end_file()?;
                self.packing = None;
            } else {
                packer.pack(bytes)?;
            }
        }
    }
}

impl Stepping for Making {
    fn resume(mut self: Box<Self>, result: Value, _: &mut dyn Context) -> NodeResult {
        if let Some(offset) = self.reading.take() {
            if let Some((source, _)) = &mut self.packing {
                source.fill(offset, &result)?;
            }
        } else if let Some(file) = self.delivery.taken(result)? {
            return Ok(Outcome::Emit(Emission::one(0, file)));
        }
        self.proceed()
    }
}
