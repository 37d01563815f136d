//! The proleptic Gregorian calendar in JavaScript's time values: milliseconds since 1970 as a number, NaN when there
//! is none.
//!
//! Source: ECMAScript 2025, section 21.4.1; ISO 8601 weeks. Knows nothing of time zones.

/// Milliseconds of a day.
pub(super) const DAY_MS: f64 = 86_400_000.0;
/// The largest time value, in both directions.
const TIME_MAX_MS: f64 = 8.64e15;

/// A day and a time on the clock; every part may be out of its range while it is being calculated with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Civil {
    pub year: f64,
    /// 1 to 12.
    pub month: f64,
    /// 1 to 31.
    pub day: f64,
    pub hour: f64,
    pub minute: f64,
    pub second: f64,
    pub millisecond: f64,
}

impl Civil {
    /// The clock in UTC at a time value that is not NaN.
    pub(super) fn from_ms(ms: f64) -> Self {
        let ms = ms.trunc();
        let days = (ms / DAY_MS).floor();
        let time = ms - days * DAY_MS;
        let (year, month, day) = date_of_day(days);
        Civil {
            year,
            month,
            day,
            hour: (time / 3_600_000.0).floor(),
            minute: (time / 60_000.0).floor() % 60.0,
            second: (time / 1000.0).floor() % 60.0,
            millisecond: time % 1000.0,
        }
    }

    /// The time value at which a clock in UTC shows this, parts out of range carrying over; NaN beyond what time
    /// values reach.
    pub(super) fn to_ms(self) -> f64 {
        time_clip(self.to_ms_unclipped())
    }

    /// The same without the limit.
    pub(super) fn to_ms_unclipped(self) -> f64 {
        let parts = [
            self.year,
            self.month,
            self.day,
            self.hour,
            self.minute,
            self.second,
            self.millisecond,
        ];
        if parts.iter().any(|part| !part.is_finite()) {
            return f64::NAN;
        }
        let [year, _, day, hour, minute, second, millisecond] = parts.map(f64::trunc);
        let month = (self.month - 1.0).trunc();
        let year = year + (month / 12.0).floor();
        if year.abs() > 400_000.0 {
            return f64::NAN;
        }
        let days = day_of_date(year, month.rem_euclid(12.0) + 1.0, 1.0) + day - 1.0;
        let time = hour * 3_600_000.0 + minute * 60_000.0 + second * 1000.0 + millisecond;
        days * DAY_MS + time
    }

    /// Day of the year, from 1.
    pub(super) fn ordinal(&self) -> f64 {
        day_of_date(self.year, self.month, self.day) - day_of_date(self.year, 1.0, 1.0) + 1.0
    }

    /// 1 Monday to 7 Sunday.
    pub(super) fn weekday(&self) -> f64 {
        (day_of_date(self.year, self.month, self.day) + 3.0).rem_euclid(7.0) + 1.0
    }

    /// Year and number of the ISO week.
    pub(super) fn week(&self) -> (f64, f64) {
        self.week_by(4.0, 1.0)
    }

    /// Year, number and weekday of a week that begins on `first_weekday`, the year's first having at least
    /// `least_days` days in it: 4 and 1 for ISO, 1 and 7 for the United States.
    pub(super) fn week_by(&self, least_days: f64, first_weekday: f64) -> (f64, f64) {
        let weekday = local_weekday(self.weekday(), first_weekday);
        let week = ((self.ordinal() - weekday + 14.0 - least_days) / 7.0).floor();
        if week < 1.0 {
            (
                self.year - 1.0,
                weeks_by(self.year - 1.0, least_days, first_weekday),
            )
        } else if week > weeks_by(self.year, least_days, first_weekday) {
            (self.year + 1.0, 1.0)
        } else {
            (self.year, week)
        }
    }

    /// The same time on another day.
    pub(super) fn on(self, date: (f64, f64, f64)) -> Self {
        let (year, month, day) = date;
        Civil {
            year,
            month,
            day,
            ..self
        }
    }
}

/// Weekday 1 to 7 counted from another first day.
pub(super) fn local_weekday(weekday: f64, first_weekday: f64) -> f64 {
    (weekday - first_weekday).rem_euclid(7.0) + 1.0
}

/// ECMAScript's TimeClip.
pub(super) fn time_clip(ms: f64) -> f64 {
    match ms.abs() <= TIME_MAX_MS {
        true => ms.trunc() + 0.0,
        false => f64::NAN,
    }
}

/// Year, month and day of a week date; the week and weekday may be out of range.
pub(super) fn date_of_week(week_year: f64, week: f64, weekday: f64) -> (f64, f64, f64) {
    let fourth = Civil::from_ms(day_of_date(week_year, 1.0, 4.0) * DAY_MS);
    let ordinal = week * 7.0 + weekday - fourth.weekday() - 3.0;
    match ordinal < 1.0 {
        true => date_of_ordinal(week_year - 1.0, ordinal + days_in_year(week_year - 1.0)),
        false => date_of_ordinal(week_year, ordinal),
    }
}

/// Year, month and day of a day of the year, NaN for one before the first; later ones carry over.
pub(super) fn date_of_ordinal(year: f64, ordinal: f64) -> (f64, f64, f64) {
    if ordinal <= 0.0 {
        return (year, f64::NAN, f64::NAN);
    }
    date_of_day(day_of_date(year, 1.0, 1.0) + ordinal.trunc() - 1.0)
}

/// Number of ISO weeks in a year.
pub(super) fn weeks_in_year(year: f64) -> f64 {
    weeks_by(year, 4.0, 1.0)
}

pub(super) fn weeks_by(year: f64, least_days: f64, first_weekday: f64) -> f64 {
    let start_of = |year: f64| {
        let day = day_of_date(year, 1.0, least_days);
        let weekday = (day + 3.0).rem_euclid(7.0) + 1.0;
        day - local_weekday(weekday, first_weekday)
    };
    (start_of(year + 1.0) - start_of(year)) / 7.0
}

pub(super) fn is_leap(year: f64) -> bool {
    year % 4.0 == 0.0 && (year % 100.0 != 0.0 || year % 400.0 == 0.0)
}

pub(super) fn days_in_year(year: f64) -> f64 {
    if is_leap(year) { 366.0 } else { 365.0 }
}

/// Days of a month, which may be out of 1 to 12; NaN if it is.
pub fn days_in_month(year: f64, month: f64) -> f64 {
    if !year.is_finite() || !month.is_finite() {
        return f64::NAN;
    }
    let within = (month - 1.0).rem_euclid(12.0) + 1.0;
    let year = year + (month - within) / 12.0;
    if within == 2.0 {
        if is_leap(year) { 29.0 } else { 28.0 }
    } else if [4.0, 6.0, 9.0, 11.0].contains(&within) {
        30.0
    } else if within.fract() == 0.0 {
        31.0
    } else {
        f64::NAN
    }
}

/// Days since 1970-01-01 of a date with a month of 1 to 12. See [`date_of_day`] for the method.
pub fn day_of_date(year: f64, month: f64, day: f64) -> f64 {
    let year = if month <= 2.0 { year - 1.0 } else { year };
    let era = (year / 400.0).floor();
    let year_of_era = year - era * 400.0;
    let month_from_march = (month + 9.0) % 12.0;
    let day_of_year = ((153.0 * month_from_march + 2.0) / 5.0).floor() + day - 1.0;
    let day_of_era =
        year_of_era * 365.0 + (year_of_era / 4.0).floor() - (year_of_era / 100.0).floor() + day_of_year;
    era * 146_097.0 + day_of_era - 719_468.0
}

/// Year, month and day of a number of days since 1970-01-01: eras of 400 years that begin in March, after Howard
/// Hinnant's `chrono`-Compatible Low-Level Date Algorithms.
pub fn date_of_day(day: f64) -> (f64, f64, f64) {
    let shifted = day + 719_468.0;
    let era = (shifted / 146_097.0).floor();
    let day_of_era = shifted - era * 146_097.0;
    let year_of_era = ((day_of_era - (day_of_era / 1460.0).floor() + (day_of_era / 36_524.0).floor()
        - (day_of_era / 146_096.0).floor())
        / 365.0)
        .floor();
    let day_of_year =
        day_of_era - (365.0 * year_of_era + (year_of_era / 4.0).floor() - (year_of_era / 100.0).floor());
    let month_from_march = ((5.0 * day_of_year + 2.0) / 153.0).floor();
    let day = day_of_year - ((153.0 * month_from_march + 2.0) / 5.0).floor() + 1.0;
    let month = if month_from_march < 10.0 {
        month_from_march + 3.0
    } else {
        month_from_march - 9.0
    };
    let year = year_of_era + era * 400.0 + if month <= 2.0 { 1.0 } else { 0.0 };
    (year, month, day)
}
