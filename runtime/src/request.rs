//! The input of a run.

use crate::connections::Services;
use crate::effects::{Calls, OnWait};
use crate::journal::RunJournal;
use crate::replay::Answers;
use crate::secrets::Secrets;
use crate::watch::Watcher;
use heddle_sandbox::Limits;
use secrecy::SecretString;
use serde_json::value::RawValue;
use std::sync::Arc;

/// The input and limits of one run.
#[derive(Debug)]
pub struct RunRequest {
    /// Id, shown as `$run.id`.
    pub run_id: String,
    /// Shown as `$run.patternId`.
    pub pattern_id: String,
    /// Attempt from 1, shown as `$run.attempt`.
    pub attempt: u32,
    /// `manual`, `webhook` or `schedule`, shown as `$run.triggeredBy`.
    pub triggered_by: String,
    /// Milliseconds since 1970 UTC: `$run.startedAt`, and "now" for the whole run.
    pub started_at_ms: i64,
    /// Seed of `$random()`, `$uuid()`, Uuid and Random.
    pub seed: u64,
    /// Node at which to start; `None`: OnManual, or else the first trigger in the graph.
    pub trigger_node_id: Option<String>,
    /// eventData as JSON.
    pub event: Box<RawValue>,
    /// `$vars` as a JSON object.
    pub variables: serde_json::Map<String, serde_json::Value>,
    /// Secrets by name; their values never enter the sandbox.
    pub secrets: Secrets,
    /// What is known of its effects, if it can continue from a former execution; without it nothing is recorded.
    pub journal: Option<RunJournal>,
    /// Of a replay: what its effects are answered with. They never begin, and it has no journal of its own.
    pub replay: Option<Answers>,
    /// Runs other patterns, where there are any.
    pub calls: Option<Arc<dyn Calls>>,
    /// Where and by what key its callbacks are reached, see [`Callbacks`].
    pub callbacks: Option<Callbacks>,
    /// What effects may ask of the host.
    pub services: Services,
    /// Whoever is told what the run does as it happens.
    pub watcher: Option<Watcher>,
    /// Whoever is told when it begins and ends to do nothing but wait.
    pub on_wait: Option<OnWait>,
    /// Whether it ends at the first effect that [`reaches_outside`](crate::reaches_outside), before that begins.
    pub is_contained: bool,
    /// Whether it ends at the first effect that would make something of a secret, as a signature, which it is not to have. Nor is it
    /// given any then.
    pub withholds_secrets: bool,
    /// Whom its memory counts towards, as a number: runs of one owner together always leave memory for those of others.
    /// `None`: only towards that of all runs.
    pub owner: Option<u128>,
    /// The tenant, as a number: one that is in an [`ExecutorGroup`](crate::ExecutorGroup) has executors of its own.
    pub tenant: Option<u128>,
    pub limits: Limits,
}

impl RunRequest {
    /// A first attempt, started by hand at the first trigger, with an event and nothing else. Its seed is 1, and it
    /// is always 1970 for it: for runs that are to be repeated exactly.
    pub fn new(event: Box<RawValue>) -> Self {
        RunRequest {
            run_id: "run".to_owned(),
            pattern_id: "pattern".to_owned(),
            attempt: 1,
            triggered_by: "manual".to_owned(),
            started_at_ms: 0,
            seed: 1,
            trigger_node_id: None,
            event,
            variables: serde_json::Map::new(),
            secrets: Secrets::new(),
            journal: None,
            replay: None,
            calls: None,
            callbacks: None,
            services: Services::default(),
            watcher: None,
            on_wait: None,
            is_contained: false,
            withholds_secrets: false,
            owner: None,
            tenant: None,
            limits: Limits::default(),
        }
    }
}

/// Callbacks of a run: the URL of each is `<base>/<token>/<place>`, of which the token is the first half of the
/// HMAC-SHA256 of the place in hex, before which stands `step` or `form` and a line break if the node asks by a form, and the
/// place is percent-encoded.
#[derive(Clone, Debug)]
pub struct Callbacks {
    /// URL of the run's callbacks, without a slash at its end.
    pub base: String,
    /// Key of the tokens, the run's own.
    pub key: SecretString,
}
