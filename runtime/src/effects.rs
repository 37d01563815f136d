//! Effects: a run's interactions with the outside world. Each kind is one [`effect::Effect`], whose type says what it needs of
//! the run and whether it may park; a run starts them by kind, they work on the I/O threads, and their results come
//! back to the sandbox as JSON.
//!
//! Knows nothing of wasmtime.

mod call;
mod callback;
mod calls;
mod charset;
mod chat;
mod component;
pub(crate) mod connectors;
mod digest;
mod effect;
mod file;
mod file_piece;
mod file_texts;
mod framing;
mod handles;
mod http;
mod jwt;
mod key_value;
mod large;
mod mail;
mod needs;
mod open_streams;
mod peer;
mod prepared;
mod progress;
mod registry;
mod reopened;
mod requests;
mod result_place;
mod run;
mod sinks;
mod sleep;
mod sql;
mod stored_file;
mod stream;
mod stream_read;
mod wait;

pub use call::CallPattern;
pub use callback::Callback;
pub use calls::{Call, CallContext, Calls};
pub use chat::Chat;
pub use component::{Component, Senders};
pub use connectors::Connectors;
pub use digest::{Hash, Hmac};
pub use effect::{AnyEffect, Reveals};
pub use file::File;
pub use file_piece::FilePiece;
pub use file_texts::FileRead;
pub use framing::{Framing, entries as stream_entries};
pub use handles::{Bounds, Clock, Egress, Parking, Signals};
pub use http::{Http, file_name, granted as token_granted, next_link};
pub use jwt::{Jwt, perform as sign_or_verify};
pub use key_value::KeyValue;
pub use mail::{
    KIND as MAIL_WORKER, Letter, Mail, Mailer, MailerError, answered as mail_answered,
    converse as mail_server_said, serve as serve_mail,
};
pub use needs::Handles;
pub use open_streams::OpenStreams;
pub(crate) use peer::reach;
pub use prepared::Prepared;
pub use progress::{EffectFuture, EffectResult, OnWait, Park, Progress, result_from_json, result_to_json};
pub use registry::Registry;
pub use run::{RunEffects, TRACE_TARGET, Unsaved};
pub use sinks::OpenSinks;
pub use sleep::Sleep;
pub use sql::{
    PostgresType, SQL_WORKER, SQLITE_WORKER, Sql, answered as sql_answered, postgres_value, serve_sql,
    serve_sqlite,
};
pub use stream::Stream;
pub use stream_read::StreamRead;
pub use wait::Wait;
