//! What the catalogue says of parameters and the nodes keep to.

/// Longest wait: 366 days.
pub const WAIT_MS_MAX: i64 = 366 * 24 * 60 * 60 * 1_000;

/// Names of the comparisons between `left` and `right`.
pub const OPERATORS: &[&str] = &[
    "equals",
    "notEquals",
    "greater",
    "greaterEqual",
    "less",
    "lessEqual",
    "contains",
    "notContains",
    "startsWith",
    "endsWith",
    "isEmpty",
    "isNotEmpty",
    "exists",
    "notExists",
    "isTrue",
    "isFalse",
    "in",
    "notIn",
];
