//! Patterns as files, and what two have made of one: through the crate's own interface, without a server.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod development;
mod documents;
mod files;
mod merging;
mod profiles;
