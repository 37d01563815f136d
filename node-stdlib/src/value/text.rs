//! Strings with JavaScript's meaning.

use std::fmt;
use std::rc::Rc;

/// A JavaScript string. UTF-8 inside whenever it has no lone surrogate, which is nearly always.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(Rc<str>);

impl Text {
    /// The text as UTF-8; lone surrogates read as U+FFFD.
    pub fn to_utf8(&self) -> std::borrow::Cow<'_, str> {
        std::borrow::Cow::Borrowed(&self.0)
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(text.into())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(text.into())
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.to_utf8(), f)
    }
}
