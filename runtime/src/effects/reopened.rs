//! Connections that effects of former executions have used. Their results are in the journal without what is secret of these, so an
//! effect that is not done again would leave that unknown: the connections are opened once more, and what is secret of them is masked
//! in whatever comes now. So nothing new begins before all that is known was told to the run once more: an effect on another branch
//! could bring back what only a later one of the known effects hides.

use super::effect::Reveals;
use super::prepared::Prepared;
use crate::connections::Granted;
use crate::egress::names_for;
use crate::journal::Record;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::runtime::Handle;
use tokio::sync::watch;

/// Those of one run.
#[derive(Default)]
pub(super) struct Reopened {
    names: HashSet<String>,
    /// Ends when all of them are open.
    last: Option<Shared<BoxFuture<'static, ()>>>,
    /// Says when all that is known was told; `None`: there was nothing, or it was.
    catching_up: Option<watch::Sender<bool>>,
}

/// A request, as far as it says which connection it needs.
#[derive(Deserialize)]
struct Named {
    connection: Option<String>,
}

impl Reopened {
    pub fn of(record: Option<&Record>) -> Self {
        let has_known = record.is_some_and(Record::has_known);
        Reopened {
            catching_up: has_known.then(|| watch::channel(false).0),
            ..Reopened::default()
        }
    }

    /// Has what is secret of an effect's request masked, if the effect is not done again, or is held back: in the former execution
    /// that had begun, and hid its secrets in what other branches read of files, which is read again before it begins once more.
    pub fn hide(&mut self, io: &Handle, prepared: &Prepared, is_known: bool) {
        let Prepared::Work {
            effect,
            request,
            handles,
        } = prepared
        else {
            return;
        };
        let is_held_back = !is_known && self.catching_up.is_some();
        if (is_known || is_held_back) && effect.reveals() == Reveals::ToHost {
            self.note(io, request, &handles.connections);
        }
        if is_held_back && effect.may_reveal() {
            handles.vault.note_revealed(request);
        }
    }

    /// Begins to open the connection of a request that is not sent again, or not yet; one after the other, so that a run asks for no
    /// more at a time than it would by an effect.
    fn note(&mut self, io: &Handle, request: &str, connections: &Arc<Granted>) {
        if connections.is_empty() {
            return;
        }
        let named = serde_json::from_str::<Named>(request).ok();
        let Some(name) = named.and_then(|named| named.connection) else {
            return;
        };
        if !self.names.insert(name.clone()) {
            return;
        }
        let (before, connections) = (self.last.take(), connections.clone());
        let opening = async move {
            if let Some(before) = before {
                before.await;
            }
            // What is gone has nothing that could come back, and what can't be read now is an error of whoever needs it.
            let _ = names_for(connections.owner(), connections.open(&name)).await;
        };
        self.last = Some(io.spawn(opening).map(drop).boxed().shared());
    }

    /// The run waits, and nothing is known that it was not told.
    pub async fn caught_up(&mut self) {
        if self.catching_up.is_none() {
            return;
        }
        self.all().await;
        if let Some(catching_up) = self.catching_up.take() {
            catching_up.send_replace(true);
        }
    }

    /// To be waited for before anything new begins.
    pub fn before_new(&self) -> impl Future<Output = ()> + Send + use<> {
        let catching_up = self.catching_up.as_ref().map(watch::Sender::subscribe);
        let all = self.all();
        async move {
            if let Some(mut catching_up) = catching_up {
                // Nobody says so any more when the run is gone, and this with it.
                let _ = catching_up.wait_for(|is_told| *is_told).await;
            }
            all.await;
        }
    }

    /// To be waited for before anything is masked.
    pub fn all(&self) -> impl Future<Output = ()> + Send + use<> {
        let last = self.last.clone();
        async move {
            if let Some(last) = last {
                last.await;
            }
        }
    }
}
