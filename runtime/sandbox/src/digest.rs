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
    let digits = |byte: u8| [byte >> 4, byte & 15].map(|digit| char::from_digit(digit.into(), 16));
    bytes.iter().copied().flat_map(digits).flatten().collect()
}
