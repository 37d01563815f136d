//! Compares another version of a pattern with the deployed one: recorded runs are executed with both, from their journals, and
//! differences are reported by event, node and field. Nothing reaches outside, and nothing is stored. Knows nothing about HTTP.

mod comparison;

pub use comparison::{NodeDifference, ReplayStatus, RunEnd, UnansweredEffect};

use crate::Service;
use crate::test_cases::{Difference, Subject, visible};
use comparison::Comparison;
use heddle_compiler::Options;
use heddle_execution::blocking::computing;
use heddle_execution::compile::Compiled;
use heddle_execution::compile::validation::NeededRights;
use heddle_execution::{Against, Candidate};
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, Detail, ServiceError};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId};
use heddle_model::slot::Slot;
use heddle_store::StoreError;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::patterns::PatternRow;
use heddle_store::runs::replays::{self, EndedRun};
use serde::Serialize;
use std::time::Duration;
use utoipa::ToSchema;

/// Runs that are replayed for one answer.
pub const RUNS_MAX: i64 = 1_000;
/// Time for all runs of an answer together; those that have not begun by then are for the next answer.
const TIME_MAX: Duration = Duration::from_secs(45);
/// Bytes of what is told of runs, in one answer; those beyond are told without their differences.
const DETAIL_BYTES_MAX: usize = 2 << 20;
/// Runs that a refused deployment names.
const NAMED_MAX: usize = 20;

/// Which of a pattern's deployments.
#[derive(Clone, Copy, Debug)]
pub enum Deployed {
    /// The one in this environment; `None`: the main one.
    In(Option<EnvironmentId>),
    /// This one.
    Exactly(DeploymentId),
}

/// The other version.
#[derive(Debug)]
pub enum Tried {
    /// A version, or a graph that was sent.
    Version(Box<Subject>),
    /// What is deployed elsewhere: the version, and its module by its name.
    Module(i64, String),
}

/// What is replayed.
#[derive(Debug)]
pub struct Request {
    /// Whose runs.
    pub of: Deployed,
    /// What is tried with their events.
    pub tried: Tried,
    /// Only runs before this one.
    pub before: Option<(Timestamp, RunId)>,
    /// How many runs, the newest first.
    pub limit: i64,
}

/// A run whose event was not treated alike.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayedRun {
    /// The run.
    pub run_id: RunId,
    /// When its event was accepted.
    accepted_at: Timestamp,
    /// Where it started.
    #[schema(example = "on-order")]
    node_id: Option<String>,
    /// How both compare; those that are the same are only counted.
    pub status: ReplayStatus,
    /// Why it was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    /// How the deployed version ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<RunEnd>,
    /// How the other version ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    after: Option<RunEnd>,
    /// Where the output, the response or the error differ.
    differences: Vec<Difference>,
    /// Where nodes did something else, in the order in which they executed.
    nodes: Vec<NodeDifference>,
    /// How many further differences there are.
    differences_omitted: usize,
    /// What the journal has no answer to.
    unanswered: Vec<UnansweredEffect>,
}

/// What runs have used.
#[derive(Clone, Copy, Debug, Default, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayUsage {
    /// Fuel, roughly instructions.
    #[schema(example = 184_000)]
    fuel_used: u64,
    /// Wall time in microseconds. Nothing is waited for, so it is the time of computing.
    #[schema(example = 9_300)]
    duration_us: u64,
}

impl ReplayUsage {
    fn add(&mut self, outcome: &heddle_runtime::Outcome) {
        self.fuel_used = self.fuel_used.saturating_add(outcome.usage.fuel_used);
        self.duration_us = self.duration_us.saturating_add(outcome.usage.duration_us);
    }
}

/// What the other version did with the events.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReplayReport {
    /// The deployment whose runs these are.
    pub deployment_id: DeploymentId,
    /// The version that is deployed.
    deployed_version_number: i64,
    /// The version that was tried; null for a graph that was sent.
    pub version_number: Option<i64>,
    /// How many events both treated alike.
    pub same: usize,
    /// How many they treated differently.
    pub different: usize,
    /// With how many the version asked for what no journal has.
    pub unanswered: usize,
    /// How many runs could not be replayed.
    pub skipped: usize,
    /// Those that are not the same, the newest first.
    pub runs: Vec<ReplayedRun>,
    /// What the deployed version has used for the events that were compared.
    before: ReplayUsage,
    /// What the version that is tried has used for these events.
    after: ReplayUsage,
    /// What the version could do and the deployed one can't.
    pub rights_added: NeededRights,
    /// What the deployed one can do and the version could not.
    rights_removed: NeededRights,
    /// Where the next request goes on; null: there are no more runs.
    #[schema(example = "1764151200000.01932c07-209e-7f64-b0a3-5c1f1b0e6f3a")]
    pub next_cursor: Option<String>,
}

impl ReplayReport {
    /// With how many events the version does something else, as far as is known.
    pub fn differing(&self) -> usize {
        self.different.saturating_add(self.unanswered)
    }
}

/// Why there is no report.
#[derive(Debug)]
pub enum ReplayError {
    /// The graph can't be compiled.
    Invalid(Box<Compiled>),
    /// Anything else.
    Other(ServiceError),
}

impl From<ServiceError> for ReplayError {
    fn from(error: ServiceError) -> Self {
        ReplayError::Other(error)
    }
}

impl From<StoreError> for ReplayError {
    fn from(error: StoreError) -> Self {
        ReplayError::Other(error.into())
    }
}

/// Replays runs of what is deployed against another version of the pattern.
pub async fn against(
    service: &Service,
    editor: &Editor,
    pattern: PatternId,
    request: Request,
) -> Result<ReplayReport, ReplayError> {
    let (deployed, newest) = deployed(service, editor, pattern, request.of).await?;
    let (wasm, version) = module(service, editor, &newest, request.tried).await?;
    let executions = &service.executions;
    let mut candidate = executions.candidate(editor, wasm, &deployed.artifact).await?;
    let mut reader = service.store.reader().await?;
    // One more tells whether there is a next page.
    let limit = request.limit.clamp(1, RUNS_MAX);
    let page = (request.before, limit.saturating_add(1));
    let listed = replays::ended(&mut reader.db(), editor, deployed.id, page).await?;
    drop(reader);
    let former = candidate.former_rights.clone().unwrap_or_default();
    let mut report = ReplayReport {
        deployment_id: deployed.id,
        deployed_version_number: deployed.version_number,
        version_number: version,
        same: 0,
        different: 0,
        unanswered: 0,
        skipped: 0,
        runs: Vec::new(),
        before: ReplayUsage::default(),
        after: ReplayUsage::default(),
        rights_added: candidate.rights.without(&former),
        rights_removed: former.without(&candidate.rights),
        next_cursor: None,
    };
    let began = heddle_model::clock::monotonic();
    let mut room = DETAIL_BYTES_MAX;
    let mut last: Option<&EndedRun> = None;
    let wanted = usize::try_from(limit).unwrap_or(1);
    for (index, run) in listed.iter().enumerate() {
        // The first one is always replayed, so that whoever goes on comes to an end.
        if index >= wanted || (index > 0 && heddle_model::clock::since(began) > TIME_MAX) {
            report.next_cursor = last.map(|run| format!("{}.{}", run.accepted_at.millis(), run.id));
            break;
        }
        one(service, (editor, &mut candidate), (&mut report, &mut room), run).await?;
        last = Some(run);
    }
    Ok(report)
}

/// What is deployed, and the pattern as it is.
async fn deployed(
    service: &Service,
    editor: &Editor,
    pattern: PatternId,
    of: Deployed,
) -> Result<(DeploymentRow, PatternRow), ServiceError> {
    let mut reader = service.store.reader().await?;
    let db = &mut reader.db();
    let row = visible(db, editor, pattern).await?;
    let found = match of {
        Deployed::In(Some(environment)) => {
            deployments::visible_in_environment(db, editor, pattern, environment).await?
        }
        Deployed::In(None) => deployments::visible_in_slot(db, editor, Slot::main(pattern)).await?,
        Deployed::Exactly(id) => deployments::visible(db, editor, id).await?,
    };
    let found = found.ok_or_else(|| {
        Code::NotFound.with("The pattern was never deployed there, so there are no runs to replay.")
    })?;
    Ok((found, row))
}

/// The module of what is tried, and its version if it has one.
async fn module(
    service: &Service,
    editor: &Editor,
    pattern: &PatternRow,
    tried: Tried,
) -> Result<(Vec<u8>, Option<i64>), ReplayError> {
    let subject = match tried {
        Tried::Version(subject) => *subject,
        Tried::Module(version, artifact) => {
            let wasm = service.executions.module(&artifact, editor.user()).await?;
            let wasm =
                wasm.ok_or_else(|| Code::Gone.with("The module that is to be tried is no longer kept."))?;
            return Ok((wasm, Some(version)));
        }
    };
    let (sources, version) = subject.sources(service, editor, pattern).await?;
    let options = Options {
        trace: true,
        ..Options::default()
    };
    let compiled = service.executions.transpile(editor, sources, options).await?;
    match compiled.artifact {
        Some(artifact) => Ok((artifact.wasm, version)),
        None => Err(ReplayError::Invalid(Box::new(compiled))),
    }
}

/// Replays a run and notes what came of it.
async fn one(
    service: &Service,
    (editor, candidate): (&Editor, &mut Candidate),
    (report, room): (&mut ReplayReport, &mut usize),
    run: &EndedRun,
) -> Result<(), ServiceError> {
    let of = (report.deployment_id, run.id);
    let found = service.executions.replay_against(editor, candidate, of).await;
    let mut shown = ReplayedRun {
        run_id: run.id,
        accepted_at: run.accepted_at,
        node_id: run.node_id.clone(),
        status: ReplayStatus::Skipped,
        message: None,
        before: None,
        after: None,
        differences: Vec::new(),
        nodes: Vec::new(),
        differences_omitted: 0,
        unanswered: Vec::new(),
    };
    match found {
        Ok(Against {
            replayed,
            before,
            after: None,
        }) => {
            shown.message = Some(replayed.message);
            shown.before = Some(RunEnd::of(&before));
        }
        Ok(Against {
            before,
            after: Some((after, unanswered)),
            ..
        }) => {
            report.before.add(&before);
            report.after.add(&after);
            (shown.before, shown.after) = (Some(RunEnd::of(&before)), Some(RunEnd::of(&after)));
            // Outputs may have megabytes, which others must not wait for.
            let compare = move || Comparison::of(&before, &after, unanswered);
            let compared = computing(Some(editor.user()), compare).await?;
            shown.status = compared.status();
            shown.differences = compared.differences;
            shown.nodes = compared.nodes;
            shown.differences_omitted = compared.omitted;
            shown.unanswered = compared.unanswered;
        }
        Err(error) if is_of_run(&error) => shown.message = Some(error.message().to_owned()),
        Err(error) => return Err(error),
    }
    let count = match shown.status {
        ReplayStatus::Same => &mut report.same,
        ReplayStatus::Different => &mut report.different,
        ReplayStatus::Unanswered => &mut report.unanswered,
        ReplayStatus::Skipped => &mut report.skipped,
    };
    *count = count.saturating_add(1);
    if shown.status != ReplayStatus::Same {
        bound(&mut shown, room);
        report.runs.push(shown);
    }
    Ok(())
}

/// Whether an error is about one run only: it, its journal or its module is not kept, or it took too long.
fn is_of_run(error: &ServiceError) -> bool {
    let codes = [
        Code::NotFound,
        Code::InvalidStatus,
        Code::Conflict,
        Code::Gone,
        Code::ExecutionTimeout,
    ];
    codes.contains(&error.code())
}

/// Leaves out the differences of a run for which there is no room in the answer.
fn bound(shown: &mut ReplayedRun, room: &mut usize) {
    let bytes =
        serde_json::to_string(&(&shown.differences, &shown.nodes)).map_or(usize::MAX, |text| text.len());
    match room.checked_sub(bytes) {
        Some(left) => *room = left,
        None => {
            let nodes = shown.nodes.drain(..).map(|node| node.differences.len());
            let left_out = nodes.sum::<usize>().saturating_add(shown.differences.len());
            shown.differences.clear();
            shown.differences_omitted = shown.differences_omitted.saturating_add(left_out);
        }
    }
}

/// Refuses a version that does something else with the newest events of what is deployed than that did. Runs that can't be
/// replayed are no reason to refuse.
pub fn refuse(report: &ReplayReport) -> Result<(), ServiceError> {
    let bad = report.differing();
    if bad == 0 {
        return Ok(());
    }
    let differing = report
        .runs
        .iter()
        .filter(|run| run.status != ReplayStatus::Skipped);
    let details = differing.take(NAMED_MAX).map(|run| Detail {
        path: format!("runs[{}]", run.run_id),
        message: why(run),
    });
    let message = format!(
        "Version {} treats {bad} of the last {} events differently from what is deployed ({} of them ask for results that no \
         journal has). Nothing was deployed. Look at the differences, and deploy with `acknowledgeDifferences` if they are intended.",
        report.version_number.unwrap_or_default(),
        report.same.saturating_add(bad),
        report.unanswered
    );
    let error = Code::ReplayDiffers.with(message);
    Err(error.with_details(details.collect()))
}

fn why(run: &ReplayedRun) -> String {
    if let Some(first) = run.unanswered.first() {
        return first.to_string();
    }
    let in_nodes = run
        .nodes
        .iter()
        .find_map(|node| Some((node, node.differences.first()?)));
    match (in_nodes, run.differences.first()) {
        (Some((node, first)), _) => format!("the node `{}` differs, first at {}", node.node_id, first.path),
        (None, Some(first)) => format!("differs at {}", first.path),
        (None, None) => "differs".to_owned(),
    }
}
