//! The operations and triggers of services that heddle knows, from a file for each service. docs/services.md describes the
//! files.

mod parameters;
mod problems;
mod read;
mod service;
mod subscription;
mod triggers;

pub use read::read_service;

use crate::node_type::NodeType;

macro_rules! services {
    ($($name:literal,)+) => {
        /// The files: a service's name, its operations and its triggers.
        pub const SERVICES: &[(&str, &str)] = &[$(
            ($name, include_str!(concat!("../operations/", $name, ".json"))),
        )+];
    };
}

// Those that are used most first.
services! {
    "google-sheets",
    "google-sheets-rows",
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
    "telegram-trigger",
    "github-trigger",
    "gitlab-trigger",
    "bitbucket-trigger",
    "stripe-trigger",
    "slack-trigger",
    "shopify-trigger",
    "woocommerce-trigger",
    "typeform-trigger",
    "jotform-trigger",
    "gumroad-trigger",
    "linear-trigger",
    "jira-trigger",
    "calendly-trigger",
    "clickup-trigger",
    "todoist-trigger",
    "webflow-trigger",
    "pipedrive-trigger",
    "whatsapp-trigger",
    "facebook-trigger",
    "twilio-trigger",
    "gmail-trigger",
    "google-calendar-trigger",
    "google-drive-trigger",
    "google-sheets-trigger",
    "airtable-trigger",
    "notion-trigger",
    "microsoft-outlook-trigger",
    "hubspot-trigger",
    "trello-trigger",
}

/// Their types. Files that are not valid, which a test excludes, have none.
pub(crate) fn types() -> Vec<NodeType> {
    let services = SERVICES.iter().map(|(_, text)| read_service(text));
    services.filter_map(Result::ok).flatten().collect()
}
