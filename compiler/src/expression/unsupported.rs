//! What of JavaScript this version does not compile, and what to use for it.

use heddle_node_stdlib::value::methods::Method;
use oxc_ast::ast::Expression;

/// For functions of all kinds.
pub(super) const FUNCTION_HELP: Option<&str> =
    Some("nodes such as Filter, Sort, Transform and Aggregate work on each item of an array");

/// For what waits.
pub(super) const WAITING_HELP: Option<&str> =
    Some("nodes wait for what they need: read another node's value");

const DATES: &str =
    "date-times are `$now`, `$today`, `DateTime.fromISO(…)`, `new Date(…)` and what their methods give";
const REGEX: &str = "use a Regex node";

/// Names that JavaScript or n8n give everywhere, which have no value by themselves here.
const GLOBALS: &[&str] = &[
    "Array",
    "ArrayBuffer",
    "BigInt",
    "Boolean",
    "Buffer",
    "Date",
    "DateTime",
    "Duration",
    "Error",
    "Function",
    "Interval",
    "Intl",
    "JSON",
    "Map",
    "Math",
    "Number",
    "Object",
    "Promise",
    "Proxy",
    "Reflect",
    "RegExp",
    "Set",
    "String",
    "Symbol",
    "TextDecoder",
    "TextEncoder",
    "TypeError",
    "URL",
    "URLSearchParams",
    "Uint8Array",
    "WeakMap",
    "WeakSet",
    "$jmespath",
    "arguments",
    "atob",
    "btoa",
    "console",
    "crypto",
    "decodeURI",
    "decodeURIComponent",
    "encodeURI",
    "encodeURIComponent",
    "escape",
    "eval",
    "globalThis",
    "isFinite",
    "isNaN",
    "parseFloat",
    "parseInt",
    "require",
    "structuredClone",
    "unescape",
    "window",
];

/// Whether JavaScript or n8n give this name everywhere.
pub(super) fn is_global(name: &str) -> bool {
    GLOBALS.contains(&name)
}

/// What to use instead of a global, or of one that is compiled only where it is called.
pub(super) fn global_help(name: &str) -> Option<&'static str> {
    Some(match name {
        "Date" | "DateTime" | "Duration" | "Interval" | "Intl" => DATES,
        "$jmespath" => "call it: `$jmespath(value, \"query\")`",
        "RegExp" => REGEX,
        "Array" | "JSON" | "Math" | "Object" => "call one of its functions, as in `Math.max(a, b)`",
        "Boolean" | "Number" | "String" | "atob" | "btoa" | "decodeURI" | "decodeURIComponent"
        | "encodeURI" | "encodeURIComponent" | "isFinite" | "isNaN" | "parseFloat" | "parseInt"
        | "structuredClone" => "call it, or pass it to a method: `list.map(Number)`",
        "escape" | "unescape" => "use `encodeURIComponent(…)` or `decodeURIComponent(…)`",
        "URL" | "URLSearchParams" => "use a Url node; HttpRequest's `query` encodes by itself",
        "Buffer" | "TextEncoder" | "TextDecoder" | "Uint8Array" => "use a Base64 node",
        "crypto" => "use a Hash, Hmac or Uuid node, or `$uuid()`",
        "console" => "use a Log node",
        "Set" => "use a Unique node",
        "Error" | "TypeError" => "use a Throw node",
        _ => return FUNCTION_HELP,
    })
}

/// What to use instead of a member of a global, such as `crypto.randomUUID`.
pub(super) fn member_help(global: &str, member: &str) -> Option<&'static str> {
    Some(match (global, member) {
        ("Math", "random") => "write `$random()`, or use a Random node",
        ("crypto", "randomUUID") => "write `$uuid()`",
        ("Object", "freeze" | "seal") => "values do not change: the value itself will do",
        ("Object", "groupBy") => "use an Aggregate node with `groupBy`",
        _ => return global_help(global),
    })
}

/// What to use instead of a method.
pub(super) fn method_help(method: &str) -> Option<String> {
    let help = match method {
        "copyWithin" => "write it with `.slice(…)` and `[...a, ...b]`",
        "entries" => "`.map((item, index) => …)` gives both, as does `Object.entries(x)`",
        "match" | "matchAll" | "test" | "search" | "exec" => REGEX,
        _ => return nearest_method(method).or(Some(STANDARD.to_owned())),
    };
    Some(help.to_owned())
}

const STANDARD: &str = "use a standard node for this step; `heddle nodes` lists them";

/// The method that was probably meant.
fn nearest_method(name: &str) -> Option<String> {
    let distance =
        |method: &Method| strsim::damerau_levenshtein(&name.to_lowercase(), &method.name().to_lowercase());
    let nearest = Method::ALL.iter().min_by_key(|method| distance(method))?;
    let close = if name.chars().count() <= 4 { 1 } else { 2 };
    (distance(nearest) <= close).then(|| format!("did you mean `.{}(…)`?", nearest.name()))
}

/// Any other construct: what it is, and what to use instead.
pub(super) fn construct(node: &Expression<'_>) -> (&'static str, Option<&'static str>) {
    match node {
        Expression::BigIntLiteral(_) => ("a BigInt", Some("write a number without the `n`")),
        Expression::RegExpLiteral(_) => ("a regular expression", Some(REGEX)),
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
            ("a function", FUNCTION_HELP)
        }
        Expression::ClassExpression(_) => ("a class", None),
        Expression::AssignmentExpression(_) | Expression::UpdateExpression(_) => (
            "an assignment",
            Some("values do not change: use a SetFields node; comparing is `==` or `===`"),
        ),
        Expression::AwaitExpression(_) | Expression::YieldExpression(_) | Expression::ImportExpression(_) => {
            ("waiting inside an expression", WAITING_HELP)
        }
        Expression::TaggedTemplateExpression(_) => ("a tagged template literal", None),
        Expression::ThisExpression(_) => ("`this`", Some("the node's input is `$input`")),
        _ => ("this", None),
    }
}
