//! The names by which compiled code calls these functions: they take the place of the compiler's own, which are weak.

use super::{compare, copy_down, copy_up, fill};
use std::ffi::c_int;

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's; they do not overlap.
    unsafe { copy_up(to, from, bytes) };
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, bytes: usize) -> *mut u8 {
    // How far the target begins behind the source's beginning; much if it begins before it.
    let ahead = to.addr().wrapping_sub(from.addr());
    // SAFETY: the caller's; from the end on where the target begins within the source.
    unsafe {
        match ahead < bytes {
            true => copy_down(to, from, bytes),
            false => copy_up(to, from, bytes),
        }
    }
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: c_int, bytes: usize) -> *mut u8 {
    // SAFETY: the caller's.
    unsafe { fill(to, byte as u8, bytes) };
    to
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, bytes: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { compare(a, b, bytes) as c_int }
}

/// # Safety
/// As in C.
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, bytes: usize) -> c_int {
    // SAFETY: the caller's.
    unsafe { compare(a, b, bytes) as c_int }
}
