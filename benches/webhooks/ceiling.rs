//! The ceiling: the least that a durable webhook service can do. It checks an HMAC, stores the body in SQLite, many in one
//! commit, instantiates an empty sandbox, and answers. No routes, no accounts, no limits, no log, no pattern.

use crate::load::{Target, order};
use crate::process::Process;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};
use sqlx::{Connection, SqliteConnection};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use tokio::sync::{mpsc, oneshot};
use wasmtime::{
    Config, Engine, Instance, InstanceAllocationStrategy, InstancePre, Linker, Module,
    PoolingAllocationConfig, Store,
};

const SECRET: &str = "ceiling";
/// Bodies that one commit stores at most.
const GROUP_MAX: usize = 512;

/// Starts this program as the ceiling, in a process of its own.
pub fn start(dir: &Path) -> Process {
    let this = std::env::current_exe().unwrap();
    Process::start(Command::new(this).arg(crate::CEILING).arg(dir))
}

/// What it takes.
pub fn target(process: &Process) -> Target {
    Target {
        address: process.address,
        path: "/webhooks/bare".to_owned(),
        secret: Some(SECRET.to_owned()),
        status: 202,
        body: order,
    }
}

struct Row {
    body: Bytes,
    stored: oneshot::Sender<()>,
}

struct Ceiling {
    rows: mpsc::Sender<Row>,
    engine: Engine,
    empty: InstancePre<()>,
}

/// Serves until the process is ended.
pub async fn serve(dir: &Path) {
    let (rows, received) = mpsc::channel(4 * GROUP_MAX);
    tokio::spawn(store(open(dir).await, received));
    let mut config = Config::new();
    config.allocation_strategy(InstanceAllocationStrategy::Pooling(
        PoolingAllocationConfig::default(),
    ));
    let engine = Engine::new(&config).unwrap();
    let module = Module::new(
        &engine,
        wat::parse_str(r#"(module (memory 1) (func (export "run")))"#).unwrap(),
    )
    .unwrap();
    let empty = Linker::new(&engine).instantiate_pre(&module).unwrap();
    let state = Arc::new(Ceiling { rows, engine, empty });
    let router = Router::new()
        .route("/webhooks/bare", post(take))
        .with_state(state);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    println!("listening on http://{}", listener.local_addr().unwrap());
    axum::serve(listener, router).await.unwrap();
}

async fn open(dir: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new()
        .filename(dir.join("ceiling.db"))
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Wal)
        .synchronous(SqliteSynchronous::Full);
    let mut connection = SqliteConnection::connect_with(&options).await.unwrap();
    sqlx::query("create table events (id integer primary key, body blob not null)")
        .execute(&mut connection)
        .await
        .unwrap();
    connection
}

async fn store(mut connection: SqliteConnection, mut received: mpsc::Receiver<Row>) {
    let mut group = Vec::new();
    while received.recv_many(&mut group, GROUP_MAX).await > 0 {
        let mut transaction = connection.begin().await.unwrap();
        for row in &group {
            sqlx::query("insert into events (body) values (?)")
                .bind(&row.body[..])
                .execute(&mut *transaction)
                .await
                .unwrap();
        }
        transaction.commit().await.unwrap();
        for row in group.drain(..) {
            // Fails when the client has gone away.
            let _ = row.stored.send(());
        }
    }
}

async fn take(
    State(ceiling): State<Arc<Ceiling>>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, &'static str) {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(&body);
    let signature = headers
        .get("x-webhook-signature")
        .and_then(|value| hex::decode(value).ok());
    if signature.is_none_or(|signature| mac.verify_slice(&signature).is_err()) {
        return (StatusCode::UNAUTHORIZED, "");
    }
    let (stored, is_stored) = oneshot::channel();
    ceiling.rows.send(Row { body, stored }).await.unwrap();
    is_stored.await.unwrap();
    let mut sandbox = Store::new(&ceiling.engine, ());
    let instance: Instance = ceiling.empty.instantiate(&mut sandbox).unwrap();
    let run = instance.get_typed_func::<(), ()>(&mut sandbox, "run").unwrap();
    run.call(&mut sandbox, ()).unwrap();
    (StatusCode::ACCEPTED, r#"{"status":"accepted"}"#)
}
