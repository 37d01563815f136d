//! The way from a graph to its module, step by step: the crate's functions.

use crate::artifact::Artifact;
use crate::checked::Checked;
use crate::definitions::Definitions;
use crate::diagnostic::Diagnostic;
use crate::explain::Explained;
use crate::findings::Findings;
use crate::graph::Graph;
use crate::lowered::Lowered;
use crate::options::Options;
use crate::{emit, extent, graph, lower};
use serde_json::Value;
use std::collections::BTreeSet;

/// What compiling gave: an artifact if no diagnostic is an error.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// The module.
    pub artifact: Option<Artifact>,
    /// Errors and warnings, in graph order.
    pub diagnostics: Vec<Diagnostic>,
}

/// Compiles a graph with its nodeDefinitions. Mistakes are diagnostics: the artifact is there if none is an error.
pub fn compile(graph: &Value, definitions: &Value, options: &Options) -> Compiled {
    let (lowered, diagnostics) = analyse(graph, definitions, options);
    Compiled {
        artifact: lowered.map(emit::emit),
        diagnostics,
    }
}

/// Finds all that [`compile`] would, without emitting a module.
pub fn check(graph: &Value, definitions: &Value, options: &Options) -> Vec<Diagnostic> {
    analyse(graph, definitions, options).1
}

/// The way that each expression goes, in graph order, and all that [`check`] finds. Expressions with an error are
/// left out.
pub fn explain(graph: &Value, definitions: &Value, options: &Options) -> (Vec<Explained>, Vec<Diagnostic>) {
    let (explained, found) = checked(graph, definitions, options, |checked, definitions, _| {
        crate::explain::explain(checked, definitions)
    });
    (explained.unwrap_or_default(), found)
}

/// The graph ready to be emitted, if no diagnostic is an error.
pub fn analyse(graph: &Value, definitions: &Value, options: &Options) -> (Option<Lowered>, Vec<Diagnostic>) {
    let (lowered, found) = checked(
        graph,
        definitions,
        options,
        |checked, _, has_errors| match has_errors {
            true => None,
            false => lower::lower(checked, options).map(|mut lowered| {
                lowered.manifest.variables = Some(named_variables(checked));
                lowered
            }),
        },
    );
    (lowered.flatten(), found)
}

/// The variables that expressions read by name.
fn named_variables(checked: &Checked<'_>) -> Vec<String> {
    let mut names = BTreeSet::new();
    crate::explain::sources(checked, &mut |source| {
        names.extend(crate::expression::variables(source));
    });
    names.into_iter().collect()
}

/// What `use_it` makes of the checked graph, given whether there are errors; nothing when it can't be read.
fn checked<T>(
    graph: &Value,
    definitions: &Value,
    options: &Options,
    use_it: impl FnOnce(&Checked<'_>, &Definitions, bool) -> T,
) -> (Option<T>, Vec<Diagnostic>) {
    let mut found = Findings::default();
    extent::check(graph, definitions, options.limits, &mut found);
    if !found.is_empty() {
        return (None, found.finish());
    }
    if !graph.is_object() {
        let message = format!(
            "a graph is an object with nodes and edges, not {}",
            graph::described(graph)
        );
        return (None, vec![Diagnostic::error("malformed", message)]);
    }
    let graph = Graph::read(graph, &mut found);
    let definitions = Definitions::read(definitions, &mut found);
    let checked = crate::check::check(&graph, &definitions, options, &mut found);
    found.sort(graph.nodes.iter().map(|node| node.id.as_str()));
    let used = use_it(&checked, &definitions, found.has_errors());
    (Some(used), found.finish())
}
