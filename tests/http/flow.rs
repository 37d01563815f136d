//! Runs that wait, are called back, and call each other.

mod callbacks;
mod calls;
mod catalogue;
mod journal;
pub mod waits;
