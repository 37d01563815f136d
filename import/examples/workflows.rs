//! Prints what becomes of a collection of n8n's workflows, which is not part of the sources: a folder of its exports.
//! `cargo run -p heddle-import --example workflows -- FOLDER`.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

use heddle_compiler::{Options, explain};
use heddle_import::{Calls, Imported, Level, Workflow, find, import};
use serde_json::Value;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, DirEntry};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

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
    /// Those of the repaired that fail in n8n as well.
    broken: usize,
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
                // What was repaired is counted, wherever it stands.
                .filter(|one| one.expression.trim() != "undefined" && !one.expression.contains("(undefined)"))
                .count();
        self.repaired += summary.repaired;
        let broken = report
            .items
            .iter()
            .filter(|item| item.code == "broken-expression");
        self.broken += broken.count();
        for item in report.items.iter().filter(|item| item.level == Level::Stub) {
            let what = format!("{} {}", item.code, item.n8n_type.as_deref().unwrap_or_default());
            *self.causes.entry(what).or_default() += 1;
        }
        for item in report
            .items
            .iter()
            .filter(|item| item.code.ends_with("expression"))
        {
            let reason: String = item.message.split(": ").skip(1).take(1).collect();
            *self.causes.entry(format!("{}: {reason}", item.code)).or_default() += 1;
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
        let accepted = self.expressions - self.repaired;
        println!(
            "  {} expressions: {:.2} % accepted; {:.2} % of those that don't fail in n8n too, as {} do",
            self.expressions,
            percent(accepted, self.expressions),
            percent(accepted, self.expressions - self.broken),
            self.broken
        );
    }
}

fn is_core(workflow: &Workflow) -> bool {
    workflow
        .nodes
        .iter()
        .all(|node| CORE.contains(&node.kind.as_str()))
}

fn main() -> ExitCode {
    let Some(folder) = std::env::args_os().nth(1) else {
        eprintln!("name a folder with n8n's workflows");
        return ExitCode::FAILURE;
    };
    match measured(Path::new(&folder)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("{problem}");
            ExitCode::FAILURE
        }
    }
}

fn measured(folder: &Path) -> Result<(), Box<dyn Error>> {
    let (mut all, mut core) = (Figures::default(), Figures::default());
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    let mut files: Vec<PathBuf> = entries.iter().map(DirEntry::path).collect();
    files.sort();
    for file in files {
        let value: Value = serde_json::from_str(&fs::read_to_string(&file)?)?;
        let found = find(&value, "workflow");
        for workflow in found.map_err(|refused| format!("{}: {}", file.display(), refused.0))? {
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
    causes.sort_by_key(|(_, count)| Reverse(*count));
    for (cause, count) in causes.iter().take(60) {
        println!("{count:6} {cause}");
    }
    match all.workflows {
        0 => Err("the folder has no workflows".into()),
        _ => Ok(()),
    }
}
