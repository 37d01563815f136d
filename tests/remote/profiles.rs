//! Where keys are kept.

use heddle_remote::profile;
use secrecy::{ExposeSecret, SecretString};

#[test]
fn keys_are_kept_by_server_and_workspace_in_a_file_of_ones_own() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("heddle").join("credentials.json");
    let key = |name: &str| SecretString::from(name);
    for (server, workspace, value) in [
        ("http://a", "1", "k1"),
        ("http://a", "2", "k2"),
        ("http://b", "1", "k3"),
    ] {
        profile::set(&file, server, workspace, Some(&key(value))).unwrap();
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(
            std::fs::metadata(&file).unwrap().permissions().mode() & 0o777,
            0o600
        );
    }
    assert_eq!(profile::workspaces(&file, "http://a").unwrap(), ["1", "2"]);
    assert_eq!(
        profile::key(&file, "http://b", "1").unwrap().expose_secret(),
        "k3"
    );
    profile::set(&file, "http://a", "1", None).unwrap();
    let error = profile::key(&file, "http://a", "1").unwrap_err().to_string();
    assert!(
        error.starts_with("there is no key for workspace 1 of http://a: `heddle login http://a`"),
        "{error}"
    );
}
