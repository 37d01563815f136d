//! Durations: amounts of units, kept apart as Luxon keeps them.

use super::digits::{js_round, padded};
use super::format::{Piece, pieces};
use super::invalid::Invalid;
use super::read_duration;
use super::unit::Unit;
use crate::number_to_text;

/// Luxon's `Duration`.
#[derive(Clone, Debug)]
pub struct Duration {
    /// Amounts in the order in which they were given, each unit once.
    pub(super) values: Vec<(Unit, f64)>,
    /// Converts with years of 365.2425 days instead of 365.
    pub(super) accurate: bool,
    pub(super) invalid: Option<Invalid>,
}

impl Duration {
    /// Amounts of units, each unit once.
    pub fn new(values: Vec<(Unit, f64)>) -> Self {
        Duration {
            values,
            accurate: false,
            invalid: None,
        }
    }

    /// One amount.
    pub fn of(amount: f64, unit: Unit) -> Self {
        Duration::new(vec![(unit, amount)])
    }

    pub(super) fn invalid(reason: Invalid) -> Self {
        Duration {
            invalid: Some(reason),
            ..Duration::new(Vec::new())
        }
    }

    /// `Duration.fromISO(text)`
    pub fn from_iso(text: &str) -> Self {
        match read_duration::iso_duration(text) {
            Some(values) => Duration::new(values),
            None => Duration::invalid(Invalid::unparsable(text, "ISO 8601")),
        }
    }

    /// `Duration.fromISOTime(text)`
    pub(super) fn from_iso_time(text: &str) -> Self {
        match read_duration::iso_time(text) {
            Some(values) => Duration::new(values),
            None => Duration::invalid(Invalid::unparsable(text, "ISO 8601")),
        }
    }

    /// Amounts in the order in which they were given.
    pub fn amounts(&self) -> impl Iterator<Item = (Unit, f64)> {
        self.values.iter().copied()
    }

    /// Whether anything is known of it.
    pub fn is_valid(&self) -> bool {
        self.invalid.is_none()
    }

    /// The amount of a unit, 0 where there is none; NaN of an invalid duration.
    pub fn get(&self, unit: Unit) -> f64 {
        match self.is_valid() {
            true => self.own(unit).unwrap_or(0.0),
            false => f64::NAN,
        }
    }

    fn own(&self, unit: Unit) -> Option<f64> {
        self.values
            .iter()
            .find(|(own, _)| *own == unit)
            .map(|(_, amount)| *amount)
    }

    pub(super) fn set(&mut self, unit: Unit, amount: f64) {
        set_amount(&mut self.values, unit, amount);
    }

    /// Milliseconds in all.
    pub fn to_ms(&self) -> f64 {
        if !self.is_valid() {
            return f64::NAN;
        }
        let mut sum = self.get(Unit::Milliseconds);
        for unit in Unit::ALL.into_iter().rev().skip(1) {
            sum += self.get(unit) * unit.in_smaller(Unit::Milliseconds, self.accurate);
        }
        sum
    }

    pub(super) fn plus(&self, other: &Duration) -> Self {
        let units = Unit::ALL.into_iter();
        let values = units.filter(|unit| self.own(*unit).is_some() || other.own(*unit).is_some());
        self.with(
            values
                .map(|unit| (unit, other.get(unit) + self.get(unit)))
                .collect(),
        )
    }

    pub(super) fn negate(&self) -> Self {
        let negated = |amount: f64| if amount == 0.0 { 0.0 } else { -amount };
        self.with(
            self.values
                .iter()
                .map(|(unit, amount)| (*unit, negated(*amount)))
                .collect(),
        )
    }

    fn with(&self, values: Vec<(Unit, f64)>) -> Self {
        match self.is_valid() {
            true => Duration {
                values,
                ..self.clone()
            },
            false => self.clone(),
        }
    }

    /// The same time in these units, the last of them with a fraction.
    pub(super) fn shift_to(&self, units: &[Unit]) -> Self {
        if !self.is_valid() || units.is_empty() {
            return self.clone();
        }
        let mut built: Vec<(Unit, f64)> = Vec::new();
        let mut pending: Vec<(Unit, f64)> = Vec::new();
        for unit in Unit::ALL {
            if !units.contains(&unit) {
                if let Some(amount) = self.own(unit) {
                    set_amount(&mut pending, unit, amount);
                }
                continue;
            }
            let mut own = 0.0;
            for (larger, amount) in &mut pending {
                own += larger.in_smaller(unit, self.accurate) * *amount;
                *amount = 0.0;
            }
            own += self.own(unit).unwrap_or(0.0);
            let whole = own.trunc();
            built.push((unit, whole));
            set_amount(&mut pending, unit, (own * 1000.0 - whole * 1000.0) / 1000.0);
        }
        if let Some((last, total)) = built.last_mut() {
            for (unit, amount) in pending.into_iter().filter(|(_, amount)| *amount != 0.0) {
                *total += if unit == *last {
                    amount
                } else {
                    amount / last.in_smaller(unit, self.accurate)
                };
            }
        }
        let mut shifted = self.with(built);
        shifted.carry();
        shifted
    }

    pub(super) fn shift_to_all(&self) -> Self {
        let units = Unit::ALL.into_iter().filter(|unit| *unit != Unit::Quarters);
        self.shift_to(&units.collect::<Vec<_>>())
    }

    pub(super) fn normalize(&self) -> Self {
        let mut normalized = self.clone();
        normalized.carry();
        normalized
    }

    /// Makes every amount but the largest unit's at most one of the next larger unit, all of one sign, and none but
    /// the smallest unit's with a fraction.
    fn carry(&mut self) {
        let factor = if self.to_ms() < 0.0 { -1.0 } else { 1.0 };
        let units: Vec<Unit> = Unit::ALL
            .into_iter()
            .filter(|unit| self.own(*unit).is_some())
            .collect();
        for pair in units.windows(2).rev() {
            let &[larger, smaller] = pair else { continue };
            let conversion = larger.in_smaller(smaller, self.accurate);
            let carried = (self.get(smaller) * factor / conversion).floor();
            self.set(larger, self.get(larger) + carried * factor);
            self.set(smaller, self.get(smaller) - carried * conversion * factor);
        }
        for pair in units.windows(2) {
            let &[larger, smaller] = pair else { continue };
            let fraction = self.get(larger) % 1.0;
            self.set(larger, self.get(larger) - fraction);
            let more = fraction * larger.in_smaller(smaller, self.accurate);
            self.set(smaller, self.get(smaller) + more);
        }
    }

    pub(super) fn without_zeros(&self) -> Self {
        self.with(
            self.values
                .iter()
                .copied()
                .filter(|(_, amount)| *amount != 0.0)
                .collect(),
        )
    }

    /// `duration.as(unit)`
    pub(super) fn in_unit(&self, unit: Unit) -> f64 {
        self.shift_to(&[unit]).get(unit)
    }

    /// Same amounts, 0 being the same as none.
    pub(super) fn same_as(&self, other: &Duration) -> bool {
        self.is_valid()
            && other.is_valid()
            && Unit::ALL
                .into_iter()
                .all(|unit| self.get(unit) == other.get(unit))
    }

    /// ISO 8601, as `P1DT2H`; `None` of an invalid one.
    pub(super) fn to_iso(&self) -> Option<String> {
        if !self.is_valid() {
            return None;
        }
        let mut text = String::from("P");
        let push = |text: &mut String, amount: f64, letter: char| {
            if amount != 0.0 {
                text.push_str(&number_to_text(amount));
                text.push(letter);
            }
        };
        push(&mut text, self.get(Unit::Years), 'Y');
        if self.get(Unit::Months) != 0.0 || self.get(Unit::Quarters) != 0.0 {
            let months = self.get(Unit::Months) + self.get(Unit::Quarters) * 3.0;
            text.push_str(&number_to_text(months));
            text.push('M');
        }
        push(&mut text, self.get(Unit::Weeks), 'W');
        push(&mut text, self.get(Unit::Days), 'D');
        let (seconds, milliseconds) = (self.get(Unit::Seconds), self.get(Unit::Milliseconds));
        let has_seconds = seconds != 0.0 || milliseconds != 0.0;
        if self.get(Unit::Hours) != 0.0 || self.get(Unit::Minutes) != 0.0 || has_seconds {
            text.push('T');
        }
        push(&mut text, self.get(Unit::Hours), 'H');
        push(&mut text, self.get(Unit::Minutes), 'M');
        if has_seconds {
            let rounded = js_round((seconds + milliseconds / 1000.0) * 1000.0) / 1000.0;
            text.push_str(&number_to_text(rounded));
            text.push('S');
        }
        if text == "P" {
            text.push_str("T0S");
        }
        Some(text)
    }

    /// `duration.toFormat(format)`
    pub(super) fn to_format(&self, format: &str) -> String {
        if !self.is_valid() {
            return "Invalid Duration".into();
        }
        let pieces = pieces(format);
        let unit_of = |token: &str| {
            Some(match token.chars().next()? {
                'S' => Unit::Milliseconds,
                's' => Unit::Seconds,
                'm' => Unit::Minutes,
                'h' => Unit::Hours,
                'd' => Unit::Days,
                'w' => Unit::Weeks,
                'M' => Unit::Months,
                'y' => Unit::Years,
                _ => return None,
            })
        };
        let tokens = pieces.iter().filter(|piece| !piece.literal);
        let units: Vec<Unit> = tokens.filter_map(|piece| unit_of(&piece.text)).collect();
        let shifted = self.shift_to(&units);
        let write = |piece: &Piece| match unit_of(&piece.text) {
            Some(unit) if !piece.literal => padded(shifted.get(unit).floor(), piece.text.chars().count()),
            _ => piece.text.clone(),
        };
        pieces.iter().map(write).collect()
    }

    /// `1 hour, 30 minutes`, with or without amounts of zero.
    pub(super) fn to_human(&self, has_zeros: bool) -> String {
        if !self.is_valid() {
            return "Invalid Duration".into();
        }
        let amounts = Unit::ALL.into_iter().filter_map(|unit| {
            let amount = self.own(unit).filter(|amount| has_zeros || *amount != 0.0)?;
            let name = if amount.abs() == 1.0 {
                unit.singular()
            } else {
                unit.name()
            };
            let shown = number_to_text((amount * 1000.0).round() / 1000.0);
            Some(format!("{shown} {name}"))
        });
        amounts.collect::<Vec<_>>().join(", ")
    }
}

fn set_amount(values: &mut Vec<(Unit, f64)>, unit: Unit, amount: f64) {
    match values.iter_mut().find(|(own, _)| *own == unit) {
        Some((_, own)) => *own = amount,
        None => values.push((unit, amount)),
    }
}
