//! Sessions whose driver executes in a process of its own. It has its connection's fields and one socket, behind which is
//! what the egress guard has connected to.
//!
//! Answers of such a process are not trusted.

mod answer;

use super::failure::too_much;
use super::serve::{Request, SQL_WORKER};
use super::statement::{Budget, Statement};
use super::target::Target;
use super::tunnel::Tunnel;
use crate::effects::connectors::{Connectors, LIMITS, Owner, Place};
use crate::egress::{EgressPolicy, Meter};
use heddle_processes::{Process, Receiver, Sender, Worker, WorkerError};
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::sync::Arc;

pub(super) use answer::Answer;
pub use answer::answered;

/// Statements after which a process is replaced, so that nothing piles up in it.
const STATEMENTS_MAX: u32 = 10_000;

/// An open session in a process.
pub(super) struct Connector {
    process: Process,
    sender: Sender,
    receiver: Receiver,
    state: State,
    statements: u32,
    meter: Meter,
    /// By which the server knows it.
    session: u64,
    connectors: Arc<Connectors>,
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
        connectors: &Arc<Connectors>,
        policy: &EgressPolicy,
        target: &Target,
        place: Place,
        statement: &Statement,
    ) -> Result<Self, EffectError> {
        // Where nothing is reached, nothing needs to be started.
        let meter = Meter::for_each_question(Budget::of_rows(statement));
        let mut tunnel = Tunnel::open(policy, target, &meter).await?;
        let worker = Worker::start(connectors.command(SQL_WORKER, LIMITS))
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
            session: 0,
            connectors: connectors.clone(),
            policy: policy.clone(),
            target: target.clone(),
            place,
        };
        let request = Request::Open {
            target: target.clone(),
            dir: tunnel.dir().to_owned(),
        };
        match connector.ask(&request, None).await? {
            Answer::Connected => tunnel.release(),
            Answer::Failed(error) => return Err(error),
            _ => return Err(connector.confused()),
        }
        match connector.receive(None).await? {
            Answer::Opened(session) => {
                connector.session = session;
                Ok(connector)
            }
            Answer::Failed(error) => Err(error),
            _ => Err(connector.confused()),
        }
    }

    /// Who pays for it.
    pub fn owner(&self) -> Owner {
        self.place.owner
    }

    /// Whether it may serve another statement.
    pub fn is_fresh(&self) -> bool {
        self.state == State::Ready && self.statements < STATEMENTS_MAX
    }

    pub async fn execute(&mut self, statement: &Statement) -> Result<Vec<Value>, EffectError> {
        self.statements = self.statements.saturating_add(1);
        let request = Request::Execute(statement.into());
        match self.ask(&request, Some(statement)).await? {
            Answer::Rows(rows) => Ok(rows),
            Answer::Failed(error) => Err(error),
            _ => Err(self.confused()),
        }
    }

    /// Has another process tell the server to stop, since this one can make no second connection.
    pub async fn cancel(&mut self) -> Option<()> {
        if self.state != State::Asked {
            return None;
        }
        // The other one takes its place.
        self.process.kill();
        let meter = Meter::new(Budget::HANDSHAKE);
        let mut tunnel = Tunnel::open(&self.policy, &self.target, &meter).await.ok()?;
        let command = self.connectors.command(SQL_WORKER, LIMITS);
        let (_process, mut sender, mut receiver) = Worker::start(command).await.ok()?.into_parts();
        let request = Request::Cancel {
            target: self.target.clone(),
            dir: tunnel.dir().to_owned(),
            session: self.session,
        };
        sender.send(&serde_json::to_vec(&request).ok()?).await.ok()?;
        loop {
            let frame = receiver.receive().await.ok()??;
            match Answer::read(&frame, 0).ok()? {
                Answer::Connected => tunnel.release(),
                Answer::Cancelled => return Some(()),
                _ => return None,
            }
        }
    }

    async fn ask(
        &mut self,
        request: &Request<'_>,
        statement: Option<&Statement>,
    ) -> Result<Answer, EffectError> {
        let internal = |error: serde_json::Error| EffectError::new(EffectCode::Internal, error.to_string());
        let request = serde_json::to_vec(request).map_err(internal)?;
        self.state = State::Broken;
        if let Err(error) = self.sender.send(&request).await {
            let error = self.process.why(error).await;
            return Err(self.ended(error));
        }
        self.receive(statement).await
    }

    /// What it says next, to a statement if it was asked one.
    async fn receive(&mut self, statement: Option<&Statement>) -> Result<Answer, EffectError> {
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
        let answer = Answer::read_aside(self.place.owner, frame, statement).await;
        let answer = answer.map_err(|_| self.confused())?;
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
