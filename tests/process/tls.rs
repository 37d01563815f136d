//! The server's own TLS: with curl as its client, over TCP.

use crate::certificate::{Certificate, text};
use crate::server::{Server, heddle, output};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The first bytes of a handshake: a record with a ClientHello that is longer than what follows.
const HALF_A_HELLO: &[u8] = &[0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03];

fn set(certificate: &Certificate) -> [(&str, &str); 2] {
    [
        ("HEDDLE_TLS_CERT", certificate.certificate.to_str().unwrap()),
        ("HEDDLE_TLS_KEY", certificate.private_key.to_str().unwrap()),
    ]
}

#[test]
fn a_server_with_a_certificate_speaks_tls_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let Some(certificate) = Certificate::make(dir.path(), "own") else {
        return;
    };
    let server = Server::start(dir.path(), &set(&certificate));
    let answer = certificate.curl(&server.address, "/readyz").output().unwrap();
    assert_eq!(text(&answer), r#"{"status":"ok"}"#, "{answer:?}");

    let stranger = Certificate::make(dir.path(), "stranger").unwrap();
    let refused = stranger.curl(&server.address, "/readyz").output().unwrap();
    assert_eq!(refused.status.code(), Some(60), "{refused:?}");

    // A body beyond the limit: the answer arrives although the rest of the body is not read.
    let large = dir.path().join("large");
    fs::write(&large, vec![b'x'; 4 << 20]).unwrap();
    let mut request = certificate.curl(&server.address, "/api/auth/login");
    request.args([
        "-H",
        "content-type: application/json",
        "-w",
        "%{http_code}",
        "--data-binary",
    ]);
    let answer = request.arg(format!("@{}", large.display())).output().unwrap();
    assert!(text(&answer).ends_with("413"), "{answer:?}");

    let mut plain = TcpStream::connect(&server.address).unwrap();
    plain
        .write_all(b"GET /healthz HTTP/1.1\r\nhost: heddle\r\n\r\n")
        .unwrap();
    let mut told = Vec::new();
    // How it ends, in order or by a reset, is up to the system.
    let _ = plain.read_to_end(&mut told);
    assert!(!told.starts_with(b"HTTP/"), "{}", String::from_utf8_lossy(&told));
    let metrics = certificate.curl(&server.address, "/metrics").output().unwrap();
    let failed = text(&metrics)
        .lines()
        .any(|line| line.starts_with("heddle_http_tls_failures_total ") && !line.ends_with(" 0"));
    assert!(failed, "{}", text(&metrics));

    let mut health = heddle(dir.path());
    health
        .args(["healthcheck", "--ready", "--listen", &server.address])
        .envs(set(&certificate));
    assert_eq!(output(&mut health), (0, "ok\n".to_owned(), String::new()));
    let mut without_settings = heddle(dir.path());
    without_settings.args(["healthcheck", "--listen", &server.address]);
    let (code, _, told) = output(&mut without_settings);
    assert!(code == 1 && told.contains("`tls_cert`"), "{told}");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_changed_certificate_is_used_without_a_restart_and_one_that_is_none_is_not() {
    let dir = tempfile::tempdir().unwrap();
    let Some(certificate) = Certificate::make(dir.path(), "own") else {
        return;
    };
    let next = Certificate::make(dir.path(), "next").unwrap();
    let mut command = heddle(dir.path());
    command.arg("serve");
    let mut process = Server::spawn(command, &set(&certificate));
    let mut log = BufReader::new(process.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let server = Server::listening(process).unwrap();
    let is_well = |of: &Certificate| {
        let answer = of.curl(&server.address, "/healthz").output().unwrap();
        answer.status.success()
    };
    assert!(is_well(&certificate) && !is_well(&next));

    replace(&next.certificate, &certificate.certificate);
    replace(&next.private_key, &certificate.private_key);
    // Possibly seen between the two, and then refused once.
    assert!(log.any(|line| line.contains("Loaded the changed TLS certificate")));
    assert!(is_well(&next));

    fs::write(dir.path().join("nonsense"), "nonsense").unwrap();
    replace(&dir.path().join("nonsense"), &certificate.certificate);
    let told = log.find(|line| line.contains("The changed TLS certificate is not used"));
    assert!(told.is_some_and(|line| line.contains("own.pem has no certificate in PEM")));
    assert!(is_well(&next));
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_certificate_that_could_not_be_used_is_tried_again_and_reported_once() {
    let dir = tempfile::tempdir().unwrap();
    let Some(certificate) = Certificate::make(dir.path(), "own") else {
        return;
    };
    let mut command = heddle(dir.path());
    command.arg("serve");
    let mut process = Server::spawn(command, &set(&certificate));
    let mut log = BufReader::new(process.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let server = Server::listening(process).unwrap();

    // Between the two nothing that a look shows is different, as after a change of permissions.
    let good = fs::read(&certificate.certificate).unwrap();
    let changed = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    write_as_of(&certificate.certificate, &vec![b'x'; good.len()], changed);
    let refused = "The changed TLS certificate is not used";
    assert!(log.any(|line| line.contains(refused)));
    write_as_of(&certificate.certificate, &good, changed);
    let until_loaded: Vec<String> = log
        .by_ref()
        .take_while(|line| !line.contains("Loaded the changed TLS certificate"))
        .collect();
    assert!(
        !until_loaded.iter().any(|line| line.contains(refused)),
        "{until_loaded:?}"
    );
    assert_eq!(server.stop(), Some(0));
}

/// Replaces a file at once by one that was changed at that time.
fn write_as_of(path: &Path, bytes: &[u8], changed: SystemTime) {
    let beside = path.with_extension("new");
    fs::write(&beside, bytes).unwrap();
    let file = fs::File::options().write(true).open(&beside).unwrap();
    file.set_modified(changed).unwrap();
    fs::rename(&beside, path).unwrap();
}

/// As programs replace certificates: at once.
fn replace(from: &Path, to: &Path) {
    let beside = to.with_extension("new");
    fs::copy(from, &beside).unwrap();
    fs::rename(&beside, to).unwrap();
}

#[test]
fn a_handshake_that_does_not_go_on_is_ended() {
    let dir = tempfile::tempdir().unwrap();
    let Some(certificate) = Certificate::make(dir.path(), "own") else {
        return;
    };
    let [cert, key] = set(&certificate);
    let server = Server::start(dir.path(), &[cert, key, ("HEDDLE_HEADER_TIMEOUT", "200ms")]);
    for begun in [&b""[..], HALF_A_HELLO] {
        let mut stream = TcpStream::connect(&server.address).unwrap();
        stream.write_all(begun).unwrap();
        let mut told = Vec::new();
        // Returns once the server has closed the connection.
        let _ = stream.read_to_end(&mut told);
        assert_eq!(told, b"", "nothing was agreed that anything could be said by");
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn what_is_wrong_with_a_certificate_is_told_at_the_start() {
    let dir = tempfile::tempdir().unwrap();
    let (Some(own), Some(other)) = (
        Certificate::make(dir.path(), "own"),
        Certificate::make(dir.path(), "other"),
    ) else {
        return;
    };
    let [cert, key] = set(&own);
    let [_, foreign] = set(&other);
    for (variables, code, expected) in [
        (&[cert][..], 2, "HEDDLE_TLS_CERT needs tls_key"),
        (&[key], 2, "HEDDLE_TLS_KEY needs tls_cert"),
        (&[cert, foreign], 4, "can't be used together"),
        (&[("HEDDLE_TLS_CERT", "nowhere"), key], 4, "nowhere can't be read"),
        (&[("HEDDLE_TLS_CERT", key.1), key], 4, "has no certificate in PEM"),
        (
            &[cert, ("HEDDLE_TLS_KEY", cert.1)],
            4,
            "has no private key in PEM",
        ),
    ] {
        let mut command = heddle(dir.path());
        command
            .args(["serve", "--listen", "127.0.0.1:0"])
            .envs(variables.iter().copied());
        let (found, _, told) = output(&mut command);
        assert_eq!(found, code, "{told}");
        assert!(told.contains(expected), "{told}");
    }
}
