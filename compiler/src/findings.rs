//! Collects the diagnostics for a graph, up to a limit: reporting a graph that is full of errors must not cost more
//! than reading it. Knows nothing about the rules.

use crate::diagnostic::{Diagnostic, Severity, Similar, sort};
use crate::expression::Cost;
use std::cell::Cell;
use std::rc::Rc;

/// Errors that are listed of one graph, and as many warnings; others are counted.
pub(crate) const LISTED_MAX: usize = 100;
/// Bytes of a message or of advice. What is named in it may be as long as the graph itself.
const MESSAGE_BYTES_MAX: usize = 2_000;
/// Bytes of a parameter's path.
const PATH_BYTES_MAX: usize = 500;

/// Bytes of JavaScript in one graph, expressions and modules together.
const SOURCE_BYTES_MAX: usize = 2 << 20;
/// Bytes that the parser may read once more, because they turned out to be no parameters of a function.
const READ_AGAIN_BYTES_MAX: usize = 4 << 20;
/// Regular expressions of all forms in one graph. To see that one can be compiled takes a millisecond, whatever its length.
pub(crate) const PATTERNS_MAX: usize = 1_000;

/// Collects findings.
#[derive(Clone, Debug)]
pub(crate) struct Findings {
    listed: Vec<Diagnostic>,
    errors: Count,
    warnings: Count,
    reading: Reading,
    similar: Similar,
    patterns: PatternsLeft,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    listed: usize,
    more: usize,
}

/// JavaScript that may yet be read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    bytes_left: usize,
    again_bytes_left: usize,
    /// Whether a source was refused, which is reported once.
    is_over: bool,
}

impl Default for Findings {
    fn default() -> Self {
        Findings {
            listed: Vec::new(),
            errors: Count::default(),
            warnings: Count::default(),
            reading: Reading {
                bytes_left: SOURCE_BYTES_MAX,
                again_bytes_left: READ_AGAIN_BYTES_MAX,
                is_over: false,
            },
            similar: Similar::default(),
            patterns: PatternsLeft(Rc::new(Cell::new(PATTERNS_MAX))),
        }
    }
}

/// How many regular expressions may yet be compiled; all clones take from the same.
#[derive(Clone, Debug)]
pub(crate) struct PatternsLeft(Rc<Cell<usize>>);

impl PatternsLeft {
    /// Takes one; `false`: there is none left.
    pub fn take(&self) -> bool {
        let left = self.0.get().checked_sub(1);
        self.0.set(left.unwrap_or(0));
        left.is_some()
    }
}

impl Findings {
    /// Adds a finding, or counts it.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.report(diagnostic.severity, || diagnostic);
    }

    /// Adds a finding that is made only if it is listed; otherwise it is counted.
    pub fn report(&mut self, severity: Severity, make: impl FnOnce() -> Diagnostic) {
        let count = self.count(severity);
        if count.listed >= LISTED_MAX {
            count.more += 1;
            return;
        }
        count.listed += 1;
        self.listed.push(bounded(make()));
    }

    /// Adds several.
    pub fn extend(&mut self, diagnostics: impl IntoIterator<Item = Diagnostic>) {
        for diagnostic in diagnostics {
            self.push(diagnostic);
        }
    }

    /// Whether one more is listed. What only helps, such as looking for a similar name, is not worth doing otherwise.
    pub fn has_room(&self, severity: Severity) -> bool {
        let count = match severity {
            Severity::Error => self.errors,
            Severity::Warning => self.warnings,
        };
        count.listed < LISTED_MAX
    }

    /// "did you mean", when one of `known` is close to what was written, and the finding is listed.
    pub fn did_you_mean<'a>(
        &self,
        severity: Severity,
        written: &str,
        known: impl IntoIterator<Item = &'a str>,
    ) -> Option<String> {
        match self.has_room(severity) {
            true => self.similar.did_you_mean(written, known),
            false => None,
        }
    }

    /// What looks for similar names, for callers who know that a finding is listed, or can't ask the findings.
    pub fn similar(&self) -> Similar {
        self.similar.clone()
    }

    /// For the patterns of forms.
    pub fn patterns(&self) -> PatternsLeft {
        self.patterns.clone()
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// Whether there is an error.
    pub fn has_errors(&self) -> bool {
        self.errors.listed > 0
    }

    /// For the findings of a part, which [`Findings::absorb`] takes.
    pub fn part(&self) -> Findings {
        Findings {
            reading: self.reading,
            similar: self.similar.clone(),
            patterns: self.patterns.clone(),
            ..Findings::default()
        }
    }

    /// Takes a part's findings, each as `placed` makes it.
    pub fn absorb(&mut self, part: Findings, placed: impl Fn(Diagnostic) -> Diagnostic) {
        for diagnostic in part.listed {
            self.report(diagnostic.severity, || placed(diagnostic));
        }
        self.errors.more += part.errors.more;
        self.warnings.more += part.warnings.more;
        self.reading = part.reading;
    }

    /// Puts them in their order: the graph's own, then by node as `node_ids` lists them, then by parameter.
    pub fn sort<'a>(&mut self, node_ids: impl Iterator<Item = &'a str>) {
        sort(&mut self.listed, node_ids);
    }

    /// All findings that are listed, and then how many more there are.
    pub fn finish(mut self) -> Vec<Diagnostic> {
        let more = |count: Count, one: &str, several: &str| match count.more {
            0 => None,
            1 => Some(format!("and 1 more {one}")),
            more => Some(format!("and {more} more {several}")),
        };
        let errors = more(self.errors, "error", "errors").map(|message| Diagnostic::error("more", message));
        let warnings =
            more(self.warnings, "warning", "warnings").map(|message| Diagnostic::warning("more", message));
        self.listed.extend(errors);
        self.listed.extend(warnings);
        self.listed
    }

    /// Takes what reading this source costs from what the graph may cost. Fails with what to say, if anything: it is
    /// said once.
    pub fn take_source(&mut self, bytes: usize, cost: Cost) -> Result<(), Option<Box<Diagnostic>>> {
        let Reading {
            bytes_left,
            again_bytes_left,
            is_over,
        } = &mut self.reading;
        let left = bytes_left
            .checked_sub(bytes)
            .zip(again_bytes_left.checked_sub(cost.read_again_bytes));
        if let Some(left) = left {
            (*bytes_left, *again_bytes_left) = left;
            return Ok(());
        }
        if std::mem::replace(is_over, true) {
            return Err(None);
        }
        let message = match bytes_left.checked_sub(bytes) {
            None => format!(
                "the graph has more than {} KiB of expressions and code, which is the limit; nothing after \
                 this point was checked",
                SOURCE_BYTES_MAX >> 10
            ),
            Some(_) => format!(
                "the graph's expressions and code have more than {} KiB in nested parentheses, which is the \
                 limit; nothing after this point was checked",
                READ_AGAIN_BYTES_MAX >> 10
            ),
        };
        let help = "split it into several patterns".to_owned();
        Err(Some(Box::new(
            Diagnostic::error("too-large", message).with_help(help),
        )))
    }

    /// Whether there was more JavaScript than is read, which was reported: nothing more needs to be made of it.
    pub fn has_too_much_source(&self) -> bool {
        self.reading.is_over
    }

    fn count(&mut self, severity: Severity) -> &mut Count {
        match severity {
            Severity::Error => &mut self.errors,
            Severity::Warning => &mut self.warnings,
        }
    }
}

fn bounded(mut diagnostic: Diagnostic) -> Diagnostic {
    cut(&mut diagnostic.message, MESSAGE_BYTES_MAX);
    let texts = [
        (&mut diagnostic.help, MESSAGE_BYTES_MAX),
        (&mut diagnostic.parameter, PATH_BYTES_MAX),
        (&mut diagnostic.node_id, PATH_BYTES_MAX),
    ];
    for (text, bytes_max) in texts {
        if let Some(text) = text {
            cut(text, bytes_max);
        }
    }
    if let Some(within) = &mut diagnostic.within {
        cut(&mut within.definition, PATH_BYTES_MAX);
    }
    diagnostic
}

/// A name that is part of each of many findings.
pub(crate) fn cut_name(name: &str) -> String {
    let begun = name.floor_char_boundary(PATH_BYTES_MAX);
    match name.get(..begun).filter(|_| begun < name.len()) {
        Some(begun) => format!("{begun}…"),
        None => name.to_owned(),
    }
}

fn cut(text: &mut String, bytes_max: usize) {
    if text.len() > bytes_max {
        text.truncate(text.floor_char_boundary(bytes_max));
        text.push('…');
        text.shrink_to_fit();
    }
}
