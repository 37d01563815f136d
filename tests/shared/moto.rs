//! moto, a server that speaks S3's protocol, which this installs from PyPI. It has one bucket, `files`. Knows nothing of what is stored.

use crate::port;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;

/// The version that is installed.
const MOTO: &str = "moto[server]==5.1.22";

/// A server; killed when dropped.
pub struct Moto {
    process: Child,
    address: String,
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
    /// Waits until it has the bucket. Blocks.
    pub fn start() -> Result<Moto, String> {
        let program = program()?;
        // moto says nowhere which one it has taken.
        let port = port::free();
        let mut command = Command::new(program);
        command.args(["-H", "127.0.0.1", "-p", &port.to_string()]);
        let process = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let mut moto = Moto {
            process: process.map_err(|error| error.to_string())?,
            address: format!("127.0.0.1:{port}"),
        };
        while moto.answer("PUT", "/files").is_none() {
            if let Ok(Some(ended)) = moto.process.try_wait() {
                return Err(format!("moto has ended: {ended}"));
            }
            std::thread::yield_now();
        }
        Ok(moto)
    }

    /// Where it is reached.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What it answers to a request without a body, if that succeeds.
    pub fn answer(&self, method: &str, path: &str) -> Option<String> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
            self.address
        )
        .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        let is_success = head.split(' ').nth(1)?.starts_with('2');
        is_success.then(|| body.to_owned())
    }

    /// A list of what is in the bucket: one that nobody answers is not an empty one.
    fn listed(&self, what: &str) -> String {
        let answer = self.answer("GET", &format!("/files?{what}"));
        answer.unwrap_or_else(|| panic!("moto does not answer"))
    }

    /// Names and sizes of the bucket's objects, names without what is before their last slash.
    pub fn objects(&self) -> Vec<(String, u64)> {
        let listed = self.listed("list-type=2");
        let between = |text: &str, tag: &str| {
            let (_, rest) = text.split_once(&format!("<{tag}>"))?;
            Some(rest.split_once('<')?.0.to_owned())
        };
        let object = |text: &str| {
            let key = between(text, "Key")?;
            let name = key.rsplit('/').next()?.to_owned();
            Some((name, between(text, "Size")?.parse().ok()?))
        };
        listed.split("<Contents>").skip(1).filter_map(object).collect()
    }

    /// How many uploads in parts were begun.
    pub fn uploads(&self) -> usize {
        self.listed("uploads").matches("<UploadId>").count()
    }
}
