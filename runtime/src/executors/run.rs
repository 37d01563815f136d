//! One run in an executor: what it says is checked and answered here, by the task that wants the run executed.

use super::process::{Executor, RemoteRun};
use crate::ending;
use crate::outcome::Outcome;
use crate::run_host::{Begun, RunHost, node_id};
use heddle_sandbox::protocol::{FromExecutor, Malformed, ToExecutor, WatchRoom};
use heddle_sandbox::{
    ComponentCall, ComponentRequest, EffectCode, EffectError, EffectHost, EffectRequest, Limits, Report,
    RequestHost, RunInput, Stop, Waited, WatchEvent,
};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

/// Requests of one run's components at once: each call sends one after the other.
const SENDING_MAX: usize = 16;

/// The executor of a run ended before the run did.
#[derive(Debug)]
pub struct Interrupted {
    /// The run's event, to begin again with.
    pub event: Box<RawValue>,
}

/// Does the effects of a run that an executor has been given, up to its outcome.
pub async fn execute(remote: RemoteRun, begun: Begun, io: &Handle) -> Result<Outcome, Interrupted> {
    let Begun {
        input, host, ending, ..
    } = begun;
    let mut conversation = Conversation::new(remote, host, &input, io);
    let report = conversation.listen().await;
    let stopped_by = conversation.stopped_by;
    match report {
        Ok(report) => {
            let mut outcome = match ending::outcome(report, &ending) {
                Ok(outcome) => outcome,
                Err(masking) => masking.await,
            };
            if let (Some(error), Some(node)) = (&mut outcome.error, stopped_by)
                && error.node_id.is_none()
            {
                // It ended while it waited, when no node executes.
                error.node_id = node_id(&ending.manifest, node);
            }
            Ok(outcome)
        }
        Err(fault) => {
            if let Fault::Malformed(what) = fault {
                tracing::error!(%what, "An executor process broke the protocol");
                conversation.remote.executor.give_up();
            }
            conversation.host.interrupted();
            // It was JSON before.
            let event = RawValue::from_string(input.event.into()).unwrap_or_default();
            Err(Interrupted { event })
        }
    }
}

/// Why there is no report.
enum Fault {
    /// The executor is gone.
    Gone,
    /// It does not keep to the protocol.
    Malformed(Malformed),
}

impl From<Malformed> for Fault {
    fn from(malformed: Malformed) -> Self {
        Fault::Malformed(malformed)
    }
}

struct Conversation<'a> {
    remote: RemoteRun,
    host: Box<RunHost>,
    limits: &'a Limits,
    /// What the run may still tell before it waits; `None`: nobody looks on.
    room: Option<WatchRoom>,
    /// `None`: the program has no components.
    components: Option<Box<Components>>,
    started: u32,
    /// An effect must not be started: the run is told to end when it waits next, which it does before it goes on from there.
    stop: Option<Stop>,
    /// Plan index of the node whose effect that was.
    stopped_by: Option<u32>,
    /// It was told to end: nothing but its report can follow, and what its components say until then.
    is_over: bool,
}

/// Of a run whose program has components.
struct Components {
    calls: Arc<Calls>,
    requests: Requests,
}

/// Calls of components that the executor has at work, by their effects.
struct Calls {
    executor: Arc<Executor>,
    run: u32,
    waiting: Mutex<HashMap<u32, oneshot::Sender<Result<String, EffectError>>>>,
}

/// Requests of components.
struct Requests {
    host: Arc<dyn RequestHost>,
    executor: Arc<Executor>,
    run: u32,
    sending: JoinSet<()>,
    io: Handle,
}

impl Components {
    fn new(remote: &RemoteRun, host: Arc<dyn RequestHost>, io: &Handle) -> Self {
        let (executor, run) = (remote.executor.clone(), remote.run);
        Components {
            calls: Arc::new(Calls {
                executor: executor.clone(),
                run,
                waiting: Mutex::default(),
            }),
            requests: Requests {
                host,
                executor,
                run,
                sending: JoinSet::new(),
                io: io.clone(),
            },
        }
    }
}

impl Calls {
    fn waiting(&self) -> MutexGuard<'_, HashMap<u32, oneshot::Sender<Result<String, EffectError>>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call that is this effect; it begins when it is first polled.
    fn call(self: &Arc<Self>, effect: u32) -> ComponentCall {
        let this = self.clone();
        Box::pin(async move {
            let (sender, called) = oneshot::channel();
            this.waiting().insert(effect, sender);
            this.executor.send(&ToExecutor::Call {
                run: this.run,
                effect,
            });
            let gone = || EffectError::new(EffectCode::Internal, "The component's process has ended.");
            called.await.map_err(|_| gone())?
        })
    }
}

impl<'a> Conversation<'a> {
    fn new(remote: RemoteRun, host: Box<RunHost>, input: &'a RunInput, io: &Handle) -> Self {
        let components = host
            .requests()
            .map(|requests| Box::new(Components::new(&remote, requests, io)));
        Conversation {
            components,
            remote,
            host,
            limits: &input.limits,
            room: input.is_watched.then(WatchRoom::default),
            started: 0,
            stop: None,
            stopped_by: None,
            is_over: false,
        }
    }

    /// Answers what the run asks, up to its report.
    async fn listen(&mut self) -> Result<Report, Fault> {
        loop {
            let frame = self.remote.receive().await.ok_or(Fault::Gone)?;
            match FromExecutor::read(&frame)? {
                FromExecutor::Ended { report, .. } => return Ok(Report::read(report, self.limits)?),
                FromExecutor::Effect { asked, .. } if !self.is_over => {
                    let id = self.started;
                    self.started = id.saturating_add(1);
                    let components = self.components.as_ref().filter(|_| asked.is_call);
                    let asked = EffectRequest {
                        node: asked.node,
                        kind: asked.kind.to_owned(),
                        key: asked.key.to_owned(),
                        request: asked.request.map(str::to_owned),
                        call: components.map(|components| components.calls.call(id)),
                    };
                    // The sandbox keeps to the same limit, and does not ask beyond it.
                    if id >= self.limits.effects_max {
                        return Err(Malformed("a run starts more effects than it may").into());
                    }
                    if self.stop.is_none() {
                        let node = asked.node;
                        let stop = self.host.start(asked).err();
                        self.stopped_by = stop.as_ref().map(|_| node);
                        self.stop = stop;
                    }
                }
                FromExecutor::WatchEvent { event, .. } if !self.is_over => self.receive_event(event)?,
                FromExecutor::Waits { taken, .. } if !self.is_over => {
                    self.room = self.room.map(|_| WatchRoom::default());
                    taken.into_iter().for_each(|id| self.host.taken(id));
                    match self.stop.take() {
                        Some(stop) => self.end(stop),
                        None => self.wait().await?,
                    }
                }
                other => of_components(self.components.as_deref_mut(), other)?,
            }
        }
    }

    /// Tells a run that waits to end.
    fn end(&mut self, stop: Stop) {
        self.is_over = true;
        let run = self.remote.run;
        self.remote.executor.send(&ToExecutor::Stopped { run, stop });
    }

    fn receive_event(&mut self, event: &[u8]) -> Result<(), Fault> {
        let event = WatchEvent::read(event, self.limits)?;
        let room = self.room.as_mut();
        let room = room.ok_or(Malformed("a run reports events that nobody asked for"))?;
        if !room.take(&event) {
            return Err(Malformed("a run reports more events than it may").into());
        }
        self.host.emit(event);
        Ok(())
    }

    /// Waits with the run, whose components go on meanwhile.
    async fn wait(&mut self) -> Result<(), Fault> {
        let Conversation {
            remote,
            host,
            components,
            ..
        } = self;
        let run = remote.run;
        let mut waiting = host.wait();
        let waited = loop {
            tokio::select! {
                biased;
                waited = &mut waiting => break waited,
                frame = remote.receive() => {
                    let frame = frame.ok_or(Fault::Gone)?;
                    match FromExecutor::read(&frame)? {
                        // It has come to its deadline.
                        FromExecutor::Ended { .. } => {
                            drop(waiting);
                            remote.put_back(frame);
                            return Ok(());
                        }
                        other => of_components(components.as_deref_mut(), other)?,
                    }
                }
            }
        };
        drop(waiting);
        let executor = remote.executor.clone();
        self.is_over = !matches!(waited, Ok(Waited::Ended(..)));
        match waited {
            Ok(Waited::Ended(effect, json)) => executor.send(&ToExecutor::Ended {
                run,
                effect,
                json: &json,
            }),
            Ok(Waited::Parked) => executor.send(&ToExecutor::Parked { run }),
            Err(stop) => executor.send(&ToExecutor::Stopped { run, stop }),
        }
        Ok(())
    }
}

/// What components say; nothing else may be said.
fn of_components(components: Option<&mut Components>, said: FromExecutor<'_>) -> Result<(), Fault> {
    let out_of_turn = Malformed("a run sent a message out of turn");
    let Components { calls, requests } = components.ok_or(out_of_turn)?;
    match said {
        FromExecutor::Called { effect, result, .. } => {
            let waiting = calls.waiting().remove(&effect);
            let waiting = waiting.ok_or(Malformed("a call ended before it began"))?;
            // The effect may have been given up.
            let _ = waiting.send(result.map(str::to_owned));
            Ok(())
        }
        FromExecutor::Sends {
            call,
            number,
            request,
            ..
        } => {
            if !calls.waiting().contains_key(&call) {
                return Err(Malformed("a component that was not called sends requests").into());
            }
            requests.send(call, number, request)
        }
        _ => Err(out_of_turn.into()),
    }
}

impl Requests {
    fn send(&mut self, call: u32, number: u32, request: ComponentRequest) -> Result<(), Fault> {
        while self.sending.try_join_next().is_some() {}
        if self.sending.len() >= SENDING_MAX {
            return Err(Malformed("a run's components send too much at once").into());
        }
        let sending = self.host.send(call, request);
        let (executor, run) = (self.executor.clone(), self.run);
        let send = async move {
            let result = sending.await;
            executor.send(&ToExecutor::Sent { run, number, result });
        };
        self.sending.spawn_on(send, &self.io);
        Ok(())
    }
}
