//! Date-times, durations and dates against Luxon and JavaScript's `Date`: thousands of seeded cases. Skipped
//! where there is no `node`, or no Luxon and no `npm` that could fetch it, but not in CI.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a failed step fails the test"
)]

mod cases;
mod evaluate;
#[path = "../../../../tests/shared/luxon.rs"]
mod luxon;
#[path = "../../../../tests/shared/needs.rs"]
mod needs;
#[path = "../../../../tests/shared/node.rs"]
mod node;

use cases::{Case, Generator};

/// What both sides take for now: a Saturday in November.
const NOW_MS: f64 = 1_795_256_643_123.0;

fn ask(cases: &[Case]) -> Option<Vec<String>> {
    let luxon = needs::or_skip("Luxon", luxon::folder())?;
    let input = serde_json::json!({ "luxon": luxon, "now": NOW_MS, "cases": cases });
    node::ask(include_str!("oracle.js"), &input)
}

/// The number of differences and the first of them.
fn differences(cases: &[Case], theirs: &[String]) -> Option<String> {
    assert_eq!(theirs.len(), cases.len());
    let mut differences = Vec::new();
    for (case, theirs) in cases.iter().zip(theirs) {
        let ours = evaluate::answer(case);
        if !evaluate::is_same(&ours, theirs) {
            differences.push(format!("{case}\n    ours   {ours}\n    theirs {theirs}"));
        }
    }
    let shown = differences
        .iter()
        .take(12)
        .cloned()
        .collect::<Vec<_>>()
        .join("\n");
    let counts = format!("{} of {} differ", differences.len(), cases.len());
    (!differences.is_empty()).then(|| format!("{counts}\n{shown}"))
}

type Group = (&'static str, usize, fn(&mut Generator) -> Case);

const GROUPS: &[Group] = &[
    ("arithmetic across zones", 2000, Generator::arithmetic),
    ("starts and ends", 1500, Generator::start_or_end),
    ("differences", 2000, Generator::difference),
    ("formats", 2500, Generator::format),
    ("getters", 1500, Generator::getter),
    ("standard texts", 1500, Generator::standard_text),
    ("ISO texts read", 2500, Generator::read_iso),
    ("other texts read", 1500, Generator::read_other),
    ("formatted texts read", 2500, Generator::read_formatted),
    ("fields", 2500, Generator::fields),
    ("zone changes", 1500, Generator::zone_change),
    ("comparisons", 1000, Generator::comparison),
    ("relative times", 1500, Generator::relative),
    ("durations", 2500, Generator::duration_case),
    ("texts for people", 2500, Generator::for_people),
    ("dates", 2500, Generator::date),
    ("date texts read", 1500, Generator::read_date),
];

// One test: several would fetch Luxon at the same time.
#[test]
fn date_times_are_those_of_luxon() {
    let mut failures = Vec::new();
    for (name, count, make) in GROUPS {
        let mut generator = Generator::new(name);
        let cases: Vec<Case> = (0..*count).map(|_| make(&mut generator)).collect();
        let Some(theirs) = ask(&cases) else { return };
        failures.extend(differences(&cases, &theirs).map(|shown| format!("{name}: {shown}")));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}
