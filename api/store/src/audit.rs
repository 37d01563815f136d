//! The audit log of workspaces and accounts: entries are added in the transaction of what they tell, read, and removed when
//! they are too old or too many. Nothing changes one, which the database refuses as well.

use super::accounts::email_key;
use super::{Db, Sql, StoreError, sql};
use heddle_model::access::{Administrator, Scope};
use heddle_model::audit::{Action, Note, Object, Origin, Outcome};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{AuditId, UserId, WorkspaceId};
use sqlx_macros::FromRow;

/// Whose log an entry is in.
#[derive(Clone, Copy, Debug)]
pub enum Log {
    /// A workspace's, which its owners and admins read.
    Workspace(WorkspaceId),
    /// An account's, which its user reads.
    Account(UserId),
}

impl Log {
    /// Where what is done with these rights is told: in the workspace, or else in the account.
    pub const fn of(scope: &Scope) -> Self {
        match scope.workspace() {
            Some(workspace) => Log::Workspace(workspace),
            None => Log::Account(scope.user()),
        }
    }
}

/// Tells what the scope's user has done, in the log of the scope's workspace.
pub async fn note(db: &mut Db<'_>, scope: &Scope, note: Note) -> Result<(), StoreError> {
    note_in(db, Log::of(scope), scope, note).await
}

/// Tells what the scope's user has done, in another log.
pub async fn note_in(db: &mut Db<'_>, log: Log, scope: &Scope, note: Note) -> Result<(), StoreError> {
    insert(db, log, Some(scope.user()), scope.origin(), note).await
}

/// Tells what a user has done with their account, who need not have been authenticated before.
pub async fn note_account(
    db: &mut Db<'_>,
    user: UserId,
    origin: Origin,
    note: Note,
) -> Result<(), StoreError> {
    insert(db, Log::Account(user), Some(user), origin, note).await
}

/// Tells what somebody did to an account who is not its user: the operator, or whoever was refused.
pub async fn note_about(
    db: &mut Db<'_>,
    account: UserId,
    origin: Origin,
    note: Note,
) -> Result<(), StoreError> {
    insert(db, Log::Account(account), None, origin, note).await
}

/// Tells in a workspace's log what somebody did who has no rights there: the operator, or a user who removes their account.
pub async fn note_in_workspace(
    db: &mut Db<'_>,
    workspace: WorkspaceId,
    (actor, origin): (Option<UserId>, Origin),
    note: Note,
) -> Result<(), StoreError> {
    insert(db, Log::Workspace(workspace), actor, origin, note).await
}

/// Whether the scope's user has read this object's secrets after `since`, by the same means.
pub async fn has_read(
    db: &mut Db<'_>,
    scope: &Scope,
    object: &Object,
    since: Timestamp,
) -> Result<bool, StoreError> {
    let key = scope.origin().api_key.map(|key| key.to_string());
    let query = of_log(sql("select at from audit_entries where "), Log::of(scope))
        .push(
            " and at > ? and action = ? and actor_id = ? and object_id = ? and coalesce(api_key_id, '') = ?",
        )
        .bind(since)
        .bind(Action::WebhookSecretRead)
        .bind(scope.user())
        .bind(object.id())
        .bind(key.unwrap_or_default());
    let found: Option<(i64,)> = db.optional(query.push(" limit 1")).await?;
    Ok(found.is_some())
}

async fn insert(
    db: &mut Db<'_>,
    log: Log,
    actor: Option<UserId>,
    origin: Origin,
    note: Note,
) -> Result<(), StoreError> {
    let (workspace, account) = match log {
        Log::Workspace(workspace) => (Some(workspace), None),
        Log::Account(account) => (None, Some(account)),
    };
    let details = serde_json::to_string(&note.details).unwrap_or_default();
    // Names as they are now: an entry must tell who and what it was when both are gone.
    let insert = sql(
        "insert into audit_entries (id, workspace_id, account_id, at, action, outcome, actor_id, address, api_key_id,
         object_kind, object_id, details, actor_email, actor_name, api_key_name, object_name, object_within)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,
         (select email from users where id = ?), (select first_name || ' ' || last_name from users where id = ?),
         (select name from api_keys where id = ?), ",
    )
    .bind(AuditId::new())
    .bind(workspace)
    .bind(account)
    .bind(origin.at)
    .bind(note.action)
    .bind(note.outcome)
    .bind(actor)
    .bind(origin.address.map(|address| address.to_string()))
    .bind(origin.api_key)
    .bind(note.object.kind())
    .bind(note.object.id())
    .bind(details)
    .bind(actor)
    .bind(actor)
    .bind(origin.api_key);
    let insert = names(insert, &note.object).push(")");
    db.execute(insert).await.map(drop)
}

/// An object's name, and the name of what it is in.
fn names(query: Sql, object: &Object) -> Sql {
    let (name, within) = match object {
        Object::Secret(environment, name) => {
            return query
                .push("?, (select name from environments where id = ?)")
                .bind(name)
                .bind(*environment);
        }
        Object::Run(deployment, _) => {
            let pattern = "null, (select coalesce(p.name, d.pattern_name) from deployments d
                 left join patterns p on p.id = d.pattern_id where d.id = ?)";
            return query.push(pattern).bind(*deployment);
        }
        Object::User(_) => ("(select email from users where id = ?)", "null"),
        Object::Session(_) | Object::InvitationLink(_) => ("null", "null"),
        Object::ApiKey(_) => ("(select name from api_keys where id = ?)", "null"),
        Object::Workspace(_) => ("(select name from workspaces where id = ?)", "null"),
        Object::Invitation(_) => ("(select email from invitations where id = ?)", "null"),
        Object::Environment(_) => ("(select name from environments where id = ?)", "null"),
        Object::Connection(_) => ("(select display_name from connections where id = ?)", "null"),
        Object::Pattern(_) => ("(select name from patterns where id = ?)", "null"),
        Object::Test(_) => (
            "(select name from pattern_tests where id = ?)",
            "(select p.name from pattern_tests t join patterns p on p.id = t.pattern_id where t.id = ?)",
        ),
        Object::Deployment(_) => (
            "(select coalesce(p.name, d.pattern_name) from deployments d
              left join patterns p on p.id = d.pattern_id where d.id = ?)",
            "(select e.name from deployments d join environments e on e.id = d.environment_id where d.id = ?)",
        ),
        Object::Endpoint(_) => (
            "(select alias from webhook_endpoints where id = ?)",
            "(select p.name from webhook_endpoints w join patterns p on p.id = w.pattern_id where w.id = ?)",
        ),
    };
    let arguments = name.matches('?').count() + within.matches('?').count();
    let query = query.push(name).push(", ").push(within);
    (0..arguments).fold(query, |query, _| query.bind(object.id()))
}

#[derive(Clone, Debug, FromRow)]
pub struct EntryRow {
    /// UUIDv7.
    pub id: AuditId,
    /// The workspace whose log it is in; none: an account's.
    pub workspace_id: Option<String>,
    /// When it was done.
    pub at: Timestamp,
    /// What was done; a newer version may know more actions than this one.
    pub action: String,
    /// How it ended.
    pub outcome: String,
    /// Who did it.
    pub actor_id: Option<String>,
    /// Their email then.
    pub actor_email: Option<String>,
    /// Their name then.
    pub actor_name: Option<String>,
    /// The API key by which they did it.
    pub api_key_id: Option<String>,
    pub api_key_name: Option<String>,
    /// The client's address.
    pub address: Option<String>,
    pub object_kind: String,
    pub object_id: String,
    /// Its name then.
    pub object_name: Option<String>,
    /// The name of what it is in.
    pub object_within: Option<String>,
    /// More of it, as JSON.
    pub details: String,
}

/// Which entries a list shows.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Done then or later.
    pub from: Option<Timestamp>,
    /// Done before.
    pub to: Option<Timestamp>,
    /// By this user or API key, by id; or by this user, by email.
    pub actor: Option<String>,
    /// This action, or all actions on this kind of object.
    pub action: Option<String>,
    /// On the object of this id or name.
    pub object: Option<String>,
    /// After this one in the list.
    pub after: Option<(Timestamp, AuditId)>,
}

/// Whose entries are read, and with which right.
#[derive(Clone, Copy, Debug)]
pub enum Reading {
    /// The entries of the administrator's workspace.
    Workspace(Administrator),
    /// The entries of the caller's own account.
    Account(UserId),
    /// All of the service, for its admins.
    Service,
}

/// A page of entries, the newest first.
pub async fn page(
    db: &mut Db<'_>,
    reading: Reading,
    filter: &Filter,
    limit: i64,
) -> Result<Vec<EntryRow>, StoreError> {
    let query = sql(
        "select id, workspace_id, at, action, outcome, actor_id, actor_email, actor_name, api_key_id,
         api_key_name, address, object_kind, object_id, object_name, object_within, details
         from audit_entries where ",
    );
    let query = match reading {
        Reading::Workspace(administrator) => query.push("workspace_id = ?").bind(administrator.workspace()),
        Reading::Account(user) => of_log(query, Log::Account(user)),
        Reading::Service => query.push("at is not null"),
    };
    let query = filtered(query, filter).push(" order by at desc, id desc limit ?");
    db.all(query.bind(limit)).await
}

fn of_log(query: Sql, log: Log) -> Sql {
    match log {
        Log::Workspace(workspace) => query.push("workspace_id = ?").bind(workspace),
        Log::Account(account) => query.push("account_id = ?").bind(account),
    }
}

fn filtered(mut query: Sql, filter: &Filter) -> Sql {
    if let Some(from) = filter.from {
        query = query.push(" and at >= ?").bind(from);
    }
    if let Some(to) = filter.to {
        query = query.push(" and at < ?").bind(to);
    }
    if let Some(actor) = &filter.actor {
        query = query
            .push(" and (actor_id = ? or api_key_id = ? or lower(actor_email) = ?)")
            .bind(actor)
            .bind(actor)
            .bind(email_key(actor));
    }
    if let Some(action) = &filter.action {
        query = query
            .push(" and (action = ? or action like ?)")
            .bind(action)
            .bind(format!("{action}.%"));
    }
    if let Some(object) = &filter.object {
        query = query
            .push(" and (object_id = ? or object_name = ?)")
            .bind(object)
            .bind(object);
    }
    if let Some((at, id)) = filter.after {
        query = query
            .push(" and at <= ? and (at < ? or id < ?)")
            .bind(at)
            .bind(at)
            .bind(id);
    }
    query
}

/// Removes entries that are older, for the service's housekeeping; how many.
pub async fn remove_before_for_system(
    db: &mut Db<'_>,
    before: Timestamp,
    limit: i64,
) -> Result<u64, StoreError> {
    let delete = "delete from audit_entries where id in
         (select id from audit_entries where at < ? order by at, id limit ?)";
    db.execute(sql(delete).bind(before).bind(limit)).await
}

/// Logs with more entries than these, and how many they have, for the service's housekeeping.
pub async fn surplus_for_system(db: &mut Db<'_>, entries_max: i64) -> Result<Vec<(Log, i64)>, StoreError> {
    let workspaces = "select workspace_id, count(*) from audit_entries where workspace_id is not null
         group by workspace_id having count(*) > ?";
    let accounts = "select account_id, count(*) from audit_entries where account_id is not null
         group by account_id having count(*) > ?";
    let workspaces: Vec<(WorkspaceId, i64)> = db.all(sql(workspaces).bind(entries_max)).await?;
    let accounts: Vec<(UserId, i64)> = db.all(sql(accounts).bind(entries_max)).await?;
    let workspaces = workspaces
        .into_iter()
        .map(|(id, count)| (Log::Workspace(id), count));
    let accounts = accounts.into_iter().map(|(id, count)| (Log::Account(id), count));
    Ok(workspaces.chain(accounts).collect())
}

/// Removes the oldest entries of a log, for the service's housekeeping; how many.
pub async fn remove_oldest_for_system(db: &mut Db<'_>, log: Log, limit: i64) -> Result<u64, StoreError> {
    let delete = sql("delete from audit_entries where id in (select id from audit_entries where ");
    let delete = of_log(delete, log).push(" order by at, id limit ?)");
    db.execute(delete.bind(limit)).await
}

/// The user whom somebody tried to sign in as, by email.
pub async fn account_of(db: &mut Db<'_>, email: &str) -> Result<Option<UserId>, StoreError> {
    let select = sql("select id from users where email_key = ?").bind(email_key(email));
    let found: Option<(UserId,)> = db.optional(select).await?;
    Ok(found.map(|(user,)| user))
}

/// That somebody was refused who tried to sign in as a user.
pub fn refused(user: UserId) -> Note {
    Action::SignInRefused
        .of(Object::User(user))
        .ended(Outcome::Refused)
}
