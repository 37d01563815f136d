//! The table of translations: which node of Node-RED becomes what. A message is the value that flows, or a list of
//! messages where several come in a row.

use super::code::{self, Code};
use super::read::{LINK_IN, Node, SUBFLOW_IN, SUBFLOW_OUT};
use super::rules::{RULES_MAX, condition, is_code};
use super::values::{headers, property, template, typed};
use crate::expression::quoted;
use serde_json::{Map, Value, json};

/// What a node becomes: one or several nodes in a row, of which the last has its name.
#[derive(Default)]
pub(crate) struct Made {
    pub steps: Vec<Step>,
    /// Ports by number of the output; further ones are the first port.
    pub outputs: Vec<String>,
    /// What differs: a stable name, and a sentence.
    pub remarks: Vec<(&'static str, String)>,
    /// Why there is no translation, if it is a stub.
    pub stub: Option<String>,
}

/// A node of a translation.
pub(crate) enum Step {
    /// A standard type, and whether it works on single messages.
    Standard(&'static str, Map<String, Value>, bool),
    Code(Code),
}

impl Made {
    fn each(kind: &'static str, parameters: Value) -> Made {
        Made::default().then(kind, parameters, true)
    }

    fn then(mut self, kind: &'static str, parameters: Value, each: bool) -> Made {
        let parameters = match parameters {
            Value::Object(parameters) => parameters,
            _ => Map::new(),
        };
        self.steps.push(Step::Standard(kind, parameters, each));
        self
    }

    fn code(code: Code) -> Made {
        Made {
            outputs: (1..=code.outputs).map(|number| format!("out{number}")).collect(),
            steps: vec![Step::Code(code)],
            ..Made::default()
        }
    }

    /// Code, between what reads and what writes the values that it keeps. Each step has the node's name and its number.
    fn keeping(node: &Node, code: Code) -> Made {
        if code.kept.is_empty() {
            return Made::code(code);
        }
        let step = |number: usize| format!("$({})", quoted(&format!("{} ({number})", node.name)));
        let (kept, outputs) = (code.kept.clone(), code.outputs);
        let mut made = Made::default().then("NoOp", json!({}), false);
        for one in &kept {
            made = made.then("KeyValue", one.get(&node.path), false);
        }
        let values: Vec<String> = (0..kept.len()).map(|place| step(place + 2)).collect();
        let given = format!("({{ messages: {}, values: [{}] }})", step(1), values.join(", "));
        made = made.then("Transform", json!({"value": expression(&given)}), false);
        made.steps.push(Step::Code(code));
        let done = step(made.steps.len());
        for (place, one) in kept.iter().enumerate().filter(|(_, one)| one.is_set) {
            let value = expression(&format!("{done}.values[{place}]"));
            made = made.then(
                "KeyValue",
                one.set(&node.path, value.as_str().unwrap_or_default()),
                false,
            );
        }
        made = made.then(
            "Transform",
            json!({"value": expression(&format!("{done}.sent"))}),
            false,
        );
        made.steps.push(Step::Code(code::sender(outputs)));
        made.outputs = (1..=outputs).map(|number| format!("out{number}")).collect();
        made.differs(
            "context",
            "context values are kept by KeyValue from run to run: those of a flow belong to the pattern, global ones to the workspace. Two runs at the same time may overwrite each other's values, and changes made without `set` are not kept",
        )
    }

    /// Code that may have JSONata in it.
    fn of_jsonata(node: &Node, code: Code) -> Made {
        let has_jsonata = code.has_jsonata();
        let made = Made::keeping(node, code);
        match has_jsonata {
            true => made.differs(
                "jsonata",
                "its JSONata is executed as JavaScript: error messages differ",
            ),
            false => made,
        }
    }

    /// A node that fails.
    pub fn stub(why: impl Into<String>) -> Made {
        Made {
            stub: Some(why.into()),
            ..Made::default()
        }
    }

    fn differs(mut self, code: &'static str, message: impl Into<String>) -> Made {
        self.remarks.push((code, message.into()));
        self
    }
}

/// Kinds of nodes at which messages begin that have no counterpart.
const SOURCES: &[&str] = &[
    "mqtt in",
    "tcp in",
    "udp in",
    "websocket in",
    "amqp in",
    "watch",
    "status",
    "complete",
    "serial in",
    "e-mail in",
];

/// What a node becomes. `begins`: it sends, and nothing is wired to it.
pub(crate) fn translate(node: &Node, begins: bool) -> Made {
    let mut is_source =
        SOURCES.contains(&node.kind.as_str()) || node.kind == "inject" || node.kind == "http in";
    let made = match node.kind.as_str() {
        "inject" => inject(node),
        "http in" => http_in(node),
        "http response" => Ok(http_response(node)),
        "http request" => http_request(node),
        "debug" => debug(node),
        "function" => code::function(node).map(|code| {
            Made::keeping(node, code).differs(
                "javascript",
                "code is executed as a strict module: names must be declared, and timers are not there",
            )
        }),
        "change" => code::change(node).map(|code| Made::of_jsonata(node, code)),
        "switch" if is_code(node) => code::switch(node).map(|code| Made::of_jsonata(node, code)),
        "switch" => switch(node),
        "template" => template_node(node),
        "delay" => delay(node),
        "json" => code::json_node(node).map(Made::code),
        "range" => code::range(node).map(Made::code),
        "split" => code::split(node).map(Made::code),
        "join" => code::join(node).map(|code| {
            Made::code(code).differs("join", "it joins the messages that a run has at once; none is kept for later runs")
        }),
        "sort" => code::sort(node).map(Made::code),
        "csv" => Ok(format_node(node, "Csv")),
        "xml" => Ok(format_node(node, "Xml")),
        "yaml" => Ok(format_node(node, "Yaml")),
        "html" => html(node),
        "catch" => Ok(Made::each(
            "Transform",
            json!({"value": "{{ ({ error: { message: $input?.error?.message, code: $input?.error?.code, source: { id: $input?.error?.nodeId } } }) }}"}),
        )
        .differs("catch", "the message has only `error`: the properties that it had before the failure are missing")),
        LINK_IN | SUBFLOW_IN | SUBFLOW_OUT => Ok(Made::each("NoOp", json!({}))),
        "link out" if node.text("mode") != "return" => Ok(Made::each("NoOp", json!({}))),
        "link out" => Ok(Made::each("NoOp", json!({})).differs("call", "messages end here: there is no link call to return to")),
        "link call" => Err(
            "it calls a link that is chosen by messages, is not in the file, or calls this one again".to_owned(),
        ),
        kind if kind.starts_with("subflow:") => {
            Err("its subflow is not in the file, or is nested too deeply".to_owned())
        }
        kind => {
            is_source |= begins;
            Err(format!("heddle has no node like Node-RED's `{kind}`"))
        }
    };
    match made {
        Ok(made) => made,
        Err(why) if is_source => Made {
            stub: Some(format!("{why}: start the run by hand with its message")),
            ..Made::default().then("OnManual", json!({}), false)
        },
        Err(why) => Made::stub(why),
    }
}

/// An expression as a parameter.
fn expression(source: &str) -> Value {
    format!("{{{{ {source} }}}}").into()
}

/// Properties that an inject node sets.
const PROPS_MAX: usize = 100;

fn inject(node: &Node) -> Result<Made, String> {
    let mut fields = Vec::new();
    let old = [
        json!({"p": "payload", "v": node.fields.get("payload"), "vt": node.text("payloadType")}),
        json!({"p": "topic", "v": node.text("topic"), "vt": "str"}),
    ];
    let props = match node.list("props") {
        [] => &old[..],
        props => props,
    };
    let props = props.get(..PROPS_MAX).unwrap_or(props);
    for (number, prop) in props.iter().enumerate() {
        let text = |name: &str| prop.get(name).and_then(Value::as_str).unwrap_or_default();
        let name = text("p");
        // The last one counts. Each of several could have all that stands beside the list.
        let mut later = props.iter().skip(number + 1);
        if later.any(|later| later.get("p").and_then(Value::as_str) == Some(name)) {
            continue;
        }
        // Older ones keep these two beside the list.
        let (value, kind) = match (prop.get("v"), name) {
            (None | Some(Value::Null), "payload") => (node.fields.get("payload"), node.text("payloadType")),
            (None | Some(Value::Null), "topic") => (node.fields.get("topic"), "str"),
            (given, _) => (given, text("vt")),
        };
        let value = typed(value.unwrap_or(&Value::Null), kind)?;
        if name.is_empty() || name.contains(['.', '[']) {
            return Err(format!("it sets `{name}`, which is within another property"));
        }
        fields.push(format!("{}: {value}", quoted(name)));
    }
    let (trigger, parameters, remark) = timing(node);
    let made = Made::default().then(trigger, parameters, false).then(
        "Transform",
        json!({"value": expression(&format!("({{ {} }})", fields.join(", ")))}),
        false,
    );
    Ok(match remark {
        Some(remark) => made.differs("schedule", remark),
        None => made,
    })
}

/// What starts an inject node.
fn timing(node: &Node) -> (&'static str, Value, Option<String>) {
    let manual = |remark: Option<&str>| ("OnManual", json!({}), remark.map(str::to_owned));
    let crontab = node.text("crontab").trim();
    if !crontab.is_empty() {
        return match heddle_compiler::cron_problem(crontab) {
            None => {
                let remark = "its times are in UTC: set `timezone` if they are those of another zone";
                ("OnSchedule", json!({"cron": crontab}), Some(remark.to_owned()))
            }
            Some(problem) => manual(Some(&format!(
                "its times can't be read ({}): it is started by hand",
                problem.message
            ))),
        };
    }
    match node.number("repeat").filter(|seconds| *seconds > 0.0) {
        None if node.flag("once") => manual(Some("it is started by hand, not when the flow is deployed")),
        None => manual(None),
        Some(seconds) => {
            let seconds = seconds.min(1e9) as u64;
            let minutes = seconds / 60;
            let cron = match minutes {
                60 => "0 * * * *".to_owned(),
                minutes => format!("*/{minutes} * * * *"),
            };
            match seconds.is_multiple_of(60) && minutes > 0 && 60_u64.is_multiple_of(minutes) {
                true => {
                    let remark = "it is started at its times, and not when the flow is deployed as well";
                    let remark = node.flag("once").then(|| remark.to_owned());
                    ("OnSchedule", json!({"cron": cron}), remark)
                }
                false => manual(Some(
                    "schedules are precise to the minute and divide the hour evenly: it is started by hand",
                )),
            }
        }
    }
}

fn http_in(node: &Node) -> Result<Made, String> {
    let method = node.text("method").to_ascii_uppercase();
    let method = if method.is_empty() {
        "GET".to_owned()
    } else {
        method
    };
    if !["GET", "POST", "PUT", "PATCH", "DELETE"].contains(&method.as_str()) {
        return Err(format!("webhooks don't take the method `{method}`"));
    }
    let url = node.text("url").trim_matches('/');
    let alias = url
        .chars()
        .filter(|c| !c.is_control())
        .take(100)
        .collect::<String>();
    let alias = if alias.is_empty() {
        "webhook".to_owned()
    } else {
        crate::expression::literal(&alias)
    };
    let mut parameters = json!({"alias": alias, "methods": [method], "scheme": "none", "accept": ["json", "form", "multipart", "text"]});
    if url.split('/').any(|part| part.starts_with(':')) {
        if !url.split('/').all(is_segment) {
            return Err("its address is a pattern that webhooks don't take".to_owned());
        }
        parameters["path"] = format!("/{url}").into();
    }
    let payload = if method == "GET" {
        "$input.query"
    } else {
        "$input.body"
    };
    let message = format!(
        "({{ payload: {payload}, req: {{ method: $input.method, headers: $input.headers, query: $input.query, params: $input.params ?? {{}}, body: $input.body }} }})"
    );
    Ok(Made::default()
        .then("OnWebhook", parameters, false)
        .then("Transform", json!({"value": expression(&message)}), false)
        .differs(
            "address",
            "the webhook gets a new address, which is shown when the pattern is deployed: tell the senders",
        ))
}

/// Whether a webhook takes this part of a path: a name behind a colon, or what an address can have as it is.
fn is_segment(part: &str) -> bool {
    let (part, others) = match part.strip_prefix(':') {
        Some(name) => (name, &b"_"[..]),
        None => (part, &b"-._~"[..]),
    };
    let is_part = |b: u8| b.is_ascii_alphanumeric() || others.contains(&b);
    !part.is_empty() && part.bytes().all(is_part)
}

fn http_response(node: &Node) -> Made {
    let status = match node.number("statusCode") {
        Some(status) => json!(status.clamp(200.0, 599.0) as u64),
        None => json!("{{ $input.statusCode ?? 200 }}"),
    };
    let own = node.fields.get("headers").and_then(Value::as_object);
    let texts = own
        .into_iter()
        .flatten()
        .filter_map(|(name, value)| Some((name.clone(), crate::expression::literal(value.as_str()?).into())));
    let mut headers: Map<String, Value> = texts.collect();
    if !headers
        .keys()
        .any(|name| name.eq_ignore_ascii_case("content-type"))
    {
        // Node-RED sends text as HTML.
        let content_type = "{{ typeof $input.payload === \"string\" ? \"text/html; charset=utf-8\" : \"application/json; charset=utf-8\" }}";
        headers.insert("Content-Type".to_owned(), content_type.into());
    }
    let parameters = json!({
        "status": status,
        "headers": headers,
        "body": "{{ $input.payload }}",
        "bodyType": "{{ typeof $input.payload === \"string\" ? \"text\" : \"json\" }}",
    });
    Made::each("RespondToWebhook", parameters).differs(
        "headers",
        "headers are those of the node: `headers` and `cookies` of the message are not sent",
    )
}

fn http_request(node: &Node) -> Result<Made, String> {
    let url = match node.text("url") {
        "" => "$input.url".to_owned(),
        url => {
            // An address may begin with the host.
            let is_whole = url.contains("://") || url.starts_with("{{");
            let url = format!("{}{url}", if is_whole { "" } else { "http://" });
            template(&url).ok_or("its address has sections, or names that are not of the message")?
        }
    };
    let method = match node.text("method") {
        "" => json!("GET"),
        "use" => json!("{{ $input.method ?? \"GET\" }}"),
        method @ ("GET" | "POST" | "PUT" | "PATCH" | "DELETE" | "HEAD") => json!(method),
        _ => return Err("its method is not an HTTP method".to_owned()),
    };
    let mut parameters =
        json!({"method": method, "url": expression(&url), "acceptStatuses": ["2xx", "3xx", "4xx", "5xx"]});
    let sends = |how: &str| node.text("paytoqs") == how;
    if sends("query") || node.fields.get("paytoqs") == Some(&Value::Bool(true)) {
        parameters["query"] = "{{ $input.payload }}".into();
    } else if sends("body") || method != "GET" {
        parameters["body"] = "{{ $input.payload }}".into();
    }
    let (sent, has_all) = headers(node.list("headers"));
    parameters["headers"] = expression(&sent);
    match node.text("ret") {
        "bin" => parameters["responseType"] = "base64".into(),
        "obj" => parameters["responseType"] = "auto".into(),
        _ => parameters["responseType"] = "text".into(),
    }
    if !node.text("authType").is_empty() {
        parameters["connection"] = slug(&node.name).into();
    }
    let fields = "payload: $input.body, statusCode: $input.status";
    let made = kept(node, parameters, "HttpRequest", fields).differs(
        "request",
        "requests have heddle's own headers and limits, and no private addresses; the answer's headers are not in the message",
    );
    let made = match has_all {
        true => made,
        false => made.differs(
            "left-out",
            "headers with secrets or computed names are left out: put secret headers into a connection",
        ),
    };
    Ok(match node.text("authType") {
        "" => made,
        _ => made.differs(
            "connection",
            "its credentials are not in the file: make a connection with the node's name",
        ),
    })
}

/// A name for a connection.
fn slug(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    match plain.trim_matches('-') {
        "" => "http".to_owned(),
        plain => plain.to_owned(),
    }
}

/// A node whose result becomes a part of the message that it was given, by these fields of an object.
fn kept(node: &Node, parameters: Value, kind: &'static str, fields: &str) -> Made {
    let given = quoted(&format!("{} (1)", node.name));
    let merged = format!("({{ ...$({given}).item, {fields} }})");
    Made::each("NoOp", json!({})).then(kind, parameters, true).then(
        "Transform",
        json!({"value": expression(&merged)}),
        true,
    )
}

/// Csv, Xml and Yaml: text is read, anything else is written.
fn format_node(node: &Node, kind: &'static str) -> Made {
    let mut parameters = json!({
        "operation": "{{ typeof $input.payload === \"string\" ? \"parse\" : \"stringify\" }}",
        "value": "{{ $input.payload }}",
    });
    if kind == "Csv" {
        let separator = node.text("sep").replace("\\t", "\t");
        if separator.len() == 1 {
            parameters["delimiter"] = separator.into();
        }
        parameters["header"] = node.flag("hdrin").into();
        let columns = node
            .text("temp")
            .split(',')
            .map(str::trim)
            .filter(|name| !name.is_empty());
        let columns: Vec<Value> = columns
            .map(|name| crate::expression::literal(name).into())
            .collect();
        if !columns.is_empty() {
            parameters["columns"] = columns.into();
        }
    }
    kept(node, parameters, kind, "payload: $input").differs(
        "format",
        "values are read and written as heddle does: cells are text, and attributes begin with `@`",
    )
}

fn html(node: &Node) -> Result<Made, String> {
    let selector = node.text("tag");
    if selector.is_empty() || !matches!(node.text("ret"), "html" | "text" | "") || node.text("as") == "multi"
    {
        return Err(
            "it reads attributes, takes its selector from the message, or sends a message for each element"
                .to_owned(),
        );
    }
    let found = json!({"selector": crate::expression::literal(selector), "all": true, "html": node.text("ret") != "text"});
    let parameters = json!({"html": "{{ $input.payload }}", "selectors": {"found": found}});
    Ok(kept(node, parameters, "Html", "payload: $input.found").differs(
        "html",
        "matching elements are written out as the HTML standard requires",
    ))
}

fn debug(node: &Node) -> Result<Made, String> {
    let shown = match (node.text("complete"), node.text("targetType")) {
        ("true", _) | (_, "full") => "$input".to_owned(),
        ("" | "false", _) => property("payload").unwrap_or_default(),
        (name, "msg" | "") => property(name).ok_or("it shows a property whose name is computed")?,
        _ => return Err("it shows the result of JSONata".to_owned()),
    };
    Ok(Made::each(
        "Log",
        json!({"message": expression(&format!("{shown} ?? \"undefined\""))}),
    ))
}

fn switch(node: &Node) -> Result<Made, String> {
    let value = match node.text("propertyType") {
        "msg" | "" => property(node.text("property")),
        _ => None,
    };
    let value = value.ok_or("it compares something that is not a property of the message")?;
    let rules = node.list("rules");
    let checks_all = node.fields.get("checkall").is_none() || node.flag("checkall");
    let (mut cases, mut outputs) = (Vec::new(), Vec::new());
    for (number, rule) in rules.iter().take(RULES_MAX).enumerate() {
        let kind = rule.get("t").and_then(Value::as_str).unwrap_or_default();
        if kind == "else" {
            outputs.push("default".to_owned());
            continue;
        }
        let name = format!("case{number}");
        cases.push(json!({"name": name, "when": expression(&condition(rule, kind, &value)?)}));
        outputs.push(name);
    }
    let last_else = outputs
        .iter()
        .position(|port| port == "default")
        .is_none_or(|at| at + 1 == outputs.len());
    let made = Made {
        outputs,
        ..Made::each("Switch", json!({"cases": cases, "all": checks_all}))
    };
    Ok(match last_else {
        true => made,
        false => made.differs(
            "else",
            "“otherwise” is checked after all other rules, wherever it stands",
        ),
    })
}

fn template_node(node: &Node) -> Result<Made, String> {
    let name = match node.text("field") {
        "" => "payload",
        name => name,
    };
    if !matches!(node.text("fieldType"), "msg" | "") || name.contains('[') {
        return Err("it sets something other than a plain property of the message".to_owned());
    }
    let text = match node.text("syntax") {
        "plain" => quoted(node.text("template")),
        _ => template(node.text("template"))
            .ok_or("its template has sections or partials, or reads a context: use a function")?,
    };
    let text = match node.text("output") {
        "json" => format!("JSON.parse({text})"),
        "yaml" => return Err("it reads its text as YAML: put a yaml node after it".to_owned()),
        _ => text,
    };
    Ok(Made::each(
        "SetFields",
        json!({"fields": {name: expression(&text)}}),
    ))
}

fn delay(node: &Node) -> Result<Made, String> {
    let unit = |name: &str| match node.text(name) {
        "milliseconds" => 1.0,
        "minutes" | "minute" => 60_000.0,
        "hours" | "hour" => 3_600_000.0,
        "days" | "day" => 86_400_000.0,
        _ => 1_000.0,
    };
    let fixed = (node.number("timeout").unwrap_or(5.0) * unit("timeoutUnits"))
        .clamp(0.0, 31_622_400_000.0)
        .round() as u64;
    match node.text("pauseType") {
        "delay" | "" => Ok(Made::default().then("Wait", json!({"durationMs": fixed}), false)),
        "delayv" => {
            let parameters = json!({"durationMs": format!("{{{{ Math.round($input.delay ?? {fixed}) }}}}")});
            Ok(Made::each("Wait", parameters))
        }
        other => Err(format!("it limits the rate of messages (`{other}`)")),
    }
}
