//! Copying, filling and comparing memory in WebAssembly's own instructions, sixteen bytes at a time: for the guest, and for the
//! JavaScript engine.
//!
//! What these replace: `memory.copy` and `memory.fill` leave the sandbox for a function of wasmtime's unless their size is a
//! constant, which costs more than all that a short text needs besides, and nearly all that a run copies is short; and the
//! compiler's own `memcmp` looks at one byte after the other. `symbols` is where the linker finds them.
//!
//! Nothing here may be a loop over single words that a compiler takes for one of these functions.
#![expect(unsafe_code, reason = "works with raw memory")]

#[cfg(target_arch = "wasm32")]
mod symbols;
#[cfg(test)]
mod tests;

use std::cmp::Ordering;

/// A vector of WebAssembly's.
#[cfg(target_arch = "wasm32")]
type Block = core::arch::wasm32::v128;
#[cfg(not(target_arch = "wasm32"))]
type Block = u128;

const BLOCK: usize = size_of::<Block>();

/// # Safety
/// As for reading a `T` from an address that need not be aligned.
#[inline(always)]
unsafe fn load<T>(from: *const u8) -> T {
    // SAFETY: the caller's.
    unsafe { from.cast::<T>().read_unaligned() }
}

/// # Safety
/// As for writing a `T` to an address that need not be aligned.
#[inline(always)]
unsafe fn store<T>(to: *mut u8, value: T) {
    // SAFETY: the caller's.
    unsafe { to.cast::<T>().write_unaligned(value) }
}

/// Copies what one `T` or two hold, which may overlap: both are read before one is written.
///
/// # Safety
/// As for [`copy_up`]; a `T` has at most so many bytes, and at least half as many.
#[inline(always)]
unsafe fn copy_ends<T>(to: *mut u8, from: *const u8, bytes: usize) {
    let last = bytes - size_of::<T>();
    // SAFETY: the caller's; both lie within the bytes.
    unsafe {
        let (first, second): (T, T) = (load(from), load(from.add(last)));
        store(to, first);
        store(to.add(last), second);
    }
}

/// Copies up to two blocks, whether they overlap or not.
///
/// # Safety
/// As for [`copy_up`].
#[inline(always)]
unsafe fn copy_short(to: *mut u8, from: *const u8, bytes: usize) {
    // SAFETY: the caller's.
    unsafe {
        match bytes {
            16.. => copy_ends::<Block>(to, from, bytes),
            8.. => copy_ends::<u64>(to, from, bytes),
            4.. => copy_ends::<u32>(to, from, bytes),
            2.. => copy_ends::<u16>(to, from, bytes),
            1 => store::<u8>(to, load(from)),
            0 => {}
        }
    }
}

/// Copies from the beginning on: right unless the target begins within the source.
///
/// # Safety
/// So many bytes can be read and written.
#[inline(always)]
pub unsafe fn copy_up(to: *mut u8, from: *const u8, bytes: usize) {
    if bytes <= 2 * BLOCK {
        // SAFETY: the caller's.
        return unsafe { copy_short(to, from, bytes) };
    }
    let last = bytes - BLOCK;
    // SAFETY: every block begins at `last` at most. The target is behind the source or does not meet it: what is written has
    // been read, but for the last block, which is read first of all.
    unsafe {
        let end: Block = load(from.add(last));
        let mut at = 0;
        while at + 4 * BLOCK <= last {
            let blocks: [Block; 4] = [
                load(from.add(at)),
                load(from.add(at + BLOCK)),
                load(from.add(at + 2 * BLOCK)),
                load(from.add(at + 3 * BLOCK)),
            ];
            store(to.add(at), blocks[0]);
            store(to.add(at + BLOCK), blocks[1]);
            store(to.add(at + 2 * BLOCK), blocks[2]);
            store(to.add(at + 3 * BLOCK), blocks[3]);
            at += 4 * BLOCK;
        }
        while at < last {
            store(to.add(at), load::<Block>(from.add(at)));
            at += BLOCK;
        }
        store(to.add(last), end);
    }
}

/// Copies from the end on: right unless the target ends within the source.
///
/// # Safety
/// So many bytes can be read and written.
#[inline(always)]
pub unsafe fn copy_down(to: *mut u8, from: *const u8, bytes: usize) {
    if bytes <= 2 * BLOCK {
        // SAFETY: the caller's.
        return unsafe { copy_short(to, from, bytes) };
    }
    // SAFETY: as in `copy_up`, the other way round.
    unsafe {
        let begin: Block = load(from);
        let mut at = bytes;
        while at > BLOCK {
            at -= BLOCK;
            store(to.add(at), load::<Block>(from.add(at)));
        }
        store(to, begin);
    }
}

/// Writes one byte everywhere.
///
/// # Safety
/// So many bytes can be written.
#[inline(always)]
pub unsafe fn fill(to: *mut u8, byte: u8, bytes: usize) {
    let word = u64::from_ne_bytes([byte; 8]);
    // SAFETY: the caller's; every block and word begins at the last place for one at most.
    unsafe {
        match bytes {
            32.. => {
                let block: Block = load([word; 2].as_ptr().cast());
                let last = bytes - BLOCK;
                let mut at = 0;
                while at + 4 * BLOCK <= last {
                    store(to.add(at), [block; 4]);
                    at += 4 * BLOCK;
                }
                while at < last {
                    store(to.add(at), block);
                    at += BLOCK;
                }
                store(to.add(last), block);
            }
            8.. => {
                let last = bytes - size_of::<u64>();
                let mut at = 0;
                while at < last {
                    store(to.add(at), word);
                    at += size_of::<u64>();
                }
                store(to.add(last), word);
            }
            4.. => {
                store(to, word as u32);
                store(to.add(bytes - size_of::<u32>()), word as u32);
            }
            0 => {}
            _ => {
                store(to, byte);
                store(to.add(bytes / 2), byte);
                store(to.add(bytes - 1), byte);
            }
        }
    }
}

/// Compares byte by byte, as unsigned numbers.
///
/// # Safety
/// So many bytes can be read of both.
#[inline(always)]
pub unsafe fn compare(a: *const u8, b: *const u8, bytes: usize) -> Ordering {
    const WORD: usize = size_of::<u64>();
    // SAFETY: the caller's. Where nothing differs before, looking twice at bytes changes nothing.
    unsafe {
        let words_at = |at: usize| -> (u64, u64) { (load(a.add(at)), load(b.add(at))) };
        let Some(last) = bytes.checked_sub(WORD) else {
            let halves_at = |at: usize| -> (u32, u32) { (load(a.add(at)), load(b.add(at))) };
            if let Some(last) = bytes.checked_sub(WORD / 2) {
                return ordered(halves_at(0)).then_with(|| ordered(halves_at(last)));
            }
            let bytes_at = |at: usize| -> (u8, u8) { (load(a.add(at)), load(b.add(at))) };
            let mut all = (0..bytes).map(bytes_at);
            return all
                .find(|(a, b)| a != b)
                .map_or(Ordering::Equal, |(a, b)| a.cmp(&b));
        };
        let mut at = 0;
        while at < last {
            let (a, b) = words_at(at);
            if a != b {
                return ordered_words((a, b));
            }
            at += WORD;
        }
        ordered_words(words_at(last))
    }
}

/// Of bytes as they lie in memory.
#[inline(always)]
fn ordered_words((a, b): (u64, u64)) -> Ordering {
    u64::from_be(a).cmp(&u64::from_be(b))
}

#[inline(always)]
fn ordered((a, b): (u32, u32)) -> Ordering {
    u32::from_be(a).cmp(&u32::from_be(b))
}
