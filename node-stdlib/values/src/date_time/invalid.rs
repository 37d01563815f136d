//! Date-times and durations that are none, as Luxon has them.

use crate::number_to_text;

/// Why a date-time or duration is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Invalid {
    /// Luxon's short reason.
    pub reason: String,
    /// What is wrong in detail.
    pub explanation: String,
}

impl Invalid {
    pub(super) fn new(reason: &str, explanation: String) -> Self {
        let reason = reason.to_owned();
        Invalid { reason, explanation }
    }

    pub(super) fn input() -> Self {
        Invalid::new("invalid input", String::new())
    }

    pub(super) fn out_of_range(unit: &str, value: f64) -> Self {
        let value = number_to_text(value);
        let explanation = format!("you specified {value} (of type number) as a {unit}, which is invalid");
        Invalid::new("unit out of range", explanation)
    }

    pub(super) fn unparsable(text: &str, form: &str) -> Self {
        Invalid::new(
            "unparsable",
            format!("the input \"{text}\" can't be parsed as {form}"),
        )
    }

    pub(super) fn zone(name: &str) -> Self {
        Invalid::new(
            "unsupported zone",
            format!("the zone \"{name}\" is not supported"),
        )
    }
}
