//! Directories that strangers have made, and what is sent to the servers that they name.

use super::{Workspace, graph};
use crate::server::output;
use serde_json::json;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

#[test]
fn a_key_of_the_environment_goes_to_no_server_that_only_a_directory_names() {
    let it = Workspace::start();
    it.draw("Orders", &graph(["{{ 1 }}", "{{ $input }}"]));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");

    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let theirs = format!("http://{}", listener.local_addr().unwrap());
    let cloned = it.home.path().join("cloned");
    fs::create_dir_all(cloned.join("patterns")).unwrap();
    let config = json!({"server": theirs, "workspace": it.id});
    fs::write(cloned.join("heddle.json"), config.to_string()).unwrap();
    for arguments in [["pull"], ["push"], ["status"], ["runs"], ["deployments"]] {
        // Neither that there are keys for another server, nor what it is in CI, where the server of the key is named.
        for (name, value) in [("X", ""), ("HEDDLE_URL", it.url().as_str()), ("CI", "false")] {
            let mut command = it.command(&cloned, &arguments);
            command.env("HEDDLE_API_KEY", &it.key).env(name, value);
            let (code, out, told) = output(&mut command);
            assert_eq!(code, 2, "{arguments:?}: {out}{told}");
            assert!(told.contains(&format!("set HEDDLE_URL={theirs}")), "{told}");
        }
    }
    let mut both = it.command(&cloned, &["status"]);
    both.env("HEDDLE_API_KEY", &it.key).env("CI", "true");
    let (code, _, told) = output(both.env("HEDDLE_URL", it.url()));
    assert_eq!(code, 2, "{told}");
    let connected = listener.accept().map(|_| ()).map_err(|error| error.kind());
    assert_eq!(connected, Err(ErrorKind::WouldBlock));

    // Where the user has said whose the key is, it is used: by a variable, or by a key that is stored.
    let mut named = it.command(&it.files(), &["pull"]);
    named.env("HEDDLE_API_KEY", &it.key).env("HOME", "/nowhere");
    let (code, _, told) = output(named.env("HEDDLE_URL", format!("{}/", it.url())));
    assert_eq!(code, 0, "{told}");
    let mut stored = it.command(&it.files(), &["status"]);
    let (code, _, told) = output(stored.env("HEDDLE_API_KEY", &it.key));
    assert_eq!(code, 0, "{told}");
    // A key that is for another server is not sent to this one, whose own is used.
    let mut others = it.command(&it.files(), &["status"]);
    others
        .env("HEDDLE_API_KEY", "hdl_of_another")
        .env("HEDDLE_URL", &theirs);
    let (code, _, told) = output(&mut others);
    assert_eq!(code, 0, "{told}");
}

/// What git takes for GnuPG, which leaves a mark.
const PROGRAM: &str = r#"#!/bin/sh
echo executed > "$(dirname "$0")/mark"
cat > /dev/null
printf '\n[GNUPG:] SIG_CREATED D 1 8 00 1 X\n' >&2
printf -- '-----BEGIN PGP SIGNATURE-----\n\nx\n-----END PGP SIGNATURE-----\n'
"#;

#[test]
fn no_program_is_executed_that_a_directory_s_settings_for_git_name() {
    let it = Workspace::start();
    let orders = it.draw("Orders", &graph(["{{ 1 }}", "{{ $input }}"]));
    it.login();
    let (code, _, told) = output(&mut it.command(it.home.path(), &["init", &it.url(), "files"]));
    assert_eq!(code, 0, "{told}");
    it.done(&["pull"]);
    let (program, mark) = (it.home.path().join("program"), it.home.path().join("mark"));
    fs::write(&program, PROGRAM).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let gpg = format!("gpg.program={}", program.display());
    let git = |at: &Path, arguments: &[&str]| {
        let mut git = Command::new("git");
        git.current_dir(at);
        for set in [
            "user.name=Ann",
            "user.email=ann@example.com",
            "commit.gpgsign=true",
            "user.signingkey=X",
            &gpg,
        ] {
            git.args(["-c", set]);
        }
        let (code, out, told) = output(git.args(arguments));
        assert_eq!(code, 0, "{arguments:?}: {out}{told}");
    };
    let files = it.files();
    git(&files, &["init", "-q"]);
    git(&files, &["add", "."]);
    git(&files, &["commit", "-qm", "Pulled"]);
    assert!(mark.exists(), "commits are signed");
    // The second clone has the lock of the first pull, so that its commits are looked at.
    for (number, (old, new)) in [("{{ 1 }}", "{{ 10 }}"), ("{{ 10 }}", "{{ 20 }}")]
        .into_iter()
        .enumerate()
    {
        it.edit("orders", old, new);
        git(&files, &["commit", "-qam", new]);
        let clone = it.home.path().join(format!("clone-{number}"));
        git(it.home.path(), &["clone", "-q", "files", clone.to_str().unwrap()]);
        for setting in [
            ["log.showSignature", "true"],
            ["gpg.program", program.to_str().unwrap()],
        ] {
            git(&clone, &[&["config"][..], &setting[..]].concat());
        }
        fs::remove_file(&mark).unwrap();
        let (code, out, told) = output(&mut it.command(&clone, &["push"]));
        assert_eq!(code, 0, "{out}{told}");
        assert_eq!(it.stored(&orders)["graphData"], graph([new, "{{ $input }}"]));
        assert!(!mark.exists(), "a program was executed");
        fs::write(&mark, "").unwrap();
    }
}
