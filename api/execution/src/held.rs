//! Shares what a task holds with work that it has begun elsewhere and that may outlast it. Knows nothing of what that is.

use std::fmt::Debug;
use std::sync::Arc;

/// Given back when it is dropped.
pub(crate) type Held = Arc<dyn Debug + Send + Sync>;

tokio::task_local! {
    static HELD: Held;
}

/// Does this while the task holds something.
pub(crate) async fn holding<T>(held: Held, work: impl Future<Output = T>) -> T {
    HELD.scope(held, work).await
}

/// What the task holds, for what may go on when the task is gone.
pub(crate) fn held() -> Option<Held> {
    HELD.try_with(Arc::clone).ok()
}
