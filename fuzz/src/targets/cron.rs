//! A cron expression and, on the next line, a time zone: the next times are found, in order, and what never comes is
//! known without a search.

use heddle_execution::schedule::{CatchUp, Schedule};
use heddle_model::clock::Timestamp;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else {
        return;
    };
    let (cron, zone) = text.split_once('\n').unwrap_or((text, "UTC"));
    let never_comes = heddle_compiler::never_comes(cron);
    let Ok(schedule) = Schedule::parse(cron, zone) else {
        return;
    };
    // 2026-11-21T09:00:00Z
    let mut time = Timestamp::from_millis(1_795_251_600_000);
    for _ in 0..4 {
        let Some(next) = schedule.next_after(time) else {
            break;
        };
        assert!(!never_comes && next > time, "{cron:?} {zone:?} {time:?} {next:?}");
        time = next;
    }
    for catch_up in [CatchUp::One, CatchUp::None, CatchUp::All] {
        let due = schedule.due(Timestamp::from_millis(1_795_251_600_000), time, catch_up, 10);
        assert!(due.times.iter().all(|due| *due <= time), "{due:?}");
    }
}
