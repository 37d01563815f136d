//! What effects that read and make files share.

use super::progress::EffectResult;
use crate::files::{FileFailure, FileValue, Files};
use bytes::Bytes;
use heddle_sandbox::EffectError;
use serde::Deserialize;

/// As what bytes reach the run.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub(super) enum Form {
    #[default]
    Text,
    Base64,
}

/// The failure of a node, from that of a file.
pub(super) fn failed(failure: &FileFailure) -> EffectError {
    if let FileFailure::Unavailable(error) = failure {
        tracing::warn!(%error, "A file of a run can't be read or written");
    }
    EffectError::new(failure.code(), failure.to_string())
}

/// A file of these bytes, as a value.
pub(super) async fn stored(files: &dyn Files, bytes: Vec<u8>, name: &str, media_type: &str) -> EffectResult {
    let made = async {
        let mut sink = files.create(name, media_type).await?;
        sink.write(Bytes::from(bytes)).await?;
        sink.finish().await
    };
    shown(made.await.map_err(|failure| failed(&failure))?)
}

/// A file as a value.
pub(super) fn shown(value: FileValue) -> EffectResult {
    serde_json::to_value(value).map_err(|error| EffectError::parameter(error.to_string()))
}
