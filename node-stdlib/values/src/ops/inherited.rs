//! The names that JavaScript's values inherit (ECMAScript 2025 with Annex B), sorted.

use crate::Value;
use crate::date_time::has_method;

/// Whether JavaScript would find the name on the prototypes of a value. That of null and undefined is nothing.
pub fn is_inherited(value: &Value, name: &str) -> bool {
    let own_prototype = match value {
        Value::Undefined | Value::Null => return false,
        Value::Object(_) => &[],
        Value::Array(_) => ARRAY,
        Value::String(_) => STRING,
        Value::Number(_) => NUMBER,
        Value::Bool(_) => BOOLEAN,
        Value::Function(_) => FUNCTION,
        Value::Temporal(temporal) => {
            return OBJECT.binary_search(&name).is_ok() || has_method(temporal, name);
        }
    };
    own_prototype.binary_search(&name).is_ok() || OBJECT.binary_search(&name).is_ok()
}

/// Names of `Object.prototype`.
const OBJECT: &[&str] = &[
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

/// Names of `Array.prototype`.
const ARRAY: &[&str] = &[
    "at",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toReversed",
    "toSorted",
    "toSpliced",
    "unshift",
    "values",
    "with",
];

/// Names of `String.prototype`.
const STRING: &[&str] = &[
    "anchor",
    "at",
    "big",
    "blink",
    "bold",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "fixed",
    "fontcolor",
    "fontsize",
    "includes",
    "indexOf",
    "isWellFormed",
    "italics",
    "lastIndexOf",
    "link",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "small",
    "split",
    "startsWith",
    "strike",
    "sub",
    "substr",
    "substring",
    "sup",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
];

/// Names of `Number.prototype`.
const NUMBER: &[&str] = &["toExponential", "toFixed", "toPrecision"];

/// Names of `Boolean.prototype`.
const BOOLEAN: &[&str] = &[];

/// Names of `Function.prototype`.
const FUNCTION: &[&str] = &["apply", "arguments", "bind", "call", "caller", "length", "name"];
