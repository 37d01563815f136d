//! The service over HTTP, on SQLite and on PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "senders and other servers have clocks of their own, and names are new"
)]

mod access;
mod accounts;
mod api_keys;
mod compile_bombs;
mod connections;
mod connections_in_runs;
mod deployments;
mod document;
#[path = "../shared/example.rs"]
mod example;
mod external_login;
mod flow;
mod fuzzed;
#[expect(dead_code, reason = "other tests have more use for it")]
#[path = "../shared/component.rs"]
mod hand_made;
mod harness;
mod key_values;
mod leases;
mod mail;
#[path = "../shared/needs.rs"]
mod needs;
mod operation;
mod patterns;
mod published_attacks;
mod quotas;
mod runs;
mod schedules;
mod secrecy;
mod server;
mod sessions;
mod test_runs;
mod vault;
mod webhooks;
mod workspaces;
