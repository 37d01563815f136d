//! Operations on patterns: creating, saving new versions, restoring old ones, deleting. Knows nothing about HTTP.

pub mod hooks;

use crate::Service;
use heddle_compiler::compare::{Comparison, EDGES_MAX, Incomparable, NODES_MAX, NOTHING_CHANGED, compare};
use heddle_compiler::text::{self, Fingerprints};
use heddle_execution::blocking::blocking;
use heddle_execution::budget::{self, Share};
use heddle_model::access::{Editor, Scope};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{PatternId, UserId};
use heddle_model::quota::{Quota, Quotas};
use heddle_store::endpoints::{self, HookNode};
use heddle_store::patterns::{self, PatternRow, Tags};
use heddle_store::quota::{self, Payer};
use heddle_store::vault::Vault;
use heddle_store::{Db, StoreError, deployments, versions};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Characters of a name.
pub const NAME_CHARS_MAX: usize = 200;

/// A submitted graph: its original text, which is stored, and the facts derived from it.
#[derive(Clone, Debug)]
pub struct Graph {
    text: Arc<str>,
    has_both_lists: bool,
    hooks: Vec<HookNode>,
}

/// Memory that reading a graph takes, beside its text, for each byte of it.
const READ_FACTOR: usize = 2;
/// The same for comparing two: lists of nodes, and of edges with their names.
const COMPARE_FACTOR: usize = 8;
/// The same for answering with one: the text, and the answer around it.
pub const ANSWER_FACTOR: usize = 3;

impl Graph {
    /// A graph that was sent as the field at `path`. Drafts may be unfinished: any object will do.
    pub async fn read(
        service: &Service,
        owner: UserId,
        path: &'static str,
        raw: Box<RawValue>,
    ) -> Result<Graph, ServiceError> {
        let size = (raw.get().len(), READ_FACTOR);
        let read = move || Graph::read_here(path, raw);
        service.budget.read(Some(owner), size, read).await?
    }

    fn read_here(path: &str, raw: Box<RawValue>) -> Result<Graph, ServiceError> {
        let graph = raw.get();
        // Reads all of it: what no later reader takes is refused now.
        Fingerprints::default()
            .of(graph)
            .map_err(|error| ServiceError::field(path, format!("can't be read: {error}")))?;
        let [nodes, edges] = text::pick(graph, ["nodes", "edges"])
            .ok_or_else(|| ServiceError::field(path, "must be an object with nodes and edges"))?;
        for (list, name, max) in [(nodes, "nodes", NODES_MAX), (edges, "edges", EDGES_MAX)] {
            text::elements(list, max).map_err(|_| {
                ServiceError::field(path, format!("has more than {max} {name}, which is the limit"))
            })?;
        }
        let is_list = |list: Option<&RawValue>| list.is_some_and(|list| list.get().starts_with('['));
        Ok(Graph {
            has_both_lists: is_list(nodes) && is_list(edges),
            hooks: hooks::hooks(graph),
            text: Box::<str>::from(raw).into(),
        })
    }

    /// A graph that was stored.
    async fn stored(service: &Service, owner: UserId, text: String) -> Result<Graph, ServiceError> {
        let size = (text.len(), READ_FACTOR);
        let read = move || Graph {
            has_both_lists: true,
            hooks: hooks::hooks(&text),
            text: text.into(),
        };
        service.budget.read(Some(owner), size, read).await
    }

    /// A graph without anything.
    pub fn empty() -> Graph {
        Graph {
            text: r#"{"nodes":[],"edges":[]}"#.into(),
            has_both_lists: true,
            hooks: Vec::new(),
        }
    }

    /// Whether nodes and edges are there.
    pub fn has_both_lists(&self) -> bool {
        self.has_both_lists
    }

    /// Its JSON.
    pub fn into_json(self) -> Result<Box<RawValue>, ServiceError> {
        RawValue::from_string(String::from(&*self.text)).map_err(ServiceError::internal)
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
pub async fn readable(db: &mut Db<'_>, scope: &Scope, id: PatternId) -> Result<PatternRow, ServiceError> {
    Ok(patterns::readable(db, scope, id).await?.ok_or(Code::NotFound)?)
}

/// The newest version of a pattern that the caller may look at which they may not see, see [`patterns::hidden_until`].
pub async fn hidden_until(db: &mut Db<'_>, scope: &Scope, id: PatternId) -> Result<i64, ServiceError> {
    Ok(patterns::hidden_until(db, scope, id)
        .await?
        .ok_or(Code::NotFound)?)
}

/// A pattern that the caller may change. Somebody else's that is public is refused as such, any other one as if it
/// did not exist.
pub async fn changeable(db: &mut Db<'_>, editor: &Editor, id: PatternId) -> Result<PatternRow, ServiceError> {
    if let Some(row) = patterns::owned(db, editor, id).await? {
        return Ok(row);
    }
    match patterns::readable(db, editor, id).await? {
        Some(_) => Err(Code::Forbidden.with(
            "Only members of its owner's workspace can change this pattern: clone it to get your own copy.",
        )),
        None => Err(Code::NotFound.into()),
    }
}

/// The graph of a version, as JSON, with the memory to answer with it. 404 if the pattern has no such version.
pub async fn graph(
    service: &Service,
    owner: UserId,
    (id, version): (PatternId, i64),
) -> Result<(Box<RawValue>, Option<Share>), ServiceError> {
    let (text, share) = graph_text(service, owner, (id, version), ANSWER_FACTOR).await?;
    // Small ones are looked through here, others where nobody waits for the thread.
    let text = match share {
        None => RawValue::from_string(text),
        Some(_) => blocking(move || RawValue::from_string(text)).await?,
    };
    Ok((text.map_err(|_| corrupt(id))?, share))
}

/// The graph that a pattern has now, or had when `row` was read.
pub async fn newest_graph(
    service: &Service,
    owner: UserId,
    row: &PatternRow,
) -> Result<(Box<RawValue>, Option<Share>), ServiceError> {
    let found = graph(service, owner, (row.id, row.version_number)).await;
    found.map_err(|error| match error.code() {
        // Deleted in between.
        Code::VersionNotFound => Code::NotFound.into(),
        _ => error,
    })
}

/// The text of a version's graph, with `factor` times its size in memory, which is waited for before it is read.
async fn graph_text(
    service: &Service,
    owner: UserId,
    (id, version): (PatternId, i64),
    factor: usize,
) -> Result<(String, Option<Share>), ServiceError> {
    let bytes = versions::graph_bytes(&mut service.store.reader().await?.db(), id, version).await?;
    let bytes = large(bytes.ok_or(Code::VersionNotFound)?);
    let share = service
        .budget
        .take_unless_small(Some(owner), (bytes, factor))
        .await?;
    let text = versions::graph(&mut service.store.reader().await?.db(), id, version).await?;
    Ok((text.ok_or(Code::VersionNotFound)?, share))
}

fn corrupt(pattern: PatternId) -> StoreError {
    StoreError::Corrupt {
        table: "pattern_versions",
        column: "graph",
        row: pattern.to_string(),
    }
}

fn large(bytes: i64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

/// What changed from one version to another.
pub async fn compared(
    service: &Service,
    owner: UserId,
    id: PatternId,
    (before, after): (i64, i64),
) -> Result<Result<Comparison, Incomparable>, ServiceError> {
    let mut bytes = 0usize;
    for version in [before, after] {
        let of_one = versions::graph_bytes(&mut service.store.reader().await?.db(), id, version).await?;
        bytes = bytes.saturating_add(large(of_one.ok_or(Code::VersionNotFound)?));
    }
    let share = service
        .budget
        .take_unless_small(Some(owner), (bytes, COMPARE_FACTOR))
        .await?;
    let mut texts = Vec::new();
    for version in [before, after] {
        let text = versions::graph(&mut service.store.reader().await?.db(), id, version).await?;
        texts.push(text.ok_or(Code::VersionNotFound)?);
    }
    let compare = move || match texts.as_slice() {
        [before, after] => compare(before, after),
        _ => Ok(Comparison::default()),
    };
    let found = match share {
        None => compare(),
        Some(_) => blocking(compare).await?,
    };
    drop(share);
    Ok(found)
}

/// Makes a pattern.
pub async fn create(service: &Service, editor: Editor, new: NewPattern) -> Result<PatternRow, ServiceError> {
    let now = service.clock.now();
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
    let (vault, quotas) = (service.vault.clone(), service.quotas);
    service
        .store
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

/// Maximum number of retries of a save that conflicts with others.
const SAVES_MAX: usize = 4;

/// Saves a new version, also when nothing is different.
///
/// What it says of itself is found out before the write, which others wait for: if another version came in between it
/// is found out again.
pub async fn save(
    service: &Service,
    editor: Editor,
    id: PatternId,
    changes: Changes,
) -> Result<PatternRow, ServiceError> {
    let changes = Arc::new(changes);
    let mut saved = None;
    for left in (0..SAVES_MAX).rev() {
        let seen = changeable(&mut service.store.reader().await?.db(), &editor, id).await?;
        is_newest(&seen, &changes)?;
        let summary = match &changes.summary {
            Some(summary) => summary.clone(),
            None => told(service, editor.user(), &seen, &changes).await?,
        };
        // The last one tells what is different from the version that it saw.
        let wanted = (left > 0 && changes.summary.is_none()).then_some(seen.version_number);
        saved = save_once(service, editor, (id, wanted), changes.clone(), summary).await?;
        if saved.is_some() {
            break;
        }
    }
    service.webhooks.changed(id);
    saved.ok_or_else(|| Code::Conflict.with("Others are saving this pattern at the same time: try again."))
}

fn is_newest(row: &PatternRow, changes: &Changes) -> Result<(), ServiceError> {
    match changes.based_on {
        Some(version) if version != row.version_number => Err(Code::Conflict.with(format!(
            "The newest version is {}: somebody saved the pattern after you read it.",
            row.version_number
        ))),
        _ => Ok(()),
    }
}

/// Saves if the newest version is the expected one, or if none is expected.
async fn save_once(
    service: &Service,
    editor: Editor,
    (id, wanted): (PatternId, Option<i64>),
    changes: Arc<Changes>,
    summary: String,
) -> Result<Option<PatternRow>, ServiceError> {
    let (now, host) = (service.clock.now(), (service.vault.clone(), service.quotas));
    let write = service.store.write(move |db| {
        Box::pin(async move {
            let mut row = changeable(db, &editor, id).await?;
            is_newest(&row, &changes)?;
            if wanted.is_some_and(|version| version != row.version_number) {
                return Ok(None);
            }
            apply(&mut row, &changes);
            row.updated_at = now;
            let graph = match &changes.graph {
                Some(graph) => Next::New(graph),
                None => Next::Of(row.version_number),
            };
            next_version(db, &host, &editor, row, &summary, graph)
                .await
                .map(Some)
        })
    });
    write.await
}

/// The graph of a next version.
enum Next<'g> {
    /// Another one.
    New(&'g Graph),
    /// The newest one's, as it is.
    Of(i64),
    /// An earlier one's, whose nodes may differ from the newest one's.
    Again(i64, &'g Graph),
}

/// Stores a pattern with this graph as its next version.
async fn next_version(
    db: &mut Db<'_>,
    (vault, quotas): &(Arc<Vault>, Quotas),
    editor: &Editor,
    mut row: PatternRow,
    summary: &str,
    graph: Next<'_>,
) -> Result<PatternRow, ServiceError> {
    row.version_number += 1;
    patterns::update(db, editor, &row).await?;
    match graph {
        Next::New(graph) => {
            versions::add(db, &row, editor.user(), summary, &graph.text).await?;
            sync(db, vault, quotas, &row, graph).await?;
        }
        Next::Of(version) => versions::add_again(db, &row, editor.user(), summary, version).await?,
        Next::Again(version, graph) => {
            versions::add_again(db, &row, editor.user(), summary, version).await?;
            sync(db, vault, quotas, &row, graph).await?;
        }
    }
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
) -> Result<(), ServiceError> {
    let owner = (row.id, row.workspace_id);
    // Before they are made, since each has a secret of its own.
    quotas.allows(Quota::Endpoints, graph.hooks.len())?;
    endpoints::sync(db, vault, owner, &graph.hooks, row.updated_at).await
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
async fn told(
    service: &Service,
    owner: UserId,
    row: &PatternRow,
    changes: &Changes,
) -> Result<String, ServiceError> {
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
        Some(graph) => {
            let (before, _share) =
                graph_text(service, owner, (row.id, row.version_number), COMPARE_FACTOR).await?;
            let after = graph.text.clone();
            let compare = move || {
                let is_same = before == *after;
                (is_same, compare(&before, &after).map(|found| found.summary()))
            };
            let (is_same, found) = match budget::is_small(graph.text.len()) {
                true => compare(),
                false => blocking(compare).await?,
            };
            let found = found.unwrap_or_else(|_| "graph changed".to_owned());
            if told.is_empty() || !is_same && found != NOTHING_CHANGED {
                told.push(found);
            }
        }
        None if told.is_empty() => told.push(NOTHING_CHANGED.to_owned()),
        None => {}
    }
    Ok(told.join(", "))
}

/// Saves the graph of an old version as a new one.
pub async fn rollback(
    service: &Service,
    editor: Editor,
    id: PatternId,
    to: i64,
) -> Result<PatternRow, ServiceError> {
    let (now, host) = (service.clock.now(), (service.vault.clone(), service.quotas));
    changeable(&mut service.store.reader().await?.db(), &editor, id).await?;
    let (text, share) = graph_text(service, editor.user(), (id, to), READ_FACTOR).await?;
    drop(share);
    let graph = Graph::stored(service, editor.user(), text).await?;
    let saved = service
        .store
        .write(move |db| {
            Box::pin(async move {
                let mut row = changeable(db, &editor, id).await?;
                row.updated_at = now;
                let summary = format!("restored version {to}");
                next_version(db, &host, &editor, row, &summary, Next::Again(to, &graph)).await
            })
        })
        .await?;
    service.webhooks.changed(id);
    Ok(saved)
}

/// Sets or removes the call interface, which is no part of a version.
pub async fn set_call_interface(
    service: &Service,
    editor: Editor,
    id: PatternId,
    call_interface: Option<String>,
) -> Result<(), ServiceError> {
    service
        .store
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
pub async fn delete(service: &Service, editor: Editor, id: PatternId) -> Result<(), ServiceError> {
    let now = service.clock.now();
    let deleted = service.store.write(move |db| {
        Box::pin(async move {
            changeable(db, &editor, id).await?;
            deployments::undeploy_deleted(db, &editor, id, now).await?;
            endpoints::remove(db, &editor, id).await?;
            Ok::<(), ServiceError>(patterns::delete(db, &editor, id).await?)
        })
    });
    deleted.await?;
    service.executions.pattern_deleted(id);
    service.webhooks.changed(id);
    Ok(())
}
