//! Executes tests, several at a time, each in a sandbox of its own. Nothing reaches outside: there is no server, and effects that
//! are not pinned end their run.

use crate::cli::failure::{Exit, Failure};
use crate::cli::run::user_cache_dir;
use crate::cli::serve;
use crate::config::installed;
use heddle_compiler::{Options, Severity};
use heddle_model::clock::{Clock, monotonic, since};
use heddle_model::error::Code;
use heddle_runtime::{
    Limits, NOT_PINNED, Outcome, Program, RunError, RunRequest, Runtime, RuntimeConfig, Secrets, Status, Tier,
};
use heddle_service::test_cases::{Case, Difference, Expectation, Verdict, compare};
use serde_json::value::to_raw_value;
use serde_json::{Map, Value};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// What a secret is that nothing was given for.
const PLACEHOLDER: &str = "a secret";
/// As in the results of tests that the server runs.
const INVALID_GRAPH: &str = "INVALID_GRAPH";

/// A pattern that is tested.
pub struct Subject {
    /// Its directory's name.
    pub name: String,
    /// Nodes, edges, settings.
    pub graph: Value,
    /// Definitions of node types by name.
    pub definitions: Value,
}

/// A test that is to be run.
pub struct Job {
    /// Which of the patterns.
    pub subject: usize,
    /// Its file's name, without the ending.
    pub file: String,
    /// What it runs with, and what is expected.
    pub case: Case,
}

/// What runs are given by flags.
pub struct Values {
    /// `$vars`.
    pub variables: Map<String, Value>,
    /// Those that have values of their own.
    pub secrets: Secrets,
    /// Where machine code is kept, if not where it is by default.
    pub cache_dir: Option<PathBuf>,
}

/// How a test has ended.
pub struct Ended {
    /// Whether it gave what was expected.
    pub verdict: Verdict,
    /// Where it gave something else.
    pub differences: Vec<Difference>,
    /// How many more there are.
    pub omitted: usize,
    /// Why there was nothing to compare.
    pub error: Option<RunError>,
    /// What to expect for this run to pass.
    pub actual: Option<Expectation>,
    /// Node, iteration and port of what was executed, if that was asked for.
    pub steps: Vec<Step>,
    /// How long it took, with compiling.
    pub took: Duration,
}

/// An execution of a node.
pub struct Step {
    /// The id; in a composite, after the composite's.
    pub node_id: String,
    /// Iterations of loops that it was in.
    pub path: String,
    /// The port that its output left by.
    pub port: Option<String>,
}

type Compiled = Arc<OnceLock<Result<Program, RunError>>>;

struct Bench<'a> {
    runtime: Runtime,
    subjects: &'a [Subject],
    values: &'a Values,
    is_traced: bool,
    /// Programs by pattern, pins and whether they are traced.
    programs: Mutex<HashMap<(usize, String, bool), Compiled>>,
}

/// Runs all of these on so many threads, in any order; how each has ended, in theirs.
pub fn run_all(
    subjects: &[Subject],
    jobs: &[Job],
    values: &Values,
    (threads, is_traced): (usize, bool),
) -> Result<Vec<Ended>, Failure> {
    let bench = Bench {
        runtime: runtime(values, threads)?,
        subjects,
        values,
        is_traced,
        programs: Mutex::default(),
    };
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let place = next.fetch_add(1, Ordering::Relaxed);
            let Some(job) = jobs.get(place) else {
                return Ok::<_, Failure>(done);
            };
            done.push((place, bench.one(job)?));
        }
    };
    let mut all = Vec::with_capacity(jobs.len());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(jobs.len())).map(|_| scope.spawn(work)).collect();
        for worker in workers {
            all.extend(
                worker
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
            );
        }
        Ok::<_, Failure>(())
    })?;
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, ended)| ended).collect())
}

fn runtime(values: &Values, threads: usize) -> Result<Runtime, Failure> {
    let config = RuntimeConfig {
        cache_dir: values.cache_dir.clone().or_else(user_cache_dir),
        precompiled_dir: installed::code_dir(),
        concurrent_runs_max: u32::try_from(threads).unwrap_or(u32::MAX),
        ..RuntimeConfig::default()
    };
    let runtime = match Runtime::new(config.clone()) {
        // The user named no directory, so heddle gets by without one.
        Err(heddle_runtime::RuntimeError::Cache { .. }) if values.cache_dir.is_none() => {
            Runtime::new(RuntimeConfig {
                cache_dir: None,
                ..config
            })
        }
        result => result,
    };
    runtime.map_err(|error| Failure::new(Exit::File, "FILE", error.to_string()))
}

impl Bench<'_> {
    fn one(&self, job: &Job) -> Result<Ended, Failure> {
        let began = monotonic();
        let outcome = match self.program(job) {
            Ok(program) => self.outcome(&program, &job.case)?,
            Err(error) => Err(error),
        };
        let mut ended = match outcome {
            Ok(outcome) => compared(&job.case, &outcome)?,
            Err(error) => Ended {
                verdict: Verdict::Errored,
                differences: Vec::new(),
                omitted: 0,
                error: Some(error),
                actual: None,
                steps: Vec::new(),
                took: Duration::ZERO,
            },
        };
        ended.took = since(began);
        Ok(ended)
    }

    /// The pattern with the case's pins, which other tests may have as well.
    fn program(&self, job: &Job) -> Result<Program, RunError> {
        let is_traced = self.is_traced || !job.case.expect.nodes.is_empty();
        let key = (
            job.subject,
            Value::from(job.case.pins.clone()).to_string(),
            is_traced,
        );
        let compiled = {
            let mut programs = self.programs.lock().unwrap_or_else(PoisonError::into_inner);
            programs.entry(key).or_default().clone()
        };
        let made = compiled.get_or_init(|| self.compiled(job, is_traced));
        made.clone()
    }

    fn compiled(&self, job: &Job, is_traced: bool) -> Result<Program, RunError> {
        let invalid = |message: String, node_id| RunError {
            message,
            code: INVALID_GRAPH.to_owned(),
            node_id,
        };
        let subject = self.subjects.get(job.subject);
        let subject = subject.ok_or_else(|| invalid("there is no such pattern".to_owned(), None))?;
        let options = Options {
            trace: is_traced,
            pinned_nodes: job.case.pins.clone(),
            ..Options::default()
        };
        let compiled = heddle_compiler::compile(&subject.graph, &subject.definitions, &options);
        let Some(artifact) = compiled.artifact else {
            let mut errors = compiled.diagnostics.into_iter();
            let first = errors.find(|found| found.severity == Severity::Error);
            let (message, node_id) =
                first.map_or_else(Default::default, |first| (first.message, first.node_id));
            return Err(invalid(message, node_id));
        };
        let loaded = self.runtime.load(&artifact.wasm, Tier::Fast);
        loaded.map_err(|error| invalid(error.to_string(), None))
    }

    /// What the run gave, or why there is nothing to compare.
    fn outcome(&self, program: &Program, case: &Case) -> Result<Result<Outcome, RunError>, Failure> {
        let manifest = program.manifest();
        if let Some(wanted) = &case.trigger_node_id
            && !manifest.triggers.iter().any(|trigger| trigger.node_id == *wanted)
        {
            return Ok(Err(RunError {
                message: format!("`{wanted}` is not a trigger of this pattern"),
                code: Code::Validation.name().to_owned(),
                node_id: Some(wanted.clone()),
            }));
        }
        let event = to_raw_value(&case.event)
            .map_err(|error| Failure::new(Exit::Invalid, "INVALID_FILE", error.to_string()))?;
        // Nothing of a secret is sent, so that any value does.
        let names = manifest.rights.secrets.iter();
        let mut secrets: Secrets = names
            .map(|name| (name.clone(), PLACEHOLDER.to_owned().into()))
            .collect();
        secrets.extend(self.values.secrets.clone());
        let request = RunRequest {
            run_id: "test".to_owned(),
            pattern_id: "test".to_owned(),
            started_at_ms: case.started_at.unwrap_or_else(|| Clock::System.now()).millis(),
            seed: case.seed.unwrap_or(1),
            trigger_node_id: case.trigger_node_id.clone(),
            variables: self.values.variables.clone(),
            secrets,
            is_contained: true,
            limits: Limits::default(),
            ..RunRequest::new(event)
        };
        let outcome = serve::wait(self.runtime.run(program, request))?;
        Ok(match (&outcome.error, outcome.status) {
            (Some(error), _) if error.code == NOT_PINNED => Err(error.clone()),
            (_, Status::Parked | Status::Paused) => Err(RunError {
                message: "The run waits longer than a test does: pin the node that waits".to_owned(),
                code: NOT_PINNED.to_owned(),
                node_id: outcome.trace.last().map(|entry| entry.node_id.clone()),
            }),
            _ => Ok(outcome),
        })
    }
}

fn compared(case: &Case, outcome: &Outcome) -> Result<Ended, Failure> {
    let found = compare(case, outcome)
        .map_err(|error| Failure::new(Exit::Invalid, "INVALID_FILE", error.to_string()))?;
    let steps = outcome.trace.iter().map(|entry| Step {
        node_id: entry.node_id.clone(),
        path: entry.path.clone(),
        port: entry.port.clone(),
    });
    Ok(Ended {
        verdict: found.verdict,
        differences: found.differences,
        omitted: found.omitted,
        error: None,
        actual: Some(found.actual),
        steps: steps.collect(),
        took: Duration::ZERO,
    })
}
