//! The lease by which this server has its runs. While its row among the servers is there, nobody else takes them. It
//! renews the row long before others may remove it; when it could not, it stops to begin anything before they may,
//! by its own monotonic clock. If the row is gone at last, its runs are another's: it forgets them, and goes on under
//! a new name.
//!
//! On SQLite there is one server, whose lease does not end.

use heddle_model::clock::Timestamp;
use heddle_model::error::chain;
use heddle_model::server_role::ServerRole;
use heddle_store::panics::unless_it_panics;
use heddle_store::{Db, Store, StoreError, servers};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, watch};

/// Wait before trying a database again that does not answer.
const RETRY: Duration = Duration::from_millis(200);

/// Until when a server may count on its lease that was renewed by a statement sent at `sent_at`. The database has
/// counted from a later moment; the rest of the margin is for clocks that run at different rates.
pub fn valid_until(sent_at: Instant, lease: Duration) -> Instant {
    sent_at + lease - lease / 5
}

/// How often a lease is renewed.
pub fn renewed_every(lease: Duration) -> Duration {
    lease / 3
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Term {
    /// Not there yet.
    Pending,
    Until(Instant),
    Endless,
    /// Given back.
    Over,
}

#[derive(Clone, Debug)]
struct State {
    owner: Arc<str>,
    term: Term,
    /// When the lease was renewed after it had not been valid for a while.
    back_since: Option<Instant>,
}

impl State {
    fn is_valid(&self) -> bool {
        match self.term {
            Term::Pending | Term::Over => false,
            Term::Until(end) => heddle_model::clock::monotonic() < end,
            Term::Endless => true,
        }
    }
}

/// This server's lease.
#[derive(Debug)]
pub(crate) struct Lease {
    state: watch::Sender<State>,
    duration: Duration,
    role: ServerRole,
    look: Notify,
}

fn new_owner() -> Arc<str> {
    heddle_model::entropy::new_uuid().to_string().into()
}

impl Lease {
    /// To be begun by [`start`].
    pub fn new(duration: Duration, role: ServerRole) -> Arc<Self> {
        Arc::new(Lease {
            state: watch::Sender::new(State {
                owner: new_owner(),
                term: Term::Pending,
                back_since: None,
            }),
            duration,
            role,
            look: Notify::new(),
        })
    }

    /// Whether this server executes what is accepted.
    pub fn executes(&self) -> bool {
        self.role.executes()
    }

    /// How often it is renewed, and others are looked after.
    pub fn period(&self) -> Duration {
        renewed_every(self.duration)
    }

    /// What the server's runs are owned by.
    pub fn owner(&self) -> Arc<str> {
        self.state.borrow().owner.clone()
    }

    /// Whether something may begin. Waits for the first registration, right after the start.
    pub async fn is_valid(&self) -> bool {
        if self.state.borrow().term == Term::Pending {
            let mut states = self.state.subscribe();
            // The sender is `self`.
            let _ = states.wait_for(|state| state.term != Term::Pending).await;
        }
        self.state.borrow().is_valid()
    }

    /// Waits until it is certain that this owner's runs are its own. `false`: they are not any more.
    pub async fn is_held(&self, owner: &str) -> bool {
        let held = |state: &State| match state {
            state if *state.owner != *owner || state.term == Term::Over => Some(false),
            state => state.is_valid().then_some(true),
        };
        if let Some(held) = held(&self.state.borrow()) {
            return held;
        }
        let mut states = self.state.subscribe();
        loop {
            if let Some(held) = held(&states.borrow_and_update()) {
                return held;
            }
            if states.changed().await.is_err() {
                return false;
            }
        }
    }

    /// Whether others that have not renewed in time may be taken for dead: not when the database has just come back
    /// for everybody.
    pub fn may_judge(&self) -> bool {
        let state = self.state.borrow();
        let is_settled = state
            .back_since
            .is_none_or(|since| heddle_model::clock::since(since) >= self.duration);
        state.is_valid() && is_settled
    }

    /// Has the lease renewed now, since a write was refused.
    pub fn look(&self) {
        self.look.notify_one();
    }

    /// Ends it: nothing is renewed any more.
    pub fn end(&self) {
        self.state.send_modify(|state| state.term = Term::Over);
        self.look.notify_one();
    }

    fn is_over(&self) -> bool {
        self.state.borrow().term == Term::Over
    }

    fn renewed(&self, sent_at: Instant, is_endless: bool) {
        self.state.send_modify(|state| {
            let was_late = matches!(state.term, Term::Until(_)) && !state.is_valid();
            if was_late {
                state.back_since = Some(heddle_model::clock::monotonic());
            }
            if state.term != Term::Over {
                state.term = match is_endless {
                    true => Term::Endless,
                    false => Term::Until(valid_until(sent_at, self.duration)),
                };
            }
        });
    }

    /// Its runs are others': another name from now on.
    fn lose(&self) {
        self.state.send_modify(|state| {
            state.owner = new_owner();
            state.term = Term::Until(heddle_model::clock::monotonic());
        });
    }
}

/// Who has runs by the lease.
pub(crate) trait LeaseHolder: Send + Sync {
    /// The server is registered, as others may see from now on.
    fn registered(&self);

    /// The lease is lost, and with it the runs that it was for: whoever has them by now ends them.
    fn lost(&self);
}

/// Registers the server, and renews its lease in the background for as long as the holder is there.
pub(crate) fn start(store: Store, lease: Arc<Lease>, holder: Weak<dyn LeaseHolder>) {
    tokio::spawn(keep(store, lease, holder));
}

async fn keep(store: Store, lease: Arc<Lease>, holder: Weak<dyn LeaseHolder>) {
    let mut is_registered = false;
    loop {
        let renewing = renew(&store, &lease, &holder, &mut is_registered);
        let wait = match unless_it_panics(renewing).await {
            Some(Some(wait)) => wait,
            Some(None) => return,
            // A panic, which was told. Without a lease this server would do nothing more.
            None => RETRY,
        };
        tokio::select! {
            () = lease.look.notified() => {}
            () = tokio::time::sleep(wait) => {}
        }
    }
}

/// Registers or renews once; how long to wait then. `None`: there is nothing more to renew.
async fn renew(
    store: &Store,
    lease: &Arc<Lease>,
    holder: &Weak<dyn LeaseHolder>,
    is_registered: &mut bool,
) -> Option<Duration> {
    let sent_at = heddle_model::clock::monotonic();
    let (this, is_known) = (lease.clone(), *is_registered);
    let write = store.write_apart(move |db| Box::pin(async move { write(db, &this, is_known).await }));
    let written = tokio::time::timeout(lease.period(), write).await;
    if lease.is_over() || holder.strong_count() == 0 {
        return None;
    }
    match written {
        Ok(Ok(true)) => {
            if !std::mem::replace(is_registered, true)
                && let Some(holder) = holder.upgrade()
            {
                holder.registered();
            }
            lease.renewed(sent_at, !store.is_shared());
            if !store.is_shared() {
                return None;
            }
            match lease.state.borrow().is_valid() {
                true => Some(lease.period()),
                // The process stood still in between.
                false => Some(Duration::ZERO),
            }
        }
        Ok(Ok(false)) => {
            let holder = holder.upgrade()?;
            *is_registered = false;
            lease.lose();
            holder.lost();
            Some(Duration::ZERO)
        }
        Ok(Err(error)) => {
            tracing::warn!("The lease of this server can't be renewed yet: {}", chain(&error));
            Some(RETRY)
        }
        Err(_) => {
            tracing::warn!("The lease of this server can't be renewed yet: the database does not answer");
            Some(RETRY)
        }
    }
}

/// Registers or renews. `false`: the lease is lost.
async fn write(db: &mut Db<'_>, lease: &Lease, is_registered: bool) -> Result<bool, StoreError> {
    let (owner, role, now) = (lease.owner(), lease.role, servers::now(db).await?);
    if !db.is_postgres() {
        servers::remove_others(db, &owner, now).await?;
        let never = Timestamp::from_millis(i64::MAX);
        return servers::register(db, &owner, role, now, never)
            .await
            .map(|()| true);
    }
    let expires_at = now.plus(lease.duration);
    match is_registered {
        true => servers::renew(db, &owner, expires_at).await,
        false => servers::register(db, &owner, role, now, expires_at)
            .await
            .map(|()| true),
    }
}
