//! Code nodes as JavaScript nodes: the user's code in a function, with n8n's names around it.

use super::plain::Reading;
use super::statics;
use crate::built::Translation;
use crate::remark::OUTSIDE;
use crate::rewrite::mentioned;
use crate::scan::is_name_byte;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

/// What code may use in n8n and has no counterpart here.
const MISSING: &[&str] = &[
    "require(",
    "import(",
    "this.helpers",
    "this.getWorkflowStaticData",
    "$jmespath",
    "$binary",
    "$env",
    "$vars",
    "$secrets",
    "$evaluateExpression",
    "moment(",
    "getBinaryDataBuffer",
    "getNodeParameter",
    "$workflow",
    "$execution",
    "$prevNode",
    "$runIndex",
    "process.env",
    "getCredentials",
    "luxon",
];

/// Luxon is built in, and called so in code that loads it.
const BUILT_IN_LUXON: &str = "builtInLuxon";
const LUXON: &str = "const builtInLuxon = { DateTime, Duration, Interval };
";
const REQUIRED_LUXON: &[&str] = &["require('luxon')", "require(\"luxon\")", "require(`luxon`)"];

/// What Luxon has besides.
const LUXON_LACKS: &[&str] = &[
    "Settings",
    "Info",
    "IANAZone",
    "FixedOffsetZone",
    "SystemZone",
    "InvalidZone",
];

/// Items are `{json}` inside, and values outside.
const AROUND: &str = "const wrap = (value) => (Array.isArray(value) ? value : value == null ? [] : [value]).map((json) => ({ json: copyOf(json) }));
const unwrap = (result) => {
  const one = (item) => (item && typeof item === \"object\" && \"json\" in item ? item.json : item);
  return Array.isArray(result) ? result.map(one) : result == null ? [] : one(result);
};
const node = (items) => ({
  all: () => items,
  first: () => items[0],
  last: () => items[items.length - 1],
  item: items[0],
  itemMatching: (index) => items[index],
  isExecuted: items.length > 0,
  json: items[0]?.json,
});
";

/// In n8n, what code changes in one item does not change in another one or in another node's, of which it may be a part here.
const COPIES: &str = "const copyOf = (value) => {
  if (Array.isArray(value)) return value.map(copyOf);
  if (value === null || typeof value !== \"object\" || Object.getPrototypeOf(value) !== Object.prototype) return value;
  const copy = { ...value };
  for (const name of Object.keys(copy)) {
    const own = copy[name];
    if (typeof own === \"object\") copy[name] = copyOf(own);
  }
  return copy;
};
";
/// For code that changes nothing.
const SHARES: &str = "const copyOf = (value) => value;
";

/// What is not a name that code can declare, and what the module around it has.
const TAKEN: &[&str] = &[
    "arguments",
    "async",
    "await",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "copyOf",
    "debugger",
    "default",
    "delete",
    "do",
    "else",
    "enum",
    "eval",
    "export",
    "extends",
    "false",
    "finally",
    "for",
    "function",
    "if",
    "implements",
    "import",
    "in",
    "instanceof",
    "interface",
    "let",
    "new",
    "node",
    "null",
    "package",
    "private",
    "protected",
    "public",
    "return",
    "static",
    "super",
    "switch",
    "this",
    "throw",
    "true",
    "try",
    "typeof",
    "unwrap",
    "user",
    "var",
    "void",
    "while",
    "with",
    statics::AROUND,
    "wrap",
    "yield",
];
/// Names that are declared for code which doesn't.
const UNDECLARED_MAX: usize = 50;

/// How the user's code is called.
enum Called {
    /// Once, for all items.
    Once,
    /// For each item.
    Each,
    /// For each item, which is the value itself.
    EachOld,
}

pub(super) fn code(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["language"], "javaScript") != "javaScript" {
        return Translation::stub("code in Python can't be executed: rewrite it in JavaScript");
    }
    let called = match node.choice(&["mode"], "runOnceForAllItems") {
        "runOnceForEachItem" => Called::Each,
        _ => Called::Once,
    };
    javascript(scene, node.text(&["jsCode"]), &called)
}

pub(super) fn function(scene: &Scene<'_>) -> Translation {
    javascript(scene, scene.node.text(&["functionCode"]), &Called::Once)
}

pub(super) fn function_item(scene: &Scene<'_>) -> Translation {
    javascript(scene, scene.node.text(&["functionCode"]), &Called::EachOld)
}

fn javascript(scene: &Scene<'_>, code: &str, called: &Called) -> Translation {
    if code.trim().is_empty() {
        return Translation::stub("the code is empty");
    }
    let loads_luxon = REQUIRED_LUXON.iter().any(|required| code.contains(required));
    let code = &REQUIRED_LUXON.iter().fold(code.to_owned(), |code, required| {
        code.replace(required, BUILT_IN_LUXON)
    });
    let reading = Reading::of(code);
    let is_missing = |name: &&&str| match **name {
        // What it is called once it is loaded.
        "luxon" => !loads_luxon && (reading.has("luxon") || reading.has_text("luxon")),
        name => reading.has(name),
    };
    let lacking = match loads_luxon {
        true => reading.member_of(BUILT_IN_LUXON, LUXON_LACKS),
        false => None,
    };
    if let Some(name) = lacking {
        return Translation::stub(format!(
            "its code uses Luxon's `{name}`, which JavaScript nodes don't have"
        ));
    }
    if let Some(missing) = MISSING.iter().find(is_missing) {
        let name = missing.trim_end_matches(['(', '.']);
        return Translation::stub(format!(
            "its code uses `{name}`, which JavaScript nodes don't have"
        ));
    }
    let names = mentioned(code);
    let outside = names.iter().find(|name| scene.flow.place_of(name).is_none());
    let outside = outside.filter(|_| scene.workflow.is_fragment);
    let known = names.iter().filter(|name| scene.flow.place_of(name).is_some());
    let params: Map<String, Value> = known
        .take(50)
        .map(|name| {
            (
                name.clone(),
                format!("{{{{ $({}).all() }}}}", Value::from(name.as_str())).into(),
            )
        })
        .collect();
    let bytes = code.as_bytes();
    let goes_on = |at: usize| bytes.get(at).is_some_and(|byte| is_name_byte(*byte));
    let reads_item = code
        .match_indices(".item")
        .any(|(at, name)| !goes_on(at + name.len()));
    let statics = match statics::of(scene, code) {
        Ok(statics) => statics,
        Err(why) => return Translation::stub(why),
    };
    let declared = statics.as_ref().map(|statics| statics.declared.as_str());
    let copy = if reading.may_change() { COPIES } else { SHARES };
    let module = module(code, called, (copy, declared, scene.names.zone));
    let parameters = json!({"code": module, "params": params});
    let mut translation = match called {
        Called::Once => Translation::whole("JavaScript", parameters),
        _ => Translation::each("JavaScript", parameters),
    };
    if let Some(name) = outside {
        let message = format!(
            "the code reads the node `{name}`, which is not part of what was pasted and has no items here"
        );
        translation = translation.differs(OUTSIDE, message);
    }
    translation
        .differs_if(
            !is_exact(scene, (code, &reading), called),
            "javascript",
            "code is executed as a strict module, and libraries can't be loaded",
        )
        .differs_if(
            statics.is_some(),
            "static-data",
            "static data is kept for the pattern by `keyValue`, at most 256 KiB of it: it is read before the code and, if it has \
             changed, written behind it, where n8n writes it at the end of the run",
        )
        .differs_if(
            statics.is_some_and(|statics| statics.is_left_out),
            "static-data-left",
            "the static data that n8n has kept is too large to be imported: it begins empty",
        )
        .differs_if(
            reads_item && ["$(", "$node", "$items"].iter().any(|name| code.contains(name)),
            "pairing",
            "in code, `.item` of another node is its first item",
        )
        .differs_if(
            scene.names.zone.is_some_and(|zone| !is_utc(zone)) && code.contains("DateTime"),
            "time-zone",
            "date-times that the code makes with `DateTime` are in UTC unless it names a zone; in n8n they are in the workflow's",
        )
}

/// Whether code only does what is the same everywhere with the items that come, and with those of nodes that it names.
fn is_exact(scene: &Scene<'_>, (code, reading): (&str, &Reading<'_>), called: &Called) -> bool {
    let (given, ways): (&[&str], &[&str]) = match called {
        Called::Once => (
            &["items", "$input", "$json", "$"],
            &["$input.all()", "$input.first()", "$input.last()"],
        ),
        Called::Each => (&["$input", "$json", "$"], &["$input.item"]),
        Called::EachOld => (&["item"], &[]),
    };
    let count = |text: &str| code.matches(text).count();
    let reads = ways.iter().map(|way| count(way)).sum::<usize>();
    // What an item has besides its JSON.
    let others = ["binary", "pairedItem", "itemMatching"];
    count("$input") == reads
        && !others.iter().any(|other| code.contains(other))
        && reading.is_plain(given)
        && reads_nodes(scene, code)
}

/// Whether all nodes that code names are there, and asked for their items.
fn reads_nodes(scene: &Scene<'_>, code: &str) -> bool {
    code.match_indices("$(").all(|(at, opening)| {
        let rest = code.get(at + opening.len()..).unwrap_or_default();
        let quote = rest.chars().next().filter(|c| "'\"`".contains(*c));
        let literal = quote.and_then(|quote| rest.strip_prefix(quote)?.split_once(quote));
        literal.is_some_and(|(name, behind)| {
            let is_node = scene.flow.place_of(name).is_some();
            let reads = [").all()", ").first()", ").last()"];
            is_node && reads.iter().any(|read| behind.starts_with(read))
        })
    })
}

/// Declares what code assigns to, since n8n takes names that are not declared. What is declared within the code is another name.
fn declared(code: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in code.lines().map(str::trim_start) {
        let inner = line
            .strip_prefix("for")
            .and_then(|rest| rest.trim_start().strip_prefix('('));
        let text = inner.unwrap_or(line).trim_start();
        let end = text
            .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .unwrap_or(text.len());
        let (name, behind) = text.split_at(end);
        let behind = behind.trim_start();
        let is_set = behind.starts_with('=') && !behind.starts_with("==") && !behind.starts_with("=>");
        let is_each = inner.is_some() && (behind.starts_with("of ") || behind.starts_with("in "));
        let is_name = name.starts_with(|c: char| !c.is_ascii_digit()) && !TAKEN.contains(&name);
        if (is_set || is_each) && is_name && !names.contains(&name) && names.len() < UNDECLARED_MAX {
            names.push(name);
        }
    }
    match names.is_empty() {
        true => String::new(),
        false => format!("let {};\n", names.join(", ")),
    }
}

fn is_utc(zone: &str) -> bool {
    matches!(zone, "UTC" | "Etc/UTC" | "GMT" | "Etc/GMT")
}

/// n8n's names of times, for code that has them.
fn now(code: &str, zone: Option<&str>) -> String {
    if !code.contains("$now") && !code.contains("$today") {
        return String::new();
    }
    let zone = zone.map(|zone| format!(".setZone({})", Value::from(zone)));
    let zone = zone.unwrap_or_default();
    format!("const $now = DateTime.now(){zone}, $today = $now.startOf(\"day\");\n")
}

/// The code is a block within its function, so that it can declare `items` and whatever else it is given, as in n8n.
fn module(code: &str, called: &Called, (copy, statics, zone): (&str, Option<&str>, Option<&str>)) -> String {
    let names = declared(code);
    let now = now(code, zone);
    let luxon = if code.contains(BUILT_IN_LUXON) { LUXON } else { "" };
    let item = match called {
        Called::Once => "undefined",
        Called::Each => "items[0]",
        Called::EachOld => "items[0]?.json",
    };
    let given = format!("items, input, items[0]?.json, {item}, $, $node");
    let (around, more, call) = match statics {
        None => ("", String::new(), format!("await user({given})")),
        Some(around) => (
            around,
            format!(", ${0}, {0}", statics::NAME),
            format!("await {}((get) => user({given}, get, get))", statics::AROUND),
        ),
    };
    format!(
        "{copy}{AROUND}{now}{luxon}{around}{names}async function user(items, $input, $json, item, $, $node{more}) {{ {{\n{code}\n}} }}\n\n\
        export default async ({{ input: value, params }}) => {{\n  \
        const items = wrap(value);\n  \
        const input = node(items);\n  \
        const nodes = new Map();\n  \
        const $ = (name) => {{\n    \
        if (!nodes.has(name)) nodes.set(name, node(wrap(params?.[name])));\n    \
        return nodes.get(name);\n  }};\n  \
        const $node = new Proxy({{}}, {{ get: (_, name) => $(name) }});\n  \
        return unwrap({call});\n}};\n"
    )
}
