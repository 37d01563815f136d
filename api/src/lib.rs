//! The crate behind the binary `heddle`: the only one that reads files, flags and the environment, and that knows
//! HTTP and SQL. Within it: http → store and auth; store knows nothing of http.

pub mod access;
pub mod app;
pub mod auth;
pub mod budget;
pub mod catalogue;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod entropy;
pub mod error;
pub mod execution;
pub mod http;
pub mod ids;
pub mod mail;
pub mod names;
pub mod notices;
pub mod onlookers;
pub mod patterns;
pub mod peers;
pub mod quota;
pub mod rate_limit;
pub mod schedule;
pub mod scheduler;
pub mod secret_name;
pub mod signature;
pub mod store;
pub mod telemetry;
pub mod token_bucket;
pub mod vault;
pub mod webhooks;
