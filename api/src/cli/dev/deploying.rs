//! Deploys the patterns of a directory as they are saved. One with errors is not deployed: the version before goes on, and the
//! errors are shown at their places in its files.

use super::local::Local;
use crate::cli::diagnostics;
use crate::cli::failure::Failure;
use crate::cli::output;
use crate::cli::pattern::Input;
use crate::cli::watching::{Times, times};
use heddle_compiler::Options;
use heddle_contract::manifest;
use heddle_remote::directory::Directory;
use heddle_remote::document::Document;
use heddle_remote::server::plain;
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};

/// A pattern of the directory on the server.
#[derive(Default)]
pub struct Placed {
    /// Its id there.
    id: String,
    /// What people find it by: its directory.
    pub name: String,
    /// What its nodes are called.
    pub nodes: Vec<manifest::Node>,
    read: Times,
    digest: String,
    webhooks: Vec<String>,
}

/// All of them.
#[derive(Default)]
pub struct Deployer {
    /// By the names of their directories.
    placed: BTreeMap<String, Placed>,
}

impl Deployer {
    /// The ids that patterns have on the server, by the names of their directories.
    pub fn ids(&self) -> BTreeMap<String, String> {
        let all = self.placed.iter();
        all.map(|(name, placed)| (name.clone(), placed.id.clone()))
            .collect()
    }

    /// By their ids on the server.
    pub fn patterns(&self) -> HashMap<&str, &Placed> {
        let all = self.placed.values();
        all.map(|placed| (placed.id.as_str(), placed)).collect()
    }

    /// Deploys patterns that have changed, and removes those that are gone.
    pub async fn look(&mut self, directory: &Directory, local: &Local) -> Result<(), Failure> {
        let names = directory.names()?;
        let gone = self.placed.keys().filter(|name| !names.contains(name));
        let gone: Vec<String> = gone.cloned().collect();
        for name in gone {
            if let Some(placed) = self.placed.remove(&name) {
                let path = format!("/api/patterns/{}", placed.id);
                local.server.ask(Method::DELETE, &path, None).await?;
                output::result(&format!("{name}: removed"))?;
            }
        }
        // All of them before the first is deployed: they may call each other.
        for name in &names {
            if !self.placed.contains_key(name) {
                let body = json!({ "name": name });
                let made = local
                    .server
                    .ask(Method::POST, "/api/patterns", Some(&body))
                    .await?;
                let placed = Placed {
                    id: made["id"].as_str().unwrap_or_default().to_owned(),
                    name: name.clone(),
                    ..Placed::default()
                };
                self.placed.insert(name.clone(), placed);
            }
        }
        let ids: HashMap<String, String> = self
            .placed
            .iter()
            .filter_map(|(name, placed)| Some((directory.locked.get(name)?.id.clone(), placed.id.clone())))
            .collect();
        for name in &names {
            let read = times(&[directory.path_of(name)]);
            let Some(placed) = self.placed.get_mut(name).filter(|placed| placed.read != read) else {
                continue;
            };
            placed.read = read;
            match placed.deploy(directory, local, &ids).await {
                // One that can't be deployed keeps no other from it.
                Err(Failure::Reported(reported)) => {
                    output::note(&reported.report);
                    output::note(&format!("{name}: not deployed"));
                }
                done => done?,
            }
        }
        Ok(())
    }
}

impl Placed {
    async fn deploy(
        &mut self,
        directory: &Directory,
        local: &Local,
        ids: &HashMap<String, String>,
    ) -> Result<(), Failure> {
        // Whatever fails from here on, what is deployed is told again when it comes back.
        let before = std::mem::take(&mut self.digest);
        let path = directory.path_of(&self.name).join("pattern.json");
        // As it stands in the file, for the places of errors; and as the server takes it.
        let Input::Pattern(pattern) = Input::read(&path, None)? else {
            return Err(Failure::usage(format!(
                "{}: this is not a pattern",
                path.display()
            )));
        };
        let document = directory.read(&self.name)?;
        let digest = document.digest();
        if digest == before {
            self.digest = digest;
            return Ok(());
        }
        let found = heddle_compiler::check(&pattern.graph, &pattern.definitions, &Options::default());
        let (errors, _) = diagnostics::count(&found);
        if errors > 0 {
            // The same once more is not told again, and what was deployed before is deployed when it comes back.
            self.digest = digest;
            return Err(diagnostics::refusal(&pattern, found));
        }
        output::note_if_any(&diagnostics::render(&pattern, &found));
        let path = format!("/api/patterns/{}", self.id);
        let body = with_ids(&document, ids);
        let stored = local.server.ask(Method::PUT, &path, Some(&body)).await?;
        let version = &stored["versionNumber"];
        let body = json!({"nodeDefinitions": {}, "versionNumber": version, "trace": true});
        let deploy = format!("{path}/deploy");
        local.server.ask(Method::POST, &deploy, Some(&body)).await?;
        self.digest = digest;
        self.nodes = nodes(&document);
        output::result(&format!("{}: version {version} is deployed", self.name))?;
        let listed = local
            .server
            .ask(Method::GET, &format!("{path}/webhooks"), None)
            .await?;
        let endpoints = listed["data"]["endpoints"].as_array().into_iter().flatten();
        let webhooks: Vec<String> = endpoints.map(webhook_line).collect();
        if self.webhooks != webhooks {
            webhooks.iter().try_for_each(|line| output::result(line))?;
            self.webhooks = webhooks;
        }
        Ok(())
    }
}

/// Where requests to a node are sent to, and what they have to prove.
fn webhook_line(endpoint: &Value) -> String {
    let text = |name: &str| plain(endpoint[name].as_str().unwrap_or_default());
    let methods = endpoint["methods"].as_array().into_iter().flatten();
    let methods: Vec<&str> = methods.filter_map(Value::as_str).collect();
    let mut line = format!(
        "  {}  {} {}{}",
        text("nodeId"),
        methods.join("|"),
        text("webhookUrl"),
        text("path")
    );
    match text("scheme").as_str() {
        "none" => {}
        scheme => line.push_str(&format!("  {scheme}, secret {}", text("webhookSecret"))),
    }
    line
}

/// A pattern as the server takes it, in which calls of others name those that are there.
fn with_ids(document: &Document, ids: &HashMap<String, String>) -> Value {
    let mut whole = document.whole();
    name_others(&mut whole["graphData"], ids);
    let definitions = whole["nodeDefinitions"].as_object_mut();
    for (_, definition) in definitions.into_iter().flatten() {
        if let Some(graph) = definition.get_mut("graphData") {
            name_others(graph, ids);
        }
    }
    whole
}

fn name_others(graph: &mut Value, ids: &HashMap<String, String>) {
    let nodes = graph.get_mut("nodes").and_then(Value::as_array_mut);
    for node in nodes.into_iter().flatten() {
        let parameters = node.pointer_mut("/data/parameters");
        let parameters = parameters.and_then(Value::as_object_mut);
        for (_, value) in parameters.into_iter().flatten() {
            if let Some(id) = value.as_str().and_then(|id| ids.get(id)) {
                *value = id.as_str().into();
            }
        }
    }
}

fn nodes(document: &Document) -> Vec<manifest::Node> {
    let nodes = document.graph.get("nodes").and_then(Value::as_array);
    let text = |value: &Value| value.as_str().map(str::to_owned);
    nodes
        .into_iter()
        .flatten()
        .map(|node| manifest::Node {
            id: text(&node["id"]).unwrap_or_default(),
            node_type: text(&node["type"]).unwrap_or_default(),
            label: text(&node["data"]["label"]),
            ..manifest::Node::default()
        })
        .collect()
}
