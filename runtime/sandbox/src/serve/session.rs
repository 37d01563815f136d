//! The conversation of an executor with the service: programs that it keeps, and runs that it executes.

use super::remote::{Answer, Conversation, RemoteEffects, RemoteRequests};
use crate::clock::{monotonic, since};
use crate::code::Code;
use crate::config::SandboxConfig;
use crate::effect_host::RequestHost;
use crate::engine::Engines;
use crate::program::{ComponentCode, ComponentSource, Program, ProgramCode};
use crate::protocol::{EXECUTOR_LINK, FromExecutor, GivenComponent, GivenRun, ToExecutor, ended};
use crate::report::{End, Report, RunError};
use crate::sandboxes::Sandboxes;
use crate::state::Hosts;
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable};
use futures_util::stream::FuturesUnordered;
use heddle_contract::abi::code;
use heddle_processes::{Channel, Frame, LinkReceiver, LinkSender, close_threads};
use std::collections::{HashMap, VecDeque};
use std::fs::File;
use std::future::poll_fn;
use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::task::JoinSet;

/// How long what is said waits for what else there is to say, since the last time that something was sent.
const HELD_MAX: Duration = Duration::from_micros(300);

/// Executes what the service asks for, until it closes its end. Whatever has come is heard and done in one go, and what
/// there is to say of it goes back together: under load each side wakes the other once for many runs.
pub async fn serve(channel: Channel) -> io::Result<()> {
    let (link, mut receiver) = channel.into_link(EXECUTOR_LINK)?;
    let Some(mut session) = begin(&link, &mut receiver).await? else {
        return Ok(());
    };
    loop {
        session.receive_all(&mut receiver)?;
        tokio::select! {
            biased;
            filled = receiver.fill() => if !filled? {
                return Ok(());
            },
            () = go_on(&mut session.jobs, &link) => {}
        }
    }
}

/// Goes on with runs that can, of those that have waited or computed for long. Ends when it is time to listen.
async fn go_on(jobs: &mut FuturesUnordered<Job>, link: &LinkSender) {
    poll_fn(|cx| {
        let began = monotonic();
        let _held = link.hold();
        while since(began) < HELD_MAX {
            if !matches!(jobs.poll_next_unpin(cx), Poll::Ready(Some(_))) {
                return Poll::Pending;
            }
        }
        Poll::Ready(())
    })
    .await;
}

/// Waits for the first word. `None`: the service has closed its end.
async fn begin(link: &LinkSender, receiver: &mut LinkReceiver) -> io::Result<Option<Session>> {
    let config = loop {
        if let Some(frame) = receiver.take_frame().map_err(io::Error::other)? {
            match ToExecutor::read(frame).map_err(io::Error::other)? {
                ToExecutor::Start(config) => break config,
                _ => return Err(io::Error::other("the first message is a different one")),
            }
        }
        if !receiver.fill().await? {
            return Ok(None);
        }
    };
    let sandboxes = sandboxes(&config, next_code(receiver.descriptors())?);
    // All that there will be are there.
    close_threads().map_err(io::Error::other)?;
    let failure = sandboxes.as_ref().err().map(ToString::to_string);
    let started = FromExecutor::Started {
        failure: failure.as_deref(),
    };
    send(link, started.frame())?;
    Ok(Some(Session {
        link: link.clone(),
        sandboxes: Arc::new(sandboxes.map_err(io::Error::other)?),
        programs: HashMap::new(),
        runs: Arc::default(),
        jobs: FuturesUnordered::new(),
    }))
}

fn sandboxes(config: &SandboxConfig, guest: Code) -> Result<Sandboxes, crate::StartError> {
    let engines = Engines::new(config)?;
    Sandboxes::new(config, &engines, guest)
}

fn send(link: &LinkSender, frame: Frame) -> io::Result<()> {
    link.send(frame).map_err(io::Error::other)
}

/// Machine code that came with a frame, for which the service vouches.
fn next_code(descriptors: &mut VecDeque<OwnedFd>) -> io::Result<Code> {
    let missing = || io::Error::other("the machine code is missing");
    let file = File::from(descriptors.pop_front().ok_or_else(missing)?);
    let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    Ok(Code::File { file, bytes })
}

struct Session {
    link: LinkSender,
    sandboxes: Arc<Sandboxes>,
    programs: HashMap<u32, Program>,
    runs: Arc<Runs>,
    /// Runs that did not end when they began.
    jobs: FuturesUnordered<Job>,
}

/// A run on its way to its report, which it sends.
type Job = Abortable<Pin<Box<dyn Future<Output = ()> + Send>>>;

/// The runs that the service has not heard the end of.
type Runs = Mutex<HashMap<u32, Given>>;

/// A run that the service has given.
enum Given {
    Runs(Running),
    /// It was cancelled, and has not left its sandbox yet.
    Cancelled,
}

/// A run that is executed.
struct Running {
    conversation: Arc<Conversation>,
    /// Calls of its components that have begun; made for the first.
    calls: Option<JoinSet<()>>,
    /// Whether nothing of it is in its sandbox any more.
    has_left: bool,
    /// Drops the run where it waits, once it does.
    job: Option<AbortHandle>,
}

/// Kept by a run as long as anything of it is in its sandbox.
struct InSandbox {
    run: u32,
    runs: Arc<Runs>,
    link: LinkSender,
}

impl Drop for InSandbox {
    fn drop(&mut self) {
        let mut runs = locked(&self.runs);
        match runs.get_mut(&self.run) {
            Some(Given::Runs(running)) => running.has_left = true,
            Some(Given::Cancelled) => {
                runs.remove(&self.run);
                // Nobody is told if this fails: the service has gone.
                let _ = self.link.send(FromExecutor::Gone { run: self.run }.frame());
            }
            None => {}
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(job) = &self.job {
            job.abort();
        }
    }
}

fn locked(runs: &Runs) -> MutexGuard<'_, HashMap<u32, Given>> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Handles all messages that have come.
    fn receive_all(&mut self, receiver: &mut LinkReceiver) -> io::Result<()> {
        let link = self.link.clone();
        let held = link.hold();
        let mut sent = monotonic();
        while let Some((frame, descriptors)) = receiver.take().map_err(io::Error::other)? {
            self.handle(frame, descriptors)?;
            // A run may have computed for a millisecond.
            if since(sent) >= HELD_MAX {
                held.send();
                sent = monotonic();
            }
        }
        Ok(())
    }

    fn handle(&mut self, frame: &[u8], descriptors: &mut VecDeque<OwnedFd>) -> io::Result<()> {
        match ToExecutor::read(frame).map_err(io::Error::other)? {
            ToExecutor::Start(_) => return Err(io::Error::other("the first message came twice")),
            ToExecutor::JavaScript => {
                let engine = next_code(descriptors)?;
                let loaded = self.sandboxes.load_javascript(engine);
                loaded.map_err(io::Error::other)?;
            }
            ToExecutor::Load {
                program,
                manifest,
                imports,
                components,
            } => self.load(program, (manifest, &imports, &components), descriptors)?,
            ToExecutor::Unload { program } => {
                self.programs.remove(&program);
            }
            ToExecutor::Run { run, program, given } => self.run(run, program, given)?,
            ToExecutor::Ended { run, effect, json } => {
                self.answer(run, Answer::Ended(effect, json.to_vec()));
            }
            ToExecutor::Parked { run } => self.answer(run, Answer::Parked),
            ToExecutor::Stopped { run, stop } => self.answer(run, Answer::Stopped(stop)),
            ToExecutor::Call { run, effect } => self.call(run, effect),
            ToExecutor::Sent { run, number, result } => {
                if let Some(Given::Runs(running)) = locked(&self.runs).get(&run) {
                    running.conversation.answer_request(number, result);
                }
            }
            ToExecutor::Cancel { run } => {
                self.cancel(run)?;
            }
        }
        Ok(())
    }

    fn load(
        &mut self,
        number: u32,
        (manifest, imports, components): (&[u8], &[&str], &[GivenComponent]),
        descriptors: &mut VecDeque<OwnedFd>,
    ) -> io::Result<()> {
        let manifest = serde_json::from_slice(manifest)?;
        let module = next_code(descriptors)?;
        let component = |given: &GivenComponent| {
            Ok(ComponentCode {
                source: ComponentSource::Code(next_code(descriptors)?),
                digest: given.digest,
                may_send: given.may_send,
            })
        };
        let components: io::Result<Vec<_>> = components.iter().map(component).collect();
        let linked = self.sandboxes.link(ProgramCode {
            manifest: Arc::new(manifest),
            imports: imports.iter().map(|name| (*name).to_owned()).collect(),
            module,
            components: components?,
        });
        let failure = match linked {
            Ok(program) => {
                self.programs.insert(number, program);
                None
            }
            Err(failure) => {
                let component = failure.component.and_then(|index| u32::try_from(index).ok());
                Some((component, failure.to_string()))
            }
        };
        let loaded = FromExecutor::Loaded {
            program: number,
            failure: failure
                .as_ref()
                .map(|(component, reason)| (*component, reason.as_str())),
        };
        send(&self.link, loaded.frame())
    }

    fn run(&mut self, run: u32, program: u32, given: GivenRun<'_>) -> io::Result<()> {
        let unknown = || io::Error::other("a run names a program that was not given");
        let program = self.programs.get(&program).ok_or_else(unknown)?.clone();
        let input = given.input().map_err(io::Error::other)?;
        let conversation = Arc::<Conversation>::default();
        let (link, runs, sandboxes) = (self.link.clone(), self.runs.clone(), self.sandboxes.clone());
        let in_sandbox = InSandbox {
            run,
            runs: runs.clone(),
            link: link.clone(),
        };
        let requests = || -> Arc<dyn RequestHost> {
            Arc::new(RemoteRequests {
                run,
                link: link.clone(),
                conversation: conversation.clone(),
            })
        };
        let hosts = Hosts {
            requests: (!program.components.is_empty()).then(requests),
            effects: Box::new(RemoteEffects::new(run, link.clone(), conversation.clone())),
        };
        let mut job: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(async move {
            let executed = sandboxes.run(in_sandbox, &program, input, hosts).await;
            // Whoever takes it out says the last word of it.
            let mut given = locked(&runs);
            if !matches!(given.get(&run), Some(Given::Runs(_))) {
                return;
            }
            let running = given.remove(&run);
            drop(given);
            drop(running);
            let report = executed.unwrap_or_else(|_| panicked());
            let mut frame = ended(run, report.room());
            report.write(&mut frame);
            if link.send(frame).is_err() {
                // The service has gone, or does not take a report that its own limits allow: nothing more can be said.
                std::process::exit(1);
            }
        });
        let running = Running {
            conversation,
            calls: None,
            has_left: false,
            job: None,
        };
        locked(&self.runs).insert(run, Given::Runs(running));
        // Most runs end here. Whoever goes on with another polls it once more, so that nobody needs to be woken before that.
        let polled = job.as_mut().poll(&mut Context::from_waker(Waker::noop()));
        if polled.is_pending() {
            let (abort, aborted) = AbortHandle::new_pair();
            if let Some(Given::Runs(running)) = locked(&self.runs).get_mut(&run) {
                running.job = Some(abort);
            }
            self.jobs.push(Abortable::new(job, aborted));
        }
        Ok(())
    }

    /// Ends a run. The last word of it is said once its sandbox is free for others.
    fn cancel(&self, run: u32) -> io::Result<()> {
        let mut runs = locked(&self.runs);
        let has_left = match runs.get(&run) {
            Some(Given::Runs(running)) => running.has_left,
            // Its report has crossed this.
            Some(Given::Cancelled) | None => return Ok(()),
        };
        let given = match has_left {
            true => runs.remove(&run),
            false => runs.insert(run, Given::Cancelled),
        };
        drop(runs);
        drop(given);
        match has_left {
            true => send(&self.link, FromExecutor::Gone { run }.frame()),
            false => Ok(()),
        }
    }

    fn answer(&self, run: u32, answer: Answer) {
        if let Some(Given::Runs(running)) = locked(&self.runs).get(&run) {
            running.conversation.answer(answer);
        }
    }

    fn call(&self, run: u32, effect: u32) {
        let mut runs = locked(&self.runs);
        let Some(Given::Runs(running)) = runs.get_mut(&run) else {
            return;
        };
        let Some(call) = running.conversation.begin(effect) else {
            return;
        };
        let link = self.link.clone();
        let calls = running.calls.get_or_insert_with(JoinSet::new);
        while calls.try_join_next().is_some() {}
        calls.spawn(async move {
            let result = call.await;
            let called = FromExecutor::Called {
                run,
                effect,
                result: result.as_deref().map_err(Clone::clone),
            };
            // Nobody is told if this fails: the service has gone.
            let _ = link.send(called.frame());
        });
    }
}

/// Of a run that a bug has ended.
fn panicked() -> Report {
    Report {
        end: End::Failed {
            error: RunError {
                code: code::INTERNAL.into(),
                message: "The run was stopped by a bug in heddle. Please report it.".to_owned(),
                node_id: None,
            },
            in_node: false,
            input: None,
        },
        response: None,
        logs: Vec::new(),
        trace: Vec::new(),
        trace_omitted: 0,
        fuel_used: 0,
        memory_bytes_peak: 0,
    }
}
