//! Linux: death with the parent, no new rights, no core dumps, an empty network, no files, and a list of system calls.
//!
//! What the kernel lacks is left out and told; what it has and refuses stops the worker.

mod namespace;

use crate::error::{ChannelError, failed};
use crate::layers::{Layers, Rights};
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd, Ruleset,
    RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope, path_beneath_rules,
};
use rustix::net::sockopt::socket_peercred;
use rustix::process::{
    DumpableBehavior, Signal, getppid, getpriority_process, set_dumpable_behavior,
    set_parent_process_death_signal,
};
use rustix::thread::set_no_new_privs;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::net::UnixStream;

/// What kernels know that have been tried with this; older ones take what they know of it.
const LANDLOCK: ABI = ABI::V6;
/// An argument of ioctl: which pages of a process have been written to (`_IOWR('f', 16, struct pm_scan_arg)`).
const PAGEMAP_SCAN: u64 = 0xc060_6610;
const LOWEST_PRIORITY: u64 = 19;
/// An argument of prctl: names of threads.
const PR_SET_NAME: u64 = 15;
/// An argument of prctl: whether there is a filter.
const PR_GET_SECCOMP: u64 = 21;
/// An argument of prctl: what filters need.
const PR_SET_NO_NEW_PRIVS: u64 = 38;
/// An argument of seccomp: another filter.
const SECCOMP_SET_MODE_FILTER: u64 = 1;

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
/// System calls by name and number.
type Calls = &'static [(&'static str, i64)];

macro_rules! calls {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Whatever their arguments are.
fn always<'a>(calls: impl IntoIterator<Item = &'a (&'static str, i64)>) -> Rules {
    let calls = calls.into_iter();
    calls.map(|(_, number)| (*number, Vec::new())).collect()
}

/// What this system has. Tries some of it in a process of its own.
pub fn available() -> Layers {
    Layers {
        files: has_landlock(),
        system_calls: has_seccomp(),
        network: namespace::is_allowed(),
    }
}

fn has_seccomp() -> bool {
    // Opened rather than looked for: the standard library notes when `statx` has worked, and then does not do without.
    File::open("/proc/sys/kernel/seccomp/actions_avail").is_ok()
        && TargetArch::try_from(std::env::consts::ARCH).is_ok()
}

fn has_landlock() -> bool {
    let ruleset = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(ABI::V1));
    ruleset.and_then(Ruleset::create).is_ok()
}

/// Closes all descriptors but the standard ones. Ours are closed when a program starts, but not those that a shell or a
/// supervisor left open for whatever it started.
pub fn close_inherited() -> Result<(), ChannelError> {
    const FIRST: libc::c_uint = 3;
    #[expect(unsafe_code, reason = "no safe call closes descriptors that nobody owns")]
    // SAFETY: the call takes numbers only; nothing of this process has opened a descriptor yet that could be used later.
    let closed = unsafe { libc::syscall(libc::SYS_close_range, FIRST, libc::c_uint::MAX, 0) };
    let error = std::io::Error::last_os_error();
    // Kernels before 5.9 don't have it; they have no Landlock either, which is told.
    if closed == 0 || error.raw_os_error() == Some(libc::ENOSYS) {
        return Ok(());
    }
    Err(ChannelError::Confine {
        layer: "descriptors",
        source: error,
    })
}

/// How long a turn is that threads ask for, in nanoseconds: the shortest that the kernel gives.
const TURN_NS: u64 = 100_000;

/// See [`super::take_short_turns`]. What can't be had is done without.
pub fn take_short_turns() {
    let Ok(nice) = getpriority_process(None) else {
        return;
    };
    let turns = libc::sched_attr {
        // That of the first version of the structure, which has all that is set here.
        size: 48,
        sched_policy: libc::SCHED_OTHER.cast_unsigned(),
        sched_flags: 0,
        sched_nice: nice,
        sched_priority: 0,
        sched_runtime: TURN_NS,
        sched_deadline: 0,
        sched_period: 0,
    };
    #[expect(unsafe_code, reason = "no safe call asks for the length of turns")]
    // SAFETY: the first call takes a number; the second one reads the structure, which is as long as it says, and changes nothing but
    // how the calling thread is scheduled.
    unsafe {
        if libc::sched_getscheduler(0) == libc::SCHED_OTHER {
            libc::syscall(libc::SYS_sched_setattr, 0, &raw const turns, 0);
        }
    }
}

/// Ends with the parent, also in the midst of work.
pub fn die_with_parent(socket: &UnixStream) -> Result<(), ChannelError> {
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(failed("parent's death"))?;
    // It may have died before that. The socket need not be hung up then: of a process that is killed, each thread ends by itself, and
    // the one that started this process may be gone while another still has the socket.
    let parent = socket_peercred(socket).map_err(failed("parent's death"))?.pid;
    if getppid() != Some(parent) {
        std::process::exit(0);
    }
    Ok(())
}

/// Takes everything away that work with these rights does not need.
pub fn wall(rights: Rights) -> Result<Layers, ChannelError> {
    // Looked for first: what says so can't be read any more behind the first wall.
    let (has_landlock, has_seccomp) = (has_landlock(), has_seccomp());
    let network = namespace::enter(rights);
    set_dumpable_behavior(DumpableBehavior::NotDumpable).map_err(failed("core dumps"))?;
    set_no_new_privs(true).map_err(failed("rights"))?;
    let refused = |layer, error: &dyn ToString| ChannelError::Confine {
        layer,
        source: std::io::Error::other(error.to_string()),
    };
    let files = has_landlock && no_files(rights).map_err(|error| refused("Landlock", &error))?;
    if has_seccomp {
        system_calls(rights).map_err(|error| refused("seccomp", &error))?;
    }
    Ok(Layers {
        files,
        system_calls: has_seccomp,
        network,
    })
}

/// From now on any attempt to make or connect a socket ends this process.
pub fn close_sockets() -> Result<(), ChannelError> {
    close(HOSTILE_SOCKETS)
}

/// From now on any attempt to start a thread ends this process.
pub fn close_threads() -> Result<(), ChannelError> {
    close(THREADS)
}

/// From now on any of these calls by any thread ends this process.
fn close(calls: Calls) -> Result<(), ChannelError> {
    if !has_seccomp_filter() {
        return Ok(());
    }
    let close = || {
        let arch = TargetArch::try_from(std::env::consts::ARCH)?;
        filter(
            always(calls),
            SeccompAction::Allow,
            SeccompAction::KillProcess,
            arch,
        )
    };
    close().map_err(|error: seccompiler::Error| ChannelError::Confine {
        layer: "seccomp",
        source: std::io::Error::other(error.to_string()),
    })
}

/// Whether this process has a filter already: without one there is no seccomp here.
fn has_seccomp_filter() -> bool {
    matches!(
        rustix::thread::secure_computing_mode(),
        Ok(rustix::thread::SecureComputingMode::Filter)
    )
}

fn filter(
    rules: Rules,
    otherwise: SeccompAction,
    matched: SeccompAction,
    arch: TargetArch,
) -> Result<(), seccompiler::Error> {
    let program: BpfProgram = SeccompFilter::new(rules, otherwise, matched, arch)?.try_into()?;
    seccompiler::apply_filter_all_threads(&program)
}

/// What a worker that has files may do with those below its working directory.
const OWN_FILES: &[AccessFs] = &[
    AccessFs::ReadFile,
    AccessFs::WriteFile,
    AccessFs::ReadDir,
    AccessFs::MakeReg,
    AccessFs::RemoveFile,
    AccessFs::Truncate,
];
/// What it may read besides: randomness, and what the time is here.
const COMMON_FILES: &[&str] = &["/dev/urandom", "/etc/localtime"];

/// No file but those that it has a right to, no port, no process but this one's. Whether the kernel enforces it.
fn no_files(rights: Rights) -> Result<bool, Box<dyn std::error::Error>> {
    let mut ruleset = Ruleset::default()
        .handle_access(AccessFs::from_all(LANDLOCK))?
        .handle_access(AccessNet::from_all(LANDLOCK))?
        .scope(Scope::from_all(LANDLOCK))?
        .create()?;
    if rights == Rights::Files {
        if std::env::current_dir()?.parent().is_none() {
            return Err("it would have the files of the whole system".into());
        }
        let own: BitFlags<AccessFs> = OWN_FILES.iter().copied().collect();
        ruleset = ruleset
            .add_rule(PathBeneath::new(PathFd::new(".")?, own))?
            .add_rules(path_beneath_rules(COMMON_FILES, AccessFs::ReadFile))?;
    }
    let status = ruleset.restrict_self()?;
    Ok(status.ruleset != RulesetStatus::NotEnforced)
}

/// Two lists: what is not on the first does not exist for this process (so that libraries take their other ways), and
/// what is on the second, which nothing innocent tries, ends it.
fn system_calls(rights: Rights) -> Result<(), seccompiler::Error> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    let missing = SeccompAction::Errno(libc::ENOSYS as u32);
    let hostile = always(&hostile(rights));
    let allowed = allowed(rights, std::process::id())?;
    // The later one first: the first may take away what is needed to install another.
    filter(hostile, SeccompAction::Allow, SeccompAction::KillProcess, arch)?;
    filter(allowed, missing, SeccompAction::Allow, arch)
}

/// What a process with this id may call. The snapshots beside this file have all of it: what they gain has a reason.
fn allowed(rights: Rights, process: u32) -> Result<Rules, seccompiler::BackendError> {
    let mut rules = always(MEMORY_AND_THREADS.iter().chain(DESCRIPTORS).chain(old_calls()));
    let thread = equal_bits(0, libc::CLONE_THREAD as u64)?;
    rules.insert(libc::SYS_clone, vec![SeccompRule::new(vec![thread])?]);
    let mut of_itself = vec![equals(0, PR_SET_NAME)?];
    if matches!(rights, Rights::LocalSocket | Rights::Execute) {
        // To give up more. Another filter can't allow what this one does not.
        of_itself.extend([equals(0, PR_SET_NO_NEW_PRIVS)?, equals(0, PR_GET_SECCOMP)?]);
        rules.insert(libc::SYS_seccomp, vec![equals(0, SECCOMP_SET_MODE_FILTER)?]);
    }
    rules.insert(libc::SYS_prctl, of_itself);
    // Only itself: that is how `abort` ends.
    let itself = equals(0, u64::from(process))?;
    rules.insert(libc::SYS_tgkill, vec![itself]);
    if rights == Rights::Execute {
        rules.extend(always(EXECUTION));
        rules.insert(libc::SYS_ioctl, vec![equals(1, PAGEMAP_SCAN)?]);
        // Of a thread by itself, to the lowest.
        let lowest = [(0, libc::PRIO_PROCESS as u64), (1, 0), (2, LOWEST_PRIORITY)];
        let conditions = lowest.map(|(argument, value)| {
            SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)
        });
        let conditions = conditions.into_iter().collect::<Result<Vec<_>, _>>()?;
        rules.insert(libc::SYS_setpriority, vec![SeccompRule::new(conditions)?]);
    }
    if matches!(rights, Rights::Peer | Rights::Files | Rights::LocalSocket) {
        rules.extend(always(WAITING));
    }
    if rights == Rights::Files {
        rules.extend(always(FILES.iter().chain(old_calls_of_files())));
    }
    if rights == Rights::LocalSocket {
        rules.extend(always(LOCAL_SOCKET));
        rules.insert(libc::SYS_socket, vec![equals(0, libc::AF_UNIX as u64)?]);
    }
    Ok(rules)
}

fn equals(argument: u8, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    let condition = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value)?;
    SeccompRule::new(vec![condition])
}

fn equal_bits(argument: u8, bits: u64) -> Result<SeccompCondition, seccompiler::BackendError> {
    SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(bits),
        bits,
    )
}

/// Memory, threads, time and the end.
const MEMORY_AND_THREADS: Calls = calls![
    SYS_brk,
    SYS_clock_getres,
    SYS_clock_gettime,
    SYS_clock_nanosleep,
    SYS_exit,
    SYS_exit_group,
    SYS_futex,
    SYS_getcpu,
    SYS_getpid,
    SYS_getrandom,
    SYS_getrusage,
    SYS_gettid,
    SYS_madvise,
    SYS_membarrier,
    SYS_mmap,
    SYS_mprotect,
    SYS_mremap,
    SYS_munmap,
    SYS_nanosleep,
    SYS_restart_syscall,
    SYS_rseq,
    SYS_rt_sigaction,
    SYS_rt_sigprocmask,
    SYS_rt_sigreturn,
    SYS_sched_getaffinity,
    SYS_sched_yield,
    SYS_set_robust_list,
    SYS_sigaltstack,
];

/// What is done with descriptors that are there.
const DESCRIPTORS: Calls = calls![
    SYS_close,
    SYS_dup,
    SYS_dup3,
    SYS_fcntl,
    SYS_fstat,
    SYS_ppoll,
    SYS_read,
    SYS_readv,
    SYS_recvfrom,
    SYS_recvmsg,
    SYS_sendmsg,
    SYS_sendto,
    SYS_shutdown,
    SYS_write,
    SYS_writev,
];

/// What an async runtime that was made before needs, and code and data in files in memory that were given.
const EXECUTION: Calls = calls![SYS_epoll_ctl, SYS_epoll_pwait, SYS_pread64];

/// What an async runtime that was made before needs.
const WAITING: Calls = calls![SYS_epoll_ctl, SYS_epoll_pwait];

/// What a database in files needs. Which files that can be is Landlock's to say.
const FILES: Calls = calls![
    SYS_faccessat,
    SYS_fchmod,
    SYS_fchown,
    SYS_fdatasync,
    SYS_fsync,
    SYS_ftruncate,
    SYS_getcwd,
    SYS_geteuid,
    SYS_lseek,
    SYS_newfstatat,
    SYS_openat,
    SYS_pread64,
    SYS_pwrite64,
    SYS_readlinkat,
    SYS_unlinkat,
];

/// What a driver needs for its one connection.
const LOCAL_SOCKET: Calls = calls![SYS_connect, SYS_getpeername, SYS_getsockname, SYS_getsockopt,];

/// Calls that newer processors have under other names only.
fn old_calls() -> Calls {
    #[cfg(target_arch = "x86_64")]
    return calls![SYS_epoll_wait, SYS_poll, SYS_time];
    #[cfg(not(target_arch = "x86_64"))]
    &[]
}

/// Calls on files that newer processors have under other names only.
fn old_calls_of_files() -> Calls {
    #[cfg(target_arch = "x86_64")]
    return calls![
        SYS_access,
        SYS_lstat,
        SYS_open,
        SYS_readlink,
        SYS_stat,
        SYS_unlink,
    ];
    #[cfg(not(target_arch = "x86_64"))]
    &[]
}

/// Other programs, other processes, the network, the kernel.
const HOSTILE: Calls = calls![
    SYS_add_key,
    SYS_bpf,
    SYS_chroot,
    SYS_delete_module,
    SYS_execve,
    SYS_execveat,
    SYS_finit_module,
    SYS_init_module,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_io_uring_setup,
    SYS_kcmp,
    SYS_kexec_load,
    SYS_keyctl,
    SYS_mount,
    SYS_open_by_handle_at,
    SYS_perf_event_open,
    SYS_pidfd_getfd,
    SYS_pidfd_open,
    SYS_pivot_root,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_ptrace,
    SYS_reboot,
    SYS_request_key,
    SYS_setns,
    SYS_swapon,
    SYS_umount2,
    SYS_unshare,
    SYS_userfaultfd,
];

/// Calls that are hostile in work that has no sockets but those it was given.
const HOSTILE_SOCKETS: Calls = calls![
    SYS_accept,
    SYS_accept4,
    SYS_bind,
    SYS_connect,
    SYS_listen,
    SYS_socket,
    SYS_socketpair,
];

/// Calls that are hostile in work that may open a socket and connect it.
const HOSTILE_SERVERS: Calls = calls![SYS_accept, SYS_accept4, SYS_bind, SYS_listen, SYS_socketpair,];

/// Threads, and what could be done to this list of calls.
const THREADS: Calls = calls![SYS_clone, SYS_clone3, SYS_seccomp];

fn hostile(rights: Rights) -> Vec<(&'static str, i64)> {
    let sockets = match rights {
        Rights::Compute | Rights::Execute | Rights::Peer | Rights::Files => HOSTILE_SOCKETS,
        Rights::LocalSocket => HOSTILE_SERVERS,
    };
    HOSTILE.iter().chain(sockets).copied().collect()
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::fmt::Write;

    /// Calls that are allowed with some arguments only.
    const WITH_CONDITIONS: Calls = calls![
        SYS_clone,
        SYS_ioctl,
        SYS_prctl,
        SYS_seccomp,
        SYS_setpriority,
        SYS_socket,
        SYS_tgkill,
    ];

    fn name(number: i64) -> &'static str {
        let allowed = [
            MEMORY_AND_THREADS,
            DESCRIPTORS,
            EXECUTION,
            WAITING,
            FILES,
            LOCAL_SOCKET,
        ];
        let allowed = allowed.into_iter().chain([old_calls(), old_calls_of_files()]);
        let mut all = allowed.chain([WITH_CONDITIONS]).flatten();
        let found = all.find(|(_, other)| *other == number);
        found.map_or_else(
            || panic!("{number} has no name"),
            |(name, _)| name.trim_start_matches("SYS_"),
        )
    }

    /// The list is a snapshot: a wider wall shows in the change that makes it so.
    #[test]
    fn each_worker_may_call_this_and_no_more() {
        for rights in [
            Rights::Compute,
            Rights::LocalSocket,
            Rights::Peer,
            Rights::Files,
            Rights::Execute,
        ] {
            let mut text = String::from("allowed:\n");
            let rules = allowed(rights, 4_711).unwrap();
            let mut rules: Vec<_> = rules
                .into_iter()
                .map(|(call, rules)| (name(call), rules))
                .collect();
            rules.sort_by_key(|(name, _)| *name);
            for (name, rules) in rules {
                let conditions = rules.iter().map(|rule| format!(" {rule:?}")).collect::<String>();
                writeln!(text, "  {name}{conditions}").unwrap();
            }
            text.push_str("ends the process:\n");
            for (name, _) in hostile(rights) {
                writeln!(text, "  {}", name.trim_start_matches("SYS_")).unwrap();
            }
            insta::assert_snapshot!(format!("{rights:?}"), text);
        }
    }
}
