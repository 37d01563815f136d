//! Effects: a run's interactions with the outside world. Each kind is one [`Effect`], whose type says what it needs of
//! the run and whether it may park; a run starts them by kind, they work on the I/O threads, and their results come
//! back to the sandbox as JSON.
//!
//! Knows nothing of wasmtime.

mod call;
mod callback;
mod calls;
mod chat;
mod digest;
mod effect;
mod handles;
mod http;
mod jwt;
mod key_value;
mod mail;
mod needs;
mod progress;
mod registry;
mod requests;
mod run;
mod sleep;
mod sql;
mod wait;

pub use call::CallPattern;
pub use callback::Callback;
pub use calls::{Call, CallContext, Calls};
pub use chat::Chat;
pub use digest::{Hash, Hmac};
pub use effect::{AnyEffect, Effect, Reveals};
pub use handles::{Bounds, Clock, GrantedHosts, IdempotencyKey, Parking, Signals};
pub use http::{Http, HttpNeeds};
pub use jwt::Jwt;
pub use key_value::KeyValue;
pub use mail::Mail;
pub use needs::Handles;
pub use progress::{EffectFuture, EffectResult, Park, Progress, result_from_json, result_to_json};
pub use registry::Registry;
pub use run::{Prepared, RunEffects, TRACE_TARGET, Waited};
pub use sleep::Sleep;
pub use sql::Sql;
pub(crate) use sql::serve as serve_connector;
pub use wait::Wait;
