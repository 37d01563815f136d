//! Values of expressions while they are being written.

use super::drawn::CompleteGraph;
use super::extract::{self, Caller, Json};
use super::in_environment::environment;
use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use axum::Json as Answer;
use axum::extract::State;
use heddle_execution::compile::validation::{Evaluation, TextSpan};
use heddle_execution::preview::{Preview, PreviewError, PreviewRequest};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(preview))
}

/// Expressions, and what is known where they stand.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct PreviewBody {
    #[schema(value_type = CompleteGraph)]
    graph_data: Box<RawValue>,
    /// The node in which the expressions stand.
    #[schema(example = "start")]
    node_id: String,
    /// Texts with `{{ }}`, by the path of their parameter; at most 50.
    #[schema(value_type = HashMap<String, String>, example = json!({"value": "{{ $input.total }}"}))]
    expressions: Map<String, Value>,
    /// Outputs of the nodes before this one, by node id. A node without one counts as one that has not run.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({}))]
    outputs: Option<Map<String, Value>>,
    /// The value on the node's input; by default it follows from the edges and the outputs.
    input: Option<Value>,
    /// `$item`: the element of the loop or list, if the node is in one.
    item: Option<Value>,
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
    /// By what it is evaluated; null if it is not valid, or has no expression in it.
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
    fn request(self) -> Result<PreviewRequest, ApiError> {
        let text = |(path, value)| match value {
            Value::String(text) => Ok((path, text)),
            _ => Err(ApiError::field(format!("expressions.{path}"), "must be a string")),
        };
        let environment = self.environment_id.as_deref().map(environment);
        Ok(PreviewRequest {
            graph: extract::object("graphData", self.graph_data)?,
            node_id: self.node_id,
            expressions: self.expressions.into_iter().map(text).collect::<Result<_, _>>()?,
            outputs: self.outputs.unwrap_or_default().into_iter().collect(),
            input: self.input,
            item: self.item,
            event: self.event_data,
            environment: environment.transpose()?,
        })
    }
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
) -> Result<Answer<Previewed>, ApiError> {
    let editor = caller.scope.editor()?;
    let previews = app.executions.preview(&editor, body.request()?).await?;
    Ok(Answer(Previewed {
        previews: previews.into_iter().map(Into::into).collect(),
    }))
}
