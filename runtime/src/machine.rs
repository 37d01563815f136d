//! How much memory the machine has.

/// The machine's memory in bytes. `None`: it is not known.
pub fn memory() -> Option<u64> {
    #[cfg(target_os = "linux")]
    {
        let system = rustix::system::sysinfo();
        Some((system.totalram as u64).saturating_mul(u64::from(system.mem_unit)))
    }
    #[cfg(not(target_os = "linux"))]
    None
}

/// Half of the machine's memory in bytes, or `least` if that is more, or if it is not known.
pub fn half_of_memory(least: u64) -> u64 {
    memory().map_or(least, |all| (all / 2).max(least))
}
