//! Digests of bytes.

use hmac::digest::core_api::BlockSizeUser;
use hmac::digest::{Digest, KeyInit};
use hmac::{Mac, SimpleHmac};
use md5::Md5;
use sha1::Sha1;
use sha2::{Sha256, Sha512};
use std::fmt::Write as _;

/// The digest of a text by `md5`, `sha1`, `sha256` or `sha512`, with a key its HMAC (RFC 2104); `None` for another
/// algorithm.
pub fn digest(algorithm: &str, key: Option<&[u8]>, text: &[u8]) -> Option<Vec<u8>> {
    Some(match algorithm {
        "md5" => compute::<Md5>(key, text),
        "sha1" => compute::<Sha1>(key, text),
        "sha256" => compute::<Sha256>(key, text),
        "sha512" => compute::<Sha512>(key, text),
        _ => return None,
    })
}

fn compute<D: Digest + BlockSizeUser>(key: Option<&[u8]>, text: &[u8]) -> Vec<u8> {
    let Some(key) = key else {
        return D::digest(text).to_vec();
    };
    // HMAC takes keys of any length; the error can't occur.
    match <SimpleHmac<D> as KeyInit>::new_from_slice(key) {
        Ok(mac) => mac.chain_update(text).finalize().into_bytes().to_vec(),
        Err(_) => Vec::new(),
    }
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
