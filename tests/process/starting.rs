//! The first start, what stops one, and the end.

use crate::server::{Server, heddle, output};
use std::os::unix::fs::PermissionsExt;

const REGISTER: &str =
    r#"{"email": "ann@example.com", "firstName": "Ann", "lastName": "Lee", "password": "correct-horse"}"#;
const LOGIN: &str = r#"{"email": "ann@example.com", "password": "correct-horse"}"#;

#[test]
fn the_first_start_makes_private_keys_and_the_next_one_knows_everybody() {
    let dir = tempfile::tempdir().unwrap();
    let server = Server::start(dir.path(), &[]);
    let (status, registered) = server.call("POST", "/api/auth/register", "", REGISTER);
    assert_eq!(status, 201, "{registered}");
    let token = registered["data"]["token"].as_str().unwrap().to_owned();
    assert_eq!(server.stop(), Some(0));
    for key in ["master-key", "jwt-secret"] {
        let mode = dir
            .path()
            .join("heddle-data")
            .join(key)
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{key}");
    }
    let server = Server::start(dir.path(), &[]);
    assert_eq!(server.call("GET", "/api/auth/me", &token, "").0, 200);
    assert_eq!(server.call("POST", "/api/auth/login", "", LOGIN).0, 200);
}

#[test]
fn the_first_start_says_where_the_keys_are() {
    let dir = tempfile::tempdir().unwrap();
    let mut process = heddle(dir.path())
        .args(["serve", "--listen", "127.0.0.1:0"])
        .stderr(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let log = std::io::BufReader::new(process.stderr.take().unwrap());
    let told: Vec<String> = std::io::BufRead::lines(log).take(2).map(Result::unwrap).collect();
    process.kill().unwrap();
    process.wait().unwrap();
    for (line, key) in told
        .iter()
        .zip(["heddle-data/master-key", "heddle-data/jwt-secret"])
    {
        assert!(line.contains(key), "{told:?}");
    }
}

#[test]
fn a_misspelt_setting_in_the_file_stops_the_start_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    for (text, expected) in [
        (
            "listn = \"127.0.0.1:0\"\n",
            "`listn` in heddle.toml is unknown; did you mean `listen`?",
        ),
        (
            "token_ttl = \"soon\"\n",
            "`token_ttl` in heddle.toml must be a duration",
        ),
        (
            "executor_groups = \"0198c0de-0000-7000-8000-000000000001\"\n",
            "`executor_groups` in heddle.toml needs run_isolation = process",
        ),
        (
            "run_memory_ceiling = \"128MiB\"\n",
            "`run_memory_ceiling` in heddle.toml must be at least run_memory",
        ),
        (
            "run_memory = \"5\"\n",
            "`run_memory` in heddle.toml must be at least 16MiB",
        ),
        (
            "run_effects_ceiling = 999\n",
            "`run_effects_ceiling` in heddle.toml must be at least run_effects",
        ),
        (
            "run_effects_ceiling = 100001\n",
            "`run_effects_ceiling` in heddle.toml must be at most 100000",
        ),
        (
            "run_effects = 0\n",
            "`run_effects` in heddle.toml must be from 1 to 100000",
        ),
        (
            "workspace_memory_mb_per_run = 8\n",
            "`workspace_memory_mb_per_run` in heddle.toml must be 0 or at least 16",
        ),
        (
            "run_isolation = \"process\"\nexecutor_groups = \"acme\"\n",
            "has \"acme\", which is not the id of a workspace or user",
        ),
        (
            "run_isolation = \"process\"\nexecutor_groups = \"0198c0de-0000-7000-8000-000000000001:0\"\n",
            "has \"0\" as a number of processes, which must be from 1 to 256",
        ),
        (
            "run_isolation = \"process\"\nexecutor_groups = \"0198c0de-0000-7000-8000-000000000001; \
             0198c0de-0000-7000-8000-000000000001\"\n",
            "has 0198c0de-0000-7000-8000-000000000001 twice",
        ),
        (
            "registration = \"friends\"\n",
            "`registration` in heddle.toml must be open, invitation, domains or closed",
        ),
        (
            "registration = \"domains\"\nregistration_domains = [\"example.com\"]\n",
            "`registration` in heddle.toml domains needs mail_url",
        ),
        (
            "registration_domains = \"example.com\"\n",
            "`registration_domains` in heddle.toml needs registration = domains",
        ),
        (
            "mail_url = \"smtp://127.0.0.1:25?tls=none\"\n",
            "HEDDLE_MAIL_FROM is required with mail_url",
        ),
        (
            "mail_url = \"http://mail.example.com\"\nmail_from = \"heddle@example.com\"\n",
            "`mail_url` in heddle.toml must be smtp://",
        ),
        (
            "mail_url = \"smtps://mail.example.com\"\nmail_from = \"nobody\"\n",
            "`mail_from` in heddle.toml must be an email address",
        ),
    ] {
        std::fs::write(dir.path().join("heddle.toml"), text).unwrap();
        let (code, _, told) = output(heddle(dir.path()).arg("serve"));
        assert_eq!(code, 2);
        assert!(told.contains(expected), "{told}");
    }
}

/// What Kubernetes sets for a service named `heddle`, and for one named `heddle-web`.
const OF_SERVICES: [(&str, &str); 9] = [
    ("HEDDLE_PORT", "tcp://10.0.0.1:8080"),
    ("HEDDLE_PORT_8080_TCP", "tcp://10.0.0.1:8080"),
    ("HEDDLE_PORT_8080_TCP_ADDR", "10.0.0.1"),
    ("HEDDLE_PORT_8080_TCP_PORT", "8080"),
    ("HEDDLE_PORT_8080_TCP_PROTO", "tcp"),
    ("HEDDLE_SERVICE_HOST", "10.0.0.1"),
    ("HEDDLE_SERVICE_PORT", "8080"),
    ("HEDDLE_SERVICE_PORT_HTTP", "8080"),
    ("HEDDLE_WEB_SERVICE_HOST", "10.0.0.2"),
];

#[test]
fn variables_of_others_do_not_stop_a_start() {
    let dir = tempfile::tempdir().unwrap();
    let mut command = heddle(dir.path());
    command.arg("serve").env("HEDDLE_LISTN", "127.0.0.1:1");
    let mut process = Server::spawn(command, &OF_SERVICES);
    let mut log = std::io::BufReader::new(process.stderr.take().unwrap());
    let mut first = String::new();
    std::io::BufRead::read_line(&mut log, &mut first).unwrap();
    let warning = "HEDDLE_LISTN is unknown and was ignored; did you mean HEDDLE_LISTEN?";
    assert!(first.contains(warning), "{first}");
    let server = Server::listening(process).unwrap();
    assert_eq!(server.stop(), Some(0));
    let mut rest = String::new();
    std::io::Read::read_to_string(&mut log, &mut rest).unwrap();
    assert!(!rest.contains("was ignored"), "{rest}");

    let (code, _, told) = output(heddle(dir.path()).arg("config").envs(OF_SERVICES));
    assert_eq!((code, told.as_str()), (0, ""));
    // Whoever means a port by it is told.
    let (code, _, told) = output(heddle(dir.path()).arg("config").env("HEDDLE_PORT", "80"));
    assert_eq!(code, 0);
    assert!(
        told.starts_with("warning: HEDDLE_PORT is unknown and was ignored"),
        "{told}"
    );
}

#[test]
fn an_address_of_a_kubernetes_service_is_not_taken_for_a_setting() {
    let dir = tempfile::tempdir().unwrap();
    for (name, value) in [
        ("HEDDLE_LISTEN", "tcp://10.0.0.1:8080"),
        ("HEDDLE_MAIL_DOMAIN", "udp://10.0.0.1:53"),
        ("HEDDLE_MASTER_KEY_FILE", "tcp://10.0.0.1:8080"),
    ] {
        let (code, _, told) = output(heddle(dir.path()).arg("serve").env(name, value));
        assert_eq!(code, 2, "{told}");
        let expected = format!("{name} has the address of a Kubernetes service as its value");
        assert!(
            told.contains(&expected) && told.contains("enableServiceLinks: false"),
            "{told}"
        );
    }
}

#[test]
fn a_second_server_on_the_same_data_refuses_to_start() {
    let dir = tempfile::tempdir().unwrap();
    let first = Server::start(dir.path(), &[]);
    let (code, _, told) = output(heddle(dir.path()).args(["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(code, 1);
    assert!(told.contains("another server (process"), "{told}");
    drop(first);
    drop(Server::start(dir.path(), &[]));
}

#[test]
fn a_lost_master_key_is_not_replaced() {
    let dir = tempfile::tempdir().unwrap();
    drop(Server::start(dir.path(), &[]));
    std::fs::remove_file(dir.path().join("heddle-data/master-key")).unwrap();
    let (code, _, told) = output(heddle(dir.path()).args(["serve", "--listen", "127.0.0.1:0"]));
    assert_eq!(code, 2);
    assert!(told.contains("restore the file"), "{told}");
    assert!(!dir.path().join("heddle-data/master-key").exists());
}

#[test]
fn settings_are_shown_with_their_source_and_secrets_masked() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(
        dir.path().join("heddle.toml"),
        "workers = 3\nretention = \"7d\"\n",
    )
    .unwrap();
    let mut command = heddle(dir.path());
    command
        .args(["config", "--workers", "5"])
        .env("HEDDLE_INBOUND_SECRET", "very-secret");
    let (code, told, _) = output(&mut command);
    assert_eq!(code, 0);
    let line = |name: &str| {
        told.lines()
            .find(|line| line.starts_with(name))
            .unwrap()
            .to_owned()
    };
    assert!(line("workers ").ends_with("= 5  # flag"), "{told}");
    assert!(line("retention ").ends_with("= 7d  # heddle.toml"), "{told}");
    assert!(
        line("inbound_secret").ends_with("= (set)  # environment"),
        "{told}"
    );
    assert!(!told.contains("very-secret"));
}

#[test]
fn the_doctor_finds_a_key_that_others_can_read() {
    let dir = tempfile::tempdir().unwrap();
    drop(Server::start(dir.path(), &[]));
    let free = ["doctor", "--listen", "127.0.0.1:0"];
    let (code, told, _) = output(heddle(dir.path()).args(free));
    assert_eq!(code, 0, "{told}");
    let key = dir.path().join("heddle-data/jwt-secret");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let (code, told, _) = output(heddle(dir.path()).args(free));
    assert_eq!(code, 1);
    assert!(told.contains("chmod 600"), "{told}");
}

/// Settings of which any text is one: places, secrets, names of parts of the program; and the database, which is looked at together with
/// its key.
const TEXTS: &[&str] = &[
    "data_dir",
    "cache_dir",
    "precompiled_dir",
    "database_url",
    "file_store",
    "sqlite_dir",
    "metrics_token",
    "inbound_secret",
    "log",
];

#[test]
fn a_value_that_makes_no_sense_is_told_with_its_setting() {
    let dir = tempfile::tempdir().unwrap();
    let settings = heddle_api::config::table::SETTINGS.iter();
    for setting in settings.filter(|setting| !TEXTS.contains(&setting.name)) {
        let variable = format!("HEDDLE_{}", setting.name.to_uppercase());
        let mut command = heddle(dir.path());
        command.arg("doctor").env(&variable, "\u{2717} nonsense");
        let (code, told, problem) = output(&mut command);
        let told = format!("{told}{problem}");
        let is_named = told.contains(&variable) || told.contains(setting.name);
        assert!(code != 0 && is_named, "{variable}: {code}: {told}");
    }
}

#[test]
fn the_page_on_the_server_lists_every_setting_as_the_server_knows_it() {
    let page = include_str!("../../docs/server.md");
    for setting in heddle_api::config::table::SETTINGS {
        let row = format!("| `{}` | {} | {} |", setting.name, setting.default, setting.help);
        assert!(page.contains(&row), "docs/server.md lacks: {row}");
    }
    let (_, rest) = page.split_once("\n| setting | default | |\n").unwrap();
    let (table, _) = rest.split_once("\n\n").unwrap();
    let is_known = |name: &str| {
        let mut all = heddle_api::config::table::SETTINGS.iter();
        all.any(|setting| setting.name == name)
    };
    for row in table.lines().skip(1) {
        let name = row.split('`').nth(1).unwrap();
        assert!(is_known(name), "docs/server.md has {name}, which is no setting");
    }
}
