//! Hostile modules against the sandbox: each ends with its own error and hurts nobody else.

#![expect(clippy::unwrap_used, reason = "a test's helpers fail the test")]

mod chat;
mod components;
mod composites;
mod connections;
mod egress;
mod executor;
mod executors;
#[path = "../shared/component.rs"]
mod hand_made;
mod harness;
mod http;
mod http_connections;
mod items;
mod javascript;
mod journal;
mod key_values;
mod limits;
mod lists;
mod mail;
#[expect(
    clippy::duplicate_mod,
    reason = "the same tests, with the driver in a process of its own"
)]
#[path = "mail.rs"]
mod mail_in_connectors;
mod mariadb;
#[path = "../shared/needs.rs"]
mod needs;
mod of_numbers;
mod pairing;
mod patterns;
mod peers;
mod plans;
#[path = "../shared/port.rs"]
mod port;
#[path = "../http/harness/postgres.rs"]
mod postgres;
mod programs;
mod published_attacks;
mod records;
mod scripts;
mod server;
mod services;
mod smtp;
#[path = "../shared/spoiler.rs"]
mod spoiler;
mod sql;
#[expect(
    clippy::duplicate_mod,
    reason = "the same tests, with drivers in processes of their own"
)]
#[path = "sql.rs"]
mod sql_in_connectors;
mod sqlite;
#[expect(
    clippy::duplicate_mod,
    reason = "the same tests, with SQLite in a process of its own"
)]
#[path = "sqlite.rs"]
mod sqlite_in_connectors;
mod streams;
mod taken_up;
#[path = "../shared/tried.rs"]
mod tried;
