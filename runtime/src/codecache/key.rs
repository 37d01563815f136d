//! The key of a cache's MACs: derived from a secret that is not stored in the cache, or, for the command line, random
//! and stored in a file within the cache.

use super::own_file::{open_own, write_own};
use crate::entropy::random;
use heddle_sandbox::Digest256;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::path::Path;
use zeroize::Zeroizing;

const KEY_BYTES: usize = 32;
/// Its file in the cache's directory.
const FILE: &str = "key";

/// A key that only those may know whose machine code is executed.
#[derive(Clone)]
pub struct CacheKey(Zeroizing<[u8; KEY_BYTES]>);

impl fmt::Debug for CacheKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CacheKey")
    }
}

impl CacheKey {
    /// A key of its own purpose, from which nothing of the secret can be told.
    pub fn derived(secret: &[u8]) -> Self {
        CacheKey(Zeroizing::new(digest(secret, "heddle machine code cache")))
    }

    /// The random key of a directory, made when it is first asked for.
    pub(super) fn of_dir(dir: &Path) -> io::Result<Self> {
        let path = dir.join(FILE);
        if !path.exists() {
            make(dir, &path)?;
        }
        let unusable = || {
            let message = format!(
                "{} must be readable only by you (`chmod 600`) and contain {KEY_BYTES} bytes: delete it to \
                 have it recreated",
                path.display()
            );
            io::Error::new(io::ErrorKind::PermissionDenied, message)
        };
        let file = open_own(&path).ok_or_else(unusable)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(KEY_BYTES + 1));
        file.take(KEY_BYTES as u64 + 1).read_to_end(&mut bytes)?;
        let key = <[u8; KEY_BYTES]>::try_from(bytes.as_slice()).map_err(|_| unusable())?;
        Ok(CacheKey(Zeroizing::new(key)))
    }

    /// Tells keys apart, and nothing of them.
    pub(super) fn id(&self) -> Digest256 {
        digest(&*self.0, "name")
    }

    pub(super) fn mac(&self) -> Hmac<Sha256> {
        mac(&*self.0).chain_update("code")
    }
}

fn mac(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("a key of any length")
}

fn digest(key: &[u8], purpose: &str) -> Digest256 {
    mac(key).chain_update(purpose).finalize().into_bytes().into()
}

/// Writes a new key, unless another process has in the meantime.
fn make(dir: &Path, path: &Path) -> io::Result<()> {
    let key: Zeroizing<[u8; KEY_BYTES]> = Zeroizing::new(random());
    match write_own(dir, &*key, |temporary| fs::hard_link(temporary, path)) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}
