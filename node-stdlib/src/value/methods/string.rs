//! Methods of strings.

use super::arguments::Arguments;
use super::{Caller, Method, Outcome};
use crate::value::{Text, Value};

/// The method on a string; `None` when strings don't have it.
pub(super) fn call(
    text: &Text,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    let _ = (arguments, caller);
    Some(match method {
        Method::ToUpperCase => Ok(Value::from(text.to_utf8().to_uppercase())),
        _ => return None,
    })
}
