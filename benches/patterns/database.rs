//! A scratch database and a server, for measuring.

use heddle_api::app::App;
use heddle_api::config::Config;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

/// A database of its own on a PostgreSQL server.
pub struct Scratch {
    pub url: String,
    server: String,
    name: String,
}

impl Scratch {
    pub async fn create(server: &str) -> Scratch {
        let server = server.trim_end_matches('/').to_owned();
        let name = format!("heddle_bench_{}", std::process::id());
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

pub fn config(files: &Path) -> Config {
    Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        base_url: "http://127.0.0.1".to_owned(),
        data_dir: files.to_owned(),
        database_url: None,
        master_key: [7; 32],
        jwt_secret: "a secret of thirty-two characters or more".to_owned(),
        local_auth: true,
        token_ttl: Duration::from_secs(24 * 60 * 60),
        api_body_bytes_max: 8 << 20,
    }
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
