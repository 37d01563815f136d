//! PostgreSQL for tests: a database for each test on a server that the whole test process shares. Without
//! HEDDLE_TEST_POSTGRES the server is a private cluster in memory, or else under the system's temporary directory, made by
//! `initdb` and ended with the process.

use crate::port;
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, OnceLock, PoisonError};
use uuid::Uuid;

/// Where files are in memory, if the system has such a place.
const MEMORY: &str = "/dev/shm";
/// How much has to be free there. A cluster takes less than half a gigabyte.
const MEMORY_BYTES_MIN: u64 = 2 << 30;

/// A database of a test's own, dropped with it.
pub struct TestDatabase {
    pub url: String,
    name: String,
}

impl TestDatabase {
    /// An empty one, or a copy of another, to which nobody may be connected.
    pub async fn create(template: Option<&TestDatabase>) -> TestDatabase {
        let server = tokio::task::spawn_blocking(server_url).await.unwrap();
        #[expect(clippy::disallowed_methods, reason = "each test has a database of its own")]
        let name = format!("heddle_{}", Uuid::now_v7().simple());
        // Its files are copied as they are: by way of the log it would take twice as long.
        let copying = template.map(|template| format!(" template {} strategy file_copy", template.name));
        let statement = format!("create database {name}{}", copying.unwrap_or_default());
        let created = tokio::task::spawn_blocking(move || administer(statement)).await;
        created.unwrap().expect("a database can be created");
        TestDatabase {
            url: format!("{server}/{name}"),
            name,
        }
    }
}

impl Drop for TestDatabase {
    fn drop(&mut self) {
        // A database that stays is removed with the cluster.
        let _ = administer(format!("drop database if exists {} with (force)", self.name));
    }
}

/// What is to be executed, and where to say how that went.
type Job = (String, Sender<Result<(), sqlx::Error>>);

/// Executes a statement on the server, by the one connection that this process has for that. A process and a connection for each
/// would take longer than most of the statements.
fn administer(statement: String) -> Result<(), sqlx::Error> {
    static JOBS: OnceLock<Sender<Job>> = OnceLock::new();
    let jobs = JOBS.get_or_init(|| {
        let (sender, jobs) = channel();
        std::thread::spawn(move || execute(jobs));
        sender
    });
    let (sender, done) = channel();
    // The connection has failed, and said how.
    let gone = || sqlx::Error::WorkerCrashed;
    jobs.send((statement, sender)).map_err(|_| gone())?;
    done.recv().map_err(|_| gone())?
}

fn execute(jobs: Receiver<Job>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(async {
        let database = format!("{}/postgres", server_url());
        let mut connection = PgConnection::connect(&database).await.unwrap();
        for (statement, sender) in jobs {
            let executed = sqlx::raw_sql(AssertSqlSafe(statement))
                .execute(&mut connection)
                .await;
            // Who has ended meanwhile need not know.
            let _ = sender.send(executed.map(drop));
        }
    });
}

/// The server's URL without a database: `postgres://user@host:port`.
fn server_url() -> String {
    static URL: OnceLock<String> = OnceLock::new();
    URL.get_or_init(|| match std::env::var("HEDDLE_TEST_POSTGRES") {
        Ok(url) => url.trim_end_matches('/').to_owned(),
        Err(_) => start_cluster(),
    })
    .clone()
}

static CLUSTER: Mutex<Option<PathBuf>> = Mutex::new(None);

/// Where to make a cluster. A database is hundreds of files, which some disks take longer to make and to remove than most tests take.
fn place() -> PathBuf {
    let free = rustix::fs::statvfs(MEMORY).map_or(0, |found| found.f_bavail.saturating_mul(found.f_frsize));
    match free >= MEMORY_BYTES_MIN {
        true => MEMORY.into(),
        false => std::env::temp_dir(),
    }
}

/// Makes and starts a cluster that listens on a free port of loopback.
fn start_cluster() -> String {
    let dir = place().join(format!("heddle-postgres-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let port = port::free();
    let data = dir.join("data");
    own(&dir);
    run(as_postgres("initdb")
        .args(["-A", "trust", "-U", "heddle", "--no-sync", "-D"])
        .arg(&data));
    // Nothing outlives the machine. A database that is dropped makes a checkpoint, after which each page that any test changes
    // would be written to the log as a whole; what vacuums one that is to be copied would hold the copy up.
    let options = format!(
        "-c listen_addresses=127.0.0.1 -p {port} -c unix_socket_directories='' -c fsync=off -c full_page_writes=off \
         -c autovacuum=off -c max_connections=400 -c max_wal_size=256MB"
    );
    let log = dir.join("log");
    run(as_postgres("pg_ctl")
        // Seconds for which a busy machine is waited for.
        .args(["-w", "-t", "600", "-o", &options, "-l"])
        .arg(&log)
        .arg("-D")
        .arg(&data)
        .arg("start"));
    *CLUSTER.lock().unwrap_or_else(PoisonError::into_inner) = Some(dir);
    #[expect(
        unsafe_code,
        reason = "the C library alone can run something when the process ends"
    )]
    // SAFETY: `stop_cluster` is a plain function that touches nothing but its own static.
    unsafe {
        libc::atexit(stop_cluster);
    }
    format!("postgres://heddle@127.0.0.1:{port}")
}

extern "C" fn stop_cluster() {
    let dir = CLUSTER.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(dir) = dir {
        let data = dir.join("data");
        let _ = as_postgres("pg_ctl")
            .args(["-m", "immediate", "-D"])
            .arg(&data)
            .arg("stop")
            .output();
        let _ = std::fs::remove_dir_all(&dir);
    }
}

/// PostgreSQL refuses to be root: then the package's own user starts it.
fn as_postgres(name: &str) -> Command {
    if !is_root() {
        return Command::new(tool(name));
    }
    let mut command = Command::new("runuser");
    command.args(["-u", "postgres", "--"]).arg(tool(name));
    command
}

fn own(dir: &Path) {
    if is_root() {
        run(Command::new("chown").arg("-R").arg("postgres").arg(dir));
    }
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.starts_with(b"0\n")
}

fn run(command: &mut Command) {
    // The server inherits what it is given: a pipe would stay open for as long as it lives.
    let status = command
        .current_dir("/")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let ended_well = status.is_ok_and(|status| status.success());
    assert!(
        ended_well,
        "{command:?} failed: is the package postgresql installed?"
    );
}

/// A program of PostgreSQL: Debian keeps those of the server outside the path.
fn tool(name: &str) -> PathBuf {
    let mut versions: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    versions.sort();
    let in_package = versions.pop().map(|version| version.join("bin").join(name));
    in_package
        .filter(|path| path.exists())
        .unwrap_or_else(|| PathBuf::from(name))
}
