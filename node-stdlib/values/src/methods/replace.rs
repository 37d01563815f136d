//! `replace` and `replaceAll` of strings, with a string to look for.

use super::arguments::{Arguments, Function};
use super::length::{UNITS_MAX, too_long};
use super::{Caller, Exception, Outcome, search};
use crate::builder::TextBuilder;
use crate::{Text, Value, ops};

pub(super) fn replace(text: &Text, arguments: Arguments<'_>, caller: &mut dyn Caller, all: bool) -> Outcome {
    let wanted = arguments.text(0)?;
    let mut instead = match arguments.get(1) {
        Value::Function(function) => Instead::Function(Function {
            function: *function,
            caller,
        }),
        other => Instead::Template(ops::to_string(other)?),
    };
    let mut replaced = TextBuilder::default();
    let (mut from, mut copied) = (0, 0);
    while let Some(at) = search::find(text, &wanted, from) {
        replaced.push(&text.slice(copied, at));
        instead.push(text, &wanted, at, &mut replaced)?;
        if replaced.bytes() > UNITS_MAX {
            return Err(too_long());
        }
        copied = at + wanted.len();
        from = copied.max(at + 1);
        if !all || from > text.len() {
            break;
        }
    }
    if copied == 0 && from == 0 {
        return Ok(text.clone().into());
    }
    replaced.push(&text.slice(copied, text.len()));
    Ok(replaced.finish().into())
}

/// What takes the place of an occurrence.
enum Instead<'c> {
    Template(Text),
    Function(Function<'c>),
}

impl Instead<'_> {
    fn push(
        &mut self,
        text: &Text,
        wanted: &Text,
        at: usize,
        into: &mut TextBuilder,
    ) -> Result<(), Exception> {
        match self {
            Instead::Function(function) => {
                let value =
                    function.call(&mut [wanted.clone().into(), (at as f64).into(), text.clone().into()])?;
                into.push(&ops::to_string(&value)?);
            }
            Instead::Template(template) => match template.as_str() {
                Some(plain) if !plain.contains('$') => into.push(template),
                _ => expand(template, text, wanted, at, into),
            },
        }
        Ok(())
    }
}

/// GetSubstitution without captures: `$$`, `$&`, `` $` `` and `$'`.
fn expand(template: &Text, text: &Text, wanted: &Text, at: usize, into: &mut TextBuilder) {
    let mut points = template.code_points().peekable();
    while let Some(point) = points.next() {
        let with = match points.peek() {
            Some(next) if point == "$" => match next.as_str() {
                Some("$") => Some(Text::from("$")),
                Some("&") => Some(wanted.clone()),
                Some("`") => Some(text.slice(0, at)),
                Some("'") => Some(text.slice(at + wanted.len(), text.len())),
                _ => None,
            },
            _ => None,
        };
        match with {
            Some(with) => {
                points.next();
                into.push(&with);
            }
            None => into.push(&point),
        }
    }
}
