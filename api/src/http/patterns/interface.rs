//! A pattern's inputs and outputs when another pattern calls it.

use crate::app::App;
use crate::http::error::{ApiError, ErrorBody};
use crate::http::extract::{Caller, Json, Path, text};
use axum::Json as Answer;
use axum::extract::State;
use axum::http::StatusCode;
use heddle_model::error::Detail;
use heddle_model::ids::PatternId;
use heddle_model::objects;
use heddle_service::patterns;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

const FIELDS_MAX: usize = 100;
const NAME_CHARS_MAX: usize = 100;

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(
        get_call_interface,
        put_call_interface,
        delete_call_interface
    ))
}

/// The type of an input or output.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum FieldType {
    Any,
    String,
    Number,
    Integer,
    Boolean,
    Object,
    Array,
}

/// An input or output.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
struct Field {
    #[schema(example = "orderId", min_length = 1, max_length = 100)]
    name: String,
    #[serde(rename = "type")]
    field_type: FieldType,
}

/// A pattern's inputs and outputs.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[schema(example = json!({
    "inputs": [{"name": "orderId", "type": "string"}],
    "outputs": [{"name": "total", "type": "integer"}]
}))]
struct CallInterface {
    /// Names are unique.
    #[serde(deserialize_with = "objects::list")]
    #[schema(max_items = 100)]
    inputs: Vec<Field>,
    /// Names are unique.
    #[serde(deserialize_with = "objects::list")]
    #[schema(max_items = 100)]
    outputs: Vec<Field>,
}

/// A call interface in an envelope.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct CallInterfaceReply {
    call_interface: CallInterface,
}

impl CallInterface {
    /// Trims the names; reports all errors at once.
    fn checked(mut self) -> Result<Self, ApiError> {
        let mut wrong = Vec::new();
        for (list, fields) in [("inputs", &mut self.inputs), ("outputs", &mut self.outputs)] {
            if fields.len() > FIELDS_MAX {
                return Err(ApiError::field(list, format!("can be at most {FIELDS_MAX}")));
            }
            let mut names = std::collections::HashSet::new();
            for (index, field) in fields.iter_mut().enumerate() {
                let path = format!("{list}[{index}].name");
                field.name = text(&path, &field.name, NAME_CHARS_MAX)?;
                if !names.insert(field.name.clone()) {
                    let message = format!("repeats `{}`", field.name);
                    wrong.push(Detail { path, message });
                }
            }
        }
        if wrong.is_empty() {
            Ok(self)
        } else {
            Err(ApiError::fields(wrong))
        }
    }
}

/// Gets a pattern's inputs and outputs when another pattern calls it.
///
/// Both lists are empty until they are set.
#[utoipa::path(
    get, path = "/api/patterns/{id}/call-interface", tag = "Call interface", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern: the caller's, their workspace's, or a public one")),
    responses(
        (status = 200, description = "The call interface", body = CallInterfaceReply),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn get_call_interface(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<Answer<CallInterfaceReply>, ApiError> {
    let row = patterns::readable(&mut app.store.reader().await?.db(), &caller.scope, id).await?;
    let call_interface = match row.call_interface {
        Some(text) => serde_json::from_str(&text).map_err(ApiError::internal)?,
        None => CallInterface::default(),
    };
    Ok(Answer(CallInterfaceReply { call_interface }))
}

/// Sets a pattern's inputs and outputs when another pattern calls it.
#[utoipa::path(
    put, path = "/api/patterns/{id}/call-interface", tag = "Call interface", request_body = CallInterface,
    security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 200, description = "Set", body = CallInterfaceReply),
        (status = 400, description = "VALIDATION", body = ErrorBody),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn put_call_interface(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
    Json(request): Json<CallInterface>,
) -> Result<Answer<CallInterfaceReply>, ApiError> {
    let editor = caller.scope.editor()?;
    let call_interface = request.checked()?;
    let text = serde_json::to_string(&call_interface).map_err(ApiError::internal)?;
    patterns::set_call_interface(&app, editor, id, Some(text)).await?;
    Ok(Answer(CallInterfaceReply { call_interface }))
}

/// Removes a pattern's call interface, if it has one.
#[utoipa::path(
    delete, path = "/api/patterns/{id}/call-interface", tag = "Call interface", security(("bearer" = [])),
    params(("id" = PatternId, Path, description = "The pattern")),
    responses(
        (status = 204, description = "Removed"),
        (status = 401, description = "UNAUTHORIZED or TOKEN_EXPIRED", body = ErrorBody),
        (status = 403, description = "FORBIDDEN: the caller is a viewer, or the pattern is somebody else's public one", body = ErrorBody),
        (status = 404, description = "NOT_FOUND", body = ErrorBody),
    )
)]
async fn delete_call_interface(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<PatternId>,
) -> Result<StatusCode, ApiError> {
    patterns::set_call_interface(&app, caller.scope.editor()?, id, None).await?;
    Ok(StatusCode::NO_CONTENT)
}
