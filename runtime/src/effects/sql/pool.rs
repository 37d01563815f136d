//! A few open sessions for each connection. A session that was interrupted during a statement is never reused: when it
//! is dropped, the server is told to cancel the statement.

use crate::egress::names_as_here;
use heddle_sandbox::clock::{monotonic, since};
use heddle_sandbox::{EffectCode, EffectError};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Sessions of one connection at a time.
const SESSIONS_MAX: usize = 4;
/// Sessions that wait longer for a next statement are closed.
const IDLE_MAX: Duration = Duration::from_secs(60);
/// Connections with open sessions.
const POOLS_MAX: usize = 256;

/// How long a server may take to be told to stop.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// How often those that wait are looked at.
const SWEEP_EVERY: Duration = Duration::from_secs(15);

/// A session of a database.
pub(super) trait Session: Send + Sync + 'static {
    /// Tells the server, by another connection, to stop what it is doing here. `None`: it can't be told, and ends the
    /// statement by itself.
    fn cancel(&mut self) -> impl Future<Output = Option<()>> + Send;
}

/// Stops what a session is doing.
fn abandon(mut session: impl Session) {
    tokio::spawn(names_as_here(async move {
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, session.cancel()).await;
        drop(session);
    }));
}

/// Pools by the connection's key.
pub(super) struct Pools<S> {
    pools: Mutex<HashMap<String, Pool<S>>>,
    /// Whether somebody looks at those that wait.
    is_swept: AtomicBool,
}

impl<S> Default for Pools<S> {
    fn default() -> Self {
        Pools {
            pools: Mutex::default(),
            is_swept: AtomicBool::new(false),
        }
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
        let closed = |_| EffectError::new(EffectCode::Internal, "The pool is closed.");
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

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Pool<S>>> {
        self.pools.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn places(&self, key: &str) -> Arc<Semaphore> {
        let mut pools = self.lock();
        if pools.len() >= POOLS_MAX && !pools.contains_key(key) {
            pools.retain(|_, pool| pool.places.available_permits() < SESSIONS_MAX);
        }
        let pool = pools.entry(key.to_owned()).or_insert_with(|| Pool {
            places: Arc::new(Semaphore::new(SESSIONS_MAX)),
            idle: Vec::new(),
        });
        pool.places.clone()
    }

    fn idle(&self, key: &str) -> Option<S> {
        let mut pools = self.lock();
        pools.get_mut(key)?.idle.pop().map(|(session, _)| session)
    }

    fn put(this: &Arc<Self>, key: &str, session: S) {
        if let Some(pool) = this.lock().get_mut(key) {
            pool.idle.push((session, monotonic()));
        }
        if !this.is_swept.swap(true, Ordering::AcqRel) {
            let pools = Arc::downgrade(this);
            tokio::spawn(async move {
                loop {
                    tokio::time::sleep(SWEEP_EVERY).await;
                    match pools.upgrade() {
                        Some(pools) if pools.sweep() => {}
                        _ => return,
                    }
                }
            });
        }
    }

    /// Closes what has waited for too long. Whether anything still waits.
    fn sweep(&self) -> bool {
        let mut pools = self.lock();
        for pool in pools.values_mut() {
            pool.idle.retain(|(_, idle_since)| since(*idle_since) < IDLE_MAX);
        }
        let waits = pools.values().any(|pool| !pool.idle.is_empty());
        // Under the lock of the pools, so that what is put afterwards finds it.
        self.is_swept.store(waits, Ordering::Release);
        waits
    }

    /// Closes the session that has waited longest, of those that `fit`. Whether there was one.
    pub fn close_idle(&self, fits: impl Fn(&S) -> bool) -> bool {
        let mut pools = self.lock();
        let idle = pools.iter().flat_map(|(key, pool)| {
            let fitting = pool
                .idle
                .iter()
                .enumerate()
                .filter(|(_, (session, _))| fits(session));
            fitting.map(move |(at, (_, since))| (*since, key, at))
        });
        let Some((key, at)) = idle
            .min_by_key(|(since, ..)| *since)
            .map(|(_, key, at)| (key.clone(), at))
        else {
            return false;
        };
        let closed = pools.get_mut(&key).map(|pool| pool.idle.remove(at));
        drop(pools);
        closed.is_some()
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
        let gone = || EffectError::new(EffectCode::Internal, "The session is gone.");
        self.session.as_mut().ok_or_else(gone)
    }

    /// The statement has ended. `keep`: the session is as it was before, and may serve another.
    pub fn done(mut self, keep: bool) {
        if let Some(session) = self.session.take()
            && keep
        {
            Pools::put(&self.pools, &self.key, session);
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
