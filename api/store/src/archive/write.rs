//! Adds rows of an archive to the workspace that was made for them, in the transaction of the caller.

use super::ArchiveError;
use super::adding::{Adding, Row};
use super::fields::arg;
use super::lookups::{Known, account};
use super::names::environment_of;
use super::part::{Column, Kind, Of, Part, Sealed};
use super::parts::{DEPLOYMENTS, JOURNALS, MODULES, PARTS, PEOPLE, RUNS, SCHEDULES, SUBSCRIPTIONS};
use super::read::{MODULE, OPENED, aad};
use super::report::Report;
use crate::db::{Arg, Db, Sql, sql};
use crate::deployments;
use crate::error::StoreError;
use crate::vault::{Sealed as Ciphertext, Vault};
use heddle_model::access::WorkspaceRole;
use heddle_model::ids::{DataKeyId, RunId, WorkspaceId};
use heddle_model::tenant::Tenant;
use secrecy::SecretString;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Rows of one call.
const ROWS_MAX: usize = 20_000;
/// Rows of one statement.
const STATEMENT_ROWS_MAX: usize = 64;
/// How many rows were added.
pub type Added = u64;

impl Adding<'_> {
    /// Adds rows of a part; how many those were.
    pub async fn add(
        &self,
        db: &mut Db<'_>,
        of: &str,
        mut rows: Vec<Row>,
        report: &mut Report,
    ) -> Result<Added, ArchiveError> {
        let part = PARTS.iter().find(|part| part.name == of);
        let part = part.ok_or_else(|| ArchiveError::Wrong(format!("parts of {of} are unknown here")))?;
        if rows.len() > ROWS_MAX {
            return Err(ArchiveError::Wrong(format!("a part of {of} has too many rows")));
        }
        if !self.names.keeps_ids && !part.is_copied {
            return Ok(0);
        }
        match part.name {
            PEOPLE => return self.people(db, part, rows).await,
            MODULES => return self.modules(db, part, rows).await,
            _ => {}
        }
        let known = self.known(db, part, &rows).await?;
        for (number, row) in rows.iter_mut().enumerate() {
            let wrong = |(field, why): (&str, &str)| wrong(part, number, field, why);
            self.adapt(part, row, &known, report).map_err(wrong)?;
        }
        let mut args = Vec::with_capacity(rows.len());
        for (number, row) in rows.into_iter().enumerate() {
            if let Some(row) = self.args(db, part, row, (number, &known, report)).await? {
                args.push(row);
            }
        }
        insert(db, part, args).await
    }

    /// Remembers people, with their accounts here.
    async fn people(&self, db: &mut Db<'_>, part: &Part, rows: Vec<Row>) -> Result<Added, ArchiveError> {
        for (number, mut row) in rows.into_iter().enumerate() {
            let mut take = |column: &'static str| row.remove(column).unwrap_or_default();
            let (id, email) = (take("id"), take("email"));
            let (role, joined_at) = (take("role"), take("joined_at"));
            let (Some(id), Some(email)) = (id.as_str(), email.as_str()) else {
                return Err(wrong(part, number, "email", "must be text"));
            };
            let role = role.as_str();
            if role.is_some_and(|role| WorkspaceRole::try_from(role.to_owned()).is_err()) {
                return Err(wrong(part, number, "role", "is unknown here"));
            }
            if id.len() > 100 || email.len() > 1_000 || email.contains('\0') || id.contains('\0') {
                return Err(wrong(part, number, "email", "is too long"));
            }
            let account = account(db, email, self.wants_verified).await?;
            let insert = sql(
                "insert into imported_names (workspace_id, kind, name, user_id, email, role, joined_at, is_stale)
                 values (?, 'user', ?, ?, ?, ?, ?, ?) on conflict do nothing",
            )
            .bind(self.names.workspace)
            .bind(id)
            .bind(account)
            .bind(email)
            .bind(role)
            .bind(arg(Kind::MaybeInt, joined_at).map_err(|why| wrong(part, number, "joined_at", why))?)
            .bind(false);
            db.execute(insert).await?;
        }
        Ok(0)
    }

    /// Stores modules, as far as they are not there: their names are their hashes. Each is sealed for the workspace.
    async fn modules(&self, db: &mut Db<'_>, part: &Part, rows: Vec<Row>) -> Result<Added, ArchiveError> {
        let named = self.named(db).await?;
        let mut added = 0;
        for (number, row) in rows.into_iter().enumerate() {
            let module = row.get(MODULE).and_then(Value::as_str);
            let module = module.and_then(|module| hex::decode(module).ok());
            let module = module.ok_or_else(|| wrong(part, number, MODULE, "must be a module in hex"))?;
            let hash = hex::encode(Sha256::digest(&module));
            if row.get("hash").and_then(Value::as_str) != Some(&hash) {
                return Err(wrong(part, number, "hash", "must be that of its module"));
            }
            let note = sql(
                "insert into imported_names (workspace_id, kind, name, is_stale) values (?, 'module', ?, ?)
                 on conflict do nothing",
            )
            .bind(self.names.workspace)
            .bind(&hash)
            .bind(self.names.is_stale(&module, &named));
            db.execute(note).await?;
            let insert =
                sql("insert into artifacts (hash, wasm, created_at) values (?, ?, ?) on conflict do nothing");
            added += db.execute(insert.bind(&hash).bind(module).bind(self.now)).await?;
            let tenant = Tenant::Workspace(self.names.workspace);
            // What it may do is in the module, which is read where it is loaded.
            deployments::seal_module(db, self.vault, (hash.as_str(), tenant), "").await?;
        }
        Ok(added)
    }

    /// Makes a row what it is here before its values are looked at: what stands still, and what a copy does not go on with.
    fn adapt(
        &self,
        part: &Part,
        row: &mut Row,
        known: &Known,
        report: &mut Report,
    ) -> Result<(), (&'static str, &'static str)> {
        match part.name {
            DEPLOYMENTS => {
                // As suspending it does.
                if row.get("status") == Some(&json!("active")) {
                    row.insert("status".to_owned(), json!("paused"));
                    row.insert("suspended".to_owned(), json!(true));
                }
                if row.get("status") != Some(&json!("paused")) {
                    row.insert("suspended".to_owned(), json!(true));
                }
                let module = row.get("artifact").and_then(Value::as_str);
                if module.and_then(|module| known.modules.get(module)) == Some(&true) {
                    let why = "It calls patterns of the workspace that this one was copied from: deploy the pattern again.";
                    row.insert("status".to_owned(), json!("failed"));
                    row.insert("suspended".to_owned(), json!(true));
                    row.insert("error_message".to_owned(), json!(why));
                }
            }
            SCHEDULES => {
                let due = row.insert("next_due_at".to_owned(), Value::Null);
                if let Some(due) = due.filter(|due| !due.is_null()) {
                    row.insert("held_due_at".to_owned(), due);
                }
            }
            // Under its address here, as soon as the workspace goes on.
            SUBSCRIPTIONS => {
                row.insert("due_at".to_owned(), self.now.millis().into());
            }
            RUNS => self.adapt_run(row, report),
            JOURNALS if !self.names.keeps_ids => {
                row.insert("is_kept".to_owned(), json!(false));
                row.insert("bytes".to_owned(), json!(0));
            }
            _ => {}
        }
        for Column { name, kind } in part.columns {
            let value = row.remove(*name).unwrap_or_default();
            let value = self.renamed(*kind, value, row, known);
            row.insert((*name).to_owned(), value.map_err(|why| (*name, why))?);
        }
        Ok(())
    }

    fn adapt_run(&self, row: &mut Row, report: &mut Report) {
        let is_running = row.get("status") == Some(&json!("running"));
        if is_running && self.names.keeps_ids {
            return;
        }
        for time in ["wake_at", "resumes_at"] {
            row.insert(time.to_owned(), Value::Null);
        }
        if is_running {
            // The original goes on with it.
            let message = "The run was not continued in this copy of its workspace.";
            let error = json!({"code": "CANCELLED", "message": message});
            row.insert("status".to_owned(), json!("failure"));
            row.insert("error".to_owned(), error.to_string().into());
            row.insert("completed_at".to_owned(), self.now.millis().into());
            report.ended_runs += 1;
        }
        row.insert("phase".to_owned(), json!("ended"));
    }

    /// A value with what it names as that is called here.
    fn renamed(&self, kind: Kind, value: Value, row: &Row, known: &Known) -> Result<Value, &'static str> {
        let is_there = |of: Of, id: &str| known.rows.get(&of).is_some_and(|ids| ids.contains(id));
        let text = value.as_str();
        let needed = || text.ok_or("must be text");
        let id = |text: &str| self.names.id(text).map_err(|_| "must be an id");
        // What is not there leads nowhere.
        let was = |of: Of, former: &str| {
            let id = id(former)?;
            Ok::<String, &'static str>(match is_there(of, &id) {
                true => id,
                false => self.names.other(former),
            })
        };
        Ok(match kind {
            Kind::Id => id(needed()?)?.into(),
            Kind::Within(of) => {
                let id = id(needed()?)?;
                match is_there(of, &id) {
                    true => id.into(),
                    false => return Err("names something that is not in the archive before it"),
                }
            }
            Kind::Was(_) | Kind::Past | Kind::Author if value.is_null() => Value::Null,
            Kind::Was(of) => was(of, needed()?)?.into(),
            Kind::Slot if text == Some("") => value,
            Kind::Slot => was(Of::Environment, needed()?)?.into(),
            Kind::PastOrUser if text.is_some_and(|id| known.users.contains_key(id)) => {
                self.renamed(Kind::Author, value, row, known)?
            }
            Kind::Past | Kind::PastOrUser => {
                let former = needed()?;
                self.names.id(former).unwrap_or_else(|_| former.to_owned()).into()
            }
            Kind::Workspace => self.names.workspace.to_string().into(),
            Kind::Owner => match text.and_then(|user| known.users.get(user)) {
                Some(Some(user)) => user.as_str().into(),
                _ => self.owner.to_string().into(),
            },
            Kind::Author => {
                let former = needed()?;
                match known.users.get(former) {
                    Some(Some(user)) => user.as_str().into(),
                    _ => self.names.other(former).into(),
                }
            }
            // Null: the row is left out.
            Kind::Account => match text.and_then(|user| known.users.get(user)) {
                Some(Some(user)) => user.as_str().into(),
                _ => Value::Null,
            },
            Kind::Module => {
                let hash = needed()?;
                match known.modules.contains_key(hash) {
                    true => value,
                    false => self.names.missing_module(hash).into(),
                }
            }
            Kind::ScopeOfWorkspace => format!("workspace/{}", self.names.workspace).into(),
            Kind::ScopeOfPattern => {
                let pattern = row.get("pattern_id").and_then(Value::as_str);
                let pattern = id(pattern.ok_or("needs a pattern")?)?;
                // Archives of earlier versions don't tell it.
                match text.and_then(environment_of) {
                    Some(former) => format!("pattern/{pattern}/{}", was(Of::Environment, former)?).into(),
                    None => format!("pattern/{pattern}").into(),
                }
            }
            Kind::Json(..) if !known.named.is_empty() => match value {
                Value::String(text) => self.names.rewritten(text, &known.named).into(),
                value => value,
            },
            _ => value,
        })
    }

    /// A row's arguments, with its secret encrypted; `None`: it is left out.
    async fn args(
        &self,
        db: &mut Db<'_>,
        part: &Part,
        mut row: Row,
        (number, known, report): (usize, &Known, &mut Report),
    ) -> Result<Option<Vec<Arg>>, ArchiveError> {
        let mut args = Vec::with_capacity(part.columns.len() + 2);
        let ciphertext = match part.sealed {
            Some(sealed) => Some(self.sealed(db, part, (number, sealed), &row).await?),
            None => None,
        };
        for Column { name, kind } in part.columns {
            let value = row.remove(*name).unwrap_or_default();
            if matches!(kind, Kind::Account) && value.is_null() {
                report.left_out += 1;
                return Ok(None);
            }
            let value = match (kind, value.as_str()) {
                (Kind::Address(of), Some(address)) => address_here(*of, address, known, report),
                _ => value,
            };
            args.push(arg(*kind, value).map_err(|why| wrong(part, number, name, why))?);
        }
        if let Some(ciphertext) = ciphertext {
            args.push(ciphertext.data_key.into());
            args.push(ciphertext.bytes.into());
        }
        if part.name == RUNS {
            // Nobody's, until somebody takes it up.
            args.push("".into());
        }
        Ok(Some(args))
    }

    async fn sealed(
        &self,
        db: &mut Db<'_>,
        part: &Part,
        (number, sealed): (usize, Sealed),
        row: &Row,
    ) -> Result<Ciphertext, ArchiveError> {
        let opened = row.get(OPENED).and_then(Value::as_str);
        let opened = opened.ok_or_else(|| wrong(part, number, OPENED, "must be text"))?;
        let aad = aad(sealed, row).ok_or_else(|| wrong(part, number, "id", "must be text"))?;
        let workspace = Some(self.names.workspace);
        Ok(self.vault.seal(db, workspace, &aad, opened.as_bytes()).await?)
    }

    /// Keeps the keys of callback URLs that runs have made. Rows are `{run, key}`.
    pub async fn add_callbacks(&self, db: &mut Db<'_>, rows: Vec<Row>) -> Result<Added, ArchiveError> {
        if !self.names.keeps_ids {
            return Ok(0);
        }
        let refused = |why: &str| ArchiveError::Wrong(format!("the key of a callback {why}"));
        let runs = rows.iter().filter_map(|row| row.get("run")?.as_str());
        let ids = runs.filter_map(|id| self.names.id(id).ok()).collect();
        let there = self.there(db, Of::Run, ids).await?;
        let mut added = 0;
        for row in rows {
            let run = row.get("run").and_then(Value::as_str);
            let run = run.filter(|run| there.contains(*run));
            let run: RunId = run
                .and_then(|run| run.parse().ok())
                .ok_or_else(|| refused("does not belong to a run in the archive"))?;
            let key = row.get("key").and_then(Value::as_str);
            let key = key
                .filter(|key| key.len() == 64 && key.bytes().all(|byte| byte.is_ascii_hexdigit()))
                .ok_or_else(|| refused("is not valid"))?;
            let workspace = self.names.workspace;
            let sealed = self
                .vault
                .seal(db, Some(workspace), &callback_aad(run), key.as_bytes())
                .await?;
            let insert =
                sql("insert into moved_callbacks (run_id, workspace_id, key_id, key) values (?, ?, ?, ?)")
                    .bind(run)
                    .bind(workspace)
                    .bind(sealed.data_key)
                    .bind(sealed.bytes);
            added += db.execute(insert).await?;
        }
        Ok(added)
    }
}

fn callback_aad(run: RunId) -> String {
    format!("moved_callbacks/{run}")
}

/// The key of a run's callback URLs, if it was moved here from another service.
pub async fn callback_key(
    db: &mut Db<'_>,
    vault: &Vault,
    run: RunId,
) -> Result<Option<SecretString>, ArchiveError> {
    let query = sql("select workspace_id, key_id, key from moved_callbacks where run_id = ?").bind(run);
    let found: Option<(WorkspaceId, DataKeyId, Vec<u8>)> = db.optional(query).await?;
    let Some((workspace, data_key, bytes)) = found else {
        return Ok(None);
    };
    let sealed = Ciphertext { data_key, bytes };
    let opened = vault
        .open(db, Some(workspace), &callback_aad(run), &sealed)
        .await?;
    Ok(Some(crate::secrets::text(opened)?))
}

/// An address, or another one if somebody has it.
fn address_here(of: Of, address: &str, known: &Known, report: &mut Report) -> Value {
    let is_one =
        (16..=64).contains(&address.len()) && address.bytes().all(|byte| byte.is_ascii_alphanumeric());
    if is_one && !known.addresses.contains(address) {
        return address.into();
    }
    let other = hex::encode(heddle_model::entropy::random::<[u8; 16]>());
    report.readdressed(matches!(of, Of::Mailbox), address, &other);
    other.into()
}

fn wrong(part: &Part, number: usize, field: &str, why: &str) -> ArchiveError {
    ArchiveError::Wrong(format!(
        "row {} of a part of {}: {field} {why}",
        number + 1,
        part.name
    ))
}

async fn insert(db: &mut Db<'_>, part: &'static Part, rows: Vec<Vec<Arg>>) -> Result<Added, ArchiveError> {
    let mut added = 0;
    let mut rows = rows.into_iter().peekable();
    while rows.peek().is_some() {
        let mut query = head(part);
        for (number, row) in rows.by_ref().take(STATEMENT_ROWS_MAX).enumerate() {
            query = query.push(if number == 0 { "" } else { ", " }).list(row);
        }
        added += db.execute(query).await.map_err(|error| match error {
            StoreError::Unique => ArchiveError::Wrong(format!(
                "something of a part of {} is here already under the same id: import it with new ids, as a copy",
                part.name
            )),
            error => error.into(),
        })?;
    }
    Ok(added)
}

fn head(part: &'static Part) -> Sql {
    let mut query = sql("insert into ").push(part.table).push(" (");
    for (number, column) in part.columns.iter().enumerate() {
        query = query.push(if number == 0 { "" } else { ", " }).push(column.name);
    }
    if let Some(sealed) = part.sealed {
        let (key, bytes) = sealed.columns();
        query = query.push(", ").push(key).push(", ").push(bytes);
    }
    if part.name == RUNS {
        query = query.push(", owner");
    }
    query.push(") values ")
}
