//! The crate behind the binary `heddle`: the only one that reads files, flags and the environment, and that knows HTTP's
//! routes and statuses. What it does for its callers is in `heddle-service`, runs are `heddle-execution`'s, SQL is
//! `heddle-store`'s, and `heddle-model` has what all of them speak of.

pub mod app;
pub mod catalogue;
pub mod cli;
pub mod config;
pub mod demo;
pub mod http;
pub mod telemetry;
