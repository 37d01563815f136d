//! The operations of services that heddle knows, from a file for each service. docs/services.md describes the
//! files.

mod parameters;
mod problems;
mod read;

pub use read::read_service;

use crate::node_type::NodeType;

macro_rules! services {
    ($($name:literal,)+) => {
        /// The files: a service's name and its operations.
        pub const SERVICES: &[(&str, &str)] = &[$(
            ($name, include_str!(concat!("../operations/", $name, ".json"))),
        )+];
    };
}

// Those that are used most first.
services! {
    "google-sheets",
    "slack",
    "telegram",
    "gmail",
    "google-drive",
    "airtable",
    "notion",
    "github",
    "discord",
    "hubspot",
    "google-calendar",
    "google-docs",
    "jira",
    "microsoft-outlook",
    "mattermost",
    "whatsapp",
    "twilio",
    "supabase",
    "todoist",
    "wordpress",
    "openai",
    "google-spreadsheets",
    "gmail-threads",
    "slack-channels",
    "github-pull-requests",
    "pipedrive",
    "youtube",
    "nocodb",
    "zendesk",
    "x",
    "baserow",
    "openweathermap",
    "asana",
    "hunter",
}

/// Their types. Files that are not valid, which a test excludes, have none.
pub(crate) fn types() -> Vec<NodeType> {
    let services = SERVICES.iter().map(|(_, text)| read_service(text));
    services.filter_map(Result::ok).flatten().collect()
}
