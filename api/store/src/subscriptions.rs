//! What services are told of webhooks: what is wanted of each, what its service may know, and when that is to be looked at next. A
//! server that asks a service has claimed the row, as it is with polls.

use super::deployments::owner_of_deployment;
use super::{Db, StoreError, rights, sql};
use crate::vault::{Sealed, Vault, VaultError};
use heddle_model::access::{Editor, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::entropy;
use heddle_model::ids::{DataKeyId, DeploymentId, EndpointId, EnvironmentId, PatternId, UserId, WorkspaceId};
use heddle_model::tenant::Tenant;
use sqlx_macros::FromRow;

/// What is wanted of a webhook's service, and what that may know.
#[derive(Clone, Debug, FromRow)]
pub struct SubscriptionRow {
    pub endpoint_id: EndpointId,
    /// The deployment, which may be gone.
    pub deployment_id: DeploymentId,
    /// The trigger in the graph.
    pub node_id: String,
    workspace_id: Option<WorkspaceId>,
    user_id: Option<UserId>,
    /// Who owns the workspace, or what is in none.
    pub owner_id: Option<UserId>,
    pub service: String,
    /// Whether the service is to send, or to forget the address.
    pub is_wanted: bool,
    plan_key_id: DataKeyId,
    plan: Vec<u8>,
    /// A digest of the requests.
    pub fingerprint: String,
    /// The fingerprint of the requests by which the service learned what it may know; `None`: it knows nothing.
    pub made: Option<String>,
    made_key_id: Option<DataKeyId>,
    made_plan: Option<Vec<u8>>,
    /// The address that it was told.
    pub address: Option<String>,
    /// How it stands.
    #[sqlx(flatten)]
    pub state: SubscriptionState,
    /// Goes up with every change of what is wanted.
    pub version: i64,
}

/// How it stands at the service.
#[derive(Clone, Debug, Default, FromRow)]
pub struct SubscriptionState {
    /// What the service calls it.
    pub remote_id: Option<String>,
    /// Since when it is known to be there.
    pub subscribed_at: Option<i64>,
    pub expires_at: Option<i64>,
    /// When the service was asked last.
    pub checked_at: Option<i64>,
    /// Failures since it succeeded.
    pub failures: i64,
    /// The code of the last failure.
    pub error_code: Option<String>,
    pub error: Option<String>,
    /// When the service is asked next.
    pub due_at: Option<i64>,
}

const ROW: &str = concat!(
    "select d.endpoint_id, d.deployment_id, d.node_id, d.workspace_id, d.user_id, ",
    owner_of_deployment!(),
    " as owner_id, d.service, d.is_wanted and exists (select 1 from deployments x where x.id = d.deployment_id
    and x.status <> 'undeployed') as is_wanted, d.plan_key_id, d.plan, d.fingerprint, d.made, d.made_key_id, d.made_plan, d.address,
    d.remote_id, d.subscribed_at, d.expires_at, d.checked_at, d.failures, d.error_code, d.error, d.due_at, d.version
    from subscriptions d "
);

fn row_name(endpoint: EndpointId) -> String {
    format!("subscriptions/{endpoint}")
}

impl SubscriptionRow {
    /// Whose it is; `None`: nobody's any more.
    pub fn tenant(&self) -> Option<Tenant> {
        let owner = self.user_id.or(self.owner_id)?;
        Some(Tenant::of(owner, self.workspace_id))
    }

    /// The requests that are wanted, as JSON.
    pub async fn plan(&self, db: &mut Db<'_>, vault: &Vault) -> Result<Vec<u8>, VaultError> {
        self.opened(db, vault, (self.plan_key_id, self.plan.clone()))
            .await
    }

    /// Those by which the service was told what it may know.
    pub async fn made_plan(&self, db: &mut Db<'_>, vault: &Vault) -> Result<Option<Vec<u8>>, VaultError> {
        match self.made_key_id.zip(self.made_plan.clone()) {
            Some(sealed) => self.opened(db, vault, sealed).await.map(Some),
            None => Ok(None),
        }
    }

    async fn opened(
        &self,
        db: &mut Db<'_>,
        vault: &Vault,
        (data_key, bytes): (DataKeyId, Vec<u8>),
    ) -> Result<Vec<u8>, VaultError> {
        let (sealed, name) = (Sealed { data_key, bytes }, row_name(self.endpoint_id));
        let opened = vault.open(db, self.workspace_id, &name, &sealed).await?;
        Ok(opened.to_vec())
    }
}

/// What a deployed trigger wants of its service.
#[derive(Clone, Debug)]
pub struct WantedSubscription<'w> {
    pub endpoint: EndpointId,
    pub deployment: DeploymentId,
    pub tenant: Tenant,
    pub node_id: &'w str,
    pub service: &'w str,
    /// The requests as JSON.
    pub plan: &'w str,
    /// A digest of the requests.
    pub fingerprint: &'w str,
}

/// Notes what a trigger wants of its service from now on, which is looked at next; for a caller who deploys it.
pub async fn want(
    db: &mut Db<'_>,
    vault: &Vault,
    wanted: WantedSubscription<'_>,
    now: Timestamp,
) -> Result<(), VaultError> {
    let (workspace, user) = match wanted.tenant {
        Tenant::Workspace(workspace) => (Some(workspace), None),
        Tenant::User(user) => (None, Some(user)),
    };
    // Whoever had claimed a row that was forgotten meanwhile has not claimed this one.
    let first: u32 = entropy::random();
    let name = row_name(wanted.endpoint);
    let sealed = vault.seal(db, workspace, &name, wanted.plan.as_bytes()).await?;
    let put = sql(
        "insert into subscriptions (endpoint_id, deployment_id, node_id, workspace_id, user_id, service, is_wanted, plan_key_id,
         plan, fingerprint, failures, due_at, version) values (?, ?, ?, ?, ?, ?, true, ?, ?, ?, 0, ?, ?)
         on conflict (endpoint_id) do update set deployment_id = excluded.deployment_id, node_id = excluded.node_id,
         service = excluded.service, is_wanted = true, plan_key_id = excluded.plan_key_id, plan = excluded.plan,
         fingerprint = excluded.fingerprint, failures = 0, error_code = null, error = null, due_at = excluded.due_at,
         version = subscriptions.version + 1",
    )
    .bind(wanted.endpoint)
    .bind(wanted.deployment)
    .bind(wanted.node_id)
    .bind(workspace)
    .bind(user)
    .bind(wanted.service)
    .bind(sealed.data_key)
    .bind(sealed.bytes)
    .bind(wanted.fingerprint)
    .bind(now)
    .bind(first);
    db.execute(put).await?;
    Ok(())
}

/// What becomes of rows whose services are to forget the address: it is looked at next, and what was never sent is forgotten. The
/// rows are those for which the condition behind it holds.
const UNWANT: [&str; 2] = [
    "delete from subscriptions where made is null and ",
    "update subscriptions set is_wanted = false, failures = 0, error_code = null, error = null, due_at = 0,
     version = version + 1 where is_wanted and ",
];

/// Has the services of a deployment forget all addresses but those of these endpoints; for a caller who deploys or undeploys it.
pub async fn unwant(db: &mut Db<'_>, deployment: DeploymentId, but: &[EndpointId]) -> Result<(), StoreError> {
    for statement in UNWANT {
        let mut statement = sql(statement).push("deployment_id = ?").bind(deployment);
        if !but.is_empty() {
            statement = statement
                .push(" and endpoint_id not in ")
                .list(but.iter().copied());
        }
        db.execute(statement).await?;
    }
    Ok(())
}

/// Has the services forget all endpoints of a pattern that is being deleted.
pub(crate) async fn unwant_of_pattern(
    db: &mut Db<'_>,
    editor: &Editor,
    pattern: PatternId,
) -> Result<(), StoreError> {
    for statement in UNWANT {
        let statement = sql(statement)
            .push("endpoint_id in (select id from webhook_endpoints where pattern_id = ?) and ");
        let statement = rights::pattern(statement.bind(pattern), editor, pattern);
        db.execute(statement).await?;
    }
    Ok(())
}

/// Has the services forget all endpoints that a workspace has in an environment that is being deleted.
pub(crate) async fn unwant_of_environment(
    db: &mut Db<'_>,
    workspace: Option<WorkspaceId>,
    environment: EnvironmentId,
) -> Result<(), StoreError> {
    for statement in UNWANT {
        let statement = sql(statement).push(
            "workspace_id = ? and endpoint_id in (select id from webhook_endpoints where slot = ? and slot <> '')",
        );
        db.execute(statement.bind(workspace).bind(environment)).await?;
    }
    Ok(())
}

/// Has an endpoint's service told of its new secret.
pub(crate) async fn make_again(db: &mut Db<'_>, endpoint: EndpointId) -> Result<(), StoreError> {
    let again = sql(
        "update subscriptions set made = '', due_at = 0, version = version + 1
         where endpoint_id = ? and is_wanted and made is not null",
    );
    db.execute(again.bind(endpoint)).await.map(drop)
}

/// A row that is to be looked at.
#[derive(Clone, Debug, FromRow)]
pub struct DueRow {
    pub endpoint_id: EndpointId,
    pub due_at: i64,
}

/// What is to be looked at, the longest overdue first; what suspended workspaces have waits.
pub async fn due_for_system(db: &mut Db<'_>, now: Timestamp, limit: i64) -> Result<Vec<DueRow>, StoreError> {
    let query = sql("select s.endpoint_id, s.due_at from subscriptions s where s.due_at <= ?
         and not exists (select 1 from workspaces w where w.id = s.workspace_id and w.suspended_at is not null)
         order by s.due_at, s.endpoint_id limit ?");
    db.all(query.bind(now).bind(limit)).await
}

/// Claims a row that is due until that time; `None`: another server has, or it was changed since it was read.
pub async fn claim_for_system(
    db: &mut Db<'_>,
    due: &DueRow,
    until: Timestamp,
) -> Result<Option<SubscriptionRow>, StoreError> {
    // Whoever had it before has been overtaken from here on.
    let claim = sql(
        "update subscriptions set due_at = ?, version = version + 1 where endpoint_id = ? and due_at = ?",
    )
    .bind(until)
    .bind(due.endpoint_id)
    .bind(due.due_at);
    if db.execute(claim).await? == 0 {
        return Ok(None);
    }
    let row = sql(ROW).push("where d.endpoint_id = ?").bind(due.endpoint_id);
    db.optional(row).await
}

/// Sets when a claimed row is due; `false`: it was changed, or claimed by another server.
pub async fn renew_for_system(
    db: &mut Db<'_>,
    row: (EndpointId, i64),
    due: Timestamp,
) -> Result<bool, StoreError> {
    let (endpoint, version) = row;
    let renew = sql("update subscriptions set due_at = ? where endpoint_id = ? and version = ?");
    Ok(db.execute(renew.bind(due).bind(endpoint).bind(version)).await? > 0)
}

/// Notes, before the service is told, that it may know the address from now on by what is wanted. `false`: it was changed, or
/// claimed by another server.
pub async fn begin_for_system(
    db: &mut Db<'_>,
    (endpoint, version): (EndpointId, i64),
    address: &str,
) -> Result<bool, StoreError> {
    let begin = sql(
        "update subscriptions set made = fingerprint, made_key_id = plan_key_id, made_plan = plan, address = ?, remote_id = null,
         subscribed_at = null, expires_at = null where endpoint_id = ? and version = ?",
    );
    let begin = begin.bind(address).bind(endpoint).bind(version);
    Ok(db.execute(begin).await? > 0)
}

/// Stores how it stands, and gives the claim back. `false`: it was changed, or claimed by another server, which has the last word; as
/// that one may not have seen what was done here, it is looked at again before long, but not while it is claimed.
pub async fn finish_for_system(
    db: &mut Db<'_>,
    (endpoint, version): (EndpointId, i64),
    state: &SubscriptionState,
    before_long: Timestamp,
) -> Result<bool, StoreError> {
    let finish = sql(
        "update subscriptions set remote_id = ?, subscribed_at = ?, expires_at = ?, checked_at = ?, failures = ?,
         error_code = ?, error = ?, due_at = ?, version = version + 1 where endpoint_id = ? and version = ?",
    )
    .bind(state.remote_id.clone())
    .bind(state.subscribed_at)
    .bind(state.expires_at)
    .bind(state.checked_at)
    .bind(state.failures)
    .bind(state.error_code.clone())
    .bind(state.error.clone())
    .bind(state.due_at)
    .bind(endpoint)
    .bind(version);
    if db.execute(finish).await? > 0 {
        return Ok(true);
    }
    let again = sql("update subscriptions set due_at = ? where endpoint_id = ? and due_at > ?");
    db.execute(again.bind(before_long).bind(endpoint).bind(before_long))
        .await?;
    Ok(false)
}

/// Forgets a row whose service has forgotten the address, unless it was changed meanwhile.
pub async fn forget_for_system(
    db: &mut Db<'_>,
    (endpoint, version): (EndpointId, i64),
) -> Result<(), StoreError> {
    let delete = sql("delete from subscriptions where endpoint_id = ? and version = ?");
    db.execute(delete.bind(endpoint).bind(version)).await.map(drop)
}

/// Has those looked at next whose services know another address than one that begins so: the service's own has changed.
pub async fn look_at_others_for_system(db: &mut Db<'_>, base: &str) -> Result<(), StoreError> {
    let other = sql("update subscriptions set due_at = 0, version = version + 1
         where is_wanted and address is not null and substr(address, 1, cast(? as integer)) <> ?");
    let length = i64::try_from(base.chars().count()).unwrap_or(i64::MAX);
    db.execute(other.bind(length).bind(base)).await.map(drop)
}

/// A subscription as people see it.
#[derive(Clone, Debug, FromRow)]
pub struct ShownSubscription {
    pub endpoint_id: EndpointId,
    pub deployment_id: DeploymentId,
    pub node_id: String,
    pub service: String,
    /// Whether what the service knows is what is wanted.
    pub is_current: bool,
    #[sqlx(flatten)]
    pub state: SubscriptionState,
}

const SHOWN: &str = "select d.endpoint_id, d.deployment_id, d.node_id, d.service, coalesce(d.made = d.fingerprint, false) as is_current, d.remote_id,
    d.subscribed_at, d.expires_at, d.checked_at, d.failures, d.error_code, d.error, d.due_at from subscriptions d
    where d.is_wanted and ";

/// The subscriptions of a deployment that the caller may see, by node.
pub async fn of_deployment(
    db: &mut Db<'_>,
    scope: &Scope,
    deployment: DeploymentId,
) -> Result<Vec<ShownSubscription>, StoreError> {
    let query = sql(SHOWN).push("d.deployment_id = ? and ").bind(deployment);
    let query = rights::deployment(query, scope, deployment);
    db.all(query.push(" order by d.node_id")).await
}

/// The subscriptions of all deployments that the caller may see, from the one after `after`.
pub async fn list(
    db: &mut Db<'_>,
    scope: &Scope,
    after: Option<EndpointId>,
    limit: i64,
) -> Result<Vec<ShownSubscription>, StoreError> {
    let mut query = rights::deployments(sql(SHOWN), scope);
    if let Some(after) = after {
        query = query.push(" and d.endpoint_id > ?").bind(after);
    }
    db.all(query.push(" order by d.endpoint_id limit ?").bind(limit))
        .await
}
