//! Errors and warnings about a graph, for people and for editors.

use serde::Serialize;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Whether a finding prevents compilation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The graph compiles; something in it looks wrong.
    Warning,
    /// The graph does not compile.
    Error,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diagnostic {
    /// Whether it prevents compilation.
    pub severity: Severity,
    /// Stable name of the rule, for example `unknown-type`.
    pub code: &'static str,
    /// The node; `None` for the graph as a whole.
    pub node_id: Option<String>,
    /// Parameter path such as `cases[0].when`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parameter: Option<String>,
    /// What is wrong: begins with a small letter and has no full stop, as it may follow a place.
    pub message: String,
    /// What to do, for example a "did you mean"; in the same style.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// The piece of the parameter's text that is meant, when it is about an expression.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excerpt: Option<Excerpt>,
    /// The place within a definition, if it is about one; `node_id` and `parameter` then say the same in one path.
    #[serde(skip)]
    pub within: Option<Within>,
}

/// A place in a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Within {
    /// Name of the definition.
    pub definition: String,
    /// Node of its inner graph.
    pub node_id: Option<String>,
    /// Parameter path of that node; without one, of the definition.
    pub parameter: Option<String>,
}

/// A piece of a parameter's text, with what stands around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Excerpt {
    /// The parameter as written: all of it, or of a longer one what stands around the piece.
    pub text: String,
    /// Byte range within `text`.
    pub span: Range<usize>,
    /// Bytes of the parameter before `text`.
    #[serde(skip_serializing_if = "is_zero")]
    pub offset: usize,
    /// The line of the parameter with which `text` begins, if the parameter has several; from 1.
    #[serde(skip)]
    pub line: Option<usize>,
    /// Those places as editors count them.
    #[serde(skip)]
    pub utf16: Utf16,
}

/// Places in a parameter's text in UTF-16 code units, as JavaScript counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Utf16 {
    /// Units of the parameter before the excerpt.
    pub offset: usize,
    /// The piece, within the parameter's whole text.
    pub span: Range<usize>,
}

/// A longer text is cut to so many bytes around the piece that is meant, which is more than anybody is shown.
const EXCERPT_BYTES_MAX: usize = 2_048;
const EXCERPT_BYTES_BEFORE: usize = 512;

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl Excerpt {
    /// The piece of a text.
    fn new(text: &str, span: Range<usize>) -> Excerpt {
        let end = span.end.min(text.len());
        let start = span.start.min(end);
        let is_whole = text.len() <= EXCERPT_BYTES_MAX;
        let offset = match is_whole {
            true => 0,
            false => text.floor_char_boundary(start.saturating_sub(EXCERPT_BYTES_BEFORE)),
        };
        let last = match is_whole {
            true => text.len(),
            false => text.floor_char_boundary(offset + EXCERPT_BYTES_MAX),
        };
        let (before, shown) = (text.get(..offset), text.get(offset..last));
        let lines_before = before.unwrap_or_default().matches('\n').count();
        let mut units = Utf16Units::new(text);
        Excerpt {
            utf16: Utf16 {
                offset: units.before(offset),
                span: units.before(start)..units.before(end),
            },
            text: shown.unwrap_or_default().to_owned(),
            span: start - offset..end.min(last) - offset,
            offset,
            line: text.contains('\n').then_some(lines_before + 1),
        }
    }
}

/// Converts byte offsets of a text to UTF-16 code units; in ascending order, it reads the text once.
#[derive(Clone, Debug)]
pub struct Utf16Units<'t> {
    text: &'t str,
    bytes: usize,
    units: usize,
}

impl<'t> Utf16Units<'t> {
    /// At the beginning of a text.
    pub fn new(text: &'t str) -> Self {
        Utf16Units {
            text,
            bytes: 0,
            units: 0,
        }
    }

    /// Units before an offset, which is taken to be the nearest boundary of characters before it.
    pub fn before(&mut self, offset: usize) -> usize {
        let offset = self.text.floor_char_boundary(offset);
        if offset < self.bytes {
            (self.bytes, self.units) = (0, 0);
        }
        let between = self.text.get(self.bytes..offset).unwrap_or_default();
        self.units += between.encode_utf16().count();
        self.bytes = offset;
        self.units
    }
}

impl Diagnostic {
    /// An error about the graph as a whole.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Error,
            code,
            node_id: None,
            parameter: None,
            message: message.into(),
            help: None,
            excerpt: None,
            within: None,
        }
    }

    /// A warning about the graph as a whole.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(code, message)
        }
    }

    /// Says which node it is about.
    pub fn at_node(self, id: impl Into<String>) -> Self {
        Diagnostic {
            node_id: Some(id.into()),
            ..self
        }
    }

    /// Says which parameter of the node it is about.
    pub fn at_parameter(self, path: impl Into<String>) -> Self {
        Diagnostic {
            parameter: Some(path.into()),
            ..self
        }
    }

    /// Says which definition it is about, or which field of it.
    pub fn at_definition(self, definition: &str, field: Option<&str>) -> Self {
        let path = format!("nodeDefinitions.{definition}");
        let path = field.map_or(path.clone(), |field| format!("{path}.{field}"));
        let within = Within {
            definition: definition.to_owned(),
            node_id: None,
            parameter: field.map(str::to_owned),
        };
        Diagnostic {
            within: Some(within),
            ..self.at_parameter(path)
        }
    }

    /// Adds advice, if there is any.
    pub fn with_help(self, help: impl Into<Option<String>>) -> Self {
        Diagnostic {
            help: help.into(),
            ..self
        }
    }

    /// Says which piece of the parameter's text it is about.
    pub fn with_excerpt(self, text: &str, span: Range<usize>) -> Self {
        Diagnostic {
            excerpt: Some(Excerpt::new(text, span)),
            ..self
        }
    }
}

/// Puts diagnostics in their order: the graph's own, then by node as `node_ids` lists them, then by parameter.
pub(crate) fn sort<'a>(diagnostics: &mut [Diagnostic], node_ids: impl Iterator<Item = &'a str>) {
    let mut places = HashMap::new();
    for (place, id) in node_ids.enumerate() {
        places.entry(id.to_owned()).or_insert(place + 1);
    }
    diagnostics.sort_by_cached_key(|diagnostic| {
        let place = match &diagnostic.node_id {
            None => 0,
            Some(id) => places.get(id).copied().unwrap_or(usize::MAX),
        };
        (place, diagnostic.parameter.clone())
    });
}

/// A sentence of others in the style of diagnostics: no capital, no full stop.
pub(crate) fn unsentenced(sentence: &str) -> String {
    let sentence = sentence.trim_end_matches('.');
    let mut rest = sentence.chars();
    match (rest.next(), rest.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => first.to_lowercase().chain(rest).collect(),
        _ => sentence.to_owned(),
    }
}

/// What is longer was not mistyped.
const MISTYPED_BYTES_MAX: usize = 200;
/// Pairs of bytes that are compared for one graph to find what was meant, and what a name costs besides. That is a suggestion
/// for each of seventy mistakes in a graph of a thousand nodes, and a small part of a second.
const COMPARED_MAX: usize = 100_000_000;
const NAME_COMPARED: usize = 100;

/// Finds what was meant by what was mistyped. All clones compare no more than one would: a graph may have a hundred thousand
/// names, and a mistake at each place where one could stand.
#[derive(Clone, Debug)]
pub(crate) struct Similar {
    /// Pairs of bytes that may yet be compared.
    left: Rc<Cell<usize>>,
}

impl Default for Similar {
    fn default() -> Self {
        Similar {
            left: Rc::new(Cell::new(COMPARED_MAX)),
        }
    }
}

impl Similar {
    /// "did you mean", when one of `known` is close to what was written; nothing if that would be too much to compare.
    pub(crate) fn did_you_mean<'a>(
        &self,
        written: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        if written.len() > MISTYPED_BYTES_MAX || self.left.get() == 0 {
            return None;
        }
        let lower = written.to_lowercase();
        let mut best: Option<(f64, &str)> = None;
        for name in known {
            if name.len() > MISTYPED_BYTES_MAX {
                continue;
            }
            self.take(NAME_COMPARED + lower.len() * name.len())?;
            let other = name.to_lowercase();
            let score = if other == lower {
                1.0
            } else {
                strsim::jaro_winkler(&lower, &other).min(0.999)
            };
            // Of several that are as close the last.
            if score > 0.8 && best.is_none_or(|(known, _)| score >= known) {
                best = Some((score, name));
            }
        }
        best.map(|(_, name)| format!("did you mean `{name}`?"))
    }

    /// Counts what will be compared; `None`: it would be too much.
    fn take(&self, compared: usize) -> Option<()> {
        let left = self.left.get().checked_sub(compared);
        self.left.set(left.unwrap_or(0));
        left.map(|_| ())
    }
}

/// Names that [`list`] shows: all that any parameter of a standard node takes, or else a new user would not learn of the last ones.
const LISTED_MAX: usize = 20;

/// `` `a`, `b` and `c` ``, at most [`LISTED_MAX`].
pub(crate) fn list<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let shown: Vec<String> = names
        .iter()
        .take(LISTED_MAX)
        .map(|name| format!("`{name}`"))
        .collect();
    match shown.split_last() {
        None => "none".to_owned(),
        Some((_, rest)) if names.len() > shown.len() => {
            format!("{} and {} more", rest.join(", "), names.len() - rest.len())
        }
        Some((only, [])) => only.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{COMPARED_MAX, Similar};

    #[test]
    fn what_is_similar_is_found_until_too_much_was_compared() {
        let names: Vec<String> = (0..1_000).map(|number| format!("{number:0>60}")).collect();
        let known = || names.iter().map(String::as_str);
        let written = names[7].as_str();
        let similar = Similar::default();
        let help = similar.did_you_mean(written, known());
        assert_eq!(help, Some(format!("did you mean `{written}`?")));
        let of_one = COMPARED_MAX - similar.left.get();
        let mut told = 1;
        // All clones compare from the same.
        while similar.clone().did_you_mean(written, known()).is_some() {
            told += 1;
        }
        assert_eq!(told, COMPARED_MAX / of_one);
        assert_eq!(similar.left.get(), 0);
        assert_eq!(similar.did_you_mean("text", ["text"]), None);
    }

    #[test]
    fn the_closest_name_is_told_and_of_several_the_last() {
        let similar = Similar::default();
        let meant = |written: &str, known: &[&str]| similar.did_you_mean(written, known.iter().copied());
        let request = meant("httprequest", &["HttpRequest", "HttpRequests"]);
        assert_eq!(request.unwrap(), "did you mean `HttpRequest`?");
        let label = meant("lable", &["label", "LABEL", "x"]);
        assert_eq!(label.unwrap(), "did you mean `LABEL`?");
        assert_eq!(meant("abc", &["xyz"]), None);
        assert_eq!(meant(&"x".repeat(201), &["x"]), None);
    }
}
