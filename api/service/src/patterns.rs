//! Operations on patterns: creating, saving new versions, restoring old ones, deleting. Knows nothing about HTTP.

mod apart;
mod content;
pub mod drafts;
pub mod hooks;
pub mod presence;

pub use content::{ANSWER_FACTOR, Definitions, Graph, Stored, newest, no_definitions, of_version};

use self::apart::{OfVersion, Ownership};
use crate::Service;
use heddle_compiler::compare::{Comparison, Incomparable, NOTHING_CHANGED, compare};
use heddle_execution::ToTheEnd;
use heddle_execution::blocking::computing;
use heddle_model::access::{Editor, Scope};
use heddle_model::audit::{Action, Object};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{PatternId, UserId};
use heddle_model::quota::{Quota, Quotas};
use heddle_model::workspace_quota::{WorkspaceExceeded, WorkspaceQuota};
use heddle_runtime::is_small;
use heddle_store::audit;
use heddle_store::large_texts::Apart;
use heddle_store::patterns::{self, PatternRow, Tags};
use heddle_store::quota::{self, Payer};
use heddle_store::test_cases::{self, NewTest};
use heddle_store::turns::GROUP_BYTES_MAX;
use heddle_store::vault::Vault;
use heddle_store::versions::{self, NewVersion, Part};
use heddle_store::{Db, Load, deployments, drafts as stored_drafts, endpoints, hosting, usage};
use std::sync::Arc;

/// Characters of a name.
pub const NAME_CHARS_MAX: usize = 200;

/// A pattern to be made.
#[derive(Clone, Debug)]
pub struct NewPattern {
    pub name: String,
    pub description: String,
    /// Whether everybody may read it.
    pub is_public: bool,
    /// Whether it is meant to be cloned.
    pub is_template: bool,
    pub tags: Vec<String>,
    /// The graph of version 1.
    pub graph: Graph,
    pub definitions: Definitions,
    /// `{inputs, outputs}` as JSON.
    pub call_interface: Option<String>,
    /// Where it comes from.
    pub summary: String,
    pub tests: Vec<NewTest>,
}

/// Memory that comparing takes, beside the texts, for each byte of them: lists of nodes, and of edges with their names.
const COMPARE_FACTOR: usize = 8;

/// What is to be different in the next version.
#[derive(Clone, Debug, Default)]
pub struct Changes {
    pub name: Option<String>,
    pub description: Option<String>,
    /// Whether everybody may read it.
    pub is_public: Option<bool>,
    /// Whether it is meant to be cloned.
    pub is_template: Option<bool>,
    pub tags: Option<Vec<String>>,
    pub graph: Option<Graph>,
    pub definitions: Option<Definitions>,
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

/// What changed from one version to another.
pub async fn compared(
    service: &Service,
    owner: UserId,
    id: PatternId,
    (before, after): (i64, i64),
) -> Result<Result<Comparison, Incomparable>, ServiceError> {
    let mut bytes = 0usize;
    for version in [before, after] {
        bytes = bytes.saturating_add(content::bytes(service, (id, version)).await?);
    }
    let share = service
        .budget
        .take_unless_small(Some(owner), (bytes, COMPARE_FACTOR))
        .await?;
    let mut contents = Vec::new();
    for version in [before, after] {
        let content = versions::content(&mut service.store.reader().await?.db(), id, version).await?;
        contents.push(content.ok_or(Code::VersionNotFound)?);
    }
    let compare = move || match contents.as_slice() {
        [before, after] => compare(&before.graph, &after.graph)?
            .and_definitions(before.definitions.as_deref(), after.definitions.as_deref()),
        _ => Ok(Comparison::default()),
    };
    let found = match share {
        None => compare(),
        Some(_) => computing(Some(owner), compare).await?,
    };
    drop(share);
    Ok(found)
}

/// Makes a pattern.
pub async fn create(service: &Service, editor: Editor, new: NewPattern) -> Result<PatternRow, ServiceError> {
    let patterns_max = room_for_another(service, &editor).await?;
    let service = service.clone();
    // To the end: what was stored before its row goes again if that is not stored.
    let creating = ToTheEnd::new(async move {
        let mut apart = Apart::default();
        let created = create_once(&service, &mut apart, (editor, patterns_max), new).await;
        apart.settle(&service.store).await;
        created
    });
    creating.await
}

async fn create_once(
    service: &Service,
    apart: &mut Apart,
    (editor, patterns_max): (Editor, Option<i64>),
    new: NewPattern,
) -> Result<PatternRow, ServiceError> {
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
    let (graph, summary, tests) = (new.graph, new.summary, new.tests);
    let (vault, quotas) = (service.vault.clone(), service.quotas);
    let ownership = Ownership {
        editor,
        pattern: None,
        payer: row.owner_id,
    };
    let given = (Some(&graph), Some(&new.definitions));
    let content = OfVersion::stored(service, apart, ownership, given).await?;
    let of_tests: usize = tests.iter().map(|test| test.content.len()).sum();
    let bytes = content.bytes_in_rows().saturating_add(of_tests);
    service
        .store
        .write_sized(Load::of(Some(editor.user()), bytes), move |db| {
            Box::pin(async move {
                hosting::hold_running(db, &editor).await?;
                patterns::insert(db, &editor, &row).await?;
                let version = NewVersion {
                    by: editor.user(),
                    summary: &summary,
                    // There is none before it.
                    graph: content.graph(0),
                    definitions: content.definitions(0),
                };
                versions::add(db, &row, &version).await?;
                sync(db, &vault, &quotas, &row, &graph).await?;
                for test in &tests {
                    test_cases::insert(db, row.id, test, now).await?;
                }
                let added: [(Payer, &[Quota]); 2] = [
                    (Payer::Pattern(row.id), &[Quota::Endpoints]),
                    (Payer::User(row.owner_id), &[Quota::Patterns, Quota::PatternBytes]),
                ];
                quota::check(db, &quotas, &added).await?;
                if let (Some(workspace), Some(limit)) = (editor.workspace(), patterns_max)
                    && usage::count_patterns_locked(db, workspace).await? > limit
                {
                    let exceeded = WorkspaceExceeded::at(WorkspaceQuota::Patterns, limit, now);
                    return Err(ServiceError::exceeded(&exceeded, now));
                }
                audit::note(db, &editor, Action::PatternCreated.of(Object::Pattern(row.id))).await?;
                Ok(row)
            })
        })
        .await
}

/// How many patterns the workspace may have, if it may store another version at all.
async fn room_for_another(service: &Service, editor: &Editor) -> Result<Option<i64>, ServiceError> {
    let Some(workspace) = editor.workspace() else {
        return Ok(None);
    };
    let tenants = service.executions.tenants();
    tenants.check(workspace, WorkspaceQuota::StorageBytes).await?;
    tenants.limit(workspace, WorkspaceQuota::Patterns).await
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
    room_for_another(service, &editor).await?;
    for left in (0..SAVES_MAX).rev() {
        let seen = changeable(&mut service.store.reader().await?.db(), &editor, id).await?;
        is_newest(&seen, &changes)?;
        let summary = match &changes.summary {
            Some(summary) => summary.clone(),
            None => what_changes(service, editor.user(), &seen, &changes).await?,
        };
        // The last one tells what is different from the version that it saw.
        let wanted = (left > 0 && changes.summary.is_none()).then_some(seen.version_number);
        let (service, changes) = (service.clone(), changes.clone());
        // What is stored is followed also if the sender has gone by then, or webhooks would go on as they were.
        let saving = ToTheEnd::new(async move {
            let mut apart = Apart::default();
            let saved = save_once(&service, &mut apart, editor, (&seen, wanted), changes, summary).await;
            service.webhooks.changed(id);
            apart.settle(&service.store).await;
            saved
        });
        saved = saving.await?;
        if saved.is_some() {
            break;
        }
    }
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
    apart: &mut Apart,
    editor: Editor,
    (seen, wanted): (&PatternRow, Option<i64>),
    changes: Arc<Changes>,
    summary: String,
) -> Result<Option<PatternRow>, ServiceError> {
    let (now, host) = (service.clock.now(), (service.vault.clone(), service.quotas));
    let id = seen.id;
    let ownership = Ownership {
        editor,
        pattern: Some(id),
        payer: seen.owner_id,
    };
    let given = (changes.graph.as_ref(), changes.definitions.as_ref());
    let content = OfVersion::stored(service, apart, ownership, given).await?;
    let load = Load::of(Some(editor.user()), content.bytes_in_rows());
    let write = service.store.write_sized(load, move |db| {
        Box::pin(async move {
            let mut row = changeable(db, &editor, id).await?;
            is_newest(&row, &changes)?;
            if wanted.is_some_and(|version| version != row.version_number) {
                return Ok(None);
            }
            apply(&mut row, &changes);
            row.updated_at = now;
            let newest = row.version_number;
            let version = NewVersion {
                by: editor.user(),
                summary: &summary,
                graph: content.graph(newest),
                definitions: content.definitions(newest),
            };
            if changes.graph.is_some() || changes.definitions.is_some() {
                // It is a version now.
                stored_drafts::remove(db, &editor, id).await?;
            }
            let row = next_version(db, &host, &editor, row, &version, changes.graph.as_ref()).await?;
            let saved = Action::PatternSaved
                .of(Object::Pattern(id))
                .with("version", row.version_number)
                .with("summary", &*summary);
            audit::note(db, &editor, saved).await?;
            Ok(Some(row))
        })
    });
    write.await
}

/// Stores a pattern's next version. `graph` is its graph if it may have other nodes than the newest one.
async fn next_version(
    db: &mut Db<'_>,
    (vault, quotas): &(Arc<Vault>, Quotas),
    editor: &Editor,
    mut row: PatternRow,
    version: &NewVersion<'_>,
    graph: Option<&Graph>,
) -> Result<PatternRow, ServiceError> {
    row.version_number += 1;
    patterns::update(db, editor, &row).await?;
    versions::add(db, &row, version).await?;
    if let Some(graph) = graph {
        sync(db, vault, quotas, &row, graph).await?;
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
async fn what_changes(
    service: &Service,
    owner: UserId,
    row: &PatternRow,
    changes: &Changes,
) -> Result<String, ServiceError> {
    let mut after = row.clone();
    apply(&mut after, changes);
    let mut words = Vec::new();
    if after.name != row.name {
        words.push(format!("renamed to {}", after.name));
    }
    if after.description != row.description {
        words.push("description changed".to_owned());
    }
    if after.tags != row.tags {
        words.push("tags changed".to_owned());
    }
    match (row.is_public, after.is_public) {
        (false, true) => words.push("made public".to_owned()),
        (true, false) => words.push("made private".to_owned()),
        _ => {}
    }
    match (row.is_template, after.is_template) {
        (false, true) => words.push("made a template".to_owned()),
        (true, false) => words.push("no longer a template".to_owned()),
        _ => {}
    }
    if changes.graph.is_none() && changes.definitions.is_none() {
        if words.is_empty() {
            words.push(NOTHING_CHANGED.to_owned());
        }
        return Ok(words.join(", "));
    }
    let found = content_changes(service, owner, row, changes).await?;
    if words.is_empty() || found != NOTHING_CHANGED {
        words.push(found);
    }
    Ok(words.join(", "))
}

/// What changes of graph and definitions.
async fn content_changes(
    service: &Service,
    owner: UserId,
    row: &PatternRow,
    changes: &Changes,
) -> Result<String, ServiceError> {
    let version = (row.id, row.version_number);
    let (before, share) = content::texts(service, owner, version, COMPARE_FACTOR).await?;
    let graph = changes.graph.as_ref().map(|graph| graph.text.clone());
    let definitions = changes.definitions.clone();
    let bytes = |text: Option<&Arc<str>>| text.map_or(0, |text| text.len());
    let after_bytes =
        bytes(graph.as_ref()).saturating_add(bytes(definitions.as_ref().and_then(|given| given.0.as_ref())));
    let compare = move || {
        let own_definitions = before.definitions.as_deref();
        let graph = graph.as_deref().unwrap_or(&before.graph);
        let definitions = match &definitions {
            Some(definitions) => definitions.0.as_deref(),
            None => own_definitions,
        };
        if graph == before.graph && definitions == own_definitions {
            return NOTHING_CHANGED.to_owned();
        }
        let found = compare(&before.graph, graph)
            .and_then(|found| found.and_definitions(own_definitions, definitions));
        found.map_or_else(|_| "graph changed".to_owned(), |found| found.summary())
    };
    Ok(match share.is_none() && is_small(after_bytes) {
        true => compare(),
        false => computing(Some(owner), compare).await?,
    })
}

/// Saves the graph and the definitions of an old version as a new one.
pub async fn rollback(
    service: &Service,
    editor: Editor,
    id: PatternId,
    to: i64,
) -> Result<PatternRow, ServiceError> {
    let (now, host) = (service.clock.now(), (service.vault.clone(), service.quotas));
    changeable(&mut service.store.reader().await?.db(), &editor, id).await?;
    let (content, share) = content::texts(service, editor.user(), (id, to), content::READ_FACTOR).await?;
    drop(share);
    let graph = Graph::stored(service, editor.user(), content.graph).await?;
    let (load, service) = (Load::of(Some(editor.user()), graph.bytes()), service.clone());
    // To the end, as for a save.
    let restoring = ToTheEnd::new(async move {
        let restored = service.store.write_sized(load, move |db| {
            Box::pin(async move {
                let mut row = changeable(db, &editor, id).await?;
                row.updated_at = now;
                let version = NewVersion {
                    by: editor.user(),
                    summary: &format!("restored version {to}"),
                    graph: Part::Of(to),
                    definitions: Part::Of(to),
                };
                let row = next_version(db, &host, &editor, row, &version, Some(&graph)).await?;
                let restored = Action::PatternRolledBack
                    .of(Object::Pattern(id))
                    .with("restored", to)
                    .with("version", row.version_number);
                audit::note(db, &editor, restored).await?;
                Ok::<_, ServiceError>(row)
            })
        });
        let restored = restored.await;
        service.webhooks.changed(id);
        restored
    });
    restoring.await
}

/// Sets or removes the call interface, which is not part of a version.
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
                let action = match &call_interface {
                    Some(_) => Action::CallInterfaceSet,
                    None => Action::CallInterfaceRemoved,
                };
                audit::note(db, &editor, action.of(Object::Pattern(id))).await?;
                row.call_interface = call_interface;
                Ok(patterns::update(db, &editor, &row).await?)
            })
        })
        .await
}

/// Deletes a pattern with all that hangs on it; it is undeployed first.
pub async fn delete(service: &Service, editor: Editor, id: PatternId) -> Result<(), ServiceError> {
    let now = service.clock.now();
    // With all of its versions, which whoever has saved them has made as many and as large as they are.
    let load = Load::of(Some(editor.user()), GROUP_BYTES_MAX);
    let deleted = service.store.write_sized(load, move |db| {
        Box::pin(async move {
            changeable(db, &editor, id).await?;
            audit::note(db, &editor, Action::PatternDeleted.of(Object::Pattern(id))).await?;
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
