//! Nodes for other people's formats, compiled and executed in the sandbox, next to independent implementations of the
//! same formats on Node.js. Where these can't be installed, what needs them is skipped, but not in CI.
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod csv;
mod html;
mod jwt;
mod limits;
mod markdown;
#[path = "../shared/needs.rs"]
mod needs;
#[path = "../shared/npm.rs"]
mod npm;
mod oracle;
mod regex;
mod sandbox;
mod xml;
mod yaml;
