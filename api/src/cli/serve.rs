//! `heddle serve`: runs the service, from reading its settings to its graceful shutdown.

use super::data_dir::{self, Lock};
use super::failure::{Exit, Failure};
use super::output;
use super::process;
use super::starts::Start;
use crate::app::App;
use crate::config::Config;
use crate::config::http::CONNECTIONS_MIN;
use crate::config::settings;
use crate::config::sources::{Flags, Values};
use crate::demo;
use crate::http::server::{Listener, Tls};
use crate::http::{self, server};
use crate::telemetry;
use axum::Router;
use clap::Args;
use heddle_execution::scheduler;
use heddle_execution::subscriptions::{self, OnSecret};
use heddle_model::clock::Clock;
use heddle_model::error::chain;
use heddle_service::audit;
use heddle_service::mail::smtp;
use heddle_service::notices;
use heddle_service::peers::Peers;
use heddle_service::webhooks::sweeper;
use heddle_store::vault::MasterKey;
use heddle_store::{Store, StoreError};
use secrecy::ExposeSecret;
use std::error::Error;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;
use tracing::instrument::WithSubscriber;
use tracing::subscriber::NoSubscriber;

/// Requests that are being answered get so long after the signal to stop.
const DRAIN_MAX: Duration = Duration::from_secs(25);
/// Runs that nobody waits for get so long after that; the next start takes up what is left.
const RUNS_DRAIN_MAX: Duration = Duration::from_secs(5);
/// How often the log says what a start waits for.
const LOGGED_EVERY: Duration = Duration::from_secs(5);
/// The webhook log gets so long to be written after that, and the database to be closed.
const CLOSE_MAX: Duration = Duration::from_secs(5);

/// Flags of `heddle serve`.
#[derive(Args, Debug)]
pub struct ServeArgs {
    /// Create a demo user with deployed patterns, and print where to sign in. Only on a loopback address.
    #[arg(long)]
    demo: bool,
    #[command(flatten)]
    settings: Flags,
}

/// Runs the command until a signal ends it.
pub fn serve(args: &ServeArgs) -> Result<ExitCode, Failure> {
    let values = Values::gather(&args.settings, std::env::vars())?;
    let files = process::prepare()?;
    let config = settings::read(&values)?;
    let base_url_given = values.text("base_url").is_some();
    let executor = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.workers)
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::File, "FILE", format!("can't start threads: {error}")))?;
    let traces = telemetry::start(&config, executor.handle().clone())?;
    for warning in values.warnings() {
        tracing::warn!("{warning}");
    }
    executor.block_on(async {
        let ended = Box::pin(listen(config, base_url_given, args.demo, files)).await;
        if let Some(traces) = traces {
            traces.stop().await;
        }
        ended
    })
}

/// Opens the database that the settings name.
pub async fn open(config: &Config) -> Result<Store, Failure> {
    let opened = match &config.database_url {
        Some(url) => Store::open_postgres(url.expose_secret()).await,
        None => {
            data_dir::make(&config.data_dir)?;
            process::keep_files_private();
            Store::open_sqlite(&data_dir::database(&config.data_dir)).await
        }
    };
    opened.map_err(not_opened)
}

/// What is said of a database that can't be opened, with advice if its file can't be one of heddle's.
pub fn not_opened(error: StoreError) -> Failure {
    match error {
        StoreError::Unusable { path, reason } => {
            let message = format!(
                "the database {} {reason}.\n  It was not changed. `heddle restore FILE --force` replaces it \
                 with a backup; `heddle doctor` checks all of it",
                path.display()
            );
            Failure::new(Exit::Unusable, "DATABASE", message)
        }
        error => {
            let exit = match error {
                StoreError::Newer(_) => Exit::Unusable,
                _ => Exit::File,
            };
            Failure::new(
                exit,
                "DATABASE",
                format!("can't open the database: {}", chain(&error)),
            )
        }
    }
}

/// Does a command's work on the database that the settings name, beside a running server or not.
pub fn with_store<T>(
    config: &Config,
    work: impl AsyncFnOnce(Store) -> Result<T, Failure>,
) -> Result<T, Failure> {
    wait(async { work(open(config).await?).await })?
}

/// Executes on this thread what is asynchronous.
pub fn wait<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::new(Exit::File, "FILE", format!("can't start a thread: {error}")))?;
    Ok(executor.block_on(work))
}

/// Serves until a signal ends it.
async fn listen(
    mut config: Config,
    base_url_given: bool,
    is_demo: bool,
    files: u64,
) -> Result<ExitCode, Failure> {
    if is_demo {
        allow_demo(&config)?;
    }
    let (listener, tls, url) = bind(&config).await?;
    if !base_url_given {
        config.base_url.clone_from(&url);
    }
    for path in &config.keys_made {
        let path = path.display();
        tracing::info!(%path, "Generated a key, readable only by this user: keep a copy of {path} in a safe \
            place");
    }
    config.demo = is_demo.then_some(demo::LOGIN);
    process::fit(&mut config.http, files);
    let _lock = match config.database_url {
        Some(_) => None,
        None => {
            data_dir::make(&config.data_dir)?;
            Some(Lock::take(&config.data_dir)?)
        }
    };
    let mut stop = Stop::new().map_err(|error| cannot("listen for signals", &error))?;
    let start = Start::note(&config.data_dir);
    if !pause(start.wait(config.crash_backoff), &mut stop).await {
        return Ok(ExitCode::SUCCESS);
    }
    let app = Box::pin(open_app(config)).await?;
    Box::pin(start_service(&app)).await?;
    process::seal();
    let mut background = start_background(&app);
    background.extend(take_mail(&app).await?);
    let (executions, stopping) = (app.executions.clone(), app.executions.clone());
    let router = http::router(&app);
    let metrics = give_metrics(&app).await?;
    let operator = give_operator(&app).await?;
    output::result(&format!("listening on {url}"))?;
    if is_demo {
        // Its requests are the server's own: in the log, they would hide where to sign in.
        let summary = demo::set_up(&app)
            .with_subscriber(NoSubscriber::default())
            .await
            .map_err(|error| Failure::new(Exit::Failed, "DEMO", error.to_string()))?;
        output::result(&summary)?;
    }
    let (drain, draining) = tokio::sync::oneshot::channel::<()>();
    let (limits, trusted) = (&app.config.http, &app.config.trusted_proxies);
    let server = server::serve(
        Listener::new(listener, tls),
        router,
        limits,
        trusted,
        async move {
            stop.asked().await;
            tracing::info!("Stopping once the requests and runs in progress have ended");
            stopping.begin_stop();
            for task in background {
                task.abort();
            }
            // The receiver is gone only when the server has ended anyway.
            let _ = drain.send(());
        },
    );
    let overdue = async {
        if draining.await.is_ok() {
            tokio::time::sleep(DRAIN_MAX).await;
        } else {
            std::future::pending().await
        }
    };
    tokio::select! {
        () = server => {}
        () = overdue => tracing::warn!("Some requests did not end in time and are aborted"),
    }
    executions.stop(RUNS_DRAIN_MAX).await;
    for apart in [metrics, operator].into_iter().flatten() {
        apart.abort();
    }
    close(&app).await;
    start.end();
    Ok(ExitCode::SUCCESS)
}

fn cannot(what: &str, error: &std::io::Error) -> Failure {
    Failure::new(Exit::File, "FILE", format!("cannot {what}: {error}"))
}

/// Refuses `--demo` where others could use its login, or where nobody could.
fn allow_demo(config: &Config) -> Result<(), Failure> {
    if !config.listen.ip().is_loopback() {
        return Err(Failure::usage(
            "--demo creates a user with a publicly known password: use it only with a loopback address",
        ));
    }
    if !config.role.answers() {
        return Err(Failure::usage(
            "--demo needs a server that serves the API: remove --role worker",
        ));
    }
    Ok(())
}

/// The socket for HTTP, its certificate, if it has one, and the URL at which it is reached.
async fn bind(config: &Config) -> Result<(TcpListener, Option<Tls>, String), Failure> {
    let listener = TcpListener::bind(config.listen)
        .await
        .map_err(|error| cannot(&format!("listen on {}", config.listen), &error))?;
    let address = listener.local_addr().map_err(|error| cannot("listen", &error))?;
    let tls = config.http.tls.as_ref().map(Tls::open).transpose();
    let tls = tls.map_err(|error| Failure::new(Exit::File, "TLS", chain(&error)))?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    Ok((listener, tls, format!("{scheme}://{address}")))
}

/// Waits if the last starts ended in crashes; `false`: meanwhile the server was asked to stop.
async fn pause(wait: Duration, stop: &mut Stop) -> bool {
    if wait.is_zero() {
        return true;
    }
    tracing::warn!(
        "This server's last starts ended in crashes: waiting {wait:?} before starting (crash_backoff)"
    );
    tokio::select! {
        () = tokio::time::sleep(wait) => true,
        () = stop.asked() => false,
    }
}

/// Opens the database, with its tables migrated and what is secret in it readable.
async fn open_app(config: Config) -> Result<App, Failure> {
    let store = patiently("the database to open and its tables to be migrated", async {
        let store = open(&config).await?;
        store.recover_metering().await.map_err(not_opened)?;
        Ok::<_, Failure>(store)
    })
    .await?;
    let app = App::new(config, store, Clock::System);
    let previous = app.config.master_key_previous.as_ref().map(MasterKey::expose);
    let started = app.vault.start(&app.store, previous).await;
    started.map_err(|error| Failure::new(Exit::File, "DATABASE", chain(&error)))?;
    Ok(app)
}

/// Follows what other servers change, and begins to execute runs.
async fn start_service(app: &App) -> Result<(), Failure> {
    check_files(app).await;
    let peers = Peers::new(app.service.clone());
    let listening = notices::start(app, &peers).await;
    listening.map_err(|error| Failure::new(Exit::File, "DATABASE", chain(&error)))?;
    peers.start();
    let started = patiently("the engine to start", app.executions.start()).await;
    started.map_err(|error| {
        // The message is for clients; people who start a server can read why.
        let why = error.source().map_or_else(|| error.to_string(), chain);
        Failure::new(Exit::File, "ENGINE", why)
    })
}

/// Starts what a server that executes runs does by itself.
fn start_background(app: &App) -> Vec<JoinHandle<()>> {
    if !app.config.role.executes() {
        return Vec::new();
    }
    let service = app.service.clone();
    let on_secret: OnSecret = Arc::new(move |pattern| service.webhooks.changed(pattern));
    vec![
        scheduler::start(app.executions.clone()),
        subscriptions::start(app.executions.clone(), on_secret),
        sweeper::start(app.service.clone()),
        audit::start(app.service.clone()),
    ]
}

/// Writes the rest of the webhook log, and closes the database.
async fn close(app: &App) {
    // A database that does not answer keeps each line for longer than supervisors wait.
    let written = tokio::time::timeout(CLOSE_MAX, app.webhooks.journal.flush()).await;
    if written.is_err() {
        tracing::warn!("The last lines of the webhook log are not stored");
    }
    if tokio::time::timeout(CLOSE_MAX, app.store.close()).await.is_err() {
        tracing::warn!("The database was not closed properly: the next start recovers it");
    }
}

/// Waits for a part of the start, and says now and then what it is that takes so long.
async fn patiently<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout(LOGGED_EVERY, work.as_mut()).await {
            Ok(done) => return done,
            Err(_) => tracing::info!("Still waiting for {what}"),
        }
    }
}

/// Says so if files can't be stored in the bucket that the settings name. The service serves without, until they can.
async fn check_files(app: &App) {
    if app.config.files.s3.is_some()
        && let Err(error) = app.executions.files().files().check().await
    {
        tracing::error!("Files can't be stored (file_store): {}", chain(&error));
    }
}

/// Serves metrics at their own address, if they have one.
async fn give_metrics(app: &App) -> Result<Option<JoinHandle<()>>, Failure> {
    let Some(address) = app.config.http.metrics_listen else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let message = format!("can't listen on {address} for metrics: {error}");
        Failure::new(Exit::File, "FILE", message)
    })?;
    Ok(Some(serve_apart(app, listener, http::health::metrics_alone(app))))
}

/// Serves the operator's API at its own address, if it has one.
async fn give_operator(app: &App) -> Result<Option<JoinHandle<()>>, Failure> {
    let address = app.config.http.operator_listen;
    let Some(address) = address.filter(|_| app.config.role.answers()) else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let message = format!("can't listen on {address} for the operator: {error}");
        Failure::new(Exit::File, "FILE", message)
    })?;
    Ok(Some(serve_apart(app, listener, http::operator::alone(app))))
}

/// Serves what few ask for at an address of its own.
fn serve_apart(app: &App, listener: TcpListener, router: Router) -> JoinHandle<()> {
    let mut limits = app.config.http.clone();
    limits.connections_max = CONNECTIONS_MIN;
    limits.connections_per_address_max = None;
    tokio::spawn(async move {
        server::serve(listener, router, &limits, &[], std::future::pending()).await;
    })
}

/// Starts the SMTP listener, if there is to be one.
async fn take_mail(app: &App) -> Result<Option<JoinHandle<()>>, Failure> {
    let Some(address) = app.config.smtp_listen.filter(|_| app.config.role.answers()) else {
        return Ok(None);
    };
    let listener = TcpListener::bind(address).await.map_err(|error| {
        let message = format!("can't listen on {address} for mail: {error}");
        Failure::new(Exit::File, "FILE", message)
    })?;
    Ok(Some(tokio::spawn(smtp::serve(app.service.clone(), listener))))
}

/// The signals that ask for an end: SIGTERM and SIGINT.
struct Stop {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

impl Stop {
    fn new() -> std::io::Result<Self> {
        Ok(Stop {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
        })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}
