//! Decides which requests a service is sent, from what it may know of a webhook and what it should know.

use super::service::{Service, is_definite};
use crate::deployed_subscriptions::Plan;
use crate::executions::Executions;
use crate::outside::Failure;
use crate::queue::Share;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::subscription::{Remote, Subscription, is_loopback};
use heddle_store::endpoints::{self, EndpointRow};
use heddle_store::subscriptions::{self, SubscriptionRow, SubscriptionState};
use heddle_store::{Store, StoreError};
use secrecy::ExposeSecret;
use serde_json::Value;
use std::time::Duration;

/// What is there for no longer than this is renewed.
const RENEW_BEFORE: Duration = Duration::from_secs(2 * 24 * 60 * 60);
/// Failures after which what a former version has made is left there, so that it does not keep the new one from its events.
const REPLACED_TRIES: i64 = 3;

/// How it went.
pub(super) enum Reconciled {
    /// The service knows nothing of the webhook any more.
    Forgotten,
    /// It is there, until a time if it has one.
    Stands(Option<i64>),
    /// It was made, perhaps with a secret of the service's choice.
    Made(Remote, Option<String>),
    /// Something else is wanted by now.
    Overtaken,
}

/// A row, and whose it is.
pub(super) struct Task<'t> {
    pub executions: &'t Executions,
    pub row: &'t SubscriptionRow,
    pub share: Share,
}

/// Tells the service what is wanted. `state` is kept true of the row even if that fails.
pub(super) async fn apply(task: Task<'_>, state: &mut SubscriptionState) -> Result<Reconciled, Failure> {
    let Task { executions, row, .. } = task;
    let stored = task.stored().await?;
    let Some((endpoint, secret)) = stored.endpoint.filter(|_| row.is_wanted) else {
        if let (Some(made), Some(address)) = (stored.made, &row.address) {
            task.service(made, address, "")?.remove_all().await?;
        }
        return Ok(Reconciled::Forgotten);
    };
    let base = executions.base_url();
    let address = format!("{base}/webhooks/{}", endpoint.webhook_id);
    let is_same = row.made.as_deref() == Some(row.fingerprint.as_str())
        && row.address.as_deref() == Some(address.as_str());
    if !is_same && let (Some(made), Some(former)) = (stored.made, &row.address) {
        task.replace(made, former).await?;
    }
    if is_loopback(base) {
        return Err(not_public(&row.service, base));
    }
    let mut service = task.service(stored.wanted, &address, &secret)?;
    service.begin().await?;
    let mut found = service.found().await?;
    let known = (state.remote_id.clone()).filter(|_| is_same && state.subscribed_at.is_some());
    if let Some(id) = known {
        let now = executions.clock().now();
        match keep(&service, (&id, state.expires_at), &mut found, now).await? {
            Kept::Until(expires_at) => return Ok(Reconciled::Stands(expires_at)),
            Kept::Gone => {}
        }
    }
    for remote in found.into_iter().flatten() {
        service.remove(&remote.id).await?;
    }
    if !task.begins(&address).await? {
        return Ok(Reconciled::Overtaken);
    }
    (state.remote_id, state.subscribed_at, state.expires_at) = (None, None, None);
    let (remote, secret) = service.create().await?;
    Ok(Reconciled::Made(remote, secret))
}

/// Takes away what was made by a row's requests. What has no id of its own is left there, as it is what somebody else has made by now.
pub(super) async fn take_back(task: Task<'_>, id: &str) -> Result<(), Failure> {
    if id.is_empty() || id == task.name() {
        return Ok(());
    }
    let stored = task.stored().await?;
    let mut service = task.service(stored.wanted, "", "")?;
    service.begin().await?;
    service.remove(id).await
}

/// What became of what was made before.
enum Kept {
    /// It is there, until a time if it has one.
    Until(Option<i64>),
    /// It has to be made again, after what is left in the list was taken away.
    Gone,
}

/// Has what was made before stay; others with the same address are taken away.
async fn keep(
    service: &Service<'_>,
    (id, mut expires_at): (&str, Option<i64>),
    found: &mut Option<Vec<Remote>>,
    now: Timestamp,
) -> Result<Kept, Failure> {
    if let Some(found) = found {
        let Some(place) = found.iter().position(|remote| remote.id == id) else {
            return Ok(Kept::Gone);
        };
        let there = found.swap_remove(place);
        expires_at = there.expires_at.or(expires_at);
        for other in found.drain(..) {
            service.remove(&other.id).await?;
        }
        found.push(there);
    }
    if !is_soon(expires_at, now) {
        return Ok(Kept::Until(expires_at));
    }
    Ok(match service.renew(id).await? {
        Some(until) => Kept::Until(Some(until)),
        None => Kept::Gone,
    })
}

fn is_soon(expires_at: Option<i64>, now: Timestamp) -> bool {
    expires_at.is_some_and(|expires_at| expires_at <= now.plus(RENEW_BEFORE).millis())
}

fn not_public(service: &str, base: &str) -> Failure {
    Failure {
        code: "BASE_URL".to_owned(),
        message: format!(
            "{service} can't reach {base}, which is an address of this machine alone. Set `base_url` to the public address of this \
             service, by a tunnel if need be, and restart it."
        ),
        is_ours: false,
        rest: None,
    }
}

/// What is stored for a row.
struct Stored {
    wanted: Plan,
    /// By which the service was told what it may know.
    made: Option<Plan>,
    /// With its secret.
    endpoint: Option<(EndpointRow, String)>,
}

impl Task<'_> {
    fn store(&self) -> &Store {
        self.executions.store()
    }

    /// What the webhook is called where that can be chosen.
    fn name(&self) -> String {
        format!("heddle-{}", self.row.endpoint_id)
    }

    async fn stored(&self) -> Result<Stored, ServiceError> {
        let vault = &self.executions.test_runs().services.vault;
        let mut reader = self.store().reader().await?;
        let db = &mut reader.db();
        let read = |plan: Vec<u8>| serde_json::from_slice::<Plan>(&plan).map_err(ServiceError::internal);
        let wanted = read(self.row.plan(db, vault).await?)?;
        let made = match self.row.made_plan(db, vault).await? {
            Some(plan) => Some(read(plan)?),
            None => None,
        };
        let endpoint = match endpoints::by_id_for_system(db, self.row.endpoint_id).await? {
            Some(endpoint) => {
                let secret = endpoint.secret(db, vault).await?;
                Some((endpoint, secret.expose_secret().to_owned()))
            }
            None => None,
        };
        Ok(Stored {
            wanted,
            made,
            endpoint,
        })
    }

    fn service(&self, plan: Plan, address: &str, secret: &str) -> Result<Service<'_>, ServiceError> {
        let subscription = Subscription::of(&plan.subscription);
        let unreadable = || ServiceError::internal(anyhow::anyhow!("a stored subscription can't be read"));
        Ok(Service {
            executions: self.executions,
            share: self.share,
            subscription: subscription.ok_or_else(unreadable)?,
            hosts: plan.hosts,
            address: address.to_owned(),
            name: self.name(),
            secret: secret.to_owned(),
            first: Value::Null,
        })
    }

    /// Takes away what was made by other parameters or another version. What can't be taken away does not keep the new one from
    /// being made for long.
    async fn replace(&self, made: Plan, former: &str) -> Result<(), Failure> {
        let Err(failure) = self.service(made, former, "")?.remove_all().await else {
            return Ok(());
        };
        if failure.is_ours || (!is_definite(&failure) && self.row.state.failures < REPLACED_TRIES) {
            return Err(failure);
        }
        tracing::warn!(
            deployment = %self.row.deployment_id,
            node = self.row.node_id,
            "A former version's webhook at {} can't be removed: {}",
            self.row.service, failure.message
        );
        Ok(())
    }

    /// Notes that the service may know the address from now on; `false`: something else is wanted by now.
    async fn begins(&self, address: &str) -> Result<bool, ServiceError> {
        let (claim, address) = ((self.row.endpoint_id, self.row.version), address.to_owned());
        let begun = self.store().write(move |db| {
            Box::pin(async move { subscriptions::begin_for_system(db, claim, &address).await })
        });
        let begun: Result<bool, StoreError> = begun.await;
        Ok(begun?)
    }
}
