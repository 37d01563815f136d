//! An AES-256-GCM key and its operations. Knows nothing about databases.

use crate::db::Arg;
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{Aead, KeyInit, Nonce, Payload};
use heddle_model::ids::DataKeyId;
use sha2::{Digest, Sha256};
use std::fmt;
use zeroize::Zeroizing;

pub const MASTER_KEY_BYTES: usize = 32;
const NONCE_BYTES: usize = 12;

/// A master key: wiped from memory when it is dropped, and never printed.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; MASTER_KEY_BYTES]>);

impl MasterKey {
    /// The bytes, for where they are used.
    pub fn expose(&self) -> &[u8; MASTER_KEY_BYTES] {
        &self.0
    }
}

impl From<[u8; MASTER_KEY_BYTES]> for MasterKey {
    fn from(bytes: [u8; MASTER_KEY_BYTES]) -> Self {
        MasterKey(Zeroizing::new(bytes))
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey")
    }
}

/// Name of a master key: the beginning of its hash, so that equal keys have equal names everywhere.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MasterKeyId(String);

impl MasterKeyId {
    /// The id of a master key, derived from its hash.
    pub fn of(master_key: &[u8; MASTER_KEY_BYTES]) -> Self {
        let hash = Sha256::new()
            .chain_update("heddle master key")
            .chain_update(master_key);
        let hash = hash.finalize();
        MasterKeyId(hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect())
    }

    /// As it is stored.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for MasterKeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<MasterKeyId> for Arg {
    fn from(id: MasterKeyId) -> Arg {
        id.0.into()
    }
}

/// A key that is ready for use.
pub(super) struct Key(Aes256Gcm);

impl Key {
    pub fn new(bytes: &[u8; MASTER_KEY_BYTES]) -> Self {
        Key(Aes256Gcm::new(&(*bytes).into()))
    }

    /// What a new key is made from.
    pub fn random_bytes() -> Zeroizing<[u8; MASTER_KEY_BYTES]> {
        Zeroizing::new(heddle_model::entropy::random())
    }

    /// A key that another one wraps.
    pub fn unwrapped(wrapping: &Key, aad: &[u8], wrapped: &[u8]) -> Option<Self> {
        let bytes = wrapping.open(aad, wrapped)?;
        Some(Key::new(bytes.as_slice().try_into().ok()?))
    }

    /// Nonce, ciphertext and tag. Nonces are random: a data key serves one workspace, far below the 2³² values
    /// up to which that is sound.
    pub fn seal(&self, aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
        let nonce: [u8; NONCE_BYTES] = heddle_model::entropy::random();
        let payload = Payload { msg: plaintext, aad };
        let ciphertext = self
            .0
            .encrypt(&Nonce::<Aes256Gcm>::from(nonce), payload)
            .expect("fails only above 64 GiB, which no request can contain");
        [nonce.as_slice(), &ciphertext].concat()
    }

    pub fn open(&self, aad: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, msg) = sealed.split_first_chunk::<NONCE_BYTES>()?;
        let payload = Payload { msg, aad };
        let opened = self.0.decrypt(&Nonce::<Aes256Gcm>::from(*nonce), payload);
        opened.ok().map(Zeroizing::new)
    }
}

/// A key for what leaves the service. It is wiped from memory when it is dropped, and never printed.
pub struct ArchiveKey(Key);

impl ArchiveKey {
    /// A key of these bytes.
    pub fn new(bytes: &[u8; MASTER_KEY_BYTES]) -> Self {
        ArchiveKey(Key::new(bytes))
    }

    /// Nonce, ciphertext and tag of at most some megabytes, which can only be opened together with `aad`.
    pub fn seal(&self, aad: &[u8], plaintext: &[u8]) -> Vec<u8> {
        self.0.seal(aad, plaintext)
    }

    /// What was sealed; `None`: it was changed, or sealed by another key or with something else.
    pub fn open(&self, aad: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        self.0.open(aad, sealed)
    }
}

/// What a data key is bound to where it is wrapped.
pub(super) fn wrapped_for(id: DataKeyId, owner: &str) -> Vec<u8> {
    format!("data key\n{owner}\n{id}").into_bytes()
}

/// What a master key is bound to where it is left for other servers.
pub(super) fn handed_over(from: &str, to: &str) -> Vec<u8> {
    format!("master key\n{from}\n{to}").into_bytes()
}
