//! From an accepted event to the record of a run. An event is stored before [`Executions::accept`] returns; then
//! the run goes straight from memory to an executor under its tenant's limits, and its result is stored together
//! with others. What a stopped server left behind is taken up again at the next start.
//!
//! Knows nothing of HTTP, flags and files.
//!
//! # Words
//!
//! A run's *status* is what is stored of it: running, or how it ended. Its *phase* is what it is doing while its status is
//! running. An *attempt* executes a run once; it gives an *outcome*, of which the *conclusion* follows: the run's *end*,
//! a retry or parking. A run is *live* while this server has it in memory.

mod acceptor;
mod active_deployments;
mod answer_stream;
mod attempt;
mod backlog;
mod batches;
pub mod blocking;
pub mod budget;
mod call_result;
mod callbacks;
mod calls;
mod cancel;
mod claims;
pub mod compile;
mod connection_test;
mod connections;
mod consents;
pub mod deploy;
pub mod deployed_schedules;
mod deployed_subscriptions;
mod deployment;
mod dispatcher;
mod early;
mod end_notifier;
mod environments;
mod erasure;
mod error_pattern;
mod executions;
mod executor;
mod file_rooms;
mod files;
mod held;
mod held_runs;
mod isolation;
mod journal;
mod kept_journals;
mod kept_values;
mod key_values;
pub mod lease;
mod live;
mod live_runs;
pub mod mail;
mod mailbox_places;
mod mailboxes;
mod modules;
mod notices;
mod outside;
mod parts;
mod patience;
mod poller;
mod polls;
pub mod preview;
pub mod queue;
mod record;
mod recorder;
mod recover;
mod replay;
mod resume;
mod retention;
mod retry;
mod run;
mod run_error;
mod run_metrics;
pub mod schedule;
pub mod scheduler;
mod seals;
mod services;
mod settings;
mod side_task;
mod steps;
mod stop;
mod stored_event;
mod strikes;
pub mod subscriptions;
pub mod tail;
mod tenants;
mod test_run;
mod test_usage;
mod to_the_end;
mod trials;
pub mod upcoming;
mod waiting_runs;
mod waker;

pub use acceptor::{Accepted, Answer, Ticket};
pub use answer_stream::{Begun, Piece, Pieces};
pub use callbacks::steps::{OpenStep, RunAsking, Step};
pub use callbacks::{CallbackForm, CallbackKind, CallbackResponse, WaitingCallback, WaitingPage};
pub use connection_test::{ConnectionTest, ConnectionTested};
pub use consents::{
    CONSENT_RETURN, CONSENTED, ConsentAnswer, Consents, IDENTITY, OperatorClient, Revocations, Revoked,
};
pub use deployment::ActiveDeployment;
pub use erasure::remove_sqlite_files;
pub use executions::Executions;
pub use executor::seed;
pub use files::{ArrivedFiles, FileService, OwnedRight};
pub use kept_values::PutValue;
pub use live::Ended;
pub use replay::{
    Against, Candidate, PreparedReplay, ReplayEnd, ReplayRequest, ReplayVariables, Replayed, Unanswered,
};
pub use run::{Caller, EVENT_BYTES_MAX, IdempotencyKey, NewRun};
pub use settings::Settings;
pub use tenants::{QuotaUsage, Tenants};
pub use test_run::{PreparedTest, TestOptions, TestRun, TestRunError};
pub use to_the_end::ToTheEnd;
