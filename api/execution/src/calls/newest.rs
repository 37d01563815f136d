//! Newest versions of patterns that are called as such, in the place of the deployed ones.

use crate::compile::{Asker, LoadFailure, Sources};
use crate::deployment::ActiveDeployment;
use crate::modules::Modules;
use heddle_compiler::Options;
use heddle_model::clock::Clock;
use heddle_model::error::ServiceError;
use heddle_model::ids::PatternId;
use heddle_runtime::Tier;
use heddle_store::patterns::{self, PatternRow};
use heddle_store::{Store, deployments};
use serde_json::value::RawValue;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Compiled versions that are kept; past this many the cache starts anew.
const KEPT_MAX: usize = 256;
/// How long each is kept: less than its stored module is without being used.
const AGE_MAX: Duration = Duration::from_secs(60 * 60);

/// Compiles newest versions, and keeps them.
pub(crate) struct NewestVersions {
    store: Store,
    clock: Clock,
    modules: Arc<Modules>,
    kept: Mutex<HashMap<PatternId, (Instant, Arc<ActiveDeployment>)>>,
}

impl NewestVersions {
    pub fn new(store: Store, clock: Clock, modules: Arc<Modules>) -> Self {
        NewestVersions {
            store,
            clock,
            modules,
            kept: Mutex::default(),
        }
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<PatternId, (Instant, Arc<ActiveDeployment>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The deployment with the version of `row` instead of its own, or why that version can't run.
    pub async fn in_place_of(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<Result<Arc<ActiveDeployment>, String>, ServiceError> {
        let found = self.kept().get(&row.id).cloned();
        let is_same = |(made_at, found): &(Instant, Arc<ActiveDeployment>)| {
            made_at.elapsed() < AGE_MAX
                && (found.id, found.environment, found.version_number)
                    == (active.id, active.environment, row.version_number)
        };
        if let Some((_, found)) = found.filter(is_same) {
            return Ok(Ok(found));
        }
        let compiled = match self.compiled(active, row).await? {
            Ok(compiled) => Arc::new(compiled),
            Err(reason) => return Ok(Err(reason)),
        };
        let mut kept = self.kept();
        if kept.len() >= KEPT_MAX {
            kept.clear();
        }
        kept.insert(row.id, (heddle_model::clock::monotonic(), compiled.clone()));
        Ok(Ok(compiled))
    }

    /// Compiles and loads it, and keeps its module for runs that go on with it later.
    async fn compiled(
        &self,
        active: &ActiveDeployment,
        row: &PatternRow,
    ) -> Result<Result<ActiveDeployment, String>, ServiceError> {
        let graph = patterns::graph(&mut self.store.reader().await?.db(), row.id, row.version_number).await?;
        let graph = RawValue::from_string(graph.unwrap_or_default()).map_err(ServiceError::internal)?;
        let sources = Sources::of_graph(graph);
        let mut session = self.modules.session(Asker::Deployment(row.owner_id)).await?;
        let compiled = self
            .modules
            .compile(&mut session, sources, Options::default())
            .await?;
        let Some(artifact) = compiled.artifact else {
            let first = compiled.errors.into_iter().next();
            return Ok(Err(
                first.map_or_else(|| "it has errors.".into(), |error| error.message)
            ));
        };
        let loaded = match self.modules.plan(artifact.wasm.clone(), Tier::Optimized).await {
            Ok(plan) => session.load(self.modules.runtime().await?, plan).await,
            Err(failure) => Err(failure),
        };
        drop(session);
        let program = match loaded {
            Ok(program) => program,
            Err(LoadFailure::Program(error)) => return Ok(Err(error.to_string())),
            Err(LoadFailure::Other(error)) => return Err(error),
        };
        let (hash, now) = (hex::encode(program.digest()), self.clock.now());
        let (key, wasm) = (hash.clone(), artifact.wasm);
        self.store
            .write(move |db| Box::pin(async move { deployments::keep_artifact(db, &key, &wasm, now).await }))
            .await?;
        Ok(Ok(ActiveDeployment {
            version_number: row.version_number,
            artifact: hash,
            program,
            ..active.clone()
        }))
    }
}
