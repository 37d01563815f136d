//! What is deployed: from a version of a pattern to an active deployment, and through its states. Compiling
//! and loading come first; what is stored then is stored at once or not at all.

mod follow;
mod missing;
mod plan;
mod ready;
mod request;
mod target;

pub use missing::Missing;
pub use plan::{Plan, PlannedSchedule};
pub use request::{Compared, DeployError, DeployRequest, DeployVersion, Done, Gate, Target};

use crate::active_deployments::ActiveDeployments;
use crate::cancel::Canceller;
use crate::deployed_schedules;
use crate::deployed_subscriptions;
use crate::dispatcher::Dispatcher;
use crate::held_runs::HeldRuns;
use crate::modules::{LoadError, Modules};
use crate::poller::Wakeups;
use crate::seals;
use crate::tenants::Tenants;
use heddle_contract::manifest::Manifest;
use heddle_model::access::Editor;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Clock;
use heddle_model::deploy_rules::DeployRules;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId};
use heddle_model::quota::{Quota, Quotas};
use heddle_model::slot::Slot;
use heddle_model::status::{DeploymentStatus, Operation};
use heddle_model::tenant::Tenant;
use heddle_runtime::Limits;
use heddle_store::deployments::{self, DeploymentRow};
use heddle_store::quota::{self, Payer};
use heddle_store::vault::Vault;
use heddle_store::workspaces::{self, Hold};
use heddle_store::{
    Db, Load, Store, audit, endpoints, hosting, patterns, polls, runs, schedules, subscriptions,
};
use plan::Planner;
use ready::{Maker, Ready, no_environment};
use std::sync::Arc;

/// Runs that one statement removes.
const REMOVED_MAX: i64 = 1_000;

/// What becomes of a deployment's schedules.
enum After {
    /// They wait; why, if the deployment has failed.
    Held(Option<String>),
    /// They are due as the module says, in the environment that the deployment was found in.
    Due(Box<Manifest>, Option<EnvironmentId>),
}

/// Holds the environment of a deployment that is to run again. 409 if it was deleted.
async fn keep_environment(
    db: &mut Db<'_>,
    editor: &Editor,
    environment: EnvironmentId,
) -> Result<(), ServiceError> {
    match workspaces::hold_environment(db, editor, environment, Hold::ToUse).await? {
        true => Ok(()),
        false => Err(Code::Conflict.with(
            "The environment of this deployment was deleted, and its secrets and variables with it: deploy the pattern to \
             another environment.",
        )),
    }
}

/// Refuses a deployment that is not the one that was checked, or was checked by other rules.
async fn pass_gate(
    db: &mut Db<'_>,
    editor: &Editor,
    (new, slot): (&DeploymentRow, Slot),
    gate: &Gate,
) -> Result<(), ServiceError> {
    if let Some(environment) = new.environment_id {
        let rules = workspaces::rules(db, editor, environment).await?;
        if !rules.without(gate.kept).is_empty() {
            return Err(Code::Conflict.with(
                "The environment's rules were changed in the meantime. Nothing was deployed: deploy again.",
            ));
        }
    }
    if let Some(compared) = &gate.compared {
        let there = deployments::in_slot_for_system(db, slot).await?;
        if *compared != Compared::of(new, there.as_ref()) {
            return Err(Code::Conflict.with(
                "Something else was deployed while the rules were checked, and this was not: deploy again.",
            ));
        }
    }
    Ok(())
}

/// Refuses to redeploy what was undeployed, where the environment has rules by which deploying it would be checked.
async fn refuse_past_rules(
    db: &mut Db<'_>,
    editor: &Editor,
    row: &DeploymentRow,
) -> Result<(), ServiceError> {
    let Some(environment) = row.environment_id else {
        return Ok(());
    };
    match workspaces::rules(db, editor, environment).await?.is_empty() {
        true => Ok(()),
        false => Err(Code::Conflict.with(format!(
            "This is no longer deployed, and its environment has rules, which are checked when a version is deployed: deploy \
             version {} of the pattern there.",
            row.version_number
        ))),
    }
}

/// What the audit log calls an operation.
const fn action(operation: Operation) -> Action {
    match operation {
        Operation::Deploy => Action::PatternDeployed,
        Operation::Redeploy => Action::DeploymentRedeployed,
        Operation::Pause => Action::DeploymentPaused,
        Operation::Resume => Action::DeploymentResumed,
        Operation::Undeploy => Action::PatternUndeployed,
        Operation::Fail => Action::DeploymentFailed,
    }
}

/// Deploys patterns.
pub(crate) struct Deployer {
    pub store: Store,
    pub vault: Arc<Vault>,
    pub clock: Clock,
    pub quotas: Quotas,
    /// The limits of every run.
    pub limits: Limits,
    pub tenants: Tenants,
    pub modules: Arc<Modules>,
    pub active: Arc<ActiveDeployments>,
    pub held: Arc<HeldRuns>,
    pub dispatcher: Arc<Dispatcher>,
    pub canceller: Arc<Canceller>,
    pub wakeups: Wakeups,
}

impl Deployer {
    /// Deploys a version of a pattern to an environment.
    pub async fn deploy(
        self: &Arc<Self>,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<Done, DeployError> {
        let ready = self.maker().compiled(editor, pattern, request).await?;
        let warnings = ready.warnings.clone();
        let version = (pattern, ready.row.version_number);
        let needed = self.planner().needed(editor, version, &ready.manifest).await?;
        let error_pattern = ready.manifest.settings.error_pattern_id.clone();
        let row = self.put_in_place(*editor, ready, Action::PatternDeployed).await?;
        let missing = self
            .planner()
            .missing_of(editor, (&row, &needed), error_pattern.as_deref())
            .await;
        // It is deployed all the same.
        let missing = missing.unwrap_or_else(|error| {
            tracing::warn!(deployment = %row.id, "It could not be determined what a deployment lacks: {}", chain(&error));
            Missing::default()
        });
        Ok(Done {
            row,
            warnings,
            missing,
        })
    }

    /// What [`Deployer::deploy`] would do. Changes nothing.
    pub async fn plan(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<Plan, DeployError> {
        let ready = self.maker().compiled(editor, pattern, request).await?;
        Ok(self.planner().plan(editor, &ready).await?)
    }

    /// Puts what is deployed in one environment in place in another one, unless something is missing there.
    pub async fn promote(
        self: &Arc<Self>,
        editor: &Editor,
        deployment: DeploymentId,
        environment: EnvironmentId,
        gate: Gate,
    ) -> Result<DeploymentRow, ServiceError> {
        let mut ready = self.maker().promoted(editor, deployment, environment).await?;
        ready.gate = gate;
        self.planner().check(editor, &ready).await?;
        self.put_in_place(*editor, ready, Action::DeploymentPromoted)
            .await
    }

    /// What [`Deployer::promote`] would do. Changes nothing, and names what is missing instead of refusing it.
    pub async fn plan_promotion(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        environment: EnvironmentId,
    ) -> Result<Plan, ServiceError> {
        let ready = self.maker().promoted(editor, deployment, environment).await?;
        self.planner().plan(editor, &ready).await
    }

    /// What the environment asks to which a pattern would be deployed.
    pub async fn rules(
        &self,
        editor: &Editor,
        pattern: PatternId,
        environment: Option<EnvironmentId>,
    ) -> Result<DeployRules, ServiceError> {
        let row = self.maker().changeable(editor, pattern).await?;
        let found = self.maker().environment(editor, &row, environment).await?;
        match found {
            Some(environment) => {
                let mut reader = self.store.reader().await?;
                Ok(workspaces::rules(&mut reader.db(), editor, environment.id).await?)
            }
            None => Ok(DeployRules::default()),
        }
    }

    fn maker(&self) -> Maker<'_> {
        Maker {
            store: &self.store,
            clock: &self.clock,
            limits: &self.limits,
            tenants: &self.tenants,
            modules: &self.modules,
        }
    }

    fn planner(&self) -> Planner<'_> {
        Planner {
            store: &self.store,
            modules: &self.modules,
            active: &self.active,
        }
    }

    /// Takes the triggers of a pattern's deployment away, of the one in this environment or of the main one; runs that were
    /// accepted still end. 404 for what was never deployed.
    pub async fn undeploy(
        &self,
        editor: &Editor,
        pattern: PatternId,
        environment: Option<EnvironmentId>,
    ) -> Result<DeploymentRow, ServiceError> {
        let row = self.maker().changeable(editor, pattern).await?;
        let mut reader = self.store.reader().await?;
        let db = &mut reader.db();
        let found = match environment {
            Some(environment) => deployments::visible_in_environment(db, editor, row.id, environment).await?,
            None => deployments::visible_in_slot(db, editor, Slot::main(row.id)).await?,
        };
        let never = match environment {
            Some(_) => "The pattern was never deployed to this environment.",
            None => "The pattern was never deployed.",
        };
        let found = found.ok_or_else(|| Code::NotFound.with(never))?;
        drop(reader);
        self.apply(editor, found.id, Operation::Undeploy).await
    }

    /// Holds the triggers and the runs that wait for their turn.
    pub async fn pause(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.apply(editor, deployment, Operation::Pause).await
    }

    /// Lets triggers and runs go on.
    pub async fn resume(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.load_and_apply(editor, deployment, Operation::Resume).await
    }

    /// Puts the stored module in place again.
    pub async fn redeploy(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        self.load_and_apply(editor, deployment, Operation::Redeploy).await
    }

    /// Removes a deployment with its runs; those under way are cancelled.
    pub async fn delete(&self, editor: &Editor, deployment: DeploymentId) -> Result<(), ServiceError> {
        let owner = *editor;
        let row = self
            .store
            .write(move |db| {
                Box::pin(async move {
                    let row = deployments::owned(db, &owner, deployment)
                        .await?
                        .ok_or(Code::NotFound)?;
                    let gone = Action::DeploymentDeleted.of(Object::Deployment(deployment));
                    audit::note(db, &owner, gone).await?;
                    schedules::remove(db, &owner, deployment).await?;
                    subscriptions::unwant(db, deployment, &[]).await?;
                    deployments::remove(db, &owner, deployment).await?;
                    Ok::<_, ServiceError>(row)
                })
            })
            .await?;
        self.active.forget(row.slot());
        self.canceller.cancel_all(deployment).await;
        loop {
            let removed = self
                .store
                .write(move |db| {
                    Box::pin(async move { runs::upkeep::remove_of(db, deployment, REMOVED_MAX).await })
                })
                .await?;
            if removed < REMOVED_MAX.unsigned_abs() {
                return Ok(());
            }
        }
    }

    /// Stores a deployment with its module, endpoints and schedules; gives it as it is stored.
    async fn put(&self, editor: Editor, ready: Ready, action: Action) -> Result<DeploymentRow, ServiceError> {
        let (quotas, vault) = (self.quotas, self.vault.clone());
        let load = Load::of(Some(editor.user()), ready.wasm.len());
        self.store
            .write_sized(load, move |db| {
                Box::pin(async move {
                    hosting::hold_running(db, &editor).await?;
                    let (mut new, manifest) = (ready.row, ready.manifest);
                    let (pattern, now) = (new.pattern_id, new.updated_at);
                    let found = patterns::owned(db, &editor, pattern).await?;
                    found.ok_or(Code::NotFound)?;
                    // It may have been deleted since it was looked up.
                    if let Some(environment) = new.environment_id
                        && !workspaces::hold_environment(db, &editor, environment, Hold::ToUse).await?
                    {
                        return Err(no_environment());
                    }
                    let slot = target::choose(db, pattern, new.environment_id, ready.moves).await?;
                    pass_gate(db, &editor, (&new, slot), &ready.gate).await?;
                    new.slot_environment_id = slot.environment;
                    deployments::keep_artifact(db, &new.artifact, &ready.wasm, now).await?;
                    deployments::put(db, &editor, &new).await?;
                    let stored = deployments::in_slot_for_system(db, slot).await?;
                    let stored = stored.ok_or(Code::NotFound)?;
                    let tenant = Tenant::of(stored.user_id, stored.workspace_id);
                    let sealed = (stored.artifact.as_str(), tenant);
                    deployments::seal_module(db, &vault, sealed, &seals::rights(&manifest)?).await?;
                    deployed_schedules::register(db, &editor, stored.id, &manifest, now).await?;
                    let of_user: &[Quota] = &[Quota::ModuleBytes, Quota::Schedules];
                    let mut added = vec![(Payer::User(stored.user_id), of_user)];
                    if let Some(workspace) = stored.workspace_id {
                        added.push((Payer::Workspace(workspace), &[Quota::ModuleBytes]));
                    }
                    if !slot.is_main() {
                        let nodes: Vec<&str> = (manifest.triggers.iter())
                            .map(|trigger| trigger.node_id.as_str())
                            .collect();
                        endpoints::add_to_slot(db, &vault, &editor, slot, &nodes, now).await?;
                        added.push((Payer::Pattern(pattern), &[Quota::Endpoints]));
                    }
                    // Now that it has its endpoints.
                    deployed_subscriptions::register(db, &vault, &editor, (&stored, &manifest), now).await?;
                    quota::check(db, &quotas, &added).await?;
                    let mut entry = action
                        .of(Object::Deployment(stored.id))
                        .with("version", stored.version_number);
                    if let Some(from) = ready.from {
                        entry = entry.with("from", from);
                    }
                    if let Some(events) = ready.gate.acknowledged {
                        entry = entry.with("acknowledgedDifferences", events);
                    }
                    if ready.gate.is_approved {
                        entry = entry.with("approvedRights", true);
                    }
                    audit::note(db, &editor, entry).await?;
                    Ok(stored)
                })
            })
            .await
    }

    /// Changes a deployment's state, and what follows from it in memory.
    async fn apply(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
    ) -> Result<DeploymentRow, ServiceError> {
        self.apply_with(editor, deployment, operation, After::Held(None))
            .await
    }

    /// Changes the state by an operation that needs the module: if it can't be loaded, the deployment has failed.
    async fn load_and_apply(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
    ) -> Result<DeploymentRow, ServiceError> {
        let row = deployments::visible(&mut self.store.reader().await?.db(), editor, deployment).await?;
        let row = row.ok_or(Code::NotFound)?;
        row.status.apply(operation)?;
        match self.modules.load(&row).await {
            Ok(program) => {
                let manifest = program.manifest().clone();
                let after = After::Due(Box::new(manifest), row.environment_id);
                self.apply_with(editor, deployment, operation, after).await
            }
            Err(LoadError::Failed(error)) => Err(error),
            Err(LoadError::Unusable(reason)) => {
                if row.status.apply(Operation::Fail).is_ok() {
                    self.apply_with(
                        editor,
                        deployment,
                        Operation::Fail,
                        After::Held(Some(reason.to_string())),
                    )
                    .await?;
                }
                Err(reason.refused())
            }
        }
    }

    async fn apply_with(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        operation: Operation,
        after: After,
    ) -> Result<DeploymentRow, ServiceError> {
        let (editor, now, vault) = (*editor, self.clock.now(), self.vault.clone());
        let row = self
            .store
            .write(move |db| {
                Box::pin(async move {
                    if operation != Operation::Fail {
                        hosting::hold_running(db, &editor).await?;
                    }
                    // Before the deployment, as whatever deletes the environment locks them.
                    if let After::Due(_, Some(environment)) = &after {
                        keep_environment(db, &editor, *environment).await?;
                    }
                    let row = deployments::owned(db, &editor, deployment)
                        .await?
                        .ok_or(Code::NotFound)?;
                    let status = row.status.apply(operation)?;
                    if operation == Operation::Redeploy && row.status == DeploymentStatus::Undeployed {
                        refuse_past_rules(db, &editor, &row).await?;
                    }
                    let reason = match &after {
                        After::Held(reason) => {
                            schedules::hold(db, &editor, deployment).await?;
                            if operation == Operation::Undeploy {
                                polls::forget(db, &editor, deployment).await?;
                                subscriptions::unwant(db, deployment, &[]).await?;
                            }
                            reason.as_deref()
                        }
                        After::Due(_, environment) if *environment != row.environment_id => {
                            return Err(Code::Conflict.with("The pattern was just deployed: check again."));
                        }
                        After::Due(manifest, _) => {
                            deployed_schedules::register(db, &editor, deployment, manifest, now).await?;
                            deployed_subscriptions::register(
                                db,
                                &vault,
                                &editor,
                                (&row, manifest.as_ref()),
                                now,
                            )
                            .await?;
                            None
                        }
                    };
                    deployments::set_status(db, deployment, status, reason, now).await?;
                    let entry = action(operation).of(Object::Deployment(deployment));
                    audit::note(db, &editor, entry).await?;
                    let mut strikes = row.strikes;
                    if operation == Operation::Redeploy {
                        deployments::confirm(db, deployment, now).await?;
                        strikes = 0;
                    }
                    Ok::<_, ServiceError>(DeploymentRow {
                        status,
                        strikes,
                        updated_at: now,
                        ..row
                    })
                })
            })
            .await?;
        self.changed(&row).await;
        Ok(row)
    }

    /// Finds active deployments whose modules this heddle can't load, in the background: they have failed.
    pub fn check_all(self: &Arc<Self>) {
        let this = self.clone();
        tokio::spawn(async move {
            if let Err(error) = this.check().await {
                tracing::error!("The deployments could not be checked: {}", chain(&error));
            }
        });
    }

    async fn check(&self) -> Result<(), ServiceError> {
        let rows = deployments::all_active(&mut self.store.reader().await?.db()).await?;
        for row in rows {
            let reason = match self.modules.load(&row).await {
                Ok(_) => continue,
                Err(LoadError::Failed(error)) => {
                    // It is loaded when it is needed; the others may be well.
                    tracing::error!(deployment = %row.id, "A deployment could not be checked: {}", chain(&error));
                    continue;
                }
                Err(LoadError::Unusable(reason)) => reason.to_string(),
            };
            tracing::error!(deployment = %row.id, "A deployment can't be loaded: {reason}");
            let slot = row.slot();
            let (id, artifact, now) = (row.id, row.artifact, self.clock.now());
            let write = self.store.write(move |db| {
                Box::pin(async move { deployments::fail_for_system(db, id, &artifact, &reason, now).await })
            });
            write.await?;
            self.active.forget(slot);
        }
        self.seal_the_rest().await
    }

    /// Loads deployments of an earlier heddle that nobody loads for now, so that they are sealed while modules without a seal are accepted.
    async fn seal_the_rest(&self) -> Result<(), ServiceError> {
        if !self.modules.seals().takes_unsealed().await? {
            return Ok(());
        }
        let rest = deployments::without_seals(&mut self.store.reader().await?.db()).await?;
        for (id, artifact) in rest {
            let found = deployments::by_id_for_system(&mut self.store.reader().await?.db(), id).await?;
            let Some(mut row) = found else {
                continue;
            };
            row.artifact = artifact;
            if let Err(LoadError::Failed(error)) = self.modules.load(&row).await {
                tracing::error!(deployment = %id, "A module could not be sealed: {}", chain(&error));
            }
        }
        Ok(())
    }
}
