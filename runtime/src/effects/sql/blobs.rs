//! Bytes in rows as files of the run.

use super::super::stored_file::stored;
use crate::files::Files;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;

/// Files that one statement can make.
const FILES_MAX: usize = 1_000;
/// What is known of bytes in a database.
const MEDIA_TYPE: &str = "application/octet-stream";

/// Makes files of the bytes in these rows, which are objects with the member `mark`. A file has the name of its column.
pub(super) async fn store(rows: &mut [Value], mark: &str, files: &dyn Files) -> Result<(), EffectError> {
    let mut made = 0;
    for (column, value) in rows.iter_mut().filter_map(Value::as_object_mut).flatten() {
        // Bytes can be in arrays and in composite values.
        let mut values = vec![value];
        while let Some(value) = values.pop() {
            if let Value::Object(members) = &mut *value
                && let Some(Value::String(encoded)) = members.remove(mark)
            {
                made += 1;
                if made > FILES_MAX {
                    let message = format!(
                        "The rows have more than {FILES_MAX} binary values, each of which would become a file: request fewer rows at a time."
                    );
                    return Err(EffectError::new(EffectCode::FileLimit, message));
                }
                let bytes = STANDARD.decode(encoded);
                let bytes =
                    bytes.map_err(|error| EffectError::new(EffectCode::Internal, error.to_string()))?;
                *value = stored(files, bytes, column, MEDIA_TYPE).await?;
                continue;
            }
            match value {
                Value::Array(items) => values.extend(items),
                Value::Object(members) => values.extend(members.values_mut()),
                _ => {}
            }
        }
    }
    Ok(())
}
