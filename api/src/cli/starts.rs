//! Starts that ended in a crash. A server that crashes repeatedly waits longer before each start, so that its
//! supervisor does not give up on it. Knows nothing about why servers crash.

use super::data_dir;
use heddle_model::clock::Clock;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Starts count for so long.
const AGE_MAX_MS: u128 = 5 * 60 * 1_000;
/// More of them make no difference.
const KEPT_MAX: usize = 8;
/// Waits after none, one, two… deaths, in units. With one second systemd's default limit (five starts within ten seconds) is
/// not met, and probes that allow for half a minute are passed.
const WAITS: [u32; 6] = [0, 0, 2, 5, 10, 15];

/// This start, in a file of its data directory.
pub struct Start {
    path: PathBuf,
    deaths: usize,
}

impl Start {
    /// Notes the start. A file that can't be read or written costs no more than the wait.
    pub fn note(data_dir: &Path) -> Self {
        let path = data_dir.join("starts");
        let (process, now_ms) = (std::process::id(), now_ms());
        let text = fs::read_to_string(&path).unwrap_or_default();
        let starts = text.lines().filter_map(|line| {
            let (process, at_ms) = line.split_once(' ')?;
            Some((process.parse::<u32>().ok()?, at_ms.parse::<u128>().ok()?))
        });
        let recent: Vec<(u32, u128)> = starts
            .filter(|(_, at_ms)| now_ms.saturating_sub(*at_ms) < AGE_MAX_MS)
            .collect();
        // Servers that share PostgreSQL may share the directory as well.
        let deaths = recent
            .iter()
            .filter(|(other, _)| *other == process || !is_alive(*other))
            .count();
        let first = recent.len().saturating_sub(KEPT_MAX - 1);
        let kept = recent.into_iter().skip(first).chain([(process, now_ms)]);
        let text: String = kept
            .map(|(process, at_ms)| format!("{process} {at_ms}\n"))
            .collect();
        let written = data_dir::make(data_dir).is_ok() && fs::write(&path, text).is_ok();
        if !written {
            tracing::warn!(path = %path.display(), "Can't record this start: after a crash the next start \
                won't wait");
        }
        Start { path, deaths }
    }

    /// How long to wait before anything else.
    pub fn wait(&self, unit: Duration) -> Duration {
        let units = WAITS.get(self.deaths).or(WAITS.last());
        unit * units.copied().unwrap_or(0)
    }

    /// After a graceful end all is well again.
    pub fn end(self) {
        // Whatever remains is forgotten with time.
        let _ = fs::remove_file(self.path);
    }
}

fn now_ms() -> u128 {
    u128::try_from(Clock::System.now().millis()).unwrap_or(0)
}

/// Where the system does not say, all others have died.
fn is_alive(process: u32) -> bool {
    Path::new("/proc").join(process.to_string()).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What systemd does unless a unit says otherwise: `RestartSec`, and `StartLimitBurst` starts within `StartLimitIntervalSec`.
    const RESTART: Duration = Duration::from_millis(100);
    const BURST: usize = 5;
    const INTERVAL: Duration = Duration::from_secs(10);
    /// What Kubernetes does: a probe is asked every ten seconds, and three failures end the container.
    const PROBES: Duration = Duration::from_secs(30);
    /// As the settings have it.
    const UNIT: Duration = Duration::from_secs(1);

    /// The starts file of a directory says this: processes that have died, and how long ago they were started.
    fn noted(starts: &[(u32, Duration)]) -> Start {
        let dir = tempfile::tempdir().unwrap();
        let lines = starts
            .iter()
            .map(|(process, ago)| format!("{process} {}\n", now_ms() - ago.as_millis()));
        fs::write(dir.path().join("starts"), lines.collect::<String>()).unwrap();
        Start::note(dir.path())
    }

    #[test]
    fn a_server_that_crashes_at_once_stays_within_the_limits_of_supervisors() {
        let dir = tempfile::tempdir().unwrap();
        let (mut at, mut starts) = (Duration::ZERO, Vec::new());
        for _ in 0..30 {
            starts.push(at);
            let wait = Start::note(dir.path()).wait(UNIT);
            assert!(wait < PROBES, "{wait:?}");
            at += wait + RESTART;
        }
        for (first, next) in starts.iter().zip(&starts[BURST..]) {
            assert!(*next - *first > INTERVAL, "{starts:?}");
        }
        // Which no wait at all would not.
        assert!(RESTART * BURST as u32 <= INTERVAL);
    }

    #[test]
    fn only_recent_deaths_count() {
        const DEAD: u32 = u32::MAX;
        let wait = |starts: &[(u32, Duration)]| noted(starts).wait(UNIT);
        let ago = Duration::from_secs;
        assert_eq!(wait(&[(DEAD, ago(1))]), Duration::ZERO);
        assert_eq!(wait(&[(DEAD, ago(2)), (DEAD, ago(1))]), UNIT * 2);
        assert_eq!(wait(&[(DEAD, ago(310)), (DEAD, ago(305))]), Duration::ZERO);
        assert_eq!(
            wait(&[(DEAD, ago(290)), (DEAD, ago(280)), (DEAD, ago(1))]),
            UNIT * 5
        );
        // Another server in the same directory, which lives.
        let parent = std::os::unix::process::parent_id();
        assert_eq!(wait(&[(parent, ago(2)), (parent, ago(1))]), Duration::ZERO);
        assert_eq!(wait(&[(DEAD, ago(1)); 50]), UNIT * 15);
        assert_eq!(noted(&[(DEAD, ago(1)); 50]).wait(Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn a_graceful_end_is_none() {
        let dir = tempfile::tempdir().unwrap();
        for _ in 0..10 {
            let start = Start::note(dir.path());
            assert_eq!(start.wait(UNIT), Duration::ZERO);
            start.end();
        }
    }

    #[test]
    fn a_file_that_is_none_costs_no_more_than_the_wait() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("starts"), b"\xff\n1\n 2\nx y\n99999999999999 1\n").unwrap();
        assert_eq!(Start::note(dir.path()).wait(UNIT), Duration::ZERO);
    }
}
