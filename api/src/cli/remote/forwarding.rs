//! `heddle tap --forward`: what the webhooks of a pattern receive on the server is sent on, to the same nodes of the server of
//! `heddle dev` or to an address, each event once. The server keeps 20 events of a webhook for half an hour: where this one had got to
//! is in `.heddle/`, so that it goes on after an interruption.

use super::resending::{self, Request};
use super::running::id_of;
use super::{opened, pattern_name};
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::report::{first_columns, printable};
use crate::cli::serve;
use heddle_model::clock::{Clock, Timestamp};
use heddle_remote::Error;
use heddle_remote::dev_file;
use heddle_remote::directory::Directory;
use heddle_remote::server::{Server, plain};
use reqwest::Method;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

/// How often the server is asked for what is new, and how long is waited for one that does not answer.
const LOOK: Duration = Duration::from_secs(1);
/// Events are fetched when the log has another newest line, and besides every so many looks: lines may become visible in another
/// order than they were written in.
const LOOKS_WITHOUT_NEWS: u32 = 10;
/// For as long does the server keep events: what is remembered from before says nothing any more.
const KEPT_FOR: Duration = Duration::from_secs(30 * 60);
/// Whoever receives an event may take so long to answer it.
const ANSWER_MAX: Duration = Duration::from_secs(120);
/// Columns of an answer that are shown.
const SHOWN_COLUMNS: usize = 100;
/// The variable with the secret by which requests to an address are signed.
const SECRET_VARIABLE: &str = "HEDDLE_WEBHOOK_SECRET";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Tapped {
    node_id: String,
    received_at: String,
    event_data: Box<RawValue>,
}

#[derive(Deserialize)]
struct Page {
    events: Vec<Tapped>,
}

/// Whom events are sent to.
enum Target {
    /// The server of `heddle dev` in this directory.
    Dev,
    Address(String, Option<SecretString>),
}

/// Where one event is to go.
struct Place {
    url: String,
    secret: Option<SecretString>,
    graph: Value,
}

/// What came of looking for that.
enum Found {
    Place(Place),
    /// It may be there soon.
    NotYet(String),
    Never(String),
}

struct Forwarder {
    directory: Directory,
    server: Server,
    client: reqwest::Client,
    name: String,
    id: String,
    target: Target,
    /// Events that are dealt with.
    done: BTreeSet<String>,
    newest: Value,
    looks: u32,
    /// What was said last of something that is waited for.
    noted: String,
}

/// Forwards events until it is interrupted. `url`: to this address; empty: to `heddle dev`.
pub fn forward(pattern: &str, url: &str) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let id = id_of(&directory, pattern)?.to_owned();
    let target = match url {
        "" => Target::Dev,
        url => {
            let is_address =
                reqwest::Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
            if !is_address {
                return Err(Failure::usage(format!(
                    "`{url}` is not an address, such as http://127.0.0.1:3000/hook"
                )));
            }
            let secret = std::env::var(SECRET_VARIABLE).ok();
            Target::Address(url.to_owned(), secret.map(SecretString::from))
        }
    };
    // What goes to this machine must not go by a proxy, and a redirection is an answer like others.
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .timeout(ANSWER_MAX)
        .build()
        .map_err(|error| Failure::new(Exit::File, "FILE", error.to_string()))?;
    let mut forwarder = Forwarder {
        directory,
        server,
        client,
        name: pattern_name(pattern).to_owned(),
        id,
        target,
        done: BTreeSet::new(),
        newest: Value::Null,
        looks: 0,
        noted: String::new(),
    };
    serve::wait(Box::pin(forwarder.follow()))??;
    Ok(ExitCode::SUCCESS)
}

impl Forwarder {
    async fn follow(&mut self) -> Result<(), Failure> {
        let mut is_known = self.remembered();
        if is_known {
            output::note(&format!("{}: forwarding goes on where it was", self.name));
        }
        loop {
            match self.look(is_known).await {
                Ok(()) if is_known => {}
                Ok(()) => {
                    is_known = true;
                    output::note(&format!("{}: forwarding what comes from now on", self.name));
                }
                Err(Problem::Local(failure)) => return Err(failure),
                Err(Problem::Server(error)) => match passes(&error) {
                    true => self.note_once(&error.to_string()),
                    false => return Err(error.into()),
                },
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Says once what is waited for.
    fn note_once(&mut self, what: &str) {
        if self.noted != what {
            what.clone_into(&mut self.noted);
            output::note(&format!("{what}; trying again"));
        }
    }

    /// Forwards new events. `is_known`: those that were there before are known; otherwise all that are there now count as known.
    async fn look(&mut self, is_known: bool) -> Result<(), Problem> {
        let path = format!("/api/patterns/{}/webhook-logs?limit=1", self.id);
        let log = self.server.ask(Method::GET, &path, None).await?;
        let newest = log["logs"][0]["id"].clone();
        self.looks += 1;
        if is_known && newest == self.newest && self.looks < LOOKS_WITHOUT_NEWS {
            return Ok(());
        }
        let path = format!("/api/patterns/{}/tap-events", self.id);
        let bytes = self.server.get_as_it_is(&path).await?;
        let page: Page = serde_json::from_slice(&bytes)
            .map_err(|error| Error::Unreachable(format!("{path}: not an answer of heddle's: {error}")))?;
        let mut keys = BTreeMap::new();
        let mut there = BTreeSet::new();
        for event in page.events.iter().rev() {
            let key = key(event, &mut keys);
            there.insert(key.clone());
            if is_known && !self.done.contains(&key) {
                self.deliver(event, &key).await?;
            }
        }
        // What the server has forgotten does not come again.
        self.done = there;
        self.remember();
        self.newest = newest;
        self.looks = 0;
        self.noted.clear();
        Ok(())
    }

    /// Sends an event, as soon as there is somebody to take it.
    async fn deliver(&mut self, event: &Tapped, key: &str) -> Result<(), Problem> {
        let what = format!("{}  {}", plain(&event.received_at), plain(&event.node_id));
        loop {
            let place = match self.place(&event.node_id).await? {
                Found::Place(place) => place,
                Found::NotYet(why) => {
                    self.note_once(&why);
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Found::Never(why) => {
                    self.finish(key);
                    output::note(&format!("{what}: not forwarded: {why}"));
                    return Ok(());
                }
            };
            let request = match made(event, &place) {
                Ok(request) => request,
                Err(why) => {
                    self.finish(key);
                    output::note(&format!("{what}: not forwarded: {why}"));
                    return Ok(());
                }
            };
            // Noted before: who stops this while an answer is waited for does not want the event twice.
            self.finish(key);
            let line = format!("{what}  {} {}", request.method, request.url);
            match self.send(request).await {
                Ok(answer) => output::result(&format!("{line}  {answer}"))?,
                Err(error) if error.is_connect() => {
                    self.done.remove(key);
                    self.remember();
                    self.note_once(&format!("{}: nobody listens there", place.url));
                    tokio::time::sleep(LOOK).await;
                    continue;
                }
                Err(error) => output::note(&format!(
                    "{line}: there was no answer ({}); it is not sent again",
                    error.without_url()
                )),
            }
            return Ok(());
        }
    }

    async fn send(&self, request: Request) -> Result<String, reqwest::Error> {
        let Request {
            method,
            url,
            headers,
            body,
        } = request;
        let request = self.client.request(method, url).headers(headers).body(body);
        let mut answer = request.send().await?;
        let status = answer.status();
        let mut text = Vec::new();
        while text.len() < SHOWN_COLUMNS * 4 {
            match answer.chunk().await? {
                Some(piece) => text.extend_from_slice(&piece),
                None => break,
            }
        }
        let text = plain(&String::from_utf8_lossy(&text));
        let shown = first_columns(&printable(text.trim()), SHOWN_COLUMNS);
        Ok(format!("{} {shown}", status.as_u16()).trim_end().to_owned())
    }

    /// Where an event of a node goes.
    async fn place(&self, node: &str) -> Result<Found, Problem> {
        match &self.target {
            Target::Address(url, secret) => {
                // Files that are being edited may be whole again soon.
                Ok(match self.directory.read(&self.name) {
                    Err(error) => Found::NotYet(error.to_string()),
                    Ok(document) => Found::Place(Place {
                        url: url.clone(),
                        secret: secret.clone(),
                        graph: document.graph.into(),
                    }),
                })
            }
            Target::Dev => {
                let root = self.directory.root();
                let Some(running) = dev_file::read(root)? else {
                    return Ok(Found::NotYet("`heddle dev` does not run here".to_owned()));
                };
                let Some(id) = running.patterns.get(&self.name) else {
                    return Ok(Found::NotYet(format!("`heddle dev` has no `{}`", self.name)));
                };
                let server = Server::at(&running.url, running.key.as_str().into())?;
                // It may be about to start again, with other keys and ids.
                let found = on_dev(&server, id, node).await;
                Ok(found.unwrap_or_else(|error| Found::NotYet(error.to_string())))
            }
        }
    }

    fn finish(&mut self, key: &str) {
        self.done.insert(key.to_owned());
        self.remember();
    }

    fn file(&self) -> String {
        format!("tap-{}.json", self.name)
    }

    fn remember(&self) {
        let state = json!({"at": Clock::System.now(), "done": self.done});
        self.directory.keep_own(&self.file(), &format!("{state}\n"));
    }

    /// Reads what is dealt with. Whether that says anything.
    fn remembered(&mut self) -> bool {
        // Without it, what comes from now on is forwarded.
        let state = self.directory.read_json(&format!(".heddle/{}", self.file()));
        let state = state.ok().flatten().unwrap_or_default();
        let at = state["at"].as_str().and_then(Timestamp::parse);
        if at.is_none_or(|at| at.plus(KEPT_FOR) <= Clock::System.now()) {
            return false;
        }
        let done = state["done"].as_array().into_iter().flatten();
        self.done = done.filter_map(Value::as_str).map(str::to_owned).collect();
        true
    }
}

/// Why looking has ended.
enum Problem {
    Server(Error),
    /// Not the server has failed, but what is done with its answers.
    Local(Failure),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Problem::Server(error)
    }
}

impl From<Failure> for Problem {
    fn from(failure: Failure) -> Self {
        Problem::Local(failure)
    }
}

/// Whether a server may answer otherwise soon.
fn passes(error: &Error) -> bool {
    match error {
        Error::Unreachable(_) => true,
        Error::Refused { status, .. } => *status == 429 || *status >= 500,
        _ => false,
    }
}

/// A key by which an event is recognised. Events that are equal in everything are numbered: `keys` has how many there were.
fn key(event: &Tapped, keys: &mut BTreeMap<String, usize>) -> String {
    let mut digest = Sha256::new();
    for part in [&event.received_at, &event.node_id] {
        digest.update(part);
        digest.update(b"\0");
    }
    digest.update(event.event_data.get());
    let digest = hex::encode(digest.finalize());
    let count = keys.entry(digest.clone()).or_default();
    *count += 1;
    format!("{digest}.{count}")
}

fn made(event: &Tapped, place: &Place) -> Result<Request, String> {
    let webhook = resending::webhook_of(&place.graph, &event.node_id);
    let webhook = webhook.ok_or("the pattern here has no such node, or it has no address")?;
    let secret = place.secret.as_ref().map(|secret| secret.expose_secret());
    resending::request(
        &event.event_data,
        &webhook,
        (place.url.as_str(), secret),
        Clock::System.now(),
    )
}

/// The address of a node on the server of `heddle dev`.
async fn on_dev(server: &Server, id: &str, node: &str) -> Result<Found, Error> {
    let path = format!("/api/patterns/{id}/webhooks");
    let listed = server.ask(Method::GET, &path, None).await?;
    let endpoints = listed["data"]["endpoints"].as_array().into_iter().flatten();
    let mut endpoints = endpoints.filter(|endpoint| endpoint["nodeId"] == node);
    let Some(endpoint) = endpoints.next() else {
        return Ok(Found::Never("the pattern here has no such node".to_owned()));
    };
    let pattern = server.pattern(id).await?;
    Ok(Found::Place(Place {
        url: endpoint["webhookUrl"].as_str().unwrap_or_default().to_owned(),
        secret: endpoint["webhookSecret"].as_str().map(SecretString::from),
        graph: pattern.document.graph.into(),
    }))
}
