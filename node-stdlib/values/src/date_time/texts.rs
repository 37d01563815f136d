//! Date-times out of texts that stand for themselves: no clock fills in what they leave out.

use super::read::{self, Read, ReadZone};
use super::unit::Field;
use super::zone::Zone;
use super::zoned::Zoned;
use super::{read_tokens, tokens};

const DAY_MS: f64 = 86_400_000.0;

/// Why a text in a format is not a date-time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misread {
    /// The format can't be read by: why not.
    Format(String),
    /// The text follows the format only up to this byte.
    Text(usize),
    /// It follows the format, but there is no such day or time.
    Time,
}

/// A date-time in ISO 8601, SQL, RFC 2822 or HTTP's form, at least with its year; without an offset it is in the zone.
/// The result is in the zone. Of two same times of the clock it is the first one.
pub fn read_text(text: &str, zone: &Zone) -> Option<Zoned> {
    let forms = [read::iso, read::sql, read::rfc2822, read::http];
    let read = forms.into_iter().find_map(|form| form(text))?;
    let has_year = |(field, _): &(Field, f64)| matches!(field, Field::Year | Field::WeekYear);
    read.fields.iter().any(has_year).then(|| in_zone(&read, zone))?
}

/// The same by a format of tokens; what the format leaves out is that of the beginning of 1970.
pub fn read_by_format(text: &str, format: &str, zone: &Zone) -> Result<Zoned, Misread> {
    let read = read_tokens::read_or_where(text, format).map_err(|error| Misread::Format(error.0))?;
    let read = read.map_err(Misread::Text)?;
    in_zone(&read, zone).ok_or(Misread::Time)
}

/// The first token of a format that means nothing.
pub fn unknown_token(format: &str) -> Option<String> {
    tokens::unknown(format)
}

fn in_zone(read: &Read, zone: &Zone) -> Option<Zoned> {
    let own = match &read.zone {
        Some(ReadZone::Known(own)) => own,
        Some(ReadZone::Unknown(_)) => return None,
        None => zone,
    };
    let at = |offset_minutes: f64| {
        let beginning_ms = -offset_minutes * 60_000.0;
        let made = Zoned::from_fields(&read.fields, own.clone(), Some(offset_minutes), beginning_ms);
        made.ok()?.ok()
    };
    let made = match read.offset_minutes {
        Some(offset_minutes) => at(offset_minutes)?,
        None => {
            // By the offset of the day before, of two same times the first is meant.
            let about = at(own.offset_minutes(0.0))?;
            at(own.offset_minutes(about.ms - DAY_MS))?
        }
    };
    made.in_zone(zone.clone(), false).ok()
}
