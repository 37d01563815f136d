//! Events that come in by webhooks, from a signed request to a run, the log and the tap.

mod answers;
mod chats;
mod checks;
mod encodings;
pub mod fixture;
mod forged;
mod forms;
pub mod issuers;
mod owners;
mod parameters;
mod records;
mod senders;
mod snippets;
mod steps;
mod streams;
