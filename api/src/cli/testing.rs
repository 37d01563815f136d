//! `heddle test`: runs the tests that stand beside patterns, here and without a server, and says where they give something else.

mod coverage;
mod junit;
mod running;

use super::case;
use super::failure::{Exit, Failure};
use super::given::{self, Variables};
use super::output;
use super::remote::{self, MadeFrom};
use super::report::printable;
use super::watching::times;
use clap::Args;
use coverage::Coverage;
use heddle_remote::directory::Directory;
use heddle_remote::server::plain;
use heddle_service::test_cases::{DifferenceKind, Expectation, Verdict};
use running::{Ended, Job, Subject, Values};
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// How often `--watch` looks at the files.
const LOOK: Duration = Duration::from_millis(500);
/// Characters of a value that are shown.
const SHOWN_MAX: usize = 200;

/// Flags of `heddle test`.
#[derive(Args, Debug)]
pub struct TestArgs {
    /// Patterns, by their directories' names; default: all.
    patterns: Vec<String>,
    /// Make a test from this run on the server, which has ended, instead of running tests.
    #[arg(long, value_name = "RUN", conflicts_with_all = ["from_tap", "patterns"])]
    from_run: Option<String>,
    /// Make a test from an event that the pattern's webhooks have received (1 is the newest), instead of running tests.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    from_tap: Option<u16>,
    /// Name of the new test.
    #[arg(long)]
    name: Option<String>,
    /// Update tests that fail, or expect nothing yet, to expect their actual result.
    #[arg(long)]
    update: bool,
    /// Run again whenever a file has changed.
    #[arg(long)]
    watch: bool,
    /// Report the nodes and ports that no test has reached.
    #[arg(long)]
    coverage: bool,
    /// Write the results to this file as JUnit's XML.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// How many tests run at a time. Default: as many as there are processors.
    #[arg(short, long, value_parser = clap::value_parser!(u16).range(1..=256))]
    jobs: Option<u16>,
    #[command(flatten)]
    variables: Variables,
    /// Secrets as a JSON object of strings, for tests whose results depend on them. Default: any secret has a value.
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Directory for machine code. Default: heddle in the user's cache directory.
    #[arg(long, value_name = "DIR", env = "HEDDLE_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// Print one JSON object: {passed, failed, errored, results, coverage?}.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn test(args: &TestArgs) -> Result<ExitCode, Failure> {
    let name = args.name.as_deref();
    if let Some(run) = &args.from_run {
        return remote::make_test(&MadeFrom::Run(run), name);
    }
    if let Some(number) = args.from_tap {
        let [pattern] = args.patterns.as_slice() else {
            return Err(Failure::usage("name the one pattern that the event belongs to"));
        };
        return remote::make_test(&MadeFrom::Event(pattern, usize::from(number)), name);
    }
    if name.is_some() {
        return Err(Failure::usage("--name is for --from-run and --from-tap"));
    }
    let here =
        std::env::current_dir().map_err(|error| Failure::new(Exit::File, "FILE", error.to_string()))?;
    loop {
        let directory = Directory::find(&here)?;
        let patterns = [directory.root().join("patterns")];
        let before = times(&patterns);
        let tested = once(args, &directory);
        if !args.watch {
            return tested;
        }
        match tested {
            // What is wrong now may be right once it is saved again.
            Err(Failure::Reported(reported)) => output::note(&reported.report),
            Err(Failure::Closed) => return Err(Failure::Closed),
            Ok(_) => {}
        }
        while times(&patterns) == before {
            std::thread::sleep(LOOK);
        }
    }
}

/// Runs the tests once.
fn once(args: &TestArgs, directory: &Directory) -> Result<ExitCode, Failure> {
    let values = values(args)?;
    let (subjects, jobs) = read(directory, &args.patterns)?;
    if jobs.is_empty() {
        output::note("there are no tests: each is a file in `patterns/NAME/tests/`");
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = args.jobs.map_or(threads, usize::from);
    let ended = running::run_all(&subjects, &jobs, &values, (threads, args.coverage))?;
    if args.update {
        update(directory, &subjects, &jobs, &ended)?;
    }
    let covered = args.coverage.then(|| Coverage::of_all(&subjects, &jobs, &ended));
    if let Some(path) = &args.junit {
        fs::write(path, junit::report(&subjects, &jobs, &ended)).map_err(|error| {
            Failure::new(
                Exit::File,
                "FILE",
                format!("cannot write {}: {error}", path.display()),
            )
        })?;
    }
    let count = |verdict: Verdict| ended.iter().filter(|ended| ended.verdict == verdict).count();
    let [passed, failed, errored] = [Verdict::Passed, Verdict::Failed, Verdict::Errored].map(count);
    if args.json {
        let results = jobs
            .iter()
            .zip(&ended)
            .map(|(job, ended)| machine(&subjects, job, ended));
        let mut all = json!({
            "passed": passed, "failed": failed, "errored": errored, "results": results.collect::<Vec<_>>(),
        });
        if let Some(covered) = &covered {
            all["coverage"] = covered.iter().map(Coverage::machine).collect();
        }
        output::result(&all.to_string())?;
    } else {
        print(&subjects, &jobs, &ended)?;
        covered
            .iter()
            .flatten()
            .try_for_each(|of| output::result(&of.summary()))?;
        output::result(&format!(
            "{passed} passed, {failed} failed, {errored} could not be compared"
        ))?;
    }
    Ok(match passed == ended.len() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Exit::Failed as u8),
    })
}

fn values(args: &TestArgs) -> Result<Values, Failure> {
    Ok(Values {
        variables: args.variables.read()?,
        secrets: given::secrets(args.secrets.as_deref())?,
        cache_dir: args.cache_dir.clone(),
    })
}

/// The patterns and their tests: those that are named, or all.
fn read(directory: &Directory, names: &[String]) -> Result<(Vec<Subject>, Vec<Job>), Failure> {
    let all = directory.names()?;
    let names: Vec<&str> = names.iter().map(|name| remote::pattern_name(name)).collect();
    if let Some(missing) = names.iter().find(|name| !all.iter().any(|it| it == *name)) {
        return Err(Failure::usage(format!(
            "there is no pattern `{missing}` in this directory"
        )));
    }
    let (mut subjects, mut jobs) = (Vec::new(), Vec::new());
    for name in all
        .iter()
        .filter(|name| names.is_empty() || names.contains(&name.as_str()))
    {
        let document = directory.read(name)?;
        for file in directory.tests(name)? {
            let Some(case) = directory.read_test(name, &file)? else {
                continue;
            };
            let path = directory.test_path(name, &file);
            let case = case::checked(case).map_err(|why| {
                Failure::new(
                    Exit::Invalid,
                    "INVALID_FILE",
                    format!("{}: {why}", path.display()),
                )
            })?;
            jobs.push(Job {
                subject: subjects.len(),
                file,
                case,
            });
        }
        subjects.push(Subject {
            name: name.clone(),
            graph: document.graph.into(),
            definitions: document.definitions.into(),
        });
    }
    Ok((subjects, jobs))
}

/// Puts what runs gave in the place of what was expected.
fn update(directory: &Directory, subjects: &[Subject], jobs: &[Job], ended: &[Ended]) -> Result<(), Failure> {
    for (job, ended) in jobs.iter().zip(ended) {
        let is_open = ended.verdict == Verdict::Passed && job.case.expect == Expectation::default();
        let (Some(actual), Some(subject)) = (&ended.actual, subjects.get(job.subject)) else {
            continue;
        };
        if ended.verdict == Verdict::Failed || is_open {
            let mut case = job.case.clone();
            case.expect = actual.clone();
            let case = serde_json::to_value(&case)
                .map_err(|error| Failure::new(Exit::Invalid, "INVALID_FILE", error.to_string()))?;
            directory.write_test(&subject.name, &job.file, &heddle_remote::test_files::tidy(case))?;
            output::note(&format!("{}/tests/{}.json: updated", subject.name, job.file));
        }
    }
    Ok(())
}

fn print(subjects: &[Subject], jobs: &[Job], ended: &[Ended]) -> Result<(), Failure> {
    let mut subject = None;
    for (job, ended) in jobs.iter().zip(ended) {
        if subject != Some(job.subject) {
            subject = Some(job.subject);
            output::result(
                subjects
                    .get(job.subject)
                    .map_or("", |subject| subject.name.as_str()),
            )?;
        }
        let word = match ended.verdict {
            Verdict::Passed => "passed ",
            Verdict::Failed => "FAILED ",
            Verdict::Errored => "ERRORED",
        };
        output::result(&format!(
            "  {word}  {} ({}.json)",
            plain(&job.case.name),
            job.file
        ))?;
        for line in problems(ended) {
            output::result(&format!("    {line}"))?;
        }
    }
    Ok(())
}

/// Why a test has not passed, a line for each place.
fn problems(ended: &Ended) -> Vec<String> {
    let shown = |value: &Option<Value>| {
        // JSON escapes but the first 32 of the characters that control a terminal.
        let text = value
            .as_ref()
            .map_or_else(String::new, |value| plain(&value.to_string()));
        match text.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
            None => text,
        }
    };
    let mut lines = Vec::new();
    if let Some(error) = &ended.error {
        let node = error.node_id.as_ref().map(|id| format!("node {}: ", plain(id)));
        let node = node.unwrap_or_default();
        lines.push(printable(&format!("{}: {node}{}", error.code, error.message)));
    }
    for difference in &ended.differences {
        let path = plain(&difference.path);
        let (expected, actual) = (shown(&difference.expected), shown(&difference.actual));
        lines.push(match difference.kind {
            DifferenceKind::Changed => format!("{path}: expected {expected}, but it is {actual}"),
            DifferenceKind::Missing => format!("{path}: expected {expected}, but there is nothing"),
            DifferenceKind::Unexpected => format!("{path}: expected nothing, but there is {actual}"),
        });
    }
    if ended.omitted > 0 {
        lines.push(format!("and {} more differences", ended.omitted));
    }
    lines
}

fn machine(subjects: &[Subject], job: &Job, ended: &Ended) -> Value {
    let error = ended
        .error
        .as_ref()
        .map(|error| json!({"code": error.code, "message": error.message, "nodeId": error.node_id}));
    json!({
        "pattern": subjects.get(job.subject).map(|subject| &subject.name),
        "file": job.file,
        "name": job.case.name,
        "status": ended.verdict,
        "durationMs": u64::try_from(ended.took.as_millis()).unwrap_or(u64::MAX),
        "differences": ended.differences,
        "differencesOmitted": ended.omitted,
        "error": error,
    })
}
