//! A few open sessions for each connection. A session that was cut off in the middle of a statement is never used
//! again: whoever drops it tells the server to stop.

use super::super::EffectError;
use heddle_node_stdlib::abi::code;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Sessions of one connection at a time.
const SESSIONS_MAX: usize = 4;
/// Sessions that wait longer for a next statement are closed when the next one comes.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Connections with open sessions.
const POOLS_MAX: usize = 256;

/// How long a server may take to be told to stop.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// A session of a database.
pub(super) trait Session: Send + Sync + 'static {
    /// Tells the server, by another connection, to stop what it is doing here. `None`: it can't be told, and ends the
    /// statement by itself.
    fn cancel(&self) -> impl Future<Output = Option<()>> + Send;
}

/// Stops what a session is doing.
fn abandon(session: impl Session) {
    tokio::spawn(async move {
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, session.cancel()).await;
        drop(session);
    });
}

/// Pools by the connection's key.
pub(super) struct Pools<S>(Mutex<HashMap<String, Pool<S>>>);

impl<S> Default for Pools<S> {
    fn default() -> Self {
        Pools(Mutex::default())
    }
}

struct Pool<S> {
    places: Arc<Semaphore>,
    idle: Vec<(S, Instant)>,
}

impl<S: Session> Pools<S> {
    /// A session, an idle one if there is.
    pub async fn take<F>(
        this: &Arc<Self>,
        key: &str,
        open: impl FnOnce() -> F,
    ) -> Result<Taken<S>, EffectError>
    where
        F: Future<Output = Result<S, EffectError>>,
    {
        let places = this.places(key);
        let closed = |_| EffectError::new(code::INTERNAL, "The pool is closed.");
        let permit = places.acquire_owned().await.map_err(closed)?;
        let session = match this.idle(key) {
            Some(session) => session,
            None => open().await?,
        };
        Ok(Taken {
            pools: this.clone(),
            key: key.to_owned(),
            session: Some(session),
            _permit: permit,
        })
    }

    fn places(&self, key: &str) -> Arc<Semaphore> {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for pool in pools.values_mut() {
            pool.idle.retain(|(_, since)| since.elapsed() < IDLE_MAX);
        }
        if pools.len() >= POOLS_MAX {
            pools.retain(|_, pool| pool.places.available_permits() < SESSIONS_MAX);
        }
        let pool = pools.entry(key.to_owned()).or_insert_with(|| Pool {
            places: Arc::new(Semaphore::new(SESSIONS_MAX)),
            idle: Vec::new(),
        });
        pool.places.clone()
    }

    fn idle(&self, key: &str) -> Option<S> {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pools.get_mut(key)?.idle.pop().map(|(session, _)| session)
    }

    fn put(&self, key: &str, session: S) {
        let mut pools = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(pool) = pools.get_mut(key) {
            pool.idle.push((session, Instant::now()));
        }
    }
}

/// A session in use.
pub(super) struct Taken<S: Session> {
    pools: Arc<Pools<S>>,
    key: String,
    session: Option<S>,
    _permit: OwnedSemaphorePermit,
}

impl<S: Session> Taken<S> {
    pub fn get(&mut self) -> Result<&mut S, EffectError> {
        let gone = || EffectError::new(code::INTERNAL, "The session is gone.");
        self.session.as_mut().ok_or_else(gone)
    }

    /// The statement has ended. `keep`: the session is as it was before, and may serve another.
    pub fn done(mut self, keep: bool) {
        if let Some(session) = self.session.take()
            && keep
        {
            self.pools.put(&self.key, session);
        }
    }
}

impl<S: Session> Drop for Taken<S> {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            abandon(session);
        }
    }
}
