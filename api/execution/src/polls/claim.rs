//! A schedule that is this server's for a while, because it has said so in the database. Whoever pauses it, takes it away or gives it
//! other times takes the claim away with that.

use crate::executions::Executions;
use heddle_model::clock::Timestamp;
use heddle_model::error::{ServiceError, chain};
use heddle_model::ids::EndpointId;
use heddle_store::StoreError;
use heddle_store::polls::{self, PollRow};
use heddle_store::schedules::ScheduleRow;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, watch};

pub(crate) struct Claim {
    executions: Executions,
    schedule: EndpointId,
    /// For how long it is claimed each time: if this server stops, another one goes on after that.
    span: Duration,
    /// Until when it is claimed.
    claimed: AtomicI64,
    /// Until when it is claimed once the renewal that is on its way is stored.
    attempted: AtomicI64,
    is_lost: watch::Sender<bool>,
    /// Renewals come one after the other, or one would not find what the other has written.
    renewing: Mutex<()>,
}

impl Claim {
    /// Claims what is due; `None`: another server has.
    pub async fn of(
        executions: &Executions,
        read: &ScheduleRow,
        span: Duration,
    ) -> Result<Option<(Self, PollRow)>, ServiceError> {
        let until = executions.clock().now().plus(span);
        let due = read.clone();
        let claimed = executions
            .store()
            .write(move |db| Box::pin(async move { polls::claim_for_system(db, &due, until).await }))
            .await
            .map_err(|error: StoreError| -> ServiceError { error.into() })?;
        let claim = Claim {
            executions: executions.clone(),
            schedule: read.id,
            span,
            claimed: AtomicI64::new(until.millis()),
            attempted: AtomicI64::new(until.millis()),
            is_lost: watch::Sender::new(false),
            renewing: Mutex::new(()),
        };
        Ok(claimed.map(|known| (claim, known)))
    }

    fn now(&self) -> Timestamp {
        self.executions.clock().now()
    }

    /// What the database says of it: one of these.
    pub fn said(&self) -> [i64; 2] {
        [&self.claimed, &self.attempted].map(|until| until.load(Ordering::Relaxed))
    }

    /// Whether somebody has paused it, taken it away or given it other times since.
    pub fn is_lost(&self) -> bool {
        *self.is_lost.borrow()
    }

    /// Ends once it is lost.
    pub async fn lost(&self) {
        // The sender is this claim's own, so it is there.
        let mut told = self.is_lost.subscribe();
        let _ = told.wait_for(|lost| *lost).await;
    }

    /// Claims it for longer: whether it is this server's still, as far as that can be told.
    pub async fn renew(&self) -> bool {
        let _one = self.renewing.lock().await;
        let (schedule, said, until) = (self.schedule, self.said(), self.now().plus(self.span));
        // Before it is written: what ends the turn meanwhile doesn't stop that.
        self.attempted.store(until.millis(), Ordering::Relaxed);
        let renewed = self.executions.store().write(move |db| {
            Box::pin(async move { polls::renew_for_system(db, schedule, said, Some(until)).await })
        });
        let renewed: Result<bool, StoreError> = renewed.await;
        match renewed {
            Ok(true) => self.claimed.store(until.millis(), Ordering::Relaxed),
            Ok(false) => {
                self.is_lost.send_replace(true);
            }
            Err(error) => tracing::warn!("A poll's claim can't be renewed now: {}", chain(&error)),
        }
        !self.is_lost()
    }

    /// Keeps it for as long as nobody changes it. Never ends.
    pub async fn hold(&self) {
        loop {
            tokio::time::sleep(self.span / 3).await;
            if !self.renew().await {
                // What was set meanwhile stays. No more runs are started, and what is found is stored unless others have
                // overtaken it.
                return std::future::pending().await;
            }
        }
    }
}
