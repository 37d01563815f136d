//! A task on the side: it stores what is large, while whoever began it goes on with what is small.

use tokio::sync::mpsc;
use tokio::task::JoinHandle;

/// The task, if one is under way; there is at most one at a time.
#[derive(Default)]
pub(crate) struct SideTask(Option<JoinHandle<()>>);

impl SideTask {
    pub fn begin(&mut self, work: impl Future<Output = ()> + Send + 'static) {
        self.0 = Some(tokio::spawn(work));
    }

    pub const fn is_under_way(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the task has ended; of each it says so once.
    pub fn has_ended(&mut self) -> bool {
        let has_ended = self.0.as_ref().is_some_and(JoinHandle::is_finished);
        if has_ended {
            self.0 = None;
        }
        has_ended
    }

    /// Waits until the task has ended, of which `has_ended` tells then; for ever if there is none.
    pub async fn ended(&mut self) {
        match &mut self.0 {
            // A panic of it was logged.
            Some(task) => drop(task.await),
            None => std::future::pending().await,
        }
    }

    /// Waits until there is more to store, or the task has ended. `false`: whoever hands over has gone, and no task is under way.
    pub async fn more<T>(
        &mut self,
        waiting: &mut mpsc::UnboundedReceiver<T>,
        group: &mut Vec<T>,
        most: usize,
    ) -> bool {
        tokio::select! {
            count = waiting.recv_many(group, most) => if count == 0 {
                if !self.is_under_way() {
                    return false;
                }
                self.ended().await;
            },
            () = self.ended() => {}
        }
        true
    }
}
