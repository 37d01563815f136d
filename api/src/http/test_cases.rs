//! Tests of patterns: cases that are kept, run and compared.

use super::cursor::{self, LongPage};
use super::drawn::{CompleteGraph, NodeDefinition};
use super::extract::{self, Caller, CodeJson, Json, Path, Query, text};
use super::reply::{CursorMeta, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId, RunId, TestId};
use heddle_service::test_cases::{
    self, CASE_BYTES_MAX, Case, CaseChanges, Made, Subject, Tally, Test, Unpinned,
};
use heddle_store::test_cases::{TestRow, of_workspace};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of a name.
const NAME_CHARS_MAX: usize = 200;
/// Bytes of a body with a case: one that can be kept, and blanks and escapes that are not kept. A case's values take many
/// times what its text does, so larger ones are refused before they are read.
const BODY_BYTES_MAX: usize = CASE_BYTES_MAX + (64 << 10);

pub fn routes() -> OpenApiRouter<App> {
    let cases = OpenApiRouter::new()
        .routes(routes!(list_tests, add_test))
        .routes(routes!(get_test, change_test, delete_test))
        .layer(DefaultBodyLimit::max(BODY_BYTES_MAX));
    OpenApiRouter::new()
        .routes(routes!(list_workspace_tests))
        .routes(routes!(run_tests))
        .routes(routes!(test_from_run))
        .routes(routes!(test_from_event))
        .merge(cases)
}

/// How a test ended when it last ran on a stored version.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LastResult {
    /// `passed`, `failed` or `errored`.
    #[schema(example = "passed")]
    status: String,
    at: Timestamp,
    /// The version.
    #[schema(example = 3, minimum = 1)]
    version_number: i64,
}

/// A test in a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ListedTest {
    id: TestId,
    #[schema(example = "A large order")]
    name: String,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Null until it has run on a stored version, and after it was changed.
    last_result: Option<LastResult>,
}

impl From<TestRow> for ListedTest {
    fn from(row: TestRow) -> Self {
        let last = row.last_status.zip(row.last_at).zip(row.last_version);
        ListedTest {
            id: row.id,
            name: row.name,
            created_at: row.created_at,
            updated_at: row.updated_at,
            last_result: last.map(|((status, at), version_number)| LastResult {
                status,
                at: Timestamp::from_millis(at),
                version_number,
            }),
        }
    }
}

/// A test in the list of a workspace.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WorkspaceTest {
    /// The pattern that it tests.
    pattern_id: PatternId,
    #[serde(flatten)]
    test: ListedTest,
}

/// Lists the tests of all patterns of the active workspace, the oldest first, without their cases.
#[utoipa::path(
    get, path = "/api/tests", tag = "Tests", security(("bearer" = [])), params(LongPage),
    responses(
        (status = 200, description = "A page", body = Listed<WorkspaceTest, CursorMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_workspace_tests(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<LongPage>,
) -> Result<Listed<WorkspaceTest, CursorMeta>, ApiError> {
    let (after, limit) = query.bounds::<TestId>()?;
    let mut reader = app.store.reader().await?;
    // One more tells whether there is a next page.
    let mut page = of_workspace(&mut reader.db(), &caller.scope, after, limit + 1).await?;
    let next_cursor = cursor::next(&mut page, limit, |found| found.row.id.to_string());
    let tests = page.into_iter().map(|found| WorkspaceTest {
        pattern_id: found.pattern_id,
        test: found.row.into(),
    });
    Ok(Listed::new(tests.collect(), CursorMeta { limit, next_cursor }))
}

/// The tests of a pattern.
#[derive(Debug, Serialize, ToSchema)]
struct Tests {
    /// The oldest first.
    tests: Vec<ListedTest>,
}

/// A test.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WholeTest {
    id: TestId,
    created_at: Timestamp,
    updated_at: Timestamp,
    /// Null until it has run on a stored version, and after it was changed.
    last_result: Option<LastResult>,
    /// What it runs with, and what is expected.
    case: Case,
}

impl From<Test> for WholeTest {
    fn from(test: Test) -> Self {
        let listed = ListedTest::from(test.row);
        WholeTest {
            id: listed.id,
            created_at: listed.created_at,
            updated_at: listed.updated_at,
            last_result: listed.last_result,
            case: test.case,
        }
    }
}

/// A test that was made from a run or an event.
#[derive(Debug, Serialize, ToSchema)]
struct MadeTest {
    test: WholeTest,
    /// Nodes that may reach outside and are not pinned: without pins, or `allowEffects`, the test ends before they do.
    unpinned: Vec<Unpinned>,
}

impl From<Made> for MadeTest {
    fn from(made: Made) -> Self {
        MadeTest {
            test: made.test.into(),
            unpinned: made.unpinned,
        }
    }
}

/// Lists the tests of a pattern.
#[utoipa::path(
    get, path = "/api/patterns/{id}/tests", tag = "Tests", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern: the caller's, or their workspace's")),
    responses(
        (status = 200, description = "All of them", body = Tests),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn list_tests(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<Answer<Tests>, ApiError> {
    let rows = test_cases::list(&app, &caller.scope, id).await?;
    let tests = rows.into_iter().map(ListedTest::from).collect();
    Ok(Answer(Tests { tests }))
}

/// Adds a test to a pattern.
///
/// A pattern has at most 100 tests, of at most 256 KiB each and 4 MiB together.
#[utoipa::path(
    post, path = "/api/patterns/{id}/tests", tag = "Tests", security(("bearer" = [])), request_body = Case,
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 201, description = "Added", body = WholeTest),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn add_test(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Json(mut case): Json<Case>,
) -> Result<(StatusCode, Answer<WholeTest>), ApiError> {
    let editor = caller.scope.editor()?;
    case.name = text("name", &case.name, NAME_CHARS_MAX)?;
    let test = test_cases::add(&app, editor, id, case).await?;
    Ok((StatusCode::CREATED, Answer(test.into())))
}

/// Gets a test.
#[utoipa::path(
    get, path = "/api/patterns/{id}/tests/{testId}", tag = "Tests", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern"), ("testId" = TestId, Path, description = "The test")),
    responses(
        (status = 200, description = "The test", body = WholeTest),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_test(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(PatternId, TestId)>,
) -> Result<Answer<WholeTest>, ApiError> {
    Ok(Answer(test_cases::get(&app, &caller.scope, ids).await?.into()))
}

/// Changes a test: what the request leaves out stays.
#[utoipa::path(
    put, path = "/api/patterns/{id}/tests/{testId}", tag = "Tests", security(("bearer" = [])), request_body = CaseChanges,
    params(("id" = PatternId, Path, description = "The pattern"), ("testId" = TestId, Path, description = "The test")),
    responses(
        (status = 200, description = "Changed", body = WholeTest),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn change_test(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(PatternId, TestId)>,
    Json(mut changes): Json<CaseChanges>,
) -> Result<Answer<WholeTest>, ApiError> {
    let editor = caller.scope.editor()?;
    changes.name = changes
        .name
        .map(|name| text("name", &name, NAME_CHARS_MAX))
        .transpose()?;
    Ok(Answer(
        test_cases::change(&app, editor, ids, changes).await?.into(),
    ))
}

/// Deletes a test.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/tests/{testId}", tag = "Tests", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern"), ("testId" = TestId, Path, description = "The test")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_test(
    State(app): State<App>,
    caller: Caller,
    Path(ids): Path<(PatternId, TestId)>,
) -> Result<StatusCode, ApiError> {
    test_cases::remove(&app, caller.scope.editor()?, ids).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Which tests are run, against what.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct RunTests {
    /// Tests of this pattern; default: all.
    tests: Option<Vec<TestId>>,
    /// A graph; default: the pattern's newest version. Results are kept only of that.
    #[schema(value_type = Option<CompleteGraph>)]
    graph_data: Option<Box<RawValue>>,
    /// Definitions of custom node types, by name; with `{}` or without any, the pattern's own.
    #[schema(value_type = Option<HashMap<String, NodeDefinition>>, example = json!({}))]
    node_definitions: Option<Box<RawValue>>,
}

/// Runs tests of a pattern, one after the other.
///
/// They run as test runs do, with their own event, pins, seed and time; nothing that is not pinned reaches outside unless the
/// test says `allowEffects`. A minute is given to all of them together.
#[utoipa::path(
    post, path = "/api/patterns/{id}/tests/run", tag = "Tests", security(("bearer" = [])), request_body = RunTests,
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 200, description = "How each of them ended", body = Tally),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn run_tests(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    CodeJson(body): CodeJson<RunTests>,
) -> Result<Answer<Tally>, ApiError> {
    let editor = caller.scope.editor()?;
    let object =
        |path: &str, given: Option<Box<RawValue>>| given.map(|it| extract::object(path, it)).transpose();
    let subject = Subject {
        version: None,
        is_kept: true,
        graph: object("graphData", body.graph_data)?,
        definitions: object("nodeDefinitions", body.node_definitions)?,
    };
    Ok(Answer(
        test_cases::run(&app, &editor, id, (body.tests, subject)).await?,
    ))
}

/// A run to make a test of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FromRun {
    /// The run's deployment.
    deployment_id: DeploymentId,
    /// The run, which has ended.
    run_id: RunId,
    /// Default: the label of the node that failed, or of the trigger, and when it began.
    #[schema(example = "A large order", min_length = 1, max_length = 200)]
    name: Option<String>,
}

/// Makes a test of a run.
///
/// It has the run's trigger, event, seed, time and environment, and expects the same output, or an error of the same code and
/// node. Nodes that reach outside are pinned to what they gave, as far as the run's trace has it, or else its journal; `unpinned` lists the
/// others.
#[utoipa::path(
    post, path = "/api/patterns/{id}/tests/from-run", operation_id = "add_test_from_run", tag = "Tests", security(("bearer" = [])), request_body = FromRun,
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 201, description = "Made", body = MadeTest),
        (status = 400, description = "VALIDATION; INVALID_STATUS: the run has not ended", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or no such run of it", body = ErrorBody),
    )
)]
async fn test_from_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Json(body): Json<FromRun>,
) -> Result<(StatusCode, Answer<MadeTest>), ApiError> {
    let editor = caller.scope.editor()?;
    let run = (body.deployment_id, body.run_id, named(body.name)?);
    let made = test_cases::from_run(&app, editor, id, run).await?;
    Ok((StatusCode::CREATED, Answer(made.into())))
}

/// An event to make a test of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct FromEvent {
    /// The webhook's node.
    #[schema(example = "hook")]
    node_id: String,
    /// When the event came, as `tap-events` has it.
    received_at: Timestamp,
    /// Default: the label of the webhook's node, and when it came.
    #[schema(example = "A large order", min_length = 1, max_length = 200)]
    name: Option<String>,
}

/// Makes a test of an event that a webhook of the pattern has received.
///
/// It expects nothing but that the run completes: run it, and accept what it gives. `unpinned` lists the nodes that reach
/// outside.
#[utoipa::path(
    post, path = "/api/patterns/{id}/tests/from-event", operation_id = "add_test_from_event", tag = "Tests", security(("bearer" = [])), request_body = FromEvent,
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 201, description = "Made", body = MadeTest),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN; QUOTA_EXCEEDED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such pattern, or the event is gone", body = ErrorBody),
    )
)]
async fn test_from_event(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Json(body): Json<FromEvent>,
) -> Result<(StatusCode, Answer<MadeTest>), ApiError> {
    let editor = caller.scope.editor()?;
    let event = (body.node_id, body.received_at, named(body.name)?);
    let made = test_cases::from_event(&app, editor, id, event).await?;
    Ok((StatusCode::CREATED, Answer(made.into())))
}

fn named(name: Option<String>) -> Result<Option<String>, ApiError> {
    name.map(|name| text("name", &name, NAME_CHARS_MAX)).transpose()
}
