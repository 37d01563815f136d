//! What the service does for its callers, whatever they speak: logins, patterns, webhooks' state, mail, and what servers tell
//! each other. Knows HTTP's header maps, and neither its statuses nor routes.

pub mod auth;
pub mod mail;
pub mod notices;
pub mod onlookers;
pub mod patterns;
pub mod peers;
pub mod rate_limit;
mod service;
mod token_bucket;
pub mod webhooks;

pub use service::{Service, Settings};
