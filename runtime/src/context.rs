//! What the guest learns about its run, besides the event.

use crate::request::Callbacks;
use heddle_catalogue::WAIT_FOR_CALLBACK;
use heddle_contract::manifest::{Asks, Manifest};
use secrecy::ExposeSecret;
use serde::Serialize;

/// The guest's second input, see the run loop (`machine`) of `heddle-node-stdlib`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Context<'a> {
    pub run: RunFacts<'a>,
    pub vars: &'a serde_json::Map<String, serde_json::Value>,
    pub nonce: &'a str,
    pub seed: String,
    pub started_at_ms: i64,
    pub run_key: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub callbacks: Option<CallbackFacts<'a>>,
}

#[derive(Serialize)]
pub struct CallbackFacts<'a> {
    pub nodes: Vec<usize>,
    /// Those that ask by a form whoever has sent the one before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<usize>,
    /// Those that ask others by a form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub forms: Vec<usize>,
    pub base: Option<&'a str>,
    pub key: Option<&'a str>,
}

impl<'a> CallbackFacts<'a> {
    /// None for a pattern that waits for no callbacks.
    pub fn of(manifest: &Manifest, callbacks: Option<&'a Callbacks>) -> Option<Self> {
        let nodes: Vec<usize> = manifest
            .nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| node.node_type == WAIT_FOR_CALLBACK.name)
            .map(|(index, _)| index)
            .collect();
        let asking = |whom: Asks| -> Vec<usize> {
            let nodes = manifest.nodes.iter().enumerate();
            nodes
                .filter(|(_, node)| node.asks == Some(whom))
                .map(|(index, _)| index)
                .collect()
        };
        (!nodes.is_empty()).then(|| CallbackFacts {
            nodes,
            steps: asking(Asks::Sender),
            forms: asking(Asks::Others),
            base: callbacks.map(|callbacks| callbacks.base.as_str()),
            key: callbacks.map(|callbacks| callbacks.key.expose_secret()),
        })
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RunFacts<'a> {
    pub id: &'a str,
    pub pattern_id: &'a str,
    pub attempt: u32,
    pub triggered_by: &'a str,
    pub started_at: String,
}

/// RFC 3339 in UTC with milliseconds. Source of the calendar: Howard Hinnant, "chrono-Compatible Low-Level Date
/// Algorithms", `civil_from_days`.
pub fn iso_time(ms: i64) -> String {
    let (days, ms) = (ms.div_euclid(86_400_000), ms.rem_euclid(86_400_000));
    let z = days + 719_468;
    let (era, day_of_era) = (z.div_euclid(146_097), z.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    let (seconds, ms) = (ms / 1_000, ms % 1_000);
    let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    if !(0..=9_999).contains(&year) {
        return format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z");
    }
    // Digit by digit: each run begins with it, and formatting seven numbers takes longer than all of the above.
    let mut text = String::with_capacity("0000-00-00T00:00:00.000Z".len());
    push_two(&mut text, year / 100);
    push_two(&mut text, year % 100);
    for (before, number) in [
        ('-', month),
        ('-', day),
        ('T', hour),
        (':', minute),
        (':', second),
    ] {
        text.push(before);
        push_two(&mut text, number);
    }
    text.push('.');
    text.push(digit(ms / 100));
    push_two(&mut text, ms % 100);
    text.push('Z');
    text
}

/// Adds a number below 100 with two digits.
fn push_two(text: &mut String, number: i64) {
    text.push(digit(number / 10));
    text.push(digit(number % 10));
}

/// A number below 10.
fn digit(number: i64) -> char {
    u32::try_from(number)
        .ok()
        .and_then(|number| char::from_digit(number, 10))
        .unwrap_or('0')
}

#[cfg(test)]
mod tests {
    use super::iso_time;

    #[test]
    fn times_are_written_with_all_their_digits() {
        for (ms, text) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"),
            (951_827_696_005, "2000-02-29T12:34:56.005Z"),
            (1_795_763_107_089, "2026-11-27T07:05:07.089Z"),
            (253_402_300_799_999, "9999-12-31T23:59:59.999Z"),
            (253_402_300_800_000, "10000-01-01T00:00:00.000Z"),
            (-62_167_219_200_000, "0000-01-01T00:00:00.000Z"),
        ] {
            assert_eq!(iso_time(ms), text);
        }
    }
}
