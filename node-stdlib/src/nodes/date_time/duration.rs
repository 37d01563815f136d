//! The parameters `unit` and `duration`.

use crate::failure::Failure;
use crate::nodes::parameters;
use heddle_contract::abi::code;
use heddle_values::date_time::{Duration, Unit};
use heddle_values::{Object, Value};

/// More than the calendar has, so that sums of a few stay exact.
const COUNT_MAX: f64 = 1e15;
const TAKES: &str = "an object of numbers by unit, ISO 8601 text such as `P1DT2H`, or a number of `unit`s";

/// The parameter `unit`.
pub(super) fn unit(parameters: &Object) -> Result<Option<Unit>, Failure> {
    let Some(name) = parameters::text(parameters, "unit")? else {
        return Ok(None);
    };
    let unit = Unit::from_name(&name);
    unit.map(Some).map_err(|_| {
        let takes = format!("one of {}", names());
        parameters::mismatch("unit", &takes, &name.as_str().into())
    })
}

fn names() -> String {
    Unit::ALL.map(Unit::name).join(", ")
}

/// The parameter `duration`.
pub(super) fn duration(parameters: &Object) -> Result<Duration, Failure> {
    let given = match parameters::required(parameters, "duration", TAKES)? {
        Value::Number(count) => {
            let unit = unit(parameters)?.unwrap_or(Unit::Milliseconds);
            Duration::of(*count, unit)
        }
        Value::Object(counts) => of_object(counts)?,
        Value::String(text) => Duration::from_iso(text.to_utf8().trim()),
        other => return Err(parameters::mismatch("duration", TAKES, other)),
    };
    if !given.is_valid() {
        let text = parameters.get("duration").cloned().unwrap_or_default();
        return Err(parameters::mismatch("duration", TAKES, &text));
    }
    given.amounts().try_for_each(check)?;
    Ok(given)
}

fn of_object(counts: &Object) -> Result<Duration, Failure> {
    let mut sums = Unit::ALL.map(|unit| (unit, 0.0));
    for (name, _) in counts.iter() {
        let name = name.to_utf8();
        let unknown = |_| failure(&format!("there is no unit `{name}`; it takes {}", names()));
        let unit = Unit::from_name(&name).map_err(unknown)?;
        let count = parameters::number(counts, &name)?.unwrap_or(0.0);
        // Singular and plural may both be there.
        sums.iter_mut()
            .filter(|(other, _)| *other == unit)
            .for_each(|(_, sum)| *sum += count);
    }
    let given = sums.into_iter().filter(|(_, sum)| *sum != 0.0);
    Ok(Duration::new(given.collect()))
}

/// Fractions of weeks and days are exact hours; fractions of longer units have no length.
fn check((unit, count): (Unit, f64)) -> Result<(), Failure> {
    if count.abs() > COUNT_MAX || count.is_nan() {
        return Err(failure(&format!("a duration of {count} is too long")));
    }
    if unit <= Unit::Months && count.fract() != 0.0 {
        let what = "years, quarters and months have no fixed length, so that only whole ones can be added";
        return Err(failure(what));
    }
    Ok(())
}

fn failure(what: &str) -> Failure {
    Failure::new(code::PARAMETER, format!("Parameter `duration`: {what}."))
}
