//! Parts of workflows, as n8n's editor copies them.

use crate::drawn::{node, node_of, says, workflow};
use heddle_import::{Calls, Imported, find, find_fragments, import};
use serde_json::{Value, json};

fn pasted(given: &Value) -> Imported {
    let found = find_fragments(given, "W").unwrap();
    assert_eq!(found.len(), 1);
    let imported = import(&found[0], &Calls::new());
    assert!(imported.report.valid, "{:#?}", imported.report);
    imported
}

fn setting(value: &str) -> Value {
    json!({"assignments": {"assignments": [{"name": "a", "type": "string", "value": value}]}})
}

/// What is said of the node `It`, by its code.
fn told<'i>(imported: &'i Imported, code: &str) -> Option<&'i str> {
    let mut items = imported.report.items.iter();
    let item = items.find(|item| item.code == code && item.node_id.as_deref() == Some("it"))?;
    Some(&item.message)
}

#[test]
fn what_reads_a_node_outside_of_it_is_not_said_to_fail_in_n8n() {
    for value in [
        "={{ $('Order').item.json.a }}",
        "={{ $json.b ? 1 : $node[\"Order\"].json.a }}",
    ] {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("It", "set", setting(value)),
        ];
        let given = workflow(&nodes, &[("Start", "It")]);
        let part = pasted(&given);
        assert!(!says(&part, "broken-expression") && !says(&part, "expression"));
        let message = told(&part, "outside").unwrap();
        assert!(
            message.contains("`Order`, which is not part of what was pasted"),
            "{message}"
        );
        let notes = &node_of(&part, "it")["data"]["notes"];
        assert!(notes.as_str().unwrap().contains("Order"), "{notes}");
        let whole = import(&find(&given, "W").unwrap()[0], &Calls::new());
        assert!(!says(&whole, "outside"), "{value}");
    }
}

#[test]
fn code_that_reads_a_node_outside_of_it_is_told() {
    let read = |name: &str| {
        let code = json!({"jsCode": format!("return $('{name}').all();")});
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("It", "code", code),
        ];
        let part = pasted(&workflow(&nodes, &[("Start", "It")]));
        told(&part, "outside").map(str::to_owned)
    };
    assert!(read("Order").unwrap().contains("`Order`"));
    assert_eq!(read("Start"), None);
}

#[test]
fn what_no_path_leads_to_is_not_said_to_fail_in_n8n() {
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("Other", "noOp", json!({})),
        node("It", "set", setting("={{ $('Other').first().json.a }}")),
    ];
    let given = workflow(&nodes, &[("Start", "It")]);
    let part = pasted(&given);
    let message = told(&part, "not-before").unwrap();
    assert!(
        message.contains("pasted") && !message.contains("n8n"),
        "{message}"
    );
    let whole = import(&find(&given, "W").unwrap()[0], &Calls::new());
    assert!(told(&whole, "not-before").unwrap().contains("n8n fails"));
}

#[test]
fn a_workflow_within_a_node_keeps_nothing_else_from_being_pasted() {
    let inner = workflow(&[node("Start", "start", json!({}))], &[]);
    let calling = json!({"source": "parameter", "workflowJson": inner.to_string()});
    let nodes = [
        node("Start", "manualTrigger", json!({})),
        node("Call", "executeWorkflow", calling),
        node("It", "noOp", json!({})),
    ];
    let part = pasted(&workflow(&nodes, &[("Start", "Call"), ("Call", "It")]));
    assert_eq!(node_of(&part, "call")["type"], "NotImported");
    assert_eq!(node_of(&part, "it")["type"], "NoOp");
    let mut items = part.report.items.iter();
    assert!(
        items.any(|item| item.message.contains("import it from a file")),
        "{:#?}",
        part.report
    );
}
