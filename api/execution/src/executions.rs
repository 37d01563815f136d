//! The crate's face: what it offers, and how it starts and stops.

mod trials;

use crate::acceptor::Accepted;
use crate::budget::Budget;
use crate::callbacks::steps::{RunAsking, Step};
use crate::callbacks::{CallbackForm, CallbackKind, CallbackResponse, WaitingPage};
use crate::consents::Consents;
use crate::deploy::{DeployError, DeployRequest, Done, Gate, Plan};
use crate::deployment::ActiveDeployment;
use crate::environments::Environments;
use crate::files::FileService;
use crate::kept_values::{KeptValues, PutValue};
use crate::lease::{self, LeaseHolder};
use crate::mail::MailReader;
use crate::mailbox_places::MailboxPlaces;
use crate::modules::LoadError;
use crate::parts::Parts;
use crate::run::NewRun;
use crate::settings::Settings;
use crate::tail::Tail;
use crate::tenants::Tenants;
use crate::test_run::TestRuns;
use crate::to_the_end::ToTheEnd;
use heddle_model::access::{Editor, Runner, Scope};
use heddle_model::clock::Clock;
use heddle_model::deploy_rules::DeployRules;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId, UserId, WorkspaceId};
use heddle_model::quota::Quotas;
use heddle_model::slot::Slot;
use heddle_model::status::{Phase, RunStatus};
use heddle_model::tenant::Tenant;
use heddle_store::deployments::DeploymentRow;
use heddle_store::key_values::ValueOwner;
use heddle_store::notices::{self, Notice};
use heddle_store::runs::upkeep;
use heddle_store::runs::waiting::Filter;
use heddle_store::vault::Vault;
use heddle_store::{Store, servers};
use metrics::counter;
use secrecy::SecretString;
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};

/// After how many seconds a sender shall try again if too many events wait for a paused deployment.
const PAUSED_RETRY_AFTER_S: u64 = 60;

/// Runs everything that is deployed. Cheap to clone.
#[derive(Clone)]
pub struct Executions(Arc<Parts>);

impl LeaseHolder for Parts {
    fn registered(&self) {
        // Processes that died before may have had deployments stopped that were read just now.
        self.base.active.forget_all();
    }

    fn lost(&self) {
        let lost: Vec<_> = self.base.live.all().into_iter().map(|(_, live)| live).collect();
        let lost: Vec<_> = lost.into_iter().filter(|live| !live.is_parked()).collect();
        tracing::error!(
            runs = lost.len(),
            "This server did not renew its lease in time and has lost its runs to others; it goes on without them"
        );
        counter!("heddle_leases_lost_total").increment(1);
        for live in lost {
            live.lose();
        }
        for run in self.base.held.take(|_| true) {
            self.base.live.forget(&run);
        }
    }
}

impl Executions {
    /// Ready to accept. Starts no thread and compiles nothing before the first run, or [`Executions::start`].
    pub fn new(settings: Settings, store: Store, clock: Clock, vault: Arc<Vault>, budget: Budget) -> Self {
        let parts = Arc::new(Parts::new(settings, store, clock, vault, budget));
        let this: Weak<Parts> = Arc::downgrade(&parts);
        lease::start(parts.base.store.clone(), parts.base.lease.clone(), this);
        Executions(parts)
    }

    /// Stores a run and hands it to the executors. A full queue answers 503 rather than lose or hoard.
    pub async fn accept(&self, run: NewRun) -> Result<Accepted, ServiceError> {
        self.0.acceptor.accept(run).await
    }

    /// Accepts a run of a paused deployment, which waits until that is resumed; not more of them than its owner may have.
    pub async fn accept_paused(&self, run: NewRun) -> Result<Accepted, ServiceError> {
        let (waiting, bytes) = (&self.0.base.waiting, run.event.get().len());
        let room = waiting.add(run.deployment.owner, true, bytes).await?;
        room.map_err(|exceeded| {
            let message = format!("The event can't wait for the deployment to be resumed. {exceeded}");
            Code::Unavailable
                .with(message)
                .retry_after_s(PAUSED_RETRY_AFTER_S)
        })?;
        self.hold(run.deployment.id).await?;
        self.accept(run).await
    }

    /// Makes sure that runs of a deployment that was found paused are held, unless it was resumed since.
    async fn hold(&self, deployment: DeploymentId) -> Result<(), ServiceError> {
        let held = &self.0.base.held;
        if held.is_paused(deployment) {
            return Ok(());
        }
        // First: whoever resumes it later finds it held, and that it was resumed before is read now.
        held.pause(deployment);
        let followed = self.0.notices.follow(Notice::Deployment(deployment)).await;
        if followed.is_err() {
            held.unpause(deployment);
            self.0.deployer.release(deployment);
        }
        followed
    }

    /// Files of runs and tenants.
    pub fn files(&self) -> &FileService {
        &self.0.base.files
    }

    /// Reads messages that start runs.
    pub fn mail(&self) -> &MailReader {
        &self.0.mail
    }

    pub(crate) fn store(&self) -> &Store {
        &self.0.base.store
    }

    pub(crate) fn clock(&self) -> &Clock {
        &self.0.base.clock
    }

    pub(crate) fn test_runs(&self) -> &TestRuns {
        &self.0.test_runs
    }

    pub(crate) fn polls_at_once(&self) -> &Semaphore {
        &self.0.polls_at_once
    }

    /// Connections to mailboxes that stay open.
    pub(crate) fn mailbox_places(&self) -> &Arc<MailboxPlaces> {
        &self.0.mailbox_places
    }

    /// The URL at which senders reach this service.
    pub(crate) fn base_url(&self) -> &str {
        &self.0.base_url
    }

    /// Polls and subscriptions of one owner that may be under way at once.
    pub(crate) fn polls_of(&self, owner: UserId) -> Arc<Semaphore> {
        self.0.polls_of_owners.of(owner)
    }

    /// What environments give to runs, for those who change them.
    pub fn environments(&self) -> &Environments {
        &self.0.base.environments
    }

    /// Connections that a person consents to.
    pub fn consents(&self) -> &Consents {
        &self.0.consents
    }

    /// What runs do, as it happens.
    pub fn tail(&self) -> &Tail {
        &self.0.base.tail
    }

    /// Runs that wait in memory, and runs that execute.
    pub fn counts(&self) -> (usize, usize) {
        self.0.base.queue.counts()
    }

    /// Measures what changes all the time.
    pub fn gauge(&self) {
        let (waiting, executing) = self.counts();
        metrics::gauge!("heddle_runs_waiting").set(waiting as f64);
        metrics::gauge!("heddle_runs_executing").set(executing as f64);
    }

    /// Whether nothing more is accepted.
    pub fn is_stopping(&self) -> bool {
        self.0.base.stop.has_begun()
    }

    /// Becomes true when nothing more is accepted.
    pub fn stopping(&self) -> watch::Receiver<bool> {
        self.0.base.stop.watch()
    }

    /// Loads the engine and finds deployments that can't be loaded. A server that executes begins to take up the runs
    /// that others have accepted, left or parked, and to clear away old ones.
    pub async fn start(&self) -> Result<(), ServiceError> {
        let parts = &self.0;
        parts.base.modules.runtime().await?;
        parts.base.modules.seals().begin().await?;
        parts.isolated.log();
        parts.base.of_workspaces.start(parts.base.stop.clone());
        if !parts.base.lease.executes() {
            parts.deployer.check_all();
            parts
                .backlog
                .start(parts.base.store.clone(), parts.base.stop.clone());
            return Ok(());
        }
        let recovery = parts.recovery();
        recovery.try_suspects().await;
        parts.deployer.check_all();
        parts.claims().start();
        recovery.start();
        parts.waker().start();
        parts.retention.start(parts.base.stop.clone());
        Ok(())
    }

    /// Accepts nothing more, and ends what looks on at runs. What was accepted goes on.
    pub fn begin_stop(&self) {
        self.0.base.queue.close();
        self.0.base.stop.begin();
    }

    /// Starts nothing more, and waits until what executes has ended and is stored, or `patience` is over. What is
    /// left is taken up at the next start.
    pub async fn stop(&self, patience: Duration) {
        self.begin_stop();
        self.0.base.queue.stop();
        let idle = async {
            while self.counts().1 > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        if tokio::time::timeout(patience, idle).await.is_err() {
            tracing::warn!(
                executing = self.counts().1,
                "Runs are left to other servers, or the next start"
            );
        }
        if tokio::time::timeout(patience, self.0.recorder.flush())
            .await
            .is_err()
        {
            tracing::warn!("The ends of some runs are not stored: they are taken up again");
        }
        if tokio::time::timeout(patience, self.hand_over()).await.is_err() {
            tracing::warn!("Other servers take over what is left when this server's lease expires");
        }
    }

    /// The deployment in a slot, if it is active and can be loaded.
    pub async fn active_for(&self, slot: Slot) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        self.0.base.active.in_slot(slot).await
    }

    /// The deployment in a slot, if it is active or paused and can be loaded.
    pub async fn loaded_for(&self, slot: Slot) -> Result<Option<Arc<ActiveDeployment>>, ServiceError> {
        self.0.base.active.loaded_in_slot(slot).await
    }

    /// A module that was deployed, by its SHA-256, read in this user's turn; `None`: it is no longer kept as it was.
    pub async fn module(&self, artifact: &str, user: UserId) -> Result<Option<Vec<u8>>, ServiceError> {
        match self.0.base.modules.stored(artifact, user).await {
            Ok(wasm) => Ok(wasm),
            Err(LoadError::Unusable(_)) => Ok(None),
            Err(LoadError::Failed(error)) => Err(error),
        }
    }

    /// Deploys a version of a pattern to an environment.
    pub async fn deploy(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<Done, DeployError> {
        self.0.deployer.deploy(editor, pattern, request).await
    }

    /// What [`Executions::deploy`] would do. Changes nothing.
    pub async fn plan(
        &self,
        editor: &Editor,
        pattern: PatternId,
        request: DeployRequest,
    ) -> Result<Plan, DeployError> {
        self.0.deployer.plan(editor, pattern, request).await
    }

    /// Puts what is deployed in one environment in place in another one, unless something is missing there.
    pub async fn promote(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        environment: EnvironmentId,
        gate: Gate,
    ) -> Result<DeploymentRow, ServiceError> {
        self.0
            .deployer
            .promote(editor, deployment, environment, gate)
            .await
    }

    /// What the environment asks to which a pattern would be deployed.
    pub async fn deploy_rules(
        &self,
        editor: &Editor,
        pattern: PatternId,
        environment: Option<EnvironmentId>,
    ) -> Result<DeployRules, ServiceError> {
        self.0.deployer.rules(editor, pattern, environment).await
    }

    /// What [`Executions::promote`] would do. Changes nothing, and names what is missing instead of refusing it.
    pub async fn plan_promotion(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
        environment: EnvironmentId,
    ) -> Result<Plan, ServiceError> {
        self.0
            .deployer
            .plan_promotion(editor, deployment, environment)
            .await
    }

    /// Takes the triggers of a pattern's deployment away, of the one in this environment or of the main one; runs that were
    /// accepted still end. 404 for what was never deployed.
    pub async fn undeploy(
        &self,
        editor: &Editor,
        pattern: PatternId,
        environment: Option<EnvironmentId>,
    ) -> Result<DeploymentRow, ServiceError> {
        let (deployer, editor) = (self.0.deployer.clone(), *editor);
        ToTheEnd::new(async move { deployer.undeploy(&editor, pattern, environment).await }).await
    }

    /// Holds the triggers and the runs that wait for their turn.
    pub async fn pause(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        let (deployer, editor) = (self.0.deployer.clone(), *editor);
        ToTheEnd::new(async move { deployer.pause(&editor, deployment).await }).await
    }

    /// Lets triggers and runs go on.
    pub async fn resume(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        let (deployer, editor) = (self.0.deployer.clone(), *editor);
        ToTheEnd::new(async move { deployer.resume(&editor, deployment).await }).await
    }

    /// Puts the stored module in place again.
    pub async fn redeploy(
        &self,
        editor: &Editor,
        deployment: DeploymentId,
    ) -> Result<DeploymentRow, ServiceError> {
        let (deployer, editor) = (self.0.deployer.clone(), *editor);
        ToTheEnd::new(async move { deployer.redeploy(&editor, deployment).await }).await
    }

    /// Removes a deployment with its runs; those under way are cancelled.
    pub async fn delete(&self, editor: &Editor, deployment: DeploymentId) -> Result<(), ServiceError> {
        let (deployer, editor) = (self.0.deployer.clone(), *editor);
        ToTheEnd::new(async move { deployer.delete(&editor, deployment).await }).await
    }

    /// To be called when a workspace was deleted with its deployments.
    pub fn workspace_deleted(&self) {
        self.0.base.active.forget_all();
        self.0.base.environments.changed();
    }

    /// What workspaces may use, and have used.
    pub fn tenants(&self) -> &Tenants {
        &self.0.base.of_workspaces
    }

    fn kept_values(&self, quotas: Quotas) -> KeptValues<'_> {
        KeptValues {
            store: self.store(),
            tenants: self.tenants(),
            quotas,
            now: self.clock().now(),
        }
    }

    /// Puts a value in the place of what patterns keep under its key.
    pub async fn put_value(&self, editor: Editor, quotas: Quotas, put: PutValue) -> Result<(), ServiceError> {
        self.kept_values(quotas).put(editor, put).await
    }

    /// Removes a value that patterns keep; an error if there is none.
    pub async fn delete_value(
        &self,
        editor: Editor,
        quotas: Quotas,
        owner: ValueOwner,
        key: String,
    ) -> Result<(), ServiceError> {
        self.kept_values(quotas).delete(editor, owner, key).await
    }

    /// Removes a suspended workspace with everything that it has.
    pub async fn erase_workspace(&self, workspace: WorkspaceId) -> Result<(), ServiceError> {
        self.0.erasure.remove(workspace).await.map(drop)
    }

    /// Where the files of a workspace's SQLite connections are, whether there are any or not; `None`: there are no such
    /// connections.
    pub fn sqlite_dir_of(&self, workspace: WorkspaceId) -> Option<PathBuf> {
        let dir = self.0.erasure.sqlite_dir.as_ref()?;
        Some(dir.join(workspace.to_string()))
    }

    /// How long a run may execute at a time.
    pub fn run_timeout(&self) -> Duration {
        self.0.executor.limits.deadline
    }

    /// Removes the files of a tenant that was removed: of its runs, and of its SQLite connections.
    pub async fn remove_files(&self, tenant: Tenant) -> Result<(), ServiceError> {
        self.0.base.files.files().erase(tenant).await?;
        self.0.erasure.sqlite_files(tenant).await
    }

    /// To be called when a pattern was deleted, whose deployments [`heddle_store::deployments::undeploy_deleted`] has
    /// ended.
    pub fn pattern_deleted(&self, pattern: PatternId) {
        self.0.base.active.forget_pattern(pattern);
    }

    /// Ends a run as cancelled, and gives the status that it has then. The caller was found to see the run.
    pub async fn cancel(
        &self,
        runner: &Runner,
        deployment: DeploymentId,
        run: RunId,
    ) -> Result<RunStatus, ServiceError> {
        let (canceller, runner) = (self.0.canceller.clone(), *runner);
        ToTheEnd::new(async move { canceller.cancel(&runner, deployment, run).await }).await
    }

    /// What a run is doing, if it executes here, or waits for that.
    pub fn phase_of(&self, run: RunId) -> Option<Phase> {
        let live = self.0.base.live.get(run)?;
        (!live.is_parked()).then(|| live.phase())
    }

    /// What a callback URL is for; `None`: no run has made it.
    pub async fn callback_kind(
        &self,
        run: RunId,
        token: &str,
        place: &str,
    ) -> Result<Option<CallbackKind>, ServiceError> {
        self.0.callbacks.kind(run, place, token).await
    }

    /// Where whoever fills in a run's forms finds the one that is open, as the path that follows `/callbacks/`.
    pub async fn steps_path(&self, run: RunId) -> Result<String, ServiceError> {
        self.0.callbacks.steps_path(run).await
    }

    /// Waits until a run asks for another form of whoever has sent the one before, or has ended, but not longer than this.
    pub async fn next_step(&self, run: RunId, patience: Duration) -> Result<Step, ServiceError> {
        self.0.callbacks.next_step(run, patience).await
    }

    /// Whose the run is that asks by forms; 404 if it is gone.
    pub async fn run_asking(&self, run: RunId) -> Result<RunAsking, ServiceError> {
        self.0.callbacks.asking(run).await
    }

    /// The key by which a run makes its callback URLs, for whoever moves it to another service.
    pub async fn callback_key(&self, run: RunId) -> Result<SecretString, ServiceError> {
        self.0.callbacks.any_key(run).await
    }

    /// Lets the run go on that waits at this place, with a request as the event, and gives what the sender gets. It
    /// may come before the run is there; then it waits for the run. 409 for a second call, 410 when nobody waits.
    pub async fn call_back(
        &self,
        run: RunId,
        place: String,
        event: String,
    ) -> Result<CallbackResponse, ServiceError> {
        self.0.callbacks.call_back(run, place, event).await
    }

    /// Calls back on behalf of somebody who may change the run's deployment, once the run waits there. 404 if it does not.
    pub async fn answer_callback(
        &self,
        editor: Editor,
        run: (DeploymentId, RunId),
        place: String,
        event: String,
    ) -> Result<CallbackResponse, ServiceError> {
        self.0.callbacks.answer(editor, run, place, event).await
    }

    /// What the run asks whoever opens a URL, if a call of it would be the one that counts; else the error that the
    /// call would get. Changes nothing.
    pub async fn look_at_callback(&self, run: RunId, place: &str) -> Result<CallbackForm, ServiceError> {
        self.0.callbacks.look(run, place).await
    }

    /// A page of the callbacks that runs wait for.
    pub async fn waiting_callbacks(
        &self,
        scope: &Scope,
        filter: Filter,
    ) -> Result<WaitingPage, ServiceError> {
        self.0.callbacks.waiting(scope, filter).await
    }

    /// Brings memory in line with a change that another server, or another part of this one, has made.
    pub async fn follow(&self, notice: Notice) -> Result<(), ServiceError> {
        self.0.notices.follow(notice).await
    }

    /// Clears away once what is too old or too much.
    pub async fn clear_away(&self) -> Result<(), ServiceError> {
        self.0.retention.clear_away().await
    }

    /// Gives back the lease and what is left of the runs.
    async fn hand_over(&self) {
        self.0.base.lease.end();
        let owner = self.0.base.lease.owner();
        let handed = self.0.base.store.write_apart(move |db| {
            Box::pin(async move {
                upkeep::hand_back_all(db, &owner).await?;
                servers::remove(db, &owner).await?;
                notices::tell(db, Notice::Left).await
            })
        });
        if let Err(error) = handed.await {
            tracing::warn!(error = %chain(&error), "The lease could not be given back");
        }
    }
}
