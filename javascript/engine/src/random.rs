//! Random numbers of the call that is executing, from its seed. Source: Steele, Lea, Flood, "Fast splittable
//! pseudorandom number generators" (SplitMix64).

use std::cell::Cell;

thread_local! {
    static STATE: Cell<u64> = const { Cell::new(0) };
}

/// Continues with `state`; gives the state so far.
pub fn exchange(state: u64) -> u64 {
    STATE.replace(state)
}

/// 64 random bits.
pub fn bits() -> u64 {
    let state = STATE.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    STATE.set(state);
    let z = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ z >> 31
}

/// At least 0, less than 1.
pub fn fraction() -> f64 {
    (bits() >> 11) as f64 / (1u64 << 53) as f64
}
