//! Runs: what is kept of them, and running them again.

mod listing;
mod lives;
mod owners;
mod recording;
mod retention;
mod stats;
mod tails;
