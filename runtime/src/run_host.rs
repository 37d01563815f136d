//! The host's side of one run: what its sandbox gets, and the effects that it asks for. Whatever the sandbox says is
//! checked here against the manifest and the run's limits.
//!
//! Knows nothing of where the sandbox is.

use crate::connections::Granted;
use crate::containment;
use crate::context::{CallbackFacts, Context, RunFacts, iso_time};
use crate::effects::{
    self, AnyEffect, Bounds, Clock, Component, Handles, Http, OpenSinks, OpenStreams, Parking, Prepared,
    Registry, Reveals, RunEffects, Senders, Signals, Unsaved,
};
use crate::entropy::nonce;
use crate::files::Files;
use crate::journal::{Record, bounded_key};
use crate::key_values::KeyValues;
use crate::program::Program;
use crate::replay::{self, Replay, ReplayedEffect, digest};
use crate::request::RunRequest;
use crate::response_stream::ResponseStream;
use crate::secrets::{Vault, looks_like_a_reference};
use crate::watch::{self, Watching};
use heddle_catalogue::Start;
use heddle_contract::abi::code;
use heddle_contract::manifest::Manifest;
use heddle_sandbox::{
    EffectCode, EffectError, EffectHost, EffectRequest, Limits, Origin, RequestHost, RunError, RunInput,
    Stop, UNDER_WAY_MAX, Waited, Waiting, WatchEvent,
};
use serde::Deserialize;
use serde_json::value::to_raw_value;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;
use tokio::runtime::Handle;

/// What every run's effects need of the runtime.
pub struct HostServices {
    pub effects: Registry,
    /// Sends the requests of components.
    pub http: Http,
    pub io: Handle,
}

/// A run that can begin.
pub struct Begun {
    /// For the sandbox.
    pub input: RunInput,
    /// Whose run it is, for the choice of an executor.
    pub tenant: Option<u128>,
    /// Boxed where it is made: it is large, and handed on several times.
    pub host: Box<RunHost>,
    /// What its outcome is made of besides the sandbox's report.
    pub ending: Ending,
}

/// What is known of a run's effects at its end.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// How many have been started.
    pub started: u32,
    /// How many of these no earlier execution had recorded, and how many bytes they sent.
    pub begun: u32,
    pub egress_bytes: u64,
    /// When the first of those that have parked wants to be started again.
    pub wake_at_ms: Option<i64>,
    /// Node and key of the effect whose result the run has seen last.
    pub last_seen: Option<(u32, String)>,
}

/// What a run's outcome is made of besides its report.
pub struct Ending {
    pub vault: Arc<Vault>,
    pub manifest: Arc<Manifest>,
    pub facts: Arc<Mutex<Facts>>,
    pub unsaved: Unsaved,
    /// The ways to the outside of its components, if it has any.
    pub senders: Option<Arc<Senders>>,
    pub started: Instant,
    /// Whose run it is.
    pub owner: Option<u128>,
}

/// The host's side of one run.
pub struct RunHost {
    limits: Limits,
    services: Arc<HostServices>,
    effects: RunEffects,
    manifest: Arc<Manifest>,
    vault: Arc<Vault>,
    connections: Arc<Granted>,
    key_values: Arc<dyn KeyValues>,
    files: Arc<dyn Files>,
    response: Option<Arc<dyn ResponseStream>>,
    /// Made for the first effect.
    sinks: OnceLock<OpenSinks>,
    streams: OnceLock<OpenStreams>,
    hosts: Arc<[String]>,
    patterns: Arc<[String]>,
    pattern_calls: Option<Arc<dyn effects::Calls>>,
    run_id: String,
    attempt: u32,
    is_contained: bool,
    withholds_secrets: bool,
    deadline: Instant,
    /// If the program has components.
    senders: Option<Arc<Senders>>,
    facts: Arc<Mutex<Facts>>,
    /// Whoever looks on, if anybody does.
    watching: Option<Watching>,
}

/// Makes both sides of a run that begins now.
pub fn begin(
    services: &Arc<HostServices>,
    program: &Program,
    request: RunRequest,
    started: Instant,
) -> Result<Begun, RunError> {
    let manifest = program.0.manifest.clone();
    let trigger = trigger(&manifest, &request)?;
    // All replays of a run speak of secrets in the same way, so that what they ask for and give can be compared.
    let nonce = match &request.replay {
        Some(_) => replay::nonce(&request.run_id),
        None => nonce(),
    };
    let (context, origin) = context_of(&manifest, &request, &nonce);
    let limits = request.limits.with(&manifest.settings);
    let granted = &program.0.granted;
    let vault = Arc::new(Vault::new(request.secrets, granted.secrets.clone(), nonce));
    let watching = request
        .watcher
        .map(|watcher| Watching::new(watcher, vault.clone(), started));
    let connections = Granted::new(
        request.services.connections,
        granted.connections.clone(),
        vault.clone(),
    );
    let record = request
        .journal
        .map(|journal| Record::new(journal, limits.journal_bytes_max));
    let effects = match request.replay {
        Some(answers) => RunEffects::replaying(services.io.clone(), Replay::new(answers)),
        None => RunEffects::new(services.io.clone(), record).telling(request.on_wait),
    };
    let unsaved = effects.unsaved();
    let facts = Arc::<Mutex<Facts>>::default();
    let is_watched = watching.is_some();
    let has_components = !manifest.components.is_empty();
    let senders = has_components.then(|| Senders::new(services.http.clone(), services.io.clone()));
    let connections = Arc::new(connections);
    // The box comes first: a value that is made before its box is copied into it, and this one has more than a kilobyte.
    let place = Box::new_uninit();
    let host = RunHost {
        effects,
        vault: vault.clone(),
        connections,
        key_values: request.services.key_values,
        files: request.services.files,
        response: request.services.response,
        sinks: OnceLock::new(),
        streams: OnceLock::new(),
        hosts: granted.hosts.clone(),
        patterns: granted.patterns.clone(),
        pattern_calls: request.calls,
        run_id: request.run_id,
        attempt: request.attempt,
        is_contained: request.is_contained,
        withholds_secrets: request.withholds_secrets,
        deadline: started.checked_add(limits.deadline).unwrap_or(started),
        senders: senders.clone(),
        services: services.clone(),
        facts: facts.clone(),
        limits: limits.clone(),
        manifest: manifest.clone(),
        watching,
    };
    let host = Box::write(place, host);
    Ok(Begun {
        input: RunInput {
            trigger,
            event: request.event.into(),
            context,
            origin,
            is_watched,
            owner: request.owner,
            limits,
        },
        tenant: request.tenant,
        host,
        ending: Ending {
            vault,
            manifest,
            facts,
            unsaved,
            senders,
            started,
            owner: request.owner,
        },
    })
}

/// What the guest learns of its run, and components of it.
fn context_of(manifest: &Manifest, request: &RunRequest, nonce: &str) -> (String, Origin) {
    let context = Context {
        run: RunFacts {
            id: &request.run_id,
            pattern_id: &request.pattern_id,
            attempt: request.attempt,
            triggered_by: &request.triggered_by,
            started_at: iso_time(request.started_at_ms),
        },
        vars: &request.variables,
        nonce,
        seed: request.seed.to_string(),
        started_at_ms: request.started_at_ms,
        run_key: &request.run_id,
        callbacks: CallbackFacts::of(manifest, request.callbacks.as_ref()),
    };
    let origin = Origin {
        run: match manifest.components.is_empty() {
            true => Box::default(),
            false => to_raw_value(&context.run).unwrap_or_default(),
        },
        started_at_ms: request.started_at_ms,
        seed: request.seed,
    };
    // Strings, numbers and JSON under string keys: always JSON.
    (serde_json::to_string(&context).unwrap_or_default(), origin)
}

/// The plan index at which the run starts.
fn trigger(manifest: &Manifest, request: &RunRequest) -> Result<u32, RunError> {
    let fail = |code: &str, message: String| {
        Err(RunError {
            code: code.into(),
            message,
            node_id: request.trigger_node_id.clone(),
        })
    };
    let event_bytes = request.event.get().len();
    if event_bytes > request.limits.event_bytes_max {
        let max = request.limits.event_bytes_max >> 10;
        return fail(
            code::EVENT,
            format!(
                "The event is {} KiB; at most {max} KiB are allowed.",
                event_bytes >> 10
            ),
        );
    }
    let found = match &request.trigger_node_id {
        Some(id) => manifest.triggers.iter().find(|trigger| &trigger.node_id == id),
        None => manifest
            .triggers
            .iter()
            .find(|trigger| trigger.node_type == Start::Manual.type_name())
            .or_else(|| manifest.triggers.first()),
    };
    if let Some(trigger) = found {
        return Ok(trigger.index);
    }
    let ids: Vec<&str> = manifest
        .triggers
        .iter()
        .map(|trigger| trigger.node_id.as_str())
        .collect();
    match &request.trigger_node_id {
        Some(id) => fail(
            code::TRIGGER,
            format!(
                "The pattern has no trigger `{id}`. It can start at: {}.",
                ids.join(", ")
            ),
        ),
        None => fail(
            code::TRIGGER,
            "The pattern has no trigger, so a run can't start.".into(),
        ),
    }
}

/// Id of a node by plan index.
pub fn node_id(manifest: &Manifest, node: u32) -> Option<String> {
    let node = manifest.nodes.get(node as usize);
    node.map(|node| node.id.clone())
}

impl EffectHost for RunHost {
    fn start(&mut self, asked: EffectRequest) -> Result<(), Stop> {
        let id = self.effects.started();
        if id >= self.limits.effects_max {
            return Err(Stop::too_many_effects(&self.limits));
        }
        if self.effects.under_way() >= UNDER_WAY_MAX {
            return Err(Stop::too_many_effects_at_once());
        }
        let (node, key) = (asked.node, bounded_key(&asked.key));
        if self.is_contained && containment::is_outside(&self.manifest, &asked.kind, asked.request.as_deref())
        {
            let id = node_id(&self.manifest, node);
            return Err(containment::stop(&asked.kind, id.as_deref()));
        }
        if self.withholds_secrets && self.uses_secret(&asked) {
            let id = node_id(&self.manifest, node);
            return Err(containment::stop_at_secret(&asked.kind, id.as_deref()));
        }
        let span = self
            .effects
            .span(&asked.kind, || node_id(&self.manifest, node).unwrap_or_default());
        if let Some(watching) = &mut self.watching {
            let host = watch::host(asked.request.as_deref());
            watching.effect_started(id, node_id(&self.manifest, node), &asked.kind, host);
        }
        let started = if self.effects.is_replay() {
            let request = asked.request.as_deref().unwrap_or_default();
            let wanted = ReplayedEffect {
                key: key.clone(),
                kind: asked.kind.clone(),
                node_id: node_id(&self.manifest, node),
                request: digest(request),
            };
            let prepared = self.prepare(id, &key, asked).ok();
            self.effects.answer(node, wanted, prepared);
            Ok(())
        } else {
            let prepared = self.prepare(id, &key, asked).unwrap_or_else(Prepared::Refused);
            self.effects.start(node, key, prepared, span)
        };
        let (effects, begun) = (self.effects.started(), self.effects.begun());
        let mut facts = self.facts();
        facts.started = effects;
        (facts.begun, facts.egress_bytes) = begun;
        drop(facts);
        started
    }

    fn wait(&mut self) -> Waiting<'_> {
        Box::pin(async move {
            let waited = self.effects.wait().await?;
            let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
            facts.wake_at_ms = self.effects.wake_at_ms();
            // Files are counted while they leave.
            (facts.begun, facts.egress_bytes) = self.effects.begun();
            if let Waited::Ended(id, json) = &waited {
                facts.last_seen = self.effects.last_seen().map(|(node, key)| (node, key.to_owned()));
                if let Some(watching) = &mut self.watching {
                    watching.effect_ended(*id, json);
                }
            }
            Ok(waited)
        })
    }

    fn taken(&mut self, id: u32) {
        self.effects.taken(id);
    }

    fn emit(&mut self, event: WatchEvent) {
        if let Some(watching) = &self.watching {
            watching.forward(event);
        }
    }
}

impl RunHost {
    /// Sends the requests of the run's components, if its program has any.
    pub fn requests(&self) -> Option<Arc<dyn RequestHost>> {
        let senders = self.senders.clone()?;
        Some(senders)
    }

    /// The process that executes the run has ended, and the run may begin again.
    pub fn interrupted(&self) {
        if let Some(calls) = &self.pattern_calls {
            calls.interrupted();
        }
    }

    fn facts(&self) -> std::sync::MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn prepare(&self, id: u32, key: &str, asked: EffectRequest) -> Result<Prepared, EffectError> {
        let kind = asked.kind.as_str();
        let rights = &self.manifest.rights;
        // Waiting between attempts needs no right: it reaches nothing.
        if kind != "sleep" && !rights.effects.iter().any(|granted| granted == kind) {
            let message = format!("The pattern's manifest does not list the effect `{kind}`.");
            return Err(EffectError::new(EffectCode::NotPermitted, message));
        }
        let request = asked.request.ok_or_else(|| {
            let max = self.limits.effect_result_bytes_max >> 10;
            EffectError::new(
                EffectCode::Parameter,
                format!("The request is larger than {max} KiB."),
            )
        })?;
        let effect = match asked.call {
            Some(call) if kind == "component" => self.component(id, call, &request),
            _ => self.services.effects.get(kind),
        };
        let effect = effect.ok_or_else(|| {
            EffectError::new(
                EffectCode::NotPermitted,
                format!("This heddle has no effect `{kind}`."),
            )
        })?;
        Ok(Prepared::Work {
            effect,
            request,
            handles: Box::new(self.handles(key)),
        })
    }

    /// Whether an effect would make something of a secret's value.
    fn uses_secret(&self, asked: &EffectRequest) -> bool {
        let effect = self.services.effects.get(&asked.kind);
        effect.is_some_and(|effect| effect.reveals() != Reveals::Nothing)
            && asked.request.as_deref().is_some_and(looks_like_a_reference)
    }

    /// The call of a component that a request asks for.
    fn component(
        &self,
        id: u32,
        call: heddle_sandbox::ComponentCall,
        request: &str,
    ) -> Option<Arc<dyn AnyEffect>> {
        #[derive(Deserialize)]
        struct Named {
            component: usize,
        }
        let number = serde_json::from_str::<Named>(request).ok()?.component;
        let listed = self.manifest.components.get(number)?;
        Some(Arc::new(Component {
            id,
            call: Mutex::new(Some(call)),
            hosts: listed.hosts.clone().into(),
            senders: self.senders.clone()?,
        }))
    }

    /// All that there is for the effect of this key.
    fn handles(&self, key: &str) -> Handles {
        let record = self.effects.record();
        let journal = record.map(Record::journal);
        Handles {
            key: key.to_owned(),
            idempotency_key: format!("{}/{key}", self.run_id),
            attempt: self.attempt,
            bounds: Bounds {
                result_bytes_max: self.limits.effect_result_bytes_max,
                deadline: self.deadline,
            },
            hosts: self.hosts.clone(),
            patterns: self.patterns.clone(),
            vault: self.vault.clone(),
            connections: self.connections.clone(),
            key_values: self.key_values.clone(),
            files: self.files.clone(),
            response: self.response.clone(),
            sinks: self.sinks.get_or_init(OpenSinks::default).clone(),
            streams: self.streams.get_or_init(OpenStreams::default).clone(),
            calls: self.pattern_calls.clone(),
            signals: Signals::of(record.map(|record| (record.signals(), record.journal()))),
            parking: Parking {
                is_possible: journal.is_some(),
                state: record.and_then(|record| record.parked(key)),
            },
            clock: Clock::of(journal),
            egress: self.effects.egress(),
            place: None,
        }
    }
}
