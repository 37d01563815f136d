//! What reading and writing have in common.

use crate::objects::Objects;
use crate::settings::Settings;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::chain;
use heddle_model::file::Holder;
use heddle_model::ids::BlobId;
use heddle_model::tenant::Tenant;
use heddle_store::vault::Vault;
use heddle_store::{Store, StoreError, files};
use std::sync::Arc;
use std::time::Duration;

/// Where rows and bytes are.
pub struct Shared {
    pub store: Store,
    pub vault: Arc<Vault>,
    pub clock: Clock,
    pub objects: Arc<dyn Objects>,
    pub settings: Settings,
}

/// A file that is about to be written.
#[derive(Clone, Debug)]
pub struct NewFile {
    /// Whose it is.
    pub tenant: Tenant,
    /// Name, from whoever it comes.
    pub name: String,
    /// Media type, from whoever it comes.
    pub media_type: String,
    /// How long it is kept if nothing refers to it.
    pub kept_for: Duration,
    /// What refers to it from the beginning.
    pub holder: Option<Holder>,
}

impl Shared {
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Gives up what was being written.
    pub async fn abandon(&self, blob: BlobId) {
        let now = self.now();
        let abandoned = self
            .store
            .write(move |db| Box::pin(async move { files::abandon(db, blob, now).await }));
        let abandoned: Result<(), StoreError> = abandoned.await;
        if let Err(error) = abandoned {
            tracing::warn!(
                "A file that was only partly written is left to the sweep: {}",
                chain(&error)
            );
        }
    }
}
