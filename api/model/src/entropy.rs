//! Randomness: the only module that draws random bytes. Knows nothing about what they are used for.
#![expect(clippy::disallowed_methods, reason = "all other code calls this module")]

use rand::distr::uniform::{SampleRange, SampleUniform};
use rand::distr::{Distribution, StandardUniform};
use uuid::Uuid;

/// A random value of the whole range of its type, from the cryptographic generator of the thread.
pub fn random<T>() -> T
where
    StandardUniform: Distribution<T>,
{
    rand::random()
}

/// A random value of a range, which must not be empty.
pub fn random_in<T: SampleUniform>(range: impl SampleRange<T>) -> T {
    rand::random_range(range)
}

/// A new id. Those that are made later sort after it.
pub fn new_uuid() -> Uuid {
    Uuid::now_v7()
}
