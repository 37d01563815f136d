//! Brings deployments in memory up to date with what is stored.

use super::{Deployer, Ready};
use crate::to_the_end::ToTheEnd;
use heddle_model::access::Editor;
use heddle_model::audit::Action;
use heddle_model::error::ServiceError;
use heddle_model::ids::DeploymentId;
use heddle_store::asking::of_service;
use heddle_store::deployments::{self, DeploymentRow};
use std::sync::Arc;

impl Deployer {
    /// Stores what is to be deployed, and brings memory in line with it, also if whoever has asked for it goes in between.
    pub(super) async fn put_in_place(
        self: &Arc<Self>,
        editor: Editor,
        ready: Ready,
        action: Action,
    ) -> Result<DeploymentRow, ServiceError> {
        let this = self.clone();
        let putting = ToTheEnd::new(async move {
            let row = this.put(editor, ready, action).await?;
            this.changed(&row).await;
            Ok(row)
        });
        putting.await
    }

    /// Brings memory in line with a deployment that was changed: with what it is by now, as somebody may have changed it again meanwhile.
    pub async fn changed(&self, row: &DeploymentRow) {
        self.active.forget(row.slot());
        let _order = self.held.in_order().await;
        // Everybody's changes wait for this one.
        let newest = of_service(async {
            let mut reader = self.store.reader().await?;
            deployments::by_id_for_system(&mut reader.db(), row.id).await
        });
        let holds_runs = match newest.await {
            Ok(Some(newest)) => newest.holds_runs(),
            // It was deleted, and whoever did that ends its runs.
            Ok(None) => return self.held.unpause(row.id),
            Err(_) => row.holds_runs(),
        };
        if holds_runs {
            return self.held.pause(row.id);
        }
        self.held.unpause(row.id);
        self.release(row.id);
        // Those that no server has, since it was paused.
        self.wakeups.parked.wake();
        self.wakeups.left.wake();
    }

    /// Queues the held runs of a deployment.
    pub fn release(&self, deployment: DeploymentId) {
        self.dispatcher
            .release(self.held.take(|run| run.deployment.id == deployment));
    }
}
