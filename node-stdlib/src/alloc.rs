//! The guest's memory allocator: free lists by size class over a bump pointer.
//!
//! A run is short and its memory is thrown away whole, so nothing is merged and nothing is given back; what counts
//! is that allocating and freeing take a handful of instructions. The core works over any [`Grow`], so that it is
//! tested natively; `global` is the wasm32 face. Knows nothing of what is allocated.
#![expect(unsafe_code, reason = "an allocator works with raw memory")]

#[cfg(target_arch = "wasm32")]
mod global;
#[cfg(test)]
mod tests;

use std::alloc::Layout;
use std::ptr::{self, NonNull};

/// Where the heap gets memory from.
///
/// # Safety
/// What `grow` gives is valid for reads and writes of `bytes` bytes, 8-aligned, and nobody else's for as long as the
/// heap lives.
pub(crate) unsafe trait Grow {
    /// More memory: at least `bytes`, as (start, bytes); `None` when there is no more.
    fn grow(&mut self, bytes: usize) -> Option<(NonNull<u8>, usize)>;
}

/// Every block's alignment and smallest size; a free block holds the pointer to the next one.
const GRAIN: usize = 8;
/// Up to here there is a class for every multiple of [`GRAIN`], above four for each doubling.
const SMALL_MAX: usize = 64;
const SMALL_CLASSES: usize = SMALL_MAX / GRAIN;
/// Blocks beyond this are refused.
const SIZE_MAX: usize = 1 << 31;
const CLASSES: usize = SMALL_CLASSES + (SIZE_MAX.ilog2() - SMALL_MAX.ilog2()) as usize * 4;

/// First request for more memory; each one is twice the last, up to the largest.
const STEP_MIN: usize = 256 << 10;
const STEP_MAX: usize = 8 << 20;

/// The class whose blocks hold `size` bytes, which is at most [`SIZE_MAX`].
const fn class_of(size: usize) -> usize {
    if size <= SMALL_MAX {
        return if size == 0 { 0 } else { (size - 1) / GRAIN };
    }
    let last = size - 1;
    let log = last.ilog2();
    SMALL_CLASSES + (log - SMALL_MAX.ilog2()) as usize * 4 + (last >> (log - 2) & 3)
}

/// Size of the blocks of a class.
const fn size_of(class: usize) -> usize {
    if class < SMALL_CLASSES {
        return (class + 1) * GRAIN;
    }
    let above = class - SMALL_CLASSES;
    (5 + above % 4) << (above / 4 + SMALL_MAX.ilog2() as usize - 2)
}

struct Free {
    next: Option<NonNull<Free>>,
}

/// A heap over growing memory.
pub(crate) struct Heap<G> {
    free: [Option<NonNull<Free>>; CLASSES],
    /// Untouched memory, from `next` to `end`.
    next: *mut u8,
    end: *mut u8,
    step: usize,
    source: G,
}

impl<G: Grow> Heap<G> {
    pub(crate) const fn new(source: G) -> Self {
        Heap {
            free: [None; CLASSES],
            next: ptr::null_mut(),
            end: ptr::null_mut(),
            step: STEP_MIN,
            source,
        }
    }

    /// A block for the layout; null when there is no memory left.
    pub(crate) fn allocate(&mut self, layout: Layout) -> *mut u8 {
        if layout.size() > SIZE_MAX {
            return ptr::null_mut();
        }
        let class = class_of(layout.size());
        if layout.align() > GRAIN {
            return self.bump_aligned(size_of(class), layout.align());
        }
        match self.free[class] {
            Some(block) => {
                // SAFETY: blocks in a free list are nobody's, and hold a `Free` that `release` wrote.
                self.free[class] = unsafe { block.as_ref() }.next;
                block.as_ptr().cast()
            }
            None => self.bump(class),
        }
    }

    /// Takes a block back.
    ///
    /// # Safety
    /// `block` came from this heap for this layout and is not used any more.
    pub(crate) unsafe fn release(&mut self, block: *mut u8, layout: Layout) {
        let class = class_of(layout.size());
        let free: *mut Free = block.cast();
        // SAFETY: the block is ours now, 8-aligned and at least 8 bytes large.
        unsafe {
            free.write(Free {
                next: self.free[class],
            })
        };
        self.free[class] = NonNull::new(free);
    }

    /// A block for a new size with the old one's content: the same one if it is large enough or the last before the
    /// untouched memory. Null when there is no memory left; the old block is valid then.
    ///
    /// # Safety
    /// `block` came from this heap for this layout; it is not used any more unless null is returned.
    pub(crate) unsafe fn resize(&mut self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > SIZE_MAX {
            return ptr::null_mut();
        }
        let (old, new) = (size_of(class_of(layout.size())), size_of(class_of(size)));
        if old == new {
            return block;
        }
        let after = block.wrapping_add(old);
        // What grows here leaves no block of the sizes on its way. Where one of the size wanted is free, it is taken: else whatever
        // grows again and again (the text of a file's piece) would take untouched memory each time, and the list of its last size
        // would only get longer.
        let is_free = || self.free[class_of(size)].is_some();
        if after == self.next && (new < old || (new - old <= self.untouched() && !is_free())) {
            self.next = block.wrapping_add(new);
            return block;
        }
        // SAFETY: the alignment is that of a valid layout, and the size at most SIZE_MAX; both checked by rounding.
        let Ok(wanted) = Layout::from_size_align(size, layout.align()) else {
            return ptr::null_mut();
        };
        let moved = self.allocate(wanted);
        if !moved.is_null() {
            // SAFETY: two different blocks, each at least as large as the smaller size.
            unsafe { ptr::copy_nonoverlapping(block, moved, layout.size().min(size)) };
            // SAFETY: as this function's own.
            unsafe { self.release(block, layout) };
        }
        moved
    }

    fn untouched(&self) -> usize {
        self.end.addr() - self.next.addr()
    }

    #[inline]
    fn bump(&mut self, class: usize) -> *mut u8 {
        let size = size_of(class);
        if size > self.untouched() && !self.more(size) {
            return self.carve(class);
        }
        let block = self.next;
        self.next = block.wrapping_add(size);
        block
    }

    /// Rare: nothing of ours is aligned to more than 8. Such blocks are not sought in the free lists.
    #[cold]
    fn bump_aligned(&mut self, size: usize, align: usize) -> *mut u8 {
        let Some(padded) = size.checked_add(align) else {
            return ptr::null_mut();
        };
        if padded > self.untouched() && !self.more(padded) {
            return ptr::null_mut();
        }
        let block = self.next.map_addr(|address| address.next_multiple_of(align));
        self.next = block.wrapping_add(size);
        block
    }

    /// Makes at least `bytes` of untouched memory.
    #[cold]
    fn more(&mut self, bytes: usize) -> bool {
        let missing = bytes - self.untouched();
        let grown = self
            .source
            .grow(missing.max(self.step))
            .or_else(|| self.source.grow(missing));
        let grown = match grown {
            Some((start, _)) if start.as_ptr() == self.end => grown,
            // Somebody else's memory lies between: what was left before it must not be counted.
            Some((_, given)) if given < bytes => self.source.grow(bytes),
            _ => grown,
        };
        let Some((start, given)) = grown else { return false };
        self.step = (self.step * 2).min(STEP_MAX);
        if start.as_ptr() != self.end {
            self.keep(self.next, self.untouched());
            self.next = start.as_ptr();
        }
        self.end = start.as_ptr().wrapping_add(given);
        self.untouched() >= bytes
    }

    /// Memory has run out: cuts a block from a larger free one.
    #[cold]
    fn carve(&mut self, class: usize) -> *mut u8 {
        for larger in class + 1..CLASSES {
            let Some(block) = self.free[larger] else { continue };
            // SAFETY: as in `allocate`.
            self.free[larger] = unsafe { block.as_ref() }.next;
            let (block, size) = (block.as_ptr().cast::<u8>(), size_of(class));
            self.keep(block.wrapping_add(size), size_of(larger) - size);
            return block;
        }
        ptr::null_mut()
    }

    /// Puts memory of ours that is no block into the free lists, as far as it makes whole blocks.
    fn keep(&mut self, mut start: *mut u8, mut bytes: usize) {
        while bytes >= GRAIN {
            let above = class_of(bytes);
            let class = if size_of(above) == bytes { above } else { above - 1 };
            let size = size_of(class);
            let Ok(layout) = Layout::from_size_align(size, GRAIN) else {
                return;
            };
            // SAFETY: nobody's memory, 8-aligned since all sizes are multiples of 8, and `size` bytes large.
            unsafe { self.release(start, layout) };
            start = start.wrapping_add(size);
            bytes -= size;
        }
    }
}
