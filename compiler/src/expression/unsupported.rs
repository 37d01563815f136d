//! What of JavaScript this version does not compile, and what to use for it.

use oxc_ast::ast::Expression;

/// For functions of all kinds.
pub(super) const FUNCTION_HELP: Option<&str> =
    Some("Nodes such as Filter, Sort, Transform and Aggregate work on each item of an array.");

const DATES: &str = "Use a DateTime node; when the run started is `$run.startedAt`.";
const JSON: &str = "Use a Json node; among text an object's text is its JSON.";
const REGEX: &str = "Use a Regex node.";

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
        "$jmespath" => "Use a Transform, Filter or PickFields node.",
        "JSON" => JSON,
        "RegExp" => REGEX,
        "Number" | "parseFloat" | "parseInt" => "`+x` makes a number of text.",
        "String" => "`${x}` in a template literal makes text.",
        "Boolean" => "`!!x` makes a boolean.",
        "isNaN" => "Only NaN differs from itself: `x !== x`.",
        "isFinite" => "Write `x - x === 0`.",
        "encodeURIComponent" | "encodeURI" | "decodeURIComponent" | "decodeURI" | "escape" | "unescape"
        | "URL" | "URLSearchParams" => "Use a Url node; HttpRequest's `query` encodes by itself.",
        "atob" | "btoa" | "Buffer" | "TextEncoder" | "TextDecoder" | "Uint8Array" => "Use a Base64 node.",
        "crypto" => "Use a Hash, Hmac or Uuid node, or `$uuid()`.",
        "console" => "Use a Log node.",
        "Math" => "Use operators, or an Aggregate node for the smallest, largest or average of many.",
        "Set" => "Use a Unique node.",
        "Error" | "TypeError" => "Use a Throw node.",
        "structuredClone" => "Values do not change: the value itself will do.",
        _ => return FUNCTION_HELP,
    })
}

/// What to use instead of a member of a global, such as `Math.max`.
pub(super) fn member_help(global: &str, member: &str) -> Option<&'static str> {
    Some(match (global, member) {
        ("Math", "random") => "Write `$random()`, or use a Random node.",
        ("Math", "min" | "max") => "Write `a < b ? a : b`, or use an Aggregate node.",
        ("Math", "pow") => "Write `a ** b`.",
        ("Math", "abs") => "Write `x < 0 ? -x : x`.",
        ("Math", "trunc" | "floor" | "round" | "ceil") => {
            "Numbers that fit into 32 bits are cut off by `x | 0`."
        }
        ("Object", "assign") => "Write `{ ...a, ...b }`.",
        ("Object", "keys" | "values" | "entries" | "fromEntries") => {
            "Use a Transform node with a fixed set of fields."
        }
        ("Array", "isArray") => "A Switch or If node can look at `x.length !== undefined`.",
        ("crypto", "randomUUID") => "Write `$uuid()`.",
        ("Number", _) => "Use operators.",
        _ => return global_help(global),
    })
}

/// What to use instead of a method.
pub(super) fn method_help(method: &str) -> Option<&'static str> {
    Some(match method {
        "map" | "forEach" | "flatMap" => "Use a node with `each`, or a ForEach.",
        "filter" | "find" | "some" | "every" | "findIndex" | "findLast" => "Use a Filter node.",
        "sort" | "toSorted" | "reverse" => "Use a Sort node.",
        "reduce" | "reduceRight" => "Use an Aggregate node, or a Loop.",
        "slice" | "splice" | "at" => "Use a Limit node; one element is `x[0]`.",
        "flat" => "Use a Flatten node.",
        "concat" => "Write `[...a, ...b]`, or `a + b` for text.",
        "push" | "unshift" => "Values do not change: write `[...a, b]`.",
        "replace" | "replaceAll" | "match" | "matchAll" | "split" | "test" | "search" | "exec"
        | "includes" | "startsWith" | "endsWith" | "indexOf" => REGEX,
        "toString" => "Write `${x}` in a template literal.",
        "hasOwnProperty" => "Write `\"name\" in x`.",
        "toISO" | "toISOString" | "toISODate" | "toFormat" | "format" | "plus" | "minus" | "startOf"
        | "endOf" | "diff" | "setZone" | "toMillis" | "getTime" | "toLocaleDateString" | "toLocaleString"
        | "toDateTime" | "toLocaleTimeString" | "diffNow" | "set" | "getFullYear" | "getMonth"
        | "getDate" => DATES,
        "toJsonString" | "parseJson" | "toJSON" => JSON,
        "urlEncode" | "urlDecode" => "Use a Url node.",
        "base64Encode" | "base64Decode" => "Use a Base64 node.",
        "hash" => "Use a Hash node.",
        "removeDuplicates" | "unique" => "Use a Unique node.",
        "sum" | "average" | "min" | "max" | "count" => "Use an Aggregate node.",
        "toNumber" | "toFloat" | "toInt" => "`+x` makes a number of text.",
        "isEmpty" => "Write `!x` for text, `x.length === 0` for an array.",
        "isNotEmpty" => "Write `!!x` for text, `x.length > 0` for an array.",
        _ => return Some("Use a standard node for this step; `heddle nodes` lists them."),
    })
}

/// Any other construct: what it is, and what to use instead.
pub(super) fn construct(node: &Expression<'_>) -> (&'static str, Option<&'static str>) {
    match node {
        Expression::BigIntLiteral(_) => ("A BigInt", Some("Write a number without the `n`.")),
        Expression::RegExpLiteral(_) => ("A regular expression", Some(REGEX)),
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => {
            ("A function", FUNCTION_HELP)
        }
        Expression::ClassExpression(_) => ("A class", None),
        Expression::AssignmentExpression(_) | Expression::UpdateExpression(_) => (
            "An assignment",
            Some("Values do not change: use a SetFields node. Comparing is `==` or `===`."),
        ),
        Expression::AwaitExpression(_) | Expression::YieldExpression(_) | Expression::ImportExpression(_) => {
            (
                "Waiting inside an expression",
                Some("Nodes wait for what they need: read another node's value."),
            )
        }
        Expression::NewExpression(_) => ("`new`", None),
        Expression::TaggedTemplateExpression(_) => ("A tagged template literal", None),
        Expression::ThisExpression(_) => ("`this`", Some("The node's input is `$input`.")),
        _ => ("This", None),
    }
}
