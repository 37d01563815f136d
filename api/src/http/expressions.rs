//! `/api/expressions`: what can be written in an expression, for editors. It is documentation, and therefore public.

use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::header::{ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use heddle_compiler::vocabulary::vocabulary;
use sha2::{Digest, Sha256};
use std::sync::LazyLock;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub fn routes<S: Clone + Send + Sync + 'static>() -> OpenApiRouter<S> {
    OpenApiRouter::new().routes(routes!(get_vocabulary))
}

/// The text, and its tag.
static VOCABULARY: LazyLock<(String, String)> = LazyLock::new(|| {
    // Texts and lists: always JSON.
    let text = serde_json::to_string(&vocabulary()).unwrap_or_default();
    let mut tag = hex::encode(Sha256::digest(&text));
    tag.truncate(32);
    (text, format!("\"{tag}\""))
});

/// What can be written in an expression.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what the compiler gives")]
struct Vocabulary {
    /// Names that stand for values.
    names: Vec<VocabularyName>,
    functions: Vec<VocabularyFunction>,
    /// Methods and properties by the type of the value that has them.
    types: Vec<VocabularyType>,
    /// Names that other systems have.
    foreign_names: Vec<ForeignName>,
    /// Methods that other systems have.
    foreign_methods: Vec<ForeignName>,
}

/// A name that stands for a value.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(dead_code, reason = "only describes what the compiler gives")]
struct VocabularyName {
    #[schema(example = "$input")]
    name: String,
    #[schema(example = "the value on the node's input")]
    about: String,
    scope: VocabularyScope,
    /// Whether expressions of definitions have it as well.
    in_definitions: bool,
}

/// Where a name has a value.
#[derive(ToSchema)]
#[schema(rename_all = "lowercase")]
#[expect(dead_code, reason = "only describes what the compiler gives")]
enum VocabularyScope {
    /// Everywhere.
    Always,
    /// In loops, with `each`, and in parameters that are evaluated for each item.
    Item,
    /// Where two items are compared.
    Pair,
    /// After a node that has failed.
    Error,
}

/// A function or a method.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the compiler gives")]
struct VocabularyFunction {
    #[schema(example = "padStart")]
    name: String,
    /// Those with `?` may be left out; `...` stands before one that may be repeated.
    #[schema(example = json!(["length", "fill?"]))]
    arguments: Vec<String>,
    /// What it gives.
    #[schema(example = "the string padded at its start")]
    about: String,
}

/// What values of a type have.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the compiler gives")]
struct VocabularyType {
    /// `any`: whatever has no method of the name itself.
    #[schema(example = "string")]
    r#type: String,
    methods: Vec<VocabularyFunction>,
    properties: Vec<VocabularyProperty>,
}

/// A property of values.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the compiler gives")]
struct VocabularyProperty {
    #[schema(example = "length")]
    name: String,
    #[schema(example = "the number of elements")]
    about: String,
}

/// What another system has.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what the compiler gives")]
struct ForeignName {
    #[schema(example = "$env")]
    name: String,
    #[schema(example = "n8n")]
    system: String,
    /// What to write here.
    #[schema(example = "settings are `$vars.NAME`, secrets `$secrets.NAME`")]
    instead: String,
}

/// Lists what can be written in an expression: names, functions, methods by type, and what other systems call by another
/// name.
#[utoipa::path(
    get, path = "/api/expressions", operation_id = "get_expression_vocabulary", tag = "Node types",
    params(("If-None-Match" = Option<String>, Header, description = "The ETag of an answer that the client has")),
    responses(
        (status = 200, description = "The vocabulary", body = Vocabulary, headers(("ETag" = String,
            description = "Changes with the vocabulary"))),
        (status = 304, description = "Not modified: the client has the current one"),
    )
)]
async fn get_vocabulary(headers: HeaderMap) -> Response {
    let (text, tag) = &*VOCABULARY;
    let kept = headers.get(IF_NONE_MATCH).and_then(|tags| tags.to_str().ok());
    let common = [(ETAG, tag.as_str()), (CACHE_CONTROL, "no-cache")];
    if kept.is_some_and(|tags| {
        tags.split(',')
            .any(|kept| kept.trim().trim_start_matches("W/") == tag)
    }) {
        return (StatusCode::NOT_MODIFIED, common).into_response();
    }
    (common, [(CONTENT_TYPE, "application/json")], text.as_str()).into_response()
}
