//! Which nodes of which patterns refer to a connection. Graphs are read as text: what can't be read has none.

use crate::Service;
use heddle_catalogue::{Content, node_type, node_types};
use heddle_compiler::compare::{DEFINITIONS_MAX, NODES_MAX};
use heddle_compiler::text;
use heddle_execution::blocking::computing;
use heddle_model::access::Scope;
use heddle_model::error::ServiceError;
use heddle_model::ids::PatternId;
use heddle_model::tenant::Tenant;
use heddle_store::connections::{self, ConnectionRow};
use heddle_store::versions::{self, MentioningRow};
use serde_json::value::RawValue;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Versions that are listed at once; their graphs are read one after the other.
const PAGE: i64 = 20;
/// Memory that looking through a version takes, for each byte of it.
const READ_FACTOR: usize = 2;
/// Bytes of graphs and definitions that are looked through for one answer.
const BYTES_MAX: usize = 64 << 20;
const NODES_TOLD_MAX: usize = 1_000;

/// Where a connection is used.
#[derive(Debug, Default)]
pub struct ConnectionUses {
    /// By pattern and version.
    pub versions: Vec<UsingVersion>,
    /// Whether there were more graphs than are looked through, or more nodes than are told.
    pub is_partial: bool,
}

/// A version of a pattern that uses it.
#[derive(Debug)]
pub struct UsingVersion {
    pub pattern_id: PatternId,
    pub pattern_name: String,
    pub version_number: i64,
    /// Whether it is the newest one.
    pub is_newest: bool,
    /// Whether it is the one that is deployed.
    pub is_deployed: bool,
    pub nodes: Vec<UsingNode>,
}

/// A node that uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsingNode {
    pub definition: Option<String>,
    pub node_id: String,
    /// Label, if it has one.
    pub label: Option<String>,
    pub node_type: String,
    /// As the node refers to it.
    pub reference: String,
}

/// The nodes whose `connection` names this one, in the newest and the deployed versions of the caller's patterns. Names that
/// an expression gives are not known before a run.
pub async fn uses(
    service: &Service,
    scope: &Scope,
    connection: &ConnectionRow,
) -> Result<ConnectionUses, ServiceError> {
    let references = Arc::new(references(service, scope, connection).await?);
    let mut found = ConnectionUses::default();
    if references.is_empty() {
        return Ok(found);
    }
    let (mut after, mut bytes, mut nodes) = (None, 0, 0);
    loop {
        let mut reader = service.store.reader().await?;
        let page = versions::mentioning(&mut reader.db(), scope, &parameter_names(), after, PAGE).await?;
        drop(reader);
        let is_last = page.len() < usize::try_from(PAGE).unwrap_or(usize::MAX);
        // Both versions of a pattern follow each other; the last pattern of a page is read again with the next one.
        let last = page.last().map(|row| row.pattern_id);
        let next = page
            .iter()
            .rev()
            .find(|row| Some(row.pattern_id) != last)
            .map(|row| row.pattern_id);
        let page = page
            .into_iter()
            .filter(|row| is_last || Some(row.pattern_id) != last);
        for row in page {
            if bytes > BYTES_MAX || nodes > NODES_TOLD_MAX {
                found.is_partial = true;
                return Ok(found);
            }
            bytes += usize::try_from(row.bytes).unwrap_or_default();
            if let Some(version) = looked_through(service, scope, row, &references).await? {
                nodes += version.nodes.len();
                found.versions.push(version);
            }
        }
        if is_last {
            return Ok(found);
        }
        if next.is_none() {
            found.is_partial = true;
            return Ok(found);
        }
        after = next;
    }
}

/// What nodes can call it by: its id, its label and its provider, unless another one is meant by that.
async fn references(
    service: &Service,
    scope: &Scope,
    connection: &ConnectionRow,
) -> Result<BTreeSet<String>, ServiceError> {
    let tenant = Tenant::of(scope.user(), scope.workspace());
    let names = [
        &connection.id.to_string(),
        &connection.display_name,
        &connection.provider,
    ];
    let mut found = BTreeSet::new();
    let mut reader = service.store.reader().await?;
    for name in names {
        if connections::resolved(&mut reader.db(), tenant, name).await? == Some(connection.id) {
            found.insert(name.clone());
        }
    }
    Ok(found)
}

/// Names of all parameters that take a connection, as they stand in a graph.
fn parameter_names() -> Vec<String> {
    let parameters = node_types().iter().flat_map(|node_type| node_type.parameters);
    let names: BTreeSet<&str> = parameters
        .filter(|parameter| matches!(parameter.content, Content::Connection(_)))
        .map(|parameter| parameter.name)
        .collect();
    names.into_iter().map(|name| format!("\"{name}\"")).collect()
}

/// What a version uses. It is read when there is room for it, and its room is given back when it is looked through.
async fn looked_through(
    service: &Service,
    scope: &Scope,
    row: MentioningRow,
    references: &Arc<BTreeSet<String>>,
) -> Result<Option<UsingVersion>, ServiceError> {
    let size = (usize::try_from(row.bytes).unwrap_or(usize::MAX), READ_FACTOR);
    let share = service.budget.take_unless_small(Some(scope.user()), size).await?;
    let mut reader = service.store.reader().await?;
    let content = versions::content(&mut reader.db(), row.pattern_id, row.version_number).await?;
    drop(reader);
    // It may have been removed meanwhile.
    let Some(content) = content else { return Ok(None) };
    let references = references.clone();
    let work = move || {
        let found = using(row, &content, &references);
        drop((content, share));
        found
    };
    computing(Some(scope.user()), work).await
}

fn using(
    row: MentioningRow,
    content: &versions::Content,
    references: &BTreeSet<String>,
) -> Option<UsingVersion> {
    let mut nodes = Vec::new();
    of_graph(&content.graph, None, references, &mut nodes);
    let definitions = content
        .definitions
        .as_deref()
        .and_then(|text| serde_json::from_str(text).ok());
    let definitions: Option<&RawValue> = definitions;
    for (name, definition) in definitions
        .and_then(|all| text::fields(all, DEFINITIONS_MAX))
        .unwrap_or_default()
    {
        let [graph] = text::pick(definition.get(), ["graphData"]).unwrap_or_default();
        if let Some(graph) = graph {
            of_graph(graph.get(), Some(&name), references, &mut nodes);
        }
    }
    (!nodes.is_empty()).then_some(UsingVersion {
        pattern_id: row.pattern_id,
        pattern_name: row.pattern_name,
        version_number: row.version_number,
        is_newest: row.is_newest,
        is_deployed: row.is_deployed,
        nodes,
    })
}

fn of_graph(
    graph: &str,
    definition: Option<&str>,
    references: &BTreeSet<String>,
    found: &mut Vec<UsingNode>,
) {
    let [nodes] = text::pick(graph, ["nodes"]).unwrap_or_default();
    for node in text::elements(nodes, NODES_MAX).unwrap_or_default() {
        if let Some(node) = of_node(node, references) {
            found.push(UsingNode {
                definition: definition.map(str::to_owned),
                ..node
            });
        }
    }
}

fn of_node(node: &RawValue, references: &BTreeSet<String>) -> Option<UsingNode> {
    let [id, kind, data] = text::pick(node.get(), ["id", "type", "data"])?;
    let kind = text::string(kind?)?;
    let takes = node_type(&kind)?
        .parameters
        .iter()
        .find(|parameter| matches!(parameter.content, Content::Connection(_)))?;
    let [label, parameters] = text::pick(data?.get(), ["label", "parameters"])?;
    let [reference] = text::pick(parameters?.get(), [takes.name])?;
    let reference = text::string(reference?)?;
    references.contains(&*reference).then(|| UsingNode {
        definition: None,
        node_id: id.and_then(text::string).unwrap_or_default().into_owned(),
        label: label.and_then(text::string).map(Into::into),
        node_type: kind.into_owned(),
        reference: reference.into_owned(),
    })
}
