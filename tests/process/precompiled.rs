//! `heddle precompile`: a first start uses what it has written, unless others can have changed it or it is damaged.

use crate::log;
use crate::server::{heddle, output, precompiled};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the log says when a module of heddle's own is compiled.
const COMPILING: &str = "Compiling a part of heddle";
/// What it says when code that is there is not used.
const UNUSED: &str = "Machine code that was made when heddle was installed is not used";
/// Nobody whom files of the program belong to.
const STRANGER: u32 = 65_533;

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

fn name(path: &Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = files(dir).into_iter();
    files
        .map(|path| (name(&path), fs::read(&path).unwrap()))
        .collect()
}

/// The files with machine code.
fn codes(dir: &Path) -> Vec<PathBuf> {
    let is_code = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "cwasm");
    files(dir).into_iter().filter(is_code).collect()
}

/// A copy of what was precompiled.
fn copy(to: &Path) {
    fs::create_dir_all(to).unwrap();
    set_mode(to, 0o755);
    for file in files(precompiled()) {
        fs::copy(&file, to.join(name(&file))).unwrap();
    }
}

/// Asserts that a cache has code, but none of a module of heddle's own.
fn assert_only_of_patterns(cache: &Path) {
    let own = codes(precompiled());
    let own: Vec<String> = own
        .iter()
        .map(|path| name(path).split('-').nth(1).unwrap().to_owned())
        .collect();
    assert_eq!(own.len(), 2, "the standard nodes and the JavaScript engine");
    let kept = codes(cache);
    assert!(!kept.is_empty());
    for path in kept {
        assert!(
            !own.iter().any(|module| name(&path).starts_with(module)),
            "{path:?}"
        );
    }
}

fn graph_with_code() -> Value {
    json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "code", "type": "JavaScript", "data": {"parameters": {"code": "export default () => 6 * 7"}}},
            {"id": "end", "type": "Return", "data": {"parameters": {"value": "{{ $input }}"}}},
        ],
        "edges": [{"source": "start", "target": "code"}, {"source": "code", "target": "end"}],
    })
}

#[test]
fn a_first_start_compiles_nothing_that_was_precompiled() {
    for isolation in ["thread", "process"] {
        let dir = tempfile::tempdir().unwrap();
        let variables = [("HEDDLE_CACHE_DIR", "cache"), ("HEDDLE_RUN_ISOLATION", isolation)];
        let (server, log) = log::start(dir.path(), &variables);
        let (token, deployment) = server.deploy(&graph_with_code());
        let path = format!("/api/deployments/{deployment}/execute?wait=true");
        let (status, ran) = server.call("POST", &path, &token, "{}");
        assert_eq!((status, &ran["data"]["output"]), (200, &json!(42)), "{ran}");
        assert_eq!(server.stop(), Some(0));
        let log = log.join().unwrap();
        assert!(!log.contains(COMPILING) && !log.contains(UNUSED), "{log}");
        assert_only_of_patterns(&dir.path().join("cache"));
    }
}

#[test]
fn code_that_others_may_have_changed_or_that_is_damaged_is_not_used() {
    let dir = tempfile::tempdir().unwrap();
    let code = dir.path().join("code");
    copy(&code);
    // What is compiled instead is found in the cache from the second start on.
    let start = || {
        let variables = [("HEDDLE_CACHE_DIR", "cache"), ("HEDDLE_PRECOMPILED_DIR", "code")];
        let (server, log) = log::start(dir.path(), &variables);
        assert_eq!(server.stop(), Some(0));
        log.join().unwrap()
    };
    let assert_unused = |reason: &str| {
        let log = start();
        let line = log.lines().find(|line| line.contains(UNUSED));
        assert!(line.is_some_and(|line| line.contains(reason)), "{reason}: {log}");
        log
    };
    set_mode(&code, 0o777);
    let log = assert_unused("others than its owner can write to code: run `chmod go-w code`");
    assert!(log.contains(COMPILING), "{log}");
    set_mode(&code, 0o755);
    for path in codes(&code) {
        set_mode(&path, 0o664);
    }
    let log = assert_unused("run `chmod go-w code/heddle-");
    assert!(!log.contains(COMPILING), "{log}");
    // Nobody but root can give files away.
    if chown(&code, Some(STRANGER), None).is_ok() {
        assert_unused("code belongs to user 65533");
        chown(&code, Some(0), None).unwrap();
    }
    for path in codes(&code) {
        set_mode(&path, 0o644);
        let whole = fs::read(&path).unwrap();
        fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    }
    assert_unused("is damaged");
    for path in codes(&code) {
        fs::write(&path, "no machine code").unwrap();
    }
    assert_unused("is damaged");
    fs::rename(&code, dir.path().join("elsewhere")).unwrap();
    symlink("elsewhere", &code).unwrap();
    assert_unused("symbolic links are not followed");
    fs::remove_file(&code).unwrap();
    let log = start();
    assert!(!log.contains(UNUSED), "{log}");
}

#[test]
fn precompiling_again_changes_nothing_but_removes_what_is_of_other_versions() {
    let dir = tempfile::tempdir().unwrap();
    let code = dir.path().join("code");
    copy(&code);
    let before = contents(&code);
    assert_eq!(before.len(), 4, "two modules, each with its sum");
    let of_another = format!("heddle-{}-{}.cwasm", "0".repeat(64), "0".repeat(16));
    for name in [of_another.as_str(), "notes.txt"] {
        fs::write(code.join(name), "").unwrap();
    }
    let (status, said, told) = output(heddle(dir.path()).args(["precompile", "--out", "code"]));
    assert_eq!((status, told.as_str()), (0, ""));
    let kept = said.lines().filter(|line| line.starts_with("kept ")).count();
    assert_eq!((kept, said.lines().count()), (2, 2), "{said}");
    let mut after = contents(&code);
    assert!(after.remove("notes.txt").is_some());
    assert!(after == before, "{:?}", after.keys());
}

#[test]
fn everybody_can_read_what_is_precompiled_and_only_its_owner_can_write_it() {
    assert_eq!(mode(precompiled()), 0o755);
    for path in files(precompiled()) {
        assert_eq!(mode(&path), 0o644, "{path:?}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_or_used_is_named_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "").unwrap();
    let open = dir.path().join("open");
    fs::create_dir(&open).unwrap();
    set_mode(&open, 0o777);
    for (out, parts) in [
        ("file/code", ["can't write to file/code", "--out"]),
        ("open", ["would not be used", "chmod go-w open"]),
    ] {
        let (status, _, told) = output(heddle(dir.path()).args(["precompile", "--out", out]));
        assert_eq!(status, 4, "{told}");
        assert!(parts.iter().all(|part| told.contains(part)), "{told}");
    }
}

#[test]
fn the_doctor_says_whether_a_first_start_compiles() {
    let dir = tempfile::tempdir().unwrap();
    let doctor = |code: &Path| {
        let mut command = heddle(dir.path());
        command
            .args(["doctor", "--listen", "127.0.0.1:0"])
            .env("HEDDLE_PRECOMPILED_DIR", code);
        let (_, told, _) = output(&mut command);
        let line = told.lines().find(|line| line.contains(" machine code: "));
        line.unwrap_or_else(|| panic!("{told}")).to_owned()
    };
    let line = doctor(precompiled());
    assert!(
        line.starts_with("ok") && line.contains("when it was installed"),
        "{line}"
    );
    let line = doctor(Path::new("nowhere"));
    assert!(
        line.starts_with("ok") && line.contains("`heddle precompile`"),
        "{line}"
    );
    let open = dir.path().join("open");
    copy(&open);
    set_mode(&open, 0o777);
    let line = doctor(&open);
    assert!(line.starts_with("ok") && line.contains("chmod go-w"), "{line}");
}

#[test]
fn commands_look_beside_the_program_whatever_link_they_are_started_by() {
    // On the file system of the program, which can then be there without a copy.
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let place = |name: &str| dir.path().join(name);
    fs::create_dir(place("bin")).unwrap();
    fs::hard_link(env!("CARGO_BIN_EXE_heddle"), place("bin/heddle")).unwrap();
    symlink("bin/heddle", place("linked")).unwrap();
    copy(&place("lib/heddle"));
    fs::write(place("pattern.json"), graph_with_code().to_string()).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(place("linked"));
        command
            .env_clear()
            .current_dir(dir.path())
            .args(arguments)
            .env("HEDDLE_CACHE_DIR", "cache");
        output(&mut command)
    };
    let (status, said, told) = run(&["run", "pattern.json"]);
    assert_eq!((status, said.as_str()), (0, "42\n"), "{told}");
    assert_only_of_patterns(&place("cache"));
    let (status, said, told) = run(&["precompile"]);
    assert_eq!(status, 0, "{told}");
    assert!(said.contains("/lib/heddle/heddle-"), "{said}");
}
