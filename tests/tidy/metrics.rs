//! Every metric that the sources count is described, and every one that is described is counted and in the documentation.

use super::{is_test, root, sources};
use heddle_api::telemetry::metrics::METRICS;
use std::collections::BTreeSet;
use std::fs;

/// The names that stand behind `counter!(` and the like.
fn counted() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (path, text) in sources() {
        if is_test(&path) {
            continue;
        }
        for call in ["counter!(", "gauge!(", "histogram!("] {
            for rest in text.split(call).skip(1) {
                if let Some(name) = rest
                    .trim_start()
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next())
                {
                    found.insert(name.to_owned());
                }
            }
        }
    }
    found
}

#[test]
fn every_metric_is_described_and_documented() {
    let described: BTreeSet<String> = METRICS.iter().map(|(name, ..)| (*name).to_owned()).collect();
    assert_eq!(described, counted());
    let pages: String = ["docs/operations.md", "docs/server.md"]
        .map(|page| fs::read_to_string(root().join(page)).unwrap())
        .concat();
    for (name, _, help) in METRICS {
        assert!(
            pages.contains(&format!("`{name}`")),
            "neither docs/operations.md nor docs/server.md has {name}"
        );
        assert!(!help.is_empty(), "{name}");
    }
}
