//! Seeded randomness: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).
//! For choices and identifiers within a run, not for keys.

/// One stream of random bits.
#[derive(Clone, Debug)]
pub(super) struct Generator(u64);

const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Generator {
    /// A stream of its own for every seed and sequence of numbers.
    pub fn new(seed: u64, numbers: impl Iterator<Item = u64>) -> Self {
        Generator(numbers.fold(mix(seed), |state, number| mix(state.wrapping_add(GAMMA) ^ number)))
    }

    /// The next 64 bits.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(GAMMA);
        mix(self.0)
    }
}

fn mix(bits: u64) -> u64 {
    let bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
