//! Callbacks that runs of a workspace wait for, such as approvals: listed, and answered by members.

use super::cursor;
use super::extract::{self, Caller, Path, Query, given};
use super::reply::{Enveloped, Listed};
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::extract::State;
use heddle_execution::WaitingCallback;
use heddle_model::Code;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use heddle_service::audit;
use heddle_service::webhooks::event;
use heddle_store::accounts;
use heddle_store::runs::waiting::Filter;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::collections::BTreeMap;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Characters of a place; longer ones can't be answered here, but by their URL.
const PLACE_CHARS_MAX: usize = 1_000;
/// Values of an answer's query.
const QUERY_MAX: usize = 100;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list_waiting_callbacks))
        .routes(routes!(answer_callback))
}

/// Which callbacks to list.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct WaitingQuery {
    /// Only those of this pattern.
    #[serde(default, deserialize_with = "given")]
    pattern_id: Option<PatternId>,
    /// The `nextCursor` of the page before.
    #[param(max_length = 2000)]
    cursor: Option<String>,
    /// Callbacks per page, at most 100.
    #[param(minimum = 1, default = 50)]
    #[serde(default, deserialize_with = "given")]
    limit: Option<i64>,
}

/// A callback that a run waits for. Its URL is known to the run alone.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WaitingCallbackItem {
    run_id: RunId,
    deployment_id: DeploymentId,
    pattern_id: PatternId,
    #[schema(example = "Expense approval")]
    pattern_name: String,
    /// The version that the run executes.
    #[schema(example = 3)]
    version_number: i64,
    /// The WaitForCallback node, with the composites that it is in and its iteration in loops, as in the callback's URL.
    #[schema(example = "ask")]
    place: String,
    /// When the run was accepted.
    accepted_at: Timestamp,
    /// When the run goes on without an answer.
    until: Timestamp,
    /// The fields of the form by which it asks, which the body of an answer must have; null if it asks by none.
    #[schema(example = json!(["amount", "reason"]))]
    fields: Option<Vec<String>>,
}

impl From<WaitingCallback> for WaitingCallbackItem {
    fn from(waiting: WaitingCallback) -> Self {
        let WaitingCallback {
            row,
            place,
            until,
            fields,
        } = waiting;
        WaitingCallbackItem {
            run_id: row.run_id,
            deployment_id: row.deployment_id,
            pattern_id: row.pattern_id,
            pattern_name: row.pattern_name,
            version_number: row.version_number,
            place,
            accepted_at: row.accepted_at,
            until,
            fields,
        }
    }
}

/// Where the list of callbacks goes on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct WaitingMeta {
    /// Maximum number of elements per page.
    limit: i64,
    /// The `cursor` of the next page; null on the last one. A page may have fewer callbacks than its limit.
    next_cursor: Option<String>,
}

/// Lists the callbacks that runs of the active workspace wait for and that nobody has called yet, the newest run first.
///
/// A run is listed from the moment at which it waits; before that, its URL can be called already.
#[utoipa::path(
    get, path = "/api/callbacks", tag = "Executions", security(("bearer" = [])), params(WaitingQuery),
    responses(
        (status = 200, description = "A page", body = Listed<WaitingCallbackItem, WaitingMeta>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
    )
)]
async fn list_waiting_callbacks(
    State(app): State<App>,
    caller: Caller,
    Query(query): Query<WaitingQuery>,
) -> Result<Listed<WaitingCallbackItem, WaitingMeta>, ApiError> {
    let limit = extract::limit(query.limit, 50, 100)?;
    let filter = Filter {
        pattern: query.pattern_id,
        after: cursor::after(query.cursor.as_deref(), last_of)?,
        limit,
    };
    let page = app.executions.waiting_callbacks(&caller.scope, filter).await?;
    let next_cursor = page.next.map(|(run, key)| format!("{run}.{key}"));
    let callbacks = page.callbacks.into_iter().map(WaitingCallbackItem::from);
    Ok(Listed::new(
        callbacks.collect(),
        WaitingMeta { limit, next_cursor },
    ))
}

/// The last callback of a page, from the page's cursor.
fn last_of(cursor: &str) -> Option<(RunId, String)> {
    extract::printable("cursor", cursor).ok()?;
    let (run, key) = cursor.split_once('.')?;
    Some((run.parse().ok()?, key.to_owned()))
}

/// An answer to a callback.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct AnswerBody {
    /// The callback's place, as the list has it.
    #[schema(example = "ask", max_length = 1000)]
    place: String,
    /// What the node emits as the request's body.
    #[schema(value_type = Option<Value>, example = json!({"approved": true}))]
    body: Option<Box<RawValue>>,
    /// What it emits as the request's query; at most 100 values.
    #[serde(default)]
    #[schema(required = false, example = json!({}))]
    query: BTreeMap<String, String>,
}

/// A run that goes on.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Answered {
    run_id: RunId,
    #[schema(example = "ask")]
    place: String,
}

/// Answers a callback that a run waits for, in place of a call of its URL, which works no more then.
///
/// The WaitForCallback node emits it as a POST request without headers, with the caller as `by`: `{id, name, email}`. Calls of
/// the URL have no `by`, whatever they send. If the node asks by a form, the body has its fields, which are checked as those of
/// its page are.
#[utoipa::path(
    post, path = "/api/deployments/{id}/runs/{runId}/callback", tag = "Executions", security(("bearer" = [])),
    params(("id" = DeploymentId, Path, description = "Deployment"), ("runId" = RunId, Path, description = "Run")),
    request_body = AnswerBody,
    responses(
        (status = 200, description = "The run goes on", body = Enveloped<Answered>),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 404, description = "NOT_FOUND: no such run, or nothing waits at this place", body = ErrorBody),
        (status = 409, description = "CONFLICT: it was answered before", body = ErrorBody),
        (status = 410, description = "GONE: the run has ended, or no longer waits", body = ErrorBody),
    )
)]
async fn answer_callback(
    State(app): State<App>,
    caller: Caller,
    Path((deployment, run)): Path<(DeploymentId, RunId)>,
    extract::Json(answer): extract::Json<AnswerBody>,
) -> Result<Enveloped<Answered>, ApiError> {
    let editor = caller.scope.editor()?;
    let AnswerBody { place, body, query } = answer;
    extract::printable("place", &place)?;
    if place.chars().count() > PLACE_CHARS_MAX {
        let problem = format!("must have at most {PLACE_CHARS_MAX} characters");
        return Err(ApiError::field("place", problem));
    }
    if query.len() > QUERY_MAX {
        return Err(ApiError::field(
            "query",
            format!("must have at most {QUERY_MAX} values"),
        ));
    }
    let user = accounts::by_id(&mut app.store.reader().await?.db(), editor.user()).await?;
    let by = user.ok_or(Code::Unauthorized)?.into();
    let body = body.unwrap_or_else(|| RawValue::NULL.to_owned());
    let query = form_urlencoded::Serializer::new(String::new())
        .extend_pairs(query)
        .finish();
    let event = event::of_answer(Some(&query), &body, &by).map_err(ApiError::internal)?;
    let answered =
        app.executions
            .answer_callback(editor, (deployment, run), place.clone(), event.get().to_owned());
    answered.await?;
    let answered = Action::CallbackAnswered.of(Object::Run(deployment, run));
    audit::note(&app, &editor, answered.with("place", &*place)).await?;
    Ok(Enveloped::new(Answered { run_id: run, place }))
}
