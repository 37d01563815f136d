//! Words in memory that the host reads and compiled code writes.

use heddle_contract::plan::NONE;
use std::sync::atomic::AtomicU32;

/// Plan index of the node being executed, for the host. See [`heddle_contract::abi::CURRENT_NODE`].
#[unsafe(no_mangle)]
pub(super) static CURRENT_NODE: AtomicU32 = AtomicU32::new(NONE);

/// Index of the expression site being evaluated; compiled code stores it.
pub(super) static SITE: AtomicU32 = AtomicU32::new(NONE);
