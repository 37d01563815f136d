//! Nodes that become code: a module that takes one message or several in a row, and gives what leaves by each output.

use super::context::{self, Kept};
use super::jsonata;
use super::read::Node;
use super::rules::{RULES_MAX, condition, has_context, has_jsonata, stored};
use super::values::{Key, keys, list, property, typed};
use crate::expression::quoted;
use serde_json::{Value, json};

/// What functions may use in Node-RED and has no counterpart here.
const MISSING: &[(&str, &str)] = &[
    (
        "node.context(",
        "the node's context in other ways than by `context`",
    ),
    ("env.get", "environment variables"),
    ("RED.", "`RED`"),
    ("require(", "modules"),
    ("import(", "modules"),
    ("setTimeout", "timers"),
    ("setInterval", "timers"),
    ("node.on(", "`node.on`"),
];

/// What functions call most of `RED`: messages are JSON here, so a copy is easily made.
const CLONE: &str = "RED.util.cloneMessage(";

/// Reading, writing and removing by a path.
const PATHS: &str = "const at = (value, path) => path.reduce((value, key) => value?.[key], value);
const put = (value, path, given) => {
  for (const [place, key] of path.slice(0, -1).entries()) {
    if (value[key] === null || typeof value[key] !== \"object\") value[key] = typeof path[place + 1] === \"number\" ? [] : {};
    value = value[key];
  }
  value[path.at(-1)] = given;
};
const remove = (value, path) => {
  const holder = at(value, path.slice(0, -1));
  if (Array.isArray(holder)) holder.splice(path.at(-1), 1);
  else if (holder !== null && typeof holder === \"object\") delete holder[path.at(-1)];
};
";

/// Code, and how many outputs it has.
pub(crate) struct Code {
    pub source: String,
    pub outputs: usize,
    /// What it keeps from run to run. Then it takes `{messages, values}` and gives `{sent, values}` by its only port: what was sent by
    /// each output, and all values, each list in this order.
    pub kept: Vec<Kept>,
}

impl Code {
    /// Whether it has the helpers of JSONata.
    pub fn has_jsonata(&self) -> bool {
        self.source.contains(jsonata::HELPERS)
    }

    /// As a definition. A single port would get a value every time, so that there are always two.
    pub fn definition(&self) -> Value {
        let outputs = if self.kept.is_empty() { self.outputs } else { 1 };
        let mut ports: Vec<Value> = (1..=outputs.max(1))
            .map(|number| json!({"name": format!("out{number}"), "type": "any"}))
            .collect();
        if ports.len() == 1 {
            ports.push(json!({"name": "none", "type": "any"}));
        }
        json!({
            "kind": "javascript",
            "inputs": [{"name": "in", "type": "any", "required": false}],
            "outputs": ports,
            "code": self.source,
        })
    }
}

/// A module around what is done with `messages`, which calls `send` as functions of Node-RED do.
fn module(before: &str, call: &str, outputs: usize) -> Code {
    let source = format!(
        "{before}
export default async ({{ input, log }}) => {{
  const messages = Array.isArray(input) ? input : input == null ? [] : [input];
{sends}  {call}
  const leaves = {{}};
  ports.forEach((sent, port) => {{
    if (sent.length > 0) leaves[`out${{port + 1}}`] = sent.length === 1 ? sent[0] : sent;
  }});
  return leaves;
}};
",
        sends = sends(outputs)
    );
    Code {
        source,
        outputs,
        kept: Vec::new(),
    }
}

/// What puts messages into `ports`.
fn sends(outputs: usize) -> String {
    format!(
        "  const ports = Array.from({{ length: {outputs} }}, () => []);
  const send = (sent) => {{
    (Array.isArray(sent) ? sent : [sent]).forEach((given, port) => {{
      for (const msg of Array.isArray(given) ? given : [given]) if (msg != null) ports[port]?.push(msg);
    }});
  }};
"
    )
}

/// Code that handles messages with values that are kept in contexts.
fn keeping(before: &str, call: &str, outputs: usize, kept: Vec<Kept>) -> Code {
    if kept.is_empty() {
        return module(before, call, outputs);
    }
    let keys: Vec<Value> = kept.iter().map(|kept| kept.key().into()).collect();
    let source = format!(
        "{before}{stores}const keys = {keys};
export default async ({{ input, log }}) => {{
  const messages = Array.isArray(input.messages) ? input.messages : input.messages == null ? [] : [input.messages];
  values.clear();
  keys.forEach((key, place) => {{
    if (input.values[place] != null) values.set(key, input.values[place]);
  }});
{sends}  {call}
  return {{ out1: {{ sent: ports, values: keys.map((key) => values.get(key) ?? null) }} }};
}};
",
        stores = context::STORES,
        keys = Value::from(keys),
        sends = sends(outputs)
    );
    Code {
        source,
        outputs,
        kept,
    }
}

/// A module that sends what a list has for each output.
pub(crate) fn sender(outputs: usize) -> Code {
    let source = "export default ({ input }) => {
  const leaves = {};
  input.forEach((sent, port) => {
    if (sent.length > 0) leaves[`out${port + 1}`] = sent.length === 1 ? sent[0] : sent;
  });
  return leaves;
};
";
    Code {
        source: source.to_owned(),
        outputs,
        kept: Vec::new(),
    }
}

/// A function node.
pub(crate) fn function(node: &Node) -> Result<Code, String> {
    let code = node.text("func");
    let outputs = node
        .number("outputs")
        .map_or(1, |count| count.clamp(0.0, 100.0) as usize);
    let libraries = !node.list("libs").is_empty();
    let other = [node.text("initialize"), node.text("finalize")].concat();
    let others = code.replace(CLONE, " ");
    let found = MISSING.iter().find(|(name, _)| uses(&others, name));
    if let Some((_, what)) = found.or(libraries.then_some(&("", "modules"))) {
        return Err(format!("its code uses {what}, which JavaScript nodes don't have"));
    }
    let is_code = |line: &str| !line.trim().is_empty() && !line.trim_start().starts_with("//");
    if other.lines().any(is_code) {
        return Err("it has code that Node-RED executes when a flow starts or stops".to_owned());
    }
    let kept = context::kept(code, &node.path)?;
    let name = Value::from(node.name.as_str());
    let given = match code.contains(CLONE) {
        true => {
            "const RED = { util: { cloneMessage: (msg) => (msg === undefined ? msg : JSON.parse(JSON.stringify(msg))) } };\n"
        }
        false => "",
    };
    let before = format!("async function user(msg, node) {{\n{code}\n}}\n{given}");
    let call = format!(
        "const node = {{
    name: {name}, send, done() {{}}, status() {{}},
    log: (text) => log.info(String(text)), warn: (text) => log.warn(String(text)),
    error: (text) => {{ throw text instanceof Error ? text : new Error(String(text)); }},
  }};
  for (const msg of messages) send(await user(msg, node));"
    );
    Ok(keeping(&before, &call, outputs.max(1), kept))
}

/// Whether code has a name that is not the end of a longer one.
fn uses(code: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '.');
    code.match_indices(name)
        .any(|(at, _)| !code.get(..at).is_some_and(|before| before.ends_with(is_part)))
}

/// Code for each message, which it may change or replace.
fn each(before: &str, body: &str) -> Code {
    each_keeping(before, body, Vec::new())
}

fn each_keeping(before: &str, body: &str, kept: Vec<Kept>) -> Code {
    let handle = format!("{before}const handle = (msg) => {{\n{body}\n  return msg;\n}};\n");
    keeping(
        &handle,
        "for (const msg of messages) send([handle(msg)]);",
        1,
        kept,
    )
}

/// A change node: its rules in their order.
pub(crate) fn change(node: &Node) -> Result<Code, String> {
    let rules = node.list("rules");
    if rules.len() > 200 {
        return Err("it has more than 200 rules".to_owned());
    }
    let has = |wanted: &[&str]| {
        let kind_of = |rule: &Value, field: &str| {
            rule.get(field)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let mut kinds = rules
            .iter()
            .flat_map(|rule| ["pt", "tot", "fromt"].map(|field| kind_of(rule, field)));
        kinds.any(|kind| wanted.contains(&kind.as_str()))
    };
    let helpers = if has(&["jsonata"]) { jsonata::HELPERS } else { "" };
    let written: Result<Vec<String>, String> = rules.iter().map(rule).collect();
    let written = written?.join("\n");
    let kept = match has(&["flow", "global"]) {
        true => context::kept(&written, &node.path)?,
        false => Vec::new(),
    };
    Ok(each_keeping(&[PATHS, CHANGES, helpers].concat(), &written, kept))
}

/// A switch node that compares by JSONata or with what is kept in contexts: what leaves by which output.
pub(crate) fn switch(node: &Node) -> Result<Code, String> {
    let name = node.text("property");
    let value = match node.text("propertyType") {
        "jsonata" => jsonata::javascript(name)?,
        "msg" | "" => property(name).ok_or("it compares something that is not a property of the message")?,
        scope @ ("flow" | "global") => stored(scope, name),
        _ => return Err("it compares something that is not a property of the message".to_owned()),
    };
    let rules = node.list("rules");
    if rules.len() > RULES_MAX {
        return Err(format!("it has more than {RULES_MAX} rules"));
    }
    let mut tests = Vec::new();
    for rule in rules {
        let kind = rule.get("t").and_then(Value::as_str).unwrap_or_default();
        let test = match kind {
            "else" => "none".to_owned(),
            kind => condition(rule, kind, "value")?,
        };
        if test.contains("$vars.") {
            return Err("a rule reads an environment variable".to_owned());
        }
        tests.push(format!("() => {test}"));
    }
    let checks_all = node.fields.get("checkall").is_none() || node.flag("checkall");
    let call = format!(
        "for (const msg of messages) {{
    const $input = msg;
    const value = {value};
    let none = true;
    const sent = [];
    for (const test of [{tests}]) {{
      const holds = test();
      sent.push(holds ? msg : null);
      if (holds) none = false;
      if (holds && !{checks_all}) break;
    }}
    send(sent);
  }}",
        tests = tests.join(", ")
    );
    let kept = match has_context(node) {
        true => context::kept(&call, &node.path)?,
        false => Vec::new(),
    };
    let helpers = if has_jsonata(node) { jsonata::HELPERS } else { "" };
    Ok(keeping(helpers, &call, tests.len().max(1), kept))
}

fn rule(rule: &Value) -> Result<String, String> {
    let text = |name: &str| rule.get(name).and_then(Value::as_str).unwrap_or_default();
    let path = |name: &str, kind: &str| -> Result<String, String> {
        match (kind, keys(text(name))) {
            ("msg" | "", Some(keys)) => Ok(list(&keys)),
            _ => Err(format!("a rule is about `{}` of the type `{kind}`", text(name))),
        }
    };
    let value = |name: &str, kind: &str| constant(rule.get(name).unwrap_or(&Value::Null), kind);
    if let scope @ ("flow" | "global") = text("pt") {
        let name = quoted(text("p"));
        return match text("t") {
            "set" => Ok(format!(
                "  {scope}.set({name}, copy({}));",
                value("to", text("tot"))?
            )),
            "delete" => Ok(format!("  {scope}.set({name}, undefined);")),
            other => Err(format!(
                "a rule `{other}` is about `{}` of the type `{scope}`",
                text("p")
            )),
        };
    }
    let target = path("p", text("pt"))?;
    Ok(match text("t") {
        "set" => format!("  put(msg, {target}, copy({}));", value("to", text("tot"))?),
        "delete" => format!("  remove(msg, {target});"),
        "move" => {
            let to = path("to", text("tot"))?;
            format!("  {{ const moved = at(msg, {target}); remove(msg, {target}); put(msg, {to}, moved); }}")
        }
        "change" => {
            let from = match text("fromt") {
                "re" => format!("new RegExp({}, \"g\")", Value::from(text("from"))),
                kind => value("from", kind)?,
            };
            let to = value("to", text("tot"))?;
            format!("  replace(msg, {target}, {from}, {to});")
        }
        other => return Err(format!("it has a rule `{other}`")),
    })
}

/// A value within code. Names of the message are read there.
fn constant(value: &Value, kind: &str) -> Result<String, String> {
    match kind {
        "msg" => match value.as_str().and_then(keys) {
            Some(keys) => Ok(format!("at(msg, {})", list(&keys))),
            None => Err("a rule reads a property whose name is computed".to_owned()),
        },
        "env" => Err("a rule reads an environment variable".to_owned()),
        "jsonata" => jsonata::javascript(value.as_str().unwrap_or_default()),
        scope @ ("flow" | "global") => Ok(stored(scope, value.as_str().unwrap_or_default())),
        kind => typed(value, kind),
    }
}

/// What rules of change nodes call besides.
const CHANGES: &str = "const copy = (value) => (value === null || typeof value !== \"object\" ? value : JSON.parse(JSON.stringify(value)));
const replace = (msg, path, from, to) => {
  const value = at(msg, path);
  if (typeof value === \"string\") put(msg, path, value === from ? to : from instanceof RegExp ? value.replace(from, to) : value.replaceAll(String(from), to));
  else if (value === from) put(msg, path, to);
};
";

/// Where a node reads and writes, by this field; `payload` unless it says otherwise.
fn own(node: &Node, field: &str) -> Result<Vec<Key>, String> {
    let name = match node.text(field) {
        "" => "payload",
        name => name,
    };
    keys(name).ok_or_else(|| format!("its property `{name}` is computed"))
}

/// A json node: text becomes a value, a value text.
pub(crate) fn json_node(node: &Node) -> Result<Code, String> {
    let path = list(&own(node, "property")?);
    let indent = if node.flag("pretty") { ", null, 4" } else { "" };
    let body = match node.text("action") {
        "str" => format!(
            "  const value = at(msg, {path});\n  if (typeof value !== \"string\") put(msg, {path}, JSON.stringify(value{indent}));"
        ),
        "obj" => format!(
            "  const value = at(msg, {path});\n  if (typeof value === \"string\") put(msg, {path}, JSON.parse(value));"
        ),
        _ => format!(
            "  const value = at(msg, {path});\n  put(msg, {path}, typeof value === \"string\" ? JSON.parse(value) : JSON.stringify(value{indent}));"
        ),
    };
    Ok(each(PATHS, &body))
}

/// A range node: a number from one range to another.
pub(crate) fn range(node: &Node) -> Result<Code, String> {
    let path = list(&own(node, "property")?);
    let number = |name: &str| {
        node.number(name)
            .filter(|number| number.is_finite())
            .ok_or_else(|| format!("`{name}` is not a number"))
    };
    let (min, max, to_min, to_max) = (
        number("minin")?,
        number("maxin")?,
        number("minout")?,
        number("maxout")?,
    );
    let limit = match node.text("action") {
        "clamp" => format!("n = Math.min(Math.max(n, {min}), {max});"),
        "roll" => format!("n = ((n - {min}) % ({max} - {min}) + ({max} - {min})) % ({max} - {min}) + {min};"),
        "drop" => format!("if (n < {min} || n > {max}) return null;"),
        _ => String::new(),
    };
    let round = if node.flag("round") {
        "result = Math.round(result);"
    } else {
        ""
    };
    let body = format!(
        "  let n = Number(at(msg, {path}));\n  if (Number.isNaN(n)) return msg;\n  {limit}\n  \
         let result = (n - {min}) / ({max} - {min}) * ({to_max} - {to_min}) + {to_min};\n  {round}\n  put(msg, {path}, result);"
    );
    Ok(each(PATHS, &body))
}

/// A split node: a message for each line, element or field.
pub(crate) fn split(node: &Node) -> Result<Code, String> {
    let separator = match node.text("spltType") {
        "str" | "" => match node.text("splt") {
            "" => "\n".to_owned(),
            text => text
                .replace("\\n", "\n")
                .replace("\\t", "\t")
                .replace("\\r", "\r"),
        },
        other => return Err(format!("it splits text by `{other}`")),
    };
    let size = node
        .number("arraySplt")
        .map_or(1, |size| size.clamp(1.0, 1e6) as u64);
    let before = format!(
        "const parts = (value) => {{
  if (typeof value === \"string\") return [\"string\", value.split({separator}).map((part) => [part]), {separator}];
  if (Array.isArray(value)) {{
    const lists = [];
    for (let from = 0; from < value.length; from += {size}) lists.push([{size} === 1 ? value[from] : value.slice(from, from + {size})]);
    return [\"array\", lists];
  }}
  if (value !== null && typeof value === \"object\") return [\"object\", Object.entries(value).map(([key, part]) => [part, key])];
  return null;
}};
let number = 0;
const len = {size};
",
        separator = Value::from(separator)
    );
    let call = "for (const msg of messages) {
    const found = parts(msg.payload);
    if (found === null) { send([msg]); continue; }
    const [type, list, ch] = found;
    const id = `${number++}`;
    list.forEach(([payload, key], index) => send([{
      ...msg, payload, parts: { ...(msg.parts && { parts: msg.parts }), id, type, index, count: list.length,
        ...(ch !== undefined && { ch }), ...(key !== undefined && { key }), ...(type === \"array\" && { len }) },
    }]));
  }";
    Ok(module(&before, call, 1))
}

/// A join node: of the messages that a run has at once.
pub(crate) fn join(node: &Node) -> Result<Code, String> {
    let (mode, build) = (node.text("mode"), node.text("build"));
    if mode == "reduce" {
        return Err("it reduces messages by JSONata".to_owned());
    }
    let automatic = mode == "auto" || mode.is_empty();
    let joiner = node.text("joiner").replace("\\n", "\n").replace("\\t", "\t");
    let before = format!(
        "const of = (list) => {{
  const parts = list[0].parts ?? {{}};
  const type = {automatic} ? parts.type ?? \"array\" : {build};
  const key = (msg) => ({automatic} ? msg.parts?.key : msg[{key}]) ?? msg.topic;
  const payload = type === \"string\" ? list.map((msg) => msg.payload).join({automatic} ? parts.ch ?? \"\" : {joiner})
    : type === \"object\" ? Object.fromEntries(list.filter((msg) => key(msg) !== undefined).map((msg) => [key(msg), msg.payload]))
    : type === \"merged\" ? Object.assign({{}}, ...list.map((msg) => msg.payload))
    : type === \"array\" && parts.len > 1 ? list.flatMap((msg) => msg.payload)
    : list.map((msg) => msg.payload);
  const {{ parts: own, ...last }} = list.at(-1);
  return {{ ...last, payload, ...(own?.parts && {{ parts: own.parts }}) }};
}};
",
        build = Value::from(build),
        joiner = Value::from(joiner),
        key = Value::from(match node.text("key") {
            "" => "topic",
            key => key,
        }),
    );
    let count = node
        .number("count")
        .filter(|_| !automatic)
        .map_or(0, |count| count.clamp(0.0, 1e6) as u64);
    let call = match (automatic, count) {
        (true, _) => "const groups = new Map();
  for (const msg of messages.filter((msg) => msg?.parts?.id !== undefined)) {
    groups.set(msg.parts.id, [...(groups.get(msg.parts.id) ?? []), msg]);
  }
  for (const list of groups.values()) send([of(list.sort((a, b) => a.parts.index - b.parts.index))]);"
            .to_owned(),
        (false, 0) => "if (messages.length > 0) send([of(messages)]);".to_owned(),
        (false, count) => format!(
            "for (let from = 0; from + {count} <= messages.length; from += {count}) send([of(messages.slice(from, from + {count}))]);"
        ),
    };
    Ok(module(&before, &call, 1))
}

/// A sort node: the elements of a property.
pub(crate) fn sort(node: &Node) -> Result<Code, String> {
    if node.text("targetType") == "seq" || !matches!(node.text("msgKeyType"), "" | "elem") {
        return Err("it sorts messages, or by an expression".to_owned());
    }
    let path = list(&own(node, "target")?);
    let sign = if node.text("order") == "descending" {
        "-"
    } else {
        ""
    };
    let key = if node.flag("as_num") {
        "Number(value)"
    } else {
        "value"
    };
    let body = format!(
        "  const key = (value) => {key};\n  const list = at(msg, {path});\n  if (Array.isArray(list)) put(msg, {path}, [...list].sort((a, b) => \
         {sign}(key(a) > key(b) ? 1 : key(a) < key(b) ? -1 : 0)));"
    );
    Ok(each(PATHS, &body))
}
