//! Finds edges that can't be live in the same run, by a data-flow analysis of guards.
//!
//! A guard is the output port that was taken at a node that chooses one (If, Switch, one of several triggers, an error
//! port). A node's guards are those common to all its incoming edges; two edges exclude each other when their guards
//! name different ports of one node.

use super::level::{Level, Spot};
use heddle_catalogue::Role;
use serde_json::Value;
use std::collections::HashMap;

/// (node, choice): by which of its ways a value left. Sorted by node.
type Guards = Vec<(usize, usize)>;

/// The pretended node that chooses the trigger.
const START: usize = usize::MAX;

/// For each wire, what must have been chosen for it to be live; empty while there are cycles.
pub(crate) fn of_wires(level: &Level<'_>) -> (Vec<Guards>, Vec<Guards>) {
    let mut wires = vec![Guards::new(); level.wires.len()];
    let mut nodes = vec![Guards::new(); level.nodes.len()];
    let Some(flow) = &level.flow else {
        return (nodes, wires);
    };
    for &node in &flow.reach.order {
        let mut incoming = level.incoming[node]
            .iter()
            .filter(|wire| !level.is_return(**wire));
        let mut guards = incoming
            .next()
            .map(|wire| wires[*wire].clone())
            .unwrap_or_default();
        for wire in incoming {
            guards.retain(|guard| wires[*wire].binary_search(guard).is_ok());
        }
        if level.nodes[node].is_trigger() {
            guards.push((START, node));
        }
        for &wire in &level.outgoing[node] {
            wires[wire].clone_from(&guards);
            if let Some(choice) = choice(&level.nodes[node], level.wires[wire].source_port) {
                let at = wires[wire].partition_point(|(other, _)| *other < node);
                wires[wire].insert(at, (node, choice));
            }
        }
        nodes[node] = guards;
    }
    (nodes, wires)
}

/// By which way a value leaves, for nodes of which only one is taken.
fn choice(spot: &Spot<'_>, port: usize) -> Option<usize> {
    if spot.each {
        return None;
    }
    let one_of_all = match spot.role() {
        Role::Choose { unless: None } => true,
        Role::Choose {
            unless: Some(parameter),
        } => matches!(
            spot.node.parameters.get(parameter),
            None | Some(Value::Null | Value::Bool(false))
        ),
        _ => false,
    };
    match spot.error_port() {
        // With `always` something leaves by the first port as well.
        _ if one_of_all && !spot.node.always => Some(port),
        Some(error_port) => Some(usize::from(port == error_port)),
        None => None,
    }
}

/// Comparisons that are made for one graph.
const STEPS_MAX: usize = 5_000_000;

/// How much may yet be compared.
pub(crate) struct Steps(usize);

impl Default for Steps {
    fn default() -> Self {
        Steps(STEPS_MAX)
    }
}

/// Whether at most one of these can be. Splits them by a choice common to all, then each part again. Once the steps
/// are used up it is taken for granted: what depends on it are warnings.
pub(crate) fn exclusive(parts: &[&Guards], steps: &mut Steps) -> bool {
    if parts.len() < 2 {
        return true;
    }
    for &(node, first) in parts[0] {
        steps.0 = steps.0.saturating_sub(parts.len());
        if steps.0 == 0 {
            return true;
        }
        let choices: Option<Vec<usize>> = parts
            .iter()
            .map(|guards| {
                let place = guards.binary_search_by_key(&node, |(other, _)| *other).ok()?;
                Some(guards[place].1)
            })
            .collect();
        let Some(choices) = choices else { continue };
        if choices.iter().all(|choice| *choice == first) {
            continue;
        }
        let mut groups: HashMap<usize, Vec<&Guards>> = HashMap::new();
        for (choice, guards) in choices.into_iter().zip(parts) {
            groups.entry(choice).or_default().push(guards);
        }
        return groups.values().all(|group| exclusive(group, steps));
    }
    false
}
