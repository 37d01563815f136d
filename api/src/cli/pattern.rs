//! The input of `run`, `compile` and `validate`: a pattern as JSON (a graph, or an export with its definitions) or a
//! compiled module.

use super::failure::{Exit, Failure};
use super::input::{self, COMPONENT_BYTES_MAX, MODULE_BYTES_MAX, PATTERN_BYTES_MAX, Source};
use super::location;
use super::report::Report;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_remote::files::put_code;
use serde_json::{Map, Value};
use std::path::Path;

const WASM_MAGIC: &[u8] = b"\0asm";

/// A pattern or a module.
#[derive(Debug)]
pub enum Input {
    /// A graph with its definitions.
    Pattern(Box<Pattern>),
    /// A module compiled before.
    Module {
        /// Path as given.
        name: String,
        /// The module's bytes.
        bytes: Vec<u8>,
    },
}

/// A pattern as read.
#[derive(Debug)]
pub struct Pattern {
    /// The file.
    pub source: Source,
    /// Nodes, edges, settings.
    pub graph: Value,
    /// Definitions of node types that are not standard, by name.
    pub definitions: Value,
    /// Where the graph begins in the file.
    graph_at: usize,
}

impl Input {
    /// Reads `path`; definitions from a file of their own are added to those of an export and win over them.
    pub fn read(path: &Path, definitions: Option<&Path>) -> Result<Input, Failure> {
        let (name, bytes) = input::read_bytes(path, "the pattern", MODULE_BYTES_MAX)?;
        if bytes.starts_with(WASM_MAGIC) {
            if definitions.is_some() {
                return Err(Failure::usage(
                    "--definitions only applies to patterns: a module already contains its definitions",
                ));
            }
            return Ok(Input::Module { name, bytes });
        }
        let source = input::decode(name, bytes, "the pattern")?;
        if source.text.trim_start().starts_with("(module") {
            return Err(not_a_pattern(
                &source,
                "it is WebAssembly in text form",
                "heddle runs patterns and binary modules",
            ));
        }
        let extra = definitions.map(|path| -> Result<Map<String, Value>, Failure> {
            let mut extra = input::read_json(path, "the file of node definitions", PATTERN_BYTES_MAX)?;
            read_files(&mut extra, path)?;
            Ok(extra)
        });
        let mut pattern = Pattern::parse(source, extra.transpose()?)?;
        read_code(&mut pattern.graph, path)?;
        if let Value::Object(definitions) = &mut pattern.definitions {
            read_files(definitions, path)?;
        }
        Ok(Input::Pattern(Box::new(pattern)))
    }
}

/// Puts components and code in the place of the files that definitions name, `{"component": {"file": "own.wasm"}}` and
/// `{"code": {"file": "own.js"}}`: paths are beside the file with the definitions.
fn read_files(definitions: &mut Map<String, Value>, path: &Path) -> Result<(), Failure> {
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let file = |definition: &Value, place: &str| {
        let file = definition.pointer(place).and_then(Value::as_str);
        file.map(str::to_owned)
    };
    for (name, definition) in definitions {
        if let Some(file) = file(definition, "/component/file") {
            let what = format!("the component of `{name}`,");
            let (_, bytes) = read_beside(directory, &file, &what, COMPONENT_BYTES_MAX)?;
            definition["component"] = STANDARD.encode(bytes).into();
        }
        if let Some(file) = file(definition, "/code/file") {
            let what = format!("the code of `{name}`,");
            let (file, bytes) = read_beside(directory, &file, &what, PATTERN_BYTES_MAX)?;
            definition["code"] = input::decode(file, bytes, &what)?.text.into();
        }
        if let Some(graph) = definition.get_mut("graphData") {
            read_code(graph, path)?;
        }
    }
    Ok(())
}

/// Reads a file that a pattern names. The pattern may be somebody else's, and its run can send what is read anywhere, so the file has to
/// be in the pattern's directory, also after links are followed.
fn read_beside(
    directory: &Path,
    file: &str,
    what: &str,
    bytes_max: u64,
) -> Result<(String, Vec<u8>), Failure> {
    let path = directory.join(file);
    let around = match directory.as_os_str().is_empty() {
        true => Path::new("."),
        false => directory,
    };
    // A file that is not there is reported by reading it.
    let leads_out = path.canonicalize().is_ok_and(|real| {
        let around = around.canonicalize();
        !around.is_ok_and(|around| real.starts_with(around))
    });
    if leads_out {
        let message = format!(
            "{what} {}: this is not in the directory of the file that names it",
            path.display()
        );
        return Err(Failure::new(Exit::Invalid, "INVALID_PATTERN", message));
    }
    input::read_bytes(&path, what, bytes_max)
}

/// Puts code in the place of the files that nodes name, which are below the pattern's directory.
fn read_code(graph: &mut Value, path: &Path) -> Result<(), Failure> {
    struct Refused(Failure);
    impl From<String> for Refused {
        fn from(message: String) -> Self {
            Refused(Failure::new(Exit::Invalid, "INVALID_PATTERN", message))
        }
    }
    let Value::Object(graph) = graph else {
        return Ok(());
    };
    let directory = path.parent().unwrap_or_else(|| Path::new("."));
    let read = |file: &str| {
        let read = read_beside(directory, file, "the code of a node,", PATTERN_BYTES_MAX);
        read.map(|(_, bytes)| Some(bytes)).map_err(Refused)
    };
    put_code(graph, &read).map_err(|Refused(failure)| failure)
}

impl Pattern {
    fn parse(source: Source, extra: Option<Map<String, Value>>) -> Result<Pattern, Failure> {
        let Value::Object(mut document) = input::parse_json(&source, "the pattern")? else {
            return Err(not_a_pattern(&source, "it is not an object", SHAPE_HELP));
        };
        let mut definitions = match document.remove("nodeDefinitions") {
            Some(Value::Object(definitions)) => definitions,
            Some(Value::Null) | None => Map::new(),
            Some(_) => {
                return Err(not_a_pattern(
                    &source,
                    "its `nodeDefinitions` is not an object",
                    SHAPE_HELP,
                ));
            }
        };
        definitions.extend(extra.unwrap_or_default());
        let definitions = Value::Object(definitions);
        if document.contains_key("graphData") {
            let graph_at = location::offset_of(&source.text, 0, "graphData").unwrap_or(0);
            let graph = document.remove("graphData").unwrap_or_default();
            return Ok(Pattern {
                source,
                graph,
                definitions,
                graph_at,
            });
        }
        if document.contains_key("connections") {
            return Err(not_a_pattern(
                &source,
                "it looks like an n8n workflow",
                "`heddle import n8n` makes a pattern of it",
            ));
        }
        if !document.contains_key("nodes") {
            return Err(not_a_pattern(
                &source,
                "it has neither `nodes` nor `graphData`",
                SHAPE_HELP,
            ));
        }
        Ok(Pattern {
            source,
            graph: Value::Object(document),
            definitions,
            graph_at: 0,
        })
    }

    /// Type and label of the node with this id; a node inside a composite is known by its type alone.
    pub fn node(&self, id: &str) -> Option<(&str, Option<&str>)> {
        let node = self
            .graph
            .get("nodes")?
            .as_array()?
            .iter()
            .find(|node| node["id"] == id)?;
        Some((node["type"].as_str()?, node["data"]["label"].as_str()))
    }

    /// Where in the file a node stands, or the value of one of its parameters.
    pub fn offset_of(&self, node_id: &str, parameter: Option<&str>) -> Option<usize> {
        let outer = node_id.split('/').next()?;
        let index = self
            .graph
            .get("nodes")?
            .as_array()?
            .iter()
            .position(|node| node["id"] == outer)?;
        let node = location::offset_of(&self.source.text, self.graph_at, &format!("nodes[{index}]"))?;
        let within = |path: &str| location::offset_of(&self.source.text, node, path);
        let Some(parameter) = parameter.filter(|_| outer == node_id) else {
            return Some(node);
        };
        within(&format!("data.parameters.{parameter}"))
            .or_else(|| within(&format!("data.{parameter}")))
            .or_else(|| within(parameter))
            .or(Some(node))
    }
}

const SHAPE_HELP: &str =
    "a pattern is an object with `nodes` and `edges`, or an export: {name, graphData, nodeDefinitions}";

fn not_a_pattern(source: &Source, why: &str, help: &str) -> Failure {
    let message = format!("this is not a pattern: {why}");
    let report = Report::error(&message)
        .in_file(&source.name)
        .help(help)
        .to_string();
    Failure::with_report(
        Exit::Invalid,
        "INVALID_PATTERN",
        format!("{}: {message}", source.name),
        report,
    )
}
