//! Date-times for people: what `Intl.DateTimeFormat` writes in the English of the United States and of Britain.
//!
//! Source: Unicode CLDR, `en` and `en_GB`, as ECMA-402 picks its patterns.

use super::civil::Civil;
use super::digits::padded;
use super::names::{MONTHS, MONTHS_SHORT, WEEKDAYS, WEEKDAYS_SHORT, name, narrow};
use super::zone::Zone;
use super::zoned::Zoned;
use crate::number_to_text;

/// Stands before a part, and is followed by a letter for what it is.
const PART_BEGINS: char = '\u{1}';
/// Stands behind a part.
const PART_ENDS: char = '\u{2}';

/// How a part is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Numeric,
    TwoDigit,
    Short,
    Long,
    Narrow,
}

impl Style {
    fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "numeric" => Style::Numeric,
            "2-digit" => Style::TwoDigit,
            "short" => Style::Short,
            "long" => Style::Long,
            "narrow" => Style::Narrow,
            _ => return None,
        })
    }
}

/// What is written, and how: the options of `Intl.DateTimeFormat`.
#[derive(Clone, Debug, Default)]
pub(super) struct Options {
    weekday: Option<Style>,
    year: Option<Style>,
    month: Option<Style>,
    day: Option<Style>,
    hour: Option<Style>,
    minute: Option<Style>,
    second: Option<Style>,
    zone_name: Option<Style>,
    pub(super) fraction_digits: usize,
    /// Which hours there are, if it is not the locale's choice.
    hours: Option<Hours>,
    /// ` at ` between the date and the time, whatever the month.
    at: Option<bool>,
    pub(super) british: bool,
    /// Whether marks say where each part begins and ends.
    pub(super) is_marked: bool,
    zone: Option<Zone>,
}

/// The hours of a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hours {
    /// 1 to 12
    Twelve,
    /// 0 to 11
    Eleven,
    /// 0 to 23
    TwentyThree,
    /// 1 to 24
    TwentyFour,
}

/// What is written when the options name no part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// `toLocaleDateString`
    Date,
    /// `toLocaleTimeString`
    Time,
    /// `toLocaleString` of a `Date`
    Both,
    /// `toLocaleString` of a `DateTime`
    DateUnlessGiven,
}

/// Luxon's presets.
const PRESETS: &[(&str, &[(&str, &str)])] = &[
    ("DATE_SHORT", &[YEAR, MONTH, DAY]),
    ("DATE_MED", &[YEAR, MONTH_SHORT, DAY]),
    ("DATE_MED_WITH_WEEKDAY", &[YEAR, MONTH_SHORT, DAY, WEEKDAY_SHORT]),
    ("DATE_FULL", &[YEAR, MONTH_LONG, DAY]),
    ("DATE_HUGE", &[YEAR, MONTH_LONG, DAY, WEEKDAY_LONG]),
    ("TIME_SIMPLE", &[HOUR, MINUTE]),
    ("TIME_WITH_SECONDS", &[HOUR, MINUTE, SECOND]),
    ("TIME_WITH_SHORT_OFFSET", &[HOUR, MINUTE, SECOND, ZONE_SHORT]),
    ("TIME_WITH_LONG_OFFSET", &[HOUR, MINUTE, SECOND, ZONE_LONG]),
    ("TIME_24_SIMPLE", &[HOUR, MINUTE, H23]),
    ("TIME_24_WITH_SECONDS", &[HOUR, MINUTE, SECOND, H23]),
    (
        "TIME_24_WITH_SHORT_OFFSET",
        &[HOUR, MINUTE, SECOND, H23, ZONE_SHORT],
    ),
    (
        "TIME_24_WITH_LONG_OFFSET",
        &[HOUR, MINUTE, SECOND, H23, ZONE_LONG],
    ),
    ("DATETIME_SHORT", &[YEAR, MONTH, DAY, HOUR, MINUTE]),
    (
        "DATETIME_SHORT_WITH_SECONDS",
        &[YEAR, MONTH, DAY, HOUR, MINUTE, SECOND],
    ),
    ("DATETIME_MED", &[YEAR, MONTH_SHORT, DAY, HOUR, MINUTE]),
    (
        "DATETIME_MED_WITH_SECONDS",
        &[YEAR, MONTH_SHORT, DAY, HOUR, MINUTE, SECOND],
    ),
    (
        "DATETIME_MED_WITH_WEEKDAY",
        &[YEAR, MONTH_SHORT, DAY, WEEKDAY_SHORT, HOUR, MINUTE],
    ),
    (
        "DATETIME_FULL",
        &[YEAR, MONTH_LONG, DAY, HOUR, MINUTE, ZONE_SHORT],
    ),
    (
        "DATETIME_FULL_WITH_SECONDS",
        &[YEAR, MONTH_LONG, DAY, HOUR, MINUTE, SECOND, ZONE_SHORT],
    ),
    (
        "DATETIME_HUGE",
        &[YEAR, MONTH_LONG, DAY, WEEKDAY_LONG, HOUR, MINUTE, ZONE_LONG],
    ),
    (
        "DATETIME_HUGE_WITH_SECONDS",
        &[
            YEAR,
            MONTH_LONG,
            DAY,
            WEEKDAY_LONG,
            HOUR,
            MINUTE,
            SECOND,
            ZONE_LONG,
        ],
    ),
];
const YEAR: (&str, &str) = ("year", "numeric");
const MONTH: (&str, &str) = ("month", "numeric");
const MONTH_SHORT: (&str, &str) = ("month", "short");
const MONTH_LONG: (&str, &str) = ("month", "long");
const DAY: (&str, &str) = ("day", "numeric");
const WEEKDAY_SHORT: (&str, &str) = ("weekday", "short");
const WEEKDAY_LONG: (&str, &str) = ("weekday", "long");
const HOUR: (&str, &str) = ("hour", "numeric");
const MINUTE: (&str, &str) = ("minute", "numeric");
const SECOND: (&str, &str) = ("second", "numeric");
const H23: (&str, &str) = ("hourCycle", "h23");
const ZONE_SHORT: (&str, &str) = ("timeZoneName", "short");
const ZONE_LONG: (&str, &str) = ("timeZoneName", "long");

/// The options that Luxon calls `DateTime.DATE_SHORT` and the like.
pub fn preset(name: &str) -> Option<&'static [(&'static str, &'static str)]> {
    let found = PRESETS.iter().find(|(preset, _)| *preset == name);
    found.map(|(_, options)| *options)
}

impl Options {
    /// No options, in British or American English.
    pub(super) fn in_english(british: bool) -> Self {
        Options {
            british,
            ..Options::default()
        }
    }

    /// The options of a preset.
    pub(super) fn of_preset(name: &str) -> Self {
        let mut options = Options::default();
        for (key, value) in preset(name).unwrap_or_default() {
            // What a preset says is known.
            let _ = options.set(key, value);
        }
        options
    }

    /// Adds what is wanted where the options name no part.
    pub(super) fn complete(&mut self, wanted: Wanted) {
        let date = [self.weekday, self.year, self.month, self.day]
            .iter()
            .any(Option::is_some);
        let time =
            [self.hour, self.minute, self.second].iter().any(Option::is_some) || self.fraction_digits > 0;
        let (needs_date, needs_time) = match wanted {
            Wanted::Date => (!date, false),
            Wanted::Time => (false, !time),
            Wanted::Both => (!date && !time, !date && !time),
            Wanted::DateUnlessGiven => (!date && !time, false),
        };
        let numeric = Some(Style::Numeric);
        if needs_date && self.at.is_none() {
            (self.year, self.month, self.day) = (numeric, numeric, numeric);
        }
        if needs_time && self.at.is_none() {
            (self.hour, self.minute, self.second) = (numeric, numeric, numeric);
        }
    }

    /// Sets an option that is a text; `None` if there is no such option, or not with this text.
    pub(super) fn set(&mut self, key: &str, text: &str) -> Option<()> {
        match key {
            "weekday" => self.weekday = Some(Style::from_name(text)?),
            "year" => self.year = Some(Style::from_name(text)?),
            "month" => self.month = Some(Style::from_name(text)?),
            "day" => self.day = Some(Style::from_name(text)?),
            "hour" => self.hour = Some(Style::from_name(text)?),
            "minute" => self.minute = Some(Style::from_name(text)?),
            "second" => self.second = Some(Style::from_name(text)?),
            "timeZoneName" => self.zone_name = Some(Style::from_name(text)?),
            // `hour12` goes before `hourCycle`.
            "hourCycle" if self.hours.is_some() => {}
            "hourCycle" => {
                self.hours = Some(match text {
                    "h11" => Hours::Eleven,
                    "h12" => Hours::Twelve,
                    "h23" => Hours::TwentyThree,
                    "h24" => Hours::TwentyFour,
                    _ => return None,
                });
            }
            "timeZone" => self.zone = Some(Zone::from_name(text)?),
            "dateStyle" => self.set_date_style(text)?,
            "timeStyle" => self.set_time_style(text)?,
            "formatMatcher" | "localeMatcher" => {}
            _ => return None,
        }
        Some(())
    }

    /// `hour12`
    pub(super) fn set_half_days(&mut self, half_days: bool) {
        self.hours = Some(match (half_days, self.british) {
            (true, _) => Hours::Twelve,
            (false, true) => Hours::TwentyThree,
            (false, false) => Hours::TwentyFour,
        });
    }

    fn set_date_style(&mut self, style: &str) -> Option<()> {
        use Style::{Long, Numeric, Short, TwoDigit};
        (self.year, self.month, self.day) = match style {
            "full" | "long" => (Some(Numeric), Some(Long), Some(Numeric)),
            "medium" => (Some(Numeric), Some(Short), Some(Numeric)),
            "short" if self.british => (Some(Numeric), Some(TwoDigit), Some(TwoDigit)),
            "short" => (Some(TwoDigit), Some(Numeric), Some(Numeric)),
            _ => return None,
        };
        self.weekday = (style == "full").then_some(Long);
        self.at = Some(matches!(style, "full" | "long"));
        Some(())
    }

    fn set_time_style(&mut self, style: &str) -> Option<()> {
        let numeric = Some(Style::Numeric);
        self.second = match style {
            "full" | "long" | "medium" => numeric,
            "short" => None,
            _ => return None,
        };
        (self.hour, self.minute) = (numeric, numeric);
        self.zone_name = match style {
            "full" => Some(Style::Long),
            "long" => Some(Style::Short),
            _ => None,
        };
        self.at = self.at.or(Some(false));
        Some(())
    }

    /// A part, between marks if these are wished.
    fn part(&self, kind: char, text: String) -> String {
        match self.is_marked {
            true => format!("{PART_BEGINS}{kind}{text}{PART_ENDS}"),
            false => text,
        }
    }

    /// The same, for parts that may be left out.
    fn as_part(&self, kind: char) -> impl Fn(String) -> String + '_ {
        move |text| self.part(kind, text)
    }

    fn date(&self, clock: &Civil) -> String {
        let digits = |style: Option<Style>| if style == Some(Style::TwoDigit) { 2 } else { 1 };
        let year = self.year.map(|style| match style {
            Style::TwoDigit => padded(clock.year.rem_euclid(100.0), 2),
            _ => number_to_text(clock.year),
        });
        let named = |names: &[&'static str], short: &[&'static str], number: f64, style| match style {
            Style::Short => name(short, number).to_owned(),
            Style::Narrow => narrow(name(names, number)).to_owned(),
            _ => name(names, number).to_owned(),
        };
        let weekday = self
            .weekday
            .map(|style| named(&WEEKDAYS, &WEEKDAYS_SHORT, clock.weekday(), style));
        let numeric = matches!(self.month, None | Some(Style::Numeric | Style::TwoDigit));
        let british_digits = self.british
            && numeric
            && self.month.is_some()
            && (self.day.is_some() || self.year.is_some())
            && (self.weekday.is_some() || ![self.month, self.day].contains(&Some(Style::TwoDigit)));
        let width = |style| if british_digits { 2 } else { digits(style) };
        let day = self.day.map(|style| padded(clock.day, width(Some(style))));
        let month = self.month.map(|style| match numeric {
            true => padded(clock.month, width(Some(style))),
            false if self.british && clock.month == 9.0 && style == Style::Short => "Sept".into(),
            false => named(&MONTHS, &MONTHS_SHORT, clock.month, style),
        });
        let (weekday, year) = (weekday.map(self.as_part('w')), year.map(self.as_part('y')));
        let (month, day) = (month.map(self.as_part('M')), day.map(self.as_part('d')));
        if let (Some(year), None, Some(day)) = (&year, &month, &day) {
            return format!("{year} (day: {day})");
        }
        if month.is_none()
            && let (Some(weekday), Some(day)) = (&weekday, &day)
        {
            return match self.british {
                true => format!("{weekday} {day}"),
                false => format!("{day} {weekday}"),
            };
        }
        if day.is_none()
            && let (Some(weekday), Some(month)) = (&weekday, &month)
        {
            return format!("{month} {weekday}");
        }
        let joined = |parts: [&Option<String>; 3], by: &str| {
            let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
            parts.join(by)
        };
        let date = match (numeric, self.british) {
            (true, false) => joined([&month, &day, &year], "/"),
            (true, true) => joined([&day, &month, &year], "/"),
            (false, true) => joined([&day, &month, &year], " "),
            (false, false) => {
                let day_of_month = joined([&month, &day, &None], " ");
                match (&year, &day) {
                    (Some(year), Some(_)) => format!("{day_of_month}, {year}"),
                    (Some(year), None) => format!("{day_of_month} {year}"),
                    (None, _) => day_of_month,
                }
            }
        };
        let comma = !self.british || year.is_some();
        match (weekday, date.is_empty()) {
            (None, _) => date,
            (Some(weekday), true) => weekday,
            (Some(weekday), false) => format!("{weekday}{} {date}", if comma { "," } else { "" }),
        }
    }

    fn time(&self, clock: &Civil) -> String {
        let hours = self.hours.unwrap_or(match self.british {
            true => Hours::TwentyThree,
            false => Hours::Twelve,
        });
        let half_day = matches!(hours, Hours::Twelve | Hours::Eleven);
        let hour = match hours {
            Hours::Twelve => (clock.hour + 11.0) % 12.0 + 1.0,
            Hours::Eleven => clock.hour % 12.0,
            Hours::TwentyThree => clock.hour,
            Hours::TwentyFour if clock.hour == 0.0 => 24.0,
            Hours::TwentyFour => clock.hour,
        };
        let width = |style: Style, padded: bool| if padded || style == Style::TwoDigit { 2 } else { 1 };
        let mut parts = Vec::new();
        if let Some(style) = self.hour {
            let rest = [self.minute, self.second];
            let british_single = self.british
                && rest.iter().any(Option::is_some)
                && rest.iter().flatten().all(|style| *style == Style::TwoDigit);
            parts.push(self.part('h', padded(hour, width(style, !half_day && !british_single))));
        }
        let padded_minute = self.hour.is_some() || self.second.is_some();
        if let Some(style) = self.minute {
            parts.push(self.part('m', padded(clock.minute, width(style, padded_minute))));
        }
        if let Some(style) = self.second {
            parts.push(self.part('s', padded(clock.second, width(style, self.minute.is_some()))));
        }
        let mut time = parts.join(":");
        if self.fraction_digits > 0 {
            let digits = padded(clock.millisecond, 3);
            if self.second.is_some() {
                time.push('.');
            }
            let digits = digits.get(..self.fraction_digits).unwrap_or_default();
            time.push_str(&self.part('f', digits.to_owned()));
        }
        if half_day && self.hour.is_some() {
            let name = match (clock.hour < 12.0, self.british) {
                (true, false) => "AM",
                (false, false) => "PM",
                (true, true) => "am",
                (false, true) => "pm",
            };
            time.push(' ');
            time.push_str(&self.part('p', name.to_owned()));
        }
        time
    }
}

/// The date-time after options.
pub(super) fn write(zoned: &Zoned, options: &Options) -> String {
    let moved = options.zone.clone().map(|zone| zoned.in_zone(zone, false));
    let zoned = match &moved {
        Some(Ok(moved)) => moved,
        Some(Err(_)) => return "Invalid DateTime".into(),
        None => zoned,
    };
    let date = options.date(&zoned.clock);
    let mut text = options.time(&zoned.clock);
    if let Some(style) = options.zone_name {
        let name = match style {
            Style::Long => zoned.zone.long_name(zoned.ms),
            _ => zoned.zone.short_name(zoned.ms),
        };
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(&options.part('z', name));
    }
    if date.is_empty() || text.is_empty() {
        return date + &text;
    }
    // CLDR has patterns of their own for these.
    let only_weekday = options.year.is_none() && options.month.is_none() && options.day.is_none();
    let joiner = match options.at.unwrap_or(options.month == Some(Style::Long)) {
        true if options.hour.is_some() => " at ",
        _ if only_weekday && (options.minute.is_some() || !options.british) => " ",
        _ => ", ",
    };
    format!("{date}{joiner}{text}")
}
