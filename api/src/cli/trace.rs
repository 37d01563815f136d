//! `--trace`: a run as a tree of nodes. Under loops stand their iterations, under composites that are executed as a
//! whole their inner nodes, elements and further attempts.

use super::report::{first_columns, printable};
use anstyle::{AnsiColor, Style};
use heddle_contract::manifest;
use heddle_runtime::{TraceEntry, grouped};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write;
use unicode_width::UnicodeWidthStr;

const DIM: Style = Style::new().dimmed();
const BOLD: Style = Style::new().bold();
const ERROR: Style = AnsiColor::Red.on_default().bold();
const PORT: Style = AnsiColor::Cyan.on_default();

/// Iterations of one loop that are shown; those with errors are shown beyond it, up to as many again.
const ITERATIONS_MAX: usize = 10;
/// Columns of a value's excerpt.
const VALUE_COLUMNS_MAX: usize = 60;

/// A trace by frames, that is by iteration paths.
#[derive(Default)]
struct Frames<'a> {
    entries: BTreeMap<&'a str, Vec<&'a TraceEntry>>,
    /// Paths of a loop's or composite's turns, by its own path and id, in their order.
    turns: BTreeMap<(&'a str, &'a str), Turns<'a>>,
    /// Paths in or under which a node failed.
    failed: BTreeSet<&'a str>,
}

type Turns<'a> = BTreeMap<Turn, &'a str>;

/// An iteration or element, and of a composite the attempt, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Turn {
    index: Option<u64>,
    attempt: u64,
}

impl std::fmt::Display for Turn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.index, self.attempt) {
            (Some(index), 1) => write!(f, "[{index}]"),
            (Some(index), attempt) => write!(f, "[{index}] attempt {attempt}"),
            (None, attempt) => write!(f, "attempt {attempt}"),
        }
    }
}

/// The tree, one line for each execution of a node.
pub fn render(entries: &[TraceEntry], nodes: &[manifest::Node]) -> String {
    let frames = Frames::of(entries);
    let mut tree = Tree {
        frames: &frames,
        nodes,
        lines: Vec::new(),
    };
    tree.frame("", "");
    let width = tree
        .lines
        .iter()
        .map(|line| line.name.width())
        .max()
        .unwrap_or(0)
        .min(60);
    let mut text = String::new();
    for Line {
        name,
        styled_name,
        rest,
    } in tree.lines
    {
        let padding = width.saturating_sub(name.width());
        let _ = writeln!(
            text,
            "{}",
            format!("{styled_name}{:padding$}  {rest}", "").trim_end()
        );
    }
    text
}

impl<'a> Frames<'a> {
    fn of(entries: &'a [TraceEntry]) -> Self {
        let mut frames = Frames::default();
        for entry in entries {
            frames.entries.entry(&entry.path).or_default().push(entry);
            let mut path = entry.path.as_str();
            // A path's ancestors may have no entries of their own.
            while let Some((parent, id, turn)) = split(path) {
                let known = frames
                    .turns
                    .entry((parent, id))
                    .or_default()
                    .insert(turn, path)
                    .is_some();
                let marked = entry.error.is_none() || !frames.failed.insert(path);
                if known && marked {
                    break;
                }
                path = parent;
            }
        }
        frames
    }
}

/// `orders[3].lines[0]` is iteration 0 of `lines` in `orders[3]`, `pay[3]~2` the second attempt of the composite `pay`
/// on element 3. Ids may contain dots, but no brackets and no `~`.
fn split(path: &str) -> Option<(&str, &str, Turn)> {
    let (rest, attempt) = match path.rsplit_once('~') {
        Some((rest, attempt)) if !attempt.contains('.') => (rest, attempt.parse().ok()?),
        _ => (path, 1),
    };
    let (before, index) = match rest.strip_suffix(']').and_then(|rest| rest.rsplit_once('[')) {
        Some((before, index)) => (before, Some(index.parse().ok()?)),
        None if attempt > 1 => (rest, None),
        None => return None,
    };
    let after_index = before.rfind("].").map(|at| at + 1);
    let after_attempt = before
        .rfind('~')
        .and_then(|at| Some(at + before.get(at..)?.find('.')?));
    let (parent, id) = match after_index.max(after_attempt) {
        Some(dot) => (&before[..dot], &before[dot + 1..]),
        None => ("", before),
    };
    Some((parent, id, Turn { index, attempt }))
}

/// The entries of a frame, by number: inner nodes of a composite that was executed as a whole stand under it. Such a
/// composite begins before they do.
struct Nesting {
    tops: Vec<usize>,
    under: Vec<Vec<usize>>,
}

impl Nesting {
    fn of(entries: &[&TraceEntry]) -> Self {
        let mut nesting = Nesting {
            tops: Vec::new(),
            under: vec![Vec::new(); entries.len()],
        };
        let mut composites: HashMap<&str, usize> = HashMap::new();
        let mut inner_before: HashSet<&str> = HashSet::new();
        for (index, entry) in entries.iter().enumerate() {
            let id = entry.node_id.as_str();
            let outer_ids = || id.match_indices('/').rev().map(|(at, _)| &id[..at]);
            match outer_ids().find_map(|outer| composites.get(outer)) {
                Some(outer) => nesting.under[*outer].push(index),
                None => nesting.tops.push(index),
            }
            inner_before.extend(outer_ids());
            if !inner_before.contains(id) || composites.contains_key(id) {
                composites.insert(id, index);
            }
        }
        nesting
    }
}

struct Line {
    name: String,
    styled_name: String,
    rest: String,
}

struct Tree<'a> {
    frames: &'a Frames<'a>,
    nodes: &'a [manifest::Node],
    lines: Vec<Line>,
}

impl Tree<'_> {
    /// All nodes that ran in one frame.
    fn frame(&mut self, path: &str, indent: &str) {
        let frames = self.frames;
        let entries = frames.entries.get(path).map(Vec::as_slice).unwrap_or_default();
        let nesting = Nesting::of(entries);
        // A loop that ran again under the same path (by `each` or a retry) shows its iterations once.
        let mut turns: HashMap<&str, &Turns<'_>> = entries
            .iter()
            .filter_map(|entry| {
                let id = entry.node_id.as_str();
                Some((id, frames.turns.get(&(path, id))?))
            })
            .collect();
        self.executions(entries, (&nesting, &nesting.tops), &mut turns, indent, false);
    }

    /// Some executions of a frame; after them `more` stands under the same line.
    fn executions(
        &mut self,
        entries: &[&TraceEntry],
        (nesting, list): (&Nesting, &[usize]),
        turns: &mut HashMap<&str, &Turns<'_>>,
        indent: &str,
        more: bool,
    ) {
        for (position, index) in list.iter().enumerate() {
            let (Some(entry), Some(inner)) = (entries.get(*index), nesting.under.get(*index)) else {
                continue;
            };
            let (branch, under) = branch(!more && position + 1 == list.len());
            self.entry(entry, &format!("{indent}{branch}"));
            let indent = format!("{indent}{under}");
            let own = turns.remove(entry.node_id.as_str());
            self.executions(entries, (nesting, inner), turns, &indent, own.is_some());
            if let Some(own) = own {
                self.turns(own, &indent);
            }
        }
    }

    fn turns(&mut self, turns: &Turns<'_>, indent: &str) {
        let (first, later): (Vec<_>, Vec<_>) = turns
            .iter()
            .enumerate()
            .partition(|(position, _)| *position < ITERATIONS_MAX);
        let failed = later
            .into_iter()
            .filter(|(_, (_, path))| self.frames.failed.contains(*path));
        let shown: Vec<_> = first
            .into_iter()
            .chain(failed.take(ITERATIONS_MAX))
            .map(|(_, turn)| turn)
            .collect();
        let hidden = turns.len() - shown.len();
        for (position, (turn, path)) in shown.iter().enumerate() {
            let (branch, under) = branch(hidden == 0 && position + 1 == shown.len());
            self.plain(&format!("{indent}{branch}"), &turn.to_string());
            self.frame(path, &format!("{indent}{under}"));
        }
        if hidden > 0 {
            self.plain(&format!("{indent}└─ "), &format!("… {hidden} more"));
        }
    }

    fn plain(&mut self, branch: &str, text: &str) {
        self.lines.push(Line {
            name: format!("{branch}{text}"),
            styled_name: format!("{DIM}{branch}{DIM:#}{text}"),
            rest: String::new(),
        });
    }

    fn entry(&mut self, entry: &TraceEntry, branch: &str) {
        let node = self.nodes.iter().find(|node| node.id == entry.node_id);
        let title = printable(
            node.and_then(|node| node.label.as_deref())
                .unwrap_or(&entry.node_id),
        );
        let kind = node.map_or("", |node| node.node_type.as_str());
        let mut rest = format!(
            "{DIM}{:>10} {:>11} fuel{DIM:#}  ",
            duration(entry.duration_us),
            grouped(entry.fuel)
        );
        if entry.pinned {
            rest.push_str("pinned ");
        }
        if let Some(port) = &entry.port {
            let _ = write!(rest, "{PORT}→ {port}{PORT:#} ");
        }
        match &entry.error {
            Some(error) => {
                let error: Value = serde_json::from_str(error.get()).unwrap_or_default();
                let code = error["code"].as_str().unwrap_or("error");
                let message = error["message"].as_str().unwrap_or("");
                let _ = write!(rest, "{ERROR}✗ {code}{ERROR:#} {}", printable(message));
            }
            None => {
                let output = entry.output.as_ref().map_or("", |output| output.get());
                let _ = write!(rest, "{}", first_columns(&printable(output), VALUE_COLUMNS_MAX));
            }
        }
        self.lines.push(Line {
            name: format!("{branch}{title} {kind}"),
            styled_name: format!("{DIM}{branch}{DIM:#}{BOLD}{title}{BOLD:#} {kind}"),
            rest,
        });
    }
}

/// What stands before a line, and before those under it.
fn branch(is_last: bool) -> (&'static str, &'static str) {
    match is_last {
        true => ("└─ ", "   "),
        false => ("├─ ", "│  "),
    }
}

/// `12 µs`, `3.42 ms`, `1.20 s`
pub fn duration(microseconds: u64) -> String {
    let value = microseconds as f64;
    match microseconds {
        0..1_000 => format!("{microseconds} µs"),
        1_000..1_000_000 => format!("{:.2} ms", value / 1e3),
        _ => format!("{:.2} s", value / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::value::to_raw_value;

    fn entry(path: &str, node_id: &str, result: Result<(&str, Value), &str>) -> TraceEntry {
        let (port, output, error) = match result {
            Ok((port, output)) => (Some(port.to_owned()), Some(to_raw_value(&output).unwrap()), None),
            Err(code) => {
                let error = serde_json::json!({"message": "it broke", "code": code, "nodeId": node_id});
                (None, None, Some(to_raw_value(&error).unwrap()))
            }
        };
        TraceEntry {
            node_id: node_id.to_owned(),
            path: path.to_owned(),
            started_at_ms: 0.0,
            duration_us: 1_500,
            fuel: 12_345,
            port,
            output,
            error,
            pinned: false,
        }
    }

    fn plain(entries: &[TraceEntry]) -> String {
        let node = |id: &str, node_type: &str, label: Option<&str>| manifest::Node {
            id: id.to_owned(),
            node_type: node_type.to_owned(),
            label: label.map(str::to_owned),
            outputs: Vec::new(),
            asks: None,
        };
        let nodes = [
            node("rows.all", "ForEach", Some("Für alle")),
            node("sum", "Transform", None),
        ];
        anstream::adapter::strip_str(&render(entries, &nodes)).to_string()
    }

    #[test]
    fn iterations_nest_under_their_loops() {
        let ok = |path: &str, id: &str| entry(path, id, Ok(("out", Value::from(1))));
        let entries = [
            ok("", "start"),
            ok("", "rows.all"),
            ok("rows.all[0]", "cells"),
            ok("rows.all[0].cells[0]", "sum"),
            entry("rows.all[0].cells[1]", "sum", Err("EXPRESSION")),
            ok("rows.all[1]", "cells"),
            ok("", "end"),
        ];
        insta::assert_snapshot!(plain(&entries), @r"
    ├─ start                         1.50 ms      12,345 fuel  → out 1
    ├─ Für alle ForEach              1.50 ms      12,345 fuel  → out 1
    │  ├─ [0]
    │  │  └─ cells                   1.50 ms      12,345 fuel  → out 1
    │  │     ├─ [0]
    │  │     │  └─ sum Transform     1.50 ms      12,345 fuel  → out 1
    │  │     └─ [1]
    │  │        └─ sum Transform     1.50 ms      12,345 fuel  ✗ EXPRESSION it broke
    │  └─ [1]
    │     └─ cells                   1.50 ms      12,345 fuel  → out 1
    └─ end                           1.50 ms      12,345 fuel  → out 1
    ");
    }

    #[test]
    fn composites_have_their_inner_nodes_elements_and_attempts_under_them() {
        let ok = |path: &str, id: &str| entry(path, id, Ok(("out", Value::from(1))));
        let entries = [
            ok("", "pay"),
            ok("", "pay/call"),
            entry("", "pay/send", Err("HTTP_500")),
            ok("pay~2", "pay/call"),
            ok("pay~2", "pay/send"),
            // One that is only inlined ends after its inner nodes.
            ok("", "inlined/call"),
            ok("", "inlined"),
            ok("", "inlined/late"),
            ok("", "rows"),
            ok("rows[0]", "rows/call"),
            ok("rows[0]~2", "rows/lines"),
            ok("rows[0]~2.rows/lines[3]", "sum"),
        ];
        insta::assert_snapshot!(plain(&entries), @r#"
        ├─ pay                           1.50 ms      12,345 fuel  → out 1
        │  ├─ pay/call                   1.50 ms      12,345 fuel  → out 1
        │  ├─ pay/send                   1.50 ms      12,345 fuel  ✗ HTTP_500 it broke
        │  └─ attempt 2
        │     ├─ pay/call                1.50 ms      12,345 fuel  → out 1
        │     └─ pay/send                1.50 ms      12,345 fuel  → out 1
        ├─ inlined/call                  1.50 ms      12,345 fuel  → out 1
        ├─ inlined                       1.50 ms      12,345 fuel  → out 1
        ├─ inlined/late                  1.50 ms      12,345 fuel  → out 1
        └─ rows                          1.50 ms      12,345 fuel  → out 1
           ├─ [0]
           │  └─ rows/call               1.50 ms      12,345 fuel  → out 1
           └─ [0] attempt 2
              └─ rows/lines              1.50 ms      12,345 fuel  → out 1
                 └─ [3]
                    └─ sum Transform     1.50 ms      12,345 fuel  → out 1
        "#);
    }

    #[test]
    fn of_many_iterations_the_first_and_the_failed_are_shown() {
        let mut entries = vec![entry("", "rows.all", Ok(("done", Value::Null)))];
        for index in 0..1_000 {
            let result = if index == 700 {
                Err("THROWN")
            } else {
                Ok(("out", Value::from(index)))
            };
            entries.push(entry(&format!("rows.all[{index}]"), "sum", result));
        }
        let tree = plain(&entries);
        assert_eq!(tree.lines().count(), 1 + 2 * 11 + 1, "{tree}");
        assert!(tree.contains("[700]") && tree.contains("… 989 more"), "{tree}");
    }

    #[test]
    fn paths_split_at_their_last_iteration() {
        let turn = |index, attempt| Turn { index, attempt };
        assert_eq!(
            split("a.b[3].c.d[10]"),
            Some(("a.b[3]", "c.d", turn(Some(10), 1)))
        );
        assert_eq!(split("a[0]"), Some(("", "a", turn(Some(0), 1))));
        assert_eq!(split("a.b~2"), Some(("", "a.b", turn(None, 2))));
        assert_eq!(split("a~2.b.c[1]~3"), Some(("a~2", "b.c", turn(Some(1), 3))));
        assert_eq!(split("a[1]~2.b~12"), Some(("a[1]~2", "b", turn(None, 12))));
        assert_eq!(split(""), None);
        assert_eq!(split("a[x]"), None);
        assert_eq!(split("a~x"), None);
    }
}
