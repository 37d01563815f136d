//! `heddle tenants export` and `import`: a workspace as a file, by the operator's API. One part at a time is in memory.

use super::operator::{Operator, print_data};
use crate::cli::failure::{Exit, Failure};
use crate::cli::progress::Progress;
use clap::Args;
use heddle_model::ids::WorkspaceId;
use heddle_service::archives::{Head, PART_BYTES_MAX};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bytes of a line: the manifest has the longest.
const LINE_BYTES_MAX: u64 = 1 << 20;
/// Name of the last part.
const END: &str = "end";
/// How often a part is sent that did not arrive.
const ATTEMPTS: u32 = 5;
const PAUSE: Duration = Duration::from_secs(2);

/// Flags of `heddle tenants export`.
#[derive(Args, Debug)]
pub struct ExportArgs {
    /// The workspace's id. It must be suspended.
    id: WorkspaceId,
    /// File to create.
    file: PathBuf,
    /// File whose first line is the passphrase that the archive is locked with, of at least 16 characters; `-`: standard input.
    #[arg(long)]
    passphrase_file: PathBuf,
    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

/// Flags of `heddle tenants import`.
#[derive(Args, Debug)]
pub struct ImportArgs {
    /// An archive of a workspace.
    file: PathBuf,
    /// File whose first line is the passphrase that the archive was locked with; `-`: standard input.
    #[arg(long, required_unless_present = "resume")]
    passphrase_file: Option<PathBuf>,
    /// The email of a registered user who gets what belonged to people without an account here.
    #[arg(long)]
    owner: Option<String>,
    /// Give everything new ids, even if the workspace's own are free: this makes a copy.
    #[arg(long)]
    new_ids: bool,
    /// Go on with an import that was interrupted, by the workspace's id.
    #[arg(long, conflicts_with_all = ["owner", "new_ids", "passphrase_file"])]
    resume: Option<WorkspaceId>,
}

fn passphrase(file: &Path) -> Result<SecretString, Failure> {
    let unreadable =
        |error: io::Error| Failure::new(Exit::File, "FILE", format!("{}: {error}", file.display()));
    let mut line = String::new();
    let read = match file == Path::new("-") {
        true => io::stdin().lock().take(LINE_BYTES_MAX).read_line(&mut line),
        false => {
            File::open(file).and_then(|file| BufReader::new(file).take(LINE_BYTES_MAX).read_line(&mut line))
        }
    };
    read.map_err(unreadable)?;
    Ok(line.trim_end_matches(['\r', '\n']).into())
}

/// An archive, read part by part.
struct Archive<'a> {
    path: &'a Path,
    file: BufReader<File>,
}

impl<'a> Archive<'a> {
    fn open(path: &'a Path) -> Result<Self, Failure> {
        let file = File::open(path);
        let file =
            file.map_err(|error| Failure::new(Exit::File, "FILE", format!("{}: {error}", path.display())))?;
        Ok(Archive {
            path,
            file: BufReader::new(file),
        })
    }

    fn wrong(&self, why: impl std::fmt::Display) -> Failure {
        Failure::new(Exit::File, "ARCHIVE", format!("{}: {why}", self.path.display()))
    }

    fn line(&mut self) -> Result<Vec<u8>, Failure> {
        let mut line = Vec::new();
        let read = self
            .file
            .by_ref()
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line);
        match read {
            Err(error) => Err(self.wrong(error)),
            Ok(_) if line.last() != Some(&b'\n') => {
                Err(self.wrong("it ends too early, or is not an archive of a workspace"))
            }
            Ok(_) => Ok(line),
        }
    }

    fn manifest(&mut self) -> Result<Value, Failure> {
        let line = self.line()?;
        serde_json::from_slice(&line).map_err(|_| self.wrong("it is not an archive of a workspace"))
    }

    /// The next part, with its line.
    fn part(&mut self) -> Result<(Head, Vec<u8>), Failure> {
        let mut part = self.line()?;
        let head: Head = serde_json::from_slice(&part)
            .map_err(|_| self.wrong("a part does not begin with a valid line"))?;
        if head.bytes > PART_BYTES_MAX {
            return Err(self.wrong(format!("part {} is too large", head.part)));
        }
        let line = part.len();
        // As much as there is, whatever the line says.
        let read = self.file.by_ref().take(head.bytes as u64).read_to_end(&mut part);
        read.map_err(|error| self.wrong(error))?;
        let bytes = part.get(line..).unwrap_or_default();
        if bytes.len() != head.bytes {
            return Err(self.wrong(format!("it ends within part {}", head.part)));
        }
        if hex::encode(Sha256::digest(bytes)) != head.sha256 {
            return Err(self.wrong(format!("part {} is damaged: its SHA-256 differs", head.part)));
        }
        Ok((head, part))
    }
}

/// Reads an archive to its end; how many parts it has.
fn checked(path: &Path) -> Result<i64, Failure> {
    let mut archive = Archive::open(path)?;
    archive.manifest()?;
    for number in 1.. {
        let (head, _) = archive.part()?;
        if head.part != number {
            return Err(archive.wrong(format!("part {number} is missing")));
        }
        if head.of == END {
            return Ok(number);
        }
    }
    Ok(0)
}

impl Operator {
    /// Writes a workspace into a file, which gets its name once it is whole.
    pub(super) async fn export(&self, args: &ExportArgs, json: bool) -> Result<(), Failure> {
        if args.file.exists() && !args.force {
            let message = format!(
                "{} already exists: choose another name, or replace it with --force",
                args.file.display()
            );
            return Err(Failure::new(Exit::Failed, "EXISTS", message));
        }
        let passphrase = passphrase(&args.passphrase_file)?;
        let mut unfinished = args.file.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = PathBuf::from(unfinished);
        let written = self.written(args.id, &passphrase, &unfinished).await;
        let parts = written.and_then(|()| checked(&unfinished));
        let named = parts.and_then(|parts| {
            let renamed = fs::rename(&unfinished, &args.file);
            renamed.map_err(|error| {
                Failure::new(Exit::File, "FILE", format!("{}: {error}", args.file.display()))
            })?;
            Ok(parts)
        });
        if named.is_err() {
            // Unless it could not even be made.
            let _ = fs::remove_file(&unfinished);
        }
        let parts = named?;
        let bytes = fs::metadata(&args.file).map_or(0, |file| file.len());
        let done = json!({"data": {"file": args.file, "bytes": bytes, "parts": parts}});
        print_data(&done, json, |_| {
            format!("{} ({bytes} bytes)", args.file.display())
        })
    }

    async fn written(&self, id: WorkspaceId, passphrase: &SecretString, path: &Path) -> Result<(), Failure> {
        let _shown = Progress::start("exporting the workspace");
        let failed =
            |error: io::Error| Failure::new(Exit::File, "FILE", format!("{}: {error}", path.display()));
        let mut options = OpenOptions::new();
        let mut file = options
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(path)
            .map_err(failed)?;
        let asked = format!("/operator/workspaces/{id}/export");
        let body = json!({"passphrase": passphrase.expose_secret()});
        let request = self.request(Method::POST, &asked).timeout(Duration::MAX);
        let request = request
            .header("content-type", "application/json")
            .body(body.to_string());
        let mut answer = self.answered(request).await?;
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(error))? {
            file.write_all(&piece).map_err(failed)?;
        }
        file.sync_all().map_err(failed)
    }

    /// Sends an archive, part by part.
    pub(super) async fn import(&self, args: &ImportArgs, json: bool) -> Result<(), Failure> {
        let mut archive = Archive::open(&args.file)?;
        let manifest = archive.manifest()?;
        let begun = match (args.resume, &args.passphrase_file) {
            (Some(id), _) => {
                self.ask(Method::GET, &format!("/operator/imports/{id}"), None)
                    .await?
            }
            (None, Some(file)) => {
                let passphrase = passphrase(file)?;
                let mut body = json!({
                    "manifest": manifest,
                    "passphrase": passphrase.expose_secret(),
                    "newIds": args.new_ids,
                });
                if let Some(owner) = &args.owner {
                    body["owner"] = owner.as_str().into();
                }
                self.ask(Method::POST, "/operator/imports", Some(&body)).await?
            }
            (None, None) => return Err(Failure::usage("--passphrase-file is needed")),
        };
        let id = begun["data"]["workspaceId"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        let sent = self.sent(&mut archive, &id, &begun).await;
        let done = sent.map_err(|failure| match failure {
            // What is wrong with the archive was said, and ended the import.
            Failure::Reported(failure) if failure.code != "REFUSED" => {
                let message = format!(
                    "{}. Go on with `--resume {id}` within an hour; until then `heddle tenants delete {id} --yes` removes \
                     what is there",
                    failure.message.trim_end_matches('.')
                );
                Failure::new(failure.exit, failure.code, message)
            }
            failure => failure,
        })?;
        print_data(&done, json, imported)
    }

    async fn sent(&self, archive: &mut Archive<'_>, id: &str, begun: &Value) -> Result<Value, Failure> {
        let _shown = Progress::start("importing the workspace");
        let next = begun["data"]["nextPart"].as_i64().unwrap_or(1);
        let mut answer = begun.clone();
        while answer["data"]["isFinished"] != true {
            let (head, part) = archive.part()?;
            if head.part < next {
                continue;
            }
            answer = self.part(id, head.part, part).await?;
            if head.of == END {
                break;
            }
        }
        Ok(answer)
    }

    /// Sends a part until it has arrived: a second time changes nothing.
    async fn part(&self, id: &str, number: i64, part: Vec<u8>) -> Result<Value, Failure> {
        let path = format!("/operator/imports/{id}/parts/{number}");
        let mut attempt = 1;
        loop {
            let request = self
                .request(Method::PUT, &path)
                .header("content-type", "application/octet-stream")
                .body(part.clone());
            match self.text(request).await.and_then(|text| self.json(&path, &text)) {
                Err(Failure::Reported(failure)) if failure.code == "UNREACHABLE" && attempt < ATTEMPTS => {
                    attempt += 1;
                    tokio::time::sleep(PAUSE).await;
                }
                answered => return answered,
            }
        }
    }
}

/// What is to be known of an import, for people. Addresses of people are what others have written: they give a terminal no orders.
fn imported(import: &Value) -> String {
    let mut lines = vec![format!(
        "{} is imported, and suspended: `heddle tenants resume {}` when its addresses lead here",
        import["workspaceId"].as_str().unwrap_or_default(),
        import["workspaceId"].as_str().unwrap_or_default()
    )];
    if import["keepsIds"] == false {
        lines.push(format!(
            "it is a copy of {}, with other ids",
            import["formerId"].as_str().unwrap_or_default()
        ));
    }
    for address in import["changedAddresses"].as_array().into_iter().flatten() {
        let text = |name: &str| {
            address[name]
                .as_str()
                .unwrap_or_default()
                .replace(char::is_control, " ")
        };
        lines.push(format!("{} {} is now {}", text("kind"), text("from"), text("to")));
    }
    for email in import["invited"].as_array().into_iter().flatten() {
        let email = email.as_str().unwrap_or_default().replace(char::is_control, " ");
        lines.push(format!("{email} has no account here, and was invited"));
    }
    for (name, what) in [
        (
            "leftOut",
            "drafts and stars of people without an account were left out",
        ),
        (
            "endedRuns",
            "runs had not ended, and are not continued in the copy",
        ),
    ] {
        match import[name].as_u64() {
            None | Some(0) => {}
            Some(count) => lines.push(format!("{count} {what}")),
        }
    }
    lines.join("\n")
}
