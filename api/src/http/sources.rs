//! A graph that comes with a request, and the definitions that it goes by.

use super::extract;
use crate::app::App;
use crate::http::error::ApiError;
use heddle_execution::compile::{Sources, is_empty};
use heddle_model::access::Scope;
use heddle_model::ids::PatternId;
use heddle_service::patterns;
use serde_json::value::RawValue;

/// A graph as it was sent.
#[derive(Debug)]
pub struct Sent {
    pub graph_data: Box<RawValue>,
    /// Definitions of custom node types.
    pub node_definitions: Box<RawValue>,
    /// Pinned outputs by node id.
    pub pinned_nodes: Option<Box<RawValue>>,
    /// The pattern whose definitions stand in for an empty object.
    pub pattern_id: Option<String>,
}

impl Sent {
    /// What to compile. 404 if the caller may not look at the pattern.
    pub async fn sources(self, app: &App, scope: &Scope) -> Result<Sources, ApiError> {
        let mut definitions = extract::object("nodeDefinitions", self.node_definitions)?;
        let graph = extract::object("graphData", self.graph_data)?;
        let pinned_nodes = match self.pinned_nodes {
            Some(pins) => Some(extract::object("pinnedNodes", pins)?),
            None => None,
        };
        if let Some(id) = self.pattern_id {
            let id: PatternId = id
                .parse()
                .map_err(|_| ApiError::field("patternId", "is not the id of a pattern"))?;
            let row = patterns::readable(&mut app.store.reader().await?.db(), scope, id).await?;
            if is_empty(&definitions) {
                let found = patterns::newest(app, scope.user(), &row).await?;
                definitions = found.definitions.unwrap_or(definitions);
            }
        }
        Ok(Sources {
            graph,
            definitions,
            pinned_nodes,
        })
    }
}
