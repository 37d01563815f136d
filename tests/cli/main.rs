//! The command line from outside: the binary is started, fed files, and judged by what it prints and how it ends.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bad_input;
mod catalogue;
mod commands;
mod examples;
mod harness;
mod http_server;
mod outside;
mod running;
