//! Executes compiled patterns: one sandbox for each run, hard limits on all resources, and effects, each of which only
//! gets what its type declares.
//!
//! Knows nothing of graphs, HTTP servers, the service's database or its users.

mod apart;
mod aside;
mod bounded_list;
mod codecache;
mod compile;
mod complexity;
mod config;
mod connections;
pub mod consent;
mod containment;
mod context;
mod effects;
mod egress;
mod ending;
mod entropy;
mod executors;
mod fetch;
pub mod files;
mod hosts;
mod journal;
pub mod key_values;
mod machine;
mod mailbox;
mod outcome;
mod outside;
mod plan;
mod precompile;
mod probe;
mod program;
mod program_error;
mod programs;
mod replay;
mod request;
pub mod response_stream;
mod retry_after;
mod run_host;
mod runtime;
mod sealed;
mod secrets;
mod traced;
mod watch;
mod workers;

pub use apart::apart;
pub use aside::{aside, aside_if_large, is_small};
pub use bounded_list::BoundedList;
pub use codecache::{CacheKey, Unusable};
pub use compile::CompileJob;
pub use complexity::TooComplex;
pub use config::{ExecutorConfig, ExecutorGroup, RuntimeConfig, SqliteFiles};
pub use connections::{Connection, ConnectionError, ConnectionFuture, Connections, NoConnections, Services};
pub use containment::{NOT_PINNED, reaches_outside};
pub use effects::{
    Call, CallContext, Calls, EffectFuture, EffectResult, Letter, Mailer, MailerError, OnWait, Park,
    Progress, TRACE_TARGET, result_from_json, result_to_json,
};
pub use egress::{EgressError, EgressPolicy, GuardError, GuardedHttp, body_within, names_as_here, names_for};
pub use executors::{Company, Interrupted};
pub use fetch::{Fetch, Fetched};
pub use heddle_processes::{WorkerProgram, take_short_turns};
/// How secrets are hidden in what a run leaves behind, for those who test that anything may be left.
pub mod masking {
    pub use crate::secrets::{MASK, Vault};
}
/// What connector processes, databases, servers of mailboxes and called services answer, what is in files, and what is done with keys and certificates of
/// strangers, for those who test that anything may come.
pub mod foreign {
    pub use crate::effects::{
        FileRead, Framing, PostgresType, file_name, mail_answered, mail_server_said, next_link,
        postgres_value, sign_or_verify, sql_answered, stream_entries, token_granted,
    };
    pub use crate::egress::is_authority;
    pub use crate::mailbox::{answered as mailbox_answered, converse as mailbox_said};
    pub use reqwest::Url;
}
/// What executor processes say, for those who test that anything may be said.
pub mod executor_protocol {
    pub use heddle_sandbox::protocol::{Addressee, FromExecutor, Malformed};
    pub use heddle_sandbox::{Report, WatchEvent};
}
pub use heddle_sandbox::{
    Ceilings, EffectCode, EffectError, FailedInput, Limits, LogLine, NodeEnd, NodeEvent, NodePhase, RunError,
    Tier, TraceEntry, answer_headers, grouped,
};
pub use journal::{Entry, Journal, JournalError, Permission, Recorded, RunJournal, Signalled, execution_of};
pub use mailbox::{AboutMessage, Afterwards, ListedMessage, MailboxAccess, Numbering, OpenMailbox};
pub use outcome::{Outcome, Status, Usage};
pub use plan::Plan;
pub use precompile::{PrecompileError, PrecompiledModule, is_precompiled, precompile};
pub use probe::{Probe, ProbeWay, Probed};
pub use program::Program;
pub use program_error::{CompileError, ManifestError, NotWasm, ProgramError};
pub use replay::{Answers, NOT_RECORDED, RequestLog, Unanswered};
pub use request::{Callbacks, RunRequest};
pub use retry_after::retry_after;
pub use runtime::{INTERRUPTED, Runtime, RuntimeError};
pub use secrets::{Secret, Secrets, told_by_stranger};
pub use traced::traced;
pub use watch::{EffectEvent, RunEvent, Timed, Watched, Watcher, watch};
pub use workers::serve_worker;
