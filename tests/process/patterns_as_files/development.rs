//! `heddle dev` and `heddle tap --forward`: a pattern that runs here as it is saved, and what senders send to the server.

use super::Workspace;
use crate::sender::sign;
use crate::server::output;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// Where a machine is slow, compiling takes its time.
const PATIENCE: Duration = Duration::from_secs(120);

/// A command that goes on until it is told to end, with the lines that it prints.
struct Going {
    child: Child,
    lines: Receiver<String>,
    seen: Vec<String>,
}

impl Going {
    fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (sender, lines) = channel();
        let outputs: [Box<dyn Read + Send>; 2] = [
            Box::new(child.stdout.take().unwrap()),
            Box::new(child.stderr.take().unwrap()),
        ];
        for output in outputs {
            let sender = sender.clone();
            std::thread::spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    let _ = sender.send(line);
                }
            });
        }
        Going {
            child,
            lines,
            seen: Vec::new(),
        }
    }

    /// Waits for a line with this text in it.
    fn until(&mut self, text: &str) -> String {
        loop {
            let line = self.lines.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("no `{text}` in {:#?}", self.seen));
            self.seen.push(line.clone());
            if line.contains(text) {
                return line;
            }
        }
    }

    fn count(&self, text: &str) -> usize {
        self.seen.iter().filter(|line| line.contains(text)).count()
    }

    /// Has it end, as by Ctrl-C: its exit code.
    fn interrupt(&mut self) -> Option<i32> {
        let id = self.child.id().to_string();
        let told = Command::new("kill").args(["-INT", &id]).status().unwrap();
        assert!(told.success());
        self.child.wait().unwrap().code()
    }
}

impl Drop for Going {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Sends `{"n": …}` to a webhook: the status.
fn send(url: &str, secret: &str, n: u32) -> u16 {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = json!({ "n": n }).to_string();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /{path} HTTP/1.1\r\nhost: heddle\r\nconnection: close\r\ncontent-type: application/json\r\n\
         x-webhook-signature: {}\r\nx-kept: yes\r\ncontent-length: {}\r\n\r\n{body}",
        sign(secret, &body),
        body.len()
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().parse().unwrap()
}

#[test]
fn what_is_saved_runs_here_and_what_senders_send_is_sent_on_once() {
    let it = Workspace::start();
    let graph = json!({
        "nodes": [
            {"id": "hook", "type": "OnWebhook", "position": {"x": 0, "y": 0}, "data": {"label": "Order"}},
            {"id": "end", "type": "Return", "position": {"x": 0, "y": 0},
                "data": {"label": "End", "parameters": {"value": "{{ $input.body.n * $vars.FACTOR }}"}}},
        ],
        "edges": [{"id": "e1", "source": "hook", "target": "end"}],
    });
    let orders = it.draw("Orders", &graph);
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    let environment = json!({"name": "production", "variables": {"FACTOR": 3}, "secrets": ["TOKEN"]});
    let path = it.files().join("environments/production.json");
    fs::write(path, environment.to_string()).unwrap();

    // Deployed here, with the variables of the file, and traced.
    let temporary = it.home.path().join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut dev = it.command(&it.files(), &["dev"]);
    dev.env("TMPDIR", &temporary).env(
        "HEDDLE_CACHE_DIR",
        concat!(env!("CARGO_TARGET_TMPDIR"), "/process"),
    );
    let mut dev = Going::start(&mut dev);
    dev.until("the secret TOKEN has no value here");
    dev.until("is deployed");
    let line = dev.until("/webhooks/");
    let (_, hook) = line.split_once("POST ").unwrap();
    let (hook, secret) = hook.split_once("  heddle, secret ").unwrap();
    assert_eq!(send(hook, secret, 14), 202);
    dev.until("orders  success  ");
    dev.until("event: POST {\"n\":14}");
    dev.until("End Return");
    dev.until("output: 42");

    // Broken: shown where, and what was deployed goes on. Mended: deployed.
    it.edit("orders", "$input.body", "$inptu.body");
    dev.until("^^^^^^");
    dev.until("orders: not deployed");
    assert_eq!(send(hook, secret, 1), 202);
    dev.until("output: 3");
    it.edit("orders", "$inptu.body.n", "(0 + $input.body.n)");
    dev.until("is deployed");
    // Half a file is not deployed; the whole one is told again.
    let whole = fs::read(it.file("orders/pattern.json")).unwrap();
    fs::write(it.file("orders/pattern.json"), "{").unwrap();
    dev.until("orders: not deployed");
    fs::write(it.file("orders/pattern.json"), whole).unwrap();
    dev.until("is deployed");

    // What comes to the server comes here as well, also what came while nobody forwarded it.
    let path = format!("/api/patterns/{orders}/webhooks");
    let there = it.server.call("GET", &path, &it.token, "").1["data"]["endpoints"][0].clone();
    let text = |name: &str| there[name].as_str().unwrap().to_owned();
    let (url, there) = (text("webhookUrl"), text("webhookSecret"));
    assert_ne!(there, secret);
    assert_eq!(send(&url, &there, 4), 202);
    let tap = ["tap", "orders", "--forward"];
    let mut forwarding = Going::start(&mut it.command(&it.files(), &tap));
    forwarding.until("forwarding what comes from now on");
    assert_eq!(send(&url, &there, 5), 202);
    forwarding.until("  202 {\"");
    dev.until("output: 15");
    drop(forwarding);
    assert_eq!(send(&url, &there, 6), 202);
    let mut forwarding = Going::start(&mut it.command(&it.files(), &tap));
    forwarding.until("goes on where it was");
    dev.until("output: 18");
    assert_eq!(send(&url, &there, 7), 202);
    dev.until("output: 21");
    assert_eq!(
        ["output: 12", "output: 15", "output: 18"].map(|text| dev.count(text)),
        [0, 1, 1]
    );

    // The server and its data go with the command.
    assert!(it.files().join(".heddle/dev.json").is_file());
    assert_eq!(dev.interrupt(), Some(0));
    assert!(!it.files().join(".heddle/dev.json").exists());
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(TcpStream::connect(hook["http://".len()..].split('/').next().unwrap()).is_err());
}

#[test]
fn secrets_are_not_read_through_a_link_that_came_with_the_directory() {
    let it = Workspace::start();
    it.draw("Orders", &super::graph(["{{ 1 }}", "{{ $input }}"]));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    let environment = json!({"name": "production", "variables": {}, "secrets": ["OTHER", "TOKEN"]});
    let path = it.files().join("environments/production.json");
    fs::write(path, environment.to_string()).unwrap();
    let (theirs, own) = (
        it.home.path().join("keys.json"),
        it.files().join(".heddle/secrets.json"),
    );
    fs::write(&theirs, r#"{"OTHER": "correct-horse"}"#).unwrap();
    std::os::unix::fs::symlink(&theirs, &own).unwrap();
    let dev = |arguments: &[&str]| {
        let mut dev = it.command(&it.files(), arguments);
        dev.env(
            "HEDDLE_CACHE_DIR",
            concat!(env!("CARGO_TARGET_TMPDIR"), "/process"),
        );
        Going::start(&mut dev)
    };
    let mut linked = dev(&["dev"]);
    linked.until("secrets.json: this is a link that leads out of its directory");
    // In one step, in place of the link.
    let real = it.home.path().join("real.json");
    fs::write(&real, r#"{"OTHER": "battery-staple"}"#).unwrap();
    fs::rename(&real, &own).unwrap();
    linked.until("the secret TOKEN has no value here");
    assert_eq!(linked.count("the secret OTHER has no value here"), 0);
    assert_eq!(linked.interrupt(), Some(0));

    // Whoever names a file means it.
    let mut named = dev(&["dev", "--secrets", theirs.to_str().unwrap()]);
    named.until("the secret TOKEN has no value here");
    assert_eq!(named.count("the secret OTHER has no value here"), 0);
    assert_eq!(named.interrupt(), Some(0));
}

#[test]
fn a_whole_day_from_the_console_to_a_roll_back() {
    let it = Workspace::start();
    it.draw(
        "Orders",
        &super::graph(["{{ $input.n + 1 }}", "{{ $input * 2 }}"]),
    );
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    let test = json!({"name": "One", "startedAt": "2026-11-26T09:00:00.000Z", "event": {"n": 1},
        "expect": {"nodes": {"second": 4}}});
    fs::create_dir_all(it.file("orders/tests")).unwrap();
    fs::write(it.file("orders/tests/one.json"), test.to_string()).unwrap();
    it.done(&["test"]);

    // Broken: the tests say so, and nothing is pushed.
    it.edit("orders", "{{ $input * 2 }}", "{{ $inptu * 2 }}");
    assert_ne!(it.heddle(&["test"]).0, 0);
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("there is no `$inptu`"), "{told}");
    it.edit("orders", "{{ $inptu * 2 }}", "{{ 2 * $input }}");
    it.done(&["test"]);
    let pushed = it.done(&["push", "-m", "The other way round"]);
    assert!(pushed.contains("orders: version 2"), "{pushed}");
    it.done(&["deploy", "orders", "--env", "production", "--require-tests"]);
    let path = format!("/api/workspaces/{}/environments", it.id);
    it.server.call("POST", &path, &it.token, r#"{"name": "staging"}"#);
    it.done(&["promote", "orders", "--from", "production", "--to", "staging"]);

    // Worse than it was: what was deployed before is deployed again.
    it.edit("orders", "{{ 2 * $input }}", "{{ 3 * $input }}");
    it.done(&["push"]);
    it.done(&["deploy", "orders", "--env", "production"]);
    let deployed = || {
        let (_, all) = it.server.call("GET", "/api/deployments", &it.token, "");
        let all = all["data"].as_array().unwrap().clone();
        let of = |name: &str| {
            let found = all.iter().find(|row| row["environmentName"] == name);
            found.unwrap_or(&Value::Null).clone()
        };
        [of("production"), of("staging")]
    };
    let versions = |all: [Value; 2]| all.map(|row| row["versionNumber"].clone());
    assert_eq!(versions(deployed()), [json!(3), json!(2)]);
    let back = ["deploy", "orders", "--env", "production", "--version-number", "2"];
    it.done(&back);
    assert_eq!(versions(deployed()), [json!(2), json!(2)]);

    // What its runs have done is printed, and the command ends.
    let [production, _] = deployed();
    let id = production["id"].as_str().unwrap();
    let path = format!("/api/deployments/{id}/execute");
    it.server
        .call("POST", &path, &it.token, r#"{"eventData": {"n": 1}}"#);
    it.server.await_ends(&it.token, id);
    let logs = it.done(&["logs", "orders"]);
    assert!(logs.contains("success") && logs.lines().count() == 1, "{logs}");

    // Followed, each run is printed once it has ended, with its environment and pattern.
    let mut following = Going::start(&mut it.command(&it.files(), &["logs", "orders", "-f"]));
    following.until("following what happens from now on");
    it.server
        .call("POST", &path, &it.token, r#"{"eventData": {"n": 2}}"#);
    let line = following.until("  success  ");
    assert!(line.contains("production") && line.ends_with("Orders"), "{line}");

    // What a rule of the environment refuses is told with the flag that it takes.
    let environment = production["environmentId"].as_str().unwrap();
    let rules = format!("/api/workspaces/{}/environments/{environment}/rules", it.id);
    it.server
        .call("PUT", &rules, &it.token, r#"{"requireReplay": true}"#);
    let again = ["deploy", "orders", "--env", "production"];
    let (code, _, told) = it.heddle(&again);
    assert!(code == 1 && told.contains("--acknowledge-differences"), "{told}");

    // A key that the server does not know is said to be one.
    let mut status = it.command(&it.files(), &["status"]);
    let (code, _, told) = output(status.env("HEDDLE_API_KEY", "hdl_unknown"));
    assert!(
        code == 1 && told.contains("does not accept this API key"),
        "{told}"
    );
}
