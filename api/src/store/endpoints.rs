//! Webhook endpoints and e-mail addresses: one for each such node of a pattern, for as long as the pattern exists,
//! so that an address survives undeploying, redeploying and even a version without the node.

use super::notices::{self, Notice};
use super::{Db, StoreError, sql};
use crate::access::{Editor, Scope};
use crate::clock::Timestamp;
use crate::error::{ApiError, Code};
use crate::ids::{DataKeyId, EndpointId, PatternId, RunId, WorkspaceId};
use crate::signature::Scheme;
use crate::vault::{Sealed, Vault, VaultError};
use heddle_compiler::compare::NODES_MAX;
use heddle_compiler::text;
use serde_json::value::RawValue;
use sqlx::FromRow;
use std::collections::{HashMap, HashSet};

/// A node that others reach from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNode {
    /// Id in the graph.
    pub node_id: String,
    /// What people call it.
    pub alias: String,
    /// By what it is reached.
    pub kind: HookKind,
}

/// By what a node is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookKind {
    /// OnWebhook.
    Webhook(Scheme),
    /// OnEmail.
    Email,
}

/// Characters of an alias; the rest is cut off.
const ALIAS_CHARS_MAX: usize = 100;
/// Bytes of a node's id, as the compiler takes it.
const NODE_ID_BYTES_MAX: usize = 64;
/// Endpoints of one pattern; a draft's further nodes have none.
const HOOKS_MAX: usize = 500;
/// Endpoints of one pattern with those of earlier versions.
const KEPT_MAX: usize = 2_000;

/// The nodes of a graph that need an endpoint. The graph may be a draft: what can't be read has none.
pub fn hooks(graph: &str) -> Vec<HookNode> {
    let [nodes] = text::pick(graph, ["nodes"]).unwrap_or_default();
    let nodes = text::elements(nodes, NODES_MAX).unwrap_or_default();
    let mut hooks: Vec<HookNode> = Vec::new();
    for hook in nodes.into_iter().filter_map(hook) {
        if hooks.len() < HOOKS_MAX && hooks.iter().all(|known| known.node_id != hook.node_id) {
            hooks.push(hook);
        }
    }
    hooks
}

fn hook(node: &RawValue) -> Option<HookNode> {
    let [id, node_type, data] = text::pick(node.get(), ["id", "type", "data"])?;
    let node_type = text::string(node_type?)?;
    if node_type != "OnWebhook" && node_type != "OnEmail" {
        return None;
    }
    let node_id = text::string(id?).filter(|id| is_node_id(id))?;
    let picked = data.and_then(|data| text::pick(data.get(), ["label", "parameters"]));
    let [label, parameters] = picked.unwrap_or_default();
    let picked = parameters.and_then(|parameters| text::pick(parameters.get(), ["alias", "scheme"]));
    let [alias, scheme] = picked
        .unwrap_or_default()
        .map(|value| value.and_then(text::string));
    let kind = match &*node_type {
        "OnWebhook" => HookKind::Webhook(scheme.and_then(|name| Scheme::named(&name)).unwrap_or_default()),
        _ => HookKind::Email,
    };
    let alias = alias.or_else(|| text::string(label?));
    let alias = alias.as_deref().map(str::trim).filter(|alias| !alias.is_empty());
    let printable = alias.unwrap_or(&node_id).chars().filter(|c| !c.is_control());
    Some(HookNode {
        alias: printable.take(ALIAS_CHARS_MAX).collect(),
        kind,
        node_id: node_id.into_owned(),
    })
}

/// Whether it can be deployed, which keeps its length within what an index takes.
fn is_node_id(id: &str) -> bool {
    (1..=NODE_ID_BYTES_MAX).contains(&id.len())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"_.:-".contains(&byte))
}

/// A webhook endpoint.
#[derive(Clone, Debug, FromRow)]
pub struct EndpointRow {
    /// Id.
    pub id: EndpointId,
    /// Whose node it is.
    pub pattern_id: PatternId,
    /// The pattern's workspace.
    pub workspace_id: Option<WorkspaceId>,
    /// The node.
    pub node_id: String,
    /// The unguessable part of the URL.
    pub webhook_id: String,
    /// What people call it.
    pub alias: String,
    /// How senders sign, in the newest version.
    scheme: String,
    secret_key_id: DataKeyId,
    secret: Vec<u8>,
    /// Whether the newest version has the node.
    pub is_present: bool,
}

impl EndpointRow {
    /// How senders sign, in the newest version.
    pub fn scheme(&self) -> Scheme {
        Scheme::named(&self.scheme).unwrap_or_default()
    }

    /// The secret.
    pub async fn secret(&self, db: &mut Db<'_>, vault: &Vault) -> Result<String, VaultError> {
        let sealed = Sealed {
            data_key: self.secret_key_id,
            bytes: self.secret.clone(),
        };
        let bytes = vault
            .open(db, self.workspace_id, &row_name(self.id), &sealed)
            .await?;
        String::from_utf8(bytes).map_err(|_| VaultError::Unopenable)
    }
}

fn row_name(id: EndpointId) -> String {
    format!("webhook_endpoints/{id}")
}

/// 128 random bits.
fn unguessable() -> String {
    hex::encode(crate::entropy::random::<[u8; 16]>())
}

/// An endpoint or an address as it is stored.
#[derive(FromRow)]
struct Known {
    node_id: String,
    alias: String,
    /// None of an address.
    scheme: Option<String>,
    is_present: bool,
}

impl Known {
    fn is(&self, hook: &HookNode) -> bool {
        let scheme = match hook.kind {
            HookKind::Webhook(scheme) => Some(scheme.name()),
            HookKind::Email => None,
        };
        self.is_present && self.alias == hook.alias && self.scheme.as_deref() == scheme
    }
}

/// Makes the endpoints of a pattern those of its newest version. Endpoints whose node is gone are kept, for the
/// deployed version or a rollback to be reached under the same address. Writes nothing but what is different.
pub async fn sync(
    db: &mut Db<'_>,
    vault: &Vault,
    owner: (PatternId, Option<WorkspaceId>),
    hooks: &[HookNode],
    now: Timestamp,
) -> Result<(), ApiError> {
    let (pattern, _) = owner;
    let webhooks =
        sql("select node_id, alias, scheme, is_present from webhook_endpoints where pattern_id = ?");
    let mailboxes = sql(
        "select node_id, alias, cast(null as text) as scheme, is_present from email_endpoints where pattern_id = ?",
    );
    let webhooks: Vec<Known> = db.all(webhooks.bind(pattern)).await?;
    let mailboxes: Vec<Known> = db.all(mailboxes.bind(pattern)).await?;
    let is_webhook = |hook: &HookNode| matches!(hook.kind, HookKind::Webhook(_));
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
                "The pattern has had {} webhooks and addresses of one kind, which all keep theirs; {KEPT_MAX} are \
                 allowed: clone the pattern to begin anew.",
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
            match (hook.kind, known) {
                (HookKind::Webhook(scheme), Some(_)) => set_webhook(db, pattern, hook, scheme).await?,
                (HookKind::Webhook(scheme), None) => {
                    add_webhook(db, vault, owner, (hook, scheme), now).await?;
                }
                (HookKind::Email, _) => sync_email(db, pattern, hook, now).await?,
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

async fn set_webhook(
    db: &mut Db<'_>,
    pattern: PatternId,
    hook: &HookNode,
    scheme: Scheme,
) -> Result<(), StoreError> {
    let known = sql(
        "update webhook_endpoints set is_present = true, alias = ?, scheme = ?
                     where pattern_id = ? and node_id = ?",
    )
    .bind(&hook.alias)
    .bind(scheme.name())
    .bind(pattern)
    .bind(&hook.node_id);
    db.execute(known).await?;
    Ok(())
}

async fn add_webhook(
    db: &mut Db<'_>,
    vault: &Vault,
    (pattern, workspace): (PatternId, Option<WorkspaceId>),
    (hook, scheme): (&HookNode, Scheme),
    now: Timestamp,
) -> Result<(), VaultError> {
    let id = EndpointId::new();
    let secret = scheme.new_secret();
    let sealed = vault
        .seal(db, workspace, &row_name(id), secret.as_bytes())
        .await?;
    db.execute(
        sql(
            "insert into webhook_endpoints (id, pattern_id, workspace_id, node_id, webhook_id, alias, scheme,
             secret_key_id, secret, is_present, created_at) values (?, ?, ?, ?, ?, ?, ?, ?, ?, true, ?)",
        )
        .bind(id)
        .bind(pattern)
        .bind(workspace)
        .bind(&hook.node_id)
        .bind(unguessable())
        .bind(&hook.alias)
        .bind(scheme.name())
        .bind(sealed.data_key)
        .bind(sealed.bytes)
        .bind(now),
    )
    .await?;
    Ok(())
}

async fn sync_email(
    db: &mut Db<'_>,
    pattern: PatternId,
    hook: &HookNode,
    now: Timestamp,
) -> Result<(), StoreError> {
    db.execute(
        sql(
            "insert into email_endpoints (id, pattern_id, node_id, mailbox, alias, is_present, created_at)
             values (?, ?, ?, ?, ?, true, ?)
             on conflict (pattern_id, node_id) do update set is_present = true, alias = excluded.alias",
        )
        .bind(EndpointId::new())
        .bind(pattern)
        .bind(&hook.node_id)
        .bind(unguessable())
        .bind(&hook.alias)
        .bind(now),
    )
    .await?;
    Ok(())
}

/// Deletes what leads to a pattern, and what came in for it, when the pattern itself is deleted.
pub async fn remove(db: &mut Db<'_>, _: &Editor, pattern: PatternId) -> Result<(), StoreError> {
    for statement in [
        "delete from tap_events where endpoint_id in (select id from webhook_endpoints where pattern_id = ?)",
        "delete from webhook_logs where pattern_id = ?",
        "delete from webhook_endpoints where pattern_id = ?",
        "delete from email_endpoints where pattern_id = ?",
        "update schedules set next_due_at = null
         where deployment_id in (select id from deployments where pattern_id = ?)",
    ] {
        db.execute(sql(statement).bind(pattern)).await?;
    }
    notices::tell(db, Notice::Endpoints(pattern)).await
}

const ENDPOINT: &str =
    "select id, pattern_id, workspace_id, node_id, webhook_id, alias, scheme, secret_key_id, secret,
    is_present from webhook_endpoints ";

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

/// All endpoints of a pattern that the caller has been shown to see, oldest first.
pub async fn of_pattern(
    db: &mut Db<'_>,
    _: &Scope,
    pattern: PatternId,
) -> Result<Vec<EndpointRow>, StoreError> {
    let order = " order by created_at, id";
    db.all(
        sql(ENDPOINT)
            .push("where pattern_id = ?")
            .bind(pattern)
            .push(order),
    )
    .await
}

/// Gives an endpoint of a pattern that the caller may change another secret.
pub async fn set_secret(
    db: &mut Db<'_>,
    vault: &Vault,
    _: &Editor,
    endpoint: &EndpointRow,
    secret: &str,
) -> Result<(), VaultError> {
    let name = row_name(endpoint.id);
    let sealed = vault
        .seal(db, endpoint.workspace_id, &name, secret.as_bytes())
        .await?;
    db.execute(
        sql("update webhook_endpoints set secret_key_id = ?, secret = ? where id = ?")
            .bind(sealed.data_key)
            .bind(sealed.bytes)
            .bind(endpoint.id),
    )
    .await?;
    Ok(notices::tell(db, Notice::Endpoints(endpoint.pattern_id)).await?)
}

/// An address of a pattern.
#[derive(Clone, Debug, FromRow)]
pub struct MailboxRow {
    /// Id.
    pub id: EndpointId,
    /// Whose node it is.
    pub pattern_id: PatternId,
    /// The node.
    pub node_id: String,
    /// What stands before the @.
    pub mailbox: String,
    /// What people call it.
    pub alias: String,
    /// Whether the newest version has the node.
    pub is_present: bool,
}

const MAILBOX: &str = "select id, pattern_id, node_id, mailbox, alias, is_present from email_endpoints ";

/// The mailbox of this name, for incoming mail.
pub async fn mailbox_for_ingestion(db: &mut Db<'_>, mailbox: &str) -> Result<Option<MailboxRow>, StoreError> {
    db.optional(sql(MAILBOX).push("where mailbox = ?").bind(mailbox))
        .await
}

/// All addresses of a pattern that the caller has been shown to see, oldest first.
pub async fn mailboxes(
    db: &mut Db<'_>,
    _: &Scope,
    pattern: PatternId,
) -> Result<Vec<MailboxRow>, StoreError> {
    let order = " order by created_at, id";
    db.all(
        sql(MAILBOX)
            .push("where pattern_id = ?")
            .bind(pattern)
            .push(order),
    )
    .await
}

#[cfg(test)]
mod tests {
    use super::{HookKind, HookNode, hooks};
    use crate::signature::Scheme;
    use serde_json::json;

    fn hook(node_id: &str, alias: &str, kind: HookKind) -> HookNode {
        HookNode {
            node_id: node_id.to_owned(),
            alias: alias.to_owned(),
            kind,
        }
    }

    #[test]
    fn nodes_reached_from_outside_are_found_in_any_draft() {
        let graph = json!({"nodes": [
            {"id": "a", "type": "OnWebhook", "data": {"parameters": {"alias": " orders ", "scheme": "github"}}},
            {"id": "b", "type": "OnWebhook", "data": {"label": "Payments", "parameters": {"scheme": "no such"}}},
            {"id": "c", "type": "OnWebhook"},
            {"id": "c", "type": "OnWebhook", "data": {"label": "the id is taken"}},
            {"id": "d", "type": "OnEmail", "data": 7},
            {"id": "e", "type": "OnManual"},
            {"id": "f\u{0}", "type": "OnWebhook"},
            {"type": "OnWebhook"},
            "nonsense",
        ]});
        let found = [
            hook("a", "orders", HookKind::Webhook(Scheme::Github)),
            hook("b", "Payments", HookKind::Webhook(Scheme::Heddle)),
            hook("c", "c", HookKind::Webhook(Scheme::Heddle)),
            hook("d", "d", HookKind::Email),
        ];
        assert_eq!(hooks(&graph.to_string()), found);
    }

    #[test]
    fn what_is_no_graph_has_none() {
        for graph in [json!(null), json!({}), json!({"nodes": {}}), json!([1])] {
            assert_eq!(hooks(&graph.to_string()), []);
        }
    }

    #[test]
    fn an_alias_is_one_line_of_bounded_length() {
        let alias = format!("two\nlines {}", "x".repeat(1000));
        let graph = json!({"nodes": [
            {"id": "a", "type": "OnWebhook", "data": {"parameters": {"alias": alias}}},
        ]});
        let found = hooks(&graph.to_string());
        assert!(found[0].alias.starts_with("twolines x"));
        assert_eq!(found[0].alias.chars().count(), 100);
    }
}
