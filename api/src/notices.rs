//! What other servers have changed: what this one keeps in memory is brought in line with it.

use crate::app::App;
use crate::store::StoreError;
use crate::store::notices::{Heard, Listener, Notice};
use std::time::Duration;

/// Wait before trying a database again that does not answer.
const RETRY: Duration = Duration::from_millis(200);

/// Listens from now on, in the background, if other servers can use the database at all.
pub async fn start(app: &App) -> Result<(), StoreError> {
    if let Some(listener) = app.store.listen().await? {
        tokio::spawn(listen(app.clone(), listener));
    }
    Ok(())
}

async fn listen(app: App, mut listener: Listener) {
    loop {
        match listener.next().await {
            Ok(Heard::Notice(notice)) => heed(&app, notice).await,
            Ok(Heard::Talk(text)) => app.peers.hear(&app, &text),
            Err(StoreError::Closed) => return,
            Err(error) => {
                tracing::warn!("Changes by other servers are not heard of for now: {error}");
                drop(listener);
                listener = again(&app).await;
                heed(&app, Notice::Everything).await;
            }
        }
    }
}

async fn again(app: &App) -> Listener {
    loop {
        match app.store.listen().await {
            Ok(Some(listener)) => return listener,
            Ok(None) => std::future::pending().await,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Until it is done: a change that is not heeded would be forgotten.
async fn heed(app: &App, notice: Notice) {
    match notice {
        Notice::Endpoints(pattern) => return app.webhooks.changed(pattern),
        Notice::Everything => app.webhooks.all_changed(),
        _ => {}
    }
    while let Err(error) = app.executions.heed(notice).await {
        tracing::warn!(
            "A change by another server can't be followed yet: {}",
            error.message()
        );
        tokio::time::sleep(RETRY).await;
    }
}
