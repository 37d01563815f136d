//! Encryption of a file's bytes in chunks, so that they can be written as they come and read from any place: STREAM with
//! AES-256-GCM, as `aead-stream` has it. Source: Hoang, Reyhanitabar, Rogaway, Vizár, "Online Authenticated-Encryption and its
//! Nonce-Reuse Misuse-Resistance", CRYPTO 2015, <https://eprint.iacr.org/2015/189>.
//!
//! Each file has a key of its own, so that the nonces' prefix may be the same for all: a nonce is seven zeros, the number of the
//! chunk and whether it is the last. Chunks can therefore not be left out, exchanged or cut off.

use aead_stream::{NewStream, Nonce, StreamBE32, StreamPrimitive};
use aes_gcm::Aes256Gcm;
use aes_gcm::aead::KeyInit;
use bytes::Bytes;
use zeroize::Zeroizing;

/// Plain bytes of a chunk; the last one may have fewer.
pub const CHUNK_BYTES: usize = 64 << 10;
/// What a chunk has besides.
pub const TAG_BYTES: usize = 16;
/// Bytes of a chunk as it is stored.
pub const SEALED_BYTES: usize = CHUNK_BYTES + TAG_BYTES;
pub const KEY_BYTES: usize = 32;

/// The key of one file's bytes.
pub struct ContentKey(Zeroizing<[u8; KEY_BYTES]>);

impl ContentKey {
    /// A new one.
    pub fn random() -> Self {
        ContentKey(Zeroizing::new(heddle_model::entropy::random()))
    }

    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        Some(ContentKey(Zeroizing::new(bytes.try_into().ok()?)))
    }

    /// The bytes, to be encrypted.
    pub fn expose(&self) -> &[u8; KEY_BYTES] {
        &self.0
    }

    /// What encrypts and decrypts with it.
    pub fn cipher(&self) -> Cipher {
        let aead = Aes256Gcm::new(&(*self.0).into());
        let prefix = Nonce::<Aes256Gcm, StreamBE32<Aes256Gcm>>::default();
        Cipher(StreamBE32::from_aead(aead, &prefix))
    }
}

/// Encrypts and decrypts the chunks of one file.
pub struct Cipher(StreamBE32<Aes256Gcm>);

impl Cipher {
    /// Encrypts a chunk, of which there is only one with this number. `None`: it is too large, or there are too many.
    pub fn seal(&self, number: u64, is_last: bool, chunk: &[u8]) -> Option<Bytes> {
        let number = u32::try_from(number).ok()?;
        let mut buffer = Vec::with_capacity(chunk.len() + TAG_BYTES);
        buffer.extend_from_slice(chunk);
        let sealed = self.0.encrypt_in_place(number, is_last, &[], &mut buffer);
        sealed.ok().map(|()| buffer.into())
    }

    /// Decrypts a chunk. `None`: it is not what was encrypted in this place.
    pub fn open(&self, number: u64, is_last: bool, mut sealed: Vec<u8>) -> Option<Bytes> {
        let number = u32::try_from(number).ok()?;
        let opened = self.0.decrypt_in_place(number, is_last, &[], &mut sealed);
        opened.ok().map(|()| sealed.into())
    }
}

/// How many chunks a file of so many bytes has; an empty one has one.
pub const fn chunks(size: u64) -> u64 {
    match size.div_ceil(CHUNK_BYTES as u64) {
        0 => 1,
        chunks => chunks,
    }
}

/// Bytes that a file of so many bytes takes in the store.
pub const fn sealed_len(size: u64) -> u64 {
    size + chunks(size) * TAG_BYTES as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_opens_in_its_place_only() {
        let cipher = ContentKey::random().cipher();
        let sealed = cipher.seal(3, false, b"chunk").unwrap().to_vec();
        assert_eq!(sealed.len(), 5 + TAG_BYTES);
        assert_eq!(cipher.open(3, false, sealed.clone()).unwrap(), "chunk");
        assert!(cipher.open(2, false, sealed.clone()).is_none());
        assert!(cipher.open(3, true, sealed.clone()).is_none());
        assert!(
            ContentKey::random()
                .cipher()
                .open(3, false, sealed.clone())
                .is_none()
        );
        let mut forged = sealed;
        forged[0] ^= 1;
        assert!(cipher.open(3, false, forged).is_none());
    }

    #[test]
    fn sizes_in_the_store() {
        let chunk = CHUNK_BYTES as u64;
        assert_eq!((chunks(0), sealed_len(0)), (1, 16));
        assert_eq!((chunks(chunk), sealed_len(chunk)), (1, chunk + 16));
        assert_eq!((chunks(chunk + 1), sealed_len(chunk + 1)), (2, chunk + 33));
    }
}
