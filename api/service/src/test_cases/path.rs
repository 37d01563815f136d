//! Paths to values: `output.items[0].id`. In what is ignored, `[*]` and `.*` stand for any index and any field. Pure.

use std::fmt::{self, Display, Formatter, Write};
use std::str::FromStr;

/// One step down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Field(String),
    /// An element.
    Index(usize),
    /// Any field or element.
    Any,
}

/// A path from what a run gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Path(Vec<Step>);

/// A text is not a path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("is not a path such as `output.items[0].id`, at `{0}`")]
pub struct NotAPath(String);

impl Path {
    /// Its steps, from the first.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Goes one step down.
    pub fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    /// Goes back up by one step.
    pub fn pop(&mut self) {
        self.0.pop();
    }

    /// Whether it has one step only.
    pub fn is_root(&self) -> bool {
        self.0.len() == 1
    }

    /// Its first step, if that is a field.
    pub fn root(&self) -> Option<&str> {
        match self.0.first() {
            Some(Step::Field(name)) => Some(name),
            _ => None,
        }
    }
}

impl Display for Path {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for (index, step) in self.0.iter().enumerate() {
            match step {
                Step::Field(name) if is_plain(name) => {
                    if index > 0 {
                        f.write_char('.')?;
                    }
                    f.write_str(name)?;
                }
                Step::Field(name) => write!(f, "[{}]", serde_json::Value::from(name.as_str()))?,
                Step::Index(number) => write!(f, "[{number}]")?,
                Step::Any => f.write_str("[*]")?,
            }
        }
        Ok(())
    }
}

/// Whether a name needs no quotes.
fn is_plain(name: &str) -> bool {
    let is_start = |c: char| c.is_alphabetic() || c == '_' || c == '$';
    name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_numeric())
}

impl FromStr for Path {
    type Err = NotAPath;

    fn from_str(text: &str) -> Result<Path, NotAPath> {
        let mut steps = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let (step, after) = match rest.strip_prefix('[') {
                Some(inner) => bracketed(inner),
                None if steps.is_empty() => named(rest),
                None => rest.strip_prefix('.').and_then(named),
            }
            .ok_or_else(|| NotAPath(rest.to_owned()))?;
            steps.push(step);
            rest = after;
        }
        match steps.is_empty() {
            true => Err(NotAPath(String::new())),
            false => Ok(Path(steps)),
        }
    }
}

/// A name, or `*`, up to the next step.
fn named(text: &str) -> Option<(Step, &str)> {
    let end = text.find(['.', '[']).unwrap_or(text.len());
    match text.split_at_checked(end)? {
        ("", _) => None,
        ("*", rest) => Some((Step::Any, rest)),
        (name, rest) => Some((Step::Field(name.to_owned()), rest)),
    }
}

/// An index, `*` or a name in quotes, after its opening bracket.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    if text.starts_with('"') {
        let mut names = serde_json::Deserializer::from_str(text).into_iter::<String>();
        let name = names.next()?.ok()?;
        let rest = text.get(names.byte_offset()..)?;
        return Some((Step::Field(name), rest.strip_prefix(']')?));
    }
    let (inner, rest) = text.split_once(']')?;
    let step = match inner {
        "*" => Step::Any,
        digits => Step::Index(digits.parse().ok()?),
    };
    Some((step, rest))
}

#[cfg(test)]
mod tests {
    use super::{Path, Step};

    fn path(text: &str) -> Path {
        text.parse().unwrap()
    }

    #[test]
    fn a_path_is_read_as_it_is_written() {
        for text in [
            "output",
            "output.items[0].id",
            "output[*].id",
            "nodes[\"a/b\"].x",
            "output[\"a.b\"][\"\"][\"\\\"]\"]",
            "error.message",
            "output.ключ",
        ] {
            assert_eq!(path(text).to_string(), text);
        }
        assert_eq!(path("output.*").to_string(), "output[*]");
        assert_eq!(path("nodes.pay-1.x").to_string(), "nodes[\"pay-1\"].x");
    }

    #[test]
    fn what_is_no_path_is_told_with_its_place() {
        for (text, place) in [
            ("", ""),
            (".output", ".output"),
            ("output..a", "..a"),
            ("output[x]", "[x]"),
            ("output[0", "[0"),
            ("output[\"a]", "[\"a]"),
            ("output.a b[-1]", "[-1]"),
        ] {
            let error = text.parse::<Path>().unwrap_err().to_string();
            assert!(error.ends_with(&format!("at `{place}`")), "{text}: {error}");
        }
    }

    #[test]
    fn a_path_goes_down_and_up() {
        let mut below = Path::default();
        below.push(Step::Field("output".to_owned()));
        below.push(Step::Index(3));
        assert_eq!(below, path("output[3]"));
        assert_eq!(below.steps(), [Step::Field("output".to_owned()), Step::Index(3)]);
        below.pop();
        assert_eq!(below.root(), Some("output"));
        below.pop();
        assert_eq!(below, Path::default());
    }
}
