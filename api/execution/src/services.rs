//! What effects of runs may ask of the service.

use crate::connections::TenantConnections;
use crate::consents::Consents;
use crate::files::FileService;
use crate::key_values::StoredValues;
use crate::queue::Share;
use crate::run::Run;
use heddle_model::clock::Clock;
use heddle_model::ids::FileId;
use heddle_model::quota::Quotas;
use heddle_model::tenant::Tenant;
use heddle_runtime::Services;
use heddle_runtime::response_stream::ResponseStream;
use heddle_store::Store;
use heddle_store::vault::Vault;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Makes the services of runs. Cheap to clone.
#[derive(Clone)]
pub(crate) struct RunServices {
    pub store: Store,
    pub vault: Arc<Vault>,
    pub clock: Clock,
    pub quotas: Quotas,
    pub files: FileService,
    pub consents: Consents,
}

impl RunServices {
    pub fn of_run(&self, run: &Run) -> Services {
        let (deployment, run, stream) = (&run.deployment, run.id, run.live.stream());
        if deployment.manifest().rights.effects.is_empty() {
            return deployment.unused_services.clone();
        }
        Services {
            connections: self.connections(deployment.share()),
            key_values: Arc::new(StoredValues {
                store: self.store.clone(),
                clock: self.clock.clone(),
                tenant: deployment.tenant,
                slot: deployment.slot,
                payer: deployment.owner,
                quotas: self.quotas,
                state: deployment.state.clone(),
                run,
                files: self.files.clone(),
            }),
            files: self.files.of_run(deployment.tenant, run),
            response: stream.map(|stream| Arc::new(stream) as Arc<dyn ResponseStream>),
        }
    }

    /// For a test run, whose author may read these files. The values that it keeps are gone with the run.
    pub fn of_test(&self, share: Share, files: BTreeSet<FileId>) -> Services {
        Services {
            connections: self.connections(share),
            files: self.files.of_test(share.tenant, files),
            ..Services::default()
        }
    }

    /// For a replay of a run that had these files, which reads once more what the run had read of them.
    pub fn of_replay(&self, tenant: Tenant, files: BTreeSet<FileId>) -> Services {
        Services {
            files: self.files.of_test(tenant, files),
            ..Services::default()
        }
    }

    pub fn connections(&self, share: Share) -> Arc<TenantConnections> {
        Arc::new(TenantConnections {
            store: self.store.clone(),
            vault: self.vault.clone(),
            tenant: share.tenant,
            owner: share.owner,
            consents: self.consents.clone(),
        })
    }
}
