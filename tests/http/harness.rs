//! The service in the test's own process, on a database of the test's own, over real TCP.
//!
//! PostgreSQL: the server that HEDDLE_TEST_POSTGRES names (a URL of a user who may create databases), or a private
//! cluster that the first test starts from Debian's package; see [`postgres`].

mod deployed;
mod described;
mod leaving;
mod members;
mod postgres;
mod request;

pub use deployed::{chain, doubling, endless};
pub use leaving::{asked, until};
pub use postgres::TestDatabase;
pub use request::{Events, Reply, Request};

use heddle_api::app::App;
use heddle_api::config::Config;
use heddle_api::http::server;
use heddle_execution::compile::Isolation;
use heddle_model::clock::{Clock, Timestamp};
use heddle_runtime::WorkerProgram;
use heddle_service::auth::limits::AuthRateLimit;
use heddle_service::notices;
use heddle_service::peers::Peers;
use heddle_store::Store;
use serde_json::json;
use std::net::SocketAddr;
use std::path::PathBuf;
use tokio::net::TcpListener;
use tokio::sync::OnceCell;

/// Which database a test uses.
#[derive(Clone, Copy, Debug)]
pub enum Database {
    Sqlite,
    Postgres,
}

/// Makes two tests of each function, one for each database.
macro_rules! each_database {
    ($($(#[$meta:meta])* async fn $name:ident($service:ident: Service) $body:block)*) => {$(
        mod $name {
            use super::*;

            async fn test($service: Service) $body

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                test(Service::start(crate::harness::Database::Sqlite).await).await;
            }

            $(#[$meta])*
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                test(Service::start(crate::harness::Database::Postgres).await).await;
            }
        }
    )*};
}
pub(crate) use each_database;

/// A database with all tables, which those of tests are copies of: making the tables takes three times as long. On a server that
/// HEDDLE_TEST_POSTGRES names it stays.
async fn tables() -> &'static TestDatabase {
    static TABLES: OnceCell<TestDatabase> = OnceCell::const_new();
    let made = TABLES.get_or_init(async || {
        let template = TestDatabase::create(None).await;
        Store::open_postgres(&template.url).await.unwrap().close().await;
        template
    });
    made.await
}

/// The same for SQLite: the bytes of a file with all tables.
async fn file_of_tables() -> &'static [u8] {
    static FILE: OnceCell<Vec<u8>> = OnceCell::const_new();
    let made = FILE.get_or_init(async || {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("heddle.db");
        // A database that is closed is one whole file.
        Store::open_sqlite(&file).await.unwrap().close().await;
        std::fs::read(file).unwrap()
    });
    made.await
}

/// A running service. Dropping it ends it.
pub struct Service {
    pub app: App,
    pub address: SocketAddr,
    server: tokio::task::JoinHandle<()>,
    _files: tempfile::TempDir,
    _database: Option<TestDatabase>,
}

impl Drop for Service {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// A registered user.
#[derive(Clone, Debug)]
pub struct User {
    pub id: String,
    pub token: String,
}

impl Service {
    /// With the usual settings.
    pub async fn start(database: Database) -> Service {
        Service::with(database, |_| {}).await
    }

    /// With other settings.
    pub async fn with(database: Database, change: impl FnOnce(&mut Config)) -> Service {
        let files = tempfile::tempdir().unwrap();
        let (store, kept) = match database {
            Database::Sqlite => {
                let file = files.path().join("heddle.db");
                std::fs::write(&file, file_of_tables().await).unwrap();
                (Store::open_sqlite(&file).await.unwrap(), None)
            }
            Database::Postgres => {
                let kept = TestDatabase::create(Some(tables().await)).await;
                (Store::open_postgres(&kept.url).await.unwrap(), Some(kept))
            }
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let secret = "a secret of thirty-two characters or more".to_owned();
        let mut config = Config::new(address, files.path().to_owned(), [7; 32], secret);
        config.database_url = kept.as_ref().map(|kept| kept.url.clone().into());
        // Tests register as many users as they like.
        config.auth_rate_limit = AuthRateLimit {
            per_email: 0,
            per_ip: 0,
        };
        // Machine code of the standard library, compiled once for all tests.
        config.cache_dir = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cache");
        let program = WorkerProgram {
            program: env!("CARGO_BIN_EXE_heddle").into(),
            arguments: vec!["worker".into()],
        };
        config.isolation = Isolation::Process(program.clone());
        // In processes of their own where that is asked for; see CONTRIBUTING.md.
        config.executors = std::env::var_os("HEDDLE_TEST_EXECUTORS").map(|_| program);
        change(&mut config);
        let start = Timestamp::parse("2026-11-21T09:00:00Z").unwrap();
        let app = App::new(config, store, Clock::manual(start));
        app.vault.start(&app.store, None).await.unwrap();
        let router = heddle_api::http::router(&app);
        let (limits, trusted) = (app.config.http.clone(), app.config.trusted_proxies.clone());
        let server = tokio::spawn(async move {
            server::serve(listener, router, &limits, &trusted, std::future::pending()).await;
        });
        Service {
            app,
            address,
            server,
            _files: files,
            _database: kept,
        }
    }

    /// Another service on the same database, as it is after a restart, and its address.
    pub async fn restarted(&self) -> (App, SocketAddr) {
        self.restarted_with(|_| {}).await
    }

    /// The same with other settings.
    pub async fn restarted_with(&self, change: impl FnOnce(&mut Config)) -> (App, SocketAddr) {
        let (mut config, store) = (self.app.config.clone(), self.app.store.clone());
        change(&mut config);
        let app = App::new(config, store, self.app.clock.clone());
        app.vault.start(&app.store, None).await.unwrap();
        let peers = Peers::new(app.service.clone());
        Box::pin(notices::start(&app, &peers)).await.unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let router = heddle_api::http::router(&app);
        let (limits, trusted) = (app.config.http.clone(), app.config.trusted_proxies.clone());
        tokio::spawn(async move {
            server::serve(listener, router, &limits, &trusted, std::future::pending()).await;
        });
        (app, address)
    }

    /// Which database it is on.
    pub fn database(&self) -> Database {
        match self._database {
            Some(_) => Database::Postgres,
            None => Database::Sqlite,
        }
    }

    /// Registers `<name>@example.com`.
    pub async fn user(&self, name: &str) -> User {
        let account = json!({
            "email": format!("{name}@example.com"), "firstName": name, "lastName": "Test", "password": "correct-horse"
        });
        let reply = self.post("/api/auth/register").json(&account).send().await;
        assert_eq!(reply.status, 201, "{reply}");
        User {
            id: reply.body["data"]["user"]["id"].as_str().unwrap().to_owned(),
            token: reply.body["data"]["token"].as_str().unwrap().to_owned(),
        }
    }

    /// The same user with a new token: the first one lasts for a day.
    pub async fn logged_in(&self, name: &str, user: User) -> User {
        let account = json!({"email": format!("{name}@example.com"), "password": "correct-horse"});
        let reply = self.post("/api/auth/login").json(&account).send().await;
        let token = reply.data(200)["token"].as_str().unwrap().to_owned();
        User { token, ..user }
    }

    pub fn get(&self, path: &str) -> Request {
        Request::new(self.address, "GET", path)
    }

    pub fn post(&self, path: &str) -> Request {
        Request::new(self.address, "POST", path)
    }

    pub fn put(&self, path: &str) -> Request {
        Request::new(self.address, "PUT", path)
    }

    pub fn delete(&self, path: &str) -> Request {
        Request::new(self.address, "DELETE", path)
    }

    pub fn request(&self, method: &str, path: &str) -> Request {
        Request::new(self.address, method, path)
    }
}
