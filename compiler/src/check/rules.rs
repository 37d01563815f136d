//! The rules of one level: its flow, and the parameters of its nodes.

use super::level::{Kind, Level};
use super::names::{NodeNames, labels};
use super::parameters::Parameters;
use super::{chat, flow, form, mailbox, poll, single, webhook};
use crate::definitions::{Definition, DefinitionKind, Definitions};
use crate::diagnostic::{Diagnostic, Severity};
use crate::findings::Findings;
use crate::graph::Graph;
use crate::lowered::Argument;
use crate::options::Options;
use heddle_catalogue::{Role, Start, WAIT_FOR_CALLBACK};
use heddle_contract::plan::OnError;

/// Checks a graph on one level: the main one, or that within a definition (`inner`); `items`: whether lists of items travel in it.
pub(super) fn check_level<'a>(
    graph: &'a Graph,
    definitions: &'a Definitions,
    (inner, items): (bool, bool),
    options: &Options,
    found: &mut Findings,
) -> Level<'a> {
    let mut level = Level::resolve(graph, definitions, (inner, items), found);
    level.find_flow(found);
    flow::check(&level, found);
    level.arguments = arguments(&level, options, found);
    level
}

/// The parameters of all nodes.
fn arguments(level: &Level<'_>, options: &Options, found: &mut Findings) -> Vec<Vec<(String, Argument)>> {
    let inner = level.inner;
    let labels = labels(level);
    let has_error = after_errors(level);
    let mut all = Vec::new();
    for (node, spot) in level.nodes.iter().enumerate() {
        let given = &spot.node.parameters;
        let mut arguments = Vec::new();
        let names = NodeNames {
            level,
            labels: &labels,
            node,
            per_item: false,
            per_pair: false,
            has_error: has_error[node],
            suggests: None,
        };
        let mut parameters = Parameters {
            names: Some(names),
            options,
            found,
        };
        match spot.kind {
            Kind::Standard(node_type) => {
                arguments = parameters.fields(given, node_type.parameters, "", 0);
                single::check(spot, found);
                if node_type.name == WAIT_FOR_CALLBACK.name {
                    form::check_step(spot, found);
                }
                match spot.role() {
                    _ if inner => {}
                    Role::Trigger(Start::Webhook) => webhook::check(spot, &spot.settings(), found),
                    Role::Trigger(Start::Form) => form::check(spot, found),
                    Role::Trigger(Start::Chat) => chat::check(spot, found),
                    Role::Trigger(Start::Poll) => poll::check(spot, &spot.settings(), found),
                    Role::Trigger(Start::Mailbox) => mailbox::check(spot, found),
                    _ => {}
                }
            }
            Kind::Defined(definition, _) if takes_parameters(definition) => {
                arguments = parameters.open(given);
            }
            // What its definition is given is not known.
            Kind::Defined(
                Definition {
                    kind: DefinitionKind::Refused,
                    ..
                },
                _,
            ) => {}
            Kind::Defined(definition, _) => {
                let similar = found.similar();
                for name in given.keys() {
                    found.report(Severity::Warning, || {
                        let ports = definition.inputs.iter().map(|port| port.name.as_str());
                        let message = format!(
                            "`{}` takes its values through edges, not parameters",
                            definition.name
                        );
                        let help = similar
                            .did_you_mean(name, ports)
                            .map(|_| format!("connect an edge to the input `{name}`"));
                        let diagnostic = Diagnostic::warning("unknown-parameter", message).with_help(help);
                        diagnostic.at_node(&spot.node.id).at_parameter(name)
                    });
                }
            }
            Kind::Unknown => {}
        }
        all.push(arguments);
    }
    all
}

/// Whether the definition's code is given the parameters of its nodes.
fn takes_parameters(definition: &Definition) -> bool {
    matches!(
        definition.kind,
        DefinitionKind::JavaScript(_) | DefinitionKind::Component(_)
    )
}

/// For each node, whether one before it may have emitted an error.
fn after_errors(level: &Level<'_>) -> Vec<bool> {
    let Some(flow) = &level.flow else {
        return vec![true; level.nodes.len()];
    };
    let mut after = vec![false; level.nodes.len()];
    for &node in &flow.reach.order {
        let emits = after[node] || level.nodes[node].node.on_error != OnError::Fail;
        for wire in level.outgoing[node]
            .iter()
            .filter(|wire| emits && !level.is_return(**wire))
        {
            after[level.wires[*wire].target] = true;
        }
    }
    after
}
