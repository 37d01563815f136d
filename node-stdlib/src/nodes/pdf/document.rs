//! The objects of a file. They are found by reading it from its beginning to its end, as programs do that repair files: of several
//! objects with a number the last one counts, as in a file that was changed. So nothing depends on offsets that the file tells.

use super::filters::decoded;
use super::object::{Dictionary, Lexer, Object, is_space};
use crate::failure::Failure;
use heddle_contract::abi::code;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::rc::Rc;

/// Objects of a file.
const OBJECTS_MAX: usize = 1_000_000;
/// References from object to object.
const REFERENCES_MAX: usize = 32;
const PAGES_MAX: usize = 50_000;
/// How often each byte may be read over again where objects are damaged, such as texts without an end within each other.
const READINGS_MAX: usize = 8;

pub(super) fn broken(what: &str) -> Failure {
    Failure::new(
        code::PARSE,
        format!("This isn't a PDF file that can be read: {what}."),
    )
}

fn too_many_pages() -> Failure {
    Failure::new(code::FILE_LIMIT, "The PDF has more than 50,000 pages.")
}

/// An object, and where its bytes are if it is a stream.
struct Entry {
    object: Object,
    stream: Option<Range<usize>>,
    /// Where it is in the file.
    at: usize,
}

pub(super) struct Document<'a> {
    bytes: &'a [u8],
    entries: BTreeMap<u32, Entry>,
    trailer: Dictionary,
}

/// A page, with the resources that may be those of its parents.
pub(super) struct Page {
    pub dictionary: Rc<Dictionary>,
    pub resources: Option<Rc<Dictionary>>,
}

fn find(bytes: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let first = *what.first()?;
    let mut at = 0;
    while let Some(next) = rest.get(at..)?.iter().position(|byte| *byte == first) {
        at += next;
        if rest.get(at..)?.starts_with(what) {
            return Some(from + at);
        }
        at += 1;
    }
    None
}

/// The number of the object whose `obj` is here: `12 0 obj`.
fn number_before(bytes: &[u8], at: usize) -> Option<u32> {
    let before = bytes.get(at.saturating_sub(24)..at)?;
    let (before, spaces) = split_back(before, is_space);
    let (before, generation) = split_back(before, |byte| byte.is_ascii_digit());
    let (before, between) = split_back(before, is_space);
    let (_, number) = split_back(before, |byte| byte.is_ascii_digit());
    if spaces.is_empty() || generation.is_empty() || between.is_empty() {
        return None;
    }
    str::from_utf8(number).ok()?.parse().ok()
}

fn split_back(bytes: &[u8], is_part: impl Fn(u8) -> bool) -> (&[u8], &[u8]) {
    let count = bytes.iter().rev().take_while(|byte| is_part(**byte)).count();
    bytes.split_at(bytes.len() - count)
}

impl<'a> Document<'a> {
    pub fn read(bytes: &'a [u8]) -> Result<Self, Failure> {
        let start = bytes.get(..1_024.min(bytes.len())).unwrap_or_default();
        if find(start, b"%PDF-", 0).is_none() {
            return Err(broken("it does not begin like one"));
        }
        let mut document = Document {
            bytes,
            entries: BTreeMap::new(),
            trailer: Dictionary::new(),
        };
        document.find_objects()?;
        document.find_trailers()?;
        if document.trailer.contains_key("Encrypt") {
            let message = "The PDF is encrypted. Files with a password, or with restrictions on what may be copied, can't be read: save it \
                without them.";
            return Err(Failure::new(code::PARSE, message));
        }
        document.unpack_objects()?;
        Ok(document)
    }

    /// `1.7`
    pub fn version(&self) -> String {
        let at = find(self.bytes, b"%PDF-", 0).map_or(0, |at| at + 5);
        let rest = self.bytes.get(at..).unwrap_or_default().iter().take(8);
        rest.map(|byte| char::from(*byte))
            .take_while(|character| character.is_ascii_digit() || *character == '.')
            .collect()
    }

    /// Whether so many bytes can be read for nothing before the file is given up.
    fn check_readings(&self, bytes: usize) -> Result<(), Failure> {
        match bytes > self.bytes.len().saturating_mul(READINGS_MAX) {
            true => Err(broken("too much of it is damaged")),
            false => Ok(()),
        }
    }

    fn find_objects(&mut self) -> Result<(), Failure> {
        let (mut at, mut in_vain) = (0, 0_usize);
        while let Some(found) = find(self.bytes, b"obj", at) {
            at = found + 3;
            let Some(number) = number_before(self.bytes, found) else {
                continue;
            };
            let mut lexer = Lexer::new(self.bytes, at);
            let Some(object) = lexer.object() else {
                in_vain = in_vain.saturating_add(lexer.at - at);
                self.check_readings(in_vain)?;
                continue;
            };
            at = lexer.at;
            let stream = match &object {
                Object::Dictionary(dictionary) => self.stream_after(dictionary, at),
                _ => None,
            };
            if let Some(stream) = &stream {
                at = stream.end;
            }
            if let (Object::Dictionary(dictionary), true) = (&object, stream.is_some())
                && dictionary.get("Type").and_then(Object::name) == Some("XRef")
            {
                self.trailer
                    .extend(dictionary.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            if self.entries.len() >= OBJECTS_MAX {
                return Err(Failure::new(
                    code::FILE_LIMIT,
                    "The PDF has more than 1,000,000 objects.",
                ));
            }
            self.entries.insert(
                number,
                Entry {
                    object,
                    stream,
                    at: found,
                },
            );
        }
        Ok(())
    }

    /// Where the bytes of a stream are whose dictionary ends here.
    fn stream_after(&self, dictionary: &Dictionary, at: usize) -> Option<Range<usize>> {
        let mut lexer = Lexer::new(self.bytes, at);
        lexer.skip_space();
        let mut start = lexer.at;
        if !self.bytes.get(start..)?.starts_with(b"stream") {
            return None;
        }
        start += 6;
        match self.bytes.get(start..)? {
            [b'\r', b'\n', ..] => start += 2,
            [b'\r' | b'\n', ..] => start += 1,
            _ => {}
        }
        // The length is believed if the stream ends there.
        if let Some(end) = dictionary
            .get("Length")
            .and_then(Object::count)
            .map(|length| start.saturating_add(length))
            && let Some(rest) = self.bytes.get(end..)
        {
            let mut lexer = Lexer::new(rest, 0);
            lexer.skip_space();
            if rest.get(lexer.at..)?.starts_with(b"endstream") {
                return Some(start..end);
            }
        }
        let end = find(self.bytes, b"endstream", start).unwrap_or(self.bytes.len());
        Some(start..end)
    }

    fn find_trailers(&mut self) -> Result<(), Failure> {
        let (mut at, mut readings) = (0, 0_usize);
        while let Some(found) = find(self.bytes, b"trailer", at) {
            at = found + 7;
            let mut lexer = Lexer::new(self.bytes, at);
            if let Some(Object::Dictionary(dictionary)) = lexer.object() {
                self.trailer
                    .extend(dictionary.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            readings = readings.saturating_add(lexer.at - at);
            self.check_readings(readings)?;
        }
        Ok(())
    }

    /// Objects that are within streams.
    fn unpack_objects(&mut self) -> Result<(), Failure> {
        let mut streams: Vec<(usize, u32)> = self
            .entries
            .iter()
            .filter(|(_, entry)| match &entry.object {
                Object::Dictionary(dictionary) => {
                    dictionary.get("Type").and_then(Object::name) == Some("ObjStm")
                }
                _ => false,
            })
            .map(|(number, entry)| (entry.at, *number))
            .collect();
        streams.sort_unstable();
        for (at, number) in streams {
            let reference = Object::Reference(number);
            let Some(dictionary) = self.dictionary(&reference) else {
                continue;
            };
            let Some(data) = self.stream(&reference)? else {
                continue;
            };
            let count = |name: &str| self.field(&dictionary, name).count();
            let (Some(count), Some(first)) = (count("N"), count("First")) else {
                continue;
            };
            let mut lexer = Lexer::of_operators(&data);
            let mut places = Vec::new();
            for _ in 0..count {
                let (Some(number), Some(offset)) = (lexer.object(), lexer.object()) else {
                    break;
                };
                places.extend(number.count().zip(offset.count()));
            }
            // Objects follow each other. Many that are told to be in one place would be as many copies of it.
            let mut left = data.len().saturating_mul(2);
            for (number, offset) in places {
                let start = first.saturating_add(offset);
                let mut lexer = Lexer::new(&data, start);
                let object = lexer.object();
                let Some(rest) = left.checked_sub(lexer.at - start) else {
                    break;
                };
                left = rest;
                let (Some(object), Ok(number)) = (object, u32::try_from(number)) else {
                    continue;
                };
                let is_newer = self.entries.get(&number).is_none_or(|entry| entry.at <= at);
                if is_newer && self.entries.len() < OBJECTS_MAX {
                    let stream = None;
                    self.entries.insert(number, Entry { object, stream, at });
                }
            }
        }
        Ok(())
    }

    /// The entry to which references lead.
    fn entry(&self, object: &Object) -> Option<&Entry> {
        let Object::Reference(number) = object else {
            return None;
        };
        let mut number = *number;
        for _ in 0..REFERENCES_MAX {
            let entry = self.entries.get(&number)?;
            match entry.object {
                Object::Reference(next) => number = next,
                _ => return Some(entry),
            }
        }
        None
    }

    /// What a reference refers to; anything else is itself.
    pub fn resolve(&self, object: &Object) -> Object {
        match object {
            Object::Reference(_) => self
                .entry(object)
                .map_or(Object::Null, |entry| entry.object.clone()),
            other => other.clone(),
        }
    }

    pub fn dictionary(&self, object: &Object) -> Option<Rc<Dictionary>> {
        match self.resolve(object) {
            Object::Dictionary(dictionary) => Some(dictionary),
            _ => None,
        }
    }

    /// A field of a dictionary, which may be elsewhere.
    pub fn field(&self, dictionary: &Dictionary, name: &str) -> Object {
        dictionary
            .get(name)
            .map_or(Object::Null, |object| self.resolve(object))
    }

    /// The elements of an array; what is none is an array of itself, and nothing is empty.
    pub fn list(&self, object: &Object) -> Vec<Object> {
        match self.resolve(object) {
            Object::Array(items) => items.to_vec(),
            Object::Null => Vec::new(),
            _ => vec![object.clone()],
        }
    }

    /// The decoded bytes of a stream, if it is one and has text.
    pub fn stream(&self, object: &Object) -> Result<Option<Vec<u8>>, Failure> {
        let Some(entry) = self.entry(object) else {
            return Ok(None);
        };
        let (Object::Dictionary(dictionary), Some(range)) = (&entry.object, &entry.stream) else {
            return Ok(None);
        };
        let data = self.bytes.get(range.clone()).unwrap_or_default();
        // Filters may be elsewhere as well.
        let mut own = Dictionary::new();
        for name in ["Filter", "F", "DecodeParms", "DP"] {
            let Some(value) = dictionary.get(name) else {
                continue;
            };
            let value = match self.resolve(value) {
                Object::Array(items) => {
                    Object::Array(Rc::new(items.iter().map(|item| self.resolve(item)).collect()))
                }
                other => other,
            };
            own.insert(name.to_owned(), value);
        }
        decoded(&own, data)
    }

    pub fn info(&self) -> Option<Rc<Dictionary>> {
        self.dictionary(self.trailer.get("Info")?)
    }

    fn root(&self) -> Option<Rc<Dictionary>> {
        let told = self.trailer.get("Root").and_then(|root| self.dictionary(root));
        told.or_else(|| {
            self.entries.values().rev().find_map(|entry| match &entry.object {
                Object::Dictionary(dictionary)
                    if dictionary.get("Type").and_then(Object::name) == Some("Catalog") =>
                {
                    Some(dictionary.clone())
                }
                _ => None,
            })
        })
    }

    /// All pages, in order.
    pub fn pages(&self) -> Result<Vec<Page>, Failure> {
        let root = self.root();
        let mut pages = match &root {
            Some(root) => self.pages_below(root)?,
            None => Vec::new(),
        };
        if pages.is_empty() {
            pages = self.loose_pages()?;
        }
        match (pages.is_empty(), root) {
            (false, _) => Ok(pages),
            (true, None) => Err(broken("it has no catalog")),
            (true, Some(_)) => Err(broken("it has no pages")),
        }
    }

    /// The pages of a file that has lost its end, and with it the list of them: as they come in the file.
    fn loose_pages(&self) -> Result<Vec<Page>, Failure> {
        let mut found: Vec<(usize, u32, Rc<Dictionary>)> = self
            .entries
            .iter()
            .filter_map(|(number, entry)| match &entry.object {
                Object::Dictionary(dictionary)
                    if dictionary.get("Type").and_then(Object::name) == Some("Page") =>
                {
                    Some((entry.at, *number, dictionary.clone()))
                }
                _ => None,
            })
            .collect();
        if found.len() > PAGES_MAX {
            return Err(too_many_pages());
        }
        found.sort_unstable_by_key(|(at, number, _)| (*at, *number));
        let pages = found.into_iter().map(|(_, _, dictionary)| Page {
            resources: self.resources_of(&dictionary),
            dictionary,
        });
        Ok(pages.collect())
    }

    /// Those that a page, a part of the page tree or a form names itself.
    pub fn own_resources(&self, of: &Dictionary) -> Option<Rc<Dictionary>> {
        self.dictionary(of.get("Resources")?)
    }

    /// The resources of a page, or those of what it is part of.
    fn resources_of(&self, page: &Rc<Dictionary>) -> Option<Rc<Dictionary>> {
        let mut dictionary = page.clone();
        for _ in 0..REFERENCES_MAX {
            let own = self.own_resources(&dictionary);
            if own.is_some() {
                return own;
            }
            dictionary = self.dictionary(dictionary.get("Parent")?)?;
        }
        None
    }

    fn pages_below(&self, root: &Dictionary) -> Result<Vec<Page>, Failure> {
        let first = root.get("Pages").cloned().unwrap_or(Object::Null);
        let mut pages = Vec::new();
        let mut seen = BTreeSet::new();
        // The next one last.
        let mut open: Vec<(Object, Option<Rc<Dictionary>>)> = vec![(first, None)];
        while let Some((object, inherited)) = open.pop() {
            if let Object::Reference(number) = object
                && !seen.insert(number)
            {
                continue;
            }
            let Some(dictionary) = self.dictionary(&object) else {
                continue;
            };
            let resources = self.own_resources(&dictionary).or(inherited);
            match dictionary.get("Kids") {
                Some(kids) => {
                    let kids = self.list(kids);
                    open.extend(kids.into_iter().rev().map(|kid| (kid, resources.clone())));
                }
                None => pages.push(Page {
                    dictionary,
                    resources,
                }),
            }
            if pages.len() > PAGES_MAX || open.len() > OBJECTS_MAX {
                return Err(too_many_pages());
            }
        }
        Ok(pages)
    }
}
