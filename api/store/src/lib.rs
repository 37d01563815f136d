//! All SQL, for SQLite and PostgreSQL. Knows nothing about HTTP; callers decide what a missing row means.
//!
//! Every function on a tenant's object takes an [`heddle_model::access::Scope`], so that a query can't omit the
//! caller's rights by mistake.

pub mod account_tokens;
pub mod accounts;
pub mod api_keys;
pub mod archive;
pub mod asking;
pub mod audit;
pub mod authenticators;
mod checkpoint;
pub mod connection_tokens;
pub mod connections;
pub mod credentials;
mod data_keys;
mod database;
mod db;
pub mod deployments;
pub mod drafts;
pub mod endpoints;
mod error;
pub mod files;
pub mod group_roles;
pub mod hosting;
pub mod invitation_links;
pub mod invitations;
pub mod key_values;
mod locks;
mod metering;
mod migrations;
pub mod notices;
mod paging;
pub mod patterns;
pub mod per_user;
pub mod polls;
pub mod presence;
pub mod quota;
mod read_cache;
pub mod removal;
mod rights;
pub mod runs;
pub mod schedules;
pub mod secrets;
pub mod servers;
pub mod sessions;
pub mod snapshot;
mod sqlite_codes;
pub mod sqlite_file;
pub mod subscriptions;
pub mod test_cases;
pub mod turns;
pub mod usage;
pub mod vault;
pub mod versions;
pub mod webhook_logs;
pub mod workspaces;
mod writer;

pub use database::{Reader, Store};
use db::containing;
pub use db::{Arg, Db, Row, Sql, inserts, inserts_as, sql, with_rows};
pub use error::{Failed, StoreError};
pub use metering::MeteredLater;
pub use paging::Start;
pub use read_cache::{Moment, ReadCache, Renewal};
pub use turns::Load;
