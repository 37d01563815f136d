//! An expression while it is rewritten to a script: what has been found, and which parts of its text are replaced.

use super::super::unsupported::Times;
use super::super::{Expression, Names, Problem};
use oxc_semantic::Semantic;
use std::cell::Cell;
use std::collections::HashMap;
use std::ops::Range;

/// What a byte of a part that is read is worth, of the work that looking for parts may take.
pub(super) const WORK_OF_BYTE: usize = 16;

/// A piece of the source and what stands there instead.
pub(super) struct Edit {
    pub(super) span: Range<usize>,
    pub(super) text: String,
}

/// Functions that stand around a script, with their source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Helper {
    /// The value of an attempt.
    Part,
    /// An item of a node, or a list of them, as n8n has them: `json` of an item is the item itself.
    Item,
    Items,
    Random,
    Uuid,
    IfEmpty,
    Max,
    Min,
    /// What is spread into an object: the engine takes nothing of a text, where JavaScript takes its characters.
    Spread,
}

impl Helper {
    pub(super) fn name(self) -> &'static str {
        match self {
            Helper::Part => "part",
            Helper::Item => "item",
            Helper::Items => "items",
            Helper::Random => "random",
            Helper::Uuid => "uuid",
            Helper::IfEmpty => "ifEmpty",
            Helper::Max => "max",
            Helper::Min => "min",
            Helper::Spread => "spread",
        }
    }

    /// What stands for one of n8n's functions that are compiled otherwise.
    pub(super) fn of_function(name: &str) -> Option<Self> {
        Some(match name {
            "$ifEmpty" => Helper::IfEmpty,
            "$max" => Helper::Max,
            "$min" => Helper::Min,
            _ => return None,
        })
    }

    pub(super) fn source(self) -> &'static str {
        match self {
            Helper::Part => "x => { if (typeof x === \"string\") throw new TypeError(x); return x[0]; }",
            Helper::Item => ITEM,
            Helper::Items => ITEMS,
            Helper::Random => "Math.random",
            Helper::Uuid => "() => crypto.randomUUID()",
            Helper::IfEmpty => IF_EMPTY,
            Helper::Max => "Math.max",
            Helper::Min => "Math.min",
            Helper::Spread => "x => typeof x === \"string\" ? Object(x) : x",
        }
    }
}

const IF_EMPTY: &str = "(x, y) => x === undefined || x === null || x === \"\" || (typeof x === \"object\" \
    && !(x instanceof Date) && (Array.isArray(x) ? x : Object.keys(x)).length === 0) ? y : x";
const ITEM: &str = "x => { if (typeof x === \"object\" && x !== null && !Object.hasOwn(x, \"json\")) \
    Object.defineProperty(x, \"json\", { value: x, writable: true, configurable: true }); return x; }";
const ITEMS: &str = "x => { for (const y of x) if (typeof y === \"object\" && y !== null && !Object.hasOwn(y, \"json\")) \
    Object.defineProperty(y, \"json\", { value: y, writable: true, configurable: true }); return x; }";

/// An expression that is being rewritten.
pub(super) struct Rewriting<'s, 'a, 'n> {
    pub(super) source: &'s str,
    pub(super) semantic: &'s Semantic<'a>,
    pub(super) names: &'n dyn Names,
    /// Why the engine evaluates the expression.
    pub(super) because: Option<&'s str>,
    pub(super) prefix: String,
    pub(super) times: Times,
    /// Whether the expression may change the values that it is given.
    pub(super) changes: bool,
    pub(super) parameters: Vec<Expression>,
    /// Where each of them is among these, by what it looks like.
    pub(super) known: HashMap<String, usize>,
    pub(super) helpers: Vec<Helper>,
    /// Not overlapping.
    pub(super) edits: Vec<Edit>,
    /// 0: it was not enough, and what was found is of no use.
    pub(super) work_left: Cell<usize>,
    pub(super) problems: Vec<Problem>,
}
