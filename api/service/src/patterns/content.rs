//! What a version of a pattern consists of: its graph, and definitions of node types that it brings along. Both are kept
//! as the text in which they came.

use super::hooks;
use crate::Service;
use heddle_compiler::compare::{DEFINITIONS_MAX, EDGES_MAX, NODES_MAX};
use heddle_compiler::text::{self, Fingerprints};
use heddle_execution::blocking::computing;
use heddle_execution::budget::Share;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{PatternId, UserId};
use heddle_store::endpoints::HookNode;
use heddle_store::patterns::PatternRow;
use heddle_store::versions::Content;
use heddle_store::{StoreError, versions};
use serde_json::value::RawValue;
use std::sync::Arc;

/// Memory that reading a graph takes, beside its text, for each byte of it.
pub(super) const READ_FACTOR: usize = 2;
/// Memory for each byte of a graph that is part of an answer: its text, and the answer around it.
pub const ANSWER_FACTOR: usize = 3;

/// A submitted graph: its original text, which is stored, and the facts derived from it.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) text: Arc<str>,
    has_both_lists: bool,
    pub(super) hooks: Vec<HookNode>,
}

impl Graph {
    /// How long the graph's text is.
    pub(super) fn bytes(&self) -> usize {
        self.text.len()
    }

    /// A graph that was sent as the field at `path`. Drafts may be unfinished: any object will do.
    pub async fn read(
        service: &Service,
        owner: UserId,
        path: &'static str,
        raw: Box<RawValue>,
    ) -> Result<Graph, ServiceError> {
        let size = (raw.get().len(), READ_FACTOR);
        let read = move || Graph::read_here(path, raw);
        service.budget.read(Some(owner), size, read).await?
    }

    fn read_here(path: &str, raw: Box<RawValue>) -> Result<Graph, ServiceError> {
        let graph = raw.get();
        readable(path, graph)?;
        let [nodes, edges] = text::pick(graph, ["nodes", "edges"])
            .ok_or_else(|| ServiceError::field(path, "must be an object with nodes and edges"))?;
        for (list, name, max) in [(nodes, "nodes", NODES_MAX), (edges, "edges", EDGES_MAX)] {
            text::elements(list, max).map_err(|_| {
                ServiceError::field(path, format!("has more than {max} {name}, which is the limit"))
            })?;
        }
        let is_list = |list: Option<&RawValue>| list.is_some_and(|list| list.get().starts_with('['));
        Ok(Graph {
            has_both_lists: is_list(nodes) && is_list(edges),
            hooks: hooks::hooks(graph),
            text: Box::<str>::from(raw).into(),
        })
    }

    /// A graph that was stored.
    pub(super) async fn stored(
        service: &Service,
        owner: UserId,
        text: String,
    ) -> Result<Graph, ServiceError> {
        let size = (text.len(), READ_FACTOR);
        let read = move || Graph {
            has_both_lists: true,
            hooks: hooks::hooks(&text),
            text: text.into(),
        };
        service.budget.read(Some(owner), size, read).await
    }

    /// A graph without anything.
    pub fn empty() -> Graph {
        Graph {
            text: r#"{"nodes":[],"edges":[]}"#.into(),
            has_both_lists: true,
            hooks: Vec::new(),
        }
    }

    /// Whether nodes and edges are there.
    pub fn has_both_lists(&self) -> bool {
        self.has_both_lists
    }

    pub fn into_json(self) -> Result<Box<RawValue>, ServiceError> {
        RawValue::from_string(String::from(&*self.text)).map_err(ServiceError::internal)
    }
}

/// Submitted definitions of node types; `None`: there are none.
#[derive(Clone, Debug, Default)]
pub struct Definitions(pub(super) Option<Arc<str>>);

impl Definitions {
    /// Definitions that were sent as the field at `path`. They may be unfinished: any object will do.
    pub async fn read(
        service: &Service,
        owner: UserId,
        path: &'static str,
        raw: Box<RawValue>,
    ) -> Result<Definitions, ServiceError> {
        let size = (raw.get().len(), READ_FACTOR);
        let read = move || Definitions::read_here(path, raw);
        service.budget.read(Some(owner), size, read).await?
    }

    fn read_here(path: &str, raw: Box<RawValue>) -> Result<Definitions, ServiceError> {
        readable(path, raw.get())?;
        if !raw.get().starts_with('{') {
            return Err(ServiceError::field(
                path,
                "must be an object of definitions by name",
            ));
        }
        let definitions = text::fields(&raw, DEFINITIONS_MAX).ok_or_else(|| {
            let message = format!("has more than {DEFINITIONS_MAX} definitions, which is the limit");
            ServiceError::field(path, message)
        })?;
        if definitions.is_empty() {
            return Ok(Definitions(None));
        }
        drop(definitions);
        Ok(Definitions(Some(Box::<str>::from(raw).into())))
    }

    /// Their JSON.
    pub fn into_json(self) -> Result<Option<Box<RawValue>>, ServiceError> {
        let json = self.0.map(|text| RawValue::from_string(String::from(&*text)));
        json.transpose().map_err(ServiceError::internal)
    }
}

/// Reads all of a text: what no later reader takes is refused now.
fn readable(path: &str, text: &str) -> Result<(), ServiceError> {
    let read = Fingerprints::default().of(text);
    read.map(drop)
        .map_err(|error| ServiceError::field(path, format!("can't be read: {error}")))
}

/// What a stored version consists of, as JSON.
#[derive(Debug)]
pub struct Stored {
    pub graph: Box<RawValue>,
    /// The definitions; `None`: there are none.
    pub definitions: Option<Box<RawValue>>,
    /// The memory to answer with them.
    pub share: Option<Share>,
}

/// What stands for definitions where there are none.
pub fn no_definitions() -> Box<RawValue> {
    // A static text that is JSON; `null` would be as good for the compiler.
    RawValue::from_string("{}".to_owned()).unwrap_or_else(|_| RawValue::NULL.to_owned())
}

/// What a version consists of. 404 if the pattern has no such version.
pub async fn of_version(
    service: &Service,
    owner: UserId,
    (id, version): (PatternId, i64),
) -> Result<Stored, ServiceError> {
    let (content, share) = texts(service, owner, (id, version), ANSWER_FACTOR).await?;
    json(owner, id, content, share).await
}

/// Content as JSON.
pub(super) async fn json(
    owner: UserId,
    id: PatternId,
    content: Content,
    share: Option<Share>,
) -> Result<Stored, ServiceError> {
    let read = move || {
        let definitions = content.definitions.map(RawValue::from_string).transpose()?;
        Ok::<_, serde_json::Error>((RawValue::from_string(content.graph)?, definitions))
    };
    // Small ones are looked through here, others where nobody waits for the thread.
    let read = match share {
        None => read(),
        Some(_) => computing(Some(owner), read).await?,
    };
    let (graph, definitions) = read.map_err(|_| corrupt(id))?;
    Ok(Stored {
        graph,
        definitions,
        share,
    })
}

/// What a pattern consists of now, or when `row` was read.
pub async fn newest(service: &Service, owner: UserId, row: &PatternRow) -> Result<Stored, ServiceError> {
    let found = of_version(service, owner, (row.id, row.version_number)).await;
    found.map_err(|error| match error.code() {
        // Deleted in between.
        Code::VersionNotFound => Code::NotFound.into(),
        _ => error,
    })
}

/// The texts of a version, with `factor` times their size in memory, which is waited for before they are read.
pub(super) async fn texts(
    service: &Service,
    owner: UserId,
    (id, version): (PatternId, i64),
    factor: usize,
) -> Result<(Content, Option<Share>), ServiceError> {
    let bytes = bytes(service, (id, version)).await?;
    let share = service
        .budget
        .take_unless_small(Some(owner), (bytes, factor))
        .await?;
    let content = versions::content(&mut service.store.reader().await?.db(), id, version).await?;
    Ok((content.ok_or(Code::VersionNotFound)?, share))
}

/// How large a version is. 404 if the pattern has no such version.
pub(super) async fn bytes(service: &Service, (id, version): (PatternId, i64)) -> Result<usize, ServiceError> {
    let bytes = versions::content_bytes(&mut service.store.reader().await?.db(), id, version).await?;
    Ok(usize::try_from(bytes.ok_or(Code::VersionNotFound)?).unwrap_or(usize::MAX))
}

fn corrupt(pattern: PatternId) -> StoreError {
    StoreError::Corrupt {
        table: "pattern_versions",
        column: "graph",
        row: pattern.to_string(),
    }
}
