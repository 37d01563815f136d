//! What is known of a mailbox: how far it was read, and how it fares.

use crate::deployment::ActiveDeployment;
use crate::executions::Executions;
use crate::outside::{Failure, shown};
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::mailbox::Reached;
use heddle_model::poll::Seen;
use heddle_store::polls::{self, PollRow};
use heddle_store::{Load, StoreError};
use metrics::counter;

pub(super) struct Record {
    pub row: PollRow,
    stored: PollRow,
    /// What was wrong with a message, by code and in words.
    pub problem: Option<(String, String)>,
}

impl Record {
    /// From what is stored.
    pub fn of(row: PollRow) -> Self {
        Record {
            stored: row.clone(),
            row,
            problem: None,
        }
    }

    /// How far this mailbox was read.
    pub fn reach(&mut self, source: &str, reached: Option<Reached>, seen: &Seen) {
        source.clone_into(&mut self.row.source);
        self.row.cursor = reached.map(|reached| reached.to_string());
        self.row.seen = seen.stored();
    }

    /// A message can't have a run, now or later: it is passed over, and its owner is told. Other errors are of the moment.
    pub fn passed_over(&mut self, error: ServiceError) -> Result<Option<String>, Failure> {
        match error.code() {
            Code::Validation | Code::PayloadTooLarge => {
                self.pass_over(&error);
                Ok(None)
            }
            _ => Err(error.into()),
        }
    }

    pub fn pass_over(&mut self, error: &ServiceError) {
        counter!("heddle_mailbox_messages_total", "result" => "passed_over").increment(1);
        self.problem = Some((error.code().name().to_owned(), shown(error.message())));
    }

    /// Stores what is known now; `false`: others have overtaken it.
    pub async fn save(&mut self, executions: &Executions, active: &ActiveDeployment) -> bool {
        let (row, former) = (self.row.clone(), self.stored.clone());
        let load = Load::of(Some(active.owner), row.seen.len());
        let stored = executions.store().write_sized(load, move |db| {
            Box::pin(async move { polls::keep_for_system(db, &row, &former).await })
        });
        let stored: Result<bool, StoreError> = stored.await;
        match stored {
            Ok(false) => return false,
            Ok(true) => {
                self.row.version = self.row.version.saturating_add(1);
                self.stored = self.row.clone();
            }
            Err(error) => tracing::warn!(
                deployment = %active.id,
                "How far a mailbox was read can't be stored now: {}",
                chain(&error)
            ),
        }
        true
    }
}
