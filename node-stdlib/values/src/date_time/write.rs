//! Date-times as ISO 8601, SQL, RFC 2822 and HTTP.

use super::civil::Civil;
use super::digits::padded;
use super::tokens;
use super::zone::Zone;
use super::zoned::Zoned;

/// How ISO 8601 is written; the defaults are Luxon's.
pub(super) struct IsoOptions {
    /// `2026-11-21T10:24` instead of `20261121T1024`.
    pub(super) extended: bool,
    pub(super) suppress_seconds: bool,
    pub(super) suppress_milliseconds: bool,
    pub(super) include_offset: bool,
    /// A `T` before a time alone.
    pub(super) include_prefix: bool,
    /// The zone's name in brackets.
    pub(super) extended_zone: bool,
    pub(super) precision: Precision,
}

/// The smallest unit that is written.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Precision {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

impl Default for IsoOptions {
    fn default() -> Self {
        IsoOptions {
            extended: true,
            suppress_seconds: false,
            suppress_milliseconds: false,
            include_offset: true,
            include_prefix: false,
            extended_zone: false,
            precision: Precision::Millisecond,
        }
    }
}

impl Zoned {
    /// `2026-11-21T10:24:00.000+01:00`
    pub fn to_iso(&self) -> String {
        self.to_iso_with(&IsoOptions::default())
    }

    pub(super) fn to_iso_with(&self, options: &IsoOptions) -> String {
        let mut text = iso_date(&self.clock, options.extended, options.precision);
        if options.precision >= Precision::Hour {
            text.push('T');
        }
        text.push_str(&self.iso_time_alone(options));
        text
    }

    pub(super) fn to_iso_time(&self, options: &IsoOptions) -> String {
        let prefix = options.include_prefix && options.precision >= Precision::Hour;
        format!(
            "{}{}",
            if prefix { "T" } else { "" },
            self.iso_time_alone(options)
        )
    }

    pub(super) fn to_iso_date(&self, extended: bool, precision: Precision) -> String {
        iso_date(&self.clock, extended, precision)
    }

    fn iso_time_alone(&self, options: &IsoOptions) -> String {
        let clock = &self.clock;
        let colon = if options.extended { ":" } else { "" };
        let seconds = !options.suppress_seconds || clock.millisecond != 0.0 || clock.second != 0.0;
        let milliseconds = seconds && (!options.suppress_milliseconds || clock.millisecond != 0.0);
        let mut text = String::new();
        if options.precision >= Precision::Hour {
            text.push_str(&padded(clock.hour, 2));
        }
        if options.precision >= Precision::Minute {
            text.push_str(colon);
            text.push_str(&padded(clock.minute, 2));
        }
        if options.precision >= Precision::Second && seconds {
            text.push_str(colon);
            text.push_str(&padded(clock.second, 2));
        }
        if options.precision == Precision::Millisecond && milliseconds {
            text.push('.');
            text.push_str(&padded(clock.millisecond, 3));
        }
        if options.include_offset {
            text.push_str(&self.iso_offset(options.extended_zone));
        }
        if options.extended_zone {
            text.push_str(&format!("[{}]", self.zone.iana_name()));
        }
        text
    }

    fn iso_offset(&self, extended_zone: bool) -> String {
        let minutes = self.offset_minutes;
        if self.zone.is_fixed() && minutes == 0.0 && !extended_zone {
            return "Z".into();
        }
        let sign = if minutes < 0.0 { '-' } else { '+' };
        let (hours, rest) = ((minutes.abs() / 60.0).trunc(), (minutes.abs() % 60.0).trunc());
        format!("{sign}{}:{}", padded(hours, 2), padded(rest, 2))
    }

    pub(super) fn to_iso_week_date(&self) -> String {
        let (year, week) = self.clock.week();
        let weekday = self.clock.weekday();
        format!("{}-W{}-{weekday}", padded(year, 4), padded(week, 2))
    }

    /// By Luxon's tokens, in English.
    pub fn to_format(&self, format: &str) -> String {
        tokens::write(self, format)
    }

    /// `Sat, 21 Nov 2026 10:24:00 +0100`
    pub fn to_rfc2822(&self) -> String {
        tokens::write(self, "EEE, dd LLL yyyy HH:mm:ss ZZZ")
    }

    /// `Sat, 21 Nov 2026 09:24:00 GMT`
    pub fn to_http(&self) -> String {
        match Zoned::new(self.ms, Zone::UTC) {
            Ok(utc) => tokens::write(&utc, "EEE, dd LLL yyyy HH:mm:ss 'GMT'"),
            Err(_) => String::new(),
        }
    }

    /// `10:24:00.000 +01:00`
    pub(super) fn to_sql_time(&self, include_offset: bool, include_zone: bool, space: bool) -> String {
        let mut format = String::from("HH:mm:ss.SSS");
        if include_offset || include_zone {
            if space {
                format.push(' ');
            }
            format.push_str(if include_zone { "z" } else { "ZZ" });
        }
        tokens::write_with(self, &format, true)
    }
}

fn iso_date(clock: &Civil, extended: bool, precision: Precision) -> String {
    let long = clock.year > 9999.0 || clock.year < 0.0;
    let sign = if long && clock.year >= 0.0 { "+" } else { "" };
    let dash = if extended { "-" } else { "" };
    let mut text = format!("{sign}{}", padded(clock.year, if long { 6 } else { 4 }));
    if precision >= Precision::Month {
        text.push_str(dash);
        text.push_str(&padded(clock.month, 2));
    }
    if precision >= Precision::Day {
        text.push_str(dash);
        text.push_str(&padded(clock.day, 2));
    }
    text
}
