//! Mail that the service itself sends: links for accounts and invitations. Letters wait in memory and go out in the
//! background, so that no answer tells by its time whether there was one to send. What is lost with a crash is asked for again.

mod letters;

pub use letters::{invitation, no_password, reset, verification};

use heddle_model::error::{Code, ServiceError};
use heddle_runtime::{EffectCode, EffectError, Letter, Mailer};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

/// Letters that may wait.
const WAITING_MAX: usize = 1_000;
/// Letters that are being sent at a time.
const SENT_AT_ONCE: usize = 4;
/// Letters that may wait to be tried again, besides.
const RETRIED_MAX: usize = 256;
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
            tracing::error!("Too many emails are waiting to be sent: one was dropped");
            Code::Unavailable
                .with("Too many messages are waiting to be sent: try again in a minute.")
                .retry_after_s(60)
        })
    }
}

async fn send_all(mailer: Mailer, mut letters: mpsc::Receiver<Letter>) {
    let places = Arc::new(Semaphore::new(SENT_AT_ONCE));
    let retries = Arc::new(Semaphore::new(RETRIED_MAX));
    while let Some(letter) = letters.recv().await {
        // Never closed.
        let Ok(place) = places.clone().acquire_owned().await else {
            return;
        };
        let (mailer, places, retries) = (mailer.clone(), places.clone(), retries.clone());
        tokio::spawn(async move { send(&mailer, &letter, place, (&places, &retries)).await });
    }
}

/// Has a place only while it sends, so that what the server refuses holds up nobody else's letters.
async fn send(
    mailer: &Mailer,
    letter: &Letter,
    mut place: OwnedSemaphorePermit,
    (places, retries): (&Arc<Semaphore>, &Arc<Semaphore>),
) {
    let mut waits = WAITS.into_iter();
    let mut waiting = None;
    loop {
        let Err(error) = mailer.send(letter).await else {
            return;
        };
        drop(place);
        waiting = waiting.or_else(|| retries.try_acquire().ok());
        let wait = waits.next().filter(|_| waiting.is_some() && !is_final(&error));
        let Some(wait) = wait else {
            tracing::error!("An email could not be sent: {}", error.message);
            return;
        };
        tracing::warn!(
            "An email could not be sent and is tried again in {wait:?}: {}",
            error.message
        );
        tokio::time::sleep(wait).await;
        // Never closed.
        let Ok(next) = places.clone().acquire_owned().await else {
            return;
        };
        place = next;
    }
}

/// Whether the server would say the same again, by what its answers of 500 and more are called.
fn is_final(error: &EffectError) -> bool {
    error.code == EffectCode::Parameter || error.message.contains("permanent error (")
}
