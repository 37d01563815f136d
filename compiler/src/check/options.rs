//! Checks that pins and breakpoints name existing nodes and ports.

use super::level::Level;
use crate::checked::{Checked, Inside};
use crate::diagnostic::{Diagnostic, Severity, Similar, list};
use crate::findings::Findings;
use crate::graph::described;
use crate::options::{Options, Pin};
use serde_json::Value;

/// Checks the options that name nodes.
pub(super) fn check(checked: &Checked<'_>, options: &Options, found: &mut Findings) {
    let similar = &found.similar();
    for id in options
        .breakpoints
        .iter()
        .filter(|id| ports(checked, id).is_none())
    {
        found.report(Severity::Error, || unknown(checked, id, "breakpoint", similar));
    }
    for (id, value) in &options.pinned_nodes {
        match ports(checked, id) {
            None => found.report(Severity::Error, || unknown(checked, id, "pin", similar)),
            Some(ports) => found.extend(port_problem(id, value, &ports, similar)),
        }
    }
}

fn unknown(checked: &Checked<'_>, id: &str, what: &str, similar: &Similar) -> Diagnostic {
    let help = similar.did_you_mean(id, checked.main.ids());
    let message = format!("there is no node `{id}` for this {what}");
    Diagnostic::error("unknown-node", message)
        .at_node(id)
        .with_help(help)
}

fn port_problem(id: &str, value: &Value, ports: &[&str], similar: &Similar) -> Option<Diagnostic> {
    let Pin { port: Some(port), .. } = Pin::read(value) else {
        return None;
    };
    let known = || ports.iter().copied();
    let (message, help) = match port.as_str() {
        Some(port) if known().any(|known| known == port) => return None,
        Some(port) => (
            format!(
                "the pin's port `{port}` is not an output that can be pinned; those are {}",
                list(known())
            ),
            similar.did_you_mean(port, known()),
        ),
        None => (
            format!("the pin's port must be a name, not {}", described(port)),
            None,
        ),
    };
    Some(
        Diagnostic::error("unknown-port", message)
            .at_node(id)
            .with_help(help),
    )
}

/// The output ports of the node with an id such as `outer/inner` that can be pinned.
fn ports<'c>(checked: &'c Checked<'_>, id: &str) -> Option<Vec<&'c str>> {
    let mut level: &Level<'_> = &checked.main;
    let mut rest = id;
    while let Some((outer, inner)) = rest.split_once('/') {
        let index = level.nodes[*level.by_id.get(outer)?].composite()?;
        let Inside::Composite(within) = &checked.definitions[index] else {
            return None;
        };
        (level, rest) = (within, inner);
    }
    let node = *level.by_id.get(rest)?;
    let names = level.nodes[node].outputs.iter().enumerate();
    let names = names.filter(|(port, _)| level.bodies[node].is_none_or(|ports| ports.item != *port));
    Some(names.map(|(_, port)| port.name).collect())
}
