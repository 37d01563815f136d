//! What becomes of expressions that people wrote: how many are compiled, and why others are not. Knows nothing of where
//! they come from.

use heddle_compiler::expression::{ExpressionRoute, Names, NodeName, Problem, route};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Every node exists, and every name means something.
struct Anywhere;

impl Names for Anywhere {
    fn node(&self, _: NodeName<'_>) -> Result<u32, Problem> {
        Ok(0)
    }

    fn has_item(&self) -> bool {
        true
    }

    fn has_pair(&self) -> bool {
        false
    }

    fn has_error(&self) -> bool {
        true
    }

    fn definition_only(&self) -> bool {
        false
    }
}

/// What an expression becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    Compiled,
    Engine,
    Foreign,
    Unsupported,
    Syntax,
    OtherProblem,
}

impl Outcome {
    fn title(self) -> &'static str {
        match self {
            Outcome::Compiled => "compiled",
            Outcome::Engine => "evaluated by the JavaScript engine",
            Outcome::Foreign => "names that only another system has",
            Outcome::Unsupported => "refused: it would wait, or mixes both ways",
            Outcome::Syntax => "no JavaScript",
            Outcome::OtherProblem => "other problems",
        }
    }
}

/// How often something occurs, and in how many distinct expressions.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    pub times: u64,
    pub distinct: u64,
}

impl Count {
    fn add(&mut self, times: u64) {
        self.times += times;
        self.distinct += 1;
    }
}

/// What becomes of all.
#[derive(Default)]
pub struct Tally {
    outcomes: BTreeMap<Outcome, Count>,
    /// Why they are not compiled.
    causes: BTreeMap<String, Count>,
    pub no_javascript: Vec<String>,
}

impl Tally {
    /// Of JSON lines with the expression as `e` and how often it occurs as `n`.
    pub fn of(lines: &str) -> Self {
        let mut tally = Tally::default();
        for line in lines.lines() {
            let line: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
            if let (Some(source), Some(times)) = (line["e"].as_str(), line["n"].as_u64()) {
                tally.add(source, times);
            }
        }
        tally
    }

    fn add(&mut self, source: &str, times: u64) {
        let routed = route(source, &Anywhere, ExpressionRoute::Cheapest);
        if let Some(reason) = routed.iter().flat_map(|routed| &routed.reasons).next() {
            self.outcomes.entry(Outcome::Engine).or_default().add(times);
            self.causes.entry(reason.what.clone()).or_default().add(times);
        }
        let problems = match routed {
            Ok(routed) if !routed.reasons.is_empty() => return,
            routed => routed.err().unwrap_or_default(),
        };
        let rank = |problem: &&Problem| {
            let order = ["syntax", "foreign-name", "unknown-name"];
            order
                .iter()
                .position(|code| *code == problem.code)
                .unwrap_or(order.len())
        };
        let worst = problems.iter().min_by_key(rank);
        let outcome = match worst.map(|problem| problem.code) {
            None => Outcome::Compiled,
            Some("foreign-name") => Outcome::Foreign,
            Some("unsupported" | "not-in-engine") => Outcome::Unsupported,
            Some("syntax") => Outcome::Syntax,
            Some(_) => Outcome::OtherProblem,
        };
        self.outcomes.entry(outcome).or_default().add(times);
        match worst {
            Some(problem) if outcome == Outcome::Syntax => {
                self.no_javascript.push(format!("{source}: {}", problem.message));
            }
            Some(problem) => {
                self.causes.entry(problem.message.clone()).or_default().add(times);
            }
            None => {}
        }
    }

    pub fn count(&self, outcome: Outcome) -> Count {
        self.outcomes.get(&outcome).copied().unwrap_or_default()
    }

    pub fn total(&self) -> Count {
        let sum = |field: fn(&Count) -> u64| self.outcomes.values().map(field).sum();
        Count {
            times: sum(|count| count.times),
            distinct: sum(|count| count.distinct),
        }
    }

    /// A share of all, as often as they occur.
    pub fn share(&self, outcome: Outcome) -> f64 {
        self.count(outcome).times as f64 / self.total().times as f64
    }

    /// As Markdown.
    pub fn table(&self) -> String {
        let mut table = "| | occurrences | | distinct |\n| --- | ---: | ---: | ---: |\n".to_owned();
        let total = self.total();
        for (outcome, count) in &self.outcomes {
            let share = self.share(*outcome) * 100.0;
            let (title, Count { times, distinct }) = (outcome.title(), count);
            let _ = writeln!(table, "| {title} | {times} | {share:.2} % | {distinct} |");
        }
        let _ = writeln!(table, "| all | {} | | {} |", total.times, total.distinct);
        table
    }

    /// The most frequent reasons not to compile one, as Markdown.
    pub fn causes(&self, rows_max: usize) -> String {
        let mut causes: Vec<_> = self.causes.iter().collect();
        causes.sort_by_key(|(_, count)| std::cmp::Reverse(count.times));
        let mut table = "| why not | occurrences | distinct |\n| --- | ---: | ---: |\n".to_owned();
        for (cause, Count { times, distinct }) in causes.into_iter().take(rows_max) {
            let _ = writeln!(table, "| {} | {times} | {distinct} |", cause.replace('|', "\\|"));
        }
        table
    }
}
