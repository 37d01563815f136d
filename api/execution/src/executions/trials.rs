//! What editors try: nothing of it is deployed, and nothing is stored as a run.

use super::Executions;
use crate::compile::{Compiled, RenameRequest, Renamed, Sources, Validation};
use crate::connection_test::{ConnectionTest, ConnectionTested, try_connection};
use crate::preview::{self, Preview, PreviewRequest};
use crate::replay::{self, Against, Candidate, PreparedReplay, ReplayRequest};
use crate::test_run::{PreparedTest, TestRun, TestRunError};
use heddle_compiler::Options;
use heddle_model::access::{Editor, Scope};
use heddle_model::error::ServiceError;
use heddle_model::ids::{DeploymentId, RunId};

impl Executions {
    /// Compiles a graph for a test run, in the caller's turn.
    pub async fn transpile(
        &self,
        scope: &Scope,
        sources: Sources,
        options: Options,
    ) -> Result<Compiled, ServiceError> {
        self.0.test_runs.transpile(scope, sources, options).await
    }

    /// Finds out what is known of a graph, and of its rights if wanted, in the caller's turn.
    pub async fn validate(
        &self,
        scope: &Scope,
        sources: Sources,
        with_rights: bool,
    ) -> Result<Validation, ServiceError> {
        self.0.test_runs.validate(scope, sources, with_rights).await
    }

    /// Finds the places that change with a node's label, in the caller's turn.
    pub async fn rename(
        &self,
        scope: &Scope,
        sources: Sources,
        wanted: RenameRequest,
    ) -> Result<Renamed, ServiceError> {
        self.0.test_runs.rename(scope, sources, wanted).await
    }

    /// Makes a module ready to run in an environment of the caller's, and waits for a place.
    pub async fn prepare_test(&self, editor: &Editor, run: TestRun) -> Result<PreparedTest, TestRunError> {
        self.0.test_runs.prepare(editor, run).await
    }

    /// Makes a run that has ended ready to be executed once more, from its journal, and waits for a place.
    pub async fn prepare_replay(
        &self,
        editor: &Editor,
        request: ReplayRequest,
    ) -> Result<PreparedReplay, ServiceError> {
        replay::prepare(&self.0.test_runs, &self.0.callbacks, editor, request).await
    }

    /// Makes a module ready to execute for runs of a deployment's, which has this artifact.
    pub async fn candidate(
        &self,
        editor: &Editor,
        wasm: Vec<u8>,
        deployed: &str,
    ) -> Result<Candidate, ServiceError> {
        replay::candidate(&self.0.test_runs, editor, (wasm, deployed)).await
    }

    /// Executes a run that has ended with its own module and with another one, from its journal.
    pub async fn replay_against(
        &self,
        editor: &Editor,
        candidate: &mut Candidate,
        run: (DeploymentId, RunId),
    ) -> Result<Against, ServiceError> {
        let (runs, callbacks) = (&self.0.test_runs, &self.0.callbacks);
        replay::against(runs, callbacks, (editor, candidate), run).await
    }

    /// Evaluates expressions as if they stood in a node of a graph, in the caller's turn.
    pub async fn preview(
        &self,
        editor: &Editor,
        request: PreviewRequest,
    ) -> Result<Vec<Preview>, ServiceError> {
        preview::preview(&self.0.test_runs, editor, request).await
    }

    /// Tries a connection, in one place among the executing runs of the caller's workspace.
    pub async fn test_connection(
        &self,
        editor: &Editor,
        test: ConnectionTest,
    ) -> Result<ConnectionTested, ServiceError> {
        try_connection(&self.0.test_runs, editor, test).await
    }
}
