//! The storage format of journal entries: plain JSON, or, if shorter, `z` followed by the zlib-compressed JSON in
//! base64 (no JSON text begins with `z`). Text is stored alike in both databases, and short entries remain readable.

use crate::StoreError;
use crate::error::Failed;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::bufread::ZlibDecoder;
use flate2::write::ZlibEncoder;
use std::error::Error;
use std::io::{Read, Write};
use std::sync::Arc;

/// Shorter texts are not worth it.
const PACKED_BYTES_MIN: usize = 2 << 10;
const MARK: char = 'z';

/// The form in which JSON is stored.
pub(super) fn pack(json: String) -> String {
    if json.len() < PACKED_BYTES_MIN {
        return json;
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let compressed = encoder.write_all(json.as_bytes()).and_then(|()| encoder.finish());
    // Writing to memory does not fail; if it did, the text is stored as it is.
    let Ok(compressed) = compressed else {
        return json;
    };
    let mut packed = String::from(MARK);
    STANDARD.encode_string(compressed, &mut packed);
    if packed.len() < json.len() { packed } else { json }
}

/// How many bytes a text that was stored becomes, roughly.
pub(super) fn unpacked_bytes(stored: &str) -> usize {
    /// As JSON is usually compressed.
    const FACTOR: usize = 8;
    match stored.starts_with(MARK) {
        true => stored.len().saturating_mul(FACTOR),
        false => stored.len(),
    }
}

/// The JSON that was stored.
pub(super) fn unpack(stored: String) -> Result<String, StoreError> {
    let Some(packed) = stored.strip_prefix(MARK) else {
        return Ok(stored);
    };
    let compressed = STANDARD.decode(packed).map_err(corrupt)?;
    let mut json = String::new();
    let read = ZlibDecoder::new(compressed.as_slice()).read_to_string(&mut json);
    read.map_err(corrupt)?;
    Ok(json)
}

fn corrupt(error: impl Error + Send + Sync + 'static) -> StoreError {
    StoreError::Database(Failed::Journal(Arc::new(error)))
}

#[cfg(test)]
mod tests {
    use super::{pack, unpack};

    #[test]
    fn what_is_packed_is_shorter_and_comes_back() {
        let short = r#"{"ok":1}"#.to_owned();
        assert_eq!(pack(short.clone()), short);
        let long = format!("[{}]", vec![r#"{"id":"o-1","größe":12.5}"#; 1_000].join(","));
        let packed = pack(long.clone());
        assert!(packed.starts_with('z') && packed.len() * 10 < long.len());
        assert_eq!(unpack(packed).unwrap(), long);
        assert_eq!(unpack(short.clone()).unwrap(), short);
        assert!(unpack("zno base64".to_owned()).is_err());
        assert!(unpack("zAAAA".to_owned()).is_err());
    }

    #[test]
    fn what_would_not_be_shorter_stays() {
        let mut bits = 1u64;
        let noise: String = (0..4_000)
            .map(|_| {
                bits ^= bits << 13;
                bits ^= bits >> 7;
                bits ^= bits << 17;
                char::from(b'0' + (bits % 75) as u8)
            })
            .collect();
        assert_eq!(pack(noise.clone()), noise);
    }
}
