//! The binary as operators run it: `heddle serve` in a process of its own, its settings, keys, signals and the
//! commands beside it.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod backup;
mod before;
mod certificate;
mod compilers;
mod crash;
mod damage;
mod demo;
mod disk;
#[path = "../http/mailboxes/dovecot.rs"]
mod dovecot;
mod effects;
mod executors;
mod files;
mod full_disk;
mod hostile_senders;
mod keys;
mod limits;
mod load;
mod log;
mod logins;
mod mailboxes;
mod message;
#[path = "../shared/moto.rs"]
mod moto;
mod moving;
#[path = "../shared/needs.rs"]
mod needs;
mod nginx;
mod outage;
mod patterns_as_files;
mod plans;
mod poison;
mod polls;
#[path = "../shared/port.rs"]
mod port;
#[path = "../http/harness/postgres.rs"]
mod postgres;
mod precompiled;
mod sender;
mod server;
mod servers;
#[path = "../shared/spoiler.rs"]
mod spoiler;
mod starting;
mod streams;
mod tls;
mod traces;
mod users;
mod walls;
mod wire;
mod write_ahead_log;
