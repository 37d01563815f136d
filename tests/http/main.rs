//! The service over HTTP, on SQLite and on PostgreSQL.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

mod access;
mod accounts;
mod document;
mod harness;
mod operation;
mod patterns;
