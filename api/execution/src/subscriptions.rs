//! Tells services of the webhooks that deployed triggers wait for, and of those that none waits for any more. A row that is due is
//! claimed in the database, so that one server at a time asks; what a service may know is noted before it is told, and looked for by
//! its address before it is told again. So whenever a server stops, each webhook is there once.

mod reconcile;
mod service;

use crate::executions::Executions;
use crate::outside::{Failure, shown};
use crate::queue::Share;
use heddle_model::clock::Timestamp;
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{EndpointId, PatternId};
use heddle_model::subscription::Remote;
use heddle_store::panics::unless_it_panics;
use heddle_store::subscriptions::{self, DueRow, SubscriptionRow, SubscriptionState};
use heddle_store::{StoreError, endpoints};
use metrics::counter;
use reconcile::{Reconciled, Task};
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;

/// Rows of one look at the database.
const DUE_MAX: i64 = 100;
/// What was just deployed is seen within this time.
const PAUSE: Duration = Duration::from_secs(1);
/// For how long a row is claimed: if its server stops, another one goes on after that.
const CLAIM: Duration = Duration::from_secs(10);
/// How often a claim is renewed.
const RENEW: Duration = Duration::from_secs(3);
/// How long it waits for a place among all that ask services.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time for all requests of a turn: others wait for the place, and a service may cause any number of requests by what it lists.
const TURN_MAX: Duration = Duration::from_secs(5 * 60);
/// How often a service is asked whether the webhook is still there.
const CHECK: Duration = Duration::from_secs(24 * 60 * 60);
/// When what somebody else has gone on with is looked at again; longer than a claim.
const BEFORE_LONG: Duration = Duration::from_secs(60);
/// Failures after which a service is left to find out by itself that nobody is there any more.
const FORGET_TRIES: i64 = 10;

/// Is told of patterns to whose webhooks a service has given another secret, by whoever keeps secrets in memory.
pub type OnSecret = Arc<dyn Fn(PatternId) + Send + Sync>;

/// Looks until the task is aborted; that does no harm at any moment.
pub fn start(executions: Executions, on_secret: OnSecret) -> JoinHandle<()> {
    tokio::spawn(async move {
        let base = format!("{}/", executions.base_url());
        let others = executions.store().write(move |db| {
            Box::pin(async move { subscriptions::look_at_others_for_system(db, &base).await })
        });
        // Panics were told, and end neither this nor what comes after.
        let others: Option<Result<(), StoreError>> = unless_it_panics(others).await;
        if let Some(Err(error)) = others {
            tracing::error!("The subscriptions can't be looked through: {}", chain(&error));
        }
        loop {
            let ticking = tick(&executions, &on_secret, executions.clock().now());
            if let Some(Err(error)) = unless_it_panics(ticking).await {
                tracing::error!("The subscriptions can't be read now: {}", chain(&error));
            }
            tokio::time::sleep(PAUSE).await;
        }
    })
}

/// Claims what is due at `now`, and has it done in the background; how many rows those are.
pub async fn tick(
    executions: &Executions,
    on_secret: &OnSecret,
    now: Timestamp,
) -> Result<usize, ServiceError> {
    let mut reader = executions.store().reader().await?;
    let due = subscriptions::due_for_system(&mut reader.db(), now, DUE_MAX).await?;
    drop(reader);
    let mut begun = 0;
    for row in due {
        let endpoint = row.endpoint_id;
        match unless_it_panics(begin(executions, on_secret, row)).await {
            Some(Ok(is_begun)) => begun += usize::from(is_begun),
            // The others are not to wait for this one.
            Some(Err(error)) => {
                tracing::warn!(%endpoint, "A subscription can't be claimed now: {}", chain(&error));
            }
            // A panic, which was told. Nor for that one.
            None => {}
        }
    }
    Ok(begun)
}

async fn begin(executions: &Executions, on_secret: &OnSecret, due: DueRow) -> Result<bool, ServiceError> {
    let until = executions.clock().now().plus(CLAIM);
    let claimed = executions
        .store()
        .write(move |db| Box::pin(async move { subscriptions::claim_for_system(db, &due, until).await }));
    let claimed: Result<Option<SubscriptionRow>, StoreError> = claimed.await;
    let Some(row) = claimed? else {
        return Ok(false);
    };
    let (Some(owner), Some(tenant)) = (row.owner_id, row.tenant()) else {
        return Ok(false);
    };
    let turn = Turn {
        executions: executions.clone(),
        on_secret: on_secret.clone(),
        share: Share { owner, tenant },
        row,
    };
    tokio::spawn(turn.take());
    Ok(true)
}

/// A row that is this server's.
struct Turn {
    executions: Executions,
    on_secret: OnSecret,
    row: SubscriptionRow,
    share: Share,
}

/// What is stored of a turn.
enum Ended {
    /// The service has forgotten the address.
    Forgotten,
    /// The subscription's state after the turn.
    Stands(SubscriptionState),
    /// Its state after the service was told of the address in this turn, and the secret that the service has chosen.
    Made(SubscriptionState, Option<String>),
    /// Somebody else goes on with it at once.
    Left,
}

impl Turn {
    async fn take(self) {
        let mut stopping = self.executions.stopping();
        let ended = tokio::select! {
            ended = self.done() => ended,
            // Whoever goes on finds what is there.
            _ = stopping.wait_for(|stops| *stops) => Ended::Left,
            () = self.hold() => return,
        };
        let made = match &ended {
            Ended::Made(state, _) => state.remote_id.clone(),
            _ => None,
        };
        match (self.store(ended).await, made) {
            (Ok(false), Some(id)) => self.take_back(&id).await,
            (Ok(_), _) => {}
            (Err(error), _) => tracing::warn!(
                deployment = %self.row.deployment_id,
                node = self.row.node_id,
                "What a service knows of a webhook can't be stored, so the subscription is checked again: {}",
                chain(&error)
            ),
        }
    }

    /// Takes away what was made when somebody else had gone on already, who doesn't know of it.
    async fn take_back(&self, id: &str) {
        if let Err(failure) = Box::pin(reconcile::take_back(self.task(), id)).await {
            tracing::warn!(
                deployment = %self.row.deployment_id,
                node = self.row.node_id,
                "A webhook at {} that is not needed can't be removed: {}",
                self.row.service, failure.message
            );
        }
    }

    const fn task(&self) -> Task<'_> {
        Task {
            executions: &self.executions,
            row: &self.row,
            share: self.share,
        }
    }

    /// Which row it is, and as what it was claimed.
    const fn claim(&self) -> (EndpointId, i64) {
        (self.row.endpoint_id, self.row.version)
    }

    fn now(&self) -> Timestamp {
        self.executions.clock().now()
    }

    /// Keeps the claim for as long as nobody changes it. Never ends.
    async fn hold(&self) {
        let claim = self.claim();
        loop {
            tokio::time::sleep(RENEW).await;
            let until = self.now().plus(CLAIM);
            let renewed = self.executions.store().write(move |db| {
                Box::pin(async move { subscriptions::renew_for_system(db, claim, until).await })
            });
            let renewed: Result<bool, StoreError> = renewed.await;
            match renewed {
                Ok(true) => {}
                // Something else is wanted by now: what is under way here ends, and is not stored.
                Ok(false) => return std::future::pending().await,
                Err(error) => {
                    tracing::warn!("A subscription's claim can't be renewed now: {}", chain(&error));
                }
            }
        }
    }

    /// Asks the service: what is to be stored of it.
    async fn done(&self) -> Ended {
        let mut state = self.row.state.clone();
        let went = self.asked(&mut state).await;
        let now = self.now();
        let result = match &went {
            Ok(_) => "success",
            Err(failure) if failure.is_ours => "refused",
            Err(_) => "failure",
        };
        counter!("heddle_subscriptions_total", "result" => result).increment(1);
        state.checked_at = Some(now.millis());
        let failure = match went {
            Ok(Reconciled::Forgotten) => return Ended::Forgotten,
            Ok(Reconciled::Overtaken) => return Ended::Left,
            Ok(Reconciled::Stands(expires_at)) => {
                state.expires_at = expires_at;
                return Ended::Stands(self.rested(state));
            }
            Ok(Reconciled::Made(Remote { id, expires_at }, secret)) => {
                state.remote_id = Some(id);
                state.subscribed_at = Some(now.millis());
                state.expires_at = expires_at;
                return Ended::Made(self.rested(state), secret);
            }
            Err(failure) => failure,
        };
        self.failed(state, failure)
    }

    /// What is as it is to be, until the service is asked again.
    fn rested(&self, mut state: SubscriptionState) -> SubscriptionState {
        (state.failures, state.error, state.error_code) = (0, None, None);
        let now = self.now();
        let mut rest = CHECK.mul_f64(entropy::random_in(0.9..1.1));
        if let Some(expires_at) = state.expires_at {
            // Before it ends, however short its time is.
            let left = expires_at.saturating_sub(now.millis()).max(0);
            rest = rest
                .min(Duration::from_millis(left.unsigned_abs() / 2))
                .max(PAUSE);
        }
        state.due_at = Some(now.plus(rest).millis());
        state
    }

    fn failed(&self, mut state: SubscriptionState, failure: Failure) -> Ended {
        let rest = failure.counted(&mut state.failures);
        let Failure { code, message, .. } = failure;
        let row = &self.row;
        tracing::info!(deployment = %row.deployment_id, node = row.node_id, code, "A webhook could not be registered with its service");
        if !row.is_wanted && state.failures >= FORGET_TRIES {
            tracing::warn!(
                deployment = %row.deployment_id,
                node = row.node_id,
                "a webhook that is gone may still be registered with {}: {message}",
                row.service
            );
            return Ended::Forgotten;
        }
        state.error_code = Some(code);
        state.error = Some(shown(&message));
        state.due_at = Some(self.now().plus(rest).millis());
        Ended::Stands(state)
    }

    /// Asks the service when it is its turn.
    async fn asked(&self, state: &mut SubscriptionState) -> Result<Reconciled, Failure> {
        // As polls do, by whose measure they ask: none of one owner's waits where others' would.
        let _of_owner = self.executions.polls_of(self.share.owner).acquire_owned().await;
        let one = self.executions.polls_at_once().acquire();
        let _one = tokio::time::timeout(PATIENCE, one).await.map_err(|_| {
            Code::Unavailable
                .with("Too many services are being asked right now: this one will be asked later.")
        })?;
        let reconciled = tokio::time::timeout(TURN_MAX, Box::pin(reconcile::apply(self.task(), state))).await;
        reconciled.unwrap_or_else(|_| Err(self.late()))
    }

    /// What is left is told the next time.
    fn late(&self) -> Failure {
        let minutes = TURN_MAX.as_secs() / 60;
        Failure {
            code: "TIMEOUT".to_owned(),
            message: format!(
                "{} did not answer all requests within {minutes} minutes.",
                self.row.service
            ),
            is_ours: false,
            rest: None,
        }
    }

    /// `false`: somebody else has gone on with it, and it was not stored.
    async fn store(&self, ended: Ended) -> Result<bool, ServiceError> {
        let (store, claim, now) = (self.executions.store(), self.claim(), self.now());
        let (state, secret) = match ended {
            Ended::Stands(state) => (state, None),
            Ended::Made(state, secret) => (state, secret),
            Ended::Forgotten => {
                let forget = store.write(move |db| {
                    Box::pin(async move { subscriptions::forget_for_system(db, claim).await })
                });
                let forgotten: Result<(), StoreError> = forget.await;
                return Ok(forgotten.map(|()| true)?);
            }
            Ended::Left => {
                let left = store.write(move |db| {
                    Box::pin(async move { subscriptions::renew_for_system(db, claim, now).await })
                });
                let left: Result<bool, StoreError> = left.await;
                return Ok(left?);
            }
        };
        let vault = self.executions.test_runs().services.vault.clone();
        let kept = store.write(move |db| {
            Box::pin(async move {
                let before_long = now.plus(BEFORE_LONG);
                let is_kept = subscriptions::finish_for_system(db, claim, &state, before_long).await?;
                let endpoint = match (&secret, is_kept) {
                    (Some(_), true) => endpoints::by_id_for_system(db, claim.0).await?,
                    _ => None,
                };
                let mut changed = None;
                if let Some((endpoint, secret)) = endpoint.zip(secret) {
                    endpoints::set_secret_for_system(db, &vault, &endpoint, &secret).await?;
                    changed = Some(endpoint.pattern_id);
                }
                Ok::<_, ServiceError>((is_kept, changed))
            })
        });
        let (is_kept, changed) = kept.await?;
        if let Some(pattern) = changed {
            (self.on_secret)(pattern);
        }
        Ok(is_kept)
    }
}
