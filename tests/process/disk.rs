//! A disk that is full, or nearly so, as `/readyz` tells it: a small file system of the server's own.

use crate::needs;
use crate::server::{Server, heddle, pause};
use std::io::Write;
use std::process::{Command, Stdio};

/// Begins a command in a mount namespace in which the data directory is a file system of 64 MiB, of which as many MiB are
/// filled as its standard input says, line by line.
const SCRIPT: &str = r#"
mkdir -p heddle-data && mount -t tmpfs -o size=64m,mode=0700 none heddle-data || exit 9
exec 3<&0
(while read -r mib <&3; do head -c "${mib}M" /dev/zero > heddle-data/fill; done) &
exec "$1" serve
"#;

fn in_own_mounts(script: &str) -> Command {
    let mut command = Command::new("unshare");
    command.args([
        "--user",
        "--map-root-user",
        "--mount",
        "/bin/sh",
        "-c",
        script,
        "sh",
    ]);
    command
}

#[test]
fn a_full_disk_is_told_by_readyz_until_there_is_room() {
    let dir = tempfile::tempdir().unwrap();
    let probe = in_own_mounts("mount -t tmpfs none /mnt").output();
    let probe = probe.map_err(|error| error.to_string());
    let made = probe.and_then(|ran| match ran.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&ran.stderr).into_owned()),
    });
    let Some(()) = needs::or_skip("a mount namespace", made) else {
        return;
    };
    let mut command = in_own_mounts(SCRIPT);
    command
        .arg(heddle(dir.path()).get_program())
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .stdin(Stdio::piped());
    let mut process = Server::spawn(command, &[]);
    let mut fill = process.stdin.take().unwrap();
    let server = Server::listening(process).unwrap();
    let ready = || server.call("GET", "/readyz", "", "");
    assert_eq!(ready().0, 200);

    writeln!(fill, "50").unwrap();
    let told = loop {
        let (status, told) = ready();
        if status != 200 {
            assert_eq!(status, 503, "{told}");
            break told;
        }
        pause();
    };
    assert_eq!(told["error"]["code"], "UNAVAILABLE");
    let message = told["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("disk of the data directory is full"),
        "{message}"
    );
    assert_eq!(server.call("GET", "/healthz", "", "").0, 200);

    writeln!(fill, "1").unwrap();
    while ready().0 != 200 {
        pause();
    }
    drop(fill);
    assert_eq!(server.stop(), Some(0));
}
