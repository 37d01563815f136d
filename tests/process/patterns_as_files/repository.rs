//! A repository of ten patterns, which one person changes in git and another one in the console at the same time.

use super::{Workspace, graph};
use crate::server::output;
use serde_json::Value;
use std::process::Command;

/// A command of git's in the directory: its output.
fn git(it: &Workspace, arguments: &[&str]) -> String {
    let mut git = Command::new("git");
    git.current_dir(it.files());
    for set in [
        "user.name=Bob",
        "user.email=bob@example.com",
        "commit.gpgsign=false",
    ] {
        git.args(["-c", set]);
    }
    let (code, out, told) = output(git.args(arguments));
    assert_eq!(code, 0, "{arguments:?}: {out}{told}");
    out
}

/// The patterns whose files are not as they were committed.
fn changed(it: &Workspace) -> Vec<String> {
    let status = git(it, &["status", "--porcelain"]);
    let paths = status.lines().filter_map(|line| line.get(3..));
    let patterns = paths.filter_map(|path| path.strip_prefix("patterns/")?.split('/').next());
    patterns.map(str::to_owned).collect()
}

fn version(it: &Workspace, pattern: &str, number: u32) -> Value {
    let path = format!("/api/patterns/{pattern}/versions/{number}");
    let (status, found) = it.server.call("GET", &path, &it.token, "");
    assert_eq!(status, 200, "{found}");
    found["graphData"].clone()
}

#[test]
fn of_ten_patterns_that_two_people_change_nothing_is_lost() {
    let it = Workspace::start();
    let drawn = graph(["{{ 1 }}", "{{ 2 }}"]);
    let ids: Vec<String> = (0..10)
        .map(|number| it.draw(&format!("Pattern {number}"), &drawn))
        .collect();
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    git(&it, &["init", "-q"]);
    git(&it, &["add", "."]);
    git(&it, &["commit", "-qm", "Pulled"]);

    // In the console: another node of one, the same field of one, and one that nobody else has touched.
    it.save(&ids[3], &graph(["{{ 1 }}", "{{ 'console' }}"]));
    it.save(&ids[5], &graph(["{{ 'console' }}", "{{ 2 }}"]));
    it.save(&ids[8], &graph(["{{ 'console' }}", "{{ 2 }}"]));
    for pattern in ["pattern-3", "pattern-5", "pattern-7"] {
        it.edit(pattern, "{{ 1 }}", "{{ 'git' }}");
    }
    git(&it, &["commit", "-qam", "From git"]);

    // All or nothing: the one that could be pushed waits for the others.
    let (code, out, told) = it.heddle(&["push"]);
    assert_eq!(code, 1, "{out}{told}");
    for refused in [
        "nothing was pushed:",
        "  pattern-3: version 2 was saved",
        "  pattern-5: version 2 was saved",
    ] {
        assert!(told.contains(refused), "{told}");
    }
    assert_eq!(it.stored(&ids[7])["graphData"], drawn);

    // What can be joined is; the rest is told by node, and its files stay as they were committed.
    let (code, out, told) = it.heddle(&["pull"]);
    assert_eq!(code, 1, "{out}{told}");
    for line in [
        "pattern-3: merged; `heddle push` stores the result\n",
        "pattern-8: updated\n",
        "  node first, parameters.value\n    here:          \"{{ 'git' }}\"\n    on the server: \"{{ 'console' }}\"\n",
    ] {
        assert!(out.contains(line), "{out}");
    }
    assert_eq!(out.matches("left as it is").count(), 1, "{out}");
    assert!(!out.contains("node second"), "{out}");
    assert_eq!(changed(&it), ["pattern-3", "pattern-8"]);

    it.done(&["pull", "pattern-5", "--ours"]);
    let pushed = it.done(&["push", "-m", "Joined"]);
    for line in [
        "pattern-3: version 3\n",
        "pattern-5: version 3\n",
        "pattern-7: version 2\n",
    ] {
        assert!(pushed.contains(line), "{pushed}");
    }
    assert_eq!(pushed.lines().count(), 3, "{pushed}");
    for (number, id) in ids.iter().enumerate() {
        let expected = match number {
            3 => graph(["{{ 'git' }}", "{{ 'console' }}"]),
            5 | 7 => graph(["{{ 'git' }}", "{{ 2 }}"]),
            8 => graph(["{{ 'console' }}", "{{ 2 }}"]),
            _ => drawn.clone(),
        };
        assert_eq!(it.stored(id)["graphData"], expected, "{number}");
    }
    assert_eq!(it.done(&["status"]), "");
    // What was decided against is a version still.
    assert_eq!(version(&it, &ids[5], 2), graph(["{{ 'console' }}", "{{ 2 }}"]));
}
