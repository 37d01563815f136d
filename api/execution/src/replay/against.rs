//! A run executes twice more: with its own module, whose effects its journal answers, and with another version, which is answered
//! what the own module was when the same node asked for the same. Nothing leaves, and nothing of either is stored.

use super::{Past, ReplayEnd, Replayed, compared, loaded, message, past, program, share};
use crate::callbacks::Callbacks;
use crate::compile::validation::NeededRights;
use crate::modules::LoadError;
use crate::queue::{Place, Share};
use crate::test_run::TestRuns;
use heddle_contract::abi::code;
use heddle_model::access::Editor;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{DeploymentId, RunId};
use heddle_runtime::{Answers, Outcome, Program, RequestLog, RunError};
use std::sync::Arc;

pub use heddle_runtime::Unanswered;

/// A version that is to execute for runs of another one.
pub struct Candidate {
    program: Program,
    share: Share,
    /// The module of the runs so far, by its name: most have the same.
    own: Option<(String, Program)>,
    /// What the version could do.
    pub rights: NeededRights,
    /// What the one that is deployed could do; `None`: its module is not kept, or can't be executed any more.
    pub former_rights: Option<NeededRights>,
}

/// What the two versions did with the event of a run.
pub struct Against {
    /// How the replay of the run's own version ended, compared with the run.
    pub replayed: Replayed,
    /// What it did.
    pub before: Outcome,
    /// What the other version did, and what it asked for in vain; `None`: the first replay is not a measure for it.
    pub after: Option<(Outcome, Vec<Unanswered>)>,
}

/// Makes a module ready to execute for runs of what has this artifact.
pub(crate) async fn candidate(
    runs: &TestRuns,
    editor: &Editor,
    (wasm, deployed): (Vec<u8>, &str),
) -> Result<Candidate, ServiceError> {
    let unusable =
        |reason: String| Code::Validation.with(format!("The version can't be executed here ({reason})."));
    let candidate = loaded(runs, editor, wasm, unusable).await?;
    let own = match runs.modules.stored(deployed, editor.user()).await {
        Ok(own) => own,
        Err(LoadError::Unusable(_)) => None,
        Err(LoadError::Failed(error)) => return Err(error),
    };
    let own = match own {
        Some(wasm) => match program(runs, editor, wasm).await {
            Ok(own) => Some((deployed.to_owned(), own)),
            Err(error) if error.code() == Code::Gone => None,
            Err(error) => return Err(error),
        },
        None => None,
    };
    Ok(Candidate {
        rights: NeededRights::of(candidate.manifest()),
        former_rights: own.as_ref().map(|(_, own)| NeededRights::of(own.manifest())),
        share: share(runs, editor).await?,
        program: candidate,
        own,
    })
}

/// Executes a run with its own module and with the candidate. An error if the run can't be replayed.
pub(crate) async fn against(
    runs: &TestRuns,
    callbacks: &Callbacks,
    (editor, candidate): (&Editor, &mut Candidate),
    of: (DeploymentId, RunId),
) -> Result<Against, ServiceError> {
    // Before anything is read, and for both: whoever waits for its turn holds no journal.
    let place = Arc::new(runs.place(candidate.share, runs.timeout).await?);
    let mut past = past(runs, editor, of).await?;
    let own = own(runs, editor, candidate, &past).await?;
    let asked = RequestLog::default();
    let answers = Answers::Journal {
        entries: std::mem::take(&mut past.entries),
        noted: Some(asked.clone()),
    };
    let turn = (runs, callbacks, candidate.share, &place);
    let before = executed(turn, &own, &past, answers).await?;
    let end = compared(&past.row, &before);
    let replayed = Replayed {
        end,
        variables: past.known,
        message: message(end, past.known, &past.row, &before),
    };
    let after = match end {
        ReplayEnd::Same => {
            let answers = Answers::Noted(asked.clone());
            let outcome = match executed(turn, &candidate.program, &past, answers).await {
                Err(error) if error.code() == Code::ExecutionTimeout => Outcome::refused(RunError {
                    code: code::TIMEOUT.into(),
                    message: error.message().to_owned(),
                    node_id: None,
                }),
                outcome => outcome?,
            };
            Some((outcome, asked.unanswered()))
        }
        ReplayEnd::Stopped | ReplayEnd::Incomplete | ReplayEnd::Different => None,
    };
    Ok(Against {
        replayed,
        before,
        after,
    })
}

/// The module of a run, kept for those that follow.
async fn own(
    runs: &TestRuns,
    editor: &Editor,
    candidate: &mut Candidate,
    past: &Past,
) -> Result<Program, ServiceError> {
    if let Some((artifact, own)) = &candidate.own
        && *artifact == past.row.artifact
    {
        return Ok(own.clone());
    }
    let own = program(runs, editor, past.wasm(runs, editor.user()).await?).await?;
    candidate.own = Some((past.row.artifact.clone(), own.clone()));
    Ok(own)
}

async fn executed(
    (runs, callbacks, share, place): (&TestRuns, &Callbacks, Share, &Arc<Place>),
    program: &Program,
    past: &Past,
    answers: Answers,
) -> Result<Outcome, ServiceError> {
    let run = past.request(runs, callbacks, (program, share), answers).await?;
    let runtime = runs.modules.runtime().await?.clone();
    let prepared = runs.prepared((runtime, program.clone()), run, (share.tenant, place.clone()));
    Ok(prepared.run().await?.0)
}
