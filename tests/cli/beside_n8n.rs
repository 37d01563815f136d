//! What imported workflows give beside what n8n gives: `n8n/cases` has small workflows, each for one habit of n8n's, and what leaves
//! their last node; `n8n/expressions.json` has expressions. heddle executes what it imports of them, and n8n's own engine, installed
//! by npm the first time, executes them. Those in `n8n/served` take a server of heddle's: `tests/http` executes them there.

use super::harness::{Place, root};
use super::http_server::Server;
use super::n8n_cases::{self, assert_all, items, workflow};
use super::{needs, npm};
use serde_json::{Value, json};
use std::fs;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// A workflow with a few nodes between "Start" and "End".
struct Case {
    name: String,
    /// What "Start" gives.
    items: Value,
    workflow: Value,
    /// What "End" gives in n8n, or "fails".
    n8n: Value,
    /// The same in heddle.
    heddle: Value,
    /// How the server that its nodes call `{server}` answers n8n and heddle, request by request.
    answers: [Vec<Value>; 2],
}

/// The cases. One with `heddle` differs, and says `why`.
fn cases() -> Vec<Case> {
    n8n_cases::read("cases").iter().map(case).collect()
}

fn case(given: &Value) -> Case {
    let n8n = &given["n8n"];
    let answers = |of: &str| -> Vec<Value> {
        let answers = given.get(of).or(given.get("answers")).and_then(Value::as_array);
        let answer = |one: &Value| {
            let body = json!({"status": one["status"]});
            json!({"method": "GET", "path": one["path"], "status": one["status"], "body": body})
        };
        answers.into_iter().flatten().map(answer).collect()
    };
    Case {
        name: given["name"].as_str().unwrap().to_owned(),
        items: given["items"].clone(),
        workflow: workflow(given),
        n8n: n8n.clone(),
        heddle: given.get("heddle").unwrap_or(n8n).clone(),
        answers: [answers("answers"), answers("heddleAnswers")],
    }
}

impl Case {
    /// The server that its nodes send requests to, if they do, and the workflow with its address.
    fn served(&self, answers: &[Value]) -> (Option<Server>, Value) {
        if answers.is_empty() {
            return (None, self.workflow.clone());
        }
        let server = Server::start(answers.to_vec());
        let text = self.workflow.to_string();
        let text = text.replace("{server}", &format!("http://{}", server.address()));
        (Some(server), serde_json::from_str(&text).unwrap())
    }
}

fn names(cases: &[Case]) -> Vec<&str> {
    cases.iter().map(|case| case.name.as_str()).collect()
}

#[test]
fn imported_workflows_give_what_n8n_gives() {
    let (cases, place) = (cases(), Place::new());
    fs::create_dir(place.path("workflows")).unwrap();
    let mut servers = Vec::new();
    for (number, case) in cases.iter().enumerate() {
        let [_, answers] = &case.answers;
        let (server, workflow) = case.served(answers);
        servers.push(server);
        place.file(&format!("workflows/{number:03}.json"), workflow.to_string());
        place.file(&format!("{number:03}.json"), case.items.to_string());
    }
    let told = place.run(&["import", "n8n", "workflows", "-o", "patterns", "--json"]);
    let told = told.assert_code(0).json();
    let imported = told["workflows"].as_array().unwrap();
    let given: Vec<Value> = imported
        .iter()
        .zip(&servers)
        .enumerate()
        .map(|(number, (imported, server))| {
            let (file, event) = (imported["output"].as_str().unwrap(), format!("{number:03}.json"));
            let address = server.as_ref().map(Server::address);
            let mut arguments = vec!["run", file, "--event", event.as_str(), "--fast", "--json"];
            if let Some(address) = &address {
                arguments.extend(["--egress-allow", address.as_str()]);
            }
            items(&place.run(&arguments).json())
        })
        .collect();
    let expected: Vec<&Value> = cases.iter().map(|case| &case.heddle).collect();
    assert_all(&names(&cases), &expected, &given);
    servers.iter().flatten().for_each(Server::assert_used);
}

/// What a run gave in n8n. Why it failed is of interest only where it should not have.
fn given_by_n8n(answer: &Value, expected: &Value) -> Value {
    match answer.get("items") {
        Some(items) => items.clone(),
        None if expected == "fails" => json!("fails"),
        None => answer.clone(),
    }
}

#[test]
fn n8n_gives_what_the_cases_say() {
    let cases = cases();
    let (servers, asked): (Vec<Option<Server>>, Vec<Value>) = cases
        .iter()
        .map(|case| {
            let [answers, _] = &case.answers;
            let (server, workflow) = case.served(answers);
            (server, json!({"workflow": workflow, "runs": [case.items]}))
        })
        .unzip();
    let Some(answers) = ask(asked) else {
        return;
    };
    let given: Vec<Value> = answers
        .iter()
        .zip(&cases)
        .map(|(answer, case)| given_by_n8n(&answer[0], &case.n8n))
        .collect();
    let expected: Vec<&Value> = cases.iter().map(|case| &case.n8n).collect();
    assert_all(&names(&cases), &expected, &given);
    servers.iter().flatten().for_each(Server::assert_used);
}

/// Those with several runs, which keep something, and with several workflows, which call each other.
#[test]
fn n8n_gives_what_the_cases_of_several_runs_and_workflows_say() {
    let cases = n8n_cases::read("served");
    let asked = cases.iter().map(
        |case| json!({"workflow": workflow(case), "runs": case["runs"], "others": n8n_cases::others(case)}),
    );
    let Some(answers) = ask(asked.collect()) else {
        return;
    };
    let runs = |case: &Value| case["runs"].as_array().unwrap().len();
    let given: Vec<Value> = answers
        .iter()
        .zip(&cases)
        .map(|(answers, case)| {
            let runs = (0..runs(case)).map(|run| given_by_n8n(&answers[run], &case["n8n"][run]));
            runs.collect()
        })
        .collect();
    let names: Vec<&str> = cases.iter().map(|case| case["name"].as_str().unwrap()).collect();
    let expected: Vec<&Value> = cases.iter().map(|case| &case["n8n"]).collect();
    assert_all(&names, &expected, &given);
}

/// An expression's value is put into a text as JSON: then nothing can be told from null.
fn shown(expression: &str) -> String {
    format!("=value: {{{{ JSON.stringify({expression}) }}}}")
}

/// The workflow whose "End" gives the expressions' values as fields.
fn of_expressions(expressions: &[&str]) -> Value {
    let fields: Vec<Value> = expressions
        .iter()
        .enumerate()
        .map(|(number, expression)| {
            json!({"id": number.to_string(), "name": format!("value{number}"), "type": "string", "value": shown(expression)})
        })
        .collect();
    let parameters = json!({"assignments": {"assignments": fields}, "options": {}});
    workflow(&json!({"name": "Expressions", "nodes": [
        {"name": "Set", "type": "set", "typeVersion": 3.4, "parameters": parameters},
    ]}))
}

/// The item, and the item without each of its fields, and without all.
fn complete_and_missing(item: &Value) -> Vec<Value> {
    let fields = item.as_object().unwrap();
    let without = |name: &String| {
        let mut fields = fields.clone();
        fields.remove(name);
        Value::Object(fields)
    };
    let mut items = vec![item.clone(), json!({})];
    items.extend(fields.keys().map(without));
    items
}

#[test]
fn expressions_have_the_values_that_n8n_gives_with_all_fields_and_with_missing_ones() {
    let file = root().join("tests/cli/n8n/expressions.json");
    let given: Value = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    let expressions = given["expressions"].as_array().unwrap();
    let expressions: Vec<&str> = expressions.iter().map(|one| one.as_str().unwrap()).collect();
    let all = complete_and_missing(&given["item"]);
    // In n8n each by itself: one that fails would take the others along.
    let pairs = all
        .iter()
        .flat_map(|item| expressions.iter().map(move |one| (item, *one)));
    let asked = pairs
        .clone()
        .map(|(item, one)| json!({"workflow": of_expressions(&[one]), "runs": [[item]]}));
    let Some(answers) = ask(asked.collect()) else {
        return;
    };
    let place = Place::new();
    place.file("workflow.json", of_expressions(&expressions).to_string());
    place.file("event.json", json!(all).to_string());
    let told = place.run(&["import", "n8n", "workflow.json", "-o", "patterns", "--json"]);
    let told = told.assert_code(0).json();
    assert_eq!(told["summary"]["repaired"], 0, "{told:#}");
    let file = told["workflows"][0]["output"].as_str().unwrap();
    let ended = place.run(&["run", file, "--event", "event.json", "--fast", "--json"]);
    let ours = items(&ended.json());
    let ours = ours.as_array().unwrap().iter().flat_map(|item| {
        let names = (0..expressions.len()).map(|number| format!("value{number}"));
        names.map(move |name| item[name].clone())
    });
    let ours: Vec<Value> = ours.collect();
    assert_eq!(
        (ours.len(), answers.len()),
        (all.len() * expressions.len(), ours.len())
    );
    let differences: Vec<String> = pairs
        .zip(ours.iter().zip(&answers))
        .filter_map(|((item, one), (ours, answer))| {
            // n8n fails where its own methods get nothing, and has no value that could differ.
            let theirs = answer[0]["items"].get(0)?.get("value0")?;
            (ours != theirs).then(|| format!("{one} of {item}\n    {ours}\n    n8n: {theirs}"))
        })
        .collect();
    assert!(
        differences.len() * 1_000 <= ours.len(),
        "{} of {} differ:\n{}",
        differences.len(),
        ours.len(),
        differences.join("\n")
    );
}

/// What n8n answers to `{workflow, runs, others}`, a list for each: what came of its runs, of which each has the items of its start.
/// None where it can't be had: then the test is skipped.
fn ask(asked: Vec<Value>) -> Option<Vec<Value>> {
    let dir = needs::or_skip("n8n", npm::install("cli/n8n", "oracle.mjs"))?;
    let mut node = Command::new("node")
        .arg("oracle.mjs")
        .current_dir(dir)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = node.stdin.take().unwrap();
    // It answers once it has read everything.
    stdin
        .write_all(Value::from(asked).to_string().as_bytes())
        .unwrap();
    drop(stdin);
    let ended = node.wait_with_output().unwrap();
    assert!(ended.status.success());
    Some(serde_json::from_slice(&ended.stdout).unwrap())
}
