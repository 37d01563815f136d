//! Cancels a called run once nobody waits for it any more. While the run is still being accepted, which goes on after the attempt that
//! calls it has ended, it can't be cancelled yet: that is done as soon as it is there.

use crate::acceptor::{Accepted, Acceptor};
use crate::cancel::Canceller;
use crate::lease::Lease;
use crate::run::NewRun;
use crate::stop::Stop;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::RunId;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Cancels a run that is not waited for any more, except when the service stops, or the run that waits goes on at
/// another server, or in another process.
pub(super) struct CancelOnDrop {
    /// It does not keep the service alive.
    pub canceller: Weak<Canceller>,
    pub lease: Arc<Lease>,
    pub stop: Stop,
    /// The owner of the run that waits.
    pub owner: Arc<str>,
    /// Whether that begins again in another process.
    pub is_interrupted: Arc<AtomicBool>,
    pub child: Option<RunId>,
}

impl CancelOnDrop {
    fn is_off(&self) -> bool {
        self.stop.has_begun() || self.is_interrupted.load(Ordering::SeqCst)
    }
}

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let (Some(canceller), Some(child)) = (self.canceller.upgrade(), self.child) else {
            return;
        };
        if self.is_off() {
            return;
        }
        if let Ok(handle) = Handle::try_current() {
            let (lease, owner) = (self.lease.clone(), self.owner.clone());
            handle.spawn(async move {
                if lease.is_held(&owner).await {
                    canceller.cancel_by_service(child).await;
                }
            });
        }
    }
}

/// Dropped before the run is accepted, it has it cancelled.
pub(super) struct Accepting {
    task: Option<JoinHandle<Result<Accepted, ServiceError>>>,
    /// `None`: nobody is going to wait for the run.
    cancelling: Option<CancelOnDrop>,
}

impl Accepting {
    /// Begins to accept the run.
    pub fn begin(acceptor: Arc<Acceptor>, new: NewRun, cancelling: Option<CancelOnDrop>) -> Self {
        Accepting {
            task: Some(tokio::spawn(async move { acceptor.accept_patiently(new).await })),
            cancelling,
        }
    }

    /// What becomes of it.
    pub async fn accepted(mut self) -> Result<Accepted, ServiceError> {
        let Some(task) = &mut self.task else {
            return Err(Code::Internal.into());
        };
        let accepted = task.await;
        self.task = None;
        accepted.unwrap_or_else(|error| Err(ServiceError::internal(error)))
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        let (Some(task), Some(mut cancelling)) = (self.task.take(), self.cancelling.take()) else {
            return;
        };
        // Where the call is made again, it finds the run by its key.
        if cancelling.is_off() {
            return;
        }
        if let Ok(handle) = Handle::try_current() {
            handle.spawn(async move {
                if let Ok(Ok(Accepted::New(ticket))) = task.await {
                    cancelling.child = Some(ticket.run_id);
                }
                drop(cancelling);
            });
        }
    }
}
