//! Notifications between servers, sent in the transaction that changes something that other servers keep in memory.
//! They use PostgreSQL's LISTEN and NOTIFY; SQLite has a single server, which needs none.
//!
//! A notice names what has changed, but not its new value, which receivers read from the database. So notices may
//! arrive twice, late, or from the server itself.

use super::database::Backend;
use super::{Db, Store, StoreError, sql};
use heddle_model::ids::{DeploymentId, PatternId, RunId, WorkspaceId};
use serde::{Deserialize, Serialize};
use sqlx::postgres::PgListener;

/// Channel of all notices.
const CHANNEL: &str = "heddle";
/// Channel of what servers say to each other besides, see `service::peers`.
const TALK: &str = "heddle_talk";

/// Something has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Notice {
    /// A deployment's state, or it is gone.
    Deployment(DeploymentId),
    /// What is deployed of a pattern.
    Deployed(PatternId),
    /// A pattern's endpoints.
    Endpoints(PatternId),
    /// Secrets or variables of an environment.
    Environments,
    /// A run was ended by a server that does not execute it.
    Cancelled(RunId),
    /// A run has ended, or answered its sender, that was not always at the server that executed it last.
    Ended(RunId),
    /// Runs were accepted for other servers to execute.
    Accepted,
    /// Something has come for a parked run.
    Woken,
    /// Quotas of a workspace, or whether it is suspended.
    Workspace(WorkspaceId),
    /// A server has given back its runs.
    Left,
    /// So much that all is to be looked at.
    Everything,
}

/// Notifies all servers when the transaction commits.
pub async fn tell(db: &mut Db<'_>, notice: Notice) -> Result<(), StoreError> {
    if !db.is_postgres() {
        return Ok(());
    }
    let payload = serde_json::to_string(&notice)?;
    db.execute(sql("select pg_notify(?, ?)").bind(CHANNEL).bind(payload))
        .await
        .map(drop)
}

/// What a server hears.
#[derive(Debug)]
pub enum Heard {
    Notice(Notice),
    /// What another server says, or this one itself.
    Talk(String),
}

/// Hears notices and talk.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Store {
    /// Begins to listen; `None` on SQLite.
    pub async fn listen(&self) -> Result<Option<Listener>, StoreError> {
        let Backend::Postgres { apart, .. } = &self.inner.backend else {
            return Ok(None);
        };
        let mut listener = PgListener::connect_with(apart).await?;
        listener.listen_all([CHANNEL, TALK]).await?;
        Ok(Some(Listener(listener)))
    }

    /// Says something of at most 7,999 bytes to all servers; nothing on SQLite.
    pub async fn talk(&self, text: String) -> Result<(), StoreError> {
        let Backend::Postgres { pool, .. } = &self.inner.backend else {
            return Ok(());
        };
        let query = sql("select pg_notify(?, ?)").bind(TALK).bind(text);
        let mut connection = Box::pin(pool.acquire()).await?;
        Db::Postgres(&mut connection).execute(query).await.map(drop)
    }
}

impl Listener {
    /// The next notice. After an error the listener must be recreated, and notices may have been missed.
    pub async fn next(&mut self) -> Result<Heard, StoreError> {
        let Some(heard) = self.0.try_recv().await? else {
            return Ok(Heard::Notice(Notice::Everything));
        };
        if heard.channel() == TALK {
            return Ok(Heard::Talk(heard.payload().to_owned()));
        }
        // A newer server may tell what this one does not know.
        let notice = serde_json::from_str(heard.payload()).unwrap_or(Notice::Everything);
        Ok(Heard::Notice(notice))
    }
}
