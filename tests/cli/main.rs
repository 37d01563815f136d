//! The command line from outside: the binary is started, fed files, and judged by what it prints and how it ends.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bad_input;
mod beside_n8n;
mod catalogue;
mod commands;
mod custom_nodes;
mod egress;
#[path = "../shared/example.rs"]
mod example;
mod examples;
#[expect(dead_code, reason = "other tests have more use for it")]
#[path = "../shared/component.rs"]
mod hand_made;
mod harness;
mod http_server;
mod import_n8n;
mod import_node_red;
mod import_openapi;
#[path = "../shared/n8n_cases.rs"]
mod n8n_cases;
#[path = "../shared/needs.rs"]
mod needs;
#[path = "../shared/npm.rs"]
mod npm;
mod operations;
mod outside;
mod pages;
mod running;
mod testing;
