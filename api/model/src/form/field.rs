//! What one field of a form asks for, as the node's parameters say.

use regex::{Regex, RegexBuilder};
use serde_json::{Map, Value};
use std::fmt;
use std::sync::OnceLock;

/// Size of a compiled expression; the compiler refuses larger ones.
const PATTERN_SIZE_MAX: usize = 128 << 10;

/// What one field asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// The value's name in the event.
    pub name: String,
    /// What people read at it.
    pub label: String,
    pub kind: Kind,
    /// Whether it must be filled in.
    pub is_required: bool,
    pub help: String,
    pub placeholder: String,
    /// What it has when the page opens: one text for each value.
    pub default: Vec<String>,
    /// Whether it takes several values.
    pub is_multiple: bool,
    pub choices: Vec<Choice>,
    pub min: Option<String>,
    pub max: Option<String>,
    /// Whether a number must be whole.
    pub is_integer: bool,
    /// Characters of a text.
    pub length_min: Option<usize>,
    pub length_max: Option<usize>,
    pub pattern: Option<Pattern>,
    /// What people read if their text does not match the pattern.
    pub pattern_message: Option<String>,
    /// Endings and types of files.
    pub accept: Vec<String>,
}

/// One that can be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    pub value: String,
    pub label: String,
}

/// Kinds of fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    TextArea,
    Number,
    Email,
    Url,
    Tel,
    Date,
    Time,
    Select,
    Radio,
    Checkboxes,
    Checkbox,
    File,
    Hidden,
}

const KINDS: [(&str, Kind); 14] = [
    ("text", Kind::Text),
    ("textarea", Kind::TextArea),
    ("number", Kind::Number),
    ("email", Kind::Email),
    ("url", Kind::Url),
    ("tel", Kind::Tel),
    ("date", Kind::Date),
    ("time", Kind::Time),
    ("select", Kind::Select),
    ("radio", Kind::Radio),
    ("checkboxes", Kind::Checkboxes),
    ("checkbox", Kind::Checkbox),
    ("file", Kind::File),
    ("hidden", Kind::Hidden),
];

impl Kind {
    /// Name in the node's parameters; those of inputs are HTML's.
    pub fn name(self) -> &'static str {
        let found = KINDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("text", |(name, _)| name)
    }
}

/// An expression that all of a text must match. It is read when a text is first compared with it; one that can't be matches nothing.
#[derive(Clone)]
pub struct Pattern {
    text: String,
    read: OnceLock<Option<Regex>>,
}

impl Pattern {
    fn new(text: &str) -> Self {
        Pattern {
            text: text.to_owned(),
            read: OnceLock::new(),
        }
    }

    pub(super) fn matches(&self, text: &str) -> bool {
        let read = || {
            let mut whole = RegexBuilder::new(&format!("^(?:{})$", self.text));
            let bounded = whole
                .size_limit(PATTERN_SIZE_MAX)
                .dfa_size_limit(PATTERN_SIZE_MAX);
            bounded.build().ok()
        };
        let regex = self.read.get_or_init(read);
        regex.as_ref().is_some_and(|regex| regex.is_match(text))
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.text, f)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for Pattern {}

impl Field {
    /// `None`: it has no name.
    pub(super) fn of(given: &Map<String, Value>) -> Option<Self> {
        let name = text(given, "name")?.to_owned();
        let owned = |name: &str| text(given, name).map(str::to_owned);
        let flag = |name: &str| given.get(name).and_then(Value::as_bool).unwrap_or_default();
        let length = |name: &str| usize::try_from(given.get(name)?.as_u64()?).ok();
        let kind = text(given, "type").unwrap_or("text");
        let kind = KINDS.iter().find(|(name, _)| *name == kind);
        let kind = kind.map_or(Kind::Text, |(_, kind)| *kind);
        Some(Field {
            label: owned("label").unwrap_or_else(|| name.clone()),
            name,
            kind,
            is_required: flag("required"),
            help: owned("help").unwrap_or_default(),
            placeholder: owned("placeholder").unwrap_or_default(),
            default: texts(given.get("default")),
            is_multiple: kind == Kind::Checkboxes
                || matches!(kind, Kind::Select | Kind::File) && flag("multiple"),
            choices: choices(given.get("options")),
            min: texts(given.get("min")).into_iter().next(),
            max: texts(given.get("max")).into_iter().next(),
            is_integer: flag("integer"),
            length_min: length("minLength"),
            length_max: length("maxLength"),
            pattern: text(given, "pattern").map(Pattern::new),
            pattern_message: owned("patternMessage").filter(|message| !message.is_empty()),
            accept: texts(given.get("accept")),
        })
    }

    /// Whether several inputs belong to it, or one of which each value is ticked.
    pub const fn is_group(&self) -> bool {
        matches!(self.kind, Kind::Radio | Kind::Checkboxes)
    }
}

pub(super) fn text<'p>(parameters: &'p Map<String, Value>, name: &str) -> Option<&'p str> {
    parameters.get(name).and_then(Value::as_str)
}

/// Texts, numbers and yes as what an input has; no is nothing.
fn texts(value: Option<&Value>) -> Vec<String> {
    match value {
        Some(Value::Array(several)) => several
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::String(text)) => vec![text.clone()],
        Some(Value::Number(number)) => vec![number.to_string()],
        Some(Value::Bool(true)) => vec!["on".to_owned()],
        _ => Vec::new(),
    }
}

fn choices(given: Option<&Value>) -> Vec<Choice> {
    let choice = |given: &Value| {
        let object = given.as_object();
        let value = given
            .as_str()
            .or_else(|| object.and_then(|object| text(object, "value")))?;
        let label = object.and_then(|object| text(object, "label"));
        Some(Choice {
            value: value.to_owned(),
            label: label.unwrap_or(value).to_owned(),
        })
    };
    let given = given.and_then(Value::as_array);
    given.into_iter().flatten().filter_map(choice).collect()
}
