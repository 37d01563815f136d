//! Removing a workspace with everything that it has: rows, files of its SQLite connections, and machine code of its modules.
//! A little at a time, so that nobody's writes wait long; what is interrupted can be begun again.

use crate::active_deployments::ActiveDeployments;
use crate::batches::{self, Batch};
use crate::cancel::Canceller;
use crate::environments::Environments;
use crate::steps::Steps;
use crate::tenants::Tenants;
use heddle_files::Files;
use heddle_model::clock::{Timestamp, monotonic, since};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, WorkspaceId};
use heddle_model::slot::Slot;
use heddle_model::tenant::Tenant;
use heddle_store::{Store, StoreError, archive, hosting};
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// An import that nobody has gone on with for so long is given up.
const IMPORT_IDLE_MAX: Duration = Duration::from_secs(60 * 60);
/// What is told of an import is kept for so long after its end.
const IMPORT_TOLD_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Modules that one statement removes, which looks at all runs that are under way, while other writes wait.
const MODULES_TOGETHER: usize = 8;

/// Removes workspaces.
pub(crate) struct Erasure {
    pub store: Store,
    pub active: Arc<ActiveDeployments>,
    pub canceller: Arc<Canceller>,
    pub environments: Arc<Environments>,
    pub tenants: Tenants,
    pub files: Files,
    /// Where machine code is kept.
    pub cache_dir: PathBuf,
    /// Where files of SQLite connections are.
    pub sqlite_dir: Option<PathBuf>,
}

impl Erasure {
    /// Removes a workspace that is suspended, so that nothing of it begins meanwhile. `false`: it was gone before.
    pub async fn remove(&self, workspace: WorkspaceId) -> Result<bool, ServiceError> {
        let mut modules = BTreeSet::new();
        let mut found = self.deployments(workspace).await?;
        loop {
            for (deployment, slot) in found {
                let removed = self.store.write(move |db| {
                    Box::pin(async move { hosting::remove_deployment(db, deployment).await })
                });
                let removed: Result<Option<String>, StoreError> = removed.await;
                modules.extend(removed?);
                self.active.forget(slot);
                self.canceller.cancel_all(deployment).await;
                self.runs(deployment, &mut modules).await?;
            }
            // What is in memory would come back once its rows are gone.
            self.store.meter().await?;
            for part in 0..hosting::PARTS_COUNT {
                batches::remove(&self.store, move |db, rows| {
                    Box::pin(hosting::remove_part(db, workspace, part, rows))
                })
                .await?;
            }
            // A server of an earlier version may have stored one meanwhile.
            found = self.deployments(workspace).await?;
            if found.is_empty() {
                break;
            }
        }
        let modules: Vec<String> = modules.into_iter().collect();
        for some in modules.chunks(MODULES_TOGETHER) {
            self.modules(workspace, some.to_vec()).await?;
        }
        let tenant = Tenant::Workspace(workspace);
        self.sqlite_files(tenant).await?;
        self.files.erase(tenant).await?;
        let removed = self
            .store
            .write(move |db| Box::pin(async move { hosting::remove(db, workspace).await }));
        let removed: Result<bool, StoreError> = removed.await;
        self.active.forget_all();
        self.environments.changed();
        self.tenants.forget(workspace);
        Ok(removed?)
    }

    /// Removes the workspaces of imports that nobody has gone on with, and what is told of those that ended long ago.
    pub async fn remove_abandoned_imports(&self, now: Timestamp, steps: &mut Steps) {
        let since = now.minus(IMPORT_IDLE_MAX);
        let abandoned = steps.take("the list of abandoned imports", self.abandoned(since));
        for workspace in abandoned.await.unwrap_or_default() {
            let name = format!("the abandoned import {workspace}");
            let removing = Box::pin(self.remove(workspace));
            if steps.take(name, removing).await.is_some() {
                tracing::warn!(%workspace, "An import was abandoned: nobody continued it, so what it had made was removed");
            }
        }
        let before = now.minus(IMPORT_TOLD_MAX);
        let forget = self
            .store
            .write(move |db| Box::pin(async move { archive::forget_finished(db, before).await }));
        steps.take("imports that have ended", forget).await;
    }

    async fn abandoned(&self, since: Timestamp) -> Result<Vec<WorkspaceId>, StoreError> {
        archive::abandoned(&mut self.store.reader().await?.db(), since).await
    }

    async fn deployments(&self, workspace: WorkspaceId) -> Result<Vec<(DeploymentId, Slot)>, ServiceError> {
        let mut reader = self.store.reader().await?;
        Ok(hosting::deployments(&mut reader.db(), workspace).await?)
    }

    async fn runs(
        &self,
        deployment: DeploymentId,
        modules: &mut BTreeSet<String>,
    ) -> Result<(), ServiceError> {
        let mut batch = Batch::first();
        loop {
            let rows = batch.rows();
            let removed = self.store.write_sized(batches::LOAD, move |db| {
                Box::pin(async move {
                    let began = monotonic();
                    let removed: Vec<(String,)> = hosting::remove_runs(db, deployment, rows).await?;
                    Ok::<_, StoreError>((removed, since(began)))
                })
            });
            let (removed, took) = removed.await?;
            let count = i64::try_from(removed.len()).unwrap_or(i64::MAX);
            modules.extend(removed.into_iter().map(|(module,)| module));
            if count < rows {
                return Ok(());
            }
            batch.adapt(took);
        }
    }

    /// Removes modules and their machine code, unless somebody else has the same.
    async fn modules(&self, workspace: WorkspaceId, hashes: Vec<String>) -> Result<(), ServiceError> {
        let removed = self.store.write(move |db| {
            Box::pin(async move { hosting::remove_artifacts(db, workspace, &hashes).await })
        });
        let removed: Result<Vec<(String,)>, StoreError> = removed.await;
        for (hash,) in removed? {
            let dir = self.cache_dir.clone();
            let done = tokio::task::spawn_blocking(move || remove_code(&dir, &hash)).await;
            let done = done.map_err(ServiceError::internal)?;
            done.map_err(|error| failed(error, "the machine code of its modules"))?;
        }
        Ok(())
    }

    /// Removes the files of a tenant's SQLite connections.
    pub async fn sqlite_files(&self, tenant: Tenant) -> Result<(), ServiceError> {
        remove_sqlite_files(self.sqlite_dir.as_deref(), tenant).await
    }
}

/// Removes the files of a tenant's SQLite connections, which are below `dir`, for whoever has no [`crate::Executions`].
pub async fn remove_sqlite_files(dir: Option<&Path>, tenant: Tenant) -> Result<(), ServiceError> {
    let Some(dir) = dir else {
        return Ok(());
    };
    match tokio::fs::remove_dir_all(dir.join(tenant.to_string())).await {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed(error, "its SQLite files")),
        _ => Ok(()),
    }
}

/// Machine code of a module is kept in files whose names begin with its SHA-256.
fn remove_code(dir: &Path, hash: &str) -> io::Result<()> {
    let entries = match std::fs::read_dir(dir) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(hash) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn failed(error: io::Error, what: &str) -> ServiceError {
    let why = anyhow::Error::new(error).context(format!("a workspace can't be deleted completely: {what}"));
    ServiceError::internal(why)
}
