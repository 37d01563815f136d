//! Options of Luxon's functions, out of objects.

use super::arguments::argument_text;
use super::clock::Clock;
use super::invalid::Invalid;
use super::temporal::Temporal;
use super::unit::{Field, Unit};
use super::write::{IsoOptions, Precision};
use super::zone::Zone;
use crate::{Object, TypeError, Value};

/// An argument's properties; those of nothing when it is not an object.
#[derive(Clone, Copy)]
pub(super) struct Options<'a>(Option<&'a Object>);

impl<'a> Options<'a> {
    pub(super) fn of(value: &'a Value) -> Self {
        Options(match value {
            Value::Object(object) => Some(object),
            _ => None,
        })
    }

    /// The property unless it is undefined.
    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        let value = self.0?.get(name)?;
        (!matches!(value, Value::Undefined)).then_some(value)
    }

    /// Whether the property is true, if it is given.
    pub(super) fn flag(self, name: &str, otherwise: bool) -> bool {
        self.get(name).map_or(otherwise, Value::truthy)
    }

    /// `zone`, the local one if it is not given.
    pub(super) fn zone(self, clock: &Clock) -> Result<Zone, Invalid> {
        zone(self.get("zone").unwrap_or(&Value::Undefined), clock)
    }

    pub(super) fn iso(self) -> Result<IsoOptions, TypeError> {
        Ok(IsoOptions {
            extended: self.extended(),
            suppress_seconds: self.flag("suppressSeconds", false),
            suppress_milliseconds: self.flag("suppressMilliseconds", false),
            include_offset: self.flag("includeOffset", true),
            include_prefix: self.flag("includePrefix", false),
            extended_zone: self.flag("extendedZone", false),
            precision: self.precision(Precision::Millisecond)?,
        })
    }

    pub(super) fn extended(self) -> bool {
        self.get("format")
            .is_none_or(|format| format.strict_equal(&"extended".into()))
    }

    pub(super) fn precision(self, otherwise: Precision) -> Result<Precision, TypeError> {
        let Some(name) = self.get("precision") else {
            return Ok(otherwise);
        };
        Ok(match Field::from_name(&argument_text(name)?.to_utf8())? {
            Field::Year => Precision::Year,
            Field::Month => Precision::Month,
            Field::Day => Precision::Day,
            Field::Hour => Precision::Hour,
            Field::Minute => Precision::Minute,
            Field::Second => Precision::Second,
            _ => Precision::Millisecond,
        })
    }
}

/// A zone by its name, its offset in minutes, or of a date-time.
pub(super) fn zone(value: &Value, clock: &Clock) -> Result<Zone, Invalid> {
    match value {
        Value::Undefined | Value::Null => Ok(clock.zone.clone()),
        Value::Number(minutes) => Ok(Zone::Fixed(*minutes)),
        Value::String(name) => {
            let name = name.to_utf8();
            match name.to_ascii_lowercase().as_str() {
                "default" | "local" | "system" => Ok(clock.zone.clone()),
                _ => Zone::from_name(&name).ok_or_else(|| Invalid::zone(&name)),
            }
        }
        other => Err(Invalid::zone(&other.shape())),
    }
}

/// A unit by its name.
pub(super) fn unit(value: &Value) -> Result<Unit, TypeError> {
    Unit::from_name(&argument_text(value)?.to_utf8())
}

/// One unit or an array of them, milliseconds if there is none.
pub(super) fn units(value: &Value) -> Result<Vec<Unit>, TypeError> {
    match value {
        Value::Undefined => Ok(vec![Unit::Milliseconds]),
        Value::Array(names) => names.iter().map(unit).collect(),
        name => Ok(vec![unit(name)?]),
    }
}

/// The date-time that an argument is.
pub(super) fn date_time(value: &Value) -> Result<&super::DateTime, TypeError> {
    if let Value::Temporal(temporal) = value
        && let Temporal::DateTime(date_time) = &**temporal
    {
        return Ok(date_time);
    }
    Err(TypeError(format!(
        "A DateTime is needed here, not {}",
        value.shape()
    )))
}
