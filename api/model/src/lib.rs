//! The vocabulary of the service: ids, times, roles, statuses, errors, quotas and signatures. Everything here is a
//! value or a pure function of values; nothing reads a database, a file or a socket, and nothing knows HTTP's status
//! codes.

pub mod access;
pub mod audit;
pub mod chat;
pub mod clock;
mod columns;
pub mod deploy_rules;
pub mod entropy;
pub mod error;
pub mod file;
pub mod form;
pub mod ids;
pub mod mailbox;
pub mod names;
pub mod objects;
pub mod poll;
pub mod quota;
pub mod secret_name;
pub mod server_role;
pub mod shown;
pub mod signature;
pub mod slot;
pub mod status;
pub mod subscription;
pub mod tenant;
pub mod usage;
pub mod webhook;
pub mod workspace_quota;

pub use error::{Code, ServiceError};
