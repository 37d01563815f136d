//! What the queue's turns go by: whose a run is, whether somebody waits for it, and how much may wait and execute.

use heddle_model::ids::UserId;
use heddle_model::tenant::Tenant;

/// Whose part of everything something takes: a tenant's, and that of the user who owns all of its workspaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Share {
    /// Who owns the tenant.
    pub owner: UserId,
    pub tenant: Tenant,
}

/// How much may wait, and how much may execute.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Runs that wait, all together.
    pub waiting_max: usize,
    /// Bytes of their events in memory, all together.
    pub waiting_bytes_max: usize,
    /// Bytes of the events that only the database has, all together.
    pub stored_bytes_max: usize,
    /// Runs that execute, all together.
    pub executing_max: usize,
    /// Runs of one tenant that execute.
    pub tenant_executing_max: usize,
    /// Servers that share what a tenant may execute.
    pub servers: usize,
}

/// Places that runs nobody waits for leave free.
pub(super) const fn without_reserve(places: usize) -> usize {
    places - places / 4
}

/// Whether somebody waits for the run's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Somebody does.
    Awaited,
    /// Nobody does.
    Background,
}

impl Class {
    /// Of a run.
    pub const fn of(is_awaited: bool) -> Self {
        if is_awaited {
            Class::Awaited
        } else {
            Class::Background
        }
    }
}
