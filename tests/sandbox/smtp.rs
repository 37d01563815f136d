//! An SMTP server that is not heddle's: aiosmtpd, in a process of its own.

use crate::{needs, port};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

pub struct Smtp {
    pub port: u16,
    /// PEM of the certificate that it shows.
    pub certificate: String,
    process: Child,
    output: BufReader<ChildStdout>,
    _dir: tempfile::TempDir,
}

impl Drop for Smtp {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Smtp {
    /// `mode`: none, starttls or tls. `None` where Python can't have the package aiosmtpd: then the
    /// test is skipped.
    pub fn start(mode: &str) -> Option<Self> {
        let python = needs::or_skip("aiosmtpd", python())?;
        let dir = tempfile::tempdir().unwrap();
        let (certificate, key) = (dir.path().join("cert.pem"), dir.path().join("key.pem"));
        let made = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
            ])
            .args([
                "-subj",
                "/CN=localhost",
                "-addext",
                "subjectAltName=DNS:localhost,IP:127.0.0.1",
            ])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .arg("-out")
            .arg(&certificate)
            .arg("-keyout")
            .arg(&key)
            .stderr(Stdio::null())
            .status();
        assert!(
            made.is_ok_and(|status| status.success()),
            "openssl makes a certificate"
        );
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/sandbox/smtp_server.py");
        let port = port::free();
        let mut process = Command::new(python)
            .arg(script)
            .args([mode, &port.to_string()])
            .args([&certificate, &key])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(process.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "\n", "it listens");
        Some(Smtp {
            port,
            certificate: std::fs::read_to_string(&certificate).unwrap(),
            process,
            output,
            _dir: dir,
        })
    }

    /// The next message: `{from, to, content}`.
    pub fn message(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap()
    }
}

/// A Python that has aiosmtpd: the system's, or one in an environment of the tests.
fn python() -> Result<PathBuf, &'static str> {
    let has = |python: &Path| {
        let asked = Command::new(python)
            .args(["-c", "import aiosmtpd"])
            .stderr(Stdio::null())
            .status();
        asked.is_ok_and(|status| status.success())
    };
    let environment = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("aiosmtpd");
    let own = environment.join("bin/python");
    // Debian's packages are for Debian's Python, which need not be the first in the path.
    for python in [Path::new("python3"), Path::new("/usr/bin/python3"), &own] {
        if has(python) {
            return Ok(python.to_owned());
        }
    }
    // Several tests may come here at a time; each makes the same.
    let made = Command::new("python3")
        .args(["-m", "venv"])
        .arg(&environment)
        .status();
    let got = made.is_ok_and(|status| status.success())
        && Command::new(&own)
            .args(["-m", "pip", "install", "--quiet", "aiosmtpd==1.4.6"])
            .status()
            .is_ok_and(|status| status.success());
    if !got || !has(&own) {
        return Err("`python3 -m pip install aiosmtpd` gets it");
    }
    Ok(own)
}
