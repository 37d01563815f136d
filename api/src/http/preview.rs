//! Values of expressions while they are being written.

use super::drawn::PreviewGraph;
use super::extract::{self, Caller, Json, element};
use super::in_environment::environment;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use heddle_compiler::text::values_at_most;
use heddle_execution::blocking::computing_if_large;
use heddle_execution::budget;
use heddle_execution::compile::validation::{Evaluation, TextSpan};
use heddle_execution::preview::{Preview, PreviewError, PreviewRequest};
use heddle_model::access::Editor;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// Values of a request. A graph has half of them at most.
const VALUES_MAX: usize = 500_000;
/// Memory for each byte of what is read: the texts, those that are compiled, and the module.
const FACTOR: usize = 8;
/// Memory for each value besides.
const VALUE_BYTES: usize = 160;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(preview))
}

/// Expressions, and what is known where they stand.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PreviewBody {
    #[schema(value_type = PreviewGraph)]
    graph_data: Box<RawValue>,
    /// The node in which the expressions stand.
    #[schema(example = "start")]
    node_id: String,
    /// Texts with `{{ }}`, by the path of their parameter; at most 50.
    #[schema(value_type = HashMap<String, String>, example = json!({"value": "{{ $input.total }}"}))]
    expressions: Box<RawValue>,
    /// Outputs of the nodes before this one, by node id. A node without one counts as one that has not run.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({}))]
    outputs: Option<Box<RawValue>>,
    /// The value on the node's input; by default it follows from the edges and the outputs.
    #[schema(value_type = Option<Value>)]
    input: Option<Box<RawValue>>,
    /// `$item`: the element of the loop or list, if the node is in one.
    #[schema(value_type = Option<Value>)]
    item: Option<Box<RawValue>>,
    /// `$trigger`: the event; by default the trigger's output.
    #[schema(value_type = Option<Value>)]
    event_data: Option<Box<RawValue>>,
    /// The environment that variables come from; by default the workspace's `production`.
    environment_id: Option<String>,
}

/// What expressions give.
#[derive(Debug, Serialize, ToSchema)]
struct Previewed {
    /// One for each expression, in their order.
    previews: Vec<PreviewedExpression>,
}

/// What an expression gives.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PreviewedExpression {
    /// Path of its parameter.
    #[schema(example = "value")]
    path: String,
    /// What evaluates it; null if it is not valid, or has no expression in it.
    evaluation: Option<Evaluation>,
    /// Its value; an excerpt, `{truncated, bytes, excerpt}`, when it is larger than 16 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    value: Option<Box<RawValue>>,
    /// Why it has no value.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ExpressionError>,
}

/// Why an expression has no value.
#[derive(Debug, Serialize, ToSchema)]
struct ExpressionError {
    /// Rule of the compiler, or code of the run's error.
    #[schema(example = "EXPRESSION")]
    code: String,
    message: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The piece that is meant, if it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<TextSpan>,
}

impl From<Preview> for PreviewedExpression {
    fn from(preview: Preview) -> Self {
        let error = |error: PreviewError| ExpressionError {
            code: error.code,
            message: error.message,
            help: error.help,
            span: error.span,
        };
        let (value, error) = match preview.result {
            Ok(value) => (Some(value), None),
            Err(failed) => (None, Some(error(failed))),
        };
        PreviewedExpression {
            path: preview.path,
            evaluation: preview.evaluation,
            value,
            error,
        }
    }
}

impl PreviewBody {
    /// What is read of it.
    fn given(&self) -> [(&'static str, &str); 5] {
        [
            ("graphData", self.graph_data.get()),
            ("outputs", text(self.outputs.as_deref())),
            ("input", text(self.input.as_deref())),
            ("item", text(self.item.as_deref())),
            ("expressions", self.expressions.get()),
        ]
    }

    /// How many values are read at most. If they are too many, it is an error of the field that has most of them.
    fn values(&self) -> Result<usize, ApiError> {
        let given = self.given().map(|(field, text)| (values_at_most(text), field));
        let in_all: usize = given.iter().map(|(values, _)| values).sum();
        match given.iter().max() {
            Some((_, field)) if in_all > VALUES_MAX => {
                let message = format!(
                    "brings the request to more than {VALUES_MAX} values, which is the limit: send less, such as the first \
                     items of a list"
                );
                Err(ApiError::field(*field, message))
            }
            _ => Ok(in_all),
        }
    }

    fn bytes(&self) -> usize {
        let event = self.event_data.as_deref().map_or(0, |event| event.get().len());
        let given = self.given().iter().map(|(_, text)| text.len()).sum::<usize>();
        given.saturating_add(event)
    }

    fn request(self) -> Result<PreviewRequest, ApiError> {
        let text = |(path, value)| match value {
            Value::String(text) => Ok((path, text)),
            _ => Err(ApiError::field(format!("expressions.{path}"), "must be a string")),
        };
        let expressions: Map<String, Value> = element("expressions", &self.expressions)?;
        let outputs: Option<Map<String, Value>> = read("outputs", self.outputs)?;
        let environment = self.environment_id.as_deref().map(environment);
        Ok(PreviewRequest {
            graph: extract::object("graphData", self.graph_data)?,
            node_id: self.node_id,
            expressions: expressions.into_iter().map(text).collect::<Result<_, _>>()?,
            outputs: outputs.unwrap_or_default().into_iter().collect(),
            input: read("input", self.input)?,
            item: read("item", self.item)?,
            event: self.event_data,
            environment: environment.transpose()?,
        })
    }
}

fn text(raw: Option<&RawValue>) -> &str {
    raw.map_or("null", RawValue::get)
}

fn read<T: DeserializeOwned>(path: &str, raw: Option<Box<RawValue>>) -> Result<Option<T>, ApiError> {
    raw.map(|raw| element(path, &raw)).transpose()
}

/// Evaluates expressions as if they stood in a node of a graph.
///
/// They are evaluated in the sandbox, on the outputs that the request gives, with little time and fuel for all of them
/// together. No node of the graph executes, so that nothing happens outside.
#[utoipa::path(
    post, path = "/api/execute/preview", operation_id = "preview_expressions", tag = "Executions", security(("bearer" = [])), request_body = PreviewBody,
    responses(
        (status = 200, description = "Values and errors", body = Previewed),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN", body = ErrorBody),
        (status = 503, description = "UNAVAILABLE: too many runs are executing", body = ErrorBody),
    )
)]
async fn preview(
    State(app): State<App>,
    caller: Caller,
    Json(body): Json<PreviewBody>,
) -> Result<Response, ApiError> {
    let editor = caller.scope.editor()?;
    let owner = Some(editor.user());
    let bytes = body.bytes();
    let count = move || Ok::<_, ApiError>((body.values()?, body));
    let (values, body) = computing_if_large(owner, bytes, count).await??;
    let memory = budget::memory((bytes, FACTOR), (values, VALUE_BYTES));
    let answer = Box::pin(answer(&app, editor, (bytes, FACTOR), body));
    app.budget.hold(owner, (bytes, memory), answer).await?
}

async fn answer(
    app: &App,
    editor: Editor,
    size: (usize, usize),
    body: PreviewBody,
) -> Result<Response, ApiError> {
    let request = app.budget.read(Some(editor.user()), size, move || body.request());
    let previews = app.executions.preview(&editor, request.await??).await?;
    let answer = Previewed {
        previews: previews.into_iter().map(Into::into).collect(),
    };
    Ok(Answer(answer).into_response())
}
