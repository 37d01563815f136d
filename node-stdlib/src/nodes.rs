//! The standard nodes: what each does with its parameters and inputs.
//!
//! Each is a function as [`crate::node`] describes. Knows nothing of edges, frames,
//! retries or WebAssembly; [`crate::machine`] calls it and carries the outcome on.

/// Calls `$macro!` with every standard node: `(Type, run function, resume function or none)`.
/// The guest's exports are made from it, and a test holds it against the catalogue. Triggers are not in it: the
/// run loop emits the event for them. A node may have a `#[cfg]` before it: then it is only where its crates are.
#[macro_export]
macro_rules! for_each_node {
    ($macro:ident) => {
        $macro! {
            // FLOW
            (If, $crate::nodes::flow::if_node, none),
            (Switch, $crate::nodes::flow::switch, none),
            (Merge, $crate::nodes::flow::merge, none),
            (ForEach, $crate::nodes::flow::for_each, none),
            (Loop, $crate::nodes::flow::loop_node, none),
            (Wait, $crate::nodes::flow::wait, $crate::nodes::flow::waited),
            (WaitForCallback, $crate::nodes::flow::wait_for_callback, $crate::nodes::flow::called_back),
            (Throw, $crate::nodes::flow::throw, none),
            (Return, $crate::nodes::flow::return_node, none),
            (RespondToWebhook, $crate::nodes::flow::respond_to_webhook, none),
            (StreamResponse, $crate::nodes::flow::stream_response, none),
            (CallPattern, $crate::nodes::flow::call_pattern, $crate::nodes::flow::called),
            (NoOp, $crate::nodes::flow::no_op, none),
            // DATA
            (SetFields, $crate::nodes::fields::set_fields, none),
            (PickFields, $crate::nodes::fields::pick_fields, none),
            (RenameFields, $crate::nodes::fields::rename_fields, none),
            (Transform, $crate::nodes::fields::transform, none),
            (Filter, $crate::nodes::lists::filter, none),
            (Sort, $crate::nodes::lists::sort, none),
            (Limit, $crate::nodes::lists::limit, none),
            (Unique, $crate::nodes::lists::unique, none),
            (Aggregate, $crate::nodes::aggregate::aggregate, none),
            (Join, $crate::nodes::join::join, none),
            (Flatten, $crate::nodes::lists::flatten, none),
            (Compare, $crate::nodes::join::compare, none),
            // TEXT
            (Template, $crate::nodes::template::template, none),
            (Regex, $crate::nodes::regex::regex, none),
            (Json, $crate::nodes::json::json, none),
            (Csv, $crate::nodes::csv::csv, none),
            (Xml, $crate::nodes::xml::xml, none),
            (Yaml, $crate::nodes::yaml::yaml, none),
            #[cfg(any(target_arch = "wasm32", test))]
            (Html, $crate::nodes::html::html, none),
            (Markdown, $crate::nodes::markdown::markdown, none),
            (Base64, $crate::nodes::base64::base64, none),
            (Url, $crate::nodes::url::url, none),
            (DateTime, $crate::nodes::date_time::date_time, none),
            (Hash, $crate::nodes::hash::hash, $crate::nodes::hash::digested),
            (Hmac, $crate::nodes::hash::hmac, $crate::nodes::hash::digested),
            (Jwt, $crate::nodes::jwt::jwt, $crate::nodes::jwt::resume),
            (Uuid, $crate::nodes::uuid::uuid, none),
            (Random, $crate::nodes::random::random, none),
            // CODE
            (JavaScript, $crate::nodes::javascript::javascript, none),
            (Component, $crate::nodes::component::component, $crate::nodes::component::resume),
            // EFFECTS
            (HttpRequest, $crate::nodes::http_request::http_request, $crate::nodes::http_request::resume),
            (ReadStream, $crate::nodes::read_stream::read_stream, $crate::nodes::read_stream::resume),
            (SqlQuery, $crate::nodes::sql_query::sql_query, none),
            (SendEmail, $crate::nodes::send_email::send_email, none),
            (KeyValue, $crate::nodes::key_value::key_value, none),
            (File, $crate::nodes::file::file, $crate::nodes::file::resume),
            (ConvertFile, $crate::nodes::convert_file::convert_file, none),
            (Zip, $crate::nodes::zip::zip, none),
            (Xlsx, $crate::nodes::xlsx::xlsx, none),
            (Pdf, $crate::nodes::pdf::pdf, none),
            (Image, $crate::nodes::image::image, none),
            (ChatCompletion, $crate::nodes::chat_completion::chat_completion, $crate::nodes::chat_completion::answered),
            (Log, $crate::nodes::log::log, none),
        }
    };
}

pub mod aggregate;
pub mod base64;
pub mod chat_completion;
pub mod component;
pub mod convert_file;
pub mod csv;
pub mod date_time;
pub mod fields;
pub mod file;
mod file_value;
pub mod flow;
pub mod hash;
// Natively only for its tests, since its crates are large.
#[cfg(any(target_arch = "wasm32", test))]
pub mod html;
pub mod http_request;
pub mod image;
pub mod javascript;
pub mod join;
pub mod json;
pub mod jwt;
pub mod key_value;
pub mod lists;
pub mod log;
pub mod markdown;
pub mod parameters;
pub mod pdf;
pub mod random;
pub mod read_stream;
pub mod regex;
pub mod send_email;
pub mod sql_query;
pub mod template;
mod text;
pub mod url;
pub mod uuid;
pub mod xlsx;
pub mod xml;
pub mod yaml;
pub mod zip;

use crate::node::{Resume, Run};

macro_rules! table {
    ($($(#[$cfg:meta])? ($name:ident, $run:path, $($resume:tt)+)),* $(,)?) => {
        /// The implementation of a standard node type, and how it goes on after an effect.
        pub fn lookup(node_type: &str) -> Option<(Run, Option<Resume>)> {
            match node_type {
                $($(#[$cfg])? stringify!($name) => Some(($run, resume!($($resume)+))),)*
                _ => None,
            }
        }
    };
}

macro_rules! resume {
    (none) => {
        None
    };
    ($resume:path) => {
        Some($resume)
    };
}

for_each_node!(table);
