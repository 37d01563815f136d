//! Hostile modules against the sandbox: each ends with its own error and hurts nobody else.

mod harness;
mod limits;
mod programs;
