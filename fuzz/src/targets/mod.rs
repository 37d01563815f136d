//! What each target does with its input, without the fuzzer: so that the tests can do the same with the seeds. Each
//! panics when something does not hold.

pub mod answers;
pub mod bucket;
pub mod compressed;
pub mod credentials;
pub mod cron;
pub mod diagnostics;
pub mod event;
pub mod executor;
pub mod expression;
pub mod file_texts;
pub mod form;
pub mod import_n8n;
pub mod import_node_red;
pub mod import_openapi;
pub mod json;
pub mod keys;
pub mod mail;
pub mod mail_server;
pub mod mailbox;
pub mod masking;
pub mod multipart;
pub mod oauth;
pub mod poll;
pub mod postgres;
pub mod response_headers;
pub mod signatures;
pub mod smtp;
pub mod streams;
pub mod subscription;
pub mod workspace_archive;

/// What a target does with an input.
pub type Check = fn(&[u8]);

/// Those whose input is any text, by name.
pub const ALL: &[(&str, Check)] = &[
    ("answers", answers::check),
    ("bucket", bucket::check),
    ("compressed", compressed::check),
    ("credentials", credentials::check),
    ("cron", cron::check),
    ("diagnostics", diagnostics::check),
    ("event", event::check),
    ("executor", executor::check),
    ("expression", expression::check),
    ("file_texts", file_texts::check),
    ("form", form::check),
    ("import_n8n", import_n8n::check),
    ("import_node_red", import_node_red::check),
    ("import_openapi", import_openapi::check),
    ("json", json::check),
    ("keys", keys::check),
    ("mail", mail::check),
    ("mail_server", mail_server::check),
    ("mailbox", mailbox::check),
    ("masking", masking::check),
    ("multipart", multipart::check),
    ("oauth", oauth::check),
    ("poll", poll::check),
    ("postgres", postgres::check),
    ("response_headers", response_headers::check),
    ("signatures", signatures::check),
    ("smtp", smtp::check),
    ("streams", streams::check),
    ("subscription", subscription::check),
    ("workspace_archive", workspace_archive::check),
];
