//! Runs: what is kept of them, and running them again.

mod failures;
mod figures;
mod large_events;
mod listing;
mod lives;
mod owners;
mod recording;
mod retention;
mod stats;
mod stream;
pub mod tails;
mod workspace;
