//! Large graphs and definitions on their way to an embedded database, which has them in pieces, see
//! [`heddle_store::large_texts`]: they are stored before the rows that they belong to. Whoever asks may change the pattern.

use super::content::{Definitions, Graph};
use crate::Service;
use heddle_execution::blocking::computing_if_large;
use heddle_model::access::Editor;
use heddle_model::error::ServiceError;
use heddle_model::ids::{PatternId, UserId};
use heddle_model::quota::Quota;
use heddle_store::large_texts::{Apart, Text, is_large};
use heddle_store::versions::{self, NewDefinitions, Part};
use heddle_store::{drafts, quota};
use std::sync::Arc;

/// Who has a text, and who pays for it.
#[derive(Clone, Copy)]
pub(super) struct Ownership {
    pub editor: Editor,
    /// `None`: it is about to be made.
    pub pattern: Option<PatternId>,
    /// The user whose quotas it counts towards.
    pub payer: UserId,
}

/// A version's content, as the rows have it.
pub(super) struct OfVersion {
    /// `None`: it stays as it is.
    graph: Option<Text>,
    /// `None`: they stay as they are.
    definitions: Option<Option<NewDefinitions>>,
}

impl OfVersion {
    /// Stores what is large of a version's content. `None` stays as it is.
    pub async fn stored(
        service: &Service,
        apart: &mut Apart,
        ownership: Ownership,
        (graph, definitions): (Option<&Graph>, Option<&Definitions>),
    ) -> Result<OfVersion, ServiceError> {
        let graph = graph.map(|graph| &graph.text);
        let given = definitions.map(|given| given.0.as_ref());
        let mut more = given.flatten();
        let mut hash = None;
        if let Some(text) = more {
            let (owner, hashed) = (ownership.editor.user(), text.clone());
            let work = move || versions::definitions_hash(&hashed);
            let found = computing_if_large(Some(owner), text.len(), work).await?;
            if any_is_apart(service, [more, None])
                && has_definitions(service, ownership.pattern, &found).await?
            {
                more = None;
            }
            hash = Some(found);
        }
        check(service, ownership, [graph, more]).await?;
        let graph = put(service, apart, ownership, graph).await?;
        let text = put(service, apart, ownership, more).await?;
        Ok(OfVersion {
            graph,
            definitions: given.map(|_| hash.map(|hash| NewDefinitions { hash, text })),
        })
    }

    /// The graph of the version that comes after this one.
    pub fn graph(&self, before: i64) -> Part<&Text> {
        self.graph.as_ref().map_or(Part::Of(before), Part::New)
    }

    /// The definitions of the version that comes after this one.
    pub fn definitions(&self, before: i64) -> Part<Option<&NewDefinitions>> {
        match &self.definitions {
            Some(definitions) => Part::New(definitions.as_ref()),
            None => Part::Of(before),
        }
    }

    /// Bytes that are left to be stored.
    pub fn bytes_in_rows(&self) -> usize {
        let definitions = self.definitions.iter().flatten();
        let texts = definitions.filter_map(|definitions| definitions.text.as_ref());
        texts.chain(&self.graph).map(Text::bytes_in_row).sum()
    }
}

/// A draft's content, as its row has it.
pub(super) struct OfDraft {
    pub graph: Text,
    pub definitions: Option<Text>,
}

impl OfDraft {
    /// Stores what is large of a draft's content.
    pub async fn stored(
        service: &Service,
        apart: &mut Apart,
        ownership: Ownership,
        (graph, definitions): (&Graph, &Definitions),
    ) -> Result<OfDraft, ServiceError> {
        let (graph, definitions) = (&graph.text, definitions.0.as_ref());
        check(service, ownership, [Some(graph), definitions]).await?;
        Ok(OfDraft {
            graph: apart.put(&service.store, ownership.editor.user(), graph).await?,
            definitions: put(service, apart, ownership, definitions).await?,
        })
    }

    /// Bytes that are left to be stored.
    pub fn bytes_in_row(&self) -> usize {
        let definitions = self.definitions.as_ref().map_or(0, Text::bytes_in_row);
        self.graph.bytes_in_row().saturating_add(definitions)
    }
}

async fn put(
    service: &Service,
    apart: &mut Apart,
    ownership: Ownership,
    text: Option<&Arc<str>>,
) -> Result<Option<Text>, ServiceError> {
    let Some(text) = text else { return Ok(None) };
    let text = apart.put(&service.store, ownership.editor.user(), text).await?;
    Ok(Some(text))
}

/// Whether any of these texts is stored before its row.
pub(super) fn any_is_apart(service: &Service, texts: [Option<&Arc<str>>; 2]) -> bool {
    !service.store.is_shared() && texts.into_iter().flatten().any(|text| is_large(text))
}

async fn has_definitions(
    service: &Service,
    pattern: Option<PatternId>,
    hash: &str,
) -> Result<bool, ServiceError> {
    let Some(pattern) = pattern else { return Ok(false) };
    let mut reader = service.store.reader().await?;
    Ok(versions::has_definitions(&mut reader.db(), pattern, hash).await?)
}

/// Refuses what would be stored before its rows if these would be refused: nobody beyond a quota has the disk written to. What is
/// stored takes the place of the editor's draft.
async fn check(
    service: &Service,
    ownership: Ownership,
    texts: [Option<&Arc<str>>; 2],
) -> Result<(), ServiceError> {
    if !any_is_apart(service, texts) {
        return Ok(());
    }
    let bytes: usize = texts.into_iter().flatten().map(|text| text.len()).sum();
    let mut bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    let mut reader = service.store.reader().await?;
    let db = &mut reader.db();
    match ownership.pattern {
        None => quota::check_ahead(db, &service.quotas, ownership.payer, (Quota::Patterns, 1)).await?,
        Some(pattern) if ownership.payer == ownership.editor.user() => {
            let draft = drafts::get(db, &ownership.editor, pattern).await?;
            bytes = bytes.saturating_sub(draft.map_or(0, |(_, bytes)| bytes));
        }
        Some(_) => {}
    }
    Ok(quota::check_ahead(db, &service.quotas, ownership.payer, (Quota::PatternBytes, bytes)).await?)
}
