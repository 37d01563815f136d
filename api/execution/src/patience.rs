//! Waits that may not last long, by one timer for all: a timer of its own for each would be set for every run that an executor
//! process has, and each that ends before the others has the thread woken that waits for sockets.

use futures_util::FutureExt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// Between two looks at those who wait.
const TURN: Duration = Duration::from_millis(10);

/// Waits of between ten and twenty milliseconds. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Patience(Arc<Shared>);

struct Shared {
    turns: watch::Sender<u64>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Somebody has begun to wait since the last turn.
    is_wanted: bool,
    is_turning: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Patience {
    pub fn new() -> Self {
        Patience(Arc::new(Shared {
            turns: watch::Sender::new(0),
            state: Mutex::default(),
        }))
    }

    /// What the future gives; `None`: it takes too long, and can be waited for again.
    pub async fn wait<F: Future + Unpin>(&self, mut future: F) -> Option<F::Output> {
        if let Some(output) = (&mut future).now_or_never() {
            return Some(output);
        }
        let mut turns = self.begin();
        let two_turns = async {
            // The first may come at once. Never closed: this has the sender.
            for _ in 0..2 {
                let _ = turns.changed().await;
            }
        };
        tokio::select! {
            biased;
            output = future => Some(output),
            () = two_turns => None,
        }
    }

    fn begin(&self) -> watch::Receiver<u64> {
        let mut state = self.0.state();
        state.is_wanted = true;
        if !std::mem::replace(&mut state.is_turning, true) {
            tokio::spawn(turn(self.0.clone()));
        }
        // Under the lock, so that who ends the turns has seen it.
        self.0.turns.subscribe()
    }
}

/// Turns as long as anybody waits.
async fn turn(shared: Arc<Shared>) {
    loop {
        tokio::time::sleep(TURN).await;
        shared.turns.send_modify(|turn| *turn = turn.wrapping_add(1));
        let mut state = shared.state();
        if !std::mem::take(&mut state.is_wanted) && shared.turns.receiver_count() == 0 {
            state.is_turning = false;
            return;
        }
    }
}
