//! A checked pattern: the result of `check`, and the input of the later stages.

use crate::check::level::Level;
use crate::definitions::Component;
use crate::lowered::Argument;

/// A pattern whose rules have been checked.
#[derive(Clone, Debug)]
pub(crate) struct Checked<'a> {
    /// The graph itself.
    pub main: Level<'a>,
    /// The insides of the definitions, in their order.
    pub definitions: Vec<Inside<'a>>,
}

/// What is inside a definition.
#[derive(Clone, Debug)]
pub(crate) enum Inside<'a> {
    /// The values of its output ports.
    Outputs(Vec<(u32, Argument)>),
    /// Parameters of the node JavaScript.
    JavaScript(Vec<(String, Argument)>),
    /// Parameters of the node Component but for its number, and the component.
    Component(Vec<(String, Argument)>, &'a Component),
    /// Its inner graph.
    Composite(Box<Level<'a>>),
    /// Nothing that can be compiled; said already.
    Refused,
}

impl Inside<'_> {
    /// About how many bytes of parameters and code each node of it has. A composite's nodes have their own.
    pub(crate) fn bytes(&self) -> usize {
        let sum = |bytes: usize, more: usize| bytes.saturating_add(more);
        match self {
            Inside::Outputs(outputs) => outputs.iter().map(|(_, value)| value.bytes()).fold(0, sum),
            Inside::JavaScript(given) | Inside::Component(given, _) => {
                given.iter().map(|(_, value)| value.bytes()).fold(0, sum)
            }
            Inside::Composite(_) | Inside::Refused => 0,
        }
    }
}
