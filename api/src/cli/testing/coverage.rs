//! Which nodes of patterns tests have come to, and which of the ports that lead on their outputs have left by.

use super::running::{Ended, Job, Step, Subject};
use heddle_compiler::Options;
use heddle_contract::manifest::Node;
use heddle_remote::server::plain;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What of a pattern was executed by its tests.
pub struct Coverage {
    pattern: String,
    nodes: usize,
    ports: usize,
    /// Nodes that no test has come to, as people know them.
    missed_nodes: Vec<(String, Option<String>)>,
    /// Node and port.
    missed_ports: Vec<(String, String)>,
}

impl Coverage {
    /// The coverage of all patterns. Those that don't compile have none.
    pub fn of_all(subjects: &[Subject], jobs: &[Job], ended: &[Ended]) -> Vec<Coverage> {
        let of = |(place, subject): (usize, &Subject)| {
            let own = jobs.iter().zip(ended).filter(|(job, _)| job.subject == place);
            let steps: Vec<&Step> = own.flat_map(|(_, ended)| &ended.steps).collect();
            Coverage::of(subject, &steps)
        };
        subjects.iter().enumerate().filter_map(of).collect()
    }

    fn of(subject: &Subject, steps: &[&Step]) -> Option<Coverage> {
        let compiled = heddle_compiler::compile(&subject.graph, &subject.definitions, &Options::default());
        // Parts of a node that nobody has drawn are not counted.
        let is_drawn = |node: &Node| !node.id.contains("/$");
        let nodes = compiled.artifact?.manifest.nodes.into_iter();
        let nodes: Vec<Node> = nodes.filter(is_drawn).collect();
        let reached: BTreeSet<&str> = steps.iter().map(|step| step.node_id.as_str()).collect();
        let missed = nodes.iter().filter(|node| !reached.contains(node.id.as_str()));
        let missed_nodes: Vec<_> = missed.map(|node| (node.id.clone(), node.label.clone())).collect();
        let mut ports = BTreeSet::new();
        let mut missed_ports = BTreeSet::new();
        for edge in subject.graph["edges"].as_array().into_iter().flatten() {
            let source = edge["source"].as_str().unwrap_or_default();
            let Some(node) = nodes.iter().find(|node| node.id == source) else {
                continue;
            };
            let first = node.outputs.first().map(String::as_str);
            let Some(port) = edge["sourceHandle"].as_str().or(first) else {
                continue;
            };
            let key = (source.to_owned(), port.to_owned());
            // A loop's own output is the one at its end; that it has gone round is seen at what it leads to.
            let has_gone_round = |step: &Step| {
                edge["target"] == step.node_id.as_str()
                    && step
                        .path
                        .split('.')
                        .any(|part| part.split('[').next() == Some(source))
            };
            let has_left = steps
                .iter()
                .any(|step| step.node_id == source && step.port.as_deref() == Some(port));
            if !has_left && !steps.iter().any(|step| has_gone_round(step)) {
                missed_ports.insert(key.clone());
            }
            ports.insert(key);
        }
        Some(Coverage {
            pattern: subject.name.clone(),
            nodes: nodes.len(),
            ports: ports.len(),
            missed_nodes,
            missed_ports: missed_ports.into_iter().collect(),
        })
    }

    /// For people.
    pub fn summary(&self) -> String {
        let mut text = format!(
            "{}: {} of {} nodes, {} of {} ports\n",
            self.pattern,
            self.nodes - self.missed_nodes.len(),
            self.nodes,
            self.ports - self.missed_ports.len(),
            self.ports
        );
        for (id, label) in &self.missed_nodes {
            let label = label.as_ref().map(|label| format!(" (“{}”)", plain(label)));
            text.push_str(&format!(
                "  not reached: node {}{}\n",
                plain(id),
                label.unwrap_or_default()
            ));
        }
        for (node, port) in &self.missed_ports {
            text.push_str(&format!(
                "  not taken: port {} of node {}\n",
                plain(port),
                plain(node)
            ));
        }
        text
    }

    /// For programs.
    pub fn machine(&self) -> Value {
        let ports = self.missed_ports.iter();
        let ports = ports.map(|(node, port)| json!({"nodeId": node, "port": port}));
        json!({
            "pattern": self.pattern,
            "nodes": self.nodes,
            "ports": self.ports,
            "nodesNotReached": self.missed_nodes.iter().map(|(id, _)| id).collect::<Vec<_>>(),
            "portsNotTaken": ports.collect::<Vec<_>>(),
        })
    }
}
