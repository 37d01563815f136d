//! Executes compiled patterns: one sandbox for each run, hard limits on all resources, and effects, each of which only
//! gets what its type declares.
//!
//! Knows nothing of graphs, HTTP servers, databases or users.

#![expect(
    clippy::disallowed_methods,
    reason = "limits of time are kept by the clocks of the machine, and keys are random"
)]

pub mod answer_headers;
mod codecache;
mod compile;
mod complexity;
mod component;
mod config;
mod connections;
mod context;
mod digest;
mod effect_error;
mod effects;
mod egress;
mod ending;
mod engine;
mod executor;
mod host;
mod hosts;
mod javascript;
mod journal;
pub mod key_values;
mod limiter;
mod limits;
mod outcome;
mod plan;
mod program;
mod program_error;
mod request;
mod runtime;
mod sandbox;
mod secrets;
mod state;
mod stdlib;
mod stop;
mod trace;

pub use codecache::CacheKey;
pub use compile::CompileJob;
pub use complexity::TooComplex;
pub use config::{ConnectorProgram, RuntimeConfig, SqliteFiles};
pub use connections::{Connection, ConnectionError, ConnectionFuture, Connections, NoConnections, Services};
pub use effect_error::{EffectCode, EffectError};
pub use effects::{
    Call, CallContext, Calls, EffectFuture, EffectResult, Park, Progress, TRACE_TARGET, result_from_json,
    result_to_json,
};
pub use egress::{EgressError, EgressPolicy, GuardError, GuardedHttp};
pub use engine::Tier;
pub use journal::{Entry, Journal, Permission, Recorded, RunJournal, execution_of};
pub use limits::Limits;
pub use outcome::{LogLine, Outcome, RunError, Status, TraceEntry, Usage};
pub use plan::Plan;
pub use program::Program;
pub use program_error::{CompileError, ManifestError, NotWasm, ProgramError};
pub use request::{Callbacks, RunRequest};
pub use runtime::{Runtime, RuntimeError, serve_connector};
pub use secrets::{Secret, Secrets};
