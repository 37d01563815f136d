//! The importer of n8n's workflows.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod drawn;
mod measure;
mod operations;
mod properties;
