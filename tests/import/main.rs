//! The importers of n8n's workflows, of Node-RED's flows and of OpenAPI documents.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod code;
mod drawn;
mod foreign;
mod forms;
mod fragments;
mod merging;
mod moving;
mod operations;
mod properties;
mod watching;
