//! Webhook endpoints and e-mail addresses: one for each such node of a pattern, for as long as the pattern exists,
//! so that an address survives undeploying, redeploying and even a version without the node. A further deployment of the
//! pattern has others, from the time when it is made until its environment is deleted.

use super::notices::{self, Notice};
use super::secrets::text;
use super::{Db, Sql, StoreError, locks, rights, sql, subscriptions};
use crate::vault::{Sealed, Vault, VaultError};
use heddle_model::access::{Editor, Manager, Scope};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{DataKeyId, EndpointId, EnvironmentId, PatternId, RunId, WorkspaceId};
use heddle_model::signature::Scheme;
use heddle_model::slot::Slot;
use heddle_model::webhook::Webhook;
use secrecy::SecretString;
use sqlx_macros::FromRow;
use std::collections::{HashMap, HashSet};

/// A node that others reach from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNode {
    /// Id in the graph.
    pub node_id: String,
    /// What people call it.
    pub alias: String,
    /// How it is reached.
    pub kind: HookKind,
}

/// How a node is reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// OnWebhook, OnForm or OnChat.
    Webhook {
        /// How senders prove who they are.
        scheme: Scheme,
        /// The node's parameters as JSON, if they say more than the scheme; else empty.
        parameters: String,
    },
    /// OnEmail.
    Email,
}

/// Endpoints of one pattern; a draft's further nodes have none.
pub const HOOKS_MAX: usize = 500;
/// Endpoints of one pattern with those of earlier versions.
const KEPT_MAX: usize = 2_000;

/// A webhook endpoint.
#[derive(Clone, Debug, FromRow)]
pub struct EndpointRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: EndpointId,
    /// The pattern that the node belongs to.
    pub pattern_id: PatternId,
    /// The environment of the slot that it belongs to; `None`: the main one.
    pub slot_environment_id: Option<EnvironmentId>,
    /// The pattern's workspace.
    pub workspace_id: Option<WorkspaceId>,
    pub node_id: String,
    /// The unguessable part of the URL.
    pub webhook_id: String,
    /// What people call it.
    pub alias: String,
    /// How senders sign, in the newest version.
    scheme: String,
    /// The node's parameters in the newest version as JSON; empty if they say no more than the scheme.
    parameters: String,
    secret_key_id: DataKeyId,
    secret: Vec<u8>,
    /// Whether the newest version has the node.
    pub is_present: bool,
    /// Whether its workspace is suspended.
    pub is_suspended: bool,
}

impl EndpointRow {
    /// Whose runs it starts.
    pub const fn slot(&self) -> Slot {
        Slot {
            pattern: self.pattern_id,
            environment: self.slot_environment_id,
        }
    }

    /// How senders sign, in the newest version.
    pub fn scheme(&self) -> Scheme {
        Scheme::named(&self.scheme).unwrap_or_default()
    }

    /// What the node says of its requests, in the newest version.
    pub fn webhook(&self) -> Webhook {
        match self.parameters.as_str() {
            "" => Webhook::signed(self.scheme()),
            parameters => Webhook::of_json(parameters),
        }
    }

    pub async fn secret(&self, db: &mut Db<'_>, vault: &Vault) -> Result<SecretString, VaultError> {
        let sealed = Sealed {
            data_key: self.secret_key_id,
            bytes: self.secret.clone(),
        };
        let bytes = vault
            .open(db, self.workspace_id, &row_name(self.id), &sealed)
            .await?;
        text(bytes)
    }
}

fn row_name(id: EndpointId) -> String {
    format!("webhook_endpoints/{id}")
}

/// 128 random bits.
fn unguessable() -> String {
    hex::encode(heddle_model::entropy::random::<[u8; 16]>())
}

/// An endpoint or an address as it is stored.
#[derive(FromRow)]
struct Known {
    node_id: String,
    alias: String,
    /// None of an address.
    scheme: Option<String>,
    parameters: String,
    is_present: bool,
}

impl Known {
    fn is(&self, hook: &HookNode) -> bool {
        let (scheme, parameters) = match &hook.kind {
            HookKind::Webhook { scheme, parameters } => (Some(scheme.name()), parameters.as_str()),
            HookKind::Email => (None, ""),
        };
        self.is_present
            && self.alias == hook.alias
            && self.scheme.as_deref() == scheme
            && self.parameters == parameters
    }
}

/// Makes the endpoints of a pattern's main deployment those of its newest version, and tells those of others what they are
/// now. Endpoints whose node is gone are kept, for the
/// deployed version or a rollback to be reached under the same address. Writes nothing but what is different.
pub async fn sync(
    db: &mut Db<'_>,
    vault: &Vault,
    owner: (PatternId, Option<WorkspaceId>),
    hooks: &[HookNode],
    now: Timestamp,
) -> Result<(), ServiceError> {
    let (pattern, workspace) = owner;
    let webhooks = sql(
        "select node_id, alias, scheme, parameters, is_present from webhook_endpoints where pattern_id = ? and slot = ''",
    );
    let mailboxes = sql(
        "select node_id, alias, cast(null as text) as scheme, '' as parameters, is_present from email_endpoints
         where pattern_id = ? and slot = ''",
    );
    let webhooks: Vec<Known> = db.all(webhooks.bind(pattern)).await?;
    let mailboxes: Vec<Known> = db.all(mailboxes.bind(pattern)).await?;
    let is_webhook = |hook: &HookNode| matches!(hook.kind, HookKind::Webhook { .. });
    let (wanted, wanted_mail): (Vec<&HookNode>, Vec<&HookNode>) =
        hooks.iter().partition(|hook| is_webhook(hook));
    let mut is_changed = false;
    for (known, wanted, table) in [
        (webhooks, wanted, Table::Webhooks),
        (mailboxes, wanted_mail, Table::Mailboxes),
    ] {
        let by_id: HashMap<&str, &Known> = known
            .iter()
            .map(|known| (known.node_id.as_str(), known))
            .collect();
        let ids: HashSet<&str> = wanted.iter().map(|hook| hook.node_id.as_str()).collect();
        let new = wanted
            .iter()
            .filter(|hook| !by_id.contains_key(hook.node_id.as_str()))
            .count();
        if new > 0 && known.len() + new > KEPT_MAX {
            let message = format!(
                "The pattern has had {} webhooks or email addresses, all of which stay reserved; {KEPT_MAX} \
                 are allowed: clone the pattern to start afresh.",
                known.len()
            );
            return Err(Code::Validation.with(message));
        }
        let gone: Vec<&str> = known
            .iter()
            .filter(|known| known.is_present && !ids.contains(known.node_id.as_str()))
            .map(|known| known.node_id.as_str())
            .collect();
        is_changed |= !gone.is_empty();
        table.remove(db, pattern, &gone).await?;
        for hook in wanted {
            let known = by_id.get(hook.node_id.as_str());
            if known.is_some_and(|known| known.is(hook)) {
                continue;
            }
            is_changed = true;
            match (&hook.kind, known) {
                (HookKind::Webhook { scheme, parameters }, known) => {
                    let new = NewWebhook {
                        node_id: &hook.node_id,
                        alias: &hook.alias,
                        scheme: *scheme,
                        parameters,
                        is_present: true,
                    };
                    if known.is_some() {
                        set_webhook(db, pattern, new).await?;
                        continue;
                    }
                    let slot = Slot::main(pattern);
                    add_webhook(db, vault, (slot, workspace), new, now).await?;
                }
                (HookKind::Email, Some(_)) => set_email(db, pattern, hook).await?,
                (HookKind::Email, None) => {
                    let new = (hook.node_id.as_str(), hook.alias.as_str());
                    add_email(db, Slot::main(pattern), new, true, now).await?;
                }
            }
        }
    }
    if is_changed {
        notices::tell(db, Notice::Endpoints(pattern)).await?;
    }
    Ok(())
}

#[derive(Clone, Copy)]
enum Table {
    Webhooks,
    Mailboxes,
}

impl Table {
    /// Notes that the newest version has these nodes no more.
    async fn remove(self, db: &mut Db<'_>, pattern: PatternId, gone: &[&str]) -> Result<(), StoreError> {
        let update = match self {
            Table::Webhooks => {
                "update webhook_endpoints set is_present = false where pattern_id = ? and node_id in "
            }
            Table::Mailboxes => {
                "update email_endpoints set is_present = false where pattern_id = ? and node_id in "
            }
        };
        for some in gone.chunks(HOOKS_MAX) {
            let ids = some.iter().map(|id| (*id).to_owned());
            db.execute(sql(update).bind(pattern).list_of_few_sizes(ids))
                .await?;
        }
        Ok(())
    }
}

async fn set_webhook(db: &mut Db<'_>, pattern: PatternId, hook: NewWebhook<'_>) -> Result<(), StoreError> {
    let known = sql(
        "update webhook_endpoints set is_present = ?, alias = ?, scheme = ?, parameters = ?
                     where pattern_id = ? and node_id = ?",
    )
    .bind(hook.is_present)
    .bind(hook.alias)
    .bind(hook.scheme.name())
    .bind(hook.parameters)
    .bind(pattern)
    .bind(hook.node_id);
    db.execute(known).await?;
    Ok(())
}

/// A webhook endpoint as it is to be.
struct NewWebhook<'a> {
    node_id: &'a str,
    alias: &'a str,
    scheme: Scheme,
    parameters: &'a str,
    is_present: bool,
}

async fn add_webhook(
    db: &mut Db<'_>,
    vault: &Vault,
    (slot, workspace): (Slot, Option<WorkspaceId>),
    new: NewWebhook<'_>,
    now: Timestamp,
) -> Result<(), VaultError> {
    let id = EndpointId::new();
    let secret = new.scheme.new_secret();
    let sealed = vault
        .seal(db, workspace, &row_name(id), secret.as_bytes())
        .await?;
    db.execute(
        sql(
            "insert into webhook_endpoints (id, pattern_id, slot, workspace_id, node_id, webhook_id, alias, scheme,
             parameters, secret_key_id, secret, is_present, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(id)
        .bind(slot.pattern)
        .bind(slot.name())
        .bind(workspace)
        .bind(new.node_id)
        .bind(unguessable())
        .bind(new.alias)
        .bind(new.scheme.name())
        .bind(new.parameters)
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(new.is_present)
        .bind(now),
    )
    .await?;
    Ok(())
}

async fn set_email(db: &mut Db<'_>, pattern: PatternId, hook: &HookNode) -> Result<(), StoreError> {
    let known =
        sql("update email_endpoints set is_present = true, alias = ? where pattern_id = ? and node_id = ?");
    let known = known.bind(&hook.alias).bind(pattern).bind(&hook.node_id);
    db.execute(known).await.map(drop)
}

async fn add_email(
    db: &mut Db<'_>,
    slot: Slot,
    (node_id, alias): (&str, &str),
    is_present: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into email_endpoints (id, pattern_id, slot, node_id, mailbox, alias, is_present, created_at)
             values (?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .bind(EndpointId::new())
        .bind(slot.pattern)
        .bind(slot.name())
        .bind(node_id)
        .bind(unguessable())
        .bind(alias)
        .bind(is_present)
        .bind(now),
    )
    .await
    .map(drop)
}

/// Gives a further deployment of a pattern endpoints of its own for these nodes, as far as it has none and the main
/// deployment has some.
pub async fn add_to_slot(
    db: &mut Db<'_>,
    vault: &Vault,
    editor: &Editor,
    slot: Slot,
    nodes: &[&str],
    now: Timestamp,
) -> Result<(), ServiceError> {
    let is_wanted = |node: &str| nodes.contains(&node);
    let known = in_slot(db, editor, slot).await?;
    for main in in_slot(db, editor, Slot::main(slot.pattern)).await? {
        if is_wanted(&main.node_id) && known.iter().all(|known| known.node_id != main.node_id) {
            let new = NewWebhook {
                node_id: &main.node_id,
                alias: &main.alias,
                scheme: main.scheme(),
                parameters: &main.parameters,
                is_present: main.is_present,
            };
            add_webhook(db, vault, (slot, main.workspace_id), new, now).await?;
        }
    }
    let known = mailboxes_in_slot(db, editor, slot).await?;
    for main in mailboxes_in_slot(db, editor, Slot::main(slot.pattern)).await? {
        if is_wanted(&main.node_id) && known.iter().all(|known| known.node_id != main.node_id) {
            add_email(db, slot, (&main.node_id, &main.alias), main.is_present, now).await?;
        }
    }
    Ok(())
}

/// Deletes the endpoints of an environment of the manager's workspace that is being deleted, and their events.
pub async fn remove_of_environment(
    db: &mut Db<'_>,
    manager: &Manager,
    environment: EnvironmentId,
) -> Result<(), StoreError> {
    let of_it = sql("workspace_id = ? and slot = ?").bind(manager.workspace());
    locks::deployments(db, of_it.bind(environment)).await?;
    subscriptions::unwant_of_environment(db, manager.workspace(), environment).await?;
    for statement in [
        "delete from tap_events where endpoint_id in (select w.id from webhook_endpoints w
         where w.slot <> '' and w.slot in (select id from environments where id = ? and workspace_id = ?))",
        "delete from webhook_endpoints
         where slot <> '' and slot in (select id from environments where id = ? and workspace_id = ?)",
        "delete from email_endpoints
         where slot <> '' and slot in (select id from environments where id = ? and workspace_id = ?)",
    ] {
        let delete = sql(statement).bind(environment).bind(manager.workspace());
        db.execute(delete).await?;
    }
    notices::tell(db, Notice::Everything).await
}

/// Deletes a pattern's endpoints and their events, when the pattern itself is deleted.
pub async fn remove(db: &mut Db<'_>, editor: &Editor, pattern: PatternId) -> Result<(), StoreError> {
    subscriptions::unwant_of_pattern(db, editor, pattern).await?;
    for statement in [
        "delete from tap_events where endpoint_id in (select id from webhook_endpoints where pattern_id = ?) and ",
        "delete from webhook_logs where pattern_id = ? and ",
        "delete from webhook_endpoints where pattern_id = ? and ",
        "delete from email_endpoints where pattern_id = ? and ",
        "update schedules set next_due_at = null
         where deployment_id in (select id from deployments where pattern_id = ?) and ",
    ] {
        let statement = sql(statement).bind(pattern);
        db.execute(rights::pattern(statement, editor, pattern)).await?;
    }
    notices::tell(db, Notice::Endpoints(pattern)).await
}

const ENDPOINT: &str =
    "select id, pattern_id, nullif(slot, '') as slot_environment_id, workspace_id, node_id, webhook_id, alias, scheme, parameters,
    secret_key_id, secret, is_present, exists (select 1 from workspaces w where w.id = webhook_endpoints.workspace_id
    and w.suspended_at is not null) as is_suspended from webhook_endpoints ";

/// The endpoint under this URL, for the ingestion.
pub async fn for_ingestion(db: &mut Db<'_>, webhook_id: &str) -> Result<Option<EndpointRow>, StoreError> {
    db.optional(sql(ENDPOINT).push("where webhook_id = ?").bind(webhook_id))
        .await
}

/// The run that an event with this key made at this endpoint, for the ingestion.
pub async fn key_holder_for_ingestion(
    db: &mut Db<'_>,
    endpoint: EndpointId,
    key: &str,
    now: Timestamp,
) -> Result<Option<RunId>, StoreError> {
    let holder = sql("select run_id from idempotency_keys where scope = ? and key = ? and expires_at > ?");
    let found: Option<(RunId,)> = db.optional(holder.bind(endpoint).bind(key).bind(now)).await?;
    Ok(found.map(|(run,)| run))
}

/// The endpoints of a deployment that the caller may see, oldest first.
pub async fn in_slot(db: &mut Db<'_>, scope: &Scope, slot: Slot) -> Result<Vec<EndpointRow>, StoreError> {
    let query = sql(ENDPOINT).push("where pattern_id = ? and slot = ? and ");
    let query = rights::pattern(query.bind(slot.pattern).bind(slot.name()), scope, slot.pattern);
    db.all(query.push(" order by created_at, id")).await
}

/// Gives an endpoint of a pattern that the caller may change another secret.
pub async fn set_secret(
    db: &mut Db<'_>,
    vault: &Vault,
    editor: &Editor,
    endpoint: &EndpointRow,
    secret: &str,
) -> Result<(), VaultError> {
    let update = with_secret(db, vault, endpoint, secret).await?.push(" and ");
    db.execute(rights::pattern(update, editor, endpoint.pattern_id))
        .await?;
    subscriptions::make_again(db, endpoint.id).await?;
    Ok(notices::tell(db, Notice::Endpoints(endpoint.pattern_id)).await?)
}

/// Gives an endpoint another secret, if nothing is added about whose it is.
async fn with_secret(
    db: &mut Db<'_>,
    vault: &Vault,
    endpoint: &EndpointRow,
    secret: &str,
) -> Result<Sql, VaultError> {
    let name = row_name(endpoint.id);
    let sealed = vault
        .seal(db, endpoint.workspace_id, &name, secret.as_bytes())
        .await?;
    let update = sql("update webhook_endpoints set secret_key_id = ?, secret = ? where id = ?");
    Ok(update.bind(sealed.data_key).bind(sealed.bytes).bind(endpoint.id))
}

/// The endpoint with this id, for whoever tells services of it.
pub async fn by_id_for_system(
    db: &mut Db<'_>,
    endpoint: EndpointId,
) -> Result<Option<EndpointRow>, StoreError> {
    db.optional(sql(ENDPOINT).push("where id = ?").bind(endpoint))
        .await
}

/// Gives an endpoint the secret that its service has chosen.
pub async fn set_secret_for_system(
    db: &mut Db<'_>,
    vault: &Vault,
    endpoint: &EndpointRow,
    secret: &str,
) -> Result<(), VaultError> {
    let update = with_secret(db, vault, endpoint, secret).await?;
    db.execute(update).await?;
    Ok(notices::tell(db, Notice::Endpoints(endpoint.pattern_id)).await?)
}

/// An address of a pattern.
#[derive(Clone, Debug, FromRow)]
pub struct MailboxRow {
    /// UUIDv7, so that ids sort by time of creation.
    pub id: EndpointId,
    /// The pattern that the node belongs to.
    pub pattern_id: PatternId,
    /// The environment of the slot that it belongs to; `None`: the main one.
    pub slot_environment_id: Option<EnvironmentId>,
    pub node_id: String,
    /// What stands before the @.
    pub mailbox: String,
    /// What people call it.
    pub alias: String,
    /// Whether the newest version has the node.
    pub is_present: bool,
}

impl MailboxRow {
    /// Whose runs it starts.
    pub const fn slot(&self) -> Slot {
        Slot {
            pattern: self.pattern_id,
            environment: self.slot_environment_id,
        }
    }
}

const MAILBOX: &str =
    "select id, pattern_id, nullif(slot, '') as slot_environment_id, node_id, mailbox, alias, is_present
    from email_endpoints ";

/// The mailbox of this name, for incoming mail.
pub async fn mailbox_for_ingestion(db: &mut Db<'_>, mailbox: &str) -> Result<Option<MailboxRow>, StoreError> {
    db.optional(sql(MAILBOX).push("where mailbox = ?").bind(mailbox))
        .await
}

/// The addresses of a deployment that the caller may see, oldest first.
pub async fn mailboxes_in_slot(
    db: &mut Db<'_>,
    scope: &Scope,
    slot: Slot,
) -> Result<Vec<MailboxRow>, StoreError> {
    let query = sql(MAILBOX).push("where pattern_id = ? and slot = ? and ");
    let query = rights::pattern(query.bind(slot.pattern).bind(slot.name()), scope, slot.pattern);
    db.all(query.push(" order by created_at, id")).await
}
