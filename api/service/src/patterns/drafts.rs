//! Drafts of patterns: what their authors have drawn and not saved yet, which no other user sees.

use super::apart::{self, OfDraft, Ownership};
use super::content::{ANSWER_FACTOR, Definitions, Graph, Stored, json};
use super::{changeable, readable};
use crate::Service;
use heddle_execution::ToTheEnd;
use heddle_model::access::{Editor, Scope};
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::PatternId;
use heddle_model::quota::Quota;
use heddle_store::drafts::{self, DraftRow};
use heddle_store::large_texts::Apart;
use heddle_store::quota::{self, Payer};
use heddle_store::{Db, Load};

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
    if apart::any_is_apart(service, [Some(&new.graph.text), new.definitions.0.as_ref()]) {
        // Or somebody who may not would have the disk written to.
        may_be_put(&mut service.store.reader().await?.db(), &editor, id, &new).await?;
    }
    let service = service.clone();
    // To the end: what was stored before its row goes again if that is not stored.
    let putting = ToTheEnd::new(async move {
        let mut apart = Apart::default();
        let put = put_once(&service, &mut apart, (editor, id), new).await;
        apart.settle(&service.store).await;
        put
    });
    putting.await
}

async fn put_once(
    service: &Service,
    apart: &mut Apart,
    (editor, id): (Editor, PatternId),
    new: NewDraft,
) -> Result<DraftRow, ServiceError> {
    let row = DraftRow {
        base_version: new.base_version,
        etag: entropy::new_uuid().to_string(),
        updated_at: service.clock.now(),
    };
    let quotas = service.quotas;
    let ownership = Ownership {
        editor,
        pattern: Some(id),
        payer: editor.user(),
    };
    let given = (&new.graph, &new.definitions);
    let content = OfDraft::stored(service, apart, ownership, given).await?;
    let load = Load::of(Some(editor.user()), content.bytes_in_row());
    let write = service.store.write_sized(load, move |db| {
        Box::pin(async move {
            may_be_put(db, &editor, id, &new).await?;
            let content = (&content.graph, content.definitions.as_ref());
            drafts::put(db, &editor, id, &row, content).await?;
            let payer = Payer::User(editor.user());
            quota::check(db, &quotas, &[(payer, &[Quota::PatternBytes])]).await?;
            Ok(row)
        })
    });
    write.await
}

/// Whether the editor may store this draft of a pattern as things are.
async fn may_be_put(
    db: &mut Db<'_>,
    editor: &Editor,
    id: PatternId,
    new: &NewDraft,
) -> Result<(), ServiceError> {
    let pattern = changeable(db, editor, id).await?;
    if !(1..=pattern.version_number).contains(&new.base_version) {
        return Err(ServiceError::field(
            "baseVersion",
            "is not a version of this pattern",
        ));
    }
    if matches!(new.in_place_of, InPlaceOf::Anything) {
        return Ok(());
    }
    let found = drafts::get(db, editor, id).await?;
    let found = found.as_ref().map(|(row, _)| row.etag.as_str());
    match (&new.in_place_of, found) {
        (InPlaceOf::Nothing, Some(_)) => Err(changed("There is a draft already.")),
        (InPlaceOf::Tag(expected), found) if found != Some(expected) => {
            Err(changed("The draft is not the one that this change is based on."))
        }
        _ => Ok(()),
    }
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
