//! Self-signed certificates, and requests over TLS by curl.

use crate::needs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A certificate for localhost with its key, in files.
pub struct Certificate {
    pub certificate: PathBuf,
    pub private_key: PathBuf,
}

impl Certificate {
    /// Makes one in a directory, in files of this name. `None`: openssl or curl is missing, and so the test is skipped.
    pub fn make(dir: &Path, name: &str) -> Option<Certificate> {
        let found = Command::new("curl").arg("--version").output();
        needs::or_skip("curl", found)?;
        let made = Certificate {
            certificate: dir.join(format!("{name}.pem")),
            private_key: dir.join(format!("{name}-key.pem")),
        };
        let ran = Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:P-256",
                "-nodes",
            ])
            .args(["-days", "2", "-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost"])
            .arg("-keyout")
            .arg(&made.private_key)
            .arg("-out")
            .arg(&made.certificate)
            .output();
        let ran = needs::or_skip("openssl", ran)?;
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        Some(made)
    }

    /// A request to `https://localhost` by curl, which trusts nothing but this certificate.
    pub fn curl(&self, address: &str, path: &str) -> Command {
        let (_, port) = address.rsplit_once(':').unwrap();
        let mut command = Command::new("curl");
        command
            .args([
                "-sS",
                "--noproxy",
                "*",
                "--resolve",
                &format!("localhost:{port}:127.0.0.1"),
            ])
            .arg("--cacert")
            .arg(&self.certificate)
            .arg(format!("https://localhost:{port}{path}"));
        command
    }
}

/// Standard output of a command, whatever became of it.
pub fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}
