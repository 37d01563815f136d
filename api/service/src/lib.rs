//! The business logic of the service, independent of the interface: logins, patterns, the state of webhooks, mail, and
//! communication between servers. Uses HTTP header maps, but knows nothing about statuses or routes.

pub mod archives;
pub mod audit;
pub mod auth;
pub mod connection_uses;
pub mod group_roles;
pub mod hosting;
pub mod joining;
pub mod mail;
pub mod notices;
pub mod one_time_links;
pub mod onlookers;
pub mod outbox;
pub mod patterns;
pub mod peers;
pub mod rate_limit;
pub mod removing;
pub mod replays;
pub mod rooms;
pub mod series;
mod service;
pub mod test_cases;
mod token_bucket;
pub mod webhooks;

pub use service::{Service, Settings};
