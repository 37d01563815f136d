//! Makes tests from runs, and from events that came to webhooks. What nodes did outside is pinned from the run's trace or, where it has
//! none, from its journal, with which the run is executed once more; what can't be pinned is reported.

use super::case::{CASE_BYTES_MAX, Case, Expectation, ExpectedError, too_large};
use super::{Test, add, naming, visible};
use crate::Service;
use crate::patterns;
use heddle_compiler::{NodeEffects, Options};
use heddle_execution::compile::Sources;
use heddle_execution::{ReplayEnd, ReplayRequest, seed};
use heddle_model::Code;
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use heddle_model::shown::shown_within;
use heddle_model::status::RunStatus;
use heddle_runtime::{RunError, TraceEntry, reaches_outside, watch};
use heddle_store::runs::listing::{self, RunRow};
use heddle_store::{deployments, webhook_logs};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use utoipa::ToSchema;

/// Bytes of a longer output that are not taken for what is expected.
const OUTPUT_BYTES_MAX: usize = CASE_BYTES_MAX / 2;

/// A test that was made from a run or an event.
#[derive(Debug)]
pub struct Made {
    /// The test, which is stored.
    pub test: Test,
    /// Nodes that may reach outside and are not pinned.
    pub unpinned: Vec<Unpinned>,
}

/// A node that may reach outside and is not pinned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Unpinned {
    #[schema(example = "pay")]
    node_id: String,
    /// Kinds of effects that it may start.
    #[schema(example = json!(["http"]))]
    kinds: Vec<String>,
    /// Why it is not pinned.
    reason: UnpinnedReason,
}

/// Why a node is not pinned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum UnpinnedReason {
    /// Nothing is known of what it gave: the test is made of an event, or the run has no trace, and no journal any more.
    NoTrace,
    /// The run has no whole trace, and could not be executed once more now: too many others execute, or a quota is used up.
    NotReplayed,
    /// The run did not come to it.
    NotReached,
    /// It executed several times, and a pin has one value.
    Repeated,
    /// It failed, or was under way when the run ended.
    Failed,
    /// What it gave was not recorded whole.
    TooLarge,
}

/// Makes a test of an event that came to a webhook of the pattern.
pub async fn from_event(
    service: &Service,
    editor: Editor,
    pattern: PatternId,
    (node_id, received_at, name): (String, Timestamp, Option<String>),
) -> Result<Made, ServiceError> {
    service.webhooks.journal.flush().await;
    let mut reader = service.store.reader().await?;
    let row = visible(&mut reader.db(), &editor, pattern).await?;
    let now = service.clock.now();
    let tapped = webhook_logs::tapped(&mut reader.db(), &editor, pattern, now).await?;
    drop(reader);
    let found = tapped
        .into_iter()
        .find(|event| event.node_id == node_id && event.received_at == received_at);
    let found =
        found.ok_or_else(|| Code::NotFound.with("This event does not exist, or it has been removed."))?;
    let (graph, effects) = effects(service, &editor, (pattern, row.version_number)).await?;
    let case = Case {
        name: name.unwrap_or_else(|| naming::of_event(&graph, &node_id, received_at)),
        trigger_node_id: Some(node_id),
        event: event(Some(found.event))?,
        started_at: Some(received_at),
        ..Case::default()
    };
    let test = add(service, editor, pattern, case).await?;
    let unpinned = effects
        .into_iter()
        .map(|node| unpinned(node, UnpinnedReason::NoTrace));
    Ok(Made {
        test,
        unpinned: unpinned.collect(),
    })
}

/// Makes a test of a run that has ended: it expects the same output, or the same error.
pub async fn from_run(
    service: &Service,
    editor: Editor,
    pattern: PatternId,
    (deployment, run, name): (DeploymentId, RunId, Option<String>),
) -> Result<Made, ServiceError> {
    let mut reader = service.store.reader().await?;
    visible(&mut reader.db(), &editor, pattern).await?;
    let of = deployments::visible(&mut reader.db(), &editor, deployment).await?;
    let of = of.filter(|of| of.pattern_id == pattern).ok_or(Code::NotFound)?;
    let found = listing::visible(&mut reader.db(), &editor, deployment, run).await?;
    drop(reader);
    let row = found.ok_or(Code::NotFound)?;
    if row.status == RunStatus::Running {
        return Err(Code::InvalidStatus.with("The run has not ended yet."));
    }
    let (graph, effects) = effects(service, &editor, (pattern, row.version_number)).await?;
    let stored: Option<Vec<Entry>> =
        (row.trace.as_deref()).and_then(|trace| serde_json::from_str(trace).ok());
    let found = match stored {
        Some(entries) if effects.is_empty() || is_whole(&entries) => Found::Whole(entries),
        None if effects.is_empty() => Found::Whole(Vec::new()),
        stored => match Box::pin(replayed(service, &editor, (deployment, run))).await? {
            Ok(entries) => Found::Whole(entries),
            Err(reason) => Found::Part(stored.unwrap_or_default(), reason),
        },
    };
    let (pins, unpinned) = pinned(effects, &found);
    let started_at = row.started_at.map_or(row.accepted_at, Timestamp::from_millis);
    let error = failure(&row);
    let made_name = || naming::of_run(&graph, row.node_id.as_deref(), error.as_ref(), started_at);
    let case = Case {
        name: name.unwrap_or_else(made_name),
        expect: expectation(&row),
        event: event(row.event)?,
        trigger_node_id: row.node_id,
        environment_id: of.environment_id,
        pins,
        seed: Some(seed(run)),
        started_at: Some(started_at),
        ..Case::default()
    };
    let test = add(service, editor, pattern, case).await?;
    Ok(Made { test, unpinned })
}

/// The graph of a version, and its nodes that may reach outside.
async fn effects(
    service: &Service,
    editor: &Editor,
    version: (PatternId, i64),
) -> Result<(Box<RawValue>, Vec<NodeEffects>), ServiceError> {
    let stored = patterns::of_version(service, editor.user(), version).await?;
    drop(stored.share);
    let sources = Sources {
        graph: stored.graph.clone(),
        definitions: stored.definitions.unwrap_or_else(patterns::no_definitions),
        pinned_nodes: None,
    };
    let compiled = service
        .executions
        .transpile(editor, sources, Options::default())
        .await?;
    let artifact = compiled.artifact.ok_or_else(|| {
        let first = compiled.errors.into_iter().next();
        let why = first.map_or_else(String::new, |first| format!(": {}", first.message));
        Code::Validation.with(format!(
            "Version {} can't be compiled, so it is unknown what its nodes would do{why}",
            version.1
        ))
    })?;
    let outside = |node: NodeEffects| {
        let kinds: Vec<String> = node
            .kinds
            .into_iter()
            .filter(|kind| reaches_outside(kind))
            .collect();
        (!kinds.is_empty()).then_some(NodeEffects {
            node_id: node.node_id,
            kinds,
        })
    };
    let effects = artifact.effects.into_iter().filter_map(outside);
    Ok((stored.graph, effects.collect()))
}

/// An event as people see it: a test is shown to whoever sees its pattern, so it has no credentials.
fn event(stored: Option<String>) -> Result<Value, ServiceError> {
    let Some(text) = stored else {
        return Ok(Value::Null);
    };
    // Without its credentials it is shorter, but not by this much.
    if text.len() > 2 * CASE_BYTES_MAX {
        return Err(too_large(text.len()));
    }
    let raw = RawValue::from_string(text).map_err(ServiceError::internal)?;
    serde_json::from_str(shown_within(raw).get()).map_err(ServiceError::internal)
}

/// What a run or a node gave, as people see it: events that it has passed on have no credentials, so that a test which has its event
/// without them expects what it gives. `None`: it is null.
fn without_credentials(given: Box<RawValue>) -> Option<Value> {
    let given: Value = serde_json::from_str(shown_within(given).get()).ok()?;
    (!given.is_null()).then_some(given)
}

/// Why a run failed, if it did.
fn failure(row: &RunRow) -> Option<RunError> {
    let text = row.error.as_deref().filter(|_| row.status.has_failed())?;
    serde_json::from_str(text).ok()
}

/// What a run gave. Of an error its code and node: messages often have in them what is another time.
fn expectation(row: &RunRow) -> Expectation {
    if row.status.has_failed() {
        return Expectation {
            error: failure(row).map(|error| ExpectedError {
                code: Some(error.code),
                message: None,
                node_id: error.node_id,
            }),
            ..Expectation::default()
        };
    }
    let output = match row.output.as_deref() {
        None => Some(Value::Null),
        Some(text) if text.len() > OUTPUT_BYTES_MAX => None,
        Some(text) => RawValue::from_string(text.to_owned())
            .ok()
            .and_then(without_credentials)
            .filter(|output| !is_cut(output, "$truncated")),
    };
    Expectation {
        output,
        ..Expectation::default()
    }
}

/// Whether a mark stands in place of a value.
fn is_cut(value: &Value, mark: &str) -> bool {
    value.get(mark) == Some(&Value::Bool(true)) && value.get("bytes").is_some_and(Value::is_number)
}

/// An entry of a stored trace; the last one may be a mark for those that were left out.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    #[serde(default)]
    node_id: String,
    #[serde(default)]
    path: String,
    port: Option<String>,
    #[serde(default, deserialize_with = "read_output")]
    output: Option<Value>,
}

fn read_output<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    let output = Option::<Box<RawValue>>::deserialize(deserializer)?;
    Ok(output.and_then(without_credentials))
}

impl Entry {
    /// Of a run that was executed once more.
    fn of(entry: TraceEntry) -> Entry {
        Entry {
            node_id: entry.node_id,
            path: entry.path,
            port: entry.port,
            output: entry.output.and_then(without_credentials),
        }
    }
}

/// Whether nothing was left out for want of room.
fn is_whole(entries: &[Entry]) -> bool {
    entries.iter().all(|entry| !entry.node_id.is_empty())
}

/// What is known of what a run's nodes gave.
enum Found {
    /// Of each that it came to.
    Whole(Vec<Entry>),
    /// Of some, and why not of the others.
    Part(Vec<Entry>, UnpinnedReason),
}

/// What the nodes of a run gave, by the results of its effects that its journal has: the run is executed once more, and nothing is
/// sent. Or why not: the test is made all the same.
async fn replayed(
    service: &Service,
    editor: &Editor,
    (deployment, run): (DeploymentId, RunId),
) -> Result<Result<Vec<Entry>, UnpinnedReason>, ServiceError> {
    let (watcher, _watched) = watch();
    let request = ReplayRequest {
        deployment,
        run,
        watcher,
    };
    let ended = match service.executions.prepare_replay(editor, request).await {
        Ok(prepared) => prepared.run().await,
        Err(error) => Err(error),
    };
    match ended {
        Ok((outcome, replayed)) if replayed.end != ReplayEnd::Different => {
            Ok(Ok(outcome.trace.into_iter().map(Entry::of).collect()))
        }
        Ok(_) => Ok(Err(UnpinnedReason::NoTrace)),
        Err(error) => match error.code() {
            Code::Gone | Code::Conflict | Code::ExecutionTimeout | Code::Validation => {
                Ok(Err(UnpinnedReason::NoTrace))
            }
            Code::Unavailable | Code::WorkspaceQuotaExceeded => Ok(Err(UnpinnedReason::NotReplayed)),
            _ => Err(error),
        },
    }
}

/// Pins of what nodes gave, and the nodes for which there are none.
fn pinned(effects: Vec<NodeEffects>, found: &Found) -> (Map<String, Value>, Vec<Unpinned>) {
    let (entries, without) = match found {
        Found::Whole(entries) => (entries, UnpinnedReason::NotReached),
        Found::Part(entries, reason) => (entries, *reason),
    };
    let mut of_node: HashMap<&str, Vec<&Entry>> = HashMap::new();
    for entry in entries {
        of_node.entry(entry.node_id.as_str()).or_default().push(entry);
    }
    let mut pins = Map::new();
    let mut missing = Vec::new();
    for node in effects {
        let pin = match of_node.get(node.node_id.as_str()).map(Vec::as_slice) {
            None | Some([]) => Err(without),
            Some([entry]) => pin(entry),
            Some(several) => pin_of_list(several),
        };
        match pin {
            Ok(pin) => drop(pins.insert(node.node_id, pin)),
            Err(reason) => missing.push(unpinned(node, reason)),
        }
    }
    (pins, missing)
}

/// Of a node that executed for each element of a list, an entry has what left it as a whole. That is all, if every element left by the
/// same port.
fn pin_of_list(entries: &[&Entry]) -> Result<Value, UnpinnedReason> {
    let (wholes, elements): (Vec<&Entry>, Vec<&Entry>) =
        entries.iter().copied().partition(|entry| entry.path.is_empty());
    match wholes[..] {
        [whole]
            if elements
                .iter()
                .all(|element| element.path.starts_with('#') && element.port == whole.port) =>
        {
            pin(whole)
        }
        _ => Err(UnpinnedReason::Repeated),
    }
}

fn pin(entry: &Entry) -> Result<Value, UnpinnedReason> {
    if !entry.path.is_empty() {
        return Err(UnpinnedReason::Repeated);
    }
    // JSON says no output and the output null alike; of the latter there is a port.
    let output = match (&entry.output, &entry.port) {
        (Some(output), _) => output,
        (None, Some(_)) => &Value::Null,
        (None, None) => return Err(UnpinnedReason::Failed),
    };
    if is_cut(output, "truncated") {
        return Err(UnpinnedReason::TooLarge);
    }
    Ok(match &entry.port {
        Some(port) => json!({"$pin": true, "port": port, "value": output}),
        None => json!({"$pin": true, "value": output}),
    })
}

fn unpinned(node: NodeEffects, reason: UnpinnedReason) -> Unpinned {
    Unpinned {
        node_id: node.node_id,
        kinds: node.kinds,
        reason,
    }
}
