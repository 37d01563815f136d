//! What somebody who means harm says in a protocol: what is right, and spoilt by a generator that follows from a seed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// What repeating a piece may add.
const REPEATED_BYTES_MAX: usize = 1 << 20;

/// How many cases of each protocol; CONTRIBUTING.md says how to have more.
pub fn cases(default: u64) -> u64 {
    let wanted = std::env::var("HEDDLE_HOSTILE_CASES").ok();
    wanted.map_or(default, |wanted| wanted.parse().unwrap())
}

/// Something of what is said, spoilt: bits turned, cut off, repeated, lengths made huge, noise put in.
fn spoilt(random: &mut fastrand::Rng, mut bytes: Vec<u8>) -> Vec<u8> {
    for _ in 0..random.usize(1..4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.usize(0..bytes.len());
        match random.u8(0..7) {
            0 => bytes[at] ^= 1 << random.u8(0..8),
            1 => bytes.truncate(at),
            2 => bytes.insert(at, random.u8(..)),
            3 => {
                let end = (at + 4).min(bytes.len());
                let huge = [[0xff; 4], [0x7f, 0xff, 0xff, 0xff], [0; 4]];
                bytes[at..end].copy_from_slice(&huge[random.usize(0..3)][..end - at]);
            }
            4 => {
                let piece = bytes[at..].to_vec();
                // Repeated once more, it would be this process's memory that is measured.
                let times = random.usize(1..2_000).min(REPEATED_BYTES_MAX / piece.len());
                bytes.extend(piece.repeat(times));
            }
            5 => {
                let noise: Vec<u8> = std::iter::repeat_with(|| random.u8(..)).take(64).collect();
                bytes.splice(at..at, noise);
            }
            _ => drop(bytes.remove(at)),
        }
    }
    bytes
}

/// Spoils one of what somebody says, and others now and then.
#[derive(Clone)]
pub struct Spoiler {
    random: fastrand::Rng,
    /// How many it says before that.
    before: usize,
    has_spoilt: Arc<AtomicBool>,
}

impl Spoiler {
    /// What follows from a seed, for somebody who says at least so much.
    pub fn new(seed: u64, said: usize) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        Spoiler {
            before: random.usize(0..said),
            random,
            has_spoilt: Arc::default(),
        }
    }

    /// What is said instead.
    pub fn spoil(&mut self, said: Vec<u8>) -> Vec<u8> {
        let is_it = self.before == 0;
        self.before = self.before.wrapping_sub(1);
        if !is_it && self.random.u8(0..6) > 0 {
            return said;
        }
        let spoilt = spoilt(&mut self.random, said.clone());
        if spoilt != said {
            self.has_spoilt.store(true, Ordering::Release);
        }
        spoilt
    }

    /// Whether anything that was said was spoilt.
    pub fn has_spoilt(&self) -> bool {
        self.has_spoilt.load(Ordering::Acquire)
    }
}
