//! The command line: the commands, and how their failures are reported to people, programs and shells.

mod backup;
mod case;
mod compile;
mod connections;
mod data_dir;
mod dev;
mod diagnostics;
mod failure;
mod given;
mod healthcheck;
mod import;
mod indent;
mod input;
mod keys;
mod location;
mod manual;
mod nodes;
mod outcome;
mod output;
mod pack;
mod pattern;
mod precompile;
mod process;
mod progress;
mod reference;
mod remote;
mod report;
mod restore;
mod run;
mod schema;
mod serve;
mod settings;
mod starts;
mod tenants;
mod testing;
mod trace;
mod user;
mod validate;
mod values;
mod watching;
mod worker;

use clap::{CommandFactory, Parser, Subcommand};
use failure::Failure;
use serde_json::json;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Exit codes:
  0  done; for `run`: completed, or paused at a breakpoint
  1  the run failed or hit a limit, or the command refused
  2  the command line is wrong
  3  the input is not a valid pattern, module or JSON document
  4  a file or the database could not be read or written
  5  the database or the backup is damaged, or belongs to another program or a newer heddle

Results go to standard output, everything else to standard error. Colours appear only on a terminal
(NO_COLOR and CLICOLOR_FORCE are respected).";

/// Patterns drawn as graphs, compiled to WebAssembly, each run in a sandbox of its own.
#[derive(Debug, Parser)]
#[command(name = "heddle", version, propagate_version = true, after_help = AFTER_HELP, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the API: accounts, patterns, deployments, webhooks and their runs.
    Serve(Box<serve::ServeArgs>),
    /// Run a pattern or a compiled module once and print its output.
    Run(Box<run::RunArgs>),
    /// Compile a pattern to a WebAssembly module.
    Compile(compile::CompileArgs),
    /// Check patterns and report every error and warning in them.
    Validate(validate::ValidateArgs),
    /// Print a pattern with the code and components beside it as one JSON text, as the API takes it.
    Pack(pack::PackArgs),
    /// Convert another system's workflows to patterns.
    Import(import::ImportArgs),
    /// Store an API key for a server's workspace; it is read from standard input.
    Login(remote::LoginArgs),
    /// Forget the keys for a server.
    Logout(remote::LogoutArgs),
    /// Make a directory a workspace: its patterns are files, which `pull` and `push` keep in step with a server.
    Init(remote::InitArgs),
    /// Say which patterns have changed here or on the server.
    Status(remote::StatusArgs),
    /// Print what has changed, node by node.
    Diff(remote::DiffArgs),
    /// Fetch the server's changes, merged with what has changed here.
    Pull(remote::PullArgs),
    /// Send the changes made here to the server, as new versions.
    Push(remote::PushArgs),
    /// Deploy a pattern of this directory to an environment.
    Deploy(remote::DeployArgs),
    /// Deploy to one environment what is deployed to another.
    Promote(remote::PromoteArgs),
    /// List what is deployed to which environment, since when and by whom.
    Deployments(remote::DeploymentsArgs),
    /// Try a version with recorded events of what is deployed, and print what it does differently; nothing is sent.
    Replay(remote::ReplayArgs),
    /// List runs of this directory's workspace.
    Runs(remote::RunsArgs),
    /// Print what the newest runs of this directory's workspace have logged, or follow what happens there.
    Logs(remote::LogsArgs),
    /// Print the newest events that a pattern's webhooks have received, or send them on as they come.
    Tap(remote::TapArgs),
    /// Print where the console shows a pattern or the workspace.
    Open(remote::OpenArgs),
    /// Serve this directory's patterns here, with throw-away data: deploy on save, and print what runs do.
    Dev(Box<dev::DevArgs>),
    /// Run the tests beside this directory's patterns, here, without anything reaching outside.
    Test(Box<testing::TestArgs>),
    /// List the node types, or describe one.
    Nodes(nodes::NodesArgs),
    /// Print the JSON Schema of files with patterns, by which editors check and complete them.
    Schema,
    /// Print the API's description as OpenAPI 3.1, as a server gives it at /api/openapi.json.
    Openapi,
    /// Register, promote and list users, on the server's own machine.
    User(user::UserArgs),
    /// List, create, suspend, limit and delete workspaces, through the operator's API of a running server.
    Tenants(tenants::TenantsArgs),
    /// Replace the key that encrypts all credentials, while servers run.
    Keys(keys::KeysArgs),
    /// Copy the embedded database to a file, while a server runs.
    Backup(backup::BackupArgs),
    /// Replace the embedded database with a backup.
    Restore(restore::RestoreArgs),
    /// Compile heddle's own WebAssembly modules for this machine's processor, so that the first start need not: when heddle is installed.
    Precompile(precompile::PrecompileArgs),
    /// Print the settings in effect, with secrets masked.
    Config(settings::SettingsArgs),
    /// Check that a server could start, and say how to fix any problem.
    Doctor(settings::SettingsArgs),
    /// Ask the server on this machine whether it is healthy: for containers' health checks.
    Healthcheck(healthcheck::HealthcheckArgs),
    /// Print a completion script for a shell.
    Completions {
        /// Shell to complete for.
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands to a directory.
    Man(manual::ManArgs),
    /// Work for the service, confined.
    #[command(hide = true)]
    Worker(worker::WorkerArgs),
}

/// Runs the command that the process's arguments name.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let (result, json) = match &cli.command {
        Command::Serve(args) => (serve::serve(args), false),
        Command::Run(args) => (run::run(args), args.json),
        Command::Compile(args) => (compile::compile(args), false),
        Command::Validate(args) => (validate::validate(args), args.json),
        Command::Pack(args) => (pack::pack(args), false),
        Command::Import(args) => (import::import_from(args), args.json()),
        Command::Login(args) => (remote::login(args), false),
        Command::Logout(args) => (remote::logout(args), false),
        Command::Init(args) => (remote::init(args), false),
        Command::Status(args) => (remote::status(args), args.json),
        Command::Diff(args) => (remote::diff(args), false),
        Command::Pull(args) => (remote::pull(args), false),
        Command::Push(args) => (remote::push(args), false),
        Command::Deploy(args) => (remote::deploy(args), false),
        Command::Promote(args) => (remote::promote(args), false),
        Command::Deployments(args) => (remote::deployments(args), args.json),
        Command::Replay(args) => (remote::replay(args), args.json),
        Command::Runs(args) => (remote::runs(args), args.json),
        Command::Logs(args) => (remote::logs(args), args.json),
        Command::Tap(args) => (remote::tap(args), false),
        Command::Open(args) => (remote::open(args), false),
        Command::Dev(args) => (dev::dev(args), false),
        Command::Test(args) => (testing::test(args), args.json),
        Command::Nodes(args) => (nodes::nodes(args), args.json),
        Command::Schema => (schema::schema(), false),
        Command::Openapi => (openapi(), false),
        Command::User(args) => (user::user(args), args.json),
        Command::Tenants(args) => (tenants::tenants(args), args.json),
        Command::Keys(args) => (keys::keys(args), args.json),
        Command::Backup(args) => (backup::backup(args), args.json),
        Command::Restore(args) => (restore::restore(args), args.json),
        Command::Precompile(args) => (precompile::precompile(args), false),
        Command::Config(args) => (settings::config(args), args.json),
        Command::Doctor(args) => (settings::doctor(args), args.json),
        Command::Healthcheck(args) => (healthcheck::healthcheck(args), false),
        Command::Completions { shell } => (completions(*shell), false),
        Command::Man(args) => (manual::man(args, Cli::command()), false),
        Command::Worker(args) => (worker::worker(args), false),
    };
    match result {
        Ok(code) => code,
        Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Reported(reported)) => {
            output::note(&reported.report);
            if json {
                let mut object = json!({
                    "status": "invalid",
                    "error": {"message": reported.message, "code": reported.code, "nodeId": null},
                });
                if !reported.diagnostics.is_empty() {
                    object["diagnostics"] = json!(reported.diagnostics);
                }
                // Nothing is left to tell if this fails: the exit code says it all.
                let _ = output::result(&object.to_string());
            }
            ExitCode::from(reported.exit as u8)
        }
    }
}

fn openapi() -> Result<ExitCode, Failure> {
    output::result(&format!("{:#}", crate::http::routes::document()))?;
    Ok(ExitCode::SUCCESS)
}

fn completions(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "heddle", &mut script);
    output::result_bytes(&script)?;
    Ok(ExitCode::SUCCESS)
}
