//! What each target does with its input, without the fuzzer: so that the tests can do the same with the seeds. Each
//! panics when something does not hold.

pub mod answers;
pub mod credentials;
pub mod cron;
pub mod diagnostics;
pub mod event;
pub mod executor;
pub mod expression;
pub mod form;
pub mod import_n8n;
pub mod import_node_red;
pub mod import_openapi;
pub mod json;
pub mod keys;
pub mod mail;
pub mod mailbox;
pub mod masking;
pub mod multipart;
pub mod poll;
pub mod signatures;
pub mod streams;
pub mod subscription;

/// What a target does with an input.
pub type Check = fn(&[u8]);

/// Those whose input is any text, by name.
pub const ALL: &[(&str, Check)] = &[
    ("answers", answers::check),
    ("credentials", credentials::check),
    ("cron", cron::check),
    ("diagnostics", diagnostics::check),
    ("event", event::check),
    ("executor", executor::check),
    ("expression", expression::check),
    ("form", form::check),
    ("import_n8n", import_n8n::check),
    ("import_node_red", import_node_red::check),
    ("import_openapi", import_openapi::check),
    ("json", json::check),
    ("keys", keys::check),
    ("mail", mail::check),
    ("mailbox", mailbox::check),
    ("masking", masking::check),
    ("multipart", multipart::check),
    ("poll", poll::check),
    ("signatures", signatures::check),
    ("streams", streams::check),
    ("subscription", subscription::check),
];
