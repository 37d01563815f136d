//! Where two JSON values differ. Pure.

use super::path::{Path, Step};
use serde::Serialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// Differences that are told of a case; the others are counted.
pub const DIFFERENCES_MAX: usize = 50;
/// Bytes of a value that is told whole.
const VALUE_BYTES_MAX: usize = 1 << 10;
/// Bytes that are told of a longer one.
const EXCERPT_BYTES: usize = 256;
/// Bytes that are told of a path.
const PATH_BYTES_MAX: usize = 1 << 10;

/// A place at which a value is not the expected one.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct Difference {
    /// Where, as in `output.items[0].id`.
    #[schema(example = "output.items[0].id")]
    pub path: String,
    /// How.
    pub kind: DifferenceKind,
    /// What was expected; a large value is replaced by `{truncated, bytes, excerpt}`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub expected: Option<Value>,
    /// What was there instead; likewise.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Value, required = false)]
    pub actual: Option<Value>,
}

/// How a value is not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum DifferenceKind {
    /// It is another one.
    Changed,
    /// It is not there.
    Missing,
    /// It is there, and nothing was expected.
    Unexpected,
}

/// What the sandbox has given, as a value. It nests less deeply than a reader takes; anything else is shown as text.
pub fn value_of(json: &RawValue) -> Value {
    serde_json::from_str(json.get()).unwrap_or_else(|_| Value::from(json.get()))
}

/// The differences of two values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    /// The first of them.
    pub listed: Vec<Difference>,
    /// How many more there are.
    pub omitted: usize,
}

impl Differences {
    /// Between what was expected and what was there, at this path, but for what is ignored. Fields may be in any order,
    /// and `1` is `1.0`.
    pub fn between(expected: &Value, actual: &Value, at: &Path, ignored: &[Path]) -> Differences {
        let mut found = Differences::default();
        let mut ignored: Vec<&[Step]> = ignored.iter().map(Path::steps).collect();
        for step in at.steps() {
            ignored = below(&ignored, step);
            if is_whole(&ignored) {
                return found;
            }
        }
        found.walk(expected, actual, &mut at.clone(), &ignored);
        found
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.listed.is_empty() && self.omitted == 0
    }

    /// `at` is one path for all values, which goes down and up with them: a copy for each would copy the names above as often as
    /// there are values below, and both may be megabytes. Of what is ignored it gets what is below, as the steps that lead there:
    /// the names above are not compared once more for each value.
    fn walk(&mut self, expected: &Value, actual: &Value, at: &mut Path, ignored: &[&[Step]]) {
        match (expected, actual) {
            (Value::Object(wanted), Value::Object(found)) => {
                for (name, value) in wanted {
                    let step = Step::Field(name.clone());
                    self.pair((Some(value), found.get(name)), step, at, ignored);
                }
                for (name, value) in found.iter().filter(|(name, _)| !wanted.contains_key(*name)) {
                    let step = Step::Field(name.clone());
                    self.pair((None, Some(value)), step, at, ignored);
                }
            }
            (Value::Array(wanted), Value::Array(found)) => {
                for index in 0..wanted.len().max(found.len()) {
                    let both = (wanted.get(index), found.get(index));
                    self.pair(both, Step::Index(index), at, ignored);
                }
            }
            _ if is_same(expected, actual) => {}
            _ => self.add(DifferenceKind::Changed, at, Some(expected), Some(actual)),
        }
    }

    /// What is expected one step down, and what is there.
    fn pair(
        &mut self,
        (expected, actual): (Option<&Value>, Option<&Value>),
        step: Step,
        at: &mut Path,
        ignored: &[&[Step]],
    ) {
        let ignored = below(ignored, &step);
        if is_whole(&ignored) {
            return;
        }
        at.push(step);
        match (expected, actual) {
            (Some(expected), Some(actual)) => self.walk(expected, actual, at, &ignored),
            (Some(_), None) => self.add(DifferenceKind::Missing, at, expected, None),
            (None, Some(_)) => self.add(DifferenceKind::Unexpected, at, None, actual),
            (None, None) => {}
        }
        at.pop();
    }

    fn add(&mut self, kind: DifferenceKind, at: &Path, expected: Option<&Value>, actual: Option<&Value>) {
        if self.listed.len() >= DIFFERENCES_MAX {
            self.omitted += 1;
            return;
        }
        self.listed.push(Difference {
            path: cut(at.to_string()),
            kind,
            expected: expected.map(shown),
            actual: actual.map(shown),
        });
    }
}

/// What is ignored one step down: the steps that lead there from that place.
fn below<'p>(ignored: &[&'p [Step]], step: &Step) -> Vec<&'p [Step]> {
    let paths = ignored.iter().filter_map(|path| path.split_first());
    paths
        .filter(|(own, _)| **own == Step::Any || *own == step)
        .map(|(_, rest)| rest)
        .collect()
}

/// Whether a place is ignored itself, with all that is below.
fn is_whole(ignored: &[&[Step]]) -> bool {
    ignored.iter().any(|path| path.is_empty())
}

/// Whether two values that are not both objects or both lists are equal; numbers are as JavaScript has them.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one == other || one.as_f64() == other.as_f64(),
        _ => one == other,
    }
}

/// The beginning of a long path. No such path can be ignored either.
fn cut(mut path: String) -> String {
    if path.len() > PATH_BYTES_MAX {
        path.truncate(path.floor_char_boundary(PATH_BYTES_MAX));
        path.push('…');
    }
    path
}

/// The value, or an excerpt of its JSON.
fn shown(value: &Value) -> Value {
    let text = value.to_string();
    if text.len() <= VALUE_BYTES_MAX {
        return value.clone();
    }
    let excerpt = text.get(..text.floor_char_boundary(EXCERPT_BYTES));
    json!({"truncated": true, "bytes": text.len(), "excerpt": excerpt})
}

#[cfg(test)]
mod tests {
    use super::{DIFFERENCES_MAX, DifferenceKind, Differences};
    use crate::test_cases::path::Path;
    use serde_json::{Value, json};

    fn values() -> Vec<Value> {
        vec![
            json!(null),
            json!(true),
            json!(0),
            json!(-1.5),
            json!(""),
            json!("ä\u{0}"),
            json!([]),
            json!({}),
            json!([1, [2, {"a": null}]]),
            json!({"a": {"b": [1, 2, {"c": "d"}]}, "a.b": 1, "": [null]}),
            json!((0..200).collect::<Vec<u32>>()),
        ]
    }

    fn between(expected: &Value, actual: &Value, ignored: &[&str]) -> Differences {
        let ignored: Vec<Path> = ignored.iter().map(|path| path.parse().unwrap()).collect();
        Differences::between(expected, actual, &"output".parse().unwrap(), &ignored)
    }

    #[test]
    fn a_value_is_equal_to_itself_and_to_no_other() {
        for (index, one) in values().iter().enumerate() {
            for (number, other) in values().iter().enumerate() {
                let found = between(one, other, &[]);
                assert_eq!(found.is_empty(), index == number, "{one} {other} {found:?}");
            }
        }
    }

    #[test]
    fn what_differs_is_equal_once_it_is_ignored() {
        for one in values() {
            for other in values() {
                let found = between(&one, &other, &[]);
                let told: Vec<&str> = found.listed.iter().map(|each| each.path.as_str()).collect();
                let rest = between(&one, &other, &told);
                // Those that were only counted are told now.
                assert_eq!(
                    rest.listed.len(),
                    found.omitted.min(DIFFERENCES_MAX),
                    "{one} {other} {rest:?}"
                );
                assert!(between(&one, &other, &["output"]).is_empty());
            }
        }
    }

    #[test]
    fn a_path_ignores_itself_and_what_is_below() {
        let of = |number: u32| json!({"items": [{"id": {"deep": number}}]});
        let (one, other) = (of(1), of(2));
        for ignored in [
            "output",
            "output.items",
            "output.items[0].id",
            "output.items[*].id.deep",
            "output.*[0]",
        ] {
            assert!(between(&one, &other, &[ignored]).is_empty(), "{ignored}");
        }
        for ignored in [
            "error",
            "output.item",
            "output.items[1]",
            "output.items[0].id.deep.er",
            "output[\"items[0]\"]",
        ] {
            assert_eq!(between(&one, &other, &[ignored]).listed.len(), 1, "{ignored}");
        }
    }

    #[test]
    fn both_sides_differ_in_the_same_places() {
        for one in values() {
            for other in values() {
                let (there, back) = (between(&one, &other, &[]), between(&other, &one, &[]));
                let places = |found: &Differences| {
                    let mut paths: Vec<String> = found.listed.iter().map(|each| each.path.clone()).collect();
                    paths.sort();
                    paths
                };
                assert_eq!(places(&there), places(&back), "{one} {other}");
                assert_eq!(there.omitted, back.omitted);
            }
        }
    }

    #[test]
    fn places_are_told_with_both_values() {
        let expected = json!({"items": [{"id": 1, "at": "x"}, {"id": 2, "at": "y"}], "gone": null, "n": 1});
        let actual = json!({"n": 1.0, "items": [{"at": "z", "id": 7}, {"id": 2, "at": "q"}, 3], "new": []});
        let found = between(&expected, &actual, &["output.items[*].at"]);
        let told: Vec<(&str, DifferenceKind)> = found
            .listed
            .iter()
            .map(|each| (each.path.as_str(), each.kind))
            .collect();
        assert_eq!(
            told,
            [
                ("output.items[0].id", DifferenceKind::Changed),
                ("output.items[2]", DifferenceKind::Unexpected),
                ("output.gone", DifferenceKind::Missing),
                ("output.new", DifferenceKind::Unexpected),
            ]
        );
        assert_eq!(
            (&found.listed[0].expected, &found.listed[0].actual),
            (&Some(json!(1)), &Some(json!(7)))
        );
        assert_eq!(
            (&found.listed[2].expected, &found.listed[2].actual),
            (&Some(json!(null)), &None)
        );
    }

    #[test]
    fn what_is_told_is_bounded() {
        let (one, other) = (json!(vec![1; 500]), json!(vec![2; 500]));
        let found = between(&one, &other, &[]);
        assert_eq!((found.listed.len(), found.omitted), (DIFFERENCES_MAX, 450));
        let found = between(&json!("x".repeat(100_000)), &json!(null), &[]);
        let expected = found.listed[0].expected.clone().unwrap();
        assert_eq!(
            (&expected["truncated"], &expected["bytes"]),
            (&json!(true), &json!(100_002))
        );
        assert!(expected.to_string().len() < 1_000);
    }

    #[test]
    fn long_names_cost_no_more_the_more_values_are_below() {
        // A copy of the name for each value would be a terabyte.
        let name = "ä".repeat(1 << 20);
        let one = json!({ (name.as_str()): vec![1; 500_000] });
        assert!(between(&one, &one, &[]).is_empty());
        let mut other = one.clone();
        other[name.as_str()][499_999] = json!(2);
        let found = between(&one, &other, &[]);
        assert_eq!((found.listed.len(), found.omitted), (1, 0));
        let path = found.listed[0].path.as_str();
        assert!(path.starts_with("output.ää") && path.ends_with('…') && path.len() < 1_100);
    }
}
