//! Drafts of patterns: what their authors have drawn and not saved yet, which no other user sees.

use super::content::{ANSWER_FACTOR, Definitions, Graph, Stored, json};
use super::{changeable, readable};
use crate::Service;
use heddle_model::access::{Editor, Scope};
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::PatternId;
use heddle_model::quota::Quota;
use heddle_store::Load;
use heddle_store::drafts::{self, DraftRow};
use heddle_store::quota::{self, Payer};
use std::sync::Arc;

/// A draft to be stored.
#[derive(Clone, Debug)]
pub struct NewDraft {
    pub graph: Graph,
    pub definitions: Definitions,
    /// The version that it began with.
    pub base_version: i64,
    /// What it may take the place of.
    pub in_place_of: InPlaceOf,
}

/// What a draft may take the place of.
#[derive(Clone, Debug)]
pub enum InPlaceOf {
    /// Whatever there is.
    Anything,
    /// Nothing: there may be no draft yet.
    Nothing,
    /// The draft with this tag alone.
    Tag(String),
}

/// The caller's draft of a pattern, if there is one.
pub async fn find(
    service: &Service,
    scope: &Scope,
    id: PatternId,
) -> Result<Option<(DraftRow, Stored)>, ServiceError> {
    let mut reader = service.store.reader().await?;
    readable(&mut reader.db(), scope, id).await?;
    let found = drafts::get(&mut reader.db(), scope, id).await?;
    drop(reader);
    let Some((row, bytes)) = found else {
        return Ok(None);
    };
    let size = (usize::try_from(bytes).unwrap_or(usize::MAX), ANSWER_FACTOR);
    let share = service.budget.take_unless_small(Some(scope.user()), size).await?;
    let content = drafts::content(&mut service.store.reader().await?.db(), scope, id, &row.etag).await?;
    let content = content.ok_or_else(|| changed("The draft was changed while it was read: try again."))?;
    let stored = json(scope.user(), id, content, share).await?;
    Ok(Some((row, stored)))
}

/// Stores the editor's draft of a pattern.
pub async fn put(
    service: &Service,
    editor: Editor,
    id: PatternId,
    new: NewDraft,
) -> Result<DraftRow, ServiceError> {
    let row = DraftRow {
        base_version: new.base_version,
        etag: entropy::new_uuid().to_string(),
        updated_at: service.clock.now(),
    };
    let (new, quotas) = (Arc::new(new), service.quotas);
    let bytes = new.graph.bytes().saturating_add(new.definitions.bytes());
    let load = Load::of(Some(editor.user()), bytes);
    let write = service.store.write_sized(load, move |db| {
        Box::pin(async move {
            let pattern = changeable(db, &editor, id).await?;
            if !(1..=pattern.version_number).contains(&new.base_version) {
                return Err(ServiceError::field(
                    "baseVersion",
                    "is not a version of this pattern",
                ));
            }
            if !matches!(new.in_place_of, InPlaceOf::Anything) {
                let found = drafts::get(db, &editor, id).await?;
                let found = found.as_ref().map(|(row, _)| row.etag.as_str());
                match (&new.in_place_of, found) {
                    (InPlaceOf::Nothing, Some(_)) => {
                        return Err(changed("There is a draft already."));
                    }
                    (InPlaceOf::Tag(expected), found) if found != Some(expected) => {
                        return Err(changed("The draft is not the one that this change is based on."));
                    }
                    _ => {}
                }
            }
            let content = (&new.graph.text, new.definitions.0.as_ref());
            drafts::put(db, &editor, id, &row, content).await?;
            let payer = Payer::User(editor.user());
            quota::check(db, &quotas, &[(payer, &[Quota::PatternBytes])]).await?;
            Ok(row)
        })
    });
    write.await
}

/// Removes the editor's draft of a pattern. 404 if there is none.
pub async fn remove(service: &Service, editor: Editor, id: PatternId) -> Result<(), ServiceError> {
    let write = service.store.write(move |db| {
        Box::pin(async move {
            changeable(db, &editor, id).await?;
            match drafts::remove(db, &editor, id).await? {
                true => Ok(()),
                false => Err(none()),
            }
        })
    });
    write.await
}

/// The error where there is no draft.
pub fn none() -> ServiceError {
    Code::NotFound.with("You have no draft of this pattern.")
}

fn changed(message: &'static str) -> ServiceError {
    Code::Conflict.with(message)
}
