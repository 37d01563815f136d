//! The functions on native memory: the bytes that they should change are changed, and no others.

use super::{compare, copy_down, copy_up, fill};

const LENGTHS: [usize; 26] = [
    0, 1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 23, 24, 25, 31, 32, 33, 47, 48, 64, 81, 96, 130, 300,
];
const TOTAL: usize = 700;

fn numbered() -> Vec<u8> {
    (0..TOTAL).map(|at| (at * 7 + at / 256) as u8).collect()
}

#[test]
fn copies_of_every_length_at_every_distance() {
    for bytes in LENGTHS {
        for to in [0, 1, 3, 8, 15, 16, 17, 40, 64, 100, 320, 321, 399] {
            for from in [0, 1, 2, 8, 16, 31, 64, 100, 390] {
                let mut expected = numbered();
                expected.copy_within(from..from + bytes, to);
                let mut memory = numbered();
                let start = memory.as_mut_ptr();
                // SAFETY: 399 and 300 are less than the total.
                unsafe {
                    match (from..from + bytes).contains(&to) {
                        true => copy_down(start.add(to), start.add(from), bytes),
                        false => copy_up(start.add(to), start.add(from), bytes),
                    }
                }
                assert_eq!(memory, expected, "{bytes} bytes from {from} to {to}");
            }
        }
    }
}

#[test]
fn copies_down_that_do_not_overlap() {
    for bytes in LENGTHS {
        let mut expected = numbered();
        expected.copy_within(350..350 + bytes, 5);
        let mut memory = numbered();
        let start = memory.as_mut_ptr();
        // SAFETY: 350 and 300 are less than the total.
        unsafe { copy_down(start.add(5), start.add(350), bytes) };
        assert_eq!(memory, expected, "{bytes} bytes");
    }
}

#[test]
fn fills_of_every_length() {
    for bytes in LENGTHS {
        for to in [0, 1, 5, 16] {
            let mut expected = numbered();
            expected[to..to + bytes].fill(0xa5);
            let mut memory = numbered();
            // SAFETY: 16 and 300 are less than the total.
            unsafe { fill(memory.as_mut_ptr().add(to), 0xa5, bytes) };
            assert_eq!(memory, expected, "{bytes} bytes at {to}");
        }
    }
}

#[test]
fn compares_as_slices_do() {
    for bytes in LENGTHS {
        let a = numbered();
        for place in 0..bytes.max(1) {
            for other in [0, 1, 0x7f, 0x80, 0xff] {
                let mut b = numbered();
                b[place] = other;
                // Behind the first difference, one that says the opposite.
                b[place + 1] = a[place + 1].wrapping_sub(other);
                // SAFETY: both are longer.
                let found = unsafe { compare(a.as_ptr(), b.as_ptr(), bytes) };
                assert_eq!(found, a[..bytes].cmp(&b[..bytes]), "{bytes} bytes, at {place}");
            }
        }
    }
}
