//! Schedules the polling of runs: at first in the caller's own task, a millisecond at a time, then on low-priority
//! threads after some milliseconds of computation, so that short runs never wait behind long ones. One that was
//! interrupted in the midst of computing stays with the caller only while no other run of the same owner does, so that
//! nobody's many runs of some milliseconds each hold up others' short ones. And while an owner has runs on those threads, further
//! ones of a program that computes for long begin there, so that many that begin at the same time hold up nobody either.
//!
//! Knows nothing about what a run does.

use crate::clock::{monotonic, since};
use std::cell::Cell;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
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

/// Where owners' runs compute. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Turns(Arc<Mutex<Owners>>);

#[derive(Debug, Default)]
struct Owners {
    /// Of whom a run computes where its caller is after an interruption: one of each at a time.
    with_a_turn: BTreeSet<u128>,
    /// How many of their runs go on elsewhere.
    elsewhere: BTreeMap<u128, usize>,
}

/// An owner's turn, given back when dropped.
struct Turn {
    turns: Turns,
    owner: u128,
}

impl Turns {
    /// `None`: another of the owner's runs has it.
    fn take(&self, owner: u128) -> Option<Turn> {
        let is_free = self.owners().with_a_turn.insert(owner);
        is_free.then(|| Turn {
            turns: self.clone(),
            owner,
        })
    }

    /// Counts a run that goes on elsewhere, for as long as what is given is there.
    fn elsewhere(&self, owner: Option<u128>) -> Option<Elsewhere> {
        let owner = owner?;
        *self.owners().elsewhere.entry(owner).or_default() += 1;
        Some(Elsewhere {
            turns: self.clone(),
            owner,
        })
    }

    fn has_elsewhere(&self, owner: u128) -> bool {
        self.owners().elsewhere.contains_key(&owner)
    }

    fn owners(&self) -> MutexGuard<'_, Owners> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.turns.owners().with_a_turn.remove(&self.owner);
    }
}

/// A run that goes on elsewhere.
struct Elsewhere {
    turns: Turns,
    owner: u128,
}

impl Drop for Elsewhere {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.turns.owners().elsewhere.entry(self.owner) {
            if *count.get() > 1 {
                *count.get_mut() -= 1;
            } else {
                count.remove();
            }
        }
    }
}

/// Whether runs of a program compute for long, as the last one did.
#[derive(Debug, Default)]
pub struct Habit(AtomicBool);

impl Habit {
    fn is_long(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes one that was interrupted so often: once says nothing, since interruptions come at fixed times.
    fn note(&self, interruptions: usize) {
        let is_long = interruptions > 1;
        // Most say the same, and all processors have it then.
        if self.is_long() != is_long {
            self.0.store(is_long, Ordering::Relaxed);
        }
    }

    fn note_long(&self) {
        self.note(usize::MAX);
    }
}

/// Polls a job where the caller is until it has used `budget`, or others of its owner go on there.
pub struct Foreground<T> {
    job: Option<Job<T>>,
    budget: Duration,
    is_interrupted: bool,
    interruptions: usize,
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
            interruptions: 0,
            owner: None,
            turn: None,
        }
    }

    /// Says whose run the job is, which takes turns with others of the same owner.
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
                self.interruptions += usize::from(self.is_interrupted);
                self.budget = self.budget.saturating_sub(since(before));
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

/// Executes a job of an owner: where the caller is until it has used `budget`, and then on other threads, or there from the
/// beginning. Dropping the future ends the job at its next yield.
pub async fn perform<T: Send + 'static>(
    job: Job<T>,
    (budget, background): (Duration, &Handle),
    (turns, owner): (&Turns, Option<u128>),
    habit: &Habit,
) -> Result<T, Panicked> {
    let begins_elsewhere = habit.is_long() && owner.is_some_and(|owner| turns.has_elsewhere(owner));
    let job = if begins_elsewhere {
        job
    } else {
        let mut foreground = Foreground::new(job, budget).of(turns, owner);
        let phase = (&mut foreground).await;
        match phase {
            Phase::Done(result) => {
                habit.note(foreground.interruptions);
                return result;
            }
            Phase::Long(job) => {
                habit.note_long();
                job
            }
        }
    };
    let _elsewhere = turns.elsewhere(owner);
    let (result, interruptions) = counted_on(background, job).await;
    if begins_elsewhere {
        habit.note(interruptions);
    }
    result
}

/// Executes a job on other threads, or goes on with it there. Dropping the future ends the job at its next yield.
pub async fn continue_on<T: Send + 'static>(background: &Handle, job: Job<T>) -> Result<T, Panicked> {
    counted_on(background, job).await.0
}

/// Executes a job on other threads as [`continue_on`] does, and counts how often it was interrupted there.
async fn counted_on<T: Send + 'static>(background: &Handle, mut job: Job<T>) -> (Result<T, Panicked>, usize) {
    let mut interruptions = 0;
    let task = background.spawn(std::future::poll_fn(move |cx| {
        IS_INTERRUPTED.set(false);
        let polled = poll_caught(&mut job, cx);
        interruptions += usize::from(IS_INTERRUPTED.take());
        polled.map(|result| (result, interruptions))
    }));
    let mut task = AbortOnDrop(task);
    (&mut task.0).await.unwrap_or((Err(Panicked), 0))
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
    use std::thread::ThreadId;

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
        assert!(turns.owners().with_a_turn.is_empty());
    }

    /// On which thread a run begins that computes nothing.
    async fn beginning(background: &Handle, by: (&Turns, u128), habit: &Habit) -> ThreadId {
        let job: Job<ThreadId> = Box::pin(async { std::thread::current().id() });
        let began = perform(job, (BUDGET, background), (by.0, Some(by.1)), habit).await;
        began.ok().unwrap()
    }

    #[test]
    fn what_computes_for_long_begins_elsewhere_while_others_of_its_owner_are_there() {
        let threads = background(1).unwrap();
        let (turns, long, other) = (Turns::default(), Habit::default(), Habit::default());
        let here = Builder::new_current_thread().build().unwrap();
        let own = std::thread::current().id();
        here.block_on(async {
            let threads = threads.handle();
            // Goes on elsewhere after its first poll, and never ends.
            let endless = || {
                let job: Job<()> = Box::pin(std::future::pending());
                let by = (&turns, Some(1));
                let mut run = Box::pin(perform(job, (Duration::ZERO, threads), by, &long));
                let polled = run.as_mut().poll(&mut Context::from_waker(Waker::noop()));
                assert!(polled.is_pending());
                run
            };
            assert_eq!(beginning(threads, (&turns, 1), &long).await, own);
            let first = endless();
            assert_eq!(beginning(threads, (&turns, 1), &other).await, own);
            assert_ne!(beginning(threads, (&turns, 1), &long).await, own);
            // It has computed nothing this time.
            assert_eq!(beginning(threads, (&turns, 1), &long).await, own);
            let second = endless();
            assert_eq!(beginning(threads, (&turns, 2), &long).await, own);
            let third = endless();
            drop((first, second, third));
            assert!(turns.owners().elsewhere.is_empty());
            assert_eq!(beginning(threads, (&turns, 1), &long).await, own);
        });
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
