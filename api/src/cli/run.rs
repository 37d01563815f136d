//! `heddle run`: runs a pattern or a module once, with all limits, and prints the outcome.

use super::compile::{self, Instrumentation};
use super::connections::FileConnections;
use super::failure::{Exit, Failure};
use super::given::{self, Variables};
use super::input::{self, DATA_BYTES_MAX};
use super::outcome;
use super::output;
use super::pattern::Input;
use super::progress::Progress;
use super::report::Report;
use super::values;
use crate::config::installed;
use clap::Args;
use heddle_catalogue::Start;
use heddle_contract::manifest::{FUEL_PER_COMPUTE_SECOND, Trigger};
use heddle_execution::scheduler::schedule_event;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::entropy;
use heddle_runtime::{
    Ceilings, EgressPolicy, Limits, Outcome, Program, RunRequest, Runtime, RuntimeConfig, Services,
    SqliteFiles, Status, Tier,
};
use serde_json::value::RawValue;
use std::env;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

/// Fuel that a pattern's settings can ask for: a day's.
const FUEL_CEILING: u64 = 86_400 * FUEL_PER_COMPUTE_SECOND;
/// Memory of a run, at most: all that 32 bits can address.
const MEMORY_BYTES_CEILING: usize = 4 << 30;

/// Flags of `heddle run`.
#[derive(Args, Debug)]
pub struct RunArgs {
    /// Pattern as JSON (a graph, or an export) or a compiled module; - reads standard input.
    file: PathBuf,
    /// Event that starts the run, as JSON; - reads standard input. Default: null; for a schedule, the event of one that is due now.
    #[arg(short, long, value_name = "FILE")]
    event: Option<PathBuf>,
    /// Node to start at. Default: OnManual, or else the first trigger.
    #[arg(long, value_name = "NODE")]
    trigger: Option<String>,
    #[command(flatten)]
    instrumentation: Instrumentation,
    #[command(flatten)]
    variables: Variables,
    /// Secrets, `$secrets.NAME`, as a JSON object of strings.
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// Connections for nodes, as a JSON object by name: {"orders": {"host": "db.example.com", "password": "…"}}.
    #[arg(long, value_name = "FILE")]
    connections: Option<PathBuf>,
    /// Custom node types, as a JSON object of definitions by type name.
    #[arg(long, value_name = "FILE")]
    definitions: Option<PathBuf>,
    /// Fuel limit, roughly instructions: 500k, 10M, 2G. Default: 10G, or the `computeSeconds` of the pattern, of 5G each; if they are
    /// fewer than this limit, they take precedence.
    #[arg(long, value_name = "N", value_parser = values::count, help_heading = "Limits")]
    fuel: Option<u64>,
    /// Memory limit: 64MiB, 1MB. Default: 64MiB, or the `memoryMb` of the pattern; if that is less than this limit, it takes
    /// precedence.
    #[arg(long, value_name = "SIZE", value_parser = values::size, help_heading = "Limits")]
    memory: Option<usize>,
    /// Wall-clock time limit: 500ms, 30s. Default: 300s; a shorter `timeoutMs` of the pattern takes precedence.
    #[arg(long, value_name = "DURATION", value_parser = values::duration, help_heading = "Limits")]
    timeout: Option<Duration>,
    /// Network or host:port that HttpRequest may reach although it isn't public; can be given several times.
    #[arg(
        long,
        value_name = "CIDR|HOST:PORT",
        env = "HEDDLE_EGRESS_ALLOW",
        value_delimiter = ',',
        help_heading = "Limits"
    )]
    egress_allow: Vec<String>,
    /// Seed for random numbers and ids, to make a run reproducible.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Compile quickly rather than for speed.
    #[arg(long)]
    fast: bool,
    /// Directory for machine code. Default: heddle in the user's cache directory.
    #[arg(long, value_name = "DIR", env = "HEDDLE_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
    /// Print one JSON object: {status, output, error, response, logs, trace?, breakpoint?, pinnedNodes?, usage}.
    #[arg(long)]
    pub json: bool,
}

/// Runs the command.
pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    if input::is_stdin(&args.file) && args.event.as_deref().is_some_and(input::is_stdin) {
        return Err(Failure::usage(
            "only one of the pattern and the event can be read from standard input",
        ));
    }
    let egress = EgressPolicy::parse(args.egress_allow.iter().map(String::as_str))
        .map_err(|error| Failure::usage(format!("--egress-allow: {error}")))?;
    let (name, wasm) = module(args)?;
    let mut request = request(args)?;
    let (runtime, program) = {
        let _progress = Progress::start("compiling");
        let runtime = start(args, egress)?;
        let tier = if args.fast { Tier::Fast } else { Tier::Optimized };
        let program = runtime
            .load(&wasm, tier)
            .map_err(|error| invalid_module(&name, &error))?;
        (runtime, program)
    };
    choose_trigger(args, &program, &mut request)?;
    let outcome = execute(&runtime, &program, request)?;
    print(args, &name, &program, &outcome)?;
    Ok(match outcome.status {
        Status::Completed | Status::Paused | Status::Parked => ExitCode::SUCCESS,
        Status::Failed => ExitCode::from(Exit::Failed as u8),
    })
}

/// The module to run, compiled if need be, and the name of its file.
fn module(args: &RunArgs) -> Result<(String, Vec<u8>), Failure> {
    match Input::read(&args.file, args.definitions.as_deref())? {
        Input::Pattern(pattern) => {
            let artifact = compile::artifact(&pattern, &args.instrumentation)?;
            Ok((pattern.source.name, artifact.wasm))
        }
        Input::Module { name, bytes } => match args.instrumentation.first_flag() {
            // A module compiled with --trace has its trace printed anyway.
            Some(flag) => Err(Failure::usage(format!(
                "{flag} is fixed at compile time: pass it to `heddle compile`, or run the pattern instead of \
                 its module"
            ))),
            None => Ok((name, bytes)),
        },
    }
}

fn request(args: &RunArgs) -> Result<RunRequest, Failure> {
    let event = match &args.event {
        Some(path) => input::read_json::<Box<RawValue>>(path, "the event", DATA_BYTES_MAX)?,
        None => RawValue::NULL.to_owned(),
    };
    let connections = match &args.connections {
        Some(path) => FileConnections::read(path)?,
        None => FileConnections::default(),
    };
    let default = Limits::default();
    let limits = Limits {
        fuel_max: args.fuel.unwrap_or(default.fuel_max),
        memory_bytes_max: args.memory.unwrap_or(default.memory_bytes_max),
        deadline: args.timeout.unwrap_or(default.deadline),
        ceilings: Ceilings {
            fuel: args.fuel.unwrap_or(FUEL_CEILING),
            memory_bytes: args.memory.unwrap_or(MEMORY_BYTES_CEILING),
            ..default.ceilings
        },
        ..default
    };
    let started_at_ms = Clock::System.now().millis();
    let seed = args.seed.unwrap_or_else(entropy::random);
    Ok(RunRequest {
        run_id: format!("{started_at_ms:012x}-{seed:016x}"),
        pattern_id: args.file.display().to_string(),
        attempt: 1,
        triggered_by: "manual".to_owned(),
        started_at_ms,
        seed,
        trigger_node_id: args.trigger.clone(),
        event,
        variables: args.variables.read()?,
        secrets: given::secrets(args.secrets.as_deref())?,
        journal: None,
        calls: None,
        callbacks: None,
        services: Services {
            connections: Arc::new(connections),
            ..Services::default()
        },
        watcher: None,
        on_wait: None,
        replay: None,
        is_contained: false,
        withholds_secrets: false,
        owner: None,
        tenant: None,
        limits,
    })
}

fn start(args: &RunArgs, egress: EgressPolicy) -> Result<Runtime, Failure> {
    let default = RuntimeConfig::default();
    let config = RuntimeConfig {
        cache_dir: args.cache_dir.clone().or_else(user_cache_dir),
        precompiled_dir: installed::code_dir(),
        egress,
        sqlite_files: SqliteFiles::Anywhere,
        concurrent_runs_max: 1,
        memory_bytes_max: MEMORY_BYTES_CEILING,
        ..default
    };
    let failed = |error: &dyn std::error::Error| Failure::new(Exit::File, "FILE", error.to_string());
    match Runtime::new(config.clone()) {
        // The user named no directory, so heddle gets by without one.
        Err(heddle_runtime::RuntimeError::Cache { .. }) if args.cache_dir.is_none() => {
            Runtime::new(RuntimeConfig {
                cache_dir: None,
                ..config
            })
            .map_err(|error| failed(&error))
        }
        result => result.map_err(|error| failed(&error)),
    }
}

/// `$XDG_CACHE_HOME/heddle`, or `~/.cache/heddle`.
pub fn user_cache_dir() -> Option<PathBuf> {
    let absolute = |name| {
        env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    };
    absolute("XDG_CACHE_HOME")
        .or_else(|| Some(absolute("HOME")?.join(".cache")))
        .map(|dir| dir.join("heddle"))
}

fn invalid_module(name: &str, error: &heddle_runtime::ProgramError) -> Failure {
    let message = format!("can't run this module: {error}");
    let report = Report::error(&message).in_file(name).to_string();
    Failure::with_report(
        Exit::Invalid,
        "INVALID_MODULE",
        format!("{name}: {message}"),
        report,
    )
}

/// Refuses a trigger that isn't there before the run begins.
fn choose_trigger(args: &RunArgs, program: &Program, request: &mut RunRequest) -> Result<(), Failure> {
    let triggers = &program.manifest().triggers;
    let Some(wanted) = &args.trigger else {
        let is_manual = |trigger: &&Trigger| Start::of_type(&trigger.node_type) == Some(Start::Manual);
        let first = triggers.iter().find(is_manual).or(triggers.first());
        return match first {
            Some(first) => give_event(args, first, request),
            None => Ok(()),
        };
    };
    let Some(trigger) = triggers.iter().find(|trigger| &trigger.node_id == wanted) else {
        let names: Vec<_> = triggers
            .iter()
            .map(|it| format!("`{}` ({})", it.node_id, it.node_type))
            .collect();
        let message = format!("the pattern has no trigger with the id `{wanted}`");
        let help = format!("the pattern's triggers: {}", names.join(", "));
        let report = Report::error(&message).help(&help).to_string();
        return Err(Failure::with_report(Exit::Usage, "USAGE", message, report));
    };
    request.triggered_by = match Start::of_type(&trigger.node_type) {
        Some(Start::Webhook | Start::Form | Start::Chat) => "webhook",
        Some(Start::Schedule | Start::Poll) => "schedule",
        Some(Start::Mailbox) => "email",
        _ => "manual",
    }
    .to_owned();
    give_event(args, trigger, request)
}

/// Without an event a schedule's run has that of a schedule which is due now.
fn give_event(args: &RunArgs, trigger: &Trigger, request: &mut RunRequest) -> Result<(), Failure> {
    if args.event.is_none() && Start::of_type(&trigger.node_type) == Some(Start::Schedule) {
        let now = Timestamp::from_millis(request.started_at_ms);
        request.event = schedule_event(now, now)
            .map_err(|error| Failure::new(Exit::File, "FILE", format!("can't write the event: {error}")))?;
    }
    Ok(())
}

fn execute(runtime: &Runtime, program: &Program, request: RunRequest) -> Result<Outcome, Failure> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::File, "FILE", format!("can't start a thread: {error}")))?;
    let _progress = Progress::start("running");
    Ok(executor.block_on(runtime.run(program, request)))
}

fn print(args: &RunArgs, name: &str, program: &Program, outcome: &Outcome) -> Result<(), Failure> {
    let manifest = program.manifest();
    output::note_if_any(&outcome::notes(outcome, name, &manifest.nodes, manifest.trace));
    if args.json {
        return output::result(&outcome::machine(outcome, manifest.trace));
    }
    outcome::result(outcome).map_or(Ok(()), |text| output::result(&text))
}
