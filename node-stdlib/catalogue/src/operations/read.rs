//! Reads and checks a service's file. What is read is kept for good: types last as long as the program.

use super::parameters::parameters;
use super::problems::{Problems, kept};
use crate::content::{ConnectionKind, Content};
use crate::effects::HTTP_REQUEST;
use crate::face::{Face, Group};
use crate::fits::fields_fit;
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};
use crate::operation::{Operation, Recorded};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const SERVICE: &[&str] = &["service", "icon", "words", "connection", "request", "operations"];
const OPERATION: &[&str] = &[
    "type",
    "title",
    "description",
    "reference",
    "words",
    "parameters",
    "request",
    "example",
];
const EXAMPLE: &[&str] = &["parameters", "request", "response", "output"];
/// The output of all operations.
const ANSWER: Outputs = Outputs::Fixed(&[Port::new("out", ValueType::Any, "What the service answers.")]);
/// How a parameter is named in an expression.
const GIVEN: &str = "$input.";

/// What all operations of a service have in common.
struct Service {
    name: String,
    icon: Icon,
    words: Vec<&'static str>,
    connection: String,
    request: Map<String, Value>,
}

/// The node types of a service's file, or what is wrong with it.
pub fn read_service(text: &str) -> Result<Vec<NodeType>, Vec<String>> {
    let value: Value = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
    let Value::Object(fields) = value else {
        return Err(vec!["the file must be an object".to_owned()]);
    };
    let mut problems = Problems::default();
    problems.unknown(&fields, SERVICE, "the service");
    let icon = problems.text(&fields, "icon", "the service");
    let service = Service {
        name: problems.text(&fields, "service", "the service"),
        icon: Icon::ALL
            .iter()
            .copied()
            .find(|known| known.name() == icon)
            .unwrap_or_else(|| {
                problems.add("the service", "`icon` must be one of docs/editors.md");
                Icon::Globe
            }),
        words: problems.words(&fields, "the service"),
        connection: problems.text(&fields, "connection", "the service"),
        request: problems.object(&fields, "request", "the service"),
    };
    let mut types = Vec::new();
    for (index, operation) in fields
        .get("operations")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
    {
        match operation {
            Value::Object(operation) => types.push(node_type(&service, operation, &mut problems)),
            _ => problems.add(&format!("operations[{index}]"), "must be an object"),
        }
    }
    if types.is_empty() {
        problems.add("the service", "`operations` must be a list of them");
    }
    problems.or(types)
}

fn node_type(service: &Service, fields: &Map<String, Value>, problems: &mut Problems) -> NodeType {
    let name = fields.get("type").and_then(Value::as_str).unwrap_or_default();
    let at = if name.is_empty() {
        service.name.as_str()
    } else {
        name
    };
    problems.unknown(fields, OPERATION, at);
    if !name.starts_with(|c: char| c.is_ascii_uppercase()) || !name.chars().all(|c| c.is_ascii_alphanumeric())
    {
        problems.add(at, "`type` must be in PascalCase");
    }
    let mut own = vec![connection(service)];
    own.extend(parameters(fields.get("parameters"), at, problems));
    let mut request = service.request.clone();
    for (field, value) in problems.object(fields, "request", at) {
        merge(&mut request, field, value);
    }
    request.entry("bodyOnly").or_insert(Value::Bool(true));
    request_fits(&request, &own, at, problems);
    let recorded = recorded(fields, &own, at, problems);
    let mut words = service.words.clone();
    words.extend(problems.words(fields, at));
    let title = problems.text(fields, "title", at);
    let example = example(service, &title, &recorded);
    let reference = problems.text(fields, "reference", at);
    let description = problems.text(fields, "description", at);
    NodeType {
        description: kept(&format!("{description} See [{}]({reference}).", service.name)),
        outputs: ANSWER,
        parameters: own.leak(),
        effects: HTTP_REQUEST.effects,
        operation: Some(Box::leak(Box::new(Operation {
            service: service.name.clone(),
            reference,
            request,
            recorded,
        }))),
        examples: vec![example].leak(),
        ..NodeType::plain(
            kept(name),
            Category::Effect,
            Face::new(
                kept(&format!("{}: {title}", service.name)),
                service.icon,
                Group::Apps,
                words.leak(),
            ),
        )
    }
}

fn connection(service: &Service) -> Parameter {
    let description = format!("Id or name of the connection: {}", service.connection);
    Parameter::required("connection", Schema::String, kept(&description))
        .content(Content::Connection(&[ConnectionKind::Http]))
}

/// A field of the operation's own, before what its service has; objects are put together.
fn merge(request: &mut Map<String, Value>, field: String, value: Value) {
    if let Value::Object(own) = &value
        && let Some(Value::Object(common)) = request.get_mut(&field)
    {
        common.extend(own.clone());
        return;
    }
    request.insert(field, value);
}

/// The request is one of HttpRequest's, below its base, and uses all parameters and no others.
fn request_fits(request: &Map<String, Value>, own: &[Parameter], at: &str, problems: &mut Problems) {
    if !fields_fit(HTTP_REQUEST.parameters, request) || request.contains_key("connection") {
        problems.add(
            at,
            "`request` must have HttpRequest's parameters, but for `connection`",
        );
    }
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
    if !text("url").starts_with('/') {
        problems.add(at, "`request.url` must be a path below `baseUrl`");
    }
    let base = text("baseUrl");
    if !base.is_empty() && !base.starts_with("https://") {
        problems.add(at, "`request.baseUrl` must begin with https://");
    }
    let written = Value::Object(request.clone()).to_string();
    let used: BTreeSet<&str> = written
        .split(GIVEN)
        .skip(1)
        .map(|rest| {
            rest.split(|c: char| !c.is_ascii_alphanumeric())
                .next()
                .unwrap_or_default()
        })
        .collect();
    let known: BTreeSet<&str> = own
        .iter()
        .map(|parameter| parameter.name)
        .filter(|name| *name != "connection")
        .collect();
    for name in used.symmetric_difference(&known) {
        problems.add(
            at,
            &format!("`{name}` is not both a parameter and used by the request"),
        );
    }
}

fn recorded(fields: &Map<String, Value>, own: &[Parameter], at: &str, problems: &mut Problems) -> Recorded {
    let example = problems.object(fields, "example", at);
    problems.unknown(&example, EXAMPLE, at);
    let parameters = problems.object(&example, "parameters", at);
    let mut whole = parameters.clone();
    whole.insert("connection".to_owned(), "c".into());
    if !fields_fit(own, &whole) {
        problems.add(at, "`example.parameters` don't fit the parameters");
    }
    let request = problems.object(&example, "request", at);
    let recorded = |name: &str| example.get(name).cloned();
    let response = recorded("response");
    if response.is_none() {
        problems.add(at, "`example.response` is missing");
    }
    let response = response.unwrap_or_default();
    Recorded {
        parameters,
        request: Value::Object(request),
        output: recorded("output").unwrap_or_else(|| response.clone()),
        response,
    }
}

fn example(service: &Service, title: &str, recorded: &Recorded) -> Example {
    let name = service.name.to_lowercase().replace(' ', "-");
    let mut parameters = Map::from_iter([("connection".to_owned(), name.into())]);
    parameters.extend(recorded.parameters.clone());
    Example {
        title: kept(title),
        parameters: kept(&Value::Object(parameters).to_string()),
        input: "null",
        output: kept(&json!({"out": recorded.output}).to_string()),
    }
}
