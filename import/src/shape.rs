//! Where several items travel: what follows from the nodes' kinds before anything is drawn.

use crate::cycles::Fate;
use crate::kinds::{is_trigger, makes_one_file};
use crate::loops::fates;
use crate::operations;
use crate::readers::Readers;
use crate::workflow::{Edge, Node, Workflow};
use std::collections::{BTreeSet, HashMap};

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

/// For each node, whether several items may arrive. Each edge is looked at once.
fn of_many(workflow: &Workflow, is_known: fn(&str) -> bool) -> Vec<bool> {
    let mut entering = vec![0_usize; workflow.nodes.len()];
    // Where as many go on as come.
    let mut handed: Vec<Vec<usize>> = vec![Vec::new(); workflow.nodes.len()];
    let mut open = Vec::new();
    for edge in workflow.edges.iter().filter(|edge| edge.is_main) {
        if let Some(count) = entering.get_mut(edge.target) {
            *count += 1;
        }
        match gives(workflow, edge, is_known) {
            Gives::One => {}
            Gives::AsMany => {
                if let Some(handed) = handed.get_mut(edge.source) {
                    handed.push(edge.target);
                }
            }
            Gives::Several => open.push(edge.target),
        }
    }
    // Several edges bring their items together.
    let nodes = workflow.nodes.iter().zip(&entering).enumerate();
    let joined = nodes.filter(|(_, (node, count))| node.kind != "splitInBatches" && **count > 1);
    open.extend(joined.map(|(place, _)| place));
    let mut many = vec![false; workflow.nodes.len()];
    while let Some(place) = open.pop() {
        if let Some(known) = many.get_mut(place).filter(|known| !**known) {
            *known = true;
            open.extend(handed.get(place).into_iter().flatten());
        }
    }
    many
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
    /// For each node, where the main edges of its outputs lead, but for the first output.
    others: Vec<Vec<usize>>,
    /// For each node, whether an edge of it may bring several items, whatever it gets.
    several: Vec<bool>,
    /// For each node, whether it may lose track of which item came of which, as far as that can't be known before it executes.
    loses: Vec<bool>,
}

impl Flow {
    pub fn new(workflow: &Workflow, is_known: fn(&str) -> bool) -> Flow {
        let next = workflow.following();
        let reached = (0..workflow.nodes.len())
            .map(|start| reached_from(&next, start))
            .collect();
        let edges = workflow.edges.iter().zip(fates(workflow));
        // Many edges may lead back to the same one.
        let heads: BTreeSet<usize> = edges
            .filter(|(_, fate)| *fate == Fate::Again)
            .map(|(edge, _)| edge.target)
            .collect();
        let mut several = vec![false; workflow.nodes.len()];
        let mut others = vec![Vec::new(); workflow.nodes.len()];
        for edge in workflow.edges.iter().filter(|edge| edge.is_main) {
            if let Some(others) = others.get_mut(edge.source).filter(|_| edge.output > 0) {
                others.push(edge.target);
            }
            if let Some(several) = several.get_mut(edge.source).filter(|several| !**several) {
                *several = gives(workflow, edge, is_known) == Gives::Several;
            }
        }
        let nodes = workflow.nodes.iter();
        Flow {
            many: of_many(workflow, is_known),
            reached,
            places: (0..)
                .zip(&workflow.nodes)
                .map(|(place, node)| (node.name.clone(), place))
                .collect(),
            readers: Readers::of(workflow),
            heads: heads.into_iter().collect(),
            others,
            several,
            loses: nodes.map(|node| loses_pairing(node, is_known)).collect(),
        }
    }

    /// The place of the node with a name.
    pub fn place_of(&self, name: &str) -> Option<usize> {
        self.places.get(name).copied()
    }

    /// Whether several items may leave a node by one of its edges, whatever it gets.
    pub fn gives_several(&self, place: usize) -> bool {
        self.several.get(place) == Some(&true)
    }

    /// Whether a node loses which item came of which, as far as that is not seen before it executes.
    pub fn loses_pairing(&self, place: usize) -> bool {
        self.loses.get(place) == Some(&true)
    }

    /// Whether the way from one node to another enters a circle that a Loop repeats: which item came of which is not known there.
    pub fn enters_circle(&self, from: usize, to: usize) -> bool {
        self.heads.iter().any(|head| {
            let is_within = from == *head || self.leads(*head, from);
            !is_within && self.leads(from, *head) && (to == *head || self.leads(*head, to))
        })
    }

    /// Whether a way leads from one node to another by an output but the first.
    pub fn leads_by_others(&self, from: usize, to: usize) -> bool {
        let mut targets = self.others.get(from).into_iter().flatten();
        targets.any(|target| *target == to || self.leads(*target, to))
    }

    /// Whether a way leads from one node to another.
    pub fn leads(&self, from: usize, to: usize) -> bool {
        self.reached.get(from).and_then(|reached| reached.get(to)) == Some(&true)
    }
}

fn loses_pairing(node: &Node, is_known: fn(&str) -> bool) -> bool {
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
    ) || !(is_known(kind) || operations::find(node).is_some_and(|known| !known.is_list))
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
