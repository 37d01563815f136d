//! Schedules the polling of runs: at first in the caller's own task, a millisecond at a time, then on low-priority
//! threads after some milliseconds of computation, so that short runs never wait behind long ones. One that was
//! interrupted in the midst of computing stays with the caller only while no other run of the same owner does, so that
//! nobody's many runs of some milliseconds each hold up others' short ones.
//!
//! Knows nothing about what a run does.

use crate::clock::monotonic;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// A run under way.
pub type Job<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// It panicked, by a bug in heddle; nothing else is affected.
pub struct Panicked;

thread_local! {
    /// Whether what was polled last on this thread has more to compute: it does not wait for anything.
    static IS_INTERRUPTED: Cell<bool> = const { Cell::new(false) };
}

/// Tells whoever polls that the job is interrupted in the midst of computing.
pub fn note_interruption() {
    IS_INTERRUPTED.set(true);
}

/// Who computes where the caller is after an interruption: one run of each owner at a time. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<BTreeSet<u128>>>);

/// An owner's turn, given back when dropped.
struct Turn {
    turns: Turns,
    owner: u128,
}

impl Turns {
    /// `None`: another of the owner's runs has it.
    fn take(&self, owner: u128) -> Option<Turn> {
        let is_free = self.owners().insert(owner);
        is_free.then(|| Turn {
            turns: self.clone(),
            owner,
        })
    }

    fn owners(&self) -> MutexGuard<'_, BTreeSet<u128>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.owners().remove(&self.owner);
    }
}

/// Polls a job where the caller is until it has used `budget`, or others of its owner go on there.
pub struct Foreground<T> {
    job: Option<Job<T>>,
    budget: Duration,
    is_interrupted: bool,
    /// Whose turns it takes; `None`: nobody's.
    owner: Option<(Turns, u128)>,
    turn: Option<Turn>,
}

/// How the foreground phase ended.
pub enum Phase<T> {
    /// With the job's result.
    Done(Result<T, Panicked>),
    /// The job has to go on elsewhere.
    Long(Job<T>),
}

impl<T> Foreground<T> {
    pub fn new(job: Job<T>, budget: Duration) -> Self {
        Foreground {
            job: Some(job),
            budget,
            is_interrupted: false,
            owner: None,
            turn: None,
        }
    }

    /// The same for a run of this owner.
    pub fn of(mut self, turns: &Turns, owner: Option<u128>) -> Self {
        self.owner = owner.map(|owner| (turns.clone(), owner));
        self
    }

    /// Whether the job may compute here now.
    fn has_turn(&mut self) -> bool {
        let Some((turns, owner)) = &self.owner else {
            return true;
        };
        if self.is_interrupted && self.turn.is_none() {
            self.turn = turns.take(*owner);
            return self.turn.is_some();
        }
        true
    }
}

impl<T> Future for Foreground<T> {
    type Output = Phase<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Phase<T>> {
        let Some(mut job) = self.job.take() else {
            return Poll::Ready(Phase::Done(Err(Panicked)));
        };
        if !self.has_turn() {
            return Poll::Ready(Phase::Long(job));
        }
        IS_INTERRUPTED.set(false);
        let before = monotonic();
        match poll_caught(&mut job, cx) {
            Poll::Ready(result) => Poll::Ready(Phase::Done(result)),
            Poll::Pending => {
                self.is_interrupted = IS_INTERRUPTED.take();
                self.budget = self.budget.saturating_sub(before.elapsed());
                if !self.is_interrupted || self.budget.is_zero() {
                    self.turn = None;
                }
                if self.budget.is_zero() {
                    return Poll::Ready(Phase::Long(job));
                }
                self.job = Some(job);
                Poll::Pending
            }
        }
    }
}

fn poll_caught<T>(job: &mut Job<T>, cx: &mut Context<'_>) -> Poll<Result<T, Panicked>> {
    match catch_unwind(AssertUnwindSafe(|| job.as_mut().poll(cx))) {
        Ok(poll) => poll.map(Ok),
        Err(_) => Poll::Ready(Err(Panicked)),
    }
}

/// Threads with the lowest priority.
pub fn background(threads: usize) -> std::io::Result<Runtime> {
    named("heddle-background", threads)
        .on_thread_start(lower_priority)
        .enable_time()
        .build()
}

/// Threads on which components begin.
pub fn components(threads: usize) -> std::io::Result<Runtime> {
    named("heddle-components", threads).enable_time().build()
}

/// Threads for effects.
pub fn io(threads: usize) -> std::io::Result<Runtime> {
    named("heddle-io", threads).enable_all().build()
}

fn named(name: &str, threads: usize) -> Builder {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(threads.max(1)).thread_name(name);
    builder
}

/// Executes a job on other threads, or goes on with it there. Dropping the future ends the job at its next yield.
pub async fn continue_on<T: Send + 'static>(background: &Handle, mut job: Job<T>) -> Result<T, Panicked> {
    let task = background.spawn(std::future::poll_fn(move |cx| poll_caught(&mut job, cx)));
    let mut task = AbortOnDrop(task);
    (&mut task.0).await.unwrap_or(Err(Panicked))
}

struct AbortOnDrop<T>(tokio::task::JoinHandle<T>);

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(target_os = "linux")]
fn lower_priority() {
    const LOWEST: i32 = 19;
    #[expect(unsafe_code, reason = "the standard library has no thread priorities")]
    // SAFETY: setpriority takes three integers and touches no memory; on Linux, who = 0 is the calling thread.
    let result = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST) };
    if result != 0 {
        tracing::warn!("The background threads keep their priority: setpriority failed");
    }
}

#[cfg(not(target_os = "linux"))]
fn lower_priority() {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::Waker;

    const BUDGET: Duration = Duration::from_secs(60);

    /// Is interrupted at each of the first polls, and waits from then on.
    fn computing(interruptions: usize) -> Job<()> {
        let mut polls = 0;
        Box::pin(std::future::poll_fn(move |_| {
            polls += 1;
            if polls <= interruptions {
                note_interruption();
            }
            Poll::Pending
        }))
    }

    fn poll(run: &mut Foreground<()>) -> Poll<Phase<()>> {
        Pin::new(run).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn after_an_interruption_one_run_of_each_owner_goes_on_in_the_foreground() {
        let turns = Turns::default();
        let run = |owner| Foreground::new(computing(9), BUDGET).of(&turns, owner);
        let (mut first, mut second) = (run(Some(1)), run(Some(1)));
        let (mut of_another, mut of_nobody) = (run(Some(2)), run(None));
        for run in [&mut first, &mut second, &mut of_another, &mut of_nobody] {
            assert!(poll(run).is_pending(), "everybody begins");
        }
        assert!(poll(&mut first).is_pending());
        assert!(matches!(poll(&mut second), Poll::Ready(Phase::Long(_))));
        assert!(poll(&mut of_another).is_pending());
        assert!(poll(&mut of_nobody).is_pending());
        drop(first);
        let mut third = run(Some(1));
        assert!(poll(&mut third).is_pending());
        assert!(poll(&mut third).is_pending());
        drop((third, of_another));
        assert!(turns.owners().is_empty());
    }

    #[test]
    fn a_run_that_waits_leaves_the_foreground_to_others_of_its_owner() {
        let turns = Turns::default();
        let mut waiting = Foreground::new(computing(1), BUDGET).of(&turns, Some(1));
        let mut other = Foreground::new(computing(9), BUDGET).of(&turns, Some(1));
        assert!(poll(&mut waiting).is_pending());
        assert!(poll(&mut other).is_pending());
        // It takes the turn and gives it back.
        assert!(poll(&mut waiting).is_pending());
        assert!(poll(&mut other).is_pending());
        assert!(poll(&mut waiting).is_pending());
    }
}
