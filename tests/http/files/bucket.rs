//! A bucket of a service that speaks S3's protocol: moto, which this installs from PyPI.

use super::bytes;
use super::protocol::{Store, stops_leave_nothing};
use crate::harness::{Database, Service};
use crate::needs::or_skip;
use heddle_files::S3Settings;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The version that is installed.
const MOTO: &str = "moto[server]==5.1.22";

/// A server; killed when dropped.
struct Moto {
    process: Child,
    url: String,
}

impl Drop for Moto {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The program, installed once.
fn program() -> Result<PathBuf, String> {
    static INSTALLED: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    let install = || {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("moto");
        let server = dir.join("bin/moto_server");
        if server.exists() {
            return Ok(server);
        }
        let run = |command: &mut Command| match command.output() {
            Ok(done) if done.status.success() => Ok(()),
            Ok(done) => Err(String::from_utf8_lossy(&done.stderr).into_owned()),
            Err(error) => Err(error.to_string()),
        };
        run(Command::new("python3").args(["-m", "venv"]).arg(&dir))?;
        run(Command::new(dir.join("bin/pip")).args(["-q", "--disable-pip-version-check", "install", MOTO]))?;
        Ok(server)
    };
    INSTALLED.get_or_init(install).clone()
}

impl Moto {
    async fn start() -> Result<Moto, String> {
        let program = tokio::task::spawn_blocking(program).await.unwrap()?;
        // A port that is free now: moto says nowhere which one it has taken.
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut moto = Moto {
            process: process.map_err(|error| error.to_string())?,
            url: format!("http://127.0.0.1:{port}"),
        };
        let client = client();
        loop {
            let made = client.put(format!("{}/files", moto.url)).send().await;
            if made.is_ok_and(|made| made.status().is_success()) {
                return Ok(moto);
            }
            if let Ok(Some(ended)) = moto.process.try_wait() {
                return Err(format!("moto has ended: {ended}"));
            }
            tokio::task::yield_now().await;
        }
    }

    /// Objects, and uploads in parts that were begun.
    async fn stored(&self) -> (usize, usize) {
        let count = async |query: &str, tag: &str| {
            let listed = client()
                .get(format!("{}/files?{query}", self.url))
                .send()
                .await
                .unwrap();
            listed.text().await.unwrap().matches(tag).count()
        };
        (
            count("list-type=2", "<Key>").await,
            count("uploads", "<UploadId>").await,
        )
    }
}

fn client() -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder().no_proxy().build().unwrap()
}

async fn in_a_bucket(database: Database) {
    let Some(moto) = or_skip("moto", Moto::start().await) else {
        return;
    };
    let service = Service::with(database, |config| {
        config.files.s3 = Some(S3Settings {
            bucket: "files".to_owned(),
            prefix: "of/heddle".to_owned(),
            region: "us-east-1".to_owned(),
            endpoint: Some(moto.url.clone()),
            keys: Some(("id".to_owned(), "secret".into())),
        });
    })
    .await;
    let store = Store::of(service).await;
    store.files.check().await.unwrap();
    // Of one part, and of several.
    for size in [0, 100_000, 17_000_000] {
        let content = bytes(size);
        let value = store.written(&content, None).await;
        assert!(store.read(&value).await.unwrap() == content, "{size}");
    }
    store
        .swept_after(std::time::Duration::from_secs(25 * 60 * 60))
        .await;
    store
        .swept_after(std::time::Duration::from_secs(2 * 60 * 60))
        .await;
    assert_eq!(moto.stored().await, (0, 0));
    stops_leave_nothing(&store, async || {
        let (objects, uploads) = moto.stored().await;
        objects + uploads
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_in_a_bucket_sqlite() {
    in_a_bucket(Database::Sqlite).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_leaves_nothing_in_a_bucket_postgres() {
    in_a_bucket(Database::Postgres).await;
}
