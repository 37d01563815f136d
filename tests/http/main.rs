//! The service over HTTP, on SQLite and on PostgreSQL.

mod accounts;
mod harness;
mod operation;
