//! heddle behind nginx, by the configuration that we ship.

use crate::certificate::{Certificate, text};
use crate::server::{Server, pause};
use crate::{needs, port};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const CONFIGURATION: &str = include_str!("../../packaging/nginx/heddle.conf");

/// nginx on a loopback address; ended when dropped.
struct Nginx {
    process: Child,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where nginx is installed, or where `tests/run` has unpacked it.
fn nginx() -> Result<PathBuf, &'static str> {
    let unpacked = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../nginx/usr/sbin/nginx");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = std::env::split_paths(&path).map(|dir| dir.join("nginx"));
    let mut found = installed.chain([PathBuf::from("/usr/sbin/nginx"), unpacked]);
    found
        .find(|path| path.is_file())
        .ok_or("neither installed nor unpacked")
}

impl Nginx {
    /// Starts it with our configuration but for addresses and files.
    fn start(program: &Path, dir: &Path, listen: &str, heddle: &str, certificate: &Certificate) -> Nginx {
        let mut site = CONFIGURATION.to_owned();
        for (shipped, here) in [
            ("server 127.0.0.1:8080;", format!("server {heddle};")),
            ("listen 443 ssl http2;", format!("listen {listen} ssl http2;")),
            (
                "server_name heddle.example.com;",
                "server_name localhost;".to_owned(),
            ),
            (
                "/etc/ssl/heddle/fullchain.pem",
                certificate.certificate.display().to_string(),
            ),
            (
                "/etc/ssl/heddle/privkey.pem",
                certificate.private_key.display().to_string(),
            ),
        ] {
            assert!(site.contains(shipped), "{shipped}");
            site = site.replace(shipped, &here);
        }
        let dir = dir.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|of| format!("{of}_temp_path {dir}/{of};\n"))
            .concat();
        let whole = format!(
            "daemon off;\nmaster_process off;\npid {dir}/nginx.pid;\nerror_log {dir}/error.log;\nevents {{}}\n\
             http {{\naccess_log off;\n{temporary}{site}}}\n"
        );
        let path = format!("{dir}/nginx.conf");
        fs::write(&path, whole).unwrap();
        let run = |extra: &[&str]| {
            let mut command = Command::new(program);
            command
                .args(["-c", &path, "-e", &format!("{dir}/error.log")])
                .args(extra);
            command
        };
        let tested = run(&["-t"]).output().unwrap();
        assert!(
            tested.status.success(),
            "{}",
            String::from_utf8_lossy(&tested.stderr)
        );
        let process = run(&[]).spawn().unwrap();
        let mut nginx = Nginx { process };
        // Written once it listens. Somebody else at the address would answer as well.
        let pid = format!("{dir}/nginx.pid");
        while !fs::read(&pid).is_ok_and(|pid| !pid.is_empty()) {
            if nginx.process.try_wait().unwrap().is_some() {
                panic!("{}", fs::read_to_string(format!("{dir}/error.log")).unwrap());
            }
            pause();
        }
        nginx
    }
}

/// A server behind nginx, and the address of nginx, which the server has to know before nginx has it.
fn start_both(program: &Path, dir: &Path, certificate: &Certificate) -> (Server, Nginx, String) {
    let port = port::free();
    let listen = format!("127.0.0.1:{port}");
    let base = format!("https://localhost:{port}");
    let variables = [
        ("HEDDLE_BASE_URL", base.as_str()),
        ("HEDDLE_TRUSTED_PROXIES", "127.0.0.1"),
    ];
    let server = Server::start(dir, &variables);
    let nginx = Nginx::start(program, dir, &listen, &server.address, certificate);
    (server, nginx, listen)
}

#[test]
fn behind_nginx_streams_flow_addresses_are_true_and_limits_hold() {
    let dir = tempfile::tempdir().unwrap();
    let Some(certificate) = Certificate::make(dir.path(), "own") else {
        return;
    };
    let Some(program) = needs::or_skip("nginx", nginx()) else {
        return;
    };
    let (server, _nginx, listen) = start_both(&program, dir.path(), &certificate);
    let base = format!("https://{}", listen.replace("127.0.0.1", "localhost"));
    let ask = |path: &str, extra: &[&str]| {
        let answered = certificate.curl(&listen, path).args(extra).output().unwrap();
        assert!(answered.status.success(), "{path}: {answered:?}");
        text(&answered)
    };
    assert_eq!(ask("/readyz", &[]), r#"{"status":"ok"}"#);
    let status = ["-o", "/dev/null", "-w", "%{http_code}"];
    assert_eq!(ask("/metrics", &status), "404");

    // The address that nginx has seen counts, whatever the client claims.
    let account = json!({"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"});
    let registered = ask(
        "/api/session/register",
        &[
            "-i",
            "--interface",
            "127.0.0.2",
            "-H",
            "X-Forwarded-For: 203.0.113.9",
            "-H",
            &format!("Origin: {base}"),
            "-H",
            "content-type: application/json",
            "-d",
            &account.to_string(),
        ],
    );
    assert!(registered.contains("; Secure"), "{registered}");
    let login = json!({"email": "ann@example.com", "password": "correct-horse"}).to_string();
    let (_, login) = server.call("POST", "/api/auth/login", "", &login);
    let token = login["data"]["token"].as_str().unwrap();
    let (_, log) = server.call("GET", "/api/audit?of=account", token, "");
    let entries = log["data"].as_array().unwrap();
    assert!(
        entries.iter().any(|entry| entry["address"] == "127.0.0.2"),
        "{log}"
    );
    assert!(!log.to_string().contains("203.0.113.9"), "{log}");

    // heddle's own limit, in its own words; and nginx's beyond all of them.
    let large = dir.path().join("large");
    for (bytes, expected) in [
        (9 << 20, "PAYLOAD_TOO_LARGE"),
        (49 << 20, "413 Request Entity Too Large"),
    ] {
        fs::write(&large, vec![b' '; bytes]).unwrap();
        let body = format!("@{}", large.display());
        let bearer = format!("authorization: Bearer {token}");
        let refused = ask(
            "/api/workspaces",
            &[
                "--http1.1",
                "-H",
                &bearer,
                "-H",
                "content-type: application/json",
                "-H",
                "expect:",
                "--data-binary",
                &body,
            ],
        );
        assert!(refused.contains(expected), "{bytes}: {refused}");
    }

    // An event arrives while the stream is open.
    let graph = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": 1}}},
        ],
        "edges": [{"source": "start", "target": "end"}],
    });
    let deployment = server.deploy_as(token, &graph);
    let path = format!("/api/deployments/{deployment}/runs/stream");
    let mut tail = certificate
        .curl(&listen, &path)
        .args(["-i", "-N", "-H", &format!("authorization: Bearer {token}")])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(tail.stdout.take().unwrap()).lines();
    // With the headers, the tail is open.
    let head = lines.next().unwrap().unwrap();
    assert!(head.contains(" 200"), "{head}");
    let mut events = lines.map_while(Result::ok).filter_map(|line| {
        let data = line.strip_prefix("data: ")?.to_owned();
        serde_json::from_str::<Value>(&data).ok()
    });
    let path = format!("/api/deployments/{deployment}/execute");
    let (status, run) = server.call("POST", &path, token, "{}");
    assert!(status < 300, "{run}");
    let id = run["data"]["runId"].as_str().unwrap();
    assert!(events.any(|event| event.to_string().contains(id)));
    assert!(tail.try_wait().unwrap().is_none(), "the stream is still open");
    tail.kill().unwrap();
    tail.wait().unwrap();
    assert_eq!(server.stop(), Some(0));
}
