//! Figures of a collection of workflows, which is not part of the sources: the folder that `HEDDLE_N8N_WORKFLOWS` names.
//! `HEDDLE_N8N_WORKFLOWS=… cargo test --test import -- measured --nocapture` prints them.

use heddle_compiler::{Options, explain};
use heddle_import::{Calls, Imported, Level, Workflow, find, import};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// Types with which a workflow counts as one of n8n's core alone.
const CORE: &[&str] = &[
    "manualTrigger",
    "start",
    "webhook",
    "scheduleTrigger",
    "cron",
    "interval",
    "executeWorkflowTrigger",
    "errorTrigger",
    "if",
    "filter",
    "switch",
    "merge",
    "splitInBatches",
    "wait",
    "noOp",
    "stopAndError",
    "executeWorkflow",
    "respondToWebhook",
    "set",
    "renameKeys",
    "dateTime",
    "crypto",
    "sort",
    "limit",
    "removeDuplicates",
    "splitOut",
    "aggregate",
    "summarize",
    "itemLists",
    "compareDatasets",
    "code",
    "function",
    "functionItem",
    "httpRequest",
    "html",
    "htmlExtract",
    "markdown",
    "xml",
    "stickyNote",
];

/// What was counted of some workflows.
#[derive(Default)]
struct Figures {
    workflows: usize,
    valid: usize,
    nodes: usize,
    levels: [usize; 3],
    expressions: usize,
    repaired: usize,
    causes: BTreeMap<String, usize>,
}

impl Figures {
    fn add(&mut self, imported: &Imported) {
        let (report, summary) = (&imported.report, imported.report.summary);
        self.workflows += 1;
        self.valid += usize::from(report.valid);
        self.nodes += summary.nodes;
        for (level, count) in self
            .levels
            .iter_mut()
            .zip([summary.exact, summary.approximate, summary.stub])
        {
            *level += count;
        }
        let (explained, _) = explain(
            &imported.graph_data,
            &imported.node_definitions,
            &Options::default(),
        );
        self.expressions += summary.repaired
            + explained
                .iter()
                .filter(|one| one.expression.trim() != "undefined")
                .count();
        self.repaired += summary.repaired;
        for item in report.items.iter().filter(|item| item.level == Level::Stub) {
            let what = format!("{} {}", item.code, item.n8n_type.as_deref().unwrap_or_default());
            *self.causes.entry(what).or_default() += 1;
        }
        for item in report.items.iter().filter(|item| item.code == "expression") {
            let reason: String = item.message.split(": ").skip(1).take(1).collect();
            *self.causes.entry(format!("expression: {reason}")).or_default() += 1;
        }
        for error in &report.errors {
            *self
                .causes
                .entry(format!("does not compile: {} {}", error.code, error.message))
                .or_default() += 1;
        }
    }

    fn print(&self, name: &str) {
        let percent = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
        let [exact, approximate, stub] = self.levels.map(|level| percent(level, self.nodes));
        println!(
            "{name}: {} workflows, {:.2} % compile",
            self.workflows,
            percent(self.valid, self.workflows)
        );
        println!(
            "  {} nodes: {exact:.1} % exact, {approximate:.1} % approximate, {stub:.1} % stubs",
            self.nodes
        );
        let accepted = percent(self.expressions - self.repaired, self.expressions);
        println!("  {} expressions: {accepted:.2} % accepted", self.expressions);
    }
}

fn is_core(workflow: &Workflow) -> bool {
    workflow
        .nodes
        .iter()
        .all(|node| CORE.contains(&node.kind.as_str()))
}

#[test]
fn a_collection_is_measured() {
    let Some(folder) = std::env::var_os("HEDDLE_N8N_WORKFLOWS") else {
        return;
    };
    let (mut all, mut core) = (Figures::default(), Figures::default());
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    for file in files {
        let value: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
        for workflow in find(&value, "workflow").unwrap() {
            let imported = import(&workflow, &Calls::new());
            if !imported.report.valid {
                println!("{} does not compile", file.display());
            }
            all.add(&imported);
            if is_core(&workflow) {
                core.add(&imported);
            }
        }
    }
    all.print("all");
    core.print("core nodes only");
    let mut causes: Vec<_> = all.causes.into_iter().collect();
    causes.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (cause, count) in causes.iter().take(60) {
        println!("{count:6} {cause}");
    }
    assert!(all.workflows > 0, "the folder has no workflows");
}
