//! The service over HTTP, on SQLite and on PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]
#![expect(
    clippy::disallowed_methods,
    reason = "senders and other servers have clocks of their own, and names are new"
)]

mod access;
mod accounts;
mod api_keys;
mod audit;
mod compile_bombs;
mod connections;
mod connections_in_runs;
mod console;
mod cursors;
mod deployments;
mod document;
#[path = "../shared/example.rs"]
mod example;
mod expressions;
mod external_login;
mod files;
mod flow;
mod fuzzed;
#[expect(dead_code, reason = "other tests have more use for it")]
#[path = "../shared/component.rs"]
mod hand_made;
mod harness;
mod hostile_answers;
mod hosting;
mod kept_values;
mod key_values;
mod leases;
mod mail;
mod mailboxes;
mod migrations;
#[path = "../shared/moto.rs"]
mod moto;
#[path = "../shared/n8n_cases.rs"]
mod n8n_cases;
#[path = "../shared/needs.rs"]
mod needs;
mod nodes;
#[path = "../shared/npm.rs"]
mod npm;
mod operation;
mod patterns;
mod people;
mod polls;
#[path = "../shared/port.rs"]
mod port;
mod preview;
mod published_attacks;
mod queries;
mod quotas;
mod readers;
mod refused_early;
mod renaming;
mod replays;
mod runs;
mod schedules;
mod secrecy;
mod server;
mod service_triggers;
mod sessions;
#[path = "../shared/spoiler.rs"]
mod spoiler;
mod subscriptions;
mod test_cases;
mod test_runs;
mod test_streams;
mod unknown_fields;
mod validation;
mod vault;
mod webhooks;
mod workspaces;
