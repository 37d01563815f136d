//! What effects that read and make files share.

use super::progress::EffectResult;
use crate::files::{FileFailure, FileValue, Files};
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use heddle_sandbox::EffectError;
use serde::Deserialize;
use serde_json::Value;

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

/// What was read, without the values of secrets. Bytes are masked rather than their base64, which would be none with a mask in it;
/// where the others are stays as it was.
pub(super) fn masked(mut result: Value, vault: &Vault) -> Value {
    let Some(Value::String(base64)) = result.get_mut("base64") else {
        return vault.mask_value(result);
    };
    if vault.was_used()
        && let Ok(bytes) = STANDARD.decode(&*base64)
        && let Some(blotted) = vault.blotted(&bytes)
    {
        *base64 = STANDARD.encode(blotted);
    }
    result
}

#[cfg(test)]
mod tests {
    use super::super::effect::Effect;
    use super::super::file::File;
    use super::super::file_piece::FilePiece;
    use super::*;
    use crate::secrets::Secrets;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn bytes_are_masked_where_they_are() {
        let vault = Vault::new(Secrets::default(), Arc::from([]), String::new());
        let read = |text: &str| json!({ "base64": STANDARD.encode(text), "size": 23 });
        let both = |value: Value| {
            let whole = Effect::masked(&File, value.clone(), &vault);
            assert_eq!(whole, Effect::masked(&FilePiece, value, &vault));
            whole
        };
        assert_eq!(both(read("it is geheim, I say")), read("it is geheim, I say"));
        vault.note_use("geheim").unwrap();
        assert_eq!(both(read("it is geheim, I say")), read("it is ******, I say"));
        assert_eq!(both(read("it is not")), read("it is not"));
        assert_eq!(both(json!({ "text": "geheim" })), json!({ "text": "***" }));
    }
}
