//! Documents as files: nothing is lost, nothing leads elsewhere, and small changes are small.

use crate::documents::{document, documents, edge, node};
use heddle_remote::Error;
use heddle_remote::directory::{Config, Directory};
use heddle_remote::document::Document;
use heddle_remote::files::{Files, directory_name, document_of, files_of};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::path::Path;

fn read(files: &Files) -> Result<Document, String> {
    document_of(|path| Ok(files.get(path).cloned()))
}

fn text<'a>(files: &'a Files, path: &str) -> &'a str {
    std::str::from_utf8(&files[path]).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_is_written_is_read(document in documents()) {
        let files = files_of(&document);
        prop_assert_eq!(read(&files).unwrap().digest(), document.digest());
        prop_assert_eq!(&files_of(&read(&files).unwrap()), &files);
        let mut names = HashSet::new();
        for path in files.keys() {
            prop_assert!(names.insert(path.to_lowercase()), "{} twice", path);
            prop_assert!(path.split('/').all(|part| !part.is_empty() && !part.starts_with('.')), "{}", path);
        }
        let directory = tempfile::tempdir().unwrap();
        let directory = workspace(directory.path());
        directory.write("it", &document, None).unwrap();
        prop_assert_eq!(directory.read("it").unwrap().digest(), document.digest());
    }

    #[test]
    fn names_of_directories_are_names(name in "\\PC{0,80}") {
        let name = directory_name(&name);
        prop_assert!(!name.is_empty() && name.chars().count() <= 60);
        prop_assert!(!name.contains(['/', '\\', '.', ':', ' ']), "{}", name);
    }
}

fn workspace(root: &Path) -> Directory {
    let config = Config {
        server: "http://127.0.0.1:1".to_owned(),
        workspace: "w".to_owned(),
    };
    Directory::create(root, config).unwrap()
}

#[test]
fn a_change_of_a_node_is_a_change_of_its_lines() {
    let nodes = json!([node("start", 1), node("end", 2)]);
    let before = files_of(&document(&nodes, &json!([edge("start", "end")])));
    let moved = json!([node("start", 1), {
        "id": "end", "type": "Transform", "position": {"x": 7, "y": 7},
        "data": {"label": "The end", "parameters": {"value": "{{ 3 }}"}},
    }]);
    let after = files_of(&document(&moved, &json!([edge("start", "end")])));
    let differing = |path: &str| -> Vec<(String, String)> {
        let pairs = text(&before, path).lines().zip(text(&after, path).lines());
        let pairs = pairs.filter(|(old, new)| old != new);
        pairs
            .map(|(old, new)| (old.trim().to_owned(), new.trim().to_owned()))
            .collect()
    };
    let data = |number: i64| {
        format!(r#""data": {{"label": "The end", "parameters": {{"value": "{{{{ {number} }}}}"}}}}"#)
    };
    assert_eq!(differing("pattern.json"), [(data(2), data(3))]);
    let position = |text: &str| format!(r#""end": {text}"#);
    assert_eq!(
        differing("layout.json"),
        [(position(r#"{"x": 20, "y": 0}"#), position(r#"{"x": 7, "y": 7}"#))]
    );
    let pattern = text(&before, "pattern.json");
    assert!(
        pattern.contains("\n      {\"id\": \"start-end\", \"source\": \"start\", \"target\": \"end\"}\n"),
        "{pattern}"
    );
}

#[test]
fn code_of_several_lines_is_in_files_that_people_can_edit() {
    let code = "export default ({input}) => {\n  return input;\n};\n";
    let nodes = json!([{"id": "total", "type": "JavaScript", "data": {"parameters": {"code": code}}}]);
    let mut files = files_of(&document(&nodes, &json!([])));
    assert_eq!(text(&files, "code/total.js"), code);
    assert!(text(&files, "pattern.json").contains(r#"{"file": "code/total.js"}"#));
    files.insert("code/total.js".to_owned(), b"export default () => 1;\n".to_vec());
    let edited = read(&files).unwrap();
    assert_eq!(
        edited.graph["nodes"][0]["data"]["parameters"]["code"],
        "export default () => 1;\n"
    );
}

#[test]
fn files_elsewhere_are_not_read() {
    for path in [
        "../secret",
        "/etc/passwd",
        "code/../../secret",
        "a\\b",
        "c:d",
        "",
        "./x",
    ] {
        let pattern = json!({"name": "x", "graphData": {"nodes": [
            {"id": "a", "type": "JavaScript", "data": {"parameters": {"code": {"file": path}}}},
        ]}});
        let files = Files::from([("pattern.json".to_owned(), pattern.to_string().into_bytes())]);
        let asked = document_of(|asked| match asked {
            "pattern.json" => Ok::<_, String>(files.get(asked).cloned()),
            "layout.json" => Ok(None),
            other => panic!("{other} was read"),
        });
        assert_eq!(
            asked.unwrap_err(),
            format!("pattern.json: `{path}` must be a file in the pattern's directory")
        );
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_elsewhere_are_not_followed() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret"), "s").unwrap();
    let root = tempfile::tempdir().unwrap();
    let directory = workspace(root.path());
    let folder = directory.path_of("it");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(outside.path(), folder.join("code")).unwrap();
    let pattern = json!({"name": "x", "graphData": {"nodes": [
        {"id": "a", "type": "JavaScript", "data": {"parameters": {"code": {"file": "code/secret"}}}},
    ]}});
    std::fs::write(folder.join("pattern.json"), pattern.to_string()).unwrap();
    let error = directory.read("it").unwrap_err();
    assert!(
        matches!(&error, Error::Invalid { message, .. } if message.contains("leads out")),
        "{error}"
    );
    // Nor is anything written there.
    let nodes = json!([{"id": "a", "type": "JavaScript", "data": {"parameters": {"code": "1\n2"}}}]);
    let written = directory.write("it", &document(&nodes, &json!([])), None);
    assert!(written.is_err());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn what_is_no_pattern_is_said() {
    let wrong = |text: &str| {
        let files = Files::from([("pattern.json".to_owned(), text.as_bytes().to_vec())]);
        read(&files).unwrap_err()
    };
    assert!(wrong("{").starts_with("pattern.json: EOF"), "{}", wrong("{"));
    assert_eq!(
        wrong("[]"),
        "pattern.json: this is not a pattern: it must be an object with `name` and `graphData`, or a graph with `nodes` \
         and `edges`"
    );
    let missing = json!({"name": "x", "nodeDefinitions": {"A": {"code": {"file": "code/a.js"}}}});
    assert_eq!(
        wrong(&missing.to_string()),
        "pattern.json names code/a.js, which is not there"
    );
}

#[test]
fn files_that_a_document_has_no_more_are_removed_and_others_stay() {
    let root = tempfile::tempdir().unwrap();
    let directory = workspace(root.path());
    let code = |text: &str| {
        document(
            &json!([{"id": "a", "type": "JavaScript", "data": {"parameters": {"code": text}}}]),
            &json!([]),
        )
    };
    let (long, short) = (code("1\n2"), code("1"));
    directory.write("it", &long, None).unwrap();
    let folder = directory.path_of("it");
    std::fs::write(folder.join("README.md"), "mine").unwrap();
    assert!(folder.join("code/a.js").is_file());
    directory.write("it", &short, Some(&long)).unwrap();
    assert!(!folder.join("code").exists());
    directory.remove("it", &short);
    let left: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["README.md"]);
    assert_eq!(Value::from(directory.names().unwrap()), json!([]));
}
