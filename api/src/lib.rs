//! The crate behind the binary `heddle`: the only one that reads files, flags and the environment.

pub mod catalogue;
pub mod cli;
