//! A network without any device, and no privileges: a worker that has not even the right to make a socket finds nobody
//! there. Systems may refuse this to whoever is not root, and containers often do.

use crate::layers::Rights;
use rustix::io::Errno;
use rustix::process::{WaitOptions, geteuid, waitpid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags, set_capabilities, unshare_unsafe};

/// Moves this process, which has one thread, into an empty network. Whether the system allows it.
pub fn enter(rights: Rights) -> bool {
    // The files of root's tenants may belong to others, for which its privileges are needed.
    let keeps_privileges = rights == Rights::Files && geteuid().is_root();
    let namespaces = match keeps_privileges {
        true => UnshareFlags::NEWNET,
        // Whoever makes users of their own may have a network of their own as well.
        false => UnshareFlags::NEWUSER | UnshareFlags::NEWNET,
    };
    #[expect(unsafe_code, reason = "no safe call makes namespaces")]
    // SAFETY: descriptors stay shared with what they are shared with.
    let entered = unsafe { unshare_unsafe(namespaces) }.is_ok();
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    if !keeps_privileges {
        // A process may always give up what it has.
        let _ = set_capabilities(None, none);
    }
    entered
}

/// Whether a process may do that here.
pub fn is_allowed() -> bool {
    #[expect(unsafe_code, reason = "namespaces can only be tried by a process of its own")]
    // SAFETY: the child makes system calls only, which need no lock and no memory, and ends without anything of this process.
    let child = unsafe { libc::fork() };
    match child {
        0 => {
            let refused = !enter(Rights::Compute);
            #[expect(
                unsafe_code,
                reason = "what the parent wants done at its end is not this process's to do"
            )]
            // SAFETY: ends the process.
            unsafe {
                libc::_exit(i32::from(refused))
            }
        }
        child => {
            let Some(child) = rustix::process::Pid::from_raw(child) else {
                return false;
            };
            loop {
                match waitpid(Some(child), WaitOptions::empty()) {
                    Ok(ended) => break ended.and_then(|(_, status)| status.exit_status()) == Some(0),
                    Err(Errno::INTR) => {}
                    Err(_) => break false,
                }
            }
        }
    }
}
