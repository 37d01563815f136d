//! Rights of a pattern: what its nodes may do, derived from what the catalogue says of their types and parameters.

use crate::artifact::NodeEffects;
use crate::check::level::Spot;
use crate::code;
use crate::expression::{Expression, Name};
use crate::lowered::{Argument, Body, TextPart};
use heddle_catalogue::{Content, FILES_IN_CODE, NodeType, Schema, VALUES_IN_CODE};
use heddle_contract::manifest::{Component, Rights};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use url::{Position, Url};

/// Any host.
const ANY: &str = "*";

/// Collects rights node by node.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    effects: BTreeSet<String>,
    secrets: BTreeSet<String>,
    connections: BTreeSet<String>,
    hosts: BTreeSet<String>,
    patterns: BTreeSet<String>,
    javascript: bool,
}

impl Collector {
    pub fn add_effect(&mut self, kind: &str) {
        self.effects.insert(kind.to_owned());
    }

    /// Adds what a definition's component may do.
    pub fn add_component(&mut self, component: &Component) {
        self.add_effect("component");
        if !component.hosts.is_empty() {
            self.add_effect("http");
            self.hosts.extend(component.hosts.iter().cloned());
        }
    }

    /// Adds what a node needs that runs with this body.
    pub fn add(&mut self, spot: &Spot<'_>, body: &mut Body) {
        if let Body::Standard {
            node_type,
            parameters,
            ..
        } = body
            && let Some(executed) = heddle_catalogue::node_type(node_type)
        {
            self.javascript |= executed.needs_engine;
            self.code(executed, parameters);
            // Not what only executes a definition, whose parameters are its own.
            let is_own = |drawn: &NodeType| drawn.name == executed.name || drawn.operation.is_some();
            if spot.standard().is_some_and(is_own) {
                executed.effects.iter().for_each(|kind| self.add_effect(kind));
                self.named(executed, parameters);
            }
        }
        for argument in body.arguments_mut() {
            argument.visit_mut(&mut |expression| match expression {
                Expression::Name(Name::Secret(name)) => {
                    self.secrets.insert(name.clone());
                }
                Expression::Script(_) => self.javascript = true,
                _ => {}
            });
        }
    }

    /// Adds what is done before runs start at a trigger, which has no body.
    pub fn add_trigger(&mut self, node_type: &NodeType, parameters: &[(String, Argument)]) {
        node_type.effects.iter().for_each(|kind| self.add_effect(kind));
        self.named(node_type, parameters);
    }

    /// Adds what a service is told with when the pattern is deployed.
    pub fn add_subscription(&mut self, subscription: &Map<String, Value>) {
        let text = |name: &str| subscription.get(name).and_then(Value::as_str);
        self.add_effect("http");
        self.connections.extend(text("connection").map(str::to_owned));
        let base = text("baseUrl").map(|base| host(&Argument::Constant(base.into())));
        self.hosts.extend(base);
    }

    /// Hosts, connections and patterns that parameters name.
    fn named(&mut self, node_type: &NodeType, parameters: &[(String, Argument)]) {
        let content = |name: &str| {
            node_type
                .parameter(name)
                .map_or(Content::Plain, |parameter| parameter.content)
        };
        let has_base = parameters.iter().any(|(name, argument)| match content(name) {
            Content::Connection(_) => true,
            Content::Url => !is_path(argument),
            _ => false,
        });
        for (name, argument) in parameters {
            let text = match argument {
                Argument::Constant(value) => value.as_str().unwrap_or(ANY),
                _ => ANY,
            };
            match content(name) {
                // Below the connection's own address, which the right to the connection includes, or below another one.
                Content::Url if has_base && is_path(argument) => false,
                Content::Url => self.hosts.insert(host(argument)),
                Content::Connection(_) => self.connections.insert(text.to_owned()),
                Content::Pattern => self.patterns.insert(text.to_owned()),
                _ => false,
            };
        }
    }

    /// What code asks for: its `fetch` can go anywhere; files are those of the run, kept values those of the pattern and the workspace.
    fn code(&mut self, node_type: &NodeType, parameters: &[(String, Argument)]) {
        let is_module = |name: &str| {
            node_type
                .parameter(name)
                .is_some_and(|parameter| parameter.schema == Schema::Module)
        };
        for (_, argument) in parameters.iter().filter(|(name, _)| is_module(name)) {
            let Argument::Constant(Value::String(source)) = argument else {
                continue;
            };
            if code::fetches(source) {
                self.add_effect("http");
                self.hosts.insert(ANY.to_owned());
            }
            if code::uses_files(source) {
                for kind in FILES_IN_CODE {
                    self.add_effect(kind);
                }
            }
            if code::keeps_values(source) {
                self.add_effect(VALUES_IN_CODE);
            }
        }
    }

    /// What a node may start of what was collected, if anything.
    pub fn effects_of(&self, node_id: &str) -> Option<NodeEffects> {
        (!self.effects.is_empty()).then(|| NodeEffects {
            node_id: node_id.to_owned(),
            kinds: self.effects.iter().cloned().collect(),
        })
    }

    /// Adds what was collected elsewhere.
    pub fn join(&mut self, other: Collector) {
        self.effects.extend(other.effects);
        self.secrets.extend(other.secrets);
        self.connections.extend(other.connections);
        self.hosts.extend(other.hosts);
        self.patterns.extend(other.patterns);
        self.javascript |= other.javascript;
    }

    pub fn rights(self) -> Rights {
        let list = |set: BTreeSet<String>| set.into_iter().collect();
        Rights {
            effects: list(self.effects),
            secrets: list(self.secrets),
            connections: list(self.connections),
            hosts: list(self.hosts),
            patterns: list(self.patterns),
            javascript: self.javascript,
        }
    }
}

/// Host, and port if it is not the scheme's own, of a URL that is literal at least up to its path.
fn host(argument: &Argument) -> String {
    let literal = match argument {
        Argument::Constant(value) => value.as_str(),
        Argument::Text(parts) => match parts.first() {
            Some(TextPart::Literal(start)) if ends_host(start) => Some(start.as_str()),
            _ => None,
        },
        _ => None,
    };
    let url = literal
        .and_then(|text| Url::parse(text).ok())
        .filter(Url::has_host);
    url.map_or_else(
        || ANY.to_owned(),
        |url| url[Position::BeforeHost..Position::AfterPort].to_owned(),
    )
}

/// Whether a URL can't be but a path.
fn is_path(argument: &Argument) -> bool {
    let start = match argument {
        Argument::Constant(value) => value.as_str(),
        Argument::Text(parts) => match parts.first() {
            Some(TextPart::Literal(start)) => Some(start.as_str()),
            _ => None,
        },
        _ => None,
    };
    start.is_some_and(|start| {
        start.starts_with('/') || matches!(argument, Argument::Constant(_)) && !start.contains("://")
    })
}

/// Whether the host of a URL ends within its beginning, so that nothing after it can change the host.
fn ends_host(start: &str) -> bool {
    start
        .split_once("://")
        .is_some_and(|(_, rest)| rest.contains(['/', '?', '#']))
}
