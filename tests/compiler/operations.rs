//! Operations of services: what becomes of their requests, and the rights that follow.

use crate::diagnostics::{graph, node};
use heddle_catalogue::node_types;
use heddle_compiler::lowered::Lowered;
use heddle_compiler::{Options, analyse};
use serde_json::{Value, json};

fn lowered(name: &str, parameters: Value) -> Lowered {
    let nodes = [node("start", "OnManual", json!({})), node("it", name, parameters)];
    let (lowered, found) = analyse(&graph(nodes, &["start -> it"]), &Value::Null, &Options::default());
    lowered.unwrap_or_else(|| panic!("{name}: {found:#?}"))
}

#[test]
fn all_expressions_of_the_catalogue_are_compiled() {
    for it in node_types() {
        let Some(operation) = it.operation else { continue };
        let mut parameters = operation.recorded.parameters.clone();
        parameters.insert("connection".to_owned(), "c".into());
        let lowered = lowered(it.name, Value::Object(parameters));
        let body = format!("{:?}", lowered.bodies[1]);
        assert!(!body.contains("expression: Undefined"), "{}: {body}", it.name);
        assert!(!body.contains("Name(Input)"), "{}: {body}", it.name);
        assert!(!lowered.manifest.rights.javascript, "{}", it.name);
    }
}

#[test]
fn rights_are_those_of_the_request() {
    let parameters = json!({"connection": "team", "channel": "C1", "text": "{{ $secrets.GREETING }}"});
    let rights = lowered("SlackSendMessage", parameters).manifest.rights;
    assert_eq!(rights.effects, ["http"]);
    assert_eq!(rights.hosts, ["slack.com"]);
    assert_eq!(rights.connections, ["team"]);
    assert_eq!(rights.secrets, ["GREETING"]);
    // Its address is the connection's.
    let parameters = json!({"connection": "jira", "issueKey": "{{ $input.key }}"});
    let rights = lowered("JiraGetIssue", parameters).manifest.rights;
    assert_eq!(rights.hosts, [""; 0]);
}

#[test]
fn expressions_keep_their_own_input() {
    let parameters =
        json!({"connection": "c", "owner": "{{ $input.owner }}", "repository": "r-{{ $input.owner }}"});
    let body = format!("{:?}", lowered("GitHubGetRepository", parameters).bodies[1]);
    // Once to see whether it is given, which of the other the text around it says.
    assert_eq!(
        body.matches("Member(Name(Input), \"owner\")").count(),
        3,
        "{body}"
    );
    assert!(body.contains("Text("), "{body}");
}
