//! The service over HTTP, on SQLite and on PostgreSQL.

mod access;
mod accounts;
mod document;
mod harness;
mod operation;
mod patterns;
