//! `fstat` by its own system call.
//!
//! wasmtime asks how large a file is that it maps. The C library asks the kernel by `newfstatat` with an empty path, and no
//! list of system calls can see which path such a call has: an executor that had it could find out whether any file is
//! there. `fstat` takes a descriptor only. So this program brings its own, to which the standard library links before it
//! looks into the C library; and it comes to that when `statx`, which it tries first, has never worked in this process.

use std::ffi::c_int;

/// The C library's function of this name.
///
/// # Safety
/// As of `fstat(2)`: `to` is valid for the writes of a `stat64`.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(unsafe_code, reason = "it stands in for a function of the C library")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fstat64(descriptor: c_int, to: *mut libc::stat64) -> c_int {
    // SAFETY: the kernel checks the descriptor and writes one `stat`, for whose place the caller vouches. On 64-bit systems
    // it is what the C library calls `stat64`.
    let result = unsafe { libc::syscall(libc::SYS_fstat, descriptor, to) };
    result as c_int
}
