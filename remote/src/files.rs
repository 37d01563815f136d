//! A pattern as files: `pattern.json`, where its nodes stand in `layout.json`, and code and components in files of their own,
//! which `pattern.json` names as `{"file": "code/total.js"}`, as `heddle run` takes it.

use crate::document::Document;
use crate::print;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_catalogue::Language;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet, HashSet};

/// The file with the graph.
pub const PATTERN: &str = "pattern.json";
/// The file with the positions of nodes.
pub const LAYOUT: &str = "layout.json";
/// Characters of a file's name, before its ending.
const NAME_MAX: usize = 60;

/// Files by their paths within the pattern's directory, with `/` between names.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What is wrong with files.
pub type Wrong = String;

/// The files of a document. The same document gives the same files.
pub fn files_of(document: &Document) -> Files {
    let mut files = Files::new();
    let mut layout = Map::new();
    let mut taken = HashSet::new();
    let mut graph = document.graph.clone();
    let mut definitions = document.definitions.clone();
    take_apart(&mut graph, "", &mut layout, &mut files, &mut taken);
    for (name, definition) in &mut definitions {
        take_code(name, definition, &mut files, &mut taken);
        if let Some(Value::Object(graph)) = definition.get_mut("graphData") {
            take_apart(graph, &format!("{name}/"), &mut layout, &mut files, &mut taken);
        }
    }
    let mut pattern = document.fields.clone();
    // What is as it is by default need not be read.
    pattern.retain(|name, value| name == "name" || ![json!(""), json!([]), json!(false)].contains(value));
    pattern.insert("graphData".to_owned(), graph.into());
    if !definitions.is_empty() {
        pattern.insert("nodeDefinitions".to_owned(), definitions.into());
    }
    files.insert(PATTERN.to_owned(), print::pattern(&pattern.into()).into_bytes());
    if !layout.is_empty() {
        files.insert(LAYOUT.to_owned(), print::by_line(&layout.into()).into_bytes());
    }
    files
}

/// Takes positions and code out of a graph's nodes.
fn take_apart(
    graph: &mut Map<String, Value>,
    prefix: &str,
    layout: &mut Map<String, Value>,
    files: &mut Files,
    taken: &mut HashSet<String>,
) {
    let placed = with_places(graph);
    let Some(Value::Array(nodes)) = graph.get_mut("nodes") else {
        return;
    };
    for node in nodes {
        let (Some(id), Some(node_type)) = (text(node, "id"), text(node, "type")) else {
            continue;
        };
        let key = format!("{prefix}{id}");
        let Some(members) = node.as_object_mut() else {
            continue;
        };
        if placed.contains(&id)
            && let Some(position) = members.shift_remove("position")
        {
            layout.insert(key.clone(), position);
        }
        for (parameter, language) in code_parameters(&node_type) {
            let Some(value) = node.pointer_mut(&format!("/data/parameters/{parameter}")) else {
                continue;
            };
            let Some(code) = value.as_str().filter(|code| code.contains('\n')) else {
                continue;
            };
            let file = free_name("code", &key, ending(language), taken);
            files.insert(file.clone(), code.as_bytes().to_vec());
            *value = json!({ "file": file });
        }
    }
}

/// Ids of the nodes whose positions can stand elsewhere: in unfinished graphs an id may occur twice, or be no id.
fn with_places(graph: &Map<String, Value>) -> HashSet<String> {
    let nodes = graph.get("nodes").and_then(Value::as_array);
    let ids: Vec<&str> = nodes
        .into_iter()
        .flatten()
        .filter_map(|node| node.get("id")?.as_str())
        .collect();
    let mut seen = HashSet::new();
    let twice: HashSet<&str> = ids.iter().copied().filter(|id| !seen.insert(*id)).collect();
    ids.iter()
        .filter(|id| !id.contains('/') && !twice.contains(*id))
        .map(|id| (*id).to_owned())
        .collect()
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name)?.as_str().map(str::to_owned)
}

/// Parameters of a node type whose text is code.
fn code_parameters(node_type: &str) -> impl Iterator<Item = (&'static str, Language)> {
    let parameters = heddle_catalogue::node_type(node_type).map_or(&[][..], |found| found.parameters);
    parameters
        .iter()
        .filter_map(|parameter| Some((parameter.name, parameter.language()?)))
}

fn ending(language: Language) -> &'static str {
    match language {
        Language::JavaScript => "js",
        Language::Sql => "sql",
        Language::Html => "html",
        Language::Markdown => "md",
        Language::Regex | Language::CssSelector => "txt",
    }
}

/// Takes the code or component out of a definition.
fn take_code(name: &str, definition: &mut Value, files: &mut Files, taken: &mut HashSet<String>) {
    if let Some(Value::String(code)) = definition.get("code") {
        let file = free_name("code", name, "js", taken);
        files.insert(file.clone(), code.as_bytes().to_vec());
        definition["code"] = json!({ "file": file });
    }
    if let Some(Value::String(component)) = definition.get("component")
        // What is written otherwise than we would write it stays as it is.
        && let Ok(bytes) = STANDARD.decode(component)
        && STANDARD.encode(&bytes) == *component
    {
        let file = free_name("components", name, "wasm", taken);
        files.insert(file.clone(), bytes);
        definition["component"] = json!({ "file": file });
    }
}

/// A path that no other file has, also where upper and lower case are the same, and that means nothing but a file here.
fn free_name(folder: &str, wanted: &str, ending: &str, taken: &mut HashSet<String>) -> String {
    let plain = plain_name(wanted, |c| c.is_ascii_alphanumeric() || c == '_');
    let mut number = 1;
    loop {
        let suffix = if number == 1 {
            String::new()
        } else {
            format!("-{number}")
        };
        let path = format!("{folder}/{plain}{suffix}.{ending}");
        if taken.insert(path.to_lowercase()) {
            return path;
        }
        number += 1;
    }
}

/// A name of these characters, with single hyphens for all others; never empty.
fn plain_name(wanted: &str, may_stay: impl Fn(char) -> bool) -> String {
    let replaced: String = wanted
        .chars()
        .map(|c| if may_stay(c) { c } else { '-' })
        .collect();
    let mut name = String::new();
    for part in replaced.split('-').filter(|part| !part.is_empty()) {
        if !name.is_empty() {
            name.push('-');
        }
        name.push_str(part);
    }
    let name: String = name.chars().take(NAME_MAX).collect();
    if name.is_empty() {
        "pattern".to_owned()
    } else {
        name
    }
}

/// A directory's name for a pattern, lower-case.
pub fn directory_name(name: &str) -> String {
    plain_name(&name.to_lowercase(), |c| c.is_alphanumeric() || c == '_')
}

/// A name for the file of something that people call `wanted`, which none has, also where upper and lower case are the same.
pub fn free_name_of(wanted: &str, taken: &BTreeSet<String>) -> String {
    let wanted = directory_name(wanted);
    let mut name = wanted.clone();
    let mut number = 1;
    while taken.iter().any(|taken| taken.to_lowercase() == name) {
        number += 1;
        name = format!("{wanted}-{number}");
    }
    name
}

/// The document of files, read by their paths. What `read` gives for a path that is not there is its own error.
///
/// # Errors
///
/// What is wrong with the files, or `read`'s own error.
pub fn document_of<E: From<Wrong>>(read: impl Fn(&str) -> Result<Option<Vec<u8>>, E>) -> Result<Document, E> {
    let wrong = |what: String| E::from(what);
    let json = |path: &str, bytes: Vec<u8>| -> Result<Value, E> {
        serde_json::from_slice(&bytes).map_err(|error| wrong(format!("{path}: {error}")))
    };
    let bytes = read(PATTERN)?.ok_or_else(|| wrong(format!("{PATTERN} is not there")))?;
    let pattern = json(PATTERN, bytes)?;
    let mut document = Document::of(&pattern).ok_or_else(|| {
        wrong(format!(
            "{PATTERN}: this is not a pattern: it must be an object with `name` and `graphData`, or a graph with `nodes` and `edges`"
        ))
    })?;
    let layout = match read(LAYOUT)? {
        Some(bytes) => json(LAYOUT, bytes)?,
        None => json!({}),
    };
    put_together(&mut document.graph, "", &layout, &read)?;
    for (name, definition) in &mut document.definitions {
        if let Some(value) = definition.get_mut("code")
            && let Some(path) = named_file(value)
        {
            *value = code(&path, &read)?.into();
        }
        if let Some(value) = definition.get_mut("component")
            && let Some(path) = named_file(value)
        {
            *value = STANDARD.encode(named(&path, &read)?).into();
        }
        if let Some(Value::Object(graph)) = definition.get_mut("graphData") {
            put_together(graph, &format!("{name}/"), &layout, &read)?;
        }
    }
    Ok(document)
}

fn put_together<E: From<Wrong>>(
    graph: &mut Map<String, Value>,
    prefix: &str,
    layout: &Value,
    read: &impl Fn(&str) -> Result<Option<Vec<u8>>, E>,
) -> Result<(), E> {
    put_positions(graph, prefix, layout);
    put_code(graph, read)
}

fn put_positions(graph: &mut Map<String, Value>, prefix: &str, layout: &Value) {
    let placed = with_places(graph);
    let Some(Value::Array(nodes)) = graph.get_mut("nodes") else {
        return;
    };
    for node in nodes {
        let Some(id) = text(node, "id").filter(|id| placed.contains(id)) else {
            continue;
        };
        if let Some(position) = layout.get(format!("{prefix}{id}"))
            && let Some(members) = node.as_object_mut()
            && !members.contains_key("position")
        {
            members.insert("position".to_owned(), position.clone());
        }
    }
}

/// Puts code in the place of the files that a graph's nodes name, `{"file": "code/total.js"}`.
///
/// # Errors
///
/// What is wrong with the files, or `read`'s own error.
pub fn put_code<E: From<Wrong>>(
    graph: &mut Map<String, Value>,
    read: &impl Fn(&str) -> Result<Option<Vec<u8>>, E>,
) -> Result<(), E> {
    let Some(Value::Array(nodes)) = graph.get_mut("nodes") else {
        return Ok(());
    };
    for node in nodes {
        let node_type = text(node, "type").unwrap_or_default();
        for (parameter, _) in code_parameters(&node_type) {
            let Some(value) = node.pointer_mut(&format!("/data/parameters/{parameter}")) else {
                continue;
            };
            if let Some(path) = named_file(value) {
                *value = code(&path, read)?.into();
            }
        }
    }
    Ok(())
}

/// The path in `{"file": "…"}`.
fn named_file(value: &Value) -> Option<String> {
    match value.as_object() {
        Some(members) if members.len() == 1 => text(value, "file"),
        _ => None,
    }
}

fn code<E: From<Wrong>>(path: &str, read: &impl Fn(&str) -> Result<Option<Vec<u8>>, E>) -> Result<String, E> {
    String::from_utf8(named(path, read)?).map_err(|_| E::from(format!("{path}: this is not UTF-8 text")))
}

/// A file that `pattern.json` names. It has to be in the pattern's own directory: whoever gets a directory from somebody else
/// would send the file to a server.
fn named<E: From<Wrong>>(
    path: &str,
    read: &impl Fn(&str) -> Result<Option<Vec<u8>>, E>,
) -> Result<Vec<u8>, E> {
    let is_inside = !path.starts_with('/')
        && !path.contains(['\\', ':'])
        && path.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !is_inside {
        return Err(E::from(format!(
            "{PATTERN}: `{path}` must be a file in the pattern's directory"
        )));
    }
    read(path)?.ok_or_else(|| E::from(format!("{PATTERN} names {path}, which is not there")))
}
