//! From an OpenAPI document to definitions: a node type for each of its operations, which sends the operation's request.
//!
//! A pure function, like the rest of this crate. Documents are foreign: they are bounded, no reference is followed out of
//! them, and what can't be sent as it is described is left out and said.

mod definition;
mod document;
mod operation;
mod size;
mod yaml;

use crate::read::Refused;
use definition::Parts;
use document::{Credentials, Document, Known, Security, is_base};
use heddle_compiler::{Options, Severity};
use operation::{Body, Operation, Place, Taken};
use serde::Serialize;
use serde_json::{Map, Value, json};
pub use size::{VALUES_MAX, few_values};
use std::collections::{BTreeSet, HashMap, HashSet};

/// Above which a document is refused unread.
pub const DOCUMENT_BYTES_MAX: usize = 16 << 20;
/// Operations that a document may have.
const OPERATIONS_MAX: usize = 5_000;
/// Operations that are imported together.
pub const IMPORTED_MAX: usize = 500;
const NAME_CHARS_MAX: usize = 60;
/// Characters of a path, which each of its methods has.
const PATH_CHARS_MAX: usize = 2_000;
/// Bytes of the scopes that one connection asks for.
const SCOPES_BYTES_MAX: usize = 8_000;
/// Bytes of definitions and of what is said of their fields: few references can lead to much.
const BYTES_MAX: usize = 8 << 20;
/// Each round refuses what was found; a hundred findings are told at a time.
const ROUNDS_MAX: usize = 20;

/// Which operations are wanted, and how.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Their ids; all of them if neither these nor tags are named.
    pub operations: Vec<String>,
    /// Their tags.
    pub tags: Vec<String>,
    /// What the names of definitions begin with.
    pub prefix: String,
    /// The address that paths are below, in place of the document's.
    pub base_url: Option<String>,
}

/// What became of a document.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Api {
    /// The document's title.
    pub title: String,
    /// A node type for each operation, by name.
    pub node_definitions: Map<String, Value>,
    /// What they are, what they need, and what could not be taken over.
    pub report: ApiReport,
}

/// What an import says of itself.
#[derive(Clone, Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiReport {
    /// Connections to make.
    pub connections: Vec<ApiConnection>,
    /// The operations that were asked for.
    pub operations: Vec<ApiOperation>,
    /// What could not be taken over.
    pub items: Vec<ApiItem>,
}

/// A connection that the definitions name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiConnection {
    /// What the definitions call it.
    pub name: String,
    /// The document's name for the security scheme; none if only an address is needed.
    pub scheme: Option<String>,
    /// The fields that it needs: values that the document gives, null for those to fill in.
    pub fields: Map<String, Value>,
}

/// An operation of the document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiOperation {
    /// The document's name for it; its method and path if it has none.
    pub id: String,
    /// The HTTP method.
    pub method: String,
    /// Below the base address.
    pub path: String,
    /// What it does.
    pub title: String,
    /// By which the document groups it.
    pub tags: Vec<String>,
    /// The name of its definition; none if it could not be taken over.
    pub definition: Option<String>,
    /// Fields of the input.
    pub fields: Vec<ApiField>,
}

/// A field of a definition's input.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiField {
    /// As the input has it.
    pub name: String,
    /// `path`, `query`, `header` or `body`.
    pub place: &'static str,
    /// As the document has it; `any` if it doesn't say.
    pub r#type: String,
    /// Whether the node fails without it.
    pub required: bool,
    /// From the document, in one line.
    pub description: String,
}

/// Something that could not be taken over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ApiItem {
    /// The operation; none for the document.
    pub operation_id: Option<String>,
    /// Whether the operation has no definition because of it.
    pub is_left_out: bool,
    /// For people.
    pub message: String,
}

/// A document's text, in JSON or YAML.
pub fn parse(text: &str) -> Result<Value, Refused> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.len() > DOCUMENT_BYTES_MAX {
        let limit = DOCUMENT_BYTES_MAX >> 20;
        return Err(Refused(format!("it is larger than {limit} MiB")));
    }
    match is_json(text) {
        true => {
            few_values(text)?;
            serde_json::from_str(text).map_err(|error| Refused(format!("it is not valid JSON: {error}")))
        }
        false => yaml::read(text),
    }
}

/// How many values a text has at most, but for those that aliases repeat: before any is made.
pub fn values_at_most(text: &str) -> usize {
    match is_json(text) {
        true => heddle_compiler::text::values_at_most(text),
        // One of these stands before each value, and in many other places.
        false => text.bytes().filter(|byte| b",[{:-?\n".contains(byte)).count() + 1,
    }
}

/// Whether a text is to be read as JSON, and not as YAML.
pub fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The operations of a document, without definitions.
pub fn operations(document: &Value) -> Result<Vec<ApiOperation>, Refused> {
    let known = Known::default();
    let document = Document {
        root: document,
        known: &known,
    };
    let all = found(document)?;
    Ok(all.iter().map(described).collect())
}

/// Definitions of the operations that are wanted. What the compiler says of them is for [`Api::refuse`].
pub fn read(document: &Value, selection: &Selection) -> Result<Api, Refused> {
    let known = Known::default();
    let document = Document {
        root: document,
        known: &known,
    };
    let selected = selected(found(document)?, selection)?;
    let title = text(document.root, "/info/title");
    let mut making = Making {
        document,
        selection,
        slug: slug(title),
        names: HashSet::new(),
        connections: HashMap::new(),
        report: ApiReport::default(),
        definitions: Map::new(),
        bytes: 0,
    };
    making.of_document();
    for operation in &selected {
        making.take(operation);
    }
    Ok(Api {
        title: title.chars().filter(|c| !c.is_control()).take(200).collect(),
        node_definitions: making.definitions,
        report: making.report,
    })
}

/// Definitions of the operations that are wanted, checked by compiling them here.
pub fn import(document: &Value, selection: &Selection) -> Result<Api, Refused> {
    let mut api = read(document, selection)?;
    for _ in 0..ROUNDS_MAX {
        let definitions = Value::Object(api.node_definitions.clone());
        let found = heddle_compiler::check(&around(), &definitions, &Options::default());
        let errors = found.into_iter().filter(|one| one.severity == Severity::Error);
        let named = errors.filter_map(|one| Some((one.within?.definition, one.message)));
        if !api.refuse(named.collect()) {
            break;
        }
    }
    Ok(api)
}

/// A graph in which definitions can be checked: it uses none.
pub fn around() -> Value {
    json!({"nodes": [{"id": "start", "type": "OnManual"}], "edges": []})
}

impl Api {
    /// Takes back definitions that don't compile: their names, and what is wrong. Whether there were any.
    pub fn refuse(&mut self, found: Vec<(String, String)>) -> bool {
        let mut any = false;
        for (name, why) in found {
            if self.node_definitions.shift_remove(&name).is_none() {
                continue;
            }
            any = true;
            let mut operations = self.report.operations.iter_mut();
            let Some(operation) = operations.find(|one| one.definition.as_ref() == Some(&name)) else {
                continue;
            };
            operation.definition = None;
            self.report.items.push(ApiItem {
                operation_id: Some(operation.id.clone()),
                is_left_out: true,
                message: why,
            });
        }
        any
    }
}

fn text<'d>(value: &'d Value, pointer: &str) -> &'d str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// All operations of a document that is one.
fn found(document: Document<'_>) -> Result<Vec<Operation<'_>>, Refused> {
    if document.root.get("swagger").is_some() {
        let message = "it is a Swagger 2.0 document: convert it to OpenAPI 3 first, for example with `npx swagger2openapi`";
        return Err(Refused(message.to_owned()));
    }
    let version = match document.root.get("openapi") {
        // In YAML, `3.1` without quotes is a number.
        Some(Value::Number(number)) => number.to_string(),
        _ => text(document.root, "/openapi").to_owned(),
    };
    if !version.starts_with("3.0") && !version.starts_with("3.1") {
        let message = match version.as_str() {
            "" => "it is not an OpenAPI document: it has no field `openapi` with a version".to_owned(),
            other => format!(
                "it is of OpenAPI {}, but only 3.0 and 3.1 can be imported",
                other
                    .chars()
                    .filter(|c| !c.is_control())
                    .take(20)
                    .collect::<String>()
            ),
        };
        return Err(Refused(message));
    }
    let paths = document.root.get("paths").and_then(Value::as_object);
    let mut all = Vec::new();
    for (path, item) in paths
        .into_iter()
        .flatten()
        .filter(|(path, _)| path.starts_with('/'))
    {
        all.extend(operation::of_path(document, path, item));
        if all.len() > OPERATIONS_MAX {
            return Err(Refused(format!("it has more than {OPERATIONS_MAX} operations")));
        }
    }
    Ok(all)
}

/// Those that are named by id or tag; each name must be one.
fn selected<'d>(all: Vec<Operation<'d>>, selection: &Selection) -> Result<Vec<Operation<'d>>, Refused> {
    if let Some(base) = selection.base_url.as_ref().filter(|base| !is_base(base)) {
        return Err(Refused(format!(
            "`{base}` can't be the base address: it begins with https:// or http://, and has no query"
        )));
    }
    let is_name = |c: char| c.is_ascii_alphanumeric();
    let prefix = &selection.prefix;
    let is_prefix = prefix.starts_with(|c: char| c.is_ascii_lowercase()) && prefix.chars().all(is_name);
    if !prefix.is_empty() && (!is_prefix || prefix.len() > NAME_CHARS_MAX) {
        return Err(Refused(format!(
            "the prefix `{prefix}` must be letters and digits and begin with a small letter"
        )));
    }
    let unknown = {
        let ids: HashSet<&str> = all.iter().map(|operation| operation.id.as_str()).collect();
        selection.operations.iter().find(|id| !ids.contains(id.as_str()))
    };
    if let Some(id) = unknown {
        return Err(Refused(format!("it has no operation `{id}`")));
    }
    let tags: HashSet<&str> = all.iter().flat_map(Operation::tags).collect();
    if let Some(tag) = selection.tags.iter().find(|tag| !tags.contains(tag.as_str())) {
        return Err(Refused(format!("no operation has the tag `{tag}`")));
    }
    let is_all = selection.operations.is_empty() && selection.tags.is_empty();
    let ids: HashSet<&str> = selection.operations.iter().map(String::as_str).collect();
    let tags: HashSet<&str> = selection.tags.iter().map(String::as_str).collect();
    let is_wanted = |operation: &Operation<'_>| {
        let mut own = operation.tags().into_iter();
        is_all || ids.contains(operation.id.as_str()) || own.any(|tag| tags.contains(tag))
    };
    let selected: Vec<Operation<'d>> = all.into_iter().filter(is_wanted).collect();
    match selected.len() {
        0 => Err(Refused("it has no operations".to_owned())),
        count if count > IMPORTED_MAX => Err(Refused(format!(
            "{count} operations are selected, and at most {IMPORTED_MAX} are imported together: choose some by id or tag"
        ))),
        _ => Ok(selected),
    }
}

fn described(operation: &Operation<'_>) -> ApiOperation {
    let path = operation.path.chars().filter(|c| !c.is_control());
    ApiOperation {
        id: operation.id.clone(),
        method: operation.method.to_owned(),
        path: path.take(PATH_CHARS_MAX).collect(),
        title: operation.title(),
        tags: operation.tags().into_iter().map(str::to_owned).collect(),
        definition: None,
        fields: Vec::new(),
    }
}

/// An import under way.
struct Making<'d, 's> {
    document: Document<'d>,
    selection: &'s Selection,
    /// The title, as a part of names.
    slug: String,
    names: HashSet<String>,
    /// Places of connections in the report, by scheme and server.
    connections: HashMap<(Option<String>, Option<String>), usize>,
    report: ApiReport,
    definitions: Map<String, Value>,
    bytes: usize,
}

impl<'d> Making<'d, '_> {
    fn remark(&mut self, operation: Option<&str>, is_left_out: bool, message: String) {
        self.report.items.push(ApiItem {
            operation_id: operation.map(str::to_owned),
            is_left_out,
            message,
        });
    }

    /// What concerns no single operation.
    fn of_document(&mut self) {
        let webhooks = self.document.root.get("webhooks").and_then(Value::as_object);
        if let Some(count) = webhooks.map(Map::len).filter(|count| *count > 0) {
            let message = format!("{count} webhooks are left out: an OnWebhook takes what the service sends");
            self.remark(None, false, message);
        }
    }

    fn take(&mut self, operation: &Operation<'d>) {
        let mut described = described(operation);
        let mut left = Vec::new();
        let mut made = self.definition(operation, &mut described, &mut left);
        let described_bytes: usize = described.fields.iter().map(|field| field.description.len()).sum();
        self.bytes += described_bytes + made.as_ref().map_or(0, |definition| definition.to_string().len());
        if self.bytes > BYTES_MAX {
            described.fields.clear();
            left.clear();
            made = Err("the definitions are too large together: choose some by id or tag".to_owned());
        }
        match made {
            Ok(definition) => {
                let name = self.name(&operation.id);
                described.definition = Some(name.clone());
                self.definitions.insert(name, definition);
            }
            Err(why) => self.remark(Some(&operation.id), true, why),
        }
        for message in left {
            self.remark(Some(&operation.id), false, message);
        }
        self.report.operations.push(described);
    }

    fn definition(
        &mut self,
        operation: &Operation<'d>,
        described: &mut ApiOperation,
        left: &mut Vec<String>,
    ) -> Result<Value, String> {
        let parameters = operation.parameters(self.document, left)?;
        let body = operation.body(self.document, left)?;
        described.fields = fields(&parameters, body.as_ref());
        if operation.value.get("deprecated") == Some(&Value::Bool(true)) {
            left.push("it is deprecated".to_owned());
        }
        if operation.value.get("callbacks").is_some() {
            left.push("its callbacks are left out".to_owned());
        }
        let base = match &self.selection.base_url {
            Some(base) => Some(base.trim_end_matches('/').to_owned()),
            None => self.document.base(operation.item, operation.value),
        };
        let connection = match self.document.security(operation.value) {
            Security::By(credentials) => Some(Some(credentials)),
            Security::Other(schemes) => {
                left.push(format!(
                    "connections don't support its security `{schemes}`: its requests are sent without credentials"
                ));
                base.is_none().then_some(None)
            }
            Security::Open => base.is_none().then_some(None),
        };
        let connection = connection.map(|credentials| self.connection_name(credentials, base.as_deref()));
        let description = format!("{} {}: {}", operation.method, operation.path, described.title);
        definition::definition(&Parts {
            operation,
            parameters: &parameters,
            body: body.as_ref(),
            base: base.as_deref(),
            connection: connection.as_deref(),
            answer: operation.answer(self.document),
            description: description.trim_end_matches([':', ' ']).to_owned(),
        })
    }

    /// The connection for a scheme at an address: one for all operations with the same.
    ///
    /// The address is part of the name, as requests go there: whatever a foreign document calls itself, no connection that is
    /// there for another service has this name, and none of its credentials go to the document's server. Without an address
    /// they go to the connection's own.
    fn connection_name(&mut self, credentials: Option<Credentials<'d>>, base: Option<&str>) -> String {
        let scheme = credentials.as_ref().map(|credentials| credentials.scheme);
        let schemes = self.document.root.pointer("/components/securitySchemes");
        let several = schemes.and_then(Value::as_object).map_or(0, Map::len) > 1;
        let title = match scheme {
            Some(scheme) if several => format!("{}-{}", self.slug, slug(scheme)),
            _ => self.slug.clone(),
        };
        let server = base.map(server);
        let key = (scheme.map(str::to_owned), server.clone());
        let place = *self.connections.entry(key).or_insert_with(|| {
            self.report.connections.push(ApiConnection {
                name: match &server {
                    Some(server) => format!("{title}@{server}"),
                    None => title,
                },
                scheme: scheme.map(str::to_owned),
                fields: Map::new(),
            });
            self.report.connections.len() - 1
        });
        let Some(connection) = self.report.connections.get_mut(place) else {
            return self.slug.clone();
        };
        if base.is_none() {
            connection.fields.insert("baseUrl".to_owned(), Value::Null);
        }
        if let Some(credentials) = credentials {
            for (field, value) in credentials.fields {
                connection.fields.insert(field.to_owned(), value.into());
            }
            add_scopes(&mut connection.fields, &credentials.scopes);
        }
        connection.name.clone()
    }

    /// A name that no standard type has, as those begin with a capital.
    fn name(&mut self, id: &str) -> String {
        let mut name = self.selection.prefix.clone();
        for word in id
            .split(|c: char| !c.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
        {
            let (first, rest) = word.split_at(1);
            match name.is_empty() {
                true => name.push_str(&first.to_ascii_lowercase()),
                false => name.push_str(&first.to_ascii_uppercase()),
            }
            name.push_str(rest);
        }
        name.truncate(NAME_CHARS_MAX);
        if !name.starts_with(|c: char| c.is_ascii_lowercase()) {
            name.insert_str(0, "operation");
        }
        let mut free = name.clone();
        let mut number = 1;
        while !self.names.insert(free.clone()) {
            number += 1;
            free = format!("{name}{number}");
        }
        free
    }
}

/// Whom requests below an address are sent to: `api.example.com`, or `http://…` where they are not encrypted.
fn server(base: &str) -> String {
    let base = base.to_ascii_lowercase();
    let (scheme, rest) = base.split_once("://").unwrap_or(("https", base.as_str()));
    let authority = rest.split('/').next().unwrap_or_default();
    match scheme {
        "https" => authority.to_owned(),
        other => format!("{other}://{authority}"),
    }
}

/// Scopes of all operations that use the connection.
fn add_scopes(fields: &mut Map<String, Value>, scopes: &[&str]) {
    if scopes.is_empty() {
        return;
    }
    let known = fields.get("scope").and_then(Value::as_str).unwrap_or_default();
    if known.len() > SCOPES_BYTES_MAX {
        return;
    }
    let all: BTreeSet<&str> = known.split(' ').chain(scopes.iter().copied()).collect();
    let all: Vec<&str> = all.into_iter().filter(|scope| !scope.is_empty()).collect();
    let joined = all.join(" ");
    fields.insert("scope".to_owned(), joined.into());
}

fn fields(parameters: &[Taken<'_>], body: Option<&Body<'_>>) -> Vec<ApiField> {
    let field = |taken: &Taken<'_>| ApiField {
        name: taken.field.clone(),
        place: match taken.place {
            Place::Path => "path",
            Place::Query => "query",
            Place::Header => "header",
        },
        r#type: taken.kind.chars().take(20).collect(),
        required: taken.required,
        description: taken.description.clone(),
    };
    let body = body.map(|body| ApiField {
        name: "body".to_owned(),
        place: "body",
        r#type: match body.kind {
            "form" | "multipart" => "object",
            "text" => "string",
            _ => "any",
        }
        .to_owned(),
        required: body.required,
        description: body.description.clone(),
    });
    parameters.iter().map(field).chain(body).collect()
}

/// Small letters, digits and `-` of a text.
fn slug(text: &str) -> String {
    let small: String = text.chars().take(500).collect();
    let small = small.to_ascii_lowercase();
    let words: Vec<&str> = small
        .split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .take(6)
        .collect();
    let joined: String = words.join("-").chars().take(NAME_CHARS_MAX).collect();
    match joined.is_empty() {
        true => "api".to_owned(),
        false => joined,
    }
}
