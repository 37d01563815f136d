//! Runs the tests of a pattern, one after the other, and compares what they give.

use super::case::{Case, Expectation};
use super::difference::Difference;
use super::verdict::{Compared, Verdict, compare};
use super::{Test, visible};
use crate::Service;
use crate::patterns::{self, no_definitions};
use heddle_compiler::Options;
use heddle_execution::blocking::computing;
use heddle_execution::compile::{Sources, is_empty};
use heddle_execution::{TestOptions, TestRun, TestRunError};
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, Detail, ServiceError};
use heddle_model::ids::{PatternId, TestId};
use heddle_runtime::{NOT_PINNED, Outcome};
use heddle_store::patterns::PatternRow;
use heddle_store::test_cases::{self, TestEnd, TestRow};
use serde::Serialize;
use serde_json::Map;
use serde_json::value::{RawValue, to_raw_value};
use std::time::{Duration, Instant};
use utoipa::ToSchema;

/// Of all tests of a request together; those that have not begun by then are not run.
const TIME_MAX: Duration = Duration::from_secs(60);
/// Bytes of what runs gave, in one answer.
const ACTUAL_BYTES_MAX: usize = 2 << 20;
/// Failing tests that a refused deployment names.
const NAMED_MAX: usize = 20;

/// What the tests are run against.
#[derive(Debug)]
pub struct Subject {
    /// The stored version; `None`: the newest.
    pub version: Option<i64>,
    /// The graph; `None`: the version's.
    pub graph: Option<Box<RawValue>>,
    /// Definitions; none, or an empty object: the version's.
    pub definitions: Option<Box<RawValue>>,
    /// Whether it is kept how the tests of a stored version ended.
    pub is_kept: bool,
}

impl Subject {
    /// Graph and definitions, and the version that they are of. `None`: the graph was sent.
    pub(crate) async fn sources(
        self,
        service: &Service,
        editor: &Editor,
        pattern: &PatternRow,
    ) -> Result<(Sources, Option<i64>), ServiceError> {
        let stored = match self.version {
            Some(version) => patterns::of_version(service, editor.user(), (pattern.id, version)).await?,
            None => patterns::newest(service, editor.user(), pattern).await?,
        };
        drop(stored.share);
        let version = self.version.unwrap_or(pattern.version_number);
        let is_sent = self.graph.is_some();
        let sent = self.definitions.filter(|sent| !is_empty(sent));
        let sources = Sources {
            graph: self.graph.unwrap_or(stored.graph),
            definitions: sent.or(stored.definitions).unwrap_or_else(no_definitions),
            pinned_nodes: None,
        };
        Ok((sources, (!is_sent).then_some(version)))
    }
}

/// How a test ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseResult {
    /// The test.
    pub test_id: TestId,
    #[schema(example = "A large order")]
    name: String,
    /// How it ended.
    pub status: Verdict,
    /// How long its run took.
    duration_ms: u64,
    /// Where the run gave something else than expected; at most 50.
    differences: Vec<Difference>,
    /// How many more there are.
    differences_omitted: usize,
    /// Why there was nothing to compare.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CaseError>,
    /// Of a test that failed: what to expect for this run to pass. Left out when it is too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    actual: Option<Expectation>,
}

/// Why there was nothing to compare.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct CaseError {
    /// `INVALID_GRAPH`; `NOT_PINNED` if a node would have reached outside; `EXECUTION_TIMEOUT`, `NOT_RUN` if the time for all
    /// tests was over, or another code of the API.
    #[schema(example = "NOT_PINNED")]
    code: String,
    message: String,
    /// The node, if it is known.
    node_id: Option<String>,
}

impl CaseError {
    fn new(code: &str, message: impl Into<String>, node_id: Option<String>) -> Self {
        CaseError {
            code: code.to_owned(),
            message: message.into(),
            node_id,
        }
    }
}

/// How all tests ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tally {
    /// How many gave what was expected.
    pub passed: usize,
    /// How many gave something else.
    pub failed: usize,
    /// How many could not be compared.
    pub errored: usize,
    /// The version that was tested; null for a graph that was sent.
    pub version_number: Option<i64>,
    /// In the order in which they were made.
    pub results: Vec<CaseResult>,
}

/// Runs tests of a pattern: those with these ids, or all.
pub async fn run(
    service: &Service,
    editor: &Editor,
    pattern: PatternId,
    (wanted, subject): (Option<Vec<TestId>>, Subject),
) -> Result<Tally, ServiceError> {
    let mut reader = service.store.reader().await?;
    let row = visible(&mut reader.db(), editor, pattern).await?;
    let rows = test_cases::list(&mut reader.db(), editor, pattern).await?;
    drop(reader);
    let rows = chosen(rows, wanted)?;
    let is_kept = subject.is_kept;
    let (sources, version_number) = subject.sources(service, editor, &row).await?;
    let mut runner = Runner {
        service,
        editor,
        began: heddle_model::clock::monotonic(),
        definitions: sources.definitions,
        graph: sources.graph,
        compiled: None,
        room: ACTUAL_BYTES_MAX,
    };
    let mut results = Vec::with_capacity(rows.len());
    let mut read_at = Vec::with_capacity(rows.len());
    for row in rows {
        let found =
            test_cases::find(&mut service.store.reader().await?.db(), editor, pattern, row.id).await?;
        // It was removed meanwhile.
        let Some(found) = found else { continue };
        let test = Test::read(editor.user(), found).await?;
        read_at.push((test.row.id, test.row.updated_at));
        results.push(runner.one(test).await?);
    }
    if let Some(version) = version_number.filter(|_| is_kept) {
        keep(service, *editor, pattern, version, ends(&read_at, &results)).await?;
    }
    let count = |status: Verdict| results.iter().filter(|result| result.status == status).count();
    Ok(Tally {
        passed: count(Verdict::Passed),
        failed: count(Verdict::Failed),
        errored: count(Verdict::Errored),
        version_number,
        results,
    })
}

/// Runs all tests of a pattern on a stored version, and gives that version's number. An error that names those which don't
/// pass.
pub async fn require(
    service: &Service,
    editor: &Editor,
    pattern: PatternId,
    subject: Subject,
) -> Result<i64, ServiceError> {
    let tally = run(service, editor, pattern, (None, subject)).await?;
    let bad: Vec<&CaseResult> = tally
        .results
        .iter()
        .filter(|result| result.status != Verdict::Passed)
        .collect();
    if bad.is_empty() {
        return Ok(tally.version_number.unwrap_or_default());
    }
    let details = bad.iter().take(NAMED_MAX).map(|result| Detail {
        path: format!("tests[{}]", result.test_id),
        message: format!("{}: {}", result.name, why(result)),
    });
    let names: Vec<&str> = bad
        .iter()
        .take(NAMED_MAX)
        .map(|result| result.name.as_str())
        .collect();
    let more = match bad.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!(
        "{} of {} tests of version {} don't pass: {}{more}. Nothing was deployed.",
        bad.len(),
        tally.results.len(),
        tally.version_number.unwrap_or_default(),
        names.join(", ")
    );
    Err(Code::TestsFailed.with(message).with_details(details.collect()))
}

fn why(result: &CaseResult) -> String {
    match (&result.error, result.differences.as_slice()) {
        (Some(error), _) => error.message.clone(),
        (None, [first, ..]) => {
            let all = result
                .differences
                .len()
                .saturating_add(result.differences_omitted);
            match all {
                1 => format!("differs at {}", first.path),
                all => format!("differs at {all} places, first at {}", first.path),
            }
        }
        (None, []) => "differs".to_owned(),
    }
}

/// The tests with these ids, or all.
fn chosen(rows: Vec<TestRow>, wanted: Option<Vec<TestId>>) -> Result<Vec<TestRow>, ServiceError> {
    let Some(wanted) = wanted else { return Ok(rows) };
    if wanted.len() > rows.len().max(1) {
        return Err(ServiceError::field(
            "tests",
            "names more tests than the pattern has",
        ));
    }
    for (index, id) in wanted.iter().enumerate() {
        if !rows.iter().any(|row| row.id == *id) {
            return Err(ServiceError::field(
                format!("tests[{index}]"),
                "is not a test of this pattern",
            ));
        }
    }
    Ok(rows.into_iter().filter(|row| wanted.contains(&row.id)).collect())
}

type Ends = Vec<((TestId, Timestamp), &'static str)>;

fn ends(read_at: &[(TestId, Timestamp)], results: &[CaseResult]) -> Ends {
    let statuses = results.iter().map(|result| result.status.name());
    read_at.iter().copied().zip(statuses).collect()
}

async fn keep(
    service: &Service,
    editor: Editor,
    pattern: PatternId,
    version: i64,
    ends: Ends,
) -> Result<(), ServiceError> {
    let now = service.clock.now();
    let ends = std::sync::Arc::new(ends);
    let write = service.store.write(move |db| {
        Box::pin(async move {
            for ((test, read_at), status) in ends.iter().copied() {
                let end = TestEnd {
                    test,
                    read_at,
                    status,
                    version,
                    ended_at: now,
                };
                test_cases::note_end(db, &editor, pattern, end).await?;
            }
            Ok::<_, ServiceError>(())
        })
    });
    write.await
}

/// Runs tests one after the other.
struct Runner<'a> {
    service: &'a Service,
    editor: &'a Editor,
    began: Instant,
    graph: Box<RawValue>,
    definitions: Box<RawValue>,
    /// The module for pins, which tests that follow often have as well.
    compiled: Option<(ModuleKey, Vec<u8>)>,
    /// Bytes that are left for what runs gave.
    room: usize,
}

/// What a module depends on besides the graph.
#[derive(Clone, PartialEq)]
struct ModuleKey {
    pins: Map<String, serde_json::Value>,
    has_trace: bool,
}

impl Runner<'_> {
    async fn one(&mut self, test: Test) -> Result<CaseResult, ServiceError> {
        let began = heddle_model::clock::monotonic();
        let mut result = CaseResult {
            test_id: test.row.id,
            name: test.case.name.clone(),
            status: Verdict::Errored,
            duration_ms: 0,
            differences: Vec::new(),
            differences_omitted: 0,
            error: None,
            actual: None,
        };
        let outcome = self.outcome(&test.case).await?;
        match outcome {
            Ok(outcome) => {
                // An output may have megabytes, which others must not wait for.
                let compare = move || sized(&test.case, &outcome);
                let (found, bytes) = computing(Some(self.editor.user()), compare).await??;
                result.status = found.verdict;
                result.differences = found.differences;
                result.differences_omitted = found.omitted;
                if found.verdict == Verdict::Failed {
                    result.actual = self.with_room(found.actual, bytes);
                }
            }
            Err(error) => result.error = Some(error),
        }
        result.duration_ms = u64::try_from(heddle_model::clock::since(began).as_millis()).unwrap_or(u64::MAX);
        Ok(result)
    }

    /// What the run gave, or why there was none to compare.
    async fn outcome(&mut self, case: &Case) -> Result<Result<Outcome, CaseError>, ServiceError> {
        if heddle_model::clock::since(self.began) > TIME_MAX {
            let message = format!(
                "The {} s for all tests were used up before this one.",
                TIME_MAX.as_secs()
            );
            return Ok(Err(CaseError::new("NOT_RUN", message, None)));
        }
        let wasm = match of_the_test(self.module(case).await)? {
            Ok(Ok(wasm)) => wasm,
            Ok(Err(error)) | Err(error) => return Ok(Err(error)),
        };
        let run = TestRun {
            wasm,
            event: to_raw_value(&case.event).map_err(ServiceError::internal)?,
            options: TestOptions {
                trigger_node_id: case.trigger_node_id.clone(),
                environment: case.environment_id,
                seed: Some(case.seed.unwrap_or(1)),
                started_at: case.started_at,
                watcher: None,
                is_contained: !case.allow_effects,
                approves_rights: false,
            },
        };
        let prepared = self.service.executions.prepare_test(self.editor, run).await;
        let prepared = prepared.map_err(|error| match error {
            TestRunError::Refused(error) => Code::Validation.with(error.to_string()),
            TestRunError::Other(error) => error,
        });
        let outcome = match of_the_test(prepared)? {
            Ok(prepared) => of_the_test(prepared.run().await)?.map(|(outcome, _)| outcome),
            Err(error) => Err(error),
        };
        Ok(outcome.and_then(|outcome| match &outcome.error {
            Some(error) if error.code == NOT_PINNED => Err(CaseError::new(
                NOT_PINNED,
                error.message.clone(),
                error.node_id.clone(),
            )),
            _ => Ok(outcome),
        }))
    }

    /// The graph with the case's pins as a module, or why it has none.
    async fn module(&mut self, case: &Case) -> Result<Result<Vec<u8>, CaseError>, ServiceError> {
        let key = ModuleKey {
            pins: case.pins.clone(),
            has_trace: !case.expect.nodes.is_empty(),
        };
        if let Some((_, wasm)) = self.compiled.as_ref().filter(|(known, _)| *known == key) {
            return Ok(Ok(wasm.clone()));
        }
        let sources = Sources {
            graph: self.graph.clone(),
            definitions: self.definitions.clone(),
            pinned_nodes: Some(to_raw_value(&key.pins).map_err(ServiceError::internal)?),
        };
        let options = Options {
            trace: key.has_trace,
            ..Options::default()
        };
        let compiled = self
            .service
            .executions
            .transpile(self.editor, sources, options)
            .await?;
        let Some(artifact) = compiled.artifact else {
            let first = compiled.errors.into_iter().next();
            let (message, node_id) =
                first.map_or_else(Default::default, |first| (first.message, first.node_id));
            return Ok(Err(CaseError::new("INVALID_GRAPH", message, node_id)));
        };
        self.compiled = Some((key, artifact.wasm.clone()));
        Ok(Ok(artifact.wasm))
    }

    fn with_room(&mut self, actual: Expectation, bytes: usize) -> Option<Expectation> {
        self.room = self.room.checked_sub(bytes)?;
        Some(actual)
    }
}

/// What a run gave, compared with what its case expects, and how many bytes it has if that is to be told.
fn sized(case: &Case, outcome: &Outcome) -> Result<(Compared, usize), ServiceError> {
    let found = compare(case, outcome)?;
    let bytes = match found.verdict {
        Verdict::Failed => serde_json::to_string(&found.actual).map_or(usize::MAX, |text| text.len()),
        Verdict::Passed | Verdict::Errored => 0,
    };
    Ok((found, bytes))
}

/// An error is the test's, unless it is the server's own.
fn of_the_test<T>(result: Result<T, ServiceError>) -> Result<Result<T, CaseError>, ServiceError> {
    match result {
        Ok(value) => Ok(Ok(value)),
        Err(error) if error.code() == Code::Internal => Err(error),
        Err(error) => Ok(Err(CaseError::new(error.code().name(), error.message(), None))),
    }
}
