//! The next times of a schedule, for people. Bounded: so many times, and no expression that is searched for in vain.

use crate::compile::validation::TextSpan;
use crate::schedule::{Schedule, ScheduleError};
use heddle_compiler::cron_problem;
use heddle_compiler::diagnostic::Utf16Units;
use heddle_model::clock::Timestamp;

/// What is wrong with a schedule that is being written, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Misplaced {
    /// The expression or the zone.
    pub field: ScheduleField,
    /// What is wrong, to stand after the field's name.
    pub message: String,
    /// The piece that is meant, in UTF-16 code units; none of the zone.
    pub span: Option<TextSpan>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleField {
    /// The cron expression.
    Cron,
    /// The time zone.
    Timezone,
}

/// The first `count` times of a schedule after this one; fewer if there are no more.
pub fn after(schedule: &Schedule, time: Timestamp, count: usize) -> Vec<Timestamp> {
    let first = schedule.next_after(time);
    std::iter::successors(first, |time| schedule.next_after(*time))
        .take(count)
        .collect()
}

/// The first `count` times after `now` of a schedule that is being written, or what is wrong with it. It may search for
/// long: not for threads that serve others.
pub fn upcoming(cron: &str, zone: &str, now: Timestamp, count: usize) -> Result<Vec<Timestamp>, Misplaced> {
    let schedule = Schedule::parse(cron, zone).map_err(|error| match error {
        ScheduleError::Zone => Misplaced {
            field: ScheduleField::Timezone,
            message: error.to_string(),
            span: None,
        },
        ScheduleError::Cron(_) => of_cron(cron, error.to_string()),
    })?;
    let times = after(&schedule, now, count);
    match times.is_empty() {
        true => Err(of_cron(cron, "never fires".to_owned())),
        false => Ok(times),
    }
}

/// At the part that the compiler's check objects to, in its words; otherwise at the whole expression.
fn of_cron(cron: &str, message: String) -> Misplaced {
    let (message, bytes) = match cron_problem(cron) {
        Some(problem) => (problem.message, problem.span),
        None => (message, 0..cron.len()),
    };
    let mut units = Utf16Units::new(cron);
    let start = units.before(bytes.start);
    Misplaced {
        field: ScheduleField::Cron,
        message,
        span: Some((start..units.before(bytes.end)).into()),
    }
}
