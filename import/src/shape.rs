//! Where several items travel: what follows from the nodes' kinds before anything is drawn.

use crate::workflow::{Edge, Workflow};

/// What a node gives, compared with what it gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Gives {
    /// One item.
    One,
    /// As many as it gets.
    AsMany,
    /// Possibly several.
    Several,
}

/// What a node's output gives.
pub(crate) fn gives(workflow: &Workflow, edge: &Edge) -> Gives {
    let Some(node) = workflow.nodes.get(edge.source) else {
        return Gives::Several;
    };
    match node.kind.as_str() {
        "aggregate" => Gives::One,
        "splitInBatches" => {
            match crate::loops::is_body(node, edge.output) && crate::loops::batch(node) == 1 {
                true => Gives::One,
                false => Gives::Several,
            }
        }
        "itemLists" if node.text(&["operation"]) == "concatenateItems" => Gives::One,
        "merge"
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
        kind if crate::table::is_trigger(kind) => Gives::One,
        kind if crate::table::is_known(kind) => Gives::AsMany,
        _ => Gives::Several,
    }
}

/// For each node, whether several items may arrive.
fn of_many(workflow: &Workflow) -> Vec<bool> {
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
            let arrives = match gives(workflow, edge) {
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

/// Whether the kind loses which item came of which.
pub(crate) fn loses_pairing(kind: &str) -> bool {
    matches!(
        kind,
        "merge"
            | "code"
            | "function"
            | "splitOut"
            | "itemLists"
            | "sort"
            | "limit"
            | "removeDuplicates"
            | "aggregate"
            | "summarize"
            | "compareDatasets"
            | "splitInBatches"
    ) || !crate::table::is_known(kind)
}

/// What follows from the edges: computed once, since every node asks.
pub(crate) struct Flow {
    /// Whether several items may arrive at a node.
    pub many: Vec<bool>,
    /// For each node, which nodes can be reached from it along main edges.
    reached: Vec<Vec<bool>>,
}

impl Flow {
    pub fn new(workflow: &Workflow) -> Flow {
        let next = following(workflow);
        let reached = (0..workflow.nodes.len())
            .map(|start| reached_from(&next, start))
            .collect();
        Flow {
            many: of_many(workflow),
            reached,
        }
    }

    /// Whether a way leads from one node to another.
    pub fn leads(&self, from: usize, to: usize) -> bool {
        self.reached.get(from).and_then(|reached| reached.get(to)) == Some(&true)
    }
}

/// For each node, those that its main edges lead to.
pub(crate) fn following(workflow: &Workflow) -> Vec<Vec<usize>> {
    let mut next = vec![Vec::new(); workflow.nodes.len()];
    for edge in workflow.edges.iter().filter(|edge| edge.is_main) {
        if let Some(list) = next.get_mut(edge.source) {
            list.push(edge.target);
        }
    }
    next
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
