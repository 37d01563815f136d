//! Rights of a pattern: what its nodes may do, derived from their types and parameters.

use crate::check::level::Spot;
use crate::code;
use crate::expression::{Expression, Name};
use crate::lowered::{Argument, Body, TextPart};
use heddle_contract::manifest::{Component, Rights};
use serde_json::Value;
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
        } = body
        {
            if *node_type == "JavaScript" {
                self.code(parameters);
            }
            // Its expressions are the engine's.
            self.javascript |= *node_type == "Regex";
            if spot.is(node_type) {
                spot.standard()
                    .into_iter()
                    .flat_map(|node_type| node_type.effects)
                    .for_each(|kind| self.add_effect(kind));
                self.named(spot, parameters);
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

    /// Hosts, connections and patterns that parameters name.
    fn named(&mut self, spot: &Spot<'_>, parameters: &[(String, Argument)]) {
        let has_connection = parameters.iter().any(|(name, _)| name == "connection");
        for (name, argument) in parameters {
            let text = match argument {
                Argument::Constant(value) => value.as_str().unwrap_or(ANY),
                _ => ANY,
            };
            match name.as_str() {
                // Below the connection's own address, which the right to the connection includes.
                "url" if has_connection && is_path(argument) => false,
                "url" if spot.is("HttpRequest") => self.hosts.insert(host(argument)),
                "connection" => self.connections.insert(text.to_owned()),
                "patternId" => self.patterns.insert(text.to_owned()),
                _ => false,
            };
        }
    }

    /// What code asks for: its `fetch` can go anywhere.
    fn code(&mut self, parameters: &[(String, Argument)]) {
        self.javascript = true;
        let source = parameters.iter().find(|(name, _)| name == "code");
        if let Some((_, Argument::Constant(Value::String(source)))) = source
            && code::fetches(source)
        {
            self.add_effect("http");
            self.hosts.insert(ANY.to_owned());
        }
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
