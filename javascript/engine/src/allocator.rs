//! Rust's allocations from the C library's heap, so that one allocator owns the memory; and the clock that the C
//! library asks.

use std::alloc::{GlobalAlloc, Layout};
use std::cell::Cell;
use std::ffi::c_void;

unsafe extern "C" {
    fn malloc(size: usize) -> *mut c_void;
    fn aligned_alloc(align: usize, size: usize) -> *mut c_void;
    fn realloc(block: *mut c_void, size: usize) -> *mut c_void;
    fn free(block: *mut c_void);
}

/// What every block of `malloc` is aligned to.
const ALIGNMENT: usize = 16;

struct CLibrary;

// SAFETY: malloc and its kin give blocks of the size asked for, aligned to ALIGNMENT, or null.
unsafe impl GlobalAlloc for CLibrary {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the size may be anything; a larger alignment is a power of two and divides the padded size.
        unsafe {
            match layout.align() <= ALIGNMENT {
                true => malloc(layout.size()).cast(),
                false => aligned_alloc(layout.align(), layout.pad_to_align().size()).cast(),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller gives back what `alloc` gave.
        unsafe { free(block.cast()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if layout.align() <= ALIGNMENT {
            // SAFETY: the block came from `malloc`.
            return unsafe { realloc(block.cast(), size).cast() };
        }
        // SAFETY: a non-zero size with the alignment of an existing layout; the blocks don't overlap.
        unsafe {
            let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
            if !new.is_null() {
                std::ptr::copy_nonoverlapping(block, new, layout.size().min(size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

#[global_allocator]
static ALLOCATOR: CLibrary = CLibrary;

thread_local! {
    static NOW_MS: Cell<f64> = const { Cell::new(0.0) };
}

/// Sets what the time is from now on, in milliseconds since 1970 UTC.
pub fn set_now_ms(ms: f64) {
    NOW_MS.set(ms);
}

/// The time that was set last.
pub fn now_ms() -> f64 {
    NOW_MS.get()
}

/// The name that rquickjs-sys gives to its clock; defined here, it is no import.
#[unsafe(no_mangle)]
extern "C" fn __rquickjs_host_now_us() -> f64 {
    NOW_MS.get() * 1_000.0
}
