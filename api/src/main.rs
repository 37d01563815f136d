//! The binary `heddle`: the entry point and the memory allocator.

/// What is allocated by one thread is freed by another all the time here, for which jemalloc has a fifth more
/// webhooks a second than glibc's allocator, in about the same memory (`benches/README.md`).
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Few arenas, which threads share: memory that was just freed is the next to be used, whoever freed it. What is free for a
/// second goes back to the system, also when nothing is allocated any more. Operators of larger machines can say
/// otherwise by `_RJEM_MALLOC_CONF`.
#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
#[expect(
    unsafe_code,
    reason = "jemalloc reads its settings from a symbol of this name"
)]
// SAFETY: it is declared as `const char *malloc_conf`, to which a reference to a text with a zero at its end is equal.
#[unsafe(export_name = "_rjem_malloc_conf")]
pub static ALLOCATOR_SETTINGS: &std::ffi::c_char = {
    // With musl, jemalloc has no thread of its own.
    const SETTINGS: &std::ffi::CStr = match cfg!(target_env = "musl") {
        true => c"narenas:2,dirty_decay_ms:1000",
        false => c"narenas:2,background_thread:true,dirty_decay_ms:1000",
    };
    // SAFETY: the pointer is that of a text that lives for ever.
    unsafe { &*SETTINGS.as_ptr() }
};

fn main() -> std::process::ExitCode {
    heddle_api::cli::main()
}
