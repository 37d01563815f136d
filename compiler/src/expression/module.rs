//! The module of a JavaScript node: all of it as an expression, or what it computes first. It is read once for both.

use super::part::{Part, part};
use super::scan::too_deep_at;
use super::tree::{program, with_stack};
use super::{Expression, Reason};
use oxc_allocator::Allocator;

/// Levels of brackets and the like.
const NESTING_MAX: usize = 50;

/// The function of a JavaScript node's module, if all of it can be compiled; else why not, in the order of the source, and what it
/// computes first, if that can. There is no reason if the module is not valid.
pub(crate) fn code(source: &str) -> Result<Expression, (Vec<Reason>, Option<Part>)> {
    // The engine's own stack ends where this is not far off.
    if let Some(at) = too_deep_at(source, NESTING_MAX) {
        let at = source.floor_char_boundary(at);
        let reason = Reason {
            what: format!("code that nests more than {NESTING_MAX} levels"),
            span: at..source.ceil_char_boundary(at + 1),
        };
        return Err((vec![reason], None));
    }
    with_stack(source, || {
        let allocator = Allocator::default();
        let program = program(source, &allocator).ok_or_else(|| (Vec::new(), None))?;
        super::code::code(source, program).map_err(|reasons| (reasons, part(source, program)))
    })
}
