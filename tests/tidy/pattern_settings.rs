//! docs/settings.md has every setting of a pattern that the compiler reads and the API takes, and no other.

use super::root;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

type Names = BTreeSet<String>;

#[test]
fn the_page_has_the_fields_that_the_compiler_reads() {
    let source = read("compiler/src/graph.rs");
    for (table, constant) in [
        ("`settings`", "SETTINGS"),
        ("`retry`, of", "RETRY"),
        ("`data`", "DATA"),
    ] {
        let (_, list) = source
            .split_once(&format!("const {constant}: &[&str] = &["))
            .unwrap();
        let list = list.split(']').next().unwrap();
        let names: Names = list.split('"').skip(1).step_by(2).map(str::to_owned).collect();
        assert!(!names.is_empty());
        assert_eq!(fields_of_table(table), names, "{table}");
    }
}

#[test]
fn the_page_has_the_fields_that_the_api_takes() {
    let document: Value = serde_json::from_str(&read("console/openapi.json")).unwrap();
    let fields = |schema: &str| -> Names {
        let properties = document["components"]["schemas"][schema]["properties"].as_object();
        properties.unwrap().keys().cloned().collect()
    };
    let pattern: Names = &fields("CreateRequest") | &fields("UpdateRequest");
    assert_eq!(
        fields_of_table("field of `POST /api/patterns` and `PUT /api/patterns/:id`"),
        pattern
    );
    let deploy = "field of `POST /api/patterns/:id/deploy`";
    assert_eq!(fields_of_table(deploy), fields("DeployBody"));
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

/// The first cells of the table whose head begins so.
fn fields_of_table(head: &str) -> Names {
    let page = read("docs/settings.md");
    let (_, table) = page.split_once(&format!("\n| {head}")).unwrap();
    let rows = table.lines().skip(2).take_while(|line| line.starts_with('|'));
    let names: Names = rows
        .filter_map(|row| row.split('`').nth(1))
        .map(str::to_owned)
        .collect();
    assert!(!names.is_empty(), "the table {head} was not found");
    names
}
