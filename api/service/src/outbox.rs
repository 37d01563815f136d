//! Mail that the service itself sends: links for accounts and invitations. Letters wait in memory and go out in the
//! background, so that no answer tells by its time whether there was one to send. What is lost with a crash is asked for again.

mod letters;

pub use letters::{invitation, no_password, reset, verification};

use heddle_model::error::{Code, ServiceError};
use heddle_runtime::{Letter, Mailer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, mpsc};

/// Letters that may wait.
const WAITING_MAX: usize = 1_000;
/// Letters that are being sent at a time.
const SENT_AT_ONCE: usize = 4;
/// Waits before a letter is tried again that the server did not accept.
const WAITS: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(60)];

/// Where letters are left. Cheap to clone.
#[derive(Clone)]
pub struct Outbox(mpsc::Sender<Letter>);

impl Outbox {
    /// Begins to send what is left here.
    pub fn start(mailer: Mailer) -> Self {
        let (outbox, letters) = mpsc::channel(WAITING_MAX);
        tokio::spawn(send_all(mailer, letters));
        Outbox(outbox)
    }

    /// Leaves a letter to be sent.
    pub fn leave(&self, letter: Letter) -> Result<(), ServiceError> {
        self.0.try_send(letter).map_err(|_| {
            tracing::error!("Too many letters wait to be sent: one was dropped");
            Code::Unavailable
                .with("Too many letters wait to be sent: try again in a minute.")
                .retry_after_s(60)
        })
    }
}

async fn send_all(mailer: Mailer, mut letters: mpsc::Receiver<Letter>) {
    let places = Arc::new(Semaphore::new(SENT_AT_ONCE));
    while let Some(letter) = letters.recv().await {
        // Never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let mailer = mailer.clone();
        tokio::spawn(async move {
            send(&mailer, &letter).await;
            drop(place);
        });
    }
}

async fn send(mailer: &Mailer, letter: &Letter) {
    let mut waits = WAITS.into_iter();
    loop {
        let Err(error) = mailer.send(letter).await else {
            return;
        };
        let Some(wait) = waits.next() else {
            tracing::error!("A letter could not be sent: {}", error.message);
            return;
        };
        tracing::warn!(
            "A letter could not be sent and is tried again in {wait:?}: {}",
            error.message
        );
        tokio::time::sleep(wait).await;
    }
}
