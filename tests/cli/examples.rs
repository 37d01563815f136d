//! Every pattern under `examples/`, and those that pages of the documentation draw, give what their folder says: against a
//! server, and offline with their pins.

use super::harness::{Place, root};
use super::http_server::Server;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folders of the examples, each with the files it holds.
fn examples() -> Vec<PathBuf> {
    folders_under("examples")
}

/// Also those of the patterns that pages explain by a picture.
fn folders() -> Vec<PathBuf> {
    [examples(), folders_under("docs/graphs")].concat()
}

fn folders_under(place: &str) -> Vec<PathBuf> {
    let mut folders: Vec<_> = fs::read_dir(root().join(place))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir() && is_built(path))
        .collect();
    folders.sort();
    assert!(folders.len() >= 3, "the patterns of {place} were not found");
    folders
}

/// Whether the components that its definitions name are there; `custom_nodes` builds those that are not checked in.
fn is_built(folder: &Path) -> bool {
    let pattern = json(folder, "pattern.json").unwrap_or_default();
    let mut definitions = pattern["nodeDefinitions"].as_object().into_iter().flatten();
    definitions.all(|(_, definition)| {
        let file = definition["component"]["file"].as_str();
        file.is_none_or(|file| folder.join(file).exists())
    })
}

fn json(folder: &Path, name: &str) -> Option<Value> {
    let text = fs::read_to_string(folder.join(name)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

fn arguments(folder: &Path, flags: &[(&str, &str)]) -> Vec<String> {
    let mut arguments = vec![
        "run".to_owned(),
        folder.join("pattern.json").display().to_string(),
        "--json".to_owned(),
    ];
    for (flag, name) in flags {
        if folder.join(name).exists() {
            arguments.extend([(*flag).to_owned(), folder.join(name).display().to_string()]);
        }
    }
    arguments
}

/// The folder's connections, with the server in place of the services.
fn connections(place: &Place, folder: &Path, server: &Server) -> Vec<String> {
    let Some(Value::Object(mut connections)) = json(folder, "connections.json") else {
        return Vec::new();
    };
    for connection in connections.values_mut() {
        let url = connection["baseUrl"].as_str().unwrap();
        let path = url.splitn(4, '/').nth(3).unwrap_or_default();
        connection["baseUrl"] = format!("http://{}/{path}", server.address()).into();
    }
    let file = place.file("connections.json", Value::from(connections).to_string());
    vec!["--connections".to_owned(), file.to_owned()]
}

const PINS: &[(&str, &str)] = &[("--pin", "pins.json")];

const FILES: &[(&str, &str)] = &[
    ("--event", "event.json"),
    ("--vars", "vars.json"),
    ("--secrets", "secrets.json"),
];

#[test]
fn examples_give_what_they_promise() {
    let mut failures = BTreeMap::new();
    for folder in folders() {
        let server =
            json(&folder, "server.json").map(|script| Server::start(script.as_array().unwrap().clone()));
        // What needs more than a server that answers, such as a person, is pinned here as well.
        let files = if server.is_some() {
            FILES.to_vec()
        } else {
            [FILES, PINS].concat()
        };
        let mut arguments = arguments(&folder, &files);
        let place = Place::new();
        if let Some(server) = &server {
            arguments.extend(["--egress-allow".to_owned(), server.address()]);
            arguments.extend([
                "--var".to_owned(),
                format!("API_BASE=http://{}", server.address()),
            ]);
            arguments.extend(connections(&place, &folder, server));
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = place.run(&arguments);
        let result: Value = serde_json::from_str(&ended.stdout).unwrap_or_default();
        let response = result["response"].clone();
        let expected_response = json(&folder, "response.json").unwrap_or_default();
        if result["output"] != json(&folder, "expected.json").unwrap()
            || !covers(&response, &expected_response)
        {
            failures.insert(folder.display().to_string(), ended);
        } else if let Some(server) = server {
            server.assert_used();
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn examples_with_requests_run_offline_with_their_pins() {
    for folder in folders()
        .iter()
        .filter(|folder| folder.join("server.json").exists())
    {
        let files = [FILES, PINS].concat();
        let arguments = arguments(folder, &files);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let ended = Place::new().run(&arguments);
        ended.assert_code(0);
        if !folder.ends_with("paged-download") {
            // That one's pin is the last page alone.
            assert_eq!(
                Some(&ended.json()["output"]),
                json(folder, "expected.json").as_ref(),
                "{ended:#?}"
            );
        }
    }
}

#[test]
fn examples_have_no_warnings() {
    for folder in folders() {
        let pattern = folder.join("pattern.json").display().to_string();
        let checked = Place::new().run(&["validate", "--json", &pattern]).json();
        assert_eq!(checked["files"][0]["errors"], serde_json::json!([]), "{pattern}");
        assert_eq!(
            checked["files"][0]["warnings"],
            serde_json::json!([]),
            "{pattern}"
        );
    }
}

#[test]
fn every_example_says_what_it_is() {
    for folder in examples() {
        let name = folder.file_name().unwrap().to_str().unwrap();
        let readme = fs::read_to_string(folder.join("README.md")).unwrap();
        assert!(
            readme.contains(&format!("heddle run examples/{name}/pattern.json")),
            "{name}"
        );
    }
}

/// Whether `actual` has all that `expected` has; more fields are fine.
fn covers(actual: &Value, expected: &Value) -> bool {
    match (actual, expected) {
        (_, Value::Null) => true,
        (Value::Object(actual), Value::Object(expected)) => expected
            .iter()
            .all(|(name, value)| actual.get(name).is_some_and(|found| covers(found, value))),
        _ => actual == expected,
    }
}
