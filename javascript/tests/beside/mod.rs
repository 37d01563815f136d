//! The same JavaScript expressions here and in Node.js: one a line of `cases/`.

use crate::{needs, node, support};
use serde_json::{Value, json};
use std::path::PathBuf;

/// Answers each case by its JSON, in Node.js.
const ORACLE: &str = r#"
const { readFileSync } = require("node:fs");
const { luxon, now, cases } = JSON.parse(readFileSync(0, "utf8"));
const { DateTime, Duration, Interval, Settings } = luxon ? require(luxon) : {};
if (luxon) {
  Settings.now = () => now;
  Settings.defaultZone = "utc";
}
const answers = cases.map((source) => {
  try {
    const run = new Function("DateTime", "Duration", "Interval", `return (${source})`);
    return JSON.stringify(run(DateTime, Duration, Interval)) ?? "undefined";
  } catch {
    return "throws";
  }
});
process.stdout.write(JSON.stringify(answers));
"#;

/// What differs between here and there; `None` where there is no Node.js, or no Luxon though it is needed.
pub fn differences(cases: &str, luxon: Option<Result<PathBuf, String>>) -> Option<Vec<String>> {
    let luxon = match luxon {
        Some(found) => Some(needs::or_skip("Luxon", found)?),
        None => None,
    };
    let cases: Vec<&str> = cases.lines().filter(|line| !line.is_empty()).collect();
    let asked = json!({"luxon": luxon, "now": support::NOW_MS, "cases": cases});
    let theirs: Vec<String> = node::ask(ORACLE, &asked)?;
    let functions: Vec<String> = cases
        .iter()
        .map(|source| format!("() => ({source}),\n"))
        .collect();
    let source = format!(
        "export default () => [\n{}].map((run) => {{\n\
         try {{ return JSON.stringify(run()) ?? 'undefined'; }} catch (error) {{ return `throws: ${{error.message}}`; }}\n}});",
        functions.concat()
    );
    let ours = support::run(&source, Value::Null).unwrap_or_else(|failure| panic!("{failure}"));
    let ours: Vec<String> = serde_json::from_value(ours).unwrap();
    assert_eq!((ours.len(), theirs.len()), (cases.len(), cases.len()));
    let all = cases.iter().zip(ours.iter().zip(&theirs));
    let differing = all.filter(|(_, (ours, theirs))| !is_same(ours, theirs));
    Some(
        differing
            .map(|(source, (ours, theirs))| format!("{source}\n    ours   {ours}\n    theirs {theirs}"))
            .collect(),
    )
}

fn is_same(ours: &str, theirs: &str) -> bool {
    // The narrow space before AM and PM, which Node.js writes in some places.
    let plain = |text: &str| text.replace('\u{202f}', " ");
    plain(ours) == plain(theirs) || (theirs == "throws" && ours.starts_with("throws: "))
}
