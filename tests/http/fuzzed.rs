//! The seeds of the fuzz targets and many changes to each, without a fuzzer: see fuzz/README.md.

#[path = "../../fuzz/src/targets/mod.rs"]
mod targets;

use std::path::Path;

/// Changes to each seed.
const CHANGES: usize = 300;

/// Numbers that look random and are the same every time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn changed(seed: &[u8], others: &[Vec<u8>], numbers: &mut Numbers) -> Vec<u8> {
    let mut data = seed.to_vec();
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(data.len() + 1);
        match numbers.below(6) {
            0 => data.truncate(at),
            1 => data.insert(at, b"{}[]()\"'`/\\.,:=>$\n 0a-*\0\xc2\xff"[numbers.below(26)]),
            2 if at < data.len() => drop(data.remove(at)),
            3 => {
                let end = at + numbers.below(data.len() - at + 1);
                let part = data[at..end].to_vec();
                let times = numbers.below(40);
                data.splice(at..at, part.repeat(times));
            }
            4 => {
                let other = &others[numbers.below(others.len())];
                let start = numbers.below(other.len());
                data.splice(at..at, other[start..].iter().copied());
            }
            _ => data = data.repeat(2),
        }
        data.truncate(20_000);
    }
    data
}

#[test]
fn the_seeds_and_changes_to_them_find_nothing() {
    for (name, check) in targets::ALL {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz/seeds")
            .join(name);
        let mut paths: Vec<_> = std::fs::read_dir(&directory)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        paths.sort();
        let seeds: Vec<Vec<u8>> = paths.iter().map(|path| std::fs::read(path).unwrap()).collect();
        assert!(!seeds.is_empty(), "{name} has no seeds");
        let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
        for seed in &seeds {
            check(seed);
            for _ in 0..CHANGES {
                check(&changed(seed, &seeds, &mut numbers));
            }
        }
    }
}
