//! What of JavaScript this version does not compile, and what to use for it.

use oxc_ast::ast::Expression;

/// For functions of all kinds.
pub(super) const FUNCTION_HELP: Option<&str> =
    Some("nodes such as Filter, Sort, Transform and Aggregate work on each item of an array");

/// For what waits.
pub(super) const WAITING_HELP: Option<&str> =
    Some("nodes wait for what they need: read another node's value");

const DATES: &str = "use a DateTime node; when the run started is `$run.startedAt`";
const JSON: &str = "use a Json node; among text an object's text is its JSON";
const REGEX: &str = "use a Regex node";

/// Names that JavaScript or n8n give everywhere, none of which has a value here.
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
    "$now",
    "$today",
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

/// What to use instead of a global.
pub(super) fn global_help(name: &str) -> Option<&'static str> {
    Some(match name {
        "$now" | "$today" | "Date" | "DateTime" | "Duration" | "Interval" | "Intl" => DATES,
        "$jmespath" => "use a Transform, Filter or PickFields node",
        "JSON" => JSON,
        "RegExp" => REGEX,
        "Number" | "parseFloat" | "parseInt" => "`+x` makes a number of text",
        "String" => "`${x}` in a template literal makes text",
        "Boolean" => "`!!x` makes a boolean",
        "isNaN" => "only NaN differs from itself: `x !== x`",
        "isFinite" => "write `x - x === 0`",
        "encodeURIComponent" | "encodeURI" | "decodeURIComponent" | "decodeURI" | "escape" | "unescape"
        | "URL" | "URLSearchParams" => "use a Url node; HttpRequest's `query` encodes by itself",
        "atob" | "btoa" | "Buffer" | "TextEncoder" | "TextDecoder" | "Uint8Array" => "use a Base64 node",
        "crypto" => "use a Hash, Hmac or Uuid node, or `$uuid()`",
        "console" => "use a Log node",
        "Math" => "use operators, or an Aggregate node for the smallest, largest or average of many",
        "Set" => "use a Unique node",
        "Error" | "TypeError" => "use a Throw node",
        "structuredClone" => "values do not change: the value itself will do",
        _ => return FUNCTION_HELP,
    })
}

/// What to use instead of a member of a global, such as `Math.max`.
pub(super) fn member_help(global: &str, member: &str) -> Option<&'static str> {
    Some(match (global, member) {
        ("Math", "random") => "write `$random()`, or use a Random node",
        ("Math", "min" | "max") => "write `a < b ? a : b`, or use an Aggregate node",
        ("Math", "pow") => "write `a ** b`",
        ("Math", "abs") => "write `x < 0 ? -x : x`",
        ("Math", "trunc" | "floor" | "round" | "ceil") => {
            "numbers that fit into 32 bits are cut off by `x | 0`"
        }
        ("Object", "assign") => "write `{ ...a, ...b }`",
        ("Object", "keys" | "values" | "entries" | "fromEntries") => {
            "use a Transform node with a fixed set of fields"
        }
        ("Array", "isArray") => "a Switch or If node can look at `x.length !== undefined`",
        ("crypto", "randomUUID") => "write `$uuid()`",
        ("Number", _) => "use operators",
        _ => return global_help(global),
    })
}

/// What to use instead of a method.
pub(super) fn method_help(method: &str) -> Option<&'static str> {
    Some(match method {
        "map" | "forEach" | "flatMap" => "use a node with `each`, or a ForEach",
        "filter" | "find" | "some" | "every" | "findIndex" | "findLast" => "use a Filter node",
        "sort" | "toSorted" | "reverse" => "use a Sort node",
        "reduce" | "reduceRight" => "use an Aggregate node, or a Loop",
        "slice" | "splice" | "at" => "use a Limit node; one element is `x[0]`",
        "flat" => "use a Flatten node",
        "concat" => "write `[...a, ...b]`, or `a + b` for text",
        "push" | "unshift" => "values do not change: write `[...a, b]`",
        "replace" | "replaceAll" | "match" | "matchAll" | "split" | "test" | "search" | "exec"
        | "includes" | "startsWith" | "endsWith" | "indexOf" => REGEX,
        "toString" => "write `${x}` in a template literal",
        "hasOwnProperty" => "write `\"name\" in x`",
        "toISO" | "toISOString" | "toISODate" | "toFormat" | "format" | "plus" | "minus" | "startOf"
        | "endOf" | "diff" | "setZone" | "toMillis" | "getTime" | "toLocaleDateString" | "toLocaleString"
        | "toDateTime" | "toLocaleTimeString" | "diffNow" | "set" | "getFullYear" | "getMonth"
        | "getDate" => DATES,
        "toJsonString" | "parseJson" | "toJSON" => JSON,
        "urlEncode" | "urlDecode" => "use a Url node",
        "base64Encode" | "base64Decode" => "use a Base64 node",
        "hash" => "use a Hash node",
        "removeDuplicates" | "unique" => "use a Unique node",
        "sum" | "average" | "min" | "max" | "count" => "use an Aggregate node",
        "toNumber" | "toFloat" | "toInt" => "`+x` makes a number of text",
        "isEmpty" => "write `!x` for text, `x.length === 0` for an array",
        "isNotEmpty" => "write `!!x` for text, `x.length > 0` for an array",
        _ => return Some("use a standard node for this step; `heddle nodes` lists them"),
    })
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
        Expression::NewExpression(_) => ("`new`", None),
        Expression::TaggedTemplateExpression(_) => ("a tagged template literal", None),
        Expression::ThisExpression(_) => ("`this`", Some("the node's input is `$input`")),
        _ => ("this", None),
    }
}
