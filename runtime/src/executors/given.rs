//! What an executor has been given: runs, and programs that it keeps. What it says is compared with that.

use heddle_processes::WorkerError;
use heddle_sandbox::protocol::FromExecutor;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

/// Programs that an executor keeps: each takes a descriptor.
const PROGRAMS_MAX: usize = 500;
/// How long an executor may keep a run that was cancelled. Code is interrupted within milliseconds; the rest is for machines that
/// have other things to do.
const LAST_WORD_MAX: Duration = Duration::from_secs(10);
/// How much later than a run's deadline its executor may end it: by its own clock it would have stopped the run.
const OVERDUE: Duration = Duration::from_secs(30);

/// Why a program was not loaded: which component is the reason, and what is wrong.
pub type LoadFailure = (Option<usize>, String);

/// What it has been given.
#[derive(Default)]
pub struct Given {
    pub runs: HashMap<u32, GivenTo>,
    /// Programs by number: their bytes, and when they were used last.
    programs: HashMap<u32, (usize, u64)>,
    code_bytes: usize,
    uses: u64,
    pub has_javascript: bool,
    /// Programs that it has been given, and has not said of whether it could load them.
    unheard: u32,
    /// Who waits to hear whether a program could be loaded.
    pub loading: HashMap<u32, oneshot::Sender<Result<(), LoadFailure>>>,
}

/// Who has a run. Its place is taken until the executor has said its last word of it.
pub struct GivenTo {
    /// `None`: it was cancelled.
    pub inbox: Option<mpsc::UnboundedSender<Vec<u8>>>,
    cancelled_at: Option<Instant>,
    /// `None`: never.
    overdue_at: Option<Instant>,
    pub queued: Arc<AtomicUsize>,
    pub strays: u32,
    _slot: Option<OwnedSemaphorePermit>,
}

impl GivenTo {
    /// Somebody who hears by this inbox, of so many bytes that wait there, until a deadline.
    pub fn new(
        inbox: mpsc::UnboundedSender<Vec<u8>>,
        queued: Arc<AtomicUsize>,
        slot: Option<OwnedSemaphorePermit>,
        deadline: Option<Instant>,
    ) -> Self {
        GivenTo {
            inbox: Some(inbox),
            cancelled_at: None,
            overdue_at: deadline.and_then(|deadline| deadline.checked_add(OVERDUE)),
            queued,
            strays: 0,
            _slot: slot,
        }
    }

    /// Nobody wants to hear of it any more.
    pub fn cancel(&mut self, now: Instant) {
        self.inbox = None;
        self.cancelled_at = Some(now);
    }
}

impl Given {
    /// How many runs and programs it has been given, if it has no run. That it has not answered does not make it busy: it could keep
    /// silent for ever.
    pub fn idle_since(&self) -> Option<u64> {
        self.runs.is_empty().then_some(self.uses)
    }

    /// Whether it keeps a run that was cancelled for longer than it takes to end one.
    pub fn keeps_cancelled(&self, now: Instant) -> bool {
        let is_kept = |at: Instant| now.saturating_duration_since(at) > LAST_WORD_MAX;
        self.runs.values().any(|to| to.cancelled_at.is_some_and(is_kept))
    }

    /// Whether it goes on with a run long after that one's deadline.
    pub fn keeps_overdue(&self, now: Instant) -> bool {
        let is_overdue = |to: &GivenTo| to.inbox.is_some() && to.overdue_at.is_some_and(|at| now > at);
        self.runs.values().any(is_overdue)
    }

    /// Hears whether a program could be loaded.
    pub fn loaded(&mut self, frame: &[u8]) -> Result<(), WorkerError> {
        let read = FromExecutor::read(frame).map_err(|error| malformed(&error))?;
        let FromExecutor::Loaded { program, failure } = read else {
            return Err(malformed(&"it starts twice"));
        };
        let unheard = self.unheard.checked_sub(1);
        self.unheard = unheard.ok_or_else(|| malformed(&"it names a program that it was not given"))?;
        if !self.programs.contains_key(&program) {
            // It may have been taken back by now.
            return Ok(());
        }
        if let Some(waiting) = self.loading.remove(&program) {
            let failure = failure.map(|(component, reason)| {
                (
                    component.map(|index| index as usize),
                    reason.chars().take(1_000).collect(),
                )
            });
            if failure.is_some() {
                self.forget(program);
            }
            let _ = waiting.send(failure.map_or(Ok(()), Err));
        }
        Ok(())
    }

    /// Whether it has a program, which is then used once more.
    pub fn touch(&mut self, program: u32) -> bool {
        self.uses += 1;
        match self.programs.get_mut(&program) {
            Some((_, used)) => {
                *used = self.uses;
                true
            }
            None => false,
        }
    }

    /// Whether it has a program.
    pub fn has(&self, program: u32) -> bool {
        self.programs.contains_key(&program)
    }

    /// It has been given a program of so many bytes, just now.
    pub fn add(&mut self, program: u32, bytes: usize) {
        self.unheard = self.unheard.saturating_add(1);
        self.programs.insert(program, (bytes, self.uses));
        self.code_bytes = self.code_bytes.saturating_add(bytes);
    }

    /// Forgets a program for which there is no room, that which was not used for longest.
    pub fn forget_surplus(&mut self, code_bytes_max: usize) -> Option<u32> {
        let is_too_much = self.code_bytes > code_bytes_max || self.programs.len() > PROGRAMS_MAX;
        match is_too_much && self.programs.len() > 1 {
            true => self.forget_oldest(),
            false => None,
        }
    }

    fn forget_oldest(&mut self) -> Option<u32> {
        let oldest = self.programs.iter().min_by_key(|(_, (_, used))| *used);
        let program = *oldest?.0;
        self.forget(program);
        Some(program)
    }

    fn forget(&mut self, program: u32) {
        if let Some((bytes, _)) = self.programs.remove(&program) {
            self.code_bytes = self.code_bytes.saturating_sub(bytes);
        }
    }
}

/// It said what an honest executor does not.
pub fn malformed(error: &dyn ToString) -> WorkerError {
    WorkerError::Malformed(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use heddle_sandbox::clock::monotonic;

    #[test]
    fn a_run_that_nobody_cancelled_is_overdue_long_after_its_deadline() {
        let deadline = monotonic();
        let (overdue, cancelled) = (deadline + OVERDUE, deadline + OVERDUE / 2);
        let moment = Duration::from_millis(1);
        let (inbox, _frames) = mpsc::unbounded_channel();
        let mut given = Given::default();
        assert!(!given.keeps_overdue(overdue + moment));
        for (run, deadline) in [(1, None), (2, Some(deadline))] {
            let to = GivenTo::new(inbox.clone(), Arc::default(), None, deadline);
            given.runs.insert(run, to);
        }
        assert!(!given.keeps_overdue(overdue));
        assert!(given.keeps_overdue(overdue + moment));
        given.runs.get_mut(&2).unwrap().cancel(cancelled);
        assert!(!given.keeps_overdue(overdue + moment));
        assert!(!given.keeps_cancelled(cancelled + LAST_WORD_MAX));
        assert!(given.keeps_cancelled(cancelled + LAST_WORD_MAX + moment));
    }
}
