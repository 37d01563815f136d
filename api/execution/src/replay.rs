//! Replays: a run that has ended executes once more, traced, as a test run of whoever looks at it. It has the module, the
//! event, the seed, the time and the variables of then, and its journal answers every effect; it is given no secret, and
//! nothing that could reach outside.

mod against;

pub use against::{Against, Candidate, Unanswered};
pub(crate) use against::{against, candidate};

use crate::callbacks::Callbacks;
use crate::compile::{Asker, LoadFailure};
use crate::executor::seed;
use crate::journal::{self, Recorded};
use crate::modules::LoadError;
use crate::queue::Share;
use crate::record::Record;
use crate::run::Event;
use crate::test_run::{PreparedTest, TestRuns};
use heddle_contract::abi::code;
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::file::mentioned;
use heddle_model::ids::{DeploymentId, FileId, RunId, UserId};
use heddle_model::status::RunStatus;
use heddle_model::tenant::Tenant;
use heddle_runtime::masking::MASK;
use heddle_runtime::{
    Answers, Entry, INTERRUPTED, NOT_RECORDED, Outcome, Program, RunError, RunRequest, Status, Tier, Watcher,
    aside_if_large, traced,
};
use heddle_store::StoreError;
use heddle_store::runs::journal::entries;
use heddle_store::runs::replays::{self, ReplayRow, VariablesAt};
use serde::Serialize;
use serde_json::Map;
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use utoipa::ToSchema;

/// How exactly it is known when a run read its variables: what has changed is kept in memory for up to a second.
const MARGIN_MS: i64 = 2_000;

/// A run to be replayed, and whoever is told what it does.
#[derive(Debug)]
pub struct ReplayRequest {
    /// The run's deployment.
    pub deployment: DeploymentId,
    pub run: RunId,
    /// Whoever looks on.
    pub watcher: Watcher,
}

/// How the end of a replay compares with that of its run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayEnd {
    /// Both ended alike.
    Same,
    /// The run was stopped while it waited; the replay went as far.
    Stopped,
    /// The journal lacks what the replay waited for, although the run went on.
    Incomplete,
    /// The replay ended in another way.
    Different,
}

/// What is known of the variables that a run had.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayVariables {
    /// The replay had the same.
    Same,
    /// They were changed about when the run read them: the replay had those of before or of after.
    Unsure,
    /// They have changed too often since, or their environment was deleted: the replay had none.
    Unknown,
}

/// What a replay is worth.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Replayed {
    /// How its end compares with the run's.
    pub end: ReplayEnd,
    /// Whether it had the run's variables.
    pub variables: ReplayVariables,
    /// How it ended, as a sentence for people.
    #[schema(example = "The replay ended as the run did.")]
    pub message: String,
}

/// A replay that has its place.
pub struct PreparedReplay {
    test: PreparedTest,
    row: ReplayRow,
    variables: ReplayVariables,
}

impl PreparedReplay {
    /// Executes it. Dropping the future ends it. An error if its time is over.
    pub async fn run(self) -> Result<(Outcome, Replayed), ServiceError> {
        let (outcome, _) = self.test.run().await?;
        let end = compared(&self.row, &outcome);
        let message = message(end, self.variables, &self.row, &outcome);
        let variables = self.variables;
        Ok((
            outcome,
            Replayed {
                end,
                variables,
                message,
            },
        ))
    }
}

/// Makes a replay ready and waits for a place. 400 for a run under way, 409 for one that can't be replayed, 410 when
/// something of it is not kept any more.
pub(crate) async fn prepare(
    runs: &TestRuns,
    callbacks: &Callbacks,
    editor: &Editor,
    request: ReplayRequest,
) -> Result<PreparedReplay, ServiceError> {
    let mut past = past(runs, editor, (request.deployment, request.run)).await?;
    let wasm = past.wasm(runs, editor.user()).await?;
    let program = program(runs, editor, wasm).await?;
    let share = share(runs, editor).await?;
    let place = runs.place(share, runs.timeout).await?;
    let answers = Answers::Journal {
        entries: std::mem::take(&mut past.entries),
        noted: None,
    };
    let mut run = past.request(runs, callbacks, (&program, share), answers).await?;
    run.watcher = Some(request.watcher);
    let runtime = runs.modules.runtime().await?.clone();
    Ok(PreparedReplay {
        test: runs.prepared((runtime, program), run, (share.tenant, place)),
        row: past.row,
        variables: past.known,
    })
}

/// Whose share of the executing runs a replay takes.
async fn share(runs: &TestRuns, editor: &Editor) -> Result<Share, ServiceError> {
    Ok(Share {
        owner: runs.owner(editor).await?,
        tenant: Tenant::of(editor.user(), editor.workspace()),
    })
}

/// What is kept of a run that has ended, as far as it is needed to execute it again.
struct Past {
    run: RunId,
    row: ReplayRow,
    event: Box<RawValue>,
    entries: Vec<Entry>,
    /// Files that its event and its journal name: whoever may replay the run may see all files of the tenant.
    files: BTreeSet<FileId>,
    began_at_ms: i64,
    variables: Map<String, serde_json::Value>,
    known: ReplayVariables,
}

/// Reads what is kept of a run. 400 for a run under way, 409 for one that can't be replayed, 410 when its journal is not kept
/// any more.
async fn past(
    runs: &TestRuns,
    editor: &Editor,
    (deployment, run): (DeploymentId, RunId),
) -> Result<Past, ServiceError> {
    let mut reader = runs.store.reader().await?;
    let found = replays::find(&mut reader.db(), editor, deployment, run).await?;
    let mut row = found.ok_or(Code::NotFound)?;
    check(&row)?;
    let stored = entries(&mut reader.db(), run).await?;
    drop(reader);
    let event = row.event.take();
    let bytes = event.as_ref().map_or(0, String::len);
    let bytes = bytes.saturating_add(journal::bytes_stored(&stored));
    let read = aside_if_large(Some(editor.user().as_u128()), bytes, move || {
        let recorded = Recorded::of(stored)?;
        let event = Event::of_stored(event);
        let mut files = mentioned(event.get());
        files.extend(recorded.entries.iter().flat_map(|entry| mentioned(&entry.json)));
        Ok::<_, StoreError>((recorded, event, files))
    });
    let read = read.await.ok_or(Code::Internal)?;
    let (recorded, event, files) = read?;
    let began_at_ms = recorded.began_at_ms.or(row.started_at);
    let began_at_ms = began_at_ms.ok_or_else(never_began)?;
    let at = Timestamp::from_millis(executed_at(&row).unwrap_or(began_at_ms));
    let of = (deployment, row.environment_id);
    let mut reader = runs.store.reader().await?;
    let environment = replays::environment_at(&mut reader.db(), of, at).await?;
    let found = match environment {
        Some(environment) => Some(replays::variables_at(&mut reader.db(), environment, at, MARGIN_MS).await?),
        None => None,
    };
    let (variables, known) = known(found);
    Ok(Past {
        run,
        row,
        event,
        entries: recorded.entries,
        files,
        began_at_ms,
        variables,
        known,
    })
}

impl Past {
    /// The run's own module, read in this user's turn.
    async fn wasm(&self, runs: &TestRuns, user: UserId) -> Result<Vec<u8>, ServiceError> {
        match runs.modules.stored(&self.row.artifact, user).await {
            Ok(wasm) => wasm.ok_or_else(module_gone),
            Err(LoadError::Failed(error)) => Err(error),
            Err(LoadError::Unusable(reason)) => {
                Err(Code::Gone.with(format!("The run's module can't be loaded: {reason}. {REMAINS}")))
            }
        }
    }

    /// The run once more, with a module and with what its effects are answered with.
    async fn request(
        &self,
        runs: &TestRuns,
        callbacks: &Callbacks,
        (program, share): (&Program, Share),
        answers: Answers,
    ) -> Result<RunRequest, ServiceError> {
        let limits = runs.limits_of(share.tenant).await?;
        let effects = &program.manifest().rights.effects;
        Ok(RunRequest {
            run_id: self.run.to_string(),
            pattern_id: self.row.pattern_id.to_string(),
            attempt: u32::try_from(self.row.attempt).unwrap_or(1),
            triggered_by: self.row.triggered_by.name().to_owned(),
            started_at_ms: self.began_at_ms,
            seed: seed(self.run),
            trigger_node_id: self.row.node_id.clone(),
            event: self.event.clone(),
            variables: self.variables.clone(),
            secrets: heddle_runtime::Secrets::new(),
            journal: None,
            replay: Some(answers),
            calls: None,
            callbacks: effects
                .iter()
                .any(|kind| kind == "callback")
                .then(|| callbacks.of(self.run)),
            services: runs.services.of_replay(share.tenant, self.files.clone()),
            watcher: None,
            on_wait: None,
            is_contained: false,
            withholds_secrets: false,
            owner: Some(share.owner.as_u128()),
            tenant: Some(share.tenant.as_u128()),
            limits,
        })
    }
}

/// What rules a replay out, as far as the row tells.
fn check(row: &ReplayRow) -> Result<(), ServiceError> {
    if row.status == RunStatus::Running {
        return Err(Code::InvalidStatus.with("The run has not ended yet. Replay it when it has."));
    }
    if stored_error(row).is_some_and(|error| error.code == INTERRUPTED) {
        return Err(Code::Conflict.with(format!(
            "This run brought down the process that executed it, so it isn't executed again. {REMAINS}"
        )));
    }
    if row.has_journal == Some(false) {
        return Err(Code::Gone.with(format!(
            "The results of this run's effects are no longer kept, so it can't be replayed: they are kept for a limited \
             time, number and size. {REMAINS}"
        )));
    }
    Ok(())
}

/// What can be looked at of a run that can't be replayed.
const REMAINS: &str = "Its event, output, log and error can still be seen.";

fn never_began() -> ServiceError {
    Code::Conflict.with(format!(
        "The run was ended before it began, or while nothing of it was stored, so there is nothing to replay. {REMAINS}"
    ))
}

fn module_gone() -> ServiceError {
    Code::Gone.with(format!(
        "The module of this run is no longer kept: another one has been deployed since. {REMAINS}"
    ))
}

/// The run's module with a trace, ready to execute.
async fn program(runs: &TestRuns, editor: &Editor, wasm: Vec<u8>) -> Result<Program, ServiceError> {
    let unusable = |reason: String| {
        Code::Gone.with(format!(
            "This version of heddle can no longer execute the run's module ({reason}). {REMAINS}"
        ))
    };
    loaded(runs, editor, wasm, unusable).await
}

/// A module with a trace, ready to execute. `unusable` tells why it can't be.
async fn loaded(
    runs: &TestRuns,
    editor: &Editor,
    wasm: Vec<u8>,
    unusable: impl Fn(String) -> ServiceError,
) -> Result<Program, ServiceError> {
    let wasm = traced(wasm).ok_or_else(|| unusable("it has no plan".to_owned()))?;
    let asker = Asker::Request(editor.user());
    let loaded = runs.modules.loaded(wasm, Tier::Fast, asker).await;
    loaded.map_err(|failure| match failure {
        LoadFailure::Program(error) => unusable(error.to_string()),
        LoadFailure::Other(error) => error,
    })
}

/// When the run executed last, in milliseconds: only then did it read the variables that its end follows from.
fn executed_at(row: &ReplayRow) -> Option<i64> {
    if row.continued_at.is_some() {
        return row.continued_at;
    }
    let (ended, took) = (row.completed_at?, row.duration_ms?);
    Some(ended.saturating_sub(took))
}

/// Variables for a replay. A deployment outside of workspaces has no environment, and so none.
fn known(found: Option<VariablesAt>) -> (Map<String, serde_json::Value>, ReplayVariables) {
    let Some(found) = found else {
        return (Map::new(), ReplayVariables::Same);
    };
    match found.variables {
        None => (Map::new(), ReplayVariables::Unknown),
        Some(variables) if found.changed_then => (variables, ReplayVariables::Unsure),
        Some(variables) => (variables, ReplayVariables::Same),
    }
}

fn stored_error(row: &ReplayRow) -> Option<RunError> {
    serde_json::from_str(row.error.as_deref()?).ok()
}

fn compared(row: &ReplayRow, outcome: &Outcome) -> ReplayEnd {
    let stored = stored_error(row).filter(|_| row.status.has_failed());
    let same = |is_same: bool| match is_same {
        true => ReplayEnd::Same,
        false => ReplayEnd::Different,
    };
    match (&outcome.error, &stored) {
        (Some(error), Some(stored)) if error.code == NOT_RECORDED => match is_stop(&stored.code) {
            true => ReplayEnd::Stopped,
            false => ReplayEnd::Incomplete,
        },
        (Some(error), None) if error.code == NOT_RECORDED => ReplayEnd::Incomplete,
        (Some(error), Some(stored)) => same(error.code == stored.code && error.node_id == stored.node_id),
        (None, None) if outcome.status == Status::Completed => {
            let output = Record::of(outcome, false).output;
            let was_masked = row.output.as_ref().is_some_and(|output| output.contains(MASK));
            same(was_masked || output == row.output)
        }
        _ => ReplayEnd::Different,
    }
}

/// Whether a run can end with this code at any time, also while it waits.
fn is_stop(stored: &str) -> bool {
    let stops = [
        code::TIMEOUT,
        code::CANCELLED,
        code::JOURNAL_LIMIT,
        code::INTERNAL,
    ];
    stops.contains(&stored) || stored == Code::QuotaExceeded.name()
}

fn message(end: ReplayEnd, variables: ReplayVariables, row: &ReplayRow, outcome: &Outcome) -> String {
    let code = |error: Option<RunError>| error.map_or_else(|| "success".to_owned(), |error| error.code);
    let mut message = match end {
        ReplayEnd::Same => "The replay ended as the run did.".to_owned(),
        ReplayEnd::Stopped => format!(
            "The run was stopped while it waited ({}); the replay shows what it did until then.",
            code(stored_error(row))
        ),
        ReplayEnd::Incomplete => {
            "The run went on from here with a result that its journal does not have, so the rest of \
            it can't be shown."
                .to_owned()
        }
        ReplayEnd::Different => format!(
            "The replay ended differently (run: {}, replay: {}), so the run may have taken another path. Another version \
             of heddle may have executed it, or its variables were different.",
            code(stored_error(row)),
            code(outcome.error.clone())
        ),
    };
    message.push_str(match variables {
        ReplayVariables::Same => "",
        ReplayVariables::Unsure => {
            " The variables were changed at about the time the run read them; it may have had other values."
        }
        ReplayVariables::Unknown => {
            " The values of the variables at that time are no longer known; the replay had none."
        }
    });
    message
}
