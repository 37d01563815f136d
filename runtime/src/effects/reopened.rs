//! Connections that effects of former executions have used. Their results are in the journal without what is secret of these, so an
//! effect that is not done again would leave that unknown: the connections are opened once more, and what is secret of them is masked
//! in whatever comes now.

use crate::connections::Granted;
use crate::egress::names_for;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use serde::Deserialize;
use std::collections::HashSet;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Those of one run.
#[derive(Default)]
pub(super) struct Reopened {
    names: HashSet<String>,
    /// Ends when all of them are open.
    last: Option<Shared<BoxFuture<'static, ()>>>,
}

/// A request, as far as it says which connection it needs.
#[derive(Deserialize)]
struct Named {
    connection: Option<String>,
}

impl Reopened {
    /// Begins to open the connection of a request that is not sent again; one after the other, so that a run asks for no more at a
    /// time than it would by an effect.
    pub fn note(&mut self, io: &Handle, request: &str, connections: &Arc<Granted>) {
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
