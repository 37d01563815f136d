//! Any bytes as what an executor process says: it is refused or read, in memory by its length, and what a report holds is
//! within the limits of its run.

use heddle_runtime::Limits;
use heddle_runtime::executor_protocol::{Addressee, FromExecutor, Report, WatchEvent};

/// Checks an input.
pub fn check(data: &[u8]) {
    let addressee = FromExecutor::addressee(data);
    let Ok(read) = FromExecutor::read(data) else {
        return;
    };
    let of_run = match read {
        FromExecutor::Started { .. } | FromExecutor::Loaded { .. } => None,
        FromExecutor::Effect { run, .. }
        | FromExecutor::Waits { run, .. }
        | FromExecutor::Called { run, .. }
        | FromExecutor::Sends { run, .. }
        | FromExecutor::WatchEvent { run, .. } => Some((run, false)),
        FromExecutor::Ended { run, .. } | FromExecutor::Gone { run } => Some((run, true)),
    };
    // Whoever it is handed to is whoever it is about.
    match (addressee, of_run) {
        (Ok(Addressee::Keeper), None) => {}
        (Ok(Addressee::Run { run, is_last }), Some(about)) => assert_eq!((run, is_last), about),
        other => panic!("{other:?}"),
    }
    if let FromExecutor::WatchEvent { event, .. } = read
        && let Ok(WatchEvent::Log(line)) = WatchEvent::read(event, &small())
    {
        assert!(line.message.len() <= small().log_bytes_max);
    }
    if let FromExecutor::Ended { report, .. } = read {
        for limits in [Limits::default(), small()] {
            if let Ok(report) = Report::read(report, &limits) {
                assert!(report.logs.len() <= limits.log_lines_max);
                let written: usize = report.logs.iter().map(|line| line.message.len()).sum();
                assert!(written <= limits.log_bytes_max);
                assert!(report.fuel_used <= limits.fuel_max);
                assert!(report.memory_bytes_peak <= limits.memory_bytes_max);
                assert!(report.trace.iter().all(|entry| entry.started_at_ms.is_finite()));
            }
        }
    }
}

fn small() -> Limits {
    Limits {
        log_lines_max: 2,
        log_bytes_max: 20,
        output_bytes_max: 500,
        ..Limits::default()
    }
}
