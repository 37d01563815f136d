//! The business logic of the service, independent of the interface: logins, patterns, the state of webhooks, mail, and
//! communication between servers. Uses HTTP header maps, but knows nothing about statuses or routes.

pub mod audit;
pub mod auth;
pub mod connection_uses;
pub mod hosting;
pub mod mail;
pub mod notices;
pub mod onlookers;
pub mod patterns;
pub mod peers;
pub mod rate_limit;
pub mod series;
mod service;
pub mod test_cases;
mod token_bucket;
pub mod webhooks;

pub use service::{Service, Settings};
