//! Where other commands find the server of `heddle dev`, in directories that strangers may have made.

use heddle_remote::dev_file::{self, Running};
use serde_json::json;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn running(url: &str) -> Running {
    Running {
        url: url.to_owned(),
        key: "hdl_key".to_owned(),
        patterns: BTreeMap::from([("orders".to_owned(), "1".to_owned())]),
    }
}

fn url_in(root: &Path) -> Option<String> {
    dev_file::read(root).ok().flatten().map(|running| running.url)
}

#[test]
fn a_server_is_on_this_machine_or_none() {
    let root = tempfile::tempdir().unwrap();
    assert!(dev_file::read(root.path()).unwrap().is_none());
    for url in [
        "http://127.0.0.1:5000",
        "http://[::1]:5000",
        "http://localhost:5000",
        "http://127.0.0.9:1",
    ] {
        dev_file::write(root.path(), &running(url)).unwrap();
        assert_eq!(url_in(root.path()).as_deref(), Some(url));
    }
    let file = root.path().join(".heddle/dev.json");
    for url in [
        "https://evil.example",
        "http://192.0.2.7",
        "http://127.0.0.1.evil.example",
        "http://localhost@evil.example",
        "http://localhost.evil.example",
        "file:///etc/passwd",
        "127.0.0.1:5000",
        "",
    ] {
        fs::write(&file, json!(running(url)).to_string()).unwrap();
        let told = dev_file::read(root.path()).err().map(|error| error.to_string());
        assert!(
            told.is_some_and(|told| told.contains("not on this machine")),
            "{url}"
        );
    }
    dev_file::remove(root.path());
    assert!(dev_file::read(root.path()).unwrap().is_none());
}

#[cfg(unix)]
#[test]
fn links_that_came_with_a_directory_are_not_followed() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (own, theirs) = (root.path().join(".heddle"), elsewhere.path().join("profile"));
    fs::create_dir(&own).unwrap();
    fs::write(&theirs, "mine").unwrap();
    let here = running("http://127.0.0.1:5000");
    for name in ["dev.new", "dev.json"] {
        // Left by the round before.
        let _ = fs::remove_file(own.join(name));
        symlink(&theirs, own.join(name)).unwrap();
        dev_file::write(root.path(), &here).unwrap();
        assert_eq!(fs::read_to_string(&theirs).unwrap(), "mine", "{name}");
    }
    // Nor is anything readable for others that was there before.
    fs::write(own.join("dev.new"), "").unwrap();
    fs::set_permissions(own.join("dev.new"), fs::Permissions::from_mode(0o644)).unwrap();
    dev_file::write(root.path(), &here).unwrap();
    let mode = fs::symlink_metadata(own.join("dev.json"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);

    fs::remove_dir_all(&own).unwrap();
    symlink(elsewhere.path(), &own).unwrap();
    assert!(dev_file::write(root.path(), &here).is_err());
    assert!(!elsewhere.path().join("dev.json").exists());
    fs::write(elsewhere.path().join("dev.json"), json!(here).to_string()).unwrap();
    assert!(dev_file::read(root.path()).is_err());
}
