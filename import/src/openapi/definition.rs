//! A definition for an operation: a graph that checks what it is given, sends the request, and returns the answer.

use super::operation::{Body, Form, Operation, Place, Taken};
use crate::expression::quoted;
use serde_json::{Map, Value, json};

/// What a definition is made of.
pub(super) struct Parts<'p, 'd> {
    pub operation: &'p Operation<'d>,
    pub parameters: &'p [Taken<'d>],
    pub body: Option<&'p Body<'d>>,
    pub base: Option<&'p str>,
    pub connection: Option<&'p str>,
    /// Whether it answers JSON, and whether it answers with a file.
    pub answer: (bool, bool),
    pub description: String,
}

/// The definition; or why the path can't be one of a request.
pub(super) fn definition(parts: &Parts<'_, '_>) -> Result<Value, String> {
    let request = request(parts)?;
    let required = required(parts);
    let mut nodes = vec![
        node("input", "OnCall", 0.0, None),
        node("request", "HttpRequest", 480.0, Some(request)),
        node("result", "Return", 720.0, None),
    ];
    let mut edges = vec![json!({"id": "e0", "source": "request", "target": "result"})];
    if required.is_empty() {
        edges.push(json!({"id": "e1", "source": "input", "target": "request"}));
    } else {
        let (complete, missing) = check(&required);
        nodes.push(node("complete", "If", 240.0, Some(complete)));
        nodes.push(node("missing", "Throw", 480.0, Some(missing)));
        edges.push(json!({"id": "e1", "source": "input", "target": "complete"}));
        edges.push(json!({"id": "e2", "source": "complete", "sourceHandle": "true", "target": "request"}));
        edges.push(json!({"id": "e3", "source": "complete", "sourceHandle": "false", "target": "missing"}));
    }
    Ok(json!({
        "kind": "graph",
        "description": parts.description,
        "inputs": [{"name": "in", "type": "any", "required": !required.is_empty()}],
        "outputs": [{"name": "out", "type": "any"}],
        "graphData": {"nodes": nodes, "edges": edges},
    }))
}

fn node(id: &str, kind: &str, x: f64, parameters: Option<Value>) -> Value {
    let y = if id == "missing" { 160.0 } else { 0.0 };
    let parameters = parameters.unwrap_or_else(|| json!({}));
    json!({"id": id, "type": kind, "position": {"x": x, "y": y}, "data": {"parameters": parameters}})
}

/// A field of the input, as an expression.
fn field(name: &str) -> String {
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_name {
        true => format!("$input?.{name}"),
        false => format!("$input?.[{}]", quoted(name)),
    }
}

/// What must be there, and whether an empty text is not enough.
fn required<'p>(parts: &Parts<'p, '_>) -> Vec<(&'p str, bool)> {
    let needed = parts.parameters.iter().filter(|taken| taken.required);
    let mut required: Vec<(&str, bool)> = needed
        .map(|taken| (taken.field.as_str(), taken.place == Place::Path))
        .collect();
    if parts.body.is_some_and(|body| body.required) {
        required.push(("body", false));
    }
    required
}

/// Parameters of the If that looks whether all is there, and of the Throw for when it isn't.
fn check(required: &[(&str, bool)]) -> (Value, Value) {
    let pair = |(name, in_path): &(&str, bool)| {
        let value = field(name);
        let value = match in_path {
            // What is empty in a path would make it that of another operation.
            true => {
                format!("({value} == null || {value} === \"\" || [{value}].flat().length === 0 ? null : 1)")
            }
            false => format!("({value} == null ? null : 1)"),
        };
        format!("[{}, {value}]", quoted(name))
    };
    let pairs: Vec<String> = required.iter().map(pair).collect();
    let pairs = format!("[{}]", pairs.join(", "));
    let condition = format!("{{{{ {pairs}.every(it => it[1] != null) }}}}");
    let message = format!(
        "The input lacks {{{{ {pairs}.filter(it => it[1] == null).map(it => it[0]).join(\", \") }}}}."
    );
    (
        json!({"condition": condition}),
        json!({"code": "PARAMETER", "message": message}),
    )
}

fn request(parts: &Parts<'_, '_>) -> Result<Value, String> {
    let mut request = Map::new();
    request.insert("method".to_owned(), parts.operation.method.into());
    if let Some(base) = parts.base {
        request.insert("baseUrl".to_owned(), base.into());
    }
    request.insert("url".to_owned(), url(parts)?.into());
    if let Some(query) = query(parts.parameters) {
        request.insert("query".to_owned(), query);
    }
    let headers = headers(parts);
    if !headers.is_empty() {
        request.insert("headers".to_owned(), Value::Object(headers));
    }
    if let Some(body) = parts.body {
        request.insert("body".to_owned(), format!("{{{{ {} }}}}", field("body")).into());
        request.insert("bodyType".to_owned(), body.kind.into());
    }
    if let Some(connection) = parts.connection {
        request.insert("connection".to_owned(), connection.into());
    }
    if parts.answer.1 {
        request.insert("responseType".to_owned(), "file".into());
    }
    request.insert("bodyOnly".to_owned(), true.into());
    Ok(Value::Object(request))
}

/// Bytes of a path, whose parameters become expressions that are far longer.
const PATH_BYTES_MAX: usize = 2_000;

/// The path with its parameters in it.
fn url(parts: &Parts<'_, '_>) -> Result<String, String> {
    let path = parts.operation.path;
    if path.len() > PATH_BYTES_MAX {
        return Err(format!("its path has more than {PATH_BYTES_MAX} bytes"));
    }
    let is_plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_graphic() && !"{}\\?#".contains(c))
    };
    let outside = |text: &str| match is_plain(text) {
        true => Ok(text.to_owned()),
        false => Err(format!("its path `{path}` is not valid in a URL")),
    };
    let mut url = String::new();
    let mut rest = path;
    while let Some((before, after)) = rest.split_once('{') {
        let Some((name, behind)) = after.split_once('}') else {
            return Err(format!("its path `{path}` has an unmatched brace"));
        };
        let mut all = parts.parameters.iter();
        let Some(taken) = all.find(|taken| taken.place == Place::Path && taken.name == name) else {
            return Err(format!(
                "its path has `{{{name}}}`, which is not among its parameters"
            ));
        };
        url.push_str(&outside(before)?);
        let value = field(&taken.field);
        let value = match taken.form {
            Form::Joined(between) => format!(
                "[{value}].flat().map(it => encodeURIComponent(it)).join({})",
                quoted(between)
            ),
            Form::Json => format!("encodeURIComponent(JSON.stringify({value}))"),
            _ => format!("encodeURIComponent({value})"),
        };
        url.push_str(&format!("{{{{ {value} }}}}"));
        rest = behind;
    }
    url.push_str(&outside(rest)?);
    match url.starts_with('/') {
        true => Ok(url),
        false => Err(format!("its path `{path}` does not begin with a slash")),
    }
}

/// A value as one text, or as what becomes several.
fn written(taken: &Taken<'_>) -> String {
    let value = field(&taken.field);
    match taken.form {
        Form::Joined(between) => {
            format!(
                "({value} == null ? null : [{value}].flat().join({}))",
                quoted(between)
            )
        }
        Form::Json => format!("({value} == null ? null : JSON.stringify({value}))"),
        _ => value,
    }
}

/// The query: by name, or one expression if it has objects whose fields are known only then.
fn query(parameters: &[Taken<'_>]) -> Option<Value> {
    let all: Vec<&Taken<'_>> = parameters
        .iter()
        .filter(|taken| taken.place == Place::Query)
        .collect();
    if all.is_empty() {
        return None;
    }
    if !all
        .iter()
        .any(|taken| matches!(taken.form, Form::Fields | Form::Deep))
    {
        let pairs = all.iter().map(|taken| (taken.name.to_owned(), expression(taken)));
        return Some(Value::Object(pairs.collect()));
    }
    let part = |taken: &&Taken<'_>| {
        let value = field(&taken.field);
        match taken.form {
            Form::Fields => format!("...({value} ?? {{}})"),
            Form::Deep => {
                let before = quoted(&format!("{}[", taken.name));
                format!(
                    "...Object.fromEntries(Object.entries({value} ?? {{}}).map(it => [{before} + it[0] + \"]\", it[1]]))"
                )
            }
            _ => format!("{}: {}", quoted(taken.name), written(taken)),
        }
    };
    let parts: Vec<String> = all.iter().map(part).collect();
    Some(format!("{{{{ ({{ {} }}) }}}}", parts.join(", ")).into())
}

fn expression(taken: &Taken<'_>) -> Value {
    format!("{{{{ {} }}}}", written(taken)).into()
}

fn headers(parts: &Parts<'_, '_>) -> Map<String, Value> {
    let mut headers = Map::new();
    if parts.answer.0 {
        headers.insert("accept".to_owned(), "application/json".into());
    }
    if let Some(content_type) = parts.body.and_then(|body| body.content_type) {
        headers.insert("content-type".to_owned(), content_type.into());
    }
    for taken in parts
        .parameters
        .iter()
        .filter(|taken| taken.place == Place::Header)
    {
        headers.insert(taken.name.to_owned(), expression(taken));
    }
    headers
}
