//! What the machine has.

/// Half of the machine's memory in bytes, or `least` if that is more, or if it is not known.
pub fn half_of_memory(least: u64) -> u64 {
    #[cfg(target_os = "linux")]
    {
        let system = rustix::system::sysinfo();
        let all = (system.totalram as u64).saturating_mul(u64::from(system.mem_unit));
        (all / 2).max(least)
    }
    #[cfg(not(target_os = "linux"))]
    {
        least
    }
}
