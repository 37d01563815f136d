//! The crate behind the binary `heddle`: the only one that reads files, flags and the environment, and that knows HTTP
//! routes and statuses. Business logic is in `heddle-service`, runs are in `heddle-execution`, SQL is in
//! `heddle-store`, and the types that all of them share are in `heddle-model`.

pub mod app;
pub mod catalogue;
pub mod cli;
pub mod config;
pub mod demo;
pub mod disk;
pub mod http;
pub mod pattern_schema;
pub mod telemetry;
