//! Runs: what is kept of them, and running them again.

mod listing;
mod lives;
mod retention;
mod stats;
mod tails;
