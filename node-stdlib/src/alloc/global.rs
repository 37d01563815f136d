//! The heap as the guest's global allocator, over the module's memory. Knows nothing of size classes.

use super::{Grow, Heap};
use std::alloc::{GlobalAlloc, Layout};
use std::arch::wasm32::{memory_grow, memory_size};
use std::cell::UnsafeCell;
use std::ptr::{self, NonNull};

const PAGE: usize = 64 << 10;

unsafe extern "C" {
    /// Set by the linker: where data ends and the heap may begin.
    static __heap_base: u8;
}

/// The module's memory behind the data, then what `memory.grow` gives.
struct Memory {
    begun: bool,
}

// SAFETY: the linker leaves the memory from __heap_base on to us, and memory.grow gives fresh pages; both are
// 8-aligned after rounding. The null page holds the stack, so no address is null.
unsafe impl Grow for Memory {
    fn grow(&mut self, bytes: usize) -> Option<(NonNull<u8>, usize)> {
        if !self.begun {
            self.begun = true;
            let start = (&raw const __heap_base).addr().next_multiple_of(8);
            let left = (memory_size::<0>() * PAGE).saturating_sub(start);
            if left >= bytes {
                return Some((NonNull::new(ptr::with_exposed_provenance_mut(start))?, left));
            }
        }
        let pages = bytes.div_ceil(PAGE);
        let first = memory_grow::<0>(pages);
        if first == usize::MAX {
            return None;
        }
        Some((
            NonNull::new(ptr::with_exposed_provenance_mut(first * PAGE))?,
            pages * PAGE,
        ))
    }
}

struct Global(UnsafeCell<Heap<Memory>>);

// SAFETY: wasm32 without atomics has one thread, and the heap never calls itself.
unsafe impl Sync for Global {}

#[global_allocator]
static GLOBAL: Global = Global(UnsafeCell::new(Heap::new(Memory { begun: false })));

// SAFETY: blocks are those of `Heap`: valid, aligned, disjoint and null on failure.
unsafe impl GlobalAlloc for Global {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: one thread, no reentrance: the only reference.
        unsafe { &mut *self.0.get() }.allocate(layout)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the only reference, as above; the rest is promised by the caller.
        unsafe { (*self.0.get()).release(block, layout) };
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the only reference, as above; the rest is promised by the caller.
        unsafe { (*self.0.get()).resize(block, layout, size) }
    }
}
