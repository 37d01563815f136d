//! A private Dovecot from Debian's package, for as long as a test holds it. Messages are delivered by putting files where it looks.

use crate::{needs, port};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

const PROGRAM: &str = "/usr/sbin/dovecot";
/// Whom Debian's package makes, for a server that was started by root.
const USER: &str = "dovecot";
pub const PASSWORD: &str = "s3cret-pw";
/// The only mailbox that the tests look into.
pub const ADDRESS: &str = "ann@example.com";

pub struct Dovecot {
    pub imap: u16,
    pub pop3: u16,
    /// Its certificate, in PEM.
    pub certificate: String,
    delivered: AtomicU32,
    server: Child,
    dir: tempfile::TempDir,
}

impl Drop for Dovecot {
    fn drop(&mut self) {
        // Its children end when it asks them to.
        let id = self.server.id().to_string();
        let _ = Command::new("kill").args(["-TERM", &id]).status();
        let _ = self.server.wait();
    }
}

fn output(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

impl Dovecot {
    /// `None` where it is not installed: then the test is skipped.
    pub async fn start() -> Option<Self> {
        let is_there = Path::new(PROGRAM).exists() && output(PROGRAM, &["--version"]).starts_with("2.3.");
        needs::or_skip(
            "Dovecot",
            is_there
                .then_some(())
                .ok_or("install the packages dovecot-imapd and dovecot-pop3d, version 2.3"),
        )?;
        Some(tokio::task::spawn_blocking(Self::start_blocking).await.unwrap())
    }

    fn start_blocking() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).display().to_string();
        let (imap, pop3) = (port::free(), port::free());
        let is_root = output("id", &["-u"]) == "0";
        let user = if is_root {
            USER.to_owned()
        } else {
            output("id", &["-un"])
        };
        let ids = |flag: &str| output("id", &[flag, &user]);
        let (uid, gid, group) = (ids("-u"), ids("-g"), ids("-gn"));
        for sub in ["cur", "new", "tmp", ".Done/cur", ".Done/new", ".Done/tmp"] {
            fs::create_dir_all(dir.path().join("mail").join(ADDRESS).join(sub)).unwrap();
        }
        for sub in ["run", "state"] {
            fs::create_dir(dir.path().join(sub)).unwrap();
        }
        let made = Command::new("openssl")
            .args("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost".split(' '))
            .args(["-addext", "subjectAltName=IP:127.0.0.1"])
            .args(["-addext", "basicConstraints=critical,CA:FALSE"])
            .args(["-keyout", &path("key.pem"), "-out", &path("cert.pem")])
            .stderr(Stdio::null())
            .status();
        assert!(made.is_ok_and(|status| status.success()), "openssl fails");
        let here = dir.path().display();
        let settings = format!(
            "base_dir = {here}/run\nstate_dir = {here}/state\nlog_path = {here}/log\nprotocols = imap pop3\n\
             listen = 127.0.0.1\ndefault_internal_user = {user}\ndefault_internal_group = {group}\n\
             default_login_user = {user}\nfirst_valid_uid = 1\ndisable_plaintext_auth = no\nssl = yes\n\
             ssl_cert = <{here}/cert.pem\nssl_key = <{here}/key.pem\nssl_dh =\n\
             mail_location = maildir:{here}/mail/%u\n\
             passdb {{\n  driver = static\n  args = password={PASSWORD}\n}}\n\
             userdb {{\n  driver = static\n  args = uid={uid} gid={gid} home={here}/home/%u\n}}\n\
             service anvil {{\n  chroot =\n}}\nservice stats {{\n  chroot =\n}}\n\
             service imap-login {{\n  chroot =\n  inet_listener imap {{\n    port = {imap}\n  }}\n\
             \x20 inet_listener imaps {{\n    port = 0\n  }}\n}}\n\
             service pop3-login {{\n  chroot =\n  inet_listener pop3 {{\n    port = {pop3}\n  }}\n\
             \x20 inet_listener pop3s {{\n    port = 0\n  }}\n}}\n"
        );
        fs::write(dir.path().join("dovecot.conf"), settings).unwrap();
        let certificate = fs::read_to_string(dir.path().join("cert.pem")).unwrap();
        let mut command = Command::new(PROGRAM);
        if is_root {
            let owned = Command::new("chown").args(["-R", USER]).arg(dir.path()).status();
            assert!(owned.is_ok_and(|status| status.success()));
            command = Command::new("setpriv");
            command.args(["--reuid", USER, "--regid", USER, "--clear-groups", "--", PROGRAM]);
        }
        let server = command
            .args(["-F", "-c", &path("dovecot.conf")])
            .current_dir("/")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let dovecot = Dovecot {
            imap,
            pop3,
            certificate,
            delivered: AtomicU32::new(0),
            server,
            dir,
        };
        for port in [imap, pop3] {
            dovecot.wait_for(port);
        }
        dovecot
    }

    fn wait_for(&self, port: u16) {
        for _ in 0..2_000 {
            if std::net::TcpStream::connect(("127.0.0.1", port)).is_ok() {
                return;
            }
            std::thread::park_timeout(std::time::Duration::from_millis(10));
        }
        let log = fs::read_to_string(self.dir.path().join("log")).unwrap_or_default();
        panic!("Dovecot does not start: {log}");
    }

    fn mail(&self) -> PathBuf {
        self.dir.path().join("mail").join(ADDRESS)
    }

    /// Puts a message into INBOX.
    pub fn deliver(&self, message: &str) {
        let number = self.delivered.fetch_add(1, Ordering::Relaxed);
        let (mail, name) = (self.mail(), format!("{}.M{number}.test", 1_700_000_000 + number));
        let arriving = mail.join("tmp").join(&name);
        fs::write(&arriving, message).unwrap();
        fs::rename(arriving, mail.join("new").join(name)).unwrap();
    }

    /// Names of the files of a mailbox, a subdirectory, or of INBOX if it is empty: at their ends are the messages' flags.
    pub fn names(&self, mailbox: &str) -> Vec<String> {
        let folders = ["cur", "new"].map(|sub| self.mail().join(mailbox).join(sub));
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        entries
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }
}
