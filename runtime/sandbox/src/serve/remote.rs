//! The hosts of a run in an executor: they ask the service.

use crate::effect_error::{EffectCode, EffectError};
use crate::effect_host::{
    ComponentCall, ComponentRequest, ComponentResponse, EffectHost, EffectRequest, RequestHost, Sending,
    Waited, Waiting,
};
use crate::limits::REQUEST_BYTES_MAX;
use crate::protocol::{AskedEffect, FromExecutor, WatchRoom, event_frame};
use crate::stop::Stop;
use crate::watch_event::WatchEvent;
use heddle_processes::LinkSender;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{mpsc, oneshot};

/// What the service says to a run.
pub enum Answer {
    Ended(u32, Vec<u8>),
    Parked,
    Stopped(Stop),
}

/// What the service says to a run, and what it and the run's components know of each other.
#[derive(Default)]
pub struct Conversation {
    /// `None`: the run has not waited yet, so that it is told nothing. Most runs never do.
    answers: Mutex<Option<mpsc::UnboundedSender<Answer>>>,
    /// Calls that have not begun.
    calls: Mutex<HashMap<u32, ComponentCall>>,
    /// Requests that have not been answered.
    sent: Mutex<HashMap<u32, oneshot::Sender<Result<ComponentResponse, EffectError>>>>,
    numbers: AtomicU32,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Conversation {
    /// Hears answers from now on.
    fn listen(&self) -> mpsc::UnboundedReceiver<Answer> {
        let (sender, answers) = mpsc::unbounded_channel();
        *locked(&self.answers) = Some(sender);
        answers
    }

    /// The service has answered a wait.
    pub fn answer(&self, answer: Answer) {
        if let Some(answers) = &*locked(&self.answers) {
            // The run may have come to its deadline.
            let _ = answers.send(answer);
        }
    }

    /// The call that is this effect, to be begun.
    pub fn begin(&self, effect: u32) -> Option<ComponentCall> {
        locked(&self.calls).remove(&effect)
    }

    /// The service has answered a request.
    pub fn answer_request(&self, number: u32, result: Result<ComponentResponse, EffectError>) {
        if let Some(waiting) = locked(&self.sent).remove(&number) {
            // Its call may have ended.
            let _ = waiting.send(result);
        }
    }
}

/// Asks the service for the effects of a run.
pub struct RemoteEffects {
    pub run: u32,
    pub link: LinkSender,
    pub conversation: Arc<Conversation>,
    /// Once it has waited.
    answers: Option<mpsc::UnboundedReceiver<Answer>>,
    taken: Vec<u32>,
    next: u32,
    /// Bytes of the requests whose effects have not been seen to end.
    pending: HashMap<u32, usize>,
    pending_bytes: usize,
    /// What it may still tell before it waits.
    room: WatchRoom,
    /// What it could not tell since it last waited.
    omitted: u32,
}

impl RemoteEffects {
    pub fn new(run: u32, link: LinkSender, conversation: Arc<Conversation>) -> Self {
        RemoteEffects {
            run,
            link,
            conversation,
            answers: None,
            taken: Vec::new(),
            next: 0,
            pending: HashMap::new(),
            pending_bytes: 0,
            room: WatchRoom::but_one(),
            omitted: 0,
        }
    }

    fn send_event(&self, event: &WatchEvent) {
        let mut frame = event_frame(self.run);
        event.write(&mut frame);
        // Nobody is told if this fails: the service has gone.
        let _ = self.link.send(frame);
    }

    /// Says how many events were left out, if any.
    fn send_omitted(&mut self) {
        match std::mem::take(&mut self.omitted) {
            0 => {}
            events => self.send_event(&WatchEvent::Omitted(events)),
        }
    }
}

impl Drop for RemoteEffects {
    fn drop(&mut self) {
        self.send_omitted();
        // Calls that never began hold what sends their requests, which holds this: nobody else would drop either.
        let calls = std::mem::take(&mut *locked(&self.conversation.calls));
        drop(calls);
    }
}

/// The service has gone, and this process with it.
fn service_gone() -> Stop {
    Stop::broken_guest("The service has closed its connection to the executor")
}

impl EffectHost for RemoteEffects {
    fn start(&mut self, asked: EffectRequest) -> Result<(), Stop> {
        let id = self.next;
        self.next = id.saturating_add(1);
        let bytes = asked.request.as_ref().map_or(0, String::len);
        self.pending_bytes = self.pending_bytes.saturating_add(bytes);
        self.pending.insert(id, bytes);
        if self.pending_bytes > REQUEST_BYTES_MAX {
            return Err(Stop::too_many_request_bytes());
        }
        let is_call = asked.call.is_some();
        if let Some(call) = asked.call {
            locked(&self.conversation.calls).insert(id, call);
        }
        let effect = FromExecutor::Effect {
            run: self.run,
            asked: AskedEffect {
                node: asked.node,
                kind: &asked.kind,
                key: &asked.key,
                request: asked.request.as_deref(),
                is_call,
            },
        };
        self.link.send(effect.frame()).map_err(|_| service_gone())
    }

    fn wait(&mut self) -> Waiting<'_> {
        Box::pin(async move {
            self.send_omitted();
            self.room = WatchRoom::but_one();
            // Before the service can answer.
            let answers = self.answers.get_or_insert_with(|| self.conversation.listen());
            let waits = FromExecutor::Waits {
                run: self.run,
                taken: std::mem::take(&mut self.taken),
            };
            self.link.send(waits.frame()).map_err(|_| service_gone())?;
            match answers.recv().await {
                Some(Answer::Ended(id, json)) => {
                    self.pending_bytes -= self.pending.remove(&id).unwrap_or_default();
                    // If the service has had it done before, it is not called.
                    locked(&self.conversation.calls).remove(&id);
                    Ok(Waited::Ended(id, json))
                }
                Some(Answer::Parked) => Ok(Waited::Parked),
                Some(Answer::Stopped(stop)) => Err(stop),
                None => Err(service_gone()),
            }
        })
    }

    fn taken(&mut self, id: u32) {
        self.taken.push(id);
    }

    fn emit(&mut self, event: WatchEvent) {
        match self.room.take(&event) {
            true => self.send_event(&event),
            false => self.omitted = self.omitted.saturating_add(1),
        }
    }
}

/// Asks the service to send requests of a run's components.
pub struct RemoteRequests {
    pub run: u32,
    pub link: LinkSender,
    pub conversation: Arc<Conversation>,
}

impl RequestHost for RemoteRequests {
    fn send(&self, call: u32, request: ComponentRequest) -> Sending {
        let number = self.conversation.numbers.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        locked(&self.conversation.sent).insert(number, sender);
        let sends = FromExecutor::Sends {
            run: self.run,
            call,
            number,
            request,
        };
        let sent = self.link.send(sends.frame());
        Box::pin(async move {
            let gone = || EffectError::new(EffectCode::Internal, "The service can't be reached.");
            sent.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        })
    }
}
