//! An expression while it is rewritten to a script: what has been found, and which parts of its text are replaced.

use super::super::unsupported::Times;
use super::super::{Expression, Names, Problem};
use oxc_semantic::Semantic;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// What a byte of a part that is read is worth, of the work that looking for parts may take.
pub(super) const WORK_OF_BYTE: usize = 16;

/// Pieces of the source, by where they begin and end, and what stands there instead. None overlaps another, so that the one at
/// a place is found without a look at the others, of which there may be thousands.
#[derive(Default)]
pub(super) struct Edits(BTreeMap<(usize, usize), String>);

impl Edits {
    /// Adds one that overlaps none.
    pub(super) fn add(&mut self, span: Range<usize>, text: &str) {
        self.0.entry((span.start, span.end)).or_default().push_str(text);
    }

    /// Adds one in the place of those that it overlaps.
    pub(super) fn put(&mut self, span: Range<usize>, text: &str) {
        let before = self.0.range(..(span.start, 0)).next_back();
        let within = self.0.range((span.start, 0)..(span.end, 0));
        let overlapped: Vec<(usize, usize)> = before
            .into_iter()
            .chain(within)
            .map(|(place, _)| *place)
            .filter(|(_, end)| *end > span.start)
            .collect();
        for place in overlapped {
            self.0.remove(&place);
        }
        self.add(span, text);
    }

    /// Whether one takes the place of all of this.
    pub(super) fn cover(&self, span: &Range<usize>) -> bool {
        let last = self.0.range(..=(span.start, usize::MAX)).next_back();
        last.is_some_and(|((_, end), _)| span.end <= *end)
    }

    /// The source with all of them in it.
    pub(super) fn applied(&self, source: &str) -> String {
        let mut applied = String::with_capacity(source.len());
        let mut at = 0;
        for ((start, end), text) in &self.0 {
            applied.push_str(source.get(at..*start).unwrap_or_default());
            applied.push_str(text);
            at = *end;
        }
        applied.push_str(source.get(at..).unwrap_or_default());
        applied
    }
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
    /// Where names stand that compiled code would not find as JavaScript does.
    pub(super) elsewhere: Vec<Range<usize>>,
    pub(super) parameters: Vec<Expression>,
    /// Where each of them is among these, by what it looks like.
    pub(super) known: HashMap<String, usize>,
    pub(super) helpers: Vec<Helper>,
    pub(super) edits: Edits,
    /// 0: it was not enough, and what was found is of no use.
    pub(super) work_left: Cell<usize>,
    pub(super) problems: Vec<Problem>,
}

#[cfg(test)]
mod tests {
    use super::Edits;
    use std::ops::Range;

    const SOURCE: &str = "0123456789";

    /// Adds an edit the slow way, which compares it with each of the others.
    fn put(edits: &mut Vec<(Range<usize>, String)>, span: Range<usize>, text: &str) {
        edits.retain(|(other, _)| other.end <= span.start || span.end <= other.start);
        edits.push((span, text.to_owned()));
    }

    #[test]
    fn of_edits_that_overlap_the_last_counts() {
        let spans: Vec<Range<usize>> = (0..=SOURCE.len())
            .flat_map(|start| (start + 1..=SOURCE.len()).map(move |end| start..end))
            .collect();
        // Each after two others, in some order of them all.
        let count = spans.len();
        for number in 0..count * count {
            let chosen = [number % count, (number * 7) % count, (number * 31 + 11) % count];
            let (mut edits, mut known) = (Edits::default(), Vec::new());
            for (text, at) in ["a", "b", "c"].into_iter().zip(chosen) {
                edits.put(spans[at].clone(), text);
                put(&mut known, spans[at].clone(), text);
            }
            for span in &spans {
                let is_covered = known
                    .iter()
                    .any(|(other, _)| other.start <= span.start && span.end <= other.end);
                assert_eq!(edits.cover(span), is_covered, "{known:?} {span:?}");
            }
            known.sort_by_key(|(span, _)| span.start);
            let (mut applied, mut at) = (String::new(), 0);
            for (span, text) in &known {
                applied += &SOURCE[at..span.start];
                applied += text;
                at = span.end;
            }
            applied += &SOURCE[at..];
            assert_eq!(edits.applied(SOURCE), applied, "{known:?}");
        }
    }

    #[test]
    fn what_is_only_added_stands_before_what_begins_there() {
        let mut edits = Edits::default();
        edits.put(2..4, "x");
        edits.add(2..2, "(");
        edits.add(4..4, ")");
        assert_eq!(edits.applied(SOURCE), "01(x)456789");
        assert!(edits.cover(&(2..4)) && !edits.cover(&(4..5)));
    }
}
