//! Presence: who else has a pattern open in an editor. Tabs tell it again and again; those that stop are gone after a while.
//! It is in the database, so that all servers know the same.

use super::changeable;
use crate::Service;
use heddle_model::access::Editor;
use heddle_model::error::ServiceError;
use heddle_model::ids::{PatternId, TabId, UserId};
use heddle_store::presence::{self, OpenRow};
use std::time::Duration;

/// How often tabs are to tell that they are there.
pub const TELL_EVERY: Duration = Duration::from_secs(15);
/// A tab that has told nothing for so long is closed: three were lost.
const GONE_AFTER: Duration = Duration::from_secs(50);

/// What a tab is told.
#[derive(Clone, Debug)]
pub struct Around {
    /// The pattern's newest version.
    pub version_number: i64,
    /// Who saved it: id, first and last name. `None`: nobody who has an account.
    pub saved_by: Option<(UserId, String, String)>,
    /// The other tabs.
    pub others: Vec<OpenRow>,
}

/// The editor has the pattern open in this tab. Says what happens around it.
pub async fn tell(
    service: &Service,
    editor: Editor,
    at: (PatternId, TabId),
    has_changes: bool,
) -> Result<Around, ServiceError> {
    let now = service.clock.now();
    let gone = now.minus(GONE_AFTER);
    let write = service.store.write(move |db| {
        Box::pin(async move {
            let pattern = changeable(db, &editor, at.0).await?;
            presence::seen(db, &editor, at, has_changes, (now, gone)).await?;
            let version_number = pattern.version_number;
            Ok(Around {
                version_number,
                saved_by: presence::last_author(db, &editor, at.0, version_number).await?,
                others: presence::others(db, &editor, at, gone).await?,
            })
        })
    });
    write.await
}

/// The editor has closed this tab, if it was open.
pub async fn leave(service: &Service, editor: Editor, at: (PatternId, TabId)) -> Result<(), ServiceError> {
    let write = service.store.write(move |db| {
        Box::pin(async move {
            changeable(db, &editor, at.0).await?;
            presence::left(db, &editor, at).await?;
            Ok(())
        })
    });
    write.await
}
