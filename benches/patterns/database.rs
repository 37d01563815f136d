//! A scratch database and a server, for measuring.

use heddle_api::app::App;
use heddle_api::config::Config;
use heddle_store::{Store, StoreError, sql};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A database of its own on a PostgreSQL server.
pub struct Scratch {
    pub url: String,
    server: String,
    name: String,
}

impl Scratch {
    pub async fn create(server: &str) -> Scratch {
        let server = server.trim_end_matches('/').to_owned();
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("heddle_bench_{}_{number}", std::process::id());
        execute(&server, format!("create database {name}")).await;
        Scratch {
            url: format!("{server}/{name}"),
            server,
            name,
        }
    }

    pub async fn drop(self) {
        execute(&self.server, format!("drop database {} with (force)", self.name)).await;
    }
}

async fn execute(server: &str, statement: String) {
    let mut connection = PgConnection::connect(&format!("{server}/postgres"))
        .await
        .unwrap();
    sqlx::query(AssertSqlSafe(statement))
        .execute(&mut connection)
        .await
        .unwrap();
}

/// Brings the planner's statistics up to date, as both databases do by themselves in time.
pub async fn settle(store: &Store) {
    let settled: Result<u64, StoreError> = store
        .write(|db| Box::pin(async move { db.execute(sql("analyze")).await }))
        .await;
    settled.unwrap();
}

pub fn config(files: &Path) -> Config {
    let secret = "a secret of thirty-two characters or more".to_owned();
    Config::new(
        SocketAddr::from(([127, 0, 0, 1], 0)),
        files.to_owned(),
        [7; 32],
        secret,
    )
}

/// Serves on a free port until the process ends.
pub async fn serve(app: &App) -> SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let router = heddle_api::http::router(app);
    tokio::spawn(async move {
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        axum::serve(listener, service).await.unwrap();
    });
    address
}
