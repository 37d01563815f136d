//! Executes compiled patterns: one sandbox for each run, with hard limits on all resources. What a run does outside, it
//! asks of its host as plain data ([`EffectHost`]), which may be another process.
//!
//! Knows nothing of effects, secrets, networks, databases or files: that is what an executor process must not have.

pub mod answer_headers;
pub mod clock;
mod code;
mod component;
mod config;
mod digest;
mod effect_error;
mod effect_host;
mod ending;
mod engine;
mod executor;
mod host;
mod javascript;
mod limiter;
mod limits;
mod memory_budget;
mod program;
pub mod protocol;
mod report;
mod sandbox;
mod sandboxes;
pub mod serve;
mod state;
mod stdlib;
mod stop;
mod trace;
mod watch_event;

pub use code::{Code, SealedFile};
pub use component::Origin;
pub use config::SandboxConfig;
pub use digest::{Digest256, hex, sha256};
pub use effect_error::{EffectCode, EffectError};
pub use effect_host::{
    ComponentCall, ComponentRequest, ComponentResponse, EffectHost, EffectRequest, RequestHost, Sending,
    Waited, Waiting,
};
pub use engine::{Engines, Form, Tier, compile_alone};
pub use executor::{Job, Panicked, continue_on, io};
pub use limits::{Ceilings, Limits, REQUEST_BYTES_MAX, UNDER_WAY_MAX};
pub use memory_budget::least_for;
pub use program::{ComponentCode, ComponentSource, LinkError, LoadedComponent, Program, ProgramCode};
pub use report::{End, FailedInput, LogLine, Report, RunError, TraceEntry};
pub use sandboxes::{Sandboxes, StartError};
pub use state::{Hosts, RunInput};
pub use stop::{Stop, grouped};
pub use watch_event::{NodeEnd, NodeEvent, NodePhase, WatchEvent, omitted};
