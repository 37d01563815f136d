//! Reads and checks a service's file. What is read is kept for good: types last as long as the program.

use super::parameters::parameters;
use super::problems::{Problems, kept};
use super::service::{Service, used};
use super::triggers;
use crate::content::{ConnectionKind, Content};
use crate::effects::HTTP_REQUEST;
use crate::face::{Face, Group};
use crate::fits::fields_fit;
use crate::icon::Icon;
use crate::node_type::{Category, Either, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};
use crate::operation::{Operation, Recorded};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const SERVICE: &[&str] = &[
    "service",
    "icon",
    "words",
    "connection",
    "request",
    "operations",
    "triggers",
];
const OPERATION: &[&str] = &[
    "type",
    "title",
    "description",
    "reference",
    "words",
    "parameters",
    "either",
    "find",
    "request",
    "example",
];
const EXAMPLE: &[&str] = &["parameters", "find", "request", "response", "output"];
const FIND: &[&str] = &["request", "response"];
/// What the request that is sent first has given, among the names of parameters.
const FOUND: &str = "found";
/// The output of all operations.
const ANSWER: Outputs = Outputs::Fixed(&[Port::new("out", ValueType::Any, "What the service answers.")]);

/// The node types of a service's file, or what is wrong with it.
pub fn read_service(text: &str) -> Result<Vec<NodeType>, Vec<String>> {
    let value: Value = serde_json::from_str(text).map_err(|error| vec![error.to_string()])?;
    let Value::Object(fields) = value else {
        return Err(vec!["the file must be an object".to_owned()]);
    };
    let mut problems = Problems::default();
    problems.unknown(&fields, SERVICE, "the service");
    let icon = problems.text(&fields, "icon", "the service");
    let has_operations = fields.contains_key("operations");
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
        connection: match has_operations || fields.contains_key("connection") {
            true => problems.text(&fields, "connection", "the service"),
            false => String::new(),
        },
        request: match has_operations {
            true => problems.object(&fields, "request", "the service"),
            false => Map::new(),
        },
    };
    let mut types = Vec::new();
    for operation in listed(&fields, "operations", &mut problems) {
        types.push(node_type(&service, operation, &mut problems));
    }
    for trigger in listed(&fields, "triggers", &mut problems) {
        types.extend(triggers::node_type(&service, trigger, &mut problems));
    }
    if types.is_empty() {
        problems.add("the service", "`operations` or `triggers` must be a list of them");
    }
    problems.or(types)
}

/// The objects of a list that may be there.
fn listed<'f>(
    fields: &'f Map<String, Value>,
    name: &str,
    problems: &mut Problems,
) -> Vec<&'f Map<String, Value>> {
    let list = fields.get(name).and_then(Value::as_array);
    let mut objects = Vec::new();
    for (index, one) in list.into_iter().flatten().enumerate() {
        match one {
            Value::Object(one) => objects.push(one),
            _ => problems.add(&format!("{name}[{index}]"), "must be an object"),
        }
    }
    objects
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
    let request = request_of(service, fields, "request", at, problems);
    let find = fields
        .contains_key("find")
        .then(|| request_of(service, fields, "find", at, problems));
    uses_all(&request, find.as_ref(), &own, at, problems);
    let recorded = recorded(fields, &own, at, problems);
    let either = either(fields, &own, at, problems);
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
        either,
        operation: Some(Box::leak(Box::new(Operation {
            service: service.name.clone(),
            reference,
            request,
            find,
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

/// Two parameters of which exactly one must be given.
fn either(
    fields: &Map<String, Value>,
    own: &[Parameter],
    at: &str,
    problems: &mut Problems,
) -> Option<Either> {
    let names = fields.get("either")?.as_array();
    let known = |name: &Value| {
        let mut optional = own.iter().filter(|parameter| !parameter.required);
        optional.find(|parameter| name == parameter.name)
    };
    let both = names.map(Vec::as_slice).and_then(|names| match names {
        [usual, other] => Some((known(usual)?.name, known(other)?.name)),
        _ => None,
    });
    let Some((usual, other)) = both else {
        problems.add(at, "`either` must be two parameters that are not required");
        return None;
    };
    let help = kept(&format!("add `{usual}` or `{other}`"));
    Some(Either { usual, other, help })
}

fn connection(service: &Service) -> Parameter {
    let description = format!("Id or name of the connection: {}", service.connection);
    Parameter::required("connection", Schema::String, kept(&description))
        .content(Content::Connection(&[ConnectionKind::Http]))
}

/// One of an operation's requests, with what its service has in common.
fn request_of(
    service: &Service,
    fields: &Map<String, Value>,
    name: &str,
    at: &str,
    problems: &mut Problems,
) -> Map<String, Value> {
    let mut request = service.request.clone();
    for (field, value) in problems.object(fields, name, at) {
        merge(&mut request, field, value);
    }
    request.entry("bodyOnly").or_insert(Value::Bool(true));
    request_fits(&request, name, at, problems);
    request
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

/// The request is one of HttpRequest's, below its base.
fn request_fits(request: &Map<String, Value>, name: &str, at: &str, problems: &mut Problems) {
    if !fields_fit(HTTP_REQUEST.parameters, request) || request.contains_key("connection") {
        let message = format!("`{name}` must have HttpRequest's parameters, but for `connection`");
        problems.add(at, &message);
    }
    let text = |name: &str| request.get(name).and_then(Value::as_str).unwrap_or_default();
    if !text("url").starts_with('/') {
        problems.add(at, &format!("`{name}.url` must be a path below `baseUrl`"));
    }
    let base = text("baseUrl");
    if !base.is_empty() && !base.starts_with("https://") {
        problems.add(at, &format!("`{name}.baseUrl` must begin with https://"));
    }
}

/// The requests use all parameters and no others, and what was found if anything is looked for.
fn uses_all(
    request: &Map<String, Value>,
    find: Option<&Map<String, Value>>,
    own: &[Parameter],
    at: &str,
    problems: &mut Problems,
) {
    let request = Value::Object(request.clone()).to_string();
    let find = find.map(|find| Value::Object(find.clone()).to_string());
    let mut all = used(&request);
    match &find {
        Some(find) if all.remove(FOUND) => all.extend(used(find)),
        Some(_) => problems.add(at, "`request` must use `$input.found`, or `find` is of no use"),
        None => {}
    }
    let known: BTreeSet<&str> = own
        .iter()
        .map(|parameter| parameter.name)
        .filter(|name| *name != "connection")
        .collect();
    for name in all.symmetric_difference(&known) {
        problems.add(
            at,
            &format!("`{name}` is not both a parameter and used by the request"),
        );
    }
}

/// What arrives first and is answered, of an operation that finds something first.
fn recorded_find(
    fields: &Map<String, Value>,
    example: &Map<String, Value>,
    at: &str,
    problems: &mut Problems,
) -> Option<(Value, Value)> {
    if fields.contains_key("find") != example.contains_key("find") {
        problems.add(at, "`example.find` must be there if `find` is, and only then");
    }
    if !example.contains_key("find") {
        return None;
    }
    let find = problems.object(example, "find", at);
    problems.unknown(&find, FIND, at);
    let request = problems.object(&find, "request", at);
    Some((
        Value::Object(request),
        find.get("response").cloned().unwrap_or_default(),
    ))
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
    let find = recorded_find(fields, &example, at, problems);
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
        find,
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
