//! The state while an expression is lowered. The lowering itself is in `lower`, `call`, `code`, `items`, `lambda`,
//! `mutation` and `part`.

use super::mutation::Change;
use super::{Names, Problem, Reason};
use heddle_values::methods::CALLBACK_ARGUMENTS_MAX;

/// Problems of one expression, after which nothing more of it is looked at.
pub(super) const PROBLEMS_MAX: usize = 100;

/// Stack that one level needs at most, and how much more is taken when less is left.
pub(super) const STACK_LEFT_BYTES: usize = 64 * 1024;
pub(super) const STACK_GROWTH_BYTES: usize = 1024 * 1024;

/// Collects problems and reasons on the way; where there is one, the tree holds `undefined`.
pub(super) struct Lowering<'n> {
    pub(super) names: &'n dyn Names,
    /// Whether it is a JavaScript node's code, which has JavaScript's names only.
    pub(super) is_code: bool,
    /// Whether the engine executes what follows it in the code.
    pub(super) is_part: bool,
    pub(super) height: usize,
    /// Functions around, the innermost last.
    pub(super) scopes: Vec<Scope>,
    /// Values that methods change, in JavaScript.
    pub(super) changes: Vec<Change>,
    /// What is not compiled. Names in it are not looked at.
    pub(super) reasons: Vec<Reason>,
    pub(super) problems: Vec<Problem>,
}

impl<'n> Lowering<'n> {
    pub(super) fn new(names: &'n dyn Names) -> Self {
        Lowering {
            names,
            is_code: false,
            is_part: false,
            height: 0,
            scopes: Vec::new(),
            changes: Vec::new(),
            reasons: Vec::new(),
            problems: Vec::new(),
        }
    }
}

/// A function around the expression being lowered.
#[derive(Default)]
pub(super) struct Scope {
    /// Names in it, later ones hiding earlier ones, and the index of their parameter.
    pub(super) names: Vec<(String, u32)>,
    /// Names that were declared with a value of their own.
    pub(super) declared: u32,
    /// Parameters that are items of a node.
    pub(super) items: Vec<u32>,
}

impl Scope {
    pub(super) fn is_item(&self, parameter: u32) -> bool {
        self.items.contains(&parameter)
    }

    pub(super) fn declare(&mut self, name: &str) -> u32 {
        let index = CALLBACK_ARGUMENTS_MAX as u32 + self.declared;
        self.declared += 1;
        self.names.push((name.to_owned(), index));
        index
    }
}
