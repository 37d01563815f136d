//! Where several items travel: what follows from the nodes' kinds before anything is drawn.

use crate::cycles::Fate;
use crate::kinds::{is_trigger, makes_one_file};
use crate::loops::fates;
use crate::operations;
use crate::readers::Readers;
use crate::workflow::{Edge, Node, Workflow};
use std::collections::HashMap;

/// What a node gives, compared with what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Gives {
    /// One item.
    One,
    /// As many as it gets.
    AsMany,
    /// Possibly several.
    Several,
}

/// What a node's output gives.
fn gives(workflow: &Workflow, edge: &Edge, is_known: fn(&str) -> bool) -> Gives {
    let Some(node) = workflow.nodes.get(edge.source) else {
        return Gives::Several;
    };
    match node.kind.as_str() {
        "aggregate" | "form" => Gives::One,
        "splitInBatches" => {
            match crate::loops::is_body(node, edge.output) && crate::loops::batch(node) == 1 {
                true => Gives::One,
                false => Gives::Several,
            }
        }
        "itemLists" if node.text(&["operation"]) == "concatenateItems" => Gives::One,
        "convertToFile" | "spreadsheetFile" if makes_one_file(node) => Gives::One,
        "merge"
        | "extractFromFile"
        | "spreadsheetFile"
        | "code"
        | "function"
        | "splitOut"
        | "itemLists"
        | "httpRequest"
        | "sort"
        | "limit"
        | "removeDuplicates"
        | "summarize"
        | "compareDatasets"
        | "executeWorkflow"
        | "postgres"
        | "mySql"
        | "rssFeedRead"
        | "executeWorkflowTrigger" => Gives::Several,
        kind if is_trigger(kind) => Gives::One,
        _ if operations::find(node).is_some_and(|known| !known.is_list) => Gives::AsMany,
        kind if is_known(kind) => Gives::AsMany,
        _ => Gives::Several,
    }
}

/// For each node, whether several items may arrive.
fn of_many(workflow: &Workflow, is_known: fn(&str) -> bool) -> Vec<bool> {
    let mut many = vec![false; workflow.nodes.len()];
    for (place, node) in workflow.nodes.iter().enumerate() {
        let main = workflow
            .edges
            .iter()
            .filter(|edge| edge.is_main && edge.target == place);
        // Several edges bring their items together.
        many[place] = node.kind != "splitInBatches" && main.count() > 1;
    }
    loop {
        let mut changed = false;
        for edge in workflow.edges.iter().filter(|edge| edge.is_main) {
            let arrives = match gives(workflow, edge, is_known) {
                Gives::One => false,
                Gives::AsMany => many.get(edge.source) == Some(&true),
                Gives::Several => true,
            };
            if let Some(known) = many.get_mut(edge.target).filter(|known| arrives && !**known) {
                *known = true;
                changed = true;
            }
        }
        if !changed {
            return many;
        }
    }
}

/// What follows from the edges: computed once, since every node asks.
pub(crate) struct Flow {
    /// Whether several items may arrive at a node.
    pub many: Vec<bool>,
    /// For each node, which nodes can be reached from it along main edges.
    reached: Vec<Vec<bool>>,
    /// Nodes before which a Loop begins, since edges lead back to them.
    heads: Vec<usize>,
    /// The place of each node by its name.
    places: HashMap<String, usize>,
    /// What nodes read of those before them.
    pub readers: Readers,
    /// Whether a kind of nodes is translated.
    is_known: fn(&str) -> bool,
}

impl Flow {
    pub fn new(workflow: &Workflow, is_known: fn(&str) -> bool) -> Flow {
        let next = workflow.following();
        let reached = (0..workflow.nodes.len())
            .map(|start| reached_from(&next, start))
            .collect();
        let edges = workflow.edges.iter().zip(fates(workflow));
        Flow {
            many: of_many(workflow, is_known),
            is_known,
            reached,
            places: (0..)
                .zip(&workflow.nodes)
                .map(|(place, node)| (node.name.clone(), place))
                .collect(),
            readers: Readers::of(workflow),
            heads: edges
                .filter(|(_, fate)| *fate == Fate::Again)
                .map(|(edge, _)| edge.target)
                .collect(),
        }
    }

    /// The place of the node with a name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Whether an edge may bring several items, whatever its node gets.
    pub fn brings_several(&self, workflow: &Workflow, edge: &Edge) -> bool {
        gives(workflow, edge, self.is_known) == Gives::Several
    }

    /// Whether a node loses which item came of which, as far as that is not seen before it executes.
    pub fn loses_pairing(&self, node: &Node) -> bool {
        let kind = node.kind.as_str();
        match kind {
            "merge" => return !keeps_pairs(node),
            "convertToFile" | "spreadsheetFile" => return makes_one_file(node),
            "itemLists" => return node.choice(&["operation"], "splitOutItems") != "splitOutItems",
            "executeWorkflow" => return node.choice(&["mode"], "once") != "each",
            _ => {}
        }
        matches!(
            kind,
            "code" | "function" | "aggregate" | "summarize" | "compareDatasets"
        ) || !((self.is_known)(kind) || operations::find(node).is_some_and(|known| !known.is_list))
    }

    /// Whether the way from one node to another enters a circle that a Loop repeats: which item came of which is not known there.
    pub fn enters_circle(&self, from: usize, to: usize) -> bool {
        self.heads.iter().any(|head| {
            let is_within = from == *head || self.leads(*head, from);
            !is_within && self.leads(from, *head) && (to == *head || self.leads(*head, to))
        })
    }

    /// Whether a way leads from one node to another.
    pub fn leads(&self, from: usize, to: usize) -> bool {
        self.reached.get(from).and_then(|reached| reached.get(to)) == Some(&true)
    }
}

/// Whether a Merge knows which item came of which: what becomes one of heddle's modes.
fn keeps_pairs(node: &Node) -> bool {
    let by = node.choice(
        &["combineBy"],
        node.choice(&["combinationMode"], "combineByFields"),
    );
    match node.choice(&["mode"], "append") {
        "append" | "mergeByIndex" => true,
        "combine" => match by {
            "combineByPosition" | "mergeByPosition" => true,
            "combineByFields" | "mergeByFields" => node.choice(&["joinMode"], "keepMatches") == "keepMatches",
            _ => false,
        },
        _ => false,
    }
}

fn reached_from(next: &[Vec<usize>], start: usize) -> Vec<bool> {
    let mut reached = vec![false; next.len()];
    let mut open = vec![start];
    while let Some(node) = open.pop() {
        for target in next.get(node).into_iter().flatten() {
            if let Some(known) = reached.get_mut(*target).filter(|known| !**known) {
                *known = true;
                open.push(*target);
            }
        }
    }
    reached
}
