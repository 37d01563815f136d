//! What two versions did with the same event, compared. Pure.

use crate::test_cases::{Difference, Differences, Path, value_of};
use heddle_execution::Unanswered;
use heddle_model::shown::shown_within;
use heddle_runtime::{NOT_RECORDED, Outcome, RunError, Status, TraceEntry};
use serde::Serialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};
use std::collections::{HashMap, HashSet};
use std::fmt::{self, Display, Formatter};
use utoipa::ToSchema;

/// Differences that are told of a run; the others are counted.
const DIFFERENCES_MAX: usize = 100;

/// Bytes of an error's message that are told.
const TEXT_BYTES_MAX: usize = 1 << 10;

/// How a run of the other version compares with one of the deployed version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum ReplayStatus {
    /// Both did the same.
    Same,
    /// They did not.
    Different,
    /// The version asked for something that the run's journal has no answer to.
    Unanswered,
    /// The run itself can't be replayed, so there is nothing to compare with.
    Skipped,
}

/// How a version ended.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunEnd {
    /// Why it failed; null: it did not.
    error: Option<RunError>,
    /// Fuel, roughly instructions.
    #[schema(example = 3_100)]
    fuel_used: u64,
    /// Wall time in microseconds.
    #[schema(example = 410)]
    duration_us: u64,
}

impl RunEnd {
    pub(super) fn of(outcome: &Outcome) -> RunEnd {
        // Patterns write errors of any length.
        let error = outcome.error.clone().map(|error| RunError {
            message: cut(error.message),
            code: cut(error.code),
            ..error
        });
        RunEnd {
            error,
            fuel_used: outcome.usage.fuel_used,
            duration_us: outcome.usage.duration_us,
        }
    }
}

/// The beginning of a long text.
fn cut(mut text: String) -> String {
    if text.len() > TEXT_BYTES_MAX {
        text.truncate(text.floor_char_boundary(TEXT_BYTES_MAX));
        text.push('…');
    }
    text
}

/// A node that did something else.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeDifference {
    /// The node.
    #[schema(example = "discount")]
    pub node_id: String,
    /// Which of its executions, as in a trace: `orders[3]`; empty outside of loops and composites.
    #[schema(example = "")]
    path: String,
    /// Where its `port`, `output` or `error` differ. A node that only one version executed differs at `executed`.
    pub differences: Vec<Difference>,
}

/// An effect that the journal has no answer to.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct UnansweredEffect {
    /// The node.
    #[schema(example = "pay")]
    node_id: Option<String>,
    /// Kind of the effect.
    #[schema(example = "http")]
    kind: String,
    /// Why there is none.
    reason: UnansweredReason,
}

/// Why the journal has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum UnansweredReason {
    /// The node had no such effect in the run.
    New,
    /// It had one, with another request.
    Changed,
}

impl From<Unanswered> for UnansweredEffect {
    fn from(effect: Unanswered) -> Self {
        UnansweredEffect {
            node_id: effect.node_id,
            kind: effect.kind,
            reason: match effect.is_changed {
                true => UnansweredReason::Changed,
                false => UnansweredReason::New,
            },
        }
    }
}

impl Display for UnansweredEffect {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let node = self.node_id.as_deref().unwrap_or("?");
        let what = match self.reason {
            UnansweredReason::New => "an effect that the run did not have",
            UnansweredReason::Changed => "an effect with another request",
        };
        write!(f, "the node `{node}` asks for {what} ({})", self.kind)
    }
}

/// What two versions did with the same event.
pub(super) struct Comparison {
    pub differences: Vec<Difference>,
    pub nodes: Vec<NodeDifference>,
    pub omitted: usize,
    pub unanswered: Vec<UnansweredEffect>,
}

/// An execution of a node: its id, where it stands, and its number among those that stand there.
type Execution<'a> = (&'a str, &'a str, usize);

impl Comparison {
    /// Compares the deployed version with another one. Where that one waits for what the journal does not have, its run is cut off:
    /// what it did until then is compared.
    pub fn of(before: &Outcome, after: &Outcome, unanswered: Vec<Unanswered>) -> Comparison {
        let mut found = Comparison {
            differences: Vec::new(),
            nodes: Vec::new(),
            omitted: 0,
            unanswered: unanswered.into_iter().map(UnansweredEffect::from).collect(),
        };
        let is_cut = after
            .error
            .as_ref()
            .is_some_and(|error| error.code == NOT_RECORDED);
        let mut room = DIFFERENCES_MAX;
        if !is_cut {
            let ends = between(&end(before), &end(after));
            found.omitted = ends.omitted;
            room = room.saturating_sub(ends.listed.len());
            found.differences = ends.listed;
        }
        // Where the sandbox had no room for all of a trace, what is missing of it says nothing.
        let is_whole = before.trace_omitted == 0 && after.trace_omitted == 0;
        found.compare_nodes((&before.trace, &after.trace), is_whole, is_cut, room);
        found
    }

    pub fn status(&self) -> ReplayStatus {
        if !self.unanswered.is_empty() {
            return ReplayStatus::Unanswered;
        }
        match self.differences.is_empty() && self.nodes.is_empty() && self.omitted == 0 {
            true => ReplayStatus::Same,
            false => ReplayStatus::Different,
        }
    }

    fn compare_nodes(
        &mut self,
        (before, after): (&[TraceEntry], &[TraceEntry]),
        is_whole: bool,
        is_cut: bool,
        mut room: usize,
    ) {
        let (before, after) = (executions(before), executions(after));
        let there: HashMap<Execution<'_>, &TraceEntry> = after.iter().copied().collect();
        let known: HashSet<Execution<'_>> = before.iter().map(|(execution, _)| *execution).collect();
        let nothing = json!({"executed": false});
        let executed = json!({"executed": true});
        for (execution, entry) in &before {
            let other = there.get(execution).copied();
            // What the run did not come to when it was cut off, or what was under way then, has no end to compare.
            if is_cut && other.is_none_or(|other| !has_ended(other)) {
                continue;
            }
            let differences = match other {
                Some(other) => between(&value(entry), &value(other)),
                None if is_whole => between(&executed, &nothing),
                None => continue,
            };
            self.add(execution, differences, &mut room);
        }
        for (execution, entry) in after.iter().filter(|(execution, _)| !known.contains(execution)) {
            if is_whole && (!is_cut || has_ended(entry)) {
                self.add(execution, between(&nothing, &executed), &mut room);
            }
        }
    }

    fn add(&mut self, (node_id, path, _): &Execution<'_>, differences: Differences, room: &mut usize) {
        self.omitted = self.omitted.saturating_add(differences.omitted);
        let mut listed = differences.listed;
        self.omitted = self.omitted.saturating_add(listed.len().saturating_sub(*room));
        listed.truncate(*room);
        *room = room.saturating_sub(listed.len());
        if !listed.is_empty() {
            self.nodes.push(NodeDifference {
                node_id: (*node_id).to_owned(),
                path: (*path).to_owned(),
                differences: listed,
            });
        }
    }
}

/// What differs, as it may be told: without the credentials that events came with. What differs in these alone is only counted.
fn between(before: &Value, after: &Value) -> Differences {
    let found = Differences::between(before, after, &Path::default(), &[]);
    if found.is_empty() {
        return found;
    }
    let differences = Differences::between(&covered(before), &covered(after), &Path::default(), &[]);
    match differences.is_empty() {
        true => Differences {
            listed: Vec::new(),
            omitted: 1,
        },
        false => differences,
    }
}

/// A value without the credentials that events came with.
fn covered(value: &Value) -> Value {
    to_raw_value(value).map_or(Value::Null, |raw| value_of(&shown_within(raw)))
}

/// The entries of a trace with what they are found by.
fn executions(trace: &[TraceEntry]) -> Vec<(Execution<'_>, &TraceEntry)> {
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    let entries = trace.iter().map(|entry| {
        let count = counts
            .entry((entry.node_id.as_str(), entry.path.as_str()))
            .or_default();
        let number = *count;
        *count = count.saturating_add(1);
        ((entry.node_id.as_str(), entry.path.as_str(), number), entry)
    });
    entries.collect()
}

/// Whether a node's execution was over when its trace was made.
fn has_ended(entry: &TraceEntry) -> bool {
    entry.port.is_some() || entry.output.is_some() || entry.error.is_some()
}

/// What a node did.
fn value(entry: &TraceEntry) -> Value {
    let mut fields = Map::new();
    fields.insert("port".to_owned(), json!(entry.port));
    fields.insert(
        "output".to_owned(),
        entry.output.as_deref().map_or(Value::Null, value_of),
    );
    if let Some(error) = entry.error.as_deref() {
        fields.insert("error".to_owned(), value_of(error));
    }
    Value::Object(fields)
}

/// What came of a run.
fn end(outcome: &Outcome) -> Value {
    let mut fields = Map::new();
    if let Some(error) = &outcome.error {
        fields.insert("error".to_owned(), json!(error));
    } else if outcome.status == Status::Completed {
        fields.insert(
            "output".to_owned(),
            outcome.output.as_deref().map_or(Value::Null, value_of),
        );
    }
    if let Some(response) = outcome.response.as_deref() {
        fields.insert("response".to_owned(), value_of(response));
    }
    Value::Object(fields)
}

#[cfg(test)]
mod tests {
    use super::{Comparison, ReplayStatus};
    use heddle_runtime::{Outcome, RunError, Status};
    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    fn outcome(output: &Value) -> Outcome {
        let error = RunError {
            code: String::new(),
            message: String::new(),
            node_id: None,
        };
        Outcome {
            status: Status::Completed,
            error: None,
            output: Some(to_raw_value(output).unwrap()),
            ..Outcome::refused(error)
        }
    }

    #[test]
    fn credentials_of_events_are_counted_and_not_told() {
        let event = |token: &str| json!({"headers": {"authorization": token, "accept": "*/*"}});
        let found = Comparison::of(&outcome(&event("one")), &outcome(&event("two")), Vec::new());
        assert_eq!(
            (found.status(), &found.differences, found.omitted),
            (ReplayStatus::Different, &Vec::new(), 1)
        );
        let copied = json!({"event": event("one"), "n": 1});
        let found = Comparison::of(&outcome(&event("one")), &outcome(&copied), Vec::new());
        let told = json!(found.differences).to_string();
        assert!(told.contains("output.event") && !told.contains("one"), "{told}");
        let same = Comparison::of(&outcome(&copied), &outcome(&copied), Vec::new());
        assert_eq!(same.status(), ReplayStatus::Same);
    }
}
