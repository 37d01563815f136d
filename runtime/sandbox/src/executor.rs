//! Schedules the polling of runs: at first in the caller's own task, a millisecond at a time, then on low-priority
//! threads after some milliseconds of computation, so that short runs never wait behind long ones.
//!
//! Knows nothing about what a run does.

use crate::clock::monotonic;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::runtime::{Builder, Handle, Runtime};

/// A run under way.
pub type Job<T> = Pin<Box<dyn Future<Output = T> + Send>>;

/// It panicked, by a bug in heddle; nothing else is affected.
pub struct Panicked;

/// Polls a job where the caller is until it has used `budget`.
pub struct Foreground<T> {
    job: Option<Job<T>>,
    budget: Duration,
}

/// How the foreground phase ended.
pub enum Phase<T> {
    /// With the job's result.
    Done(Result<T, Panicked>),
    /// The job has used its budget.
    Long(Job<T>),
}

impl<T> Foreground<T> {
    pub fn new(job: Job<T>, budget: Duration) -> Self {
        Foreground {
            job: Some(job),
            budget,
        }
    }
}

impl<T> Future for Foreground<T> {
    type Output = Phase<T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Phase<T>> {
        let Some(mut job) = self.job.take() else {
            return Poll::Ready(Phase::Done(Err(Panicked)));
        };
        let before = monotonic();
        match poll_caught(&mut job, cx) {
            Poll::Ready(result) => Poll::Ready(Phase::Done(result)),
            Poll::Pending => {
                self.budget = self.budget.saturating_sub(before.elapsed());
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
