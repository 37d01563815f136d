//! A workspace as a directory: two people, one in the console and one with files, and CI, which has no memory of its own.

mod development;
mod environments;
mod examples;
mod repository;
mod strangers;

use crate::server::{Server, heddle, output};
use serde_json::{Value, json};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A server, a user's key, and a directory that is their workspace.
struct Workspace {
    home: TempDir,
    server: Server,
    token: String,
    id: String,
    key: String,
}

fn node(id: &str, value: &str) -> Value {
    json!({"id": id, "type": "Transform", "position": {"x": 0, "y": 0}, "data": {"label": id, "parameters": {"value": value}}})
}

/// An environment that is only on the server, as `status --json` has it.
fn unpulled(name: &str) -> String {
    format!("{{\"file\":\"environments/{name}.json\",\"here\":\"gone\",\"there\":\"new\",\"missing\":[]}}")
}

fn graph(values: [&str; 2]) -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual", "position": {"x": 0, "y": 0}, "data": {"label": "Start"}},
            node("first", values[0]),
            node("second", values[1]),
        ],
        "edges": [
            {"id": "e1", "source": "start", "target": "first"},
            {"id": "e2", "source": "first", "target": "second"},
        ],
    })
}

impl Workspace {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let server = Server::start(home.path(), &[]);
        let token = server.register();
        let (_, all) = server.call("GET", "/api/workspaces", &token, "");
        let id = all["data"][0]["id"].as_str().unwrap().to_owned();
        let (status, key) = server.call("POST", "/api/auth/api-keys", &token, r#"{"name": "files"}"#);
        assert_eq!(status, 201, "{key}");
        let key = key["data"]["key"].as_str().unwrap().to_owned();
        Workspace {
            home,
            server,
            token,
            id,
            key,
        }
    }

    fn url(&self) -> String {
        format!("http://{}", self.server.address)
    }

    fn files(&self) -> PathBuf {
        self.home.path().join("files")
    }

    fn command(&self, at: &Path, arguments: &[&str]) -> Command {
        let mut command = heddle(at);
        command.env("HOME", self.home.path()).args(arguments);
        // Git is looked for as people have it.
        command.env("PATH", std::env::var_os("PATH").unwrap());
        command
    }

    fn heddle(&self, arguments: &[&str]) -> (i32, String, String) {
        output(&mut self.command(&self.files(), arguments))
    }

    /// The same, which must do what it was told: its output.
    fn done(&self, arguments: &[&str]) -> String {
        let (code, out, told) = self.heddle(arguments);
        assert_eq!(code, 0, "{arguments:?}: {out}{told}");
        out
    }

    fn login(&self) {
        let mut command = self.command(self.home.path(), &["login", &self.url()]);
        let mut login = command
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        login
            .stdin
            .take()
            .unwrap()
            .write_all(self.key.as_bytes())
            .unwrap();
        let ended = login.wait_with_output().unwrap();
        assert!(
            ended.status.success(),
            "{}",
            String::from_utf8_lossy(&ended.stderr)
        );
    }

    /// A pattern as somebody makes it in the console: its id.
    fn draw(&self, name: &str, graph: &Value) -> String {
        let body = json!({"name": name, "graphData": graph}).to_string();
        let (status, made) = self
            .server
            .call("POST", "/api/patterns/import", &self.token, &body);
        assert_eq!(status, 201, "{made}");
        made["id"].as_str().unwrap().to_owned()
    }

    fn save(&self, id: &str, graph: &Value) {
        let body = json!({ "graphData": graph }).to_string();
        let path = format!("/api/patterns/{id}");
        let (status, saved) = self.server.call("PUT", &path, &self.token, &body);
        assert_eq!(status, 200, "{saved}");
    }

    fn stored(&self, id: &str) -> Value {
        self.server
            .call("GET", &format!("/api/patterns/{id}"), &self.token, "")
            .1
    }

    fn file(&self, path: &str) -> PathBuf {
        self.files().join("patterns").join(path)
    }

    /// Replaces a text in a pattern's file, as an editor does.
    fn edit(&self, pattern: &str, from: &str, to: &str) {
        let path = self.file(pattern).join("pattern.json");
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    }
}

#[test]
fn two_people_change_one_pattern_and_nothing_is_lost() {
    let it = Workspace::start();
    let orders = it.draw("Orders & more", &graph(["{{ 1 }}", "{{ 2 }}"]));
    it.draw("Other", &graph(["{{ 1 }}", "{{ 2 }}"]));
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("there is no key for"), "{told}");
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    assert_eq!(
        it.done(&["pull"]),
        "orders-more: new from the server\nother: new from the server\nenvironments/production.json: new from the server\n"
    );
    assert_eq!(it.done(&["status"]), "");
    let (_, open, _) = it.heddle(&["open", "orders-more"]);
    assert_eq!(open, format!("{}/w/{}/patterns/{orders}\n", it.url(), it.id));

    // Different nodes: merged by a pull, and a push before that is refused.
    it.save(&orders, &graph(["{{ 1 }}", "{{ 'theirs' }}"]));
    it.edit("orders-more", "{{ 1 }}", "{{ 'ours' }}");
    assert_eq!(
        it.done(&["diff", "orders-more"]),
        "orders-more:\n  ~ node first (“first”), parameters.value: \"{{ 1 }}\" → \"{{ 'ours' }}\"\n"
    );
    assert!(
        it.done(&["diff", "--server"])
            .contains("node second (“second”), parameters.value")
    );
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("orders-more: version 2 was saved on the server since: pull first"),
        "{told}"
    );
    assert_eq!(
        it.done(&["pull"]),
        "orders-more: merged; `heddle push` stores the result\n"
    );
    assert_eq!(it.done(&["push", "-m", "Both"]), "orders-more: version 3\n");
    assert_eq!(
        it.stored(&orders)["graphData"],
        graph(["{{ 'ours' }}", "{{ 'theirs' }}"])
    );

    // The same field: told by node, and nothing is touched until somebody decides.
    it.save(&orders, &graph(["{{ 'A' }}", "{{ 'theirs' }}"]));
    it.edit("orders-more", "{{ 'ours' }}", "{{ 'B' }}");
    let before = fs::read_to_string(it.file("orders-more/pattern.json")).unwrap();
    let (code, out, _) = it.heddle(&["pull"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains(
            "node first, parameters.value\n    here:          \"{{ 'B' }}\"\n    on the server: \"{{ 'A' }}\""
        ),
        "{out}"
    );
    assert_eq!(
        fs::read_to_string(it.file("orders-more/pattern.json")).unwrap(),
        before
    );
    it.done(&["pull", "--ours"]);
    assert_eq!(it.done(&["push"]), "orders-more: version 5\n");
    assert_eq!(
        it.stored(&orders)["graphData"]["nodes"][1]["data"]["parameters"]["value"],
        "{{ 'B' }}"
    );
}

#[test]
fn a_day_with_files() {
    let it = Workspace::start();
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");

    // A pattern of one's own, with code beside it.
    let own = it.file("total");
    fs::create_dir_all(own.join("code")).unwrap();
    let pattern = json!({"name": "Total", "tags": ["sums"], "graphData": {
        "nodes": [
            {"id": "start", "type": "OnManual", "data": {}},
            {"id": "sum", "type": "JavaScript", "data": {"parameters": {"code": {"file": "code/sum.js"}}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input }}"}}},
        ],
        "edges": [{"source": "start", "target": "sum"}, {"source": "sum", "target": "end"}],
    }});
    fs::write(own.join("pattern.json"), pattern.to_string()).unwrap();
    fs::write(
        own.join("code/sum.js"),
        "export default ({input}) =>\n  input.a + input.b;\n",
    )
    .unwrap();
    fs::write(it.home.path().join("event.json"), r#"{"a": 2, "b": 40}"#).unwrap();
    let run = ["run", "patterns/total/pattern.json", "--event", "../event.json"];
    assert_eq!(it.done(&run), "42\n");
    assert_eq!(it.done(&["push", "--dry-run"]), "total: created\n");
    assert_eq!(it.done(&["push"]), "total: created\n");
    assert_eq!(
        it.done(&["status", "--json"]),
        format!(
            "[{{\"pattern\":\"total\",\"here\":\"same\",\"there\":\"same\"}},{}]\n",
            unpulled("production")
        )
    );
    let (_, listed) = it
        .server
        .call("GET", "/api/patterns?owner=workspace", &it.token, "");
    assert_eq!(
        (&listed["data"][0]["name"], &listed["data"][0]["tags"]),
        (&json!("Total"), &json!(["sums"]))
    );

    // A graph alone, as examples are: its directory names it. Of long texts the piece that differs is shown.
    let alone = it.file("alone");
    fs::create_dir_all(&alone).unwrap();
    let long = "the same again and again, ".repeat(5);
    let graph = graph([&format!("{long}old end"), "{{ $input }}"]);
    fs::write(alone.join("pattern.json"), graph.to_string()).unwrap();
    assert_eq!(it.done(&["push"]), "alone: created\n");
    it.edit("alone", "old end", "new end");
    let diff = it.done(&["diff", "alone"]);
    assert!(
        diff.contains("…ain and again, old end\" → …ain and again, new end\""),
        "{diff}"
    );
    fs::remove_dir_all(&alone).unwrap();
    it.done(&["push", "--delete"]);

    // Broken: refused before anything is stored.
    it.edit("total", "{{ $input }}", "{{ $inptu }}");
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("nothing was pushed:") && told.contains("total: node end, value: there is no `$inptu`"),
        "{told}"
    );
    let (code, _, told) = it.heddle(&["deploy", "total", "--env", "production"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("`total` was changed here: push it first"), "{told}");

    // Mended, deployed, run.
    it.edit("total", "{{ $inptu }}", "{{ $input * 10 }}");
    it.done(&["push", "-m", "Tenfold"]);
    let (code, _, told) = it.heddle(&["deploy", "totals", "--env", "production"]);
    assert_eq!(code, 2, "{told}");
    assert!(told.contains("there is no pattern `totals` here"), "{told}");
    let (code, _, told) = it.heddle(&["deploy", "total", "--env", "nowhere"]);
    assert_eq!(code, 2, "{told}");
    assert!(
        told.contains("there is no environment `nowhere`; the environments are: production"),
        "{told}"
    );
    assert!(
        it.done(&["deploy", "total", "--env", "production", "--dry-run"])
            .contains("would be deployed to production")
    );
    let deployed = it.done(&["deploy", "total", "--env", "production"]);
    assert!(deployed.ends_with("is deployed to production\n"), "{deployed}");
    let (_, all) = it.server.call("GET", "/api/deployments", &it.token, "");
    let deployment = all["data"][0]["id"].as_str().unwrap();
    let path = format!("/api/deployments/{deployment}/execute");
    let (status, ran) = it
        .server
        .call("POST", &path, &it.token, r#"{"eventData": {"a": 1, "b": 2}}"#);
    assert!(status < 300, "{ran}");
    it.server.await_ends(&it.token, deployment);
    let runs = it.done(&["runs", "total"]);
    assert!(runs.contains("success") && runs.ends_with("Total\n"), "{runs}");

    // What the files here would have made of that event, before they are pushed.
    let tried = it.done(&["replay", "total", "--env", "production"]);
    assert!(
        tried.starts_with("1 the same, 0 different, 0 without an answer, 0 skipped\n"),
        "{tried}"
    );
    it.edit("total", "{{ $input * 10 }}", "{{ $input * 11 }}");
    let (code, tried, told) = it.heddle(&["replay", "total", "--env", "production"]);
    assert_eq!(code, 1, "{tried}{told}");
    assert!(
        tried.contains("  different\n")
            && tried.contains("  the run, output: 30 → 33\n0 the same, 1 different,"),
        "{tried}"
    );
    it.edit("total", "{{ $input * 11 }}", "{{ $input * 10 }}");

    // Promoted to an environment that is there, and removed at last.
    let path = format!("/api/workspaces/{}/environments", it.id);
    it.server.call("POST", &path, &it.token, r#"{"name": "staging"}"#);
    let promoted = it.done(&["promote", "total", "--from", "production", "--to", "staging"]);
    assert!(promoted.ends_with("is deployed to staging\n"), "{promoted}");
    let places = it.done(&["deployments", "--json"]);
    let places: Value = serde_json::from_str(&places).unwrap();
    let places = places.as_array().unwrap().iter().map(|place| {
        let text = |name: &str| place[name].as_str().unwrap_or_default().to_owned();
        assert!(text("deployedBy").ends_with(" (files)"), "{place}");
        [text("pattern"), text("environment"), text("status")].join(" ")
    });
    assert_eq!(
        places.collect::<Vec<_>>(),
        ["total production active", "total staging active"]
    );
    let table = it.done(&["deployments", "total", "--env", "staging"]);
    assert!(
        table.starts_with("PATTERN  ENVIRONMENT  VERSION  STATUS") && table.lines().count() == 2,
        "{table}"
    );
    for deployment in it.server.call("GET", "/api/deployments", &it.token, "").1["data"]
        .as_array()
        .unwrap()
    {
        let path = format!("/api/deployments/{}", deployment["id"].as_str().unwrap());
        it.server.call("DELETE", &path, &it.token, "");
    }
    fs::remove_dir_all(&own).unwrap();
    assert_eq!(it.done(&["push"]), "");
    assert_eq!(it.done(&["push", "--delete"]), "total: deleted on the server\n");
    // Nothing was ever pulled.
    let around = [unpulled("production"), unpulled("staging")].join(",");
    assert_eq!(it.done(&["status", "--json"]), format!("[{around}]\n"));
}

#[test]
fn tests_stand_beside_their_pattern_on_both_sides() {
    let it = Workspace::start();
    let orders = it.draw("Orders", &graph(["{{ $input.n + 1 }}", "{{ $input * 2 }}"]));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    let path = format!("/api/patterns/{orders}/tests");
    let theirs = json!({"name": "Theirs", "event": {"n": 1}, "expect": {"nodes": {"second": 4}}});
    let (status, made) = it.server.call("POST", &path, &it.token, &theirs.to_string());
    assert_eq!(status, 201, "{made}");
    let own = format!("{path}/{}", made["id"].as_str().unwrap());
    assert_eq!(
        it.done(&["pull"]),
        "orders: new from the server\norders/tests/theirs.json: new from the server\nenvironments/production.json: new from the server\n"
    );
    assert!(
        it.done(&["test"])
            .ends_with("1 passed, 0 failed, 0 could not be compared\n")
    );

    // A new one here, and one that both change, in different fields and then in the same one.
    let change = |file: &str, from: &str, to: &str| {
        let path = it.file("orders/tests").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{text}");
        fs::write(path, text.replace(from, to)).unwrap();
    };
    let put = |body: Value| {
        let (status, changed) = it.server.call("PUT", &own, &it.token, &body.to_string());
        assert_eq!(status, 200, "{changed}");
    };
    fs::write(
        it.file("orders/tests/ours.json"),
        r#"{"name": "Ours", "event": {"n": 2}, "seed": 7}"#,
    )
    .unwrap();
    change("theirs.json", "\"n\": 1", "\"n\": 3");
    put(json!({"ignore": ["output.at"]}));
    let status = it.done(&["status"]);
    assert!(
        status.contains("orders/tests/ours.json")
            && status.contains("changed here and on the server: pull merges, then push"),
        "{status}"
    );
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{told}");
    assert!(
        told.contains("orders/tests/theirs.json: it was changed on the server since: pull first"),
        "{told}"
    );
    assert_eq!(
        it.done(&["pull"]),
        "orders/tests/theirs.json: merged; `heddle push` stores the result\n"
    );
    assert_eq!(
        it.done(&["push"]),
        "orders/tests/ours.json: created\norders/tests/theirs.json: stored\n"
    );
    assert_eq!(it.done(&["status"]), "");
    let stored = it.server.call("GET", &own, &it.token, "").1;
    assert_eq!(
        (&stored["case"]["event"], &stored["case"]["ignore"]),
        (&json!({"n": 3}), &json!(["output.at"]))
    );
    change("theirs.json", "\"n\": 3", "\"n\": 4");
    put(json!({"event": {"n": 5}}));
    let (code, out, _) = it.heddle(&["pull"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("event.n\n    here:          4\n    on the server: 5"),
        "{out}"
    );
    assert_eq!(
        it.done(&["pull", "--theirs"]),
        "orders/tests/theirs.json: updated\n"
    );
    assert_eq!(it.done(&["status"]), "");

    // A seed that is gone makes it another test, and CI without a lock makes no second one.
    change("ours.json", "\"seed\": 7", "\"seed\": null");
    let lock = fs::read_to_string(it.files().join("heddle.lock")).unwrap();
    assert_eq!(it.done(&["push"]), "orders/tests/ours.json: stored\n");
    let (start, end) = (lock.find(",\"tests\"").unwrap(), lock.find("}}}").unwrap());
    let forgotten = format!("{}{}", &lock[..start], &lock[end + 2..]);
    fs::write(it.files().join("heddle.lock"), forgotten).unwrap();
    assert_eq!(it.done(&["push"]), "");
    assert_eq!(it.done(&["status"]), "");
    let listed = it.server.call("GET", &path, &it.token, "").1;
    assert_eq!(listed["tests"].as_array().unwrap().len(), 2, "{listed}");

    // Of a run, with its id from the list; and removed at last.
    it.done(&["deploy", "orders", "--env", "production"]);
    let (_, all) = it.server.call("GET", "/api/deployments", &it.token, "");
    let deployment = all["data"][0]["id"].as_str().unwrap();
    let execute = format!("/api/deployments/{deployment}/execute");
    it.server
        .call("POST", &execute, &it.token, r#"{"eventData": {"n": 20}}"#);
    it.server.await_ends(&it.token, deployment);
    let runs = it.done(&["runs"]);
    let run = runs.split_whitespace().nth(1).unwrap();
    let made = it.done(&["test", "--from-run", run, "--name", "Of a run"]);
    assert!(made.ends_with("patterns/orders/tests/of-a-run.json\n"), "{made}");
    let (_, tested, _) = it.heddle(&["test", "orders"]);
    assert!(
        tested.contains("  passed   Of a run (of-a-run.json)\n"),
        "{tested}"
    );
    fs::remove_file(it.file("orders/tests/of-a-run.json")).unwrap();
    assert_eq!(it.done(&["push"]), "");
    assert_eq!(
        it.done(&["push", "--delete"]),
        "orders/tests/of-a-run.json: deleted on the server\n"
    );
}

#[test]
fn tests_stay_with_a_pattern_that_is_left_and_come_back_with_one_that_is_restored() {
    let it = Workspace::start();
    let values = ["{{ $input.n + 1 }}", "{{ $input * 2 }}"];
    let orders = it.draw("Orders", &graph(values));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    let path = format!("/api/patterns/{orders}/tests");
    let body = json!({"name": "Theirs", "event": {"n": 1}}).to_string();
    let (status, made) = it.server.call("POST", &path, &it.token, &body);
    assert_eq!(status, 201, "{made}");
    it.done(&["pull"]);

    // Removed here, changed there, and brought back.
    fs::remove_dir_all(it.file("orders")).unwrap();
    it.save(&orders, &graph([values[0], "{{ $input * 3 }}"]));
    let (code, out, _) = it.heddle(&["pull"]);
    assert_eq!(code, 1, "{out}");
    assert_eq!(
        it.done(&["pull", "--theirs"]),
        "orders: new from the server\norders/tests/theirs.json: new from the server\n"
    );
    assert_eq!(it.done(&["push", "--delete"]), "");
    assert_eq!(it.done(&["status"]), "");
    let listed = it.server.call("GET", &path, &it.token, "").1;
    assert_eq!(listed["tests"].as_array().unwrap().len(), 1, "{listed}");

    // Changed here, deleted there.
    it.edit("orders", "$input * 3", "$input * 4");
    let path = format!("/api/patterns/{orders}");
    let (status, gone) = it.server.call("DELETE", &path, &it.token, "");
    assert!(status < 300, "{gone}");
    let lock = fs::read_to_string(it.files().join("heddle.lock")).unwrap();
    for side in [&["pull"][..], &["pull", "--theirs"]] {
        let (code, out, _) = it.heddle(side);
        assert_eq!(code, 1, "{out}");
        assert!(
            out.starts_with("orders: left as it is") && !out.contains("theirs.json"),
            "{out}"
        );
        assert!(it.file("orders/tests/theirs.json").is_file());
        assert_eq!(fs::read_to_string(it.files().join("heddle.lock")).unwrap(), lock);
    }
}

#[test]
fn ci_pushes_each_commit_though_it_keeps_no_memory() {
    let it = Workspace::start();
    let orders = it.draw("Orders", &graph(["{{ 1 }}", "{{ 2 }}"]));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    let git = |at: &Path, arguments: &[&str]| {
        let mut command = it.command(at, &[]);
        command = {
            let mut git = Command::new("git");
            git.current_dir(command.get_current_dir().unwrap());
            git
        };
        let set = [
            "-c",
            "user.name=Ann",
            "-c",
            "user.email=ann@example.com",
            "-c",
            "commit.gpgsign=false",
        ];
        let (code, out, told) = output(command.args(set).args(arguments));
        assert_eq!(code, 0, "{arguments:?}: {out}{told}");
    };
    let files = it.files();
    git(&files, &["init", "-q"]);
    git(&files, &["add", "."]);
    git(&files, &["commit", "-qm", "Pulled"]);
    // Each commit is pushed from a fresh clone, whose lock is that of the first pull.
    for value in ["{{ 10 }}", "{{ 20 }}"] {
        let old = if value == "{{ 10 }}" {
            "{{ 1 }}"
        } else {
            "{{ 10 }}"
        };
        it.edit("orders", old, value);
        git(&files, &["commit", "-qam", value]);
        let clone = it
            .home
            .path()
            .join(format!("clone-{}", value.len() + value.matches('2').count()));
        git(it.home.path(), &["clone", "-q", "files", clone.to_str().unwrap()]);
        let mut push = it.command(&clone, &["push"]);
        push.env("HEDDLE_API_KEY", &it.key).env("HEDDLE_URL", it.url());
        let (code, out, told) = output(push.env("HOME", "/nowhere"));
        assert_eq!(code, 0, "{out}{told}");
        assert_eq!(it.stored(&orders)["graphData"], graph([value, "{{ 2 }}"]));
    }
    // What somebody has saved in the console is in no commit: that is not overwritten.
    it.save(&orders, &graph(["{{ 20 }}", "{{ 'console' }}"]));
    it.edit("orders", "{{ 20 }}", "{{ 30 }}");
    git(&files, &["commit", "-qam", "Thirty"]);
    let (code, _, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{told}");
    assert!(told.contains("pull first"), "{told}");
}
