//! Previews: expressions evaluated as if they stood in a node of a graph, on outputs that are given. Nothing of the graph
//! itself executes, so that nothing happens outside.

mod scene;

pub use scene::PreviewRequest;

use crate::compile::validation::{Diagnostic, DiagnosticSeverity, Evaluation, TextSpan};
use crate::compile::{Asker, LoadFailure, Validation};
use crate::queue::Share;
use crate::test_run::TestRuns;
use heddle_compiler::Options;
use heddle_contract::abi::code;
use heddle_model::access::Editor;
use heddle_model::error::ServiceError;
use heddle_model::ids::EnvironmentId;
use heddle_model::tenant::Tenant;
use heddle_runtime::{Ceilings, Limits, Outcome, Program, RunRequest, Tier};
use scene::Scene;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::HashSet;
use std::time::Duration;

/// Fuel of all expressions together.
const FUEL_MAX: u64 = 10_000_000;
const TIME_MAX: Duration = Duration::from_millis(200);
/// Bytes of what they give.
const OUTPUT_BYTES_MAX: usize = 1 << 20;

/// What an expression gives.
#[derive(Debug)]
pub struct Preview {
    /// Path of its parameter.
    pub path: String,
    /// How it is evaluated; `None`: it is not a valid expression, or contains none.
    pub evaluation: Option<Evaluation>,
    /// Its value, an excerpt when it is large, or why it has none.
    pub result: Evaluated,
}

/// Why an expression has no value.
#[derive(Clone, Debug)]
pub struct PreviewError {
    /// Rule of the compiler, or code of the run's error.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do.
    pub help: Option<String>,
    /// The piece that is meant, if it is known.
    pub span: Option<TextSpan>,
}

/// Evaluates expressions, in one turn at the compilers and one place among the executing.
pub(crate) async fn preview(
    tests: &TestRuns,
    editor: &Editor,
    request: PreviewRequest,
) -> Result<Vec<Preview>, ServiceError> {
    let environment = match request.environment {
        Some(environment) => Some(tests.environment(editor, environment).await?),
        None => tests.default_environment(editor).await?,
    };
    let scene = Scene::new(request)?;
    let mut session = tests.modules.session(Asker::Request(editor.user())).await?;
    let all: HashSet<usize> = (0..scene.expressions.len()).collect();
    let sources = scene.sources(&all)?;
    let checked = tests.modules.validate(&mut session, sources, false).await?;
    let mut results = Results::checked(&scene, &checked);
    let valid: HashSet<usize> = all.difference(&results.wrong()).copied().collect();
    if valid.is_empty() {
        return Ok(results.into_previews(&scene));
    }
    let options = Options {
        trace: true,
        ..Options::default()
    };
    let compiled = tests
        .modules
        .compile(&mut session, scene.sources(&valid)?, options)
        .await?;
    let Some(artifact) = compiled.artifact else {
        let first = compiled.diagnostics.iter().find(|found| is_error(found));
        results.fail_rest(first.map(error_of));
        return Ok(results.into_previews(&scene));
    };
    let plan = tests.modules.plan(artifact.wasm, Tier::Fast, editor.user()).await;
    let runtime = tests.modules.runtime().await?;
    let loaded = match plan {
        Ok(plan) => session.load(runtime, plan.for_once()).await,
        Err(failure) => Err(failure),
    };
    drop(session);
    match loaded {
        Ok(program) => results.ran(&run(tests, editor, environment, (&program, &scene)).await?),
        Err(LoadFailure::Program(error)) => results.fail_rest(Some(PreviewError {
            code: code::INTERNAL.to_owned(),
            message: error.to_string(),
            help: None,
            span: None,
        })),
        Err(LoadFailure::Other(error)) => return Err(error),
    }
    Ok(results.into_previews(&scene))
}

async fn run(
    tests: &TestRuns,
    editor: &Editor,
    environment: Option<EnvironmentId>,
    (program, scene): (&Program, &Scene),
) -> Result<Outcome, ServiceError> {
    let values = tests.environments.values(environment).await?;
    let share = Share {
        owner: tests.owner(editor).await?,
        tenant: Tenant::of(editor.user(), editor.workspace()),
    };
    let limits = tests.limits_of(share.tenant).await?;
    let _place = tests.place(share, tests.timeout).await?;
    let request = RunRequest {
        run_id: heddle_model::entropy::new_uuid().to_string(),
        pattern_id: "preview".to_owned(),
        started_at_ms: tests.clock.now().millis(),
        seed: heddle_model::entropy::random(),
        trigger_node_id: Some(scene.trigger.clone()),
        variables: values.variables.clone(),
        secrets: values.secrets.clone(),
        limits: Limits {
            fuel_max: FUEL_MAX,
            deadline: TIME_MAX,
            // Of the trace, in which the values are.
            output_bytes_max: OUTPUT_BYTES_MAX,
            effects_max: 0,
            // No setting of the graph gives it more to compute, or effects.
            ceilings: Ceilings {
                fuel: FUEL_MAX,
                effects: 0,
                ..limits.ceilings
            },
            ..limits
        },
        owner: Some(share.owner.as_u128()),
        tenant: Some(share.tenant.as_u128()),
        ..RunRequest::new(scene.event.clone())
    };
    Ok(tests.modules.runtime().await?.run(program, request).await)
}

/// An expression's value, or why it has none.
pub type Evaluated = Result<Box<RawValue>, PreviewError>;

/// What is known of each expression so far.
struct Results {
    known: Vec<(Option<Evaluation>, Option<Evaluated>)>,
}

impl Results {
    /// By what the compiler has found.
    fn checked(scene: &Scene, checked: &Validation) -> Results {
        let mut known: Vec<_> = scene.expressions.iter().map(|_| (None, None)).collect();
        for expression in &checked.expressions {
            let number = expression.node_id.as_deref().and_then(scene::number);
            let Some((evaluation, _)) = number.and_then(|number| known.get_mut(number)) else {
                continue;
            };
            // One that the engine evaluates makes all of a text slow.
            if *evaluation != Some(Evaluation::Engine) {
                *evaluation = Some(expression.evaluation);
            }
        }
        let mut of_all = None;
        for found in checked.diagnostics.iter().filter(|found| is_error(found)) {
            let number = found.node_id.as_deref().and_then(scene::number);
            match number.and_then(|number| known.get_mut(number)) {
                Some((_, result @ None)) => *result = Some(Err(error_of(found))),
                Some(_) => {}
                None => of_all = of_all.or_else(|| Some(error_of(found))),
            }
        }
        let mut results = Results { known };
        if of_all.is_some() {
            results.fail_rest(of_all);
        }
        results
    }

    /// Those that have an error.
    fn wrong(&self) -> HashSet<usize> {
        let known = self.known.iter().enumerate();
        known
            .filter(|(_, (_, result))| result.is_some())
            .map(|(number, _)| number)
            .collect()
    }

    /// Fails those of which nothing is known.
    fn fail_rest(&mut self, error: Option<PreviewError>) {
        let error = error.unwrap_or_else(|| PreviewError {
            code: code::INTERNAL.to_owned(),
            message: "It could not be evaluated.".to_owned(),
            help: None,
            span: None,
        });
        for (_, result) in &mut self.known {
            result.get_or_insert_with(|| Err(error.clone()));
        }
    }

    /// Takes the values out of a run's trace.
    fn ran(&mut self, outcome: &Outcome) {
        for entry in &outcome.trace {
            let number = scene::number(&entry.node_id);
            let Some((_, result @ None)) = number.and_then(|number| self.known.get_mut(number)) else {
                continue;
            };
            if let Some(output) = &entry.output {
                *result = Some(Ok(output.clone()));
            } else if let Some(error) = &entry.error {
                *result = Some(Err(run_error(error)));
            }
        }
        self.fail_rest(outcome.error.as_ref().map(|error| PreviewError {
            code: error.code.clone(),
            message: error.message.clone(),
            help: None,
            span: None,
        }));
    }

    fn into_previews(self, scene: &Scene) -> Vec<Preview> {
        let known = scene.expressions.iter().zip(self.known);
        known
            .filter_map(|((path, _), (evaluation, result))| {
                let named = |error: PreviewError| PreviewError {
                    message: error
                        .message
                        .replace("(parameter `value`", &format!("(parameter `{path}`")),
                    ..error
                };
                Some(Preview {
                    path: path.clone(),
                    evaluation,
                    result: result?.map_err(named),
                })
            })
            .collect()
    }
}

fn is_error(found: &Diagnostic) -> bool {
    found.severity == DiagnosticSeverity::Error
}

fn error_of(found: &Diagnostic) -> PreviewError {
    PreviewError {
        code: found.code.clone(),
        message: found.message.clone(),
        help: found.help.clone(),
        span: found.span,
    }
}

fn run_error(error: &RawValue) -> PreviewError {
    #[derive(Deserialize)]
    struct Failure {
        code: String,
        message: String,
    }
    let failure: Option<Failure> = serde_json::from_str(error.get()).ok();
    let (code, message) = failure.map_or_else(
        || (code::INTERNAL.to_owned(), error.get().to_owned()),
        |failure| (failure.code, failure.message),
    );
    PreviewError {
        code,
        message,
        help: None,
        span: None,
    }
}
