//! What lies at paths of values, of names and of functions' parameters, by one call each.

use super::calls::parameter_of;
use super::handles::{Name, names_at, read};
use super::{settled, with_run};
use heddle_values::{TypeError, Value, ops};

#[unsafe(export_name = "path")]
extern "C" fn path(from: i32, names: i32) -> i32 {
    settled(read(from, |from| along(from, names)))
}

#[unsafe(export_name = "input_path")]
extern "C" fn input_path(names: i32) -> i32 {
    settled(with_run(|run| Some(run.with_input(|input| along(input, names)))).unwrap_or(Ok(Value::Undefined)))
}

#[unsafe(export_name = "item_path")]
extern "C" fn item_path(names: i32) -> i32 {
    settled(with_run(|run| Some(run.with_item(|item| along(item, names)))).unwrap_or(Ok(Value::Undefined)))
}

#[unsafe(export_name = "parameter_path")]
extern "C" fn parameter_path(up: i32, index: i32, names: i32) -> i32 {
    settled(parameter_of(up, index, |parameter| along(parameter, names)))
}

/// What lies at a path; own properties are followed without counting references.
fn along(from: &Value, names: i32) -> Result<Value, TypeError> {
    let mut names = names_at(names);
    let mut at = from;
    for Name { value: name, place } in names.by_ref() {
        let own = match (at, name) {
            (Value::Object(object), Value::String(name)) => match place {
                Some(place) => object.get_near(name, place),
                None => object.get_text(name),
            },
            _ => None,
        };
        match own {
            Some(found) => at = found,
            None => {
                let next = ops::get_index(at, name)?;
                return names.try_fold(next, |at, name| ops::get_index(&at, name.value));
            }
        }
    }
    Ok(at.clone())
}
