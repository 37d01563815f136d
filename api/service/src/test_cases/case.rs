//! A test's case: what it runs with and what is expected, as it travels and as it is stored.

use super::path::Path;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::EnvironmentId;
use heddle_model::objects;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

pub const CASE_BYTES_MAX: usize = 256 << 10;
/// Tests of a pattern.
pub const TESTS_MAX: i64 = 100;
/// Bytes of all of them.
pub const ALL_BYTES_MAX: i64 = 4 << 20;
/// Paths that are ignored.
const IGNORED_MAX: usize = 100;
/// Bytes of one.
const PATH_BYTES_MAX: usize = 500;

/// What a test runs with, and what is expected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Case {
    /// What people call it.
    #[schema(example = "A large order", min_length = 1, max_length = 200)]
    pub name: String,
    /// Trigger to start at; default: the node OnManual, or else the graph's first trigger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "start")]
    pub trigger_node_id: Option<String>,
    /// The event; default: null.
    #[serde(default)]
    #[schema(example = json!({"n": 4}))]
    pub event: Value,
    /// The environment that secrets and variables come from; by default the workspace's `production`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub environment_id: Option<EnvironmentId>,
    /// Outputs by node id: these nodes don't execute, so that nothing of them leaves. A value, or `{"$pin": true, "port": …,
    /// "value": …}`.
    #[serde(default)]
    #[schema(value_type = HashMap<String, Value>, required = false, example = json!({}))]
    pub pins: Map<String, Value>,
    /// Seed of `$random()`, `$uuid()` and the nodes Random and Uuid; default: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = 1, format = "uint64")]
    pub seed: Option<u64>,
    /// "Now" for the whole run, from 1970 to 9999; default: when the test was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// Whether nodes that are not pinned may reach outside: send requests, read databases, call patterns. By default the test
    /// ends before they do.
    #[serde(default)]
    #[schema(required = false)]
    pub allow_effects: bool,
    /// What the run must give.
    #[serde(default, deserialize_with = "objects::one")]
    #[schema(required = false)]
    pub expect: Expectation,
    /// Paths at which anything goes, such as `output.items[*].id`; at most 100.
    #[serde(default)]
    #[schema(required = false, example = json!(["output.id"]))]
    pub ignore: Vec<String>,
}

/// What a run must give. What is left out is not looked at; a run must complete unless an error is expected.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({"output": {"double": 8}}))]
pub struct Expectation {
    /// The run's output, as given to Return.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "even_null"
    )]
    #[schema(value_type = Value, required = false, example = json!({"double": 8}))]
    pub output: Option<Value>,
    /// Outputs by node id; of a node that executes several times, as in a loop, a list of them. Outputs beyond 16 KiB are
    /// `{truncated, bytes, excerpt}`, as in a trace.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = HashMap<String, Value>, required = false, example = json!({}))]
    pub nodes: Map<String, Value>,
    /// The error with which the run must fail.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "objects::optional"
    )]
    #[schema(required = false)]
    pub error: Option<ExpectedError>,
}

/// An error; what is left out is not looked at.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpectedError {
    /// Its code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(example = "THROWN")]
    pub code: Option<String>,
    /// Its message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The node that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
}

/// Other values for some fields of a case; what is left out stays.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CaseChanges {
    /// What people call it.
    #[schema(example = "A large order", min_length = 1, max_length = 200)]
    pub name: Option<String>,
    /// Trigger to start at.
    #[schema(example = "start")]
    pub trigger_node_id: Option<String>,
    /// The event.
    #[serde(default, deserialize_with = "even_null")]
    #[schema(value_type = Value, required = false, example = json!({"n": 4}))]
    pub event: Option<Value>,
    /// The environment; null: the default.
    #[serde(default, deserialize_with = "even_none")]
    #[schema(value_type = Option<EnvironmentId>)]
    pub environment_id: Option<Option<EnvironmentId>>,
    /// Outputs by node id, in place of all pins.
    #[schema(value_type = Option<HashMap<String, Value>>, example = json!({}))]
    pub pins: Option<Map<String, Value>>,
    /// Seed.
    #[schema(example = 1, format = "uint64")]
    pub seed: Option<u64>,
    /// "Now" for the whole run, from 1970 to 9999.
    pub started_at: Option<Timestamp>,
    /// Whether nodes that are not pinned may reach outside.
    pub allow_effects: Option<bool>,
    /// What the run must give, in place of all that was expected.
    #[serde(default, deserialize_with = "objects::optional")]
    pub expect: Option<Expectation>,
    /// Paths at which anything goes, in place of all of them.
    #[schema(example = json!(["output.id"]))]
    pub ignore: Option<Vec<String>>,
}

/// A field that is there, be it null.
fn even_null<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(value).map(Some)
}

fn even_none<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    value: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(value).map(Some)
}

/// The error for a case of so many bytes.
pub fn too_large(bytes: usize) -> ServiceError {
    Code::PayloadTooLarge.with(format!(
        "The test has {bytes} bytes; at most {CASE_BYTES_MAX} are kept."
    ))
}

impl Case {
    /// Puts other values in place of some.
    pub fn change(&mut self, changes: CaseChanges) {
        fn put<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        put(&mut self.name, changes.name);
        put(&mut self.event, changes.event);
        put(&mut self.environment_id, changes.environment_id);
        put(&mut self.pins, changes.pins);
        put(&mut self.allow_effects, changes.allow_effects);
        put(&mut self.expect, changes.expect);
        put(&mut self.ignore, changes.ignore);
        self.trigger_node_id = changes.trigger_node_id.or(self.trigger_node_id.take());
        self.seed = changes.seed.or(self.seed);
        self.started_at = changes.started_at.or(self.started_at);
    }

    /// The case as JSON, if it is one that can be kept.
    pub fn checked(&self) -> Result<String, ServiceError> {
        let is_past_all = |at: Timestamp| !(0..=Timestamp::LAST.millis()).contains(&at.millis());
        if self.started_at.is_some_and(is_past_all) {
            return Err(ServiceError::field("startedAt", "must be from 1970 to 9999"));
        }
        if self.expect.error.is_some() && self.expect.output.is_some() {
            let message = "can't be expected together with an error: a run that fails has no output";
            return Err(ServiceError::field("expect.output", message));
        }
        self.ignored()?;
        let text = serde_json::to_string(self).map_err(ServiceError::internal)?;
        if text.len() > CASE_BYTES_MAX {
            return Err(too_large(text.len()));
        }
        // An event that could be read by itself nests more deeply in here.
        match serde_json::from_str::<Case>(&text) {
            Ok(_) => Ok(text),
            Err(_) => Err(Code::Validation.with("The test is nested too deeply to be stored.")),
        }
    }

    pub fn ignored(&self) -> Result<Vec<Path>, ServiceError> {
        if self.ignore.len() > IGNORED_MAX {
            let message = format!("can be at most {IGNORED_MAX}");
            return Err(ServiceError::field("ignore", message));
        }
        let read = |(index, text): (usize, &String)| {
            let at = || format!("ignore[{index}]");
            if text.len() > PATH_BYTES_MAX {
                let message = format!("must have at most {PATH_BYTES_MAX} bytes");
                return Err(ServiceError::field(at(), message));
            }
            let path: Path = text
                .parse()
                .map_err(|error: super::path::NotAPath| ServiceError::field(at(), error.to_string()))?;
            match path.root() {
                Some("error") if path.is_root() => Err(ServiceError::field(
                    at(),
                    "can't be the whole error, since every run would pass then: name one of its fields",
                )),
                Some("output" | "nodes" | "error") => Ok(path),
                _ => Err(ServiceError::field(
                    at(),
                    "must begin with `output`, `nodes` or `error`",
                )),
            }
        };
        self.ignore.iter().enumerate().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Case;
    use heddle_model::error::Code;
    use serde_json::{Value, json};

    #[test]
    fn what_nests_too_deeply_to_be_read_again_is_not_kept() {
        let nested = |depth: usize| Case {
            event: (0..depth).fold(json!(1), |inner, _| Value::Array(vec![inner])),
            ..Case::default()
        };
        assert!(nested(120).checked().is_ok());
        assert_eq!(nested(127).checked().unwrap_err().code(), Code::Validation);
    }
}
