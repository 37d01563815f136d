//! Times out of numbers.

use crate::methods::arguments::Arguments;
use crate::methods::{Caller, Exception, Global, Kind, Outcome};
use crate::{Value, date_time};

/// A time of a unit: `ms`, `s`, `us` or `excel` (days since 1900).
pub(super) fn number_to_date_time(value: f64, arguments: Arguments<'_>, caller: &mut dyn Caller) -> Outcome {
    const DAYS_TO_1970: f64 = 25_569.0;
    let unit = match arguments.defined(0) {
        Some(_) => arguments.text(0)?.to_utf8().into_owned(),
        None => "ms".to_owned(),
    };
    let ms = match unit.as_str() {
        "ms" => value,
        "s" => value * 1e3,
        "us" => value / 1e3,
        "excel" => (value - DAYS_TO_1970) * 86_400e3,
        _ => {
            let message = format!("Unsupported format '{unit}': expected \"s\", \"ms\", \"us\" or \"excel\"");
            return Err(Exception::new(Kind::Type, message));
        }
    };
    made(Global::DateTimeFromMillis, &[ms.into()], caller)
}

pub(super) fn made(global: Global, arguments: &[Value], caller: &mut dyn Caller) -> Outcome {
    match date_time::call_static(global.name(), arguments, &caller.clock()) {
        Some(time) => Ok(time?),
        None => Ok(Value::Undefined),
    }
}
