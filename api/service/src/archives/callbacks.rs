//! The keys of callback URLs that runs have made, so that these can still be called once the workspace is elsewhere. Rows are
//! `{run, key}`.

use crate::Service;
use heddle_model::error::ServiceError;
use heddle_model::ids::{RunId, WorkspaceId};
use heddle_store::archive;
use secrecy::ExposeSecret;
use serde_json::json;

/// Name of the part.
pub(super) const CALLBACKS: &str = "callbacks";
/// Rows of a part.
const ROWS_MAX: i64 = 500;

/// The rows of the next part, after a run, and the last one's; `None`: there are none.
pub(super) async fn next(
    service: &Service,
    workspace: WorkspaceId,
    after: Option<RunId>,
) -> Result<Option<(Vec<String>, RunId)>, ServiceError> {
    let mut reader = service.store.reader().await?;
    let runs = archive::unfinished(&mut reader.db(), workspace, after, ROWS_MAX).await?;
    drop(reader);
    let Some(last) = runs.last().copied() else {
        return Ok(None);
    };
    let mut rows = Vec::with_capacity(runs.len());
    for run in runs {
        let key = service.executions.callback_key(run).await?;
        rows.push(json!({"run": run, "key": key.expose_secret()}).to_string());
    }
    Ok(Some((rows, last)))
}
