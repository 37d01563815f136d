//! The jobs for CI that docs/patterns-as-files.md shows: their commands, in a clone, against a server.

use super::{Workspace, graph};
use crate::server::output;
use serde_json::json;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const PAGE: &str = include_str!("../../../docs/patterns-as-files.md");

/// The commands of each job.
fn jobs() -> Vec<Vec<&'static str>> {
    let blocks = PAGE.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| rest.split("```").next());
    let jobs = blocks.map(|block| {
        let lines = block.lines().map(str::trim);
        let commands = lines.filter_map(|line| {
            let step = line.strip_prefix("- ")?;
            let command = step.strip_prefix("run: ").unwrap_or(step);
            command.starts_with("heddle ").then_some(command)
        });
        commands.collect()
    });
    jobs.collect()
}

#[test]
fn the_jobs_of_the_docs_push_what_was_committed() {
    let it = Workspace::start();
    let orders = it.draw("Orders", &graph(["{{ 1 }}", "{{ $input }}"]));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    fs::create_dir_all(it.file("orders/tests")).unwrap();
    let test =
        json!({"name": "One", "startedAt": "2026-11-26T09:00:00.000Z", "expect": {"nodes": {"first": 7}}});
    fs::write(it.file("orders/tests/one.json"), test.to_string()).unwrap();
    let program = PathBuf::from(env!("CARGO_BIN_EXE_heddle"));
    let mut path = program.parent().unwrap().as_os_str().to_owned();
    path.push(":");
    path.push(env::var_os("PATH").unwrap());
    let shell = |at: &Path, line: &str| {
        let mut command = Command::new("sh");
        command.current_dir(at).args(["-c", line]).env_clear();
        // No key of anybody's is there.
        command.env("PATH", &path).env("HOME", it.home.path().join("ci"));
        // As both services set it.
        command.env("HEDDLE_API_KEY", &it.key).env("CI", "true");
        for who in ["AUTHOR", "COMMITTER"] {
            command.env(format!("GIT_{who}_NAME"), "Ann");
            command.env(format!("GIT_{who}_EMAIL"), "ann@example.com");
        }
        output(&mut command)
    };
    let done = |at: &Path, line: &str| {
        let (code, out, told) = shell(at, line);
        assert_eq!(code, 0, "{line}: {out}{told}");
    };
    let files = it.files();
    done(&files, "git init -q && git add . && git commit -qm Pulled");
    let jobs = jobs();
    assert_eq!(jobs.len(), 2, "{jobs:?}");
    for (number, commands) in jobs.iter().enumerate() {
        assert_eq!(commands.len(), 3, "{commands:?}");
        // A test that fails ends the job before anything is pushed.
        let clone = it.home.path().join(format!("failing-{number}"));
        done(it.home.path(), &format!("git clone -q files failing-{number}"));
        let (code, out, told) = shell(&clone, &commands.join(" && "));
        assert_eq!(code, 1, "{out}{told}");
        assert!(clone.join("results.xml").is_file());
    }
    it.edit("orders", "{{ 1 }}", "{{ 7 }}");
    done(&files, "git commit -qam Seven");
    for (number, commands) in jobs.iter().enumerate() {
        let clone = it.home.path().join(format!("clone-{number}"));
        done(it.home.path(), &format!("git clone -q files clone-{number}"));
        done(&clone, &commands.join(" && "));
        let stored = it.stored(&orders);
        assert_eq!(stored["graphData"], graph(["{{ 7 }}", "{{ $input }}"]));
        // The second one finds everything there.
        assert_eq!(stored["versionNumber"], 2);
    }
}
