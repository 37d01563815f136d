//! Time zones: fixed offsets and those of the IANA database, named as Luxon names them.

use jiff::Timestamp;
use jiff::tz::{Dst, TimeZone};
use std::rc::Rc;

/// A time zone.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Minutes east of UTC.
    Fixed(f64),
    /// Of the IANA database, by the name that it was asked for by.
    Iana(Rc<Iana>),
}

/// A zone of the IANA database.
#[derive(Debug)]
pub struct Iana {
    pub(super) name: String,
    zone: TimeZone,
}

/// How an offset is written.
#[derive(Clone, Copy)]
pub(super) enum OffsetForm {
    /// `+5:30`
    Narrow,
    /// `+05:30`
    Short,
    /// `+0530`
    Techie,
}

/// Milliseconds of 400 years, after which the calendar repeats.
const CYCLE_MS: f64 = 146_097.0 * 86_400_000.0;
/// Within what the database knows: the years -9998 to 9998 or so.
const KNOWN_MS: f64 = 253_000_000_000_000.0;

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Fixed(0.0);

    /// The zone of a name that is neither `local` nor `default`: `utc`, `gmt`, `UTC+5:30` or an IANA name in any
    /// case.
    pub(super) fn from_name(name: &str) -> Option<Zone> {
        if name.eq_ignore_ascii_case("utc") || name.eq_ignore_ascii_case("gmt") {
            return Some(Zone::UTC);
        }
        fixed_of_name(name).or_else(|| Zone::iana(name))
    }

    /// The IANA zone of a name.
    pub fn iana(name: &str) -> Option<Zone> {
        let zone = TimeZone::get(name).ok()?;
        let name = name.to_owned();
        Some(Zone::Iana(Rc::new(Iana { name, zone })))
    }

    /// The zone of an offset: `+02:00`, `-0330` or `+2`, less than a day.
    pub fn from_offset(text: &str) -> Option<Zone> {
        let digits = text.strip_prefix(['+', '-'])?;
        let (hours, minutes) = match digits.split_once(':') {
            Some(parts) => parts,
            None if digits.len() > 2 => digits.split_at_checked(digits.len() - 2)?,
            None => (digits, "0"),
        };
        let number = |text: &str, most: f64| {
            let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number: f64 = is_number.then(|| text.parse().ok())??;
            (number <= most).then_some(number)
        };
        let minutes = number(hours, 23.0)? * 60.0 + number(minutes, 59.0)?;
        // `+ 0.0` makes 0 of -0.
        let signed = if text.starts_with('-') { -minutes } else { minutes } + 0.0;
        Some(Zone::Fixed(signed))
    }

    /// Minutes east of UTC at a time; NaN for no time.
    pub(super) fn offset_minutes(&self, ms: f64) -> f64 {
        match self {
            Zone::Fixed(minutes) => *minutes,
            Zone::Iana(iana) => match timestamp(ms) {
                Some(timestamp) => f64::from(iana.zone.to_offset(timestamp).seconds()) / 60.0,
                None => f64::NAN,
            },
        }
    }

    /// `Europe/Prague`, `UTC`, `UTC+5:30`
    pub(super) fn name(&self) -> String {
        match self {
            Zone::Fixed(0.0) => "UTC".into(),
            Zone::Fixed(minutes) => format!("UTC{}", offset_text(*minutes, OffsetForm::Narrow)),
            Zone::Iana(iana) => iana.name.clone(),
        }
    }

    /// As in `2026-11-21T10:00Z[Etc/UTC]`.
    pub(super) fn iana_name(&self) -> String {
        match self {
            Zone::Fixed(0.0) => "Etc/UTC".into(),
            Zone::Fixed(minutes) => format!("Etc/GMT{}", offset_text(-minutes, OffsetForm::Narrow)),
            Zone::Iana(iana) => iana.name.clone(),
        }
    }

    pub(super) fn is_fixed(&self) -> bool {
        matches!(self, Zone::Fixed(_))
    }

    /// What people in the United States call the offset at a time: `EDT`, `GMT+2`.
    pub(super) fn short_name(&self, ms: f64) -> String {
        let Zone::Iana(iana) = self else {
            return self.name();
        };
        if is_utc(&iana.name) {
            return "UTC".into();
        }
        let known = timestamp(ms).and_then(|timestamp| {
            let info = iana.zone.to_offset_info(timestamp);
            let short = AMERICAN.contains(&info.abbreviation());
            (short && is_american(&iana.name)).then(|| info.abbreviation().to_owned())
        });
        known.unwrap_or_else(|| gmt_text(self.offset_minutes(ms), false))
    }

    /// `Eastern Daylight Time`; `GMT+02:00` where we know no name.
    pub(super) fn long_name(&self, ms: f64) -> String {
        let Zone::Iana(iana) = self else {
            return self.name();
        };
        if is_utc(&iana.name) {
            return "Coordinated Universal Time".into();
        }
        let known = timestamp(ms).and_then(|timestamp| {
            let info = iana.zone.to_offset_info(timestamp);
            let (place, summer) = long_name(&iana.name, info.abbreviation())?;
            Some(match (summer, info.dst()) {
                ("", _) => format!("{place} Time"),
                (summer, Dst::Yes) => format!("{place} {summer} Time"),
                (_, Dst::No) if place == "Greenwich" => "Greenwich Mean Time".into(),
                (_, Dst::No) => format!("{place} Standard Time"),
            })
        });
        known.unwrap_or_else(|| gmt_text(self.offset_minutes(ms), true))
    }
}

/// The name of the zone that a text names, if there is one.
pub fn zone_name(text: &str) -> Option<String> {
    Zone::from_name(text).map(|zone| zone.name())
}

impl PartialEq for Zone {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Zone::Fixed(a), Zone::Fixed(b)) => a == b,
            (Zone::Iana(a), Zone::Iana(b)) => a.name == b.name,
            _ => false,
        }
    }
}

/// Minutes east of UTC in text.
pub(super) fn offset_text(minutes: f64, form: OffsetForm) -> String {
    let sign = if minutes >= 0.0 { '+' } else { '-' };
    let hours = (minutes / 60.0).abs().trunc();
    let rest = (minutes % 60.0).abs().trunc();
    match form {
        OffsetForm::Narrow if rest > 0.0 => format!("{sign}{hours}:{rest}"),
        OffsetForm::Narrow => format!("{sign}{hours}"),
        OffsetForm::Short => format!("{sign}{hours:02}:{rest:02}"),
        OffsetForm::Techie => format!("{sign}{hours:02}{rest:02}"),
    }
}

/// `GMT+5:30`, or `GMT+05:30` when long.
fn gmt_text(minutes: f64, long: bool) -> String {
    match offset_text(minutes, OffsetForm::Short) {
        _ if minutes == 0.0 => "GMT".into(),
        padded if long => format!("GMT{padded}"),
        _ => {
            let (hours, rest) = ((minutes / 60.0).abs().trunc(), (minutes % 60.0).abs().trunc());
            let sign = if minutes > 0.0 { '+' } else { '-' };
            match rest == 0.0 {
                true => format!("GMT{sign}{hours}"),
                false => format!("GMT{sign}{hours}:{rest:02}"),
            }
        }
    }
}

/// `UTC`, `UTC+5`, `UTC-03:30` in any case.
fn fixed_of_name(name: &str) -> Option<Zone> {
    let (utc, offset) = name.split_at_checked(3)?;
    if !utc.eq_ignore_ascii_case("utc") {
        return None;
    }
    let negative = offset.starts_with('-');
    let digits = offset.strip_prefix(['+', '-'])?;
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "00"));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if !(1..=2).contains(&hours.len()) || minutes.len() != 2 || !is_number(hours) || !is_number(minutes) {
        return None;
    }
    let total = hours.parse::<f64>().ok()? * 60.0 + minutes.parse::<f64>().ok()?;
    // `+ 0.0` makes 0 of -0.
    Some(Zone::Fixed(if negative { -total } else { total } + 0.0))
}

/// The time in the years that the database knows: later ones repeat, earlier ones are all alike.
fn timestamp(ms: f64) -> Option<Timestamp> {
    let ms = super::civil::time_clip(ms);
    if ms.is_nan() {
        return None;
    }
    let cycles = ((ms - KNOWN_MS) / CYCLE_MS).ceil().max(0.0);
    let ms = (ms - cycles * CYCLE_MS).max(-KNOWN_MS);
    Timestamp::from_millisecond(ms as i64).ok()
}

/// Abbreviations that the Unicode CLDR's English of the United States shows.
const AMERICAN: &[&str] = &[
    "EST", "EDT", "CST", "CDT", "MST", "MDT", "PST", "PDT", "AKST", "AKDT", "HST", "HDT",
];

/// `CST` is China's and Cuba's, too.
fn is_american(name: &str) -> bool {
    let region = name.split('/').next().unwrap_or_default();
    let known = ["America", "US", "Canada", "Mexico"];
    let other = ["Asia", "Cuba", "PRC", "ROC"];
    name != "America/Havana" && (known.contains(&region) || region == "Pacific" || !other.contains(&region))
}

fn is_utc(name: &str) -> bool {
    let name = name.strip_prefix("Etc/").unwrap_or(name);
    ["UTC", "UCT", "Zulu", "Universal"]
        .iter()
        .any(|utc| utc.eq_ignore_ascii_case(name))
}

/// The CLDR's English name for the zones that are asked for most: what stands before `Standard Time` and the word
/// for summer time, which is empty where there is none.
fn long_name(name: &str, abbreviation: &str) -> Option<(&'static str, &'static str)> {
    let region = name.split('/').next().unwrap_or_default();
    Some(match (abbreviation, region) {
        ("EST" | "EDT", _) => ("Eastern", "Daylight"),
        ("CST", "Asia" | "PRC") if name != "Asia/Taipei" => ("China", "Daylight"),
        ("CST", "Asia" | "ROC") => ("Taipei", "Daylight"),
        ("CST" | "CDT", "America" | "US" | "Canada" | "Mexico") if name != "America/Havana" => {
            ("Central", "Daylight")
        }
        ("MST" | "MDT", _) => ("Mountain", "Daylight"),
        ("PST" | "PDT", "America" | "US" | "Canada" | "Mexico") => ("Pacific", "Daylight"),
        ("AKST" | "AKDT", _) => ("Alaska", "Daylight"),
        ("HST" | "HDT", _) => ("Hawaii-Aleutian", "Daylight"),
        ("AST" | "ADT", "America" | "Atlantic" | "Canada") => ("Atlantic", "Daylight"),
        ("NST" | "NDT", "America" | "Canada") => ("Newfoundland", "Daylight"),
        ("CET" | "CEST", _) => ("Central European", "Summer"),
        ("EET" | "EEST", _) => ("Eastern European", "Summer"),
        ("WET" | "WEST", _) => ("Western European", "Summer"),
        ("BST", "Europe" | "GB") => ("British", "Summer"),
        ("GMT", _) => ("Greenwich", "Mean"),
        ("MSK", _) => ("Moscow", "Summer"),
        ("JST", _) => ("Japan", "Daylight"),
        ("KST", _) => ("Korean", "Daylight"),
        ("HKT", _) => ("Hong Kong", "Summer"),
        ("IST", "Asia") if name == "Asia/Kolkata" || name == "Asia/Calcutta" => ("India", "Summer"),
        ("IST" | "IDT", "Asia" | "Israel") => ("Israel", "Daylight"),
        ("AEST" | "AEDT", _) => ("Australian Eastern", "Daylight"),
        ("ACST" | "ACDT", _) => ("Australian Central", "Daylight"),
        ("AWST", _) => ("Australian Western", "Daylight"),
        ("NZST" | "NZDT", _) => ("New Zealand", "Daylight"),
        ("SAST", _) => ("South Africa", "Summer"),
        ("EAT", _) => ("East Africa", ""),
        ("CAT", _) => ("Central Africa", ""),
        ("WAT", _) => ("West Africa", ""),
        ("PKT", _) => ("Pakistan", "Summer"),
        _ => return None,
    })
}
