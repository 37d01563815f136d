//! What can be done with patterns: made, saved as a new version, taken back to an old one, deleted. Knows nothing
//! of HTTP.

use crate::access::{Editor, Scope};
use crate::app::App;
use crate::error::{ApiError, Code};
use crate::ids::PatternId;
use crate::quota::{Quota, Quotas};
use crate::store::endpoints::{self, hooks};
use crate::store::patterns::{self, PatternRow, Tags};
use crate::store::quota::{self, Payer};
use crate::store::{Db, StoreError, deployments, versions};
use crate::vault::Vault;
use heddle_compiler::compare::compare;
use serde_json::Value;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Characters of a name.
pub const NAME_CHARS_MAX: usize = 200;

/// A graph: its text as it came, which is what is kept, and what it means.
#[derive(Clone, Debug)]
pub struct Graph {
    text: String,
    value: Value,
}

impl Graph {
    /// A graph that was sent as the field at `path`. Drafts may be unfinished: any object will do.
    pub fn read(path: &str, raw: &RawValue) -> Result<Graph, ApiError> {
        let value: Value = serde_json::from_str(raw.get())
            .map_err(|error| ApiError::field(path, format!("can't be read: {error}")))?;
        if !value.is_object() {
            return Err(ApiError::field(path, "must be an object with nodes and edges"));
        }
        Ok(Graph {
            text: raw.get().to_owned(),
            value,
        })
    }

    /// A graph that was stored.
    fn stored(text: String, pattern: PatternId) -> Result<Graph, StoreError> {
        let value = serde_json::from_str(&text).map_err(|_| corrupt(pattern))?;
        Ok(Graph { text, value })
    }

    /// A graph without anything.
    pub fn empty() -> Graph {
        let value = serde_json::json!({"nodes": [], "edges": []});
        Graph {
            text: value.to_string(),
            value,
        }
    }

    /// Whether nodes and edges are there.
    pub fn has_both_lists(&self) -> bool {
        ["nodes", "edges"]
            .iter()
            .all(|field| self.value[*field].is_array())
    }

    /// What it means.
    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Its JSON.
    pub fn into_json(self) -> Result<Box<RawValue>, ApiError> {
        RawValue::from_string(self.text).map_err(ApiError::internal)
    }
}

fn corrupt(pattern: PatternId) -> StoreError {
    StoreError::Corrupt {
        table: "pattern_versions",
        column: "graph",
        row: pattern.to_string(),
    }
}

/// A pattern to be made.
#[derive(Clone, Debug)]
pub struct NewPattern {
    /// Name.
    pub name: String,
    /// Description.
    pub description: String,
    /// Whether everybody may read it.
    pub is_public: bool,
    /// Whether it is meant to be cloned.
    pub is_template: bool,
    /// Tags.
    pub tags: Vec<String>,
    /// The graph of version 1.
    pub graph: Graph,
    /// `{inputs, outputs}` as JSON.
    pub call_interface: Option<String>,
    /// Where it comes from.
    pub summary: String,
}

/// What is to be different in the next version.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    /// Name.
    pub name: Option<String>,
    /// Description.
    pub description: Option<String>,
    /// Whether everybody may read it.
    pub is_public: Option<bool>,
    /// Whether it is meant to be cloned.
    pub is_template: Option<bool>,
    /// Tags.
    pub tags: Option<Vec<String>>,
    /// The graph.
    pub graph: Option<Graph>,
    /// What changed; `None`: is found out.
    pub summary: Option<String>,
    /// The version that must be the newest.
    pub based_on: Option<i64>,
}

/// A pattern that the caller may look at.
pub async fn readable(db: &mut Db<'_>, scope: &Scope, id: PatternId) -> Result<PatternRow, ApiError> {
    Ok(patterns::readable(db, scope, id).await?.ok_or(Code::NotFound)?)
}

/// The newest version of a pattern that the caller may look at which they may not see, see [`patterns::hidden_until`].
pub async fn hidden_until(db: &mut Db<'_>, scope: &Scope, id: PatternId) -> Result<i64, ApiError> {
    Ok(patterns::hidden_until(db, scope, id)
        .await?
        .ok_or(Code::NotFound)?)
}

/// A pattern that the caller may change. Somebody else's that is public is refused as such, any other one as if it
/// did not exist.
pub async fn changeable(db: &mut Db<'_>, editor: &Editor, id: PatternId) -> Result<PatternRow, ApiError> {
    if let Some(row) = patterns::owned(db, editor, id).await? {
        return Ok(row);
    }
    match patterns::readable(db, editor, id).await? {
        Some(_) => Err(Code::Forbidden
            .with("Only its owner's workspace changes this pattern: clone it to have your own.")),
        None => Err(Code::NotFound.into()),
    }
}

/// The graph of a version.
pub async fn graph(db: &mut Db<'_>, id: PatternId, version_number: i64) -> Result<Graph, ApiError> {
    let text = versions::graph(db, id, version_number).await?;
    Ok(Graph::stored(text.ok_or(Code::VersionNotFound)?, id)?)
}

/// The graph that a pattern has now, or had when `row` was read.
pub async fn newest_graph(db: &mut Db<'_>, row: &PatternRow) -> Result<Graph, ApiError> {
    // Deleted in between.
    let text = versions::graph(db, row.id, row.version_number)
        .await?
        .ok_or(Code::NotFound)?;
    Ok(Graph::stored(text, row.id)?)
}

/// Makes a pattern.
pub async fn create(app: &App, editor: Editor, new: NewPattern) -> Result<PatternRow, ApiError> {
    let now = app.clock.now();
    let row = PatternRow {
        id: PatternId::new(),
        owner_id: editor.user(),
        workspace_id: editor.workspace(),
        name: new.name,
        description: new.description,
        is_public: new.is_public,
        is_template: new.is_template,
        tags: Tags(new.tags),
        version_number: 1,
        created_at: now,
        updated_at: now,
        call_interface: new.call_interface,
    };
    let (graph, summary) = (new.graph, new.summary);
    let (vault, quotas) = (app.vault.clone(), app.config.quotas);
    app.store
        .write(move |db| {
            Box::pin(async move {
                patterns::insert(db, &editor, &row).await?;
                versions::add(db, &row, editor.user(), &summary, &graph.text).await?;
                sync(db, &vault, &quotas, &row, &graph).await?;
                let added: [(Payer, &[Quota]); 2] = [
                    (Payer::Pattern(row.id), &[Quota::Endpoints]),
                    (Payer::User(row.owner_id), &[Quota::Patterns, Quota::PatternBytes]),
                ];
                quota::check(db, &quotas, &added).await?;
                Ok(row)
            })
        })
        .await
}

/// Saves a new version, also when nothing is different.
pub async fn save(
    app: &App,
    editor: Editor,
    id: PatternId,
    changes: Changes,
) -> Result<PatternRow, ApiError> {
    let (now, host) = (app.clock.now(), (app.vault.clone(), app.config.quotas));
    let saved = app
        .store
        .write(move |db| {
            Box::pin(async move {
                let mut row = changeable(db, &editor, id).await?;
                if changes
                    .based_on
                    .is_some_and(|version| version != row.version_number)
                {
                    return Err(Code::Conflict.with(format!(
                        "The newest version is {}: somebody saved since you read the pattern.",
                        row.version_number
                    )));
                }
                let before = newest_graph(db, &row).await?;
                let summary = changes
                    .summary
                    .clone()
                    .unwrap_or_else(|| told(&row, &before, &changes));
                apply(&mut row, &changes);
                row.updated_at = now;
                let after = changes.graph.unwrap_or(before);
                next_version(db, &host, &editor, row, &summary, &after).await
            })
        })
        .await?;
    app.webhooks.changed(id);
    Ok(saved)
}

/// Stores a pattern with this graph as its next version.
async fn next_version(
    db: &mut Db<'_>,
    (vault, quotas): &(Arc<Vault>, Quotas),
    editor: &Editor,
    mut row: PatternRow,
    summary: &str,
    graph: &Graph,
) -> Result<PatternRow, ApiError> {
    row.version_number += 1;
    patterns::update(db, editor, &row).await?;
    versions::add(db, &row, editor.user(), summary, &graph.text).await?;
    sync(db, vault, quotas, &row, graph).await?;
    let added: [(Payer, &[Quota]); 2] = [
        (Payer::Pattern(row.id), &[Quota::Versions, Quota::Endpoints]),
        (Payer::User(row.owner_id), &[Quota::PatternBytes]),
    ];
    quota::check(db, quotas, &added).await?;
    Ok(row)
}

/// Gives the nodes of the newest version their addresses.
async fn sync(
    db: &mut Db<'_>,
    vault: &Vault,
    quotas: &Quotas,
    row: &PatternRow,
    graph: &Graph,
) -> Result<(), ApiError> {
    let (owner, hooks) = ((row.id, row.workspace_id), hooks(&graph.value));
    // Before they are made, since each has a secret of its own.
    quotas.allows(Quota::Endpoints, hooks.len())?;
    Ok(endpoints::sync(db, vault, owner, &hooks, row.updated_at).await?)
}

fn apply(row: &mut PatternRow, changes: &Changes) {
    if let Some(name) = &changes.name {
        row.name.clone_from(name);
    }
    if let Some(description) = &changes.description {
        row.description.clone_from(description);
    }
    if let Some(tags) = &changes.tags {
        row.tags.0.clone_from(tags);
    }
    row.is_public = changes.is_public.unwrap_or(row.is_public);
    row.is_template = changes.is_template.unwrap_or(row.is_template);
}

/// What changes, in a few words.
fn told(row: &PatternRow, before: &Graph, changes: &Changes) -> String {
    let mut after = row.clone();
    apply(&mut after, changes);
    let mut told = Vec::new();
    if after.name != row.name {
        told.push(format!("renamed to {}", after.name));
    }
    if after.description != row.description {
        told.push("description changed".to_owned());
    }
    if after.tags != row.tags {
        told.push("tags changed".to_owned());
    }
    match (row.is_public, after.is_public) {
        (false, true) => told.push("made public".to_owned()),
        (true, false) => told.push("made private".to_owned()),
        _ => {}
    }
    match (row.is_template, after.is_template) {
        (false, true) => told.push("made a template".to_owned()),
        (true, false) => told.push("no longer a template".to_owned()),
        _ => {}
    }
    match &changes.graph {
        Some(graph) if told.is_empty() || graph.value != before.value => {
            told.push(compare(&before.value, &graph.value).summary());
        }
        None if told.is_empty() => told.push("nothing changed".to_owned()),
        _ => {}
    }
    told.join(", ")
}

/// Saves the graph of an old version as a new one.
pub async fn rollback(app: &App, editor: Editor, id: PatternId, to: i64) -> Result<PatternRow, ApiError> {
    let (now, host) = (app.clock.now(), (app.vault.clone(), app.config.quotas));
    let saved = app
        .store
        .write(move |db| {
            Box::pin(async move {
                let mut row = changeable(db, &editor, id).await?;
                let graph = graph(db, id, to).await?;
                row.updated_at = now;
                let summary = format!("restored version {to}");
                next_version(db, &host, &editor, row, &summary, &graph).await
            })
        })
        .await?;
    app.webhooks.changed(id);
    Ok(saved)
}

/// Sets or removes the call interface, which is no part of a version.
pub async fn set_call_interface(
    app: &App,
    editor: Editor,
    id: PatternId,
    call_interface: Option<String>,
) -> Result<(), ApiError> {
    app.store
        .write(move |db| {
            Box::pin(async move {
                let mut row = changeable(db, &editor, id).await?;
                row.call_interface = call_interface;
                Ok(patterns::update(db, &editor, &row).await?)
            })
        })
        .await
}

/// Deletes a pattern with all that hangs on it; it is undeployed first.
pub async fn delete(app: &App, editor: Editor, id: PatternId) -> Result<(), ApiError> {
    let now = app.clock.now();
    let deleted = app.store.write(move |db| {
        Box::pin(async move {
            changeable(db, &editor, id).await?;
            deployments::undeploy_deleted(db, &editor, id, now).await?;
            endpoints::remove(db, &editor, id).await?;
            Ok::<(), ApiError>(patterns::delete(db, &editor, id).await?)
        })
    });
    deleted.await?;
    app.executions.pattern_deleted(id);
    app.webhooks.changed(id);
    Ok(())
}
