//! Randomness: the only module of the runtime that draws random bytes. Knows nothing of what they are used for.
#![expect(clippy::disallowed_methods, reason = "all other code calls this module")]

use heddle_sandbox::hex;
use rand::distr::{Distribution, StandardUniform};
use ring::rand::SystemRandom;

/// A random value of the whole range of its type, from the cryptographic generator of the thread.
pub fn random<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    rand::random()
}

/// 16 random bytes in hexadecimal: a text that nobody can foresee. The generator is a cryptographic one, and needs no
/// system call for each.
pub fn nonce() -> String {
    // In two draws; an array would be drawn byte by byte.
    hex(&random::<u128>().to_be_bytes())
}

/// The system's generator, from which ring takes what a signature needs.
pub fn system() -> SystemRandom {
    SystemRandom::new()
}
