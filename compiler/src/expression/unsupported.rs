//! Constructs of JavaScript that are not compiled, or not available in expressions.

use heddle_javascript::names;
use heddle_values::methods::Method;
use oxc_ast::ast::Expression;

/// What is longer was not mistyped.
pub(super) const MISTYPED_BYTES_MAX: usize = 100;

/// Advice for expressions that wait for something.
pub(super) const WAITING_HELP: &str =
    "nodes wait for what they need: read another node's value, or use a JavaScript node";

/// What every object has, without its being a field of the data.
pub(super) const INHERITED: &[&str] = &[
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "__proto__",
    "constructor",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// Names that only compiled expressions have, and those of which compiled code is preferred.
const COMPILED: &[&str] = &["$ifEmpty", "$jmespath", "$max", "$min", "DateTime", "Duration"];

/// Names that code has in browsers and Node.js, and what to use instead.
const ELSEWHERE: &[(&str, &str)] = &[
    (
        "Buffer",
        "`btoa(x)` and `atob(x)` are for bytes, a Base64 node for text and files",
    ),
    ("Promise", WAITING_HELP),
    ("document", "there is no page here; a node's input is `$input`"),
    ("fetch", "use an HttpRequest node, or a JavaScript node"),
    ("global", "JavaScript's globals can be used without it"),
    ("module", "a JavaScript node has modules"),
    ("queueMicrotask", WAITING_HELP),
    ("require", "only built-ins are available; nothing can be loaded"),
    ("self", "JavaScript's globals can be used without it"),
    ("setInterval", WAITING_HELP),
    ("setTimeout", WAITING_HELP),
    ("window", "JavaScript's globals can be used without it"),
];

/// Whether JavaScript, or what is compiled, has this name everywhere.
pub(super) fn is_global(name: &str) -> bool {
    let has_value = matches!(name, "undefined" | "NaN" | "Infinity");
    !has_value && (in_engine(name) || is_compiled_first(name))
}

/// Whether the engine has this name everywhere.
pub(super) fn in_engine(name: &str) -> bool {
    elsewhere(name).is_none() && names::GLOBALS.contains(&name)
}

/// Whether the name means something only where it is compiled, or is better compiled where that can be done.
pub(super) fn is_compiled_first(name: &str) -> bool {
    COMPILED.contains(&name)
}

/// What to use instead of a name that code has in browsers and Node.js.
pub(super) fn elsewhere(name: &str) -> Option<&'static str> {
    let known = ELSEWHERE.iter().find(|(known, _)| *known == name);
    known.map(|(_, instead)| *instead)
}

/// Whether a value of the engine may have a property of this name that the expression has not made.
pub(super) fn may_be_method(name: &str) -> bool {
    names::PROPERTIES.contains(&name)
}

/// What an expression may have of date-times, durations, intervals and `Intl`, which is looked up once.
pub(super) struct Times {
    has_any: bool,
    has_intervals: bool,
}

impl Times {
    pub(super) fn of(source: &str) -> Times {
        const WORDS: &[&str] = &["DateTime", "Duration", "Interval", "Intl", "$now", "$today"];
        Times {
            has_any: WORDS.iter().any(|word| source.contains(word)),
            has_intervals: source.contains("Interval"),
        }
    }

    /// Whether one of these has a method of this name. Elsewhere these names are mistakes, such as `text.contains(…)`.
    pub(super) fn may_have(&self, name: &str) -> bool {
        let is_there = match name {
            // In n8n's expressions and where it is compiled this is a method, in the engine a property as in Luxon.
            "isWeekend" => false,
            // Of intervals; in n8n of other values.
            "isEmpty" | "merge" => self.has_intervals,
            _ => self.has_any,
        };
        is_there && names::TIMES.contains(&name)
    }
}

/// The method that was probably meant.
pub(super) fn nearest_method(name: &str) -> Option<String> {
    if name.len() > MISTYPED_BYTES_MAX {
        return None;
    }
    let distance =
        |method: &Method| strsim::damerau_levenshtein(&name.to_lowercase(), &method.name().to_lowercase());
    let nearest = Method::ALL.iter().min_by_key(|method| distance(method))?;
    let close = if name.chars().count() <= 4 { 1 } else { 2 };
    (distance(nearest) <= close).then(|| format!("did you mean `.{}(…)`?", nearest.name()))
}

/// Whether the method is compiled, and the engine has none of this name or one that may mean something else.
pub(super) fn is_compiled_method(name: &str) -> bool {
    const ALSO_BUILT_IN: &[&str] = &[
        "abs",
        "append",
        "ceil",
        "difference",
        "floor",
        "intersection",
        "isInteger",
        "localeCompare",
        "max",
        "min",
        "round",
        "toLocaleDateString",
        "toLocaleString",
        "toLocaleTimeString",
        "union",
    ];
    ALSO_BUILT_IN.contains(&name) || (Method::from_name(name).is_some() && !may_be_method(name))
}

/// What a construct that is not compiled is called.
pub(super) fn construct(node: &Expression<'_>) -> &'static str {
    match node {
        Expression::BigIntLiteral(_) => "a BigInt",
        Expression::RegExpLiteral(_) => "a regular expression",
        Expression::ArrowFunctionExpression(_) | Expression::FunctionExpression(_) => "a function",
        Expression::ClassExpression(_) => "a class",
        Expression::AssignmentExpression(_) | Expression::UpdateExpression(_) => "an assignment",
        Expression::AwaitExpression(_) | Expression::YieldExpression(_) | Expression::ImportExpression(_) => {
            "waiting"
        }
        Expression::TaggedTemplateExpression(_) => "a tagged template literal",
        Expression::ThisExpression(_) => "`this`",
        Expression::NewTarget(_) => "`new.target`",
        Expression::PrivateInExpression(_) | Expression::PrivateFieldExpression(_) => "a private name",
        _ => "what stands here",
    }
}
