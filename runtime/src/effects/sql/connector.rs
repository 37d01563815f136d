//! Sessions whose driver executes in a process of its own, started by this program: a server whose answers crash the
//! driver, or exhaust its memory, only ends that process and fails the statement. The process has its connection's
//! fields and one socket at a time, behind which is what the egress guard has connected to.
//!
//! Answers of such a process are not trusted.

mod answer;
mod places;

pub(super) use places::{Place, Places};

use super::failure::too_much;
use super::serve::Request;
use super::statement::{Budget, Statement};
use super::target::Target;
use super::tunnel::Tunnel;
use crate::config::ConnectorProgram;
use crate::effect_error::{EffectCode, EffectError};
use crate::egress::{EgressPolicy, Meter};
use answer::Answer;
use heddle_processes::{Limits, Process, Receiver, Sender, Worker, WorkerCommand, WorkerError};
use serde_json::Value;

/// Statements after which a process is replaced, so that nothing piles up in it.
const STATEMENTS_MAX: u32 = 10_000;
/// What a process may use. Results and what drivers need for them fit into it several times.
const LIMITS: Limits = Limits {
    address_space_bytes_max: 768 << 20,
    processor_seconds_max: 600,
    files_max: 32,
    niceness: 0,
    request_bytes_max: 64 << 20,
    answer_bytes_max: 64 << 20,
};

/// An open session in a process.
pub(super) struct Connector {
    process: Process,
    sender: Sender,
    receiver: Receiver,
    state: State,
    statements: u32,
    meter: Meter,
    policy: EgressPolicy,
    target: Target,
    place: Place,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It can be asked something.
    Ready,
    /// It has been asked and has not answered.
    Asked,
    /// It is in the midst of a message, or gone.
    Broken,
}

impl Connector {
    /// Starts a process and opens a session in it.
    pub async fn open(
        program: &ConnectorProgram,
        policy: &EgressPolicy,
        target: &Target,
        place: Place,
        statement: &Statement,
    ) -> Result<Self, EffectError> {
        // Where nothing is reached, nothing needs to be started.
        let meter = Meter::for_each_question(Budget::of_rows(statement));
        let tunnel = Tunnel::open(policy, target, &meter).await?;
        let command = WorkerCommand {
            program: program.program.clone(),
            arguments: program.arguments.clone(),
            limits: LIMITS,
        };
        let worker = Worker::start(command)
            .await
            .map_err(|error| ended(target, error))?;
        let (process, sender, receiver) = worker.into_parts();
        let mut connector = Connector {
            process,
            sender,
            receiver,
            state: State::Ready,
            statements: 0,
            meter,
            policy: policy.clone(),
            target: target.clone(),
            place,
        };
        let request = Request::Open {
            target: target.clone(),
            dir: tunnel.dir().to_owned(),
        };
        match connector.ask(&request, 0).await? {
            Answer::Opened => Ok(connector),
            Answer::Failed(error) => Err(error),
            Answer::Rows(_) | Answer::Cancelled => Err(connector.confused()),
        }
    }

    /// The tenant whose connection it is.
    pub fn tenant(&self) -> &str {
        &self.place.tenant
    }

    /// Whether it may serve another statement.
    pub fn is_fresh(&self) -> bool {
        self.state == State::Ready && self.statements < STATEMENTS_MAX
    }

    pub async fn execute(&mut self, statement: &Statement) -> Result<Vec<Value>, EffectError> {
        self.statements = self.statements.saturating_add(1);
        let request = Request::Execute(statement.into());
        match self.ask(&request, statement.bytes_max).await? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Failed(error) => Err(error),
            Answer::Opened | Answer::Cancelled => Err(self.confused()),
        }
    }

    /// Makes the process tell the server to stop, by another connection.
    pub async fn cancel(&mut self) -> Option<()> {
        if self.state != State::Asked {
            return None;
        }
        let meter = Meter::new(Budget::HANDSHAKE);
        let tunnel = Tunnel::open(&self.policy, &self.target, &meter).await.ok()?;
        let request = Request::Cancel {
            dir: tunnel.dir().to_owned(),
        };
        self.sender.send(&serde_json::to_vec(&request).ok()?).await.ok()?;
        // What it had been asked before may be answered first.
        for _ in 0..2 {
            let frame = self.receiver.receive().await.ok()??;
            if let Ok(Answer::Cancelled) = Answer::read(&frame, 0) {
                return Some(());
            }
        }
        None
    }

    async fn ask(&mut self, request: &Request<'_>, bytes_max: usize) -> Result<Answer, EffectError> {
        let internal = |error: serde_json::Error| EffectError::new(EffectCode::Internal, error.to_string());
        let request = serde_json::to_vec(request).map_err(internal)?;
        self.state = State::Broken;
        if let Err(error) = self.sender.send(&request).await {
            let error = self.process.why(error).await;
            return Err(self.ended(error));
        }
        self.state = State::Asked;
        let received = self.receiver.receive().await;
        self.state = State::Broken;
        let frame = match received {
            Ok(Some(frame)) => frame,
            Ok(None) => {
                let error = self.process.death().await;
                return Err(self.ended(error));
            }
            Err(error) => {
                let error = self.process.why(error).await;
                return Err(self.ended(error));
            }
        };
        let answer = Answer::read(&frame, bytes_max).map_err(|_| self.confused())?;
        self.state = State::Ready;
        Ok(match answer {
            Answer::Failed(_) if self.meter.exceeded() => Answer::Failed(too_much(
                EffectCode::SqlRowLimit,
                &self.target,
                self.meter.granted(),
            )),
            answer => answer,
        })
    }

    fn ended(&self, error: WorkerError) -> EffectError {
        match self.meter.exceeded() {
            true => too_much(EffectCode::SqlRowLimit, &self.target, self.meter.granted()),
            false => ended(&self.target, error),
        }
    }

    fn confused(&self) -> EffectError {
        let error = WorkerError::Malformed("it does not match the request".to_owned());
        ended(&self.target, error)
    }
}

/// The process has ended, or is of no use any more.
fn ended(target: &Target, error: WorkerError) -> EffectError {
    tracing::warn!(%error, "A database connector process has ended");
    let name = target.name();
    if let WorkerError::Start(error) = error {
        let message = format!("Can't start the connector process for {name}: {error}.");
        return EffectError::new(EffectCode::Internal, message);
    }
    let reason = match error.is_out_of_memory() {
        true => "it would take more memory than a connection may use",
        false => "the process that read it crashed",
    };
    let message = format!("{name} sent an unreadable answer: {reason}. Nothing else is affected.");
    EffectError::new(EffectCode::SqlFailed, message)
}
