//! Runs that wait, are called back, and call each other.

mod abandoned;
mod callbacks;
mod calls;
mod catalogue;
mod journal;
mod upgrades;
pub mod waits;
