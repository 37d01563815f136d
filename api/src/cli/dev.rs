//! `heddle dev`: serves the patterns of a directory here, on a server whose data is thrown away at the end, deploys them as they are
//! saved, and prints what their runs do. Needs no other server and no key.

mod deploying;
mod following;
mod given;
mod local;

use super::failure::{Exit, Failure};
use super::output;
use super::schema;
use super::serve;
use super::watching::{Times, times};
use clap::Args;
use deploying::Deployer;
use following::Follower;
use given::Given;
use heddle_remote::dev_file;
use heddle_remote::directory::Directory;
use heddle_remote::environments;
use local::Local;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;
use tokio::signal::unix::{SignalKind, signal};

/// How often the files are looked at, and the runs.
const LOOK: Duration = Duration::from_millis(250);

/// Flags of `heddle dev`.
#[derive(Args, Debug)]
pub struct DevArgs {
    /// The environment whose variables patterns have, by its file's name; default: development, or else the only one.
    #[arg(long)]
    env: Option<String>,
    /// Values of secrets, as a JSON object of strings; default: .heddle/secrets.json. HEDDLE_SECRET_NAME in the environment
    /// counts before it.
    #[arg(long, value_name = "FILE")]
    secrets: Option<PathBuf>,
    /// A private address that requests of patterns may reach; repeat the flag, or separate several by commas.
    #[arg(
        long,
        value_name = "CIDR|HOST:PORT",
        value_delimiter = ',',
        env = "HEDDLE_EGRESS_ALLOW"
    )]
    egress_allow: Vec<String>,
    /// Address to listen on, which only this machine reaches; port 0 picks a free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: std::net::SocketAddr,
    /// Directory for machine code. Default: heddle in the user's cache directory.
    #[arg(long, value_name = "DIR", env = "HEDDLE_CACHE_DIR")]
    cache_dir: Option<PathBuf>,
}

/// Serves until it is interrupted.
pub fn dev(args: &DevArgs) -> Result<ExitCode, Failure> {
    let failed = |error: std::io::Error| Failure::new(Exit::File, "FILE", error.to_string());
    let here = std::env::current_dir().map_err(failed)?;
    let directory = Directory::find(&here)?;
    if !args.listen.ip().is_loopback() {
        return Err(Failure::usage(
            "--listen must be an address of this machine alone, such as 127.0.0.1:8080",
        ));
    }
    // Makes the folder that git ignores as well.
    schema::keep(&directory);
    let root = directory.root().to_owned();
    let secrets = args.secrets.as_ref().map(|file| here.join(file));
    serve::wait(async {
        let signals = [
            SignalKind::interrupt(),
            SignalKind::terminate(),
            SignalKind::hangup(),
        ];
        let [interrupt, terminate, hangup] = signals.map(signal);
        let (mut interrupt, mut terminate, mut hangup) = (
            interrupt.map_err(failed)?,
            terminate.map_err(failed)?,
            hangup.map_err(failed)?,
        );
        // What ends it drops the work, and with it the server and its data.
        tokio::select! {
            // The server gets the same signal from a terminal: that it ends then is expected.
            biased;
            _ = interrupt.recv() => Ok(()),
            _ = terminate.recv() => Ok(()),
            _ = hangup.recv() => Ok(()),
            worked = Box::pin(work(args, &root, secrets)) => worked,
        }
    })??;
    Ok(ExitCode::SUCCESS)
}

/// What other commands find of the server, for as long as this is there.
struct Announced<'r>(&'r Path);

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        dev_file::remove(self.0);
    }
}

async fn work(args: &DevArgs, root: &Path, secrets: Option<PathBuf>) -> Result<(), Failure> {
    output::note("starting a server with data that is thrown away at the end …");
    let mut local = Local::start(args.listen, &args.egress_allow, args.cache_dir.as_deref()).await?;
    let _announced = Announced(root);
    output::note(&local.welcome());
    let mut deployer = Deployer::default();
    let mut follower = Follower::default();
    let mut given = Given::new(args.env.clone(), secrets, root);
    let places = [
        root.join("patterns"),
        root.join(environments::FOLDER),
        given.file().to_owned(),
    ];
    let mut seen: Option<Times> = None;
    loop {
        // Before they are read: what changes meanwhile is read again.
        let now = times(&places);
        if seen.as_ref() != Some(&now) {
            note_failure(look(root, &local, &mut given, &mut deployer).await)?;
            dev_file::write(root, &local.running(deployer.ids()))?;
            seen = Some(now);
        }
        let followed = follower.look(&local.server, deployer.patterns()).await;
        local.check()?;
        note_failure(followed)?;
        tokio::time::sleep(LOOK).await;
    }
}

/// What is wrong now may be right once it is saved again: it is said, and nothing ends by it.
fn note_failure(done: Result<(), Failure>) -> Result<(), Failure> {
    match done {
        Err(Failure::Reported(reported)) => {
            output::note(&reported.report);
            Ok(())
        }
        done => done,
    }
}

async fn look(root: &Path, local: &Local, given: &mut Given, deployer: &mut Deployer) -> Result<(), Failure> {
    // What lock and configuration say of the other server is of no interest here, but where the patterns are.
    let directory = Directory::find(root)?;
    note_failure(given.bring(&directory, local).await)?;
    deployer.look(&directory, local).await
}
