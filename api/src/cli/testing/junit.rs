//! The results of tests as JUnit's XML, which CI systems read.

use super::running::{Ended, Job, Subject};
use heddle_service::test_cases::Verdict;
use serde_json::Value;
use std::fmt::Write;

/// The report: a suite for each pattern.
pub fn report(subjects: &[Subject], jobs: &[Job], ended: &[Ended]) -> String {
    let mut text = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    for (place, subject) in subjects.iter().enumerate() {
        let own = jobs.iter().zip(ended).filter(|(job, _)| job.subject == place);
        let own: Vec<(&Job, &Ended)> = own.collect();
        if own.is_empty() {
            continue;
        }
        let count = |verdict: Verdict| own.iter().filter(|(_, ended)| ended.verdict == verdict).count();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">",
            escaped(&subject.name),
            own.len(),
            count(Verdict::Failed),
            count(Verdict::Errored)
        );
        for (job, ended) in own {
            case(&mut text, subject, job, ended);
        }
        text.push_str("  </testsuite>\n");
    }
    text.push_str("</testsuites>\n");
    text
}

fn case(text: &mut String, subject: &Subject, job: &Job, ended: &Ended) {
    let _ = write!(
        text,
        "    <testcase name=\"{}\" classname=\"{}\" file=\"patterns/{}/tests/{}.json\" time=\"{:.3}\"",
        escaped(&job.case.name),
        escaped(&subject.name),
        escaped(&subject.name),
        escaped(&job.file),
        ended.took.as_secs_f64()
    );
    let (element, message) = match (ended.verdict, &ended.error) {
        (Verdict::Passed, _) => {
            text.push_str("/>\n");
            return;
        }
        (Verdict::Errored, Some(error)) => {
            let node = error.node_id.as_ref().map(|id| format!(" (node {id})"));
            let node = node.unwrap_or_default();
            ("error", format!("{}: {}{node}", error.code, error.message))
        }
        (Verdict::Errored, None) => ("error", "there was nothing to compare".to_owned()),
        (Verdict::Failed, _) => ("failure", differences(ended)),
    };
    let first = message.lines().next().unwrap_or_default();
    let _ = writeln!(
        text,
        ">\n      <{element} message=\"{}\">{}</{element}>\n    </testcase>",
        escaped(first),
        escaped(&message)
    );
}

fn differences(ended: &Ended) -> String {
    let value = |value: &Option<Value>| {
        value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), Value::to_string)
    };
    let lines = ended.differences.iter().map(|difference| {
        let (expected, actual) = (value(&difference.expected), value(&difference.actual));
        format!("{}: expected {expected}, actual {actual}", difference.path)
    });
    let lines: Vec<String> = lines.collect();
    lines.join("\n")
}

/// Text within XML 1.0, which has no control characters, not even escaped.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' => out.push_str("&#9;"),
            '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            c if c < ' ' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
