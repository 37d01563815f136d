//! A node's value as the items that n8n sees: the elements of an array, or the value itself as the only one.

use super::arguments::Arguments;
use super::{Exception, Global, Kind, Outcome};
use crate::Value;

pub(super) fn call(global: Global, arguments: Arguments<'_>) -> Option<Outcome> {
    let value = arguments.get(0);
    Some(match (global, value) {
        (Global::ItemField, _) => field(arguments),
        (Global::ItemFirst, Value::Array(items)) => Ok(items.first().cloned().unwrap_or_default()),
        (Global::ItemLast, Value::Array(items)) => Ok(items.last().cloned().unwrap_or_default()),
        (Global::ItemFirst | Global::ItemLast, _) => Ok(value.clone()),
        // A node that has not run has none.
        (Global::ItemsAll, Value::Undefined) => Ok(Vec::new().into()),
        (Global::ItemsAll, Value::Array(_)) => Ok(value.clone()),
        (Global::ItemsAll, _) => Ok(vec![value.clone()].into()),
        _ => return None,
    })
}

/// The field of this name; where there is none, the third argument, or without one the item itself.
fn field(arguments: Arguments<'_>) -> Outcome {
    let item = arguments.get(0);
    let name = arguments.text(1)?;
    if let Value::Object(object) = item
        && let Some(found) = object.get_text(&name)
    {
        return Ok(found.clone());
    }
    if arguments.len() > 2 {
        return Ok(arguments.get(2).clone());
    }
    if item.is_nullish() {
        let (nullish, name) = (item.type_name(), name.to_utf8());
        let message = format!("Cannot read properties of {nullish} (reading '{name}')");
        return Err(Exception::new(Kind::Type, message));
    }
    Ok(item.clone())
}
