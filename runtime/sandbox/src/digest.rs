//! SHA-256, and hexadecimal encoding.

use sha2::{Digest, Sha256};

/// SHA-256.
pub type Digest256 = [u8; 32];

/// SHA-256 of `bytes`.
pub fn sha256(bytes: &[u8]) -> Digest256 {
    Sha256::digest(bytes).into()
}

/// Lower-case hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.extend(char::from_digit((byte >> 4).into(), 16));
        text.extend(char::from_digit((byte & 15).into(), 16));
    }
    text
}
