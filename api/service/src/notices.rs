//! Applies other servers' changes to this server's in-memory state.

use crate::Service;
use crate::peers::Peers;
use heddle_model::error::chain;
use heddle_store::StoreError;
use heddle_store::notices::{Heard, Listener, Notice};
use heddle_store::panics::unless_it_panics;
use std::time::Duration;

/// Wait before trying a database again that does not answer.
const RETRY: Duration = Duration::from_millis(200);

/// Listens from now on, in the background, if other servers can use the database at all. What was changed before is
/// known afterwards, such as which deployments are paused.
pub async fn start(service: &Service, peers: &Peers) -> Result<(), StoreError> {
    let listener = service.store.listen().await?;
    follow(service, Notice::Everything).await;
    if let Some(listener) = listener {
        tokio::spawn(listen(service.clone(), peers.clone(), Some(listener)));
    }
    Ok(())
}

/// Brings this server's memory in line with a change of its own that may be about anything: on SQLite no notice comes. To be done to
/// the end.
pub async fn everything_changed(service: &Service) {
    follow(service, Notice::Everything).await;
}

async fn listen(service: Service, peers: Peers, mut listener: Option<Listener>) {
    loop {
        match unless_it_panics(hear(&service, &peers, &mut listener)).await {
            Some(true) => {}
            Some(false) => return,
            // A panic, which was told. What it was about is known afterwards, unless that panics as well.
            None => {
                tokio::time::sleep(RETRY).await;
                unless_it_panics(follow(&service, Notice::Everything)).await;
            }
        }
    }
}

/// Takes in the next of what others say; without a listener, makes one first. `false`: the database is closed.
async fn hear(service: &Service, peers: &Peers, listener: &mut Option<Listener>) -> bool {
    let Some(listening) = listener.as_mut() else {
        *listener = Some(again(service).await);
        follow(service, Notice::Everything).await;
        return true;
    };
    let heard = listening.next().await;
    match heard {
        Ok(Heard::Notice(notice)) => follow(service, notice).await,
        Ok(Heard::Talk(text)) => peers.receive(&text),
        Err(StoreError::Closed) => return false,
        Err(error) => {
            tracing::warn!(
                "Can't receive changes from other servers for now: {}",
                chain(&error)
            );
            *listener = None;
        }
    }
    true
}

async fn again(service: &Service) -> Listener {
    loop {
        match service.store.listen().await {
            Ok(Some(listener)) => return listener,
            Ok(None) => std::future::pending().await,
            Err(_) => tokio::time::sleep(RETRY).await,
        }
    }
}

/// Until it is done: a change that is not followed would be forgotten.
async fn follow(service: &Service, notice: Notice) {
    match notice {
        Notice::Endpoints(pattern) => return service.webhooks.changed(pattern),
        Notice::Everything | Notice::Workspace(_) => service.webhooks.all_changed(),
        _ => {}
    }
    while let Err(error) = service.executions.follow(notice).await {
        tracing::warn!("Can't apply a change yet: {}", chain(&error));
        tokio::time::sleep(RETRY).await;
    }
}
