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
        let body = format!("{:?}", &lowered.bodies[1..]);
        assert!(!body.contains("expression: Undefined"), "{}: {body}", it.name);
        // The second of two requests gets what the first has found.
        let gets_found = operation.find.is_some();
        assert_eq!(body.contains("Name(Input)"), gets_found, "{}: {body}", it.name);
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
fn a_trigger_of_a_service_starts_runs_as_a_webhook_or_a_poll() {
    let triggered = |name: &str, parameters: Value| {
        let nodes = [node("it", name, parameters), node("end", "Return", json!({}))];
        let (lowered, found) = analyse(&graph(nodes, &["it -> end"]), &Value::Null, &Options::default());
        let manifest = lowered.unwrap_or_else(|| panic!("{found:#?}")).manifest;
        (manifest.triggers[0].clone(), manifest.rights, found.len())
    };
    let (trigger, rights, warnings) = triggered(
        "OnGmailMessage",
        json!({"connection": "mail", "search": "is:unread"}),
    );
    assert_eq!((trigger.node_type.as_str(), warnings), ("OnPoll", 0));
    assert_eq!(trigger.parameters["query"]["q"], "is:unread");
    assert_eq!(
        (rights.connections, rights.hosts),
        (vec!["mail".to_owned()], vec!["gmail.googleapis.com".to_owned()])
    );
    let (trigger, rights, warnings) = triggered("OnGitHubEvent", json!({"maxBytes": 100}));
    assert_eq!((trigger.node_type.as_str(), warnings), ("OnWebhook", 0));
    assert_eq!(
        Value::Object(trigger.parameters),
        json!({"scheme": "github", "maxBytes": 100})
    );
    assert!(rights.hosts.is_empty());
    // Nothing proves who has sent it.
    assert_eq!(triggered("OnJotformSubmission", json!({})).2, 1);
}

#[test]
fn an_operation_of_two_requests_evaluates_its_parameters_once() {
    let row = json!({"id": "{{ $input.id }}", "total": 1});
    let parameters = json!({"connection": "c", "spreadsheetId": "s", "sheet": "{{ $input.sheet }}", "column": "id", "row": row});
    let lowered = lowered("GoogleSheetsUpsertRow", parameters);
    let ids: Vec<&str> = lowered.plan.nodes.iter().map(|node| node.id.as_str()).collect();
    assert_eq!(
        ids,
        ["start", "it", "it/$given", "it/$find", "it/$request", "it/$out"]
    );
    let uses = |place: usize| {
        let body = format!("{:?}", lowered.bodies[place]);
        (body.contains("Name(Input)"), body.contains("Name(NodeOutput(2))"))
    };
    assert_eq!(
        [uses(2), uses(3), uses(4)],
        [(true, false), (false, true), (true, true)]
    );
    let effects: Vec<&str> = lowered.effects.iter().map(|node| node.node_id.as_str()).collect();
    assert_eq!(effects, ["it"]);
    let rights = lowered.manifest.rights;
    assert_eq!(
        (rights.hosts, rights.connections),
        (vec!["sheets.googleapis.com".to_owned()], vec!["c".to_owned()])
    );
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
