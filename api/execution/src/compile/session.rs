//! One turn at the compilers: what a request needs of them, one after the other, in one worker process of its own. A
//! worker sees bytes of one user only and ends with the turn, so whoever takes one over has gained nothing by it.

use super::findings::Compiled;
use super::renaming::{RenameRequest, Renamed};
use super::sources::{READ_FACTOR, Sources};
use super::turns::Turn;
use super::validation::Validation;
use super::worker;
use crate::blocking::blocking;
use crate::budget::{Budget, Share};
use bytesize::ByteSize;
use heddle_compiler::Options;
use heddle_model::error::{Code, ServiceError};
use heddle_processes::{End, Worker, WorkerCommand, WorkerError};
use heddle_runtime::{CompileError, Plan, Program, ProgramError, Runtime};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// By the clock a turn may take so many times the processor time that it has, and at least a minute: on a busy machine
/// they differ.
const CLOCK_FACTOR: u32 = 3;
const CLOCK_MIN: Duration = Duration::from_secs(60);
/// Sent by the system to a process that has used up its processor time.
const SIGXCPU: i32 = 24;

/// Why a module could not be loaded.
#[derive(Debug)]
pub enum LoadFailure {
    /// It can't run here.
    Program(ProgramError),
    /// Anything else, which has nothing to do with the module.
    Other(ServiceError),
}

impl From<ServiceError> for LoadFailure {
    fn from(error: ServiceError) -> Self {
        LoadFailure::Other(error)
    }
}

impl From<ProgramError> for LoadFailure {
    fn from(error: ProgramError) -> Self {
        LoadFailure::Program(error)
    }
}

/// Why there is no result.
enum Failure {
    /// The compiler says so.
    Refused(String),
    /// A limit ended it, which the message names.
    TooMuch(String),
    /// Anything else.
    Other(ServiceError),
}

/// A turn. The place is given back when it is dropped, and what is under way ends.
pub struct Session<'a> {
    /// `None`: it is done in this process.
    command: Option<&'a WorkerCommand>,
    timeout: Duration,
    turn: Arc<Turn>,
    worker: Option<Worker>,
    began: Instant,
}

impl<'a> Session<'a> {
    pub(super) fn new(command: Option<&'a WorkerCommand>, timeout: Duration, turn: Turn) -> Self {
        Session {
            command,
            timeout,
            turn: Arc::new(turn),
            worker: None,
            began: heddle_model::clock::monotonic(),
        }
    }

    /// Compiles a graph. A limit that ends it is an error of the graph.
    pub async fn graph(
        &mut self,
        budget: &Budget,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ServiceError> {
        let Some(command) = self.command else {
            return self.graph_here(budget, sources, options).await;
        };
        // The worker reads them, with its own memory.
        let share = self.share(budget, sources.bytes()).await?;
        let request = blocking(move || worker::graph_request(sources, &options));
        let request = request.await?.map_err(ServiceError::internal)?;
        let compiled = self.ask(command, request, worker::compiled).await;
        drop(share);
        match compiled {
            Ok(Some(compiled)) => Ok(compiled?),
            Ok(None) => Err(broken_answer()),
            Err(Failure::Refused(reason) | Failure::TooMuch(reason)) => Ok(Compiled::refused(reason)),
            Err(Failure::Other(error)) => Err(error),
        }
    }

    /// Finds out what is known of a graph, and of its rights if wanted. A limit that ends it is an error of the graph.
    pub async fn validation(
        &mut self,
        budget: &Budget,
        sources: Sources,
        with_rights: bool,
    ) -> Result<Validation, ServiceError> {
        let Some(command) = self.command else {
            return self.validation_here(budget, sources, with_rights).await;
        };
        let share = self.share(budget, sources.bytes()).await?;
        let request = blocking(move || worker::validation_request(sources, with_rights));
        let request = request.await?.map_err(ServiceError::internal)?;
        let validated = self.ask(command, request, worker::validated).await;
        drop(share);
        match validated {
            Ok(Some(validated)) => Ok(validated?),
            Ok(None) => Err(broken_answer()),
            Err(Failure::Refused(reason) | Failure::TooMuch(reason)) => Ok(Validation::refused(reason)),
            Err(Failure::Other(error)) => Err(error),
        }
    }

    /// Finds the places that name a node.
    pub async fn rename(
        &mut self,
        budget: &Budget,
        sources: Sources,
        wanted: RenameRequest,
    ) -> Result<Renamed, ServiceError> {
        let Some(command) = self.command else {
            return self.rename_here(budget, sources, wanted).await;
        };
        let share = self.share(budget, sources.bytes()).await?;
        let request = blocking(move || worker::rename_request(sources, wanted));
        let request = request.await?.map_err(ServiceError::internal)?;
        let renamed = self.ask(command, request, worker::renamed).await;
        drop(share);
        match renamed {
            Ok(Some(renamed)) => Ok(renamed?),
            Ok(None) => Err(broken_answer()),
            Err(Failure::Refused(reason) | Failure::TooMuch(reason)) => Ok(Renamed::TooLarge(reason)),
            Err(Failure::Other(error)) => Err(error),
        }
    }

    async fn rename_here(
        &self,
        budget: &Budget,
        sources: Sources,
        wanted: RenameRequest,
    ) -> Result<Renamed, ServiceError> {
        let limits = Options::default().limits;
        let share = self.share(budget, sources.memory(limits) / READ_FACTOR).await?;
        let turn = self.turn.clone();
        let rename = move || {
            let _held = (turn, share);
            sources.rename(&wanted)
        };
        Ok(blocking(rename).await??)
    }

    async fn validation_here(
        &self,
        budget: &Budget,
        sources: Sources,
        with_rights: bool,
    ) -> Result<Validation, ServiceError> {
        let options = Options::default();
        let share = self
            .share(budget, sources.memory(options.limits) / READ_FACTOR)
            .await?;
        let turn = self.turn.clone();
        let validate = move || {
            let _held = (turn, share);
            sources.validate(options, with_rights)
        };
        let bug = |_| Code::Internal.with("Checking this graph failed because of a bug in heddle.");
        Ok(blocking(validate).await.map_err(bug)??)
    }

    async fn graph_here(
        &self,
        budget: &Budget,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ServiceError> {
        let share = self
            .share(budget, sources.memory(options.limits) / READ_FACTOR)
            .await?;
        let turn = self.turn.clone();
        let compile = move || {
            let _held = (turn, share);
            sources.compile(options)
        };
        let bug = |_| Code::Internal.with("Compiling this graph failed because of a bug in heddle.");
        let compiled = blocking(compile).await.map_err(bug)??;
        Ok(compiled.into())
    }

    /// Takes memory for reading so many bytes, unless they are few.
    async fn share(&self, budget: &Budget, bytes: usize) -> Result<Option<Share>, ServiceError> {
        let owner = Some(self.turn.user());
        budget.take_unless_small(owner, (bytes, READ_FACTOR)).await
    }

    /// Compiles what a plan lacks, unless somebody else has by now, and loads it.
    pub async fn load(&mut self, runtime: &Runtime, plan: Plan) -> Result<Program, LoadFailure> {
        let (runtime, turn) = (runtime.clone(), self.turn.clone());
        let Some(command) = self.command else {
            let load = move || {
                let _turn = turn;
                runtime.compile_here(plan)
            };
            return Ok(blocking(load).await??);
        };
        let look = {
            let runtime = runtime.clone();
            move || {
                let mut plan = plan;
                runtime.look_again(&mut plan);
                let requests: Vec<_> = plan.jobs().iter().map(worker::code_request).collect();
                (plan, requests)
            }
        };
        let (plan, requests) = blocking(look).await?;
        let mut codes = Vec::with_capacity(requests.len());
        for (index, request) in requests.into_iter().enumerate() {
            let code = self.ask(command, request, <[u8]>::to_vec).await;
            codes.push(code.map_err(|failure| match failure {
                Failure::Refused(reason) => match plan.jobs().get(index) {
                    Some(job) => job.refused(CompileError::InWorker(reason)).into(),
                    None => ProgramError::Compile(CompileError::InWorker(reason)).into(),
                },
                Failure::TooMuch(reason) => ProgramError::TooCostly(reason).into(),
                Failure::Other(error) => LoadFailure::Other(error),
            })?);
        }
        let load = move || {
            let _turn = turn;
            runtime.assemble(plan, codes)
        };
        Ok(blocking(load).await??)
    }

    /// Sends a request to this turn's worker, and reads the result.
    async fn ask<T: Send + 'static>(
        &mut self,
        command: &WorkerCommand,
        request: Vec<u8>,
        read: fn(&[u8]) -> T,
    ) -> Result<T, Failure> {
        let patience = self.timeout.saturating_mul(CLOCK_FACTOR).max(CLOCK_MIN);
        let worker = match &mut self.worker {
            Some(worker) => worker,
            none => {
                let started = Worker::start(command.clone()).await;
                none.insert(started.map_err(|error| failure(error, command, patience))?)
            }
        };
        let deadline = patience.saturating_sub(heddle_model::clock::since(self.began));
        let answer = worker.ask(&request, deadline).await;
        let answer = answer.map_err(|error| failure(error, command, patience))?;
        let read = move || worker::result_of(&request, &answer).map(|result| result.map(read));
        match blocking(read).await.map_err(Failure::Other)? {
            Some(Ok(result)) => Ok(result),
            Some(Err(reason)) => Err(Failure::Refused(reason)),
            None => Err(Failure::Other(broken_answer())),
        }
    }
}

fn broken_answer() -> ServiceError {
    ServiceError::internal(anyhow::anyhow!("a compiler's answer can't be used"))
}

/// What a worker's failure means for whoever asked.
fn failure(error: WorkerError, command: &WorkerCommand, patience: Duration) -> Failure {
    let limits = &command.limits;
    match &error {
        _ if error.is_out_of_memory() => Failure::TooMuch(format!(
            "compiling it takes more than the {} of memory allowed (the setting compile_memory)",
            ByteSize(limits.address_space_bytes_max)
        )),
        WorkerError::Died {
            end: End::Signal(SIGXCPU),
            ..
        } => Failure::TooMuch(format!(
            "compiling it takes more than the {} s of CPU time allowed (the setting compile_timeout_ms)",
            limits.processor_seconds_max
        )),
        WorkerError::RequestTooLarge { bytes, bytes_max } => Failure::TooMuch(format!(
            "it has {bytes} bytes; at most {bytes_max} can be compiled"
        )),
        WorkerError::TimedOut(_) => Failure::Other(
            Code::Unavailable
                .with(format!(
                    "Compiling took longer than {} s: try again when the service is less busy.",
                    patience.as_secs()
                ))
                .retry_after_s(10),
        ),
        WorkerError::Died { end, last_words } => {
            tracing::error!(%end, last_words, "A compiler process ended in the middle of its work");
            Failure::Other(
                Code::Internal.with("Compiling failed: the compiler's process ended unexpectedly."),
            )
        }
        _ => Failure::Other(ServiceError::internal(error)),
    }
}
