//! The thread that starts all workers. A worker dies with the thread that started it (that is how Linux tells it of
//! its parent's death), so this one lives as long as the process; and what starting blocks, it blocks here.

use std::io;
use std::sync::OnceLock;
use std::sync::mpsc::{Sender, channel};
use tokio::sync::oneshot;

type Job = Box<dyn FnOnce() + Send>;

static STARTER: OnceLock<Sender<Job>> = OnceLock::new();

fn starter() -> io::Result<&'static Sender<Job>> {
    if let Some(starter) = STARTER.get() {
        return Ok(starter);
    }
    let (sender, jobs) = channel::<Job>();
    std::thread::Builder::new()
        .name("heddle-starter".into())
        .spawn(move || jobs.into_iter().for_each(|job| job()))?;
    // Another thread may have been faster; the thread made here ends then, having started nothing.
    Ok(STARTER.get_or_init(|| sender))
}

/// Does `work` on that thread, within the caller's async runtime.
pub(crate) async fn start<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let gone = || io::Error::other("the thread that starts workers has ended");
    let runtime = tokio::runtime::Handle::current();
    let (sender, started) = oneshot::channel();
    let job = move || {
        let _context = runtime.enter();
        // Nobody waits any more if this fails; what was started ends as it is dropped.
        let _ = sender.send(work());
    };
    starter()?.send(Box::new(job)).map_err(|_| gone())?;
    started.await.map_err(|_| gone())?
}
