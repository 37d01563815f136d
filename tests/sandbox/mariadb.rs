//! A private MariaDB server from Debian's package, for as long as a test holds it.

use crate::{needs, port};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

pub struct MariaDb {
    pub port: u16,
    server: Child,
    _dir: tempfile::TempDir,
}

impl Drop for MariaDb {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl MariaDb {
    /// With the database `shop` of the user `heddle`, whose password is `s3cret-pw`. `None` where the server is not
    /// installed: then the test is skipped.
    pub async fn start() -> Option<Self> {
        let is_there = Path::new("/usr/sbin/mariadbd").exists();
        needs::or_skip(
            "MariaDB",
            is_there.then_some(()).ok_or("install the package mariadb-server"),
        )?;
        Some(tokio::task::spawn_blocking(Self::start_blocking).await.unwrap())
    }

    fn start_blocking() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let port = port::free();
        let data = dir.path().join("data");
        std::fs::create_dir(&data).unwrap();
        std::fs::write(
            dir.path().join("init.sql"),
            "create database shop;\n\
             create user heddle@'127.0.0.1' identified by 's3cret-pw';\n\
             create user heddle@'localhost' identified by 's3cret-pw';\n\
             grant all on shop.* to heddle@'127.0.0.1';\ngrant all on shop.* to heddle@'localhost';\n",
        )
        .unwrap();
        if is_root() {
            // The server refuses to be root: then the package's own user starts it.
            let owned = Command::new("chown")
                .args(["-R", "mysql"])
                .arg(dir.path())
                .status();
            assert!(owned.is_ok_and(|status| status.success()));
        }
        let installed = as_mysql("/usr/bin/mariadb-install-db", dir.path())
            .args([
                "--no-defaults",
                "--auth-root-authentication-method=normal",
                "--skip-test-db",
            ])
            .arg(format!("--datadir={}", data.display()))
            .output()
            .unwrap();
        let said = [installed.stdout, installed.stderr].concat();
        let said = String::from_utf8_lossy(&said);
        assert!(installed.status.success(), "mariadb-install-db fails:\n{said}");
        let file = |name: &str| dir.path().join(name).display().to_string();
        let mut server = as_mysql("/usr/sbin/mariadbd", dir.path())
            .args(["--no-defaults", "--bind-address=127.0.0.1", "--skip-name-resolve"])
            .arg(format!("--datadir={}", data.display()))
            .arg(format!("--port={port}"))
            .arg(format!("--socket={}", file("socket")))
            .arg(format!("--pid-file={}", file("pid")))
            .arg(format!("--init-file={}", file("init.sql")))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(server.stderr.take().unwrap()).lines();
        let mut told = Vec::new();
        loop {
            let Some(Ok(line)) = lines.next() else {
                panic!("MariaDB does not start:\n{}", told.join("\n"));
            };
            if line.contains("ready for connections") {
                break;
            }
            told.push(line);
        }
        // It must not wait for a reader of what it has to say.
        std::thread::spawn(move || lines.for_each(drop));
        MariaDb {
            port,
            server,
            _dir: dir,
        }
    }
}

/// Its temporary files are in a directory of its own: where several servers have one, each deletes those of the others when it starts.
fn as_mysql(program: &str, temporary: &Path) -> Command {
    let mut command = match is_root() {
        false => Command::new(program),
        true => {
            // Without a process between, so that ending it ends the server.
            let mut command = Command::new("setpriv");
            command.args(["--reuid=mysql", "--regid=mysql", "--clear-groups", "--", program]);
            command.current_dir("/");
            command
        }
    };
    command.env("TMPDIR", temporary);
    command
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().unwrap();
    output.stdout.starts_with(b"0\n")
}
