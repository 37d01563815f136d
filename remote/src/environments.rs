//! Keeps environments in step, each a file `environments/NAME.json`, by the rules that `sync` has for patterns: variables and the
//! schedules that were set for deployments. Secrets are only listed by name: what is listed and not there, people have to set.

use crate::Error;
use crate::change::{Change, of_members};
use crate::directory::{Directory, LockedEnvironment};
use crate::document::digest;
use crate::environment_file::{listed_secrets, parsed, settings, with_secrets};
use crate::files;
use crate::history;
use crate::merge::{Prefer, merge_values};
use crate::server::Server;
use crate::sync::{Done, PushOptions, Since};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Where the files are.
pub const FOLDER: &str = "environments";
/// Deployments of a page; the service gives no more.
const PAGE: usize = 1000;

/// An environment on both sides.
#[derive(Debug)]
pub struct Environment {
    /// Its file's name without the ending; of one that is only on the server, the name that it would get.
    pub file: String,
    /// What has become of it here.
    pub here: Since,
    /// What has become of it on the server.
    pub there: Since,
    /// Secrets that the file lists and the server has not.
    pub missing: Vec<String>,
    ours: Option<Value>,
    theirs: Option<Stored>,
    locked: Option<LockedEnvironment>,
}

/// An environment as the server has it.
#[derive(Clone, Debug)]
struct Stored {
    id: String,
    document: Value,
    /// The tag (`ETag`) of the variables.
    tag: Option<String>,
    /// What runs by the clock there, by the names of patterns' directories.
    deployments: BTreeMap<String, String>,
}

/// A deployment that runs by the clock.
struct Deployed {
    id: String,
    pattern: String,
    environment: String,
    schedule: Option<Value>,
}

/// All environments, on both sides.
///
/// # Errors
///
/// The server can't be asked, or a file is not an environment.
pub async fn all(directory: &Directory, server: &Server) -> Result<Vec<Environment>, Error> {
    let deployed = match deployed(server).await {
        // A server from before there was this list: what it has of environments is nobody's business here.
        Err(Error::Refused { status: 404, .. }) => return Ok(Vec::new()),
        found => found?,
    };
    let found = server.ask(Method::GET, &address(directory, ""), None).await?;
    let mut listed = BTreeMap::new();
    for environment in found["data"].as_array().into_iter().flatten() {
        let text = |name: &str| environment[name].as_str().unwrap_or_default();
        let stored = fetched(directory, server, (text("id"), text("name")), &deployed).await?;
        listed.insert(stored.id.clone(), stored);
    }
    let mut files: BTreeSet<String> = directory.files_in(FOLDER)?.into_iter().collect();
    files.extend(directory.environments.keys().cloned());
    let mut all = Vec::new();
    for file in &files {
        let ours = read(directory, file)?;
        let locked = directory.environments.get(file).cloned();
        let own = locked.as_ref().and_then(|locked| listed.remove(&locked.id));
        // Made on both sides, as by CI, which keeps no lock: names are unique.
        let is_named =
            |stored: &Stored| Some(&stored.document["name"]) == ours.as_ref().map(|ours| &ours["name"]);
        let named = || {
            listed
                .values()
                .find(|stored| is_named(stored))
                .map(|stored| stored.id.clone())
        };
        let theirs = match own {
            Some(own) => Some(own),
            None => named().and_then(|id| listed.remove(&id)),
        };
        all.push(Environment::new(file.clone(), ours, theirs, locked));
    }
    for stored in listed.into_values() {
        let name = stored.document["name"].as_str().unwrap_or_default();
        let file = files::free_name_of(name, &files);
        files.insert(file.clone());
        all.push(Environment::new(file, None, Some(stored), None));
    }
    Ok(all)
}

fn address(directory: &Directory, below: &str) -> String {
    format!(
        "/api/workspaces/{}/environments{below}",
        directory.config.workspace
    )
}

fn path_of(file: &str) -> String {
    format!("{FOLDER}/{file}.json")
}

/// An environment as its file has it, with all of its fields. `None`: there is no such file.
///
/// # Errors
///
/// It can't be read, or is not an environment.
pub fn read(directory: &Directory, file: &str) -> Result<Option<Value>, Error> {
    let path = path_of(file);
    let Some(given) = directory.read_json(&path)? else {
        return Ok(None);
    };
    let parsed = parsed(&given).map_err(|message| Error::invalid(directory.root().join(path), message));
    parsed.map(Some)
}

/// All deployments of the workspace that run by the clock.
async fn deployed(server: &Server) -> Result<Vec<Deployed>, Error> {
    let mut all = Vec::new();
    let mut cursor = String::new();
    loop {
        let path = format!("/api/schedules/set?limit={PAGE}&cursor={cursor}");
        let page = server.ask(Method::GET, &path, None).await?;
        for row in page["data"].as_array().into_iter().flatten() {
            let text = |name: &str| row[name].as_str().unwrap_or_default().to_owned();
            let schedule = row["schedule"].as_object();
            all.push(Deployed {
                id: text("deploymentId"),
                pattern: text("patternId"),
                environment: text("environmentId"),
                schedule: schedule
                    .map(|set| json!({"cron": set.get("cronExpression"), "timezone": set.get("timezone")})),
            });
        }
        match page["meta"]["nextCursor"].as_str() {
            Some(next) => cursor = form_urlencoded::byte_serialize(next.as_bytes()).collect(),
            None => return Ok(all),
        }
    }
}

async fn fetched(
    directory: &Directory,
    server: &Server,
    (id, name): (&str, &str),
    deployed: &[Deployed],
) -> Result<Stored, Error> {
    let variables = address(directory, &format!("/{id}/variables"));
    let (variables, tag) = server.ask_tagged(Method::GET, &variables, None, None).await?;
    let secrets = address(directory, &format!("/{id}/secrets"));
    let secrets = server.ask(Method::GET, &secrets, None).await?;
    let names = secrets["data"].as_array().into_iter().flatten();
    let names: Vec<Value> = names.map(|secret| secret["name"].clone()).collect();
    let mut schedules = Map::new();
    let mut deployments = BTreeMap::new();
    for (pattern, locked) in &directory.locked {
        let is_it = |row: &&Deployed| row.environment == id && row.pattern == locked.id;
        let Some(row) = deployed.iter().find(is_it) else {
            continue;
        };
        deployments.insert(pattern.clone(), row.id.clone());
        if let Some(schedule) = &row.schedule {
            schedules.insert(pattern.clone(), schedule.clone());
        }
    }
    let document = json!({
        "name": name, "variables": variables["data"], "schedules": schedules, "secrets": names,
    });
    let document = parsed(&document)
        .map_err(|message| Error::Unreachable(format!("the server's environment {name}: {message}")))?;
    Ok(Stored {
        id: id.to_owned(),
        document,
        tag,
        deployments,
    })
}

impl Environment {
    fn new(
        file: String,
        ours: Option<Value>,
        theirs: Option<Stored>,
        locked: Option<LockedEnvironment>,
    ) -> Self {
        let since = |document: Option<&Value>| match (document, &locked) {
            (None, _) => Since::Gone,
            (Some(_), None) => Since::New,
            (Some(document), Some(locked)) if digest(&settings(document)) == locked.sha256 => Since::Same,
            (Some(_), Some(_)) => Since::Changed,
        };
        let document = theirs.as_ref().map(|theirs| &theirs.document);
        let listed = ours.as_ref().map(listed_secrets).unwrap_or_default();
        let there = document.map(listed_secrets).unwrap_or_default();
        let is_unlisted = ours.is_some() && !there.is_subset(&listed);
        Environment {
            here: since(ours.as_ref()),
            there: match since(document) {
                Since::Same if is_unlisted => Since::Changed,
                there => there,
            },
            missing: listed.difference(&there).cloned().collect(),
            file,
            ours,
            theirs,
            locked,
        }
    }

    /// Whether both sides are as they were.
    pub fn is_in_step(&self) -> bool {
        (self.here, self.there) == (Since::Same, Since::Same)
    }

    /// Secrets that the server has and the file does not list.
    pub fn unlisted(&self) -> impl Iterator<Item = String> {
        let listed = self.ours.as_ref().map(listed_secrets).unwrap_or_default();
        let theirs = self.theirs.as_ref();
        let there = theirs.map(|theirs| listed_secrets(&theirs.document));
        let there = there.unwrap_or_default().into_iter();
        there.filter(move |secret| !listed.contains(secret))
    }

    /// Its file, from the workspace's directory.
    pub fn place(&self) -> String {
        path_of(&self.file)
    }

    /// What it was when both sides were last in step, as far as it can be pushed.
    fn base(&self, directory: &Directory) -> Option<Value> {
        let locked = self.locked.as_ref()?;
        let is_it = |found: Value| (digest(&found) == locked.sha256).then_some(found);
        let theirs = self.theirs.as_ref().map(|theirs| settings(&theirs.document));
        let kept = directory.kept(&locked.id, &locked.sha256);
        kept.or_else(|| theirs.and_then(is_it)).or_else(|| {
            history::earlier(directory, &self.place(), |value| {
                is_it(settings(&parsed(&value).ok()?))
            })
        })
    }

    /// Whether what the server has is this file, or an earlier state of it, and so nobody else's work.
    fn is_ours(&self, directory: &Directory) -> bool {
        let (Some(ours), Some(theirs)) = (&self.ours, &self.theirs) else {
            return false;
        };
        let wanted = digest(&settings(&theirs.document));
        let is_it = |document: &Value| digest(&settings(document)) == wanted;
        let had = |value: Value| parsed(&value).ok().filter(&is_it);
        self.locked.as_ref().is_some_and(|locked| locked.sha256 == wanted)
            || is_it(ours)
            || history::earlier(directory, &self.place(), had).is_some()
    }

    /// What has changed here, or on the server, since both were in step.
    pub fn changes(&self, directory: &Directory, on_server: bool) -> Vec<Change> {
        let theirs = self.theirs.as_ref().map(|theirs| &theirs.document);
        let side = if on_server { theirs } else { self.ours.as_ref() };
        let base = self.base(directory).unwrap_or_else(|| json!({}));
        let side = side.map_or_else(|| json!({}), settings);
        let mut found = Vec::new();
        for what in ["variables", "schedules"] {
            let members = |value: &Value| value[what].as_object().cloned().unwrap_or_default();
            found.extend(of_members(what, &members(&base), &members(&side)));
        }
        found
    }
}

fn in_step(directory: &mut Directory, file: &str, stored: &Stored) {
    let settings = settings(&stored.document);
    directory.keep_base(&stored.id, &settings);
    let locked = LockedEnvironment {
        id: stored.id.clone(),
        sha256: digest(&settings),
    };
    directory.environments.insert(file.to_owned(), locked);
}

/// Brings the server's changes of an environment here. `None`: there are none.
///
/// # Errors
///
/// A file can't be written.
pub fn pull(
    directory: &mut Directory,
    environment: &Environment,
    prefer: Option<Prefer>,
    dry_run: bool,
) -> Result<Option<Done>, Error> {
    let file = environment.file.as_str();
    let Some(theirs) = &environment.theirs else {
        return Ok(gone_there(directory, environment, prefer, dry_run));
    };
    let (document, done) = match (&environment.ours, environment.here, environment.there) {
        (_, _, Since::Same) => return Ok(None),
        (None, _, Since::Changed) if prefer != Some(Prefer::Theirs) => {
            return Ok(Some(Done::Left(
                "its file was removed here and it was changed on the server: `heddle pull --theirs` brings it back"
                    .to_owned(),
            )));
        }
        (None, ..) => (theirs.document.clone(), Done::Added),
        (Some(ours), Since::Same, _) => (with_secrets(&theirs.document, ours), Done::Updated),
        (Some(ours), ..) if environment.is_ours(directory) => {
            let document = with_secrets(ours, &theirs.document);
            if document == *ours {
                if !dry_run {
                    in_step(directory, file, theirs);
                }
                return Ok(None);
            }
            (document, Done::Updated)
        }
        (Some(ours), ..) => {
            // Without a common state, all that differs is a conflict.
            let base = environment.base(directory).unwrap_or_else(|| json!({}));
            let sides = [&base, &settings(ours), &settings(&theirs.document)];
            let (merged, conflicts) = merge_values(sides, prefer);
            if !conflicts.is_empty() {
                return Ok(Some(Done::Conflicts(conflicts)));
            }
            let merged = with_secrets(&merged.unwrap_or_else(|| settings(ours)), ours);
            let is_theirs = settings(&merged) == settings(&theirs.document);
            let done = if is_theirs { Done::Updated } else { Done::Merged };
            (with_secrets(&merged, &theirs.document), done)
        }
    };
    if !dry_run {
        directory.write_json(&environment.place(), &document)?;
        in_step(directory, file, theirs);
    }
    Ok(Some(done))
}

fn gone_there(
    directory: &mut Directory,
    environment: &Environment,
    prefer: Option<Prefer>,
    dry_run: bool,
) -> Option<Done> {
    let done = match (environment.here, prefer) {
        (Since::New, _) => return None,
        (Since::Changed, None) => {
            let why = "it was deleted on the server and changed here: `heddle pull --theirs` removes it, `--ours` makes it a new one";
            return Some(Done::Left(why.to_owned()));
        }
        (Since::Changed, Some(Prefer::Ours)) => Some(Done::Merged),
        (Since::Gone, _) => None,
        _ => Some(Done::Removed),
    };
    if !dry_run {
        if done == Some(Done::Removed) {
            directory.remove_json(&environment.place());
        }
        directory.environments.remove(&environment.file);
    }
    done
}

/// What keeps an environment from being pushed; `None`: nothing does, or there is nothing to push.
pub fn obstacle(
    directory: &Directory,
    environment: &Environment,
    options: PushOptions<'_>,
) -> Option<String> {
    if let (Some(ours), Some(theirs)) = (&environment.ours, &environment.theirs)
        && ours["name"] != theirs.document["name"]
    {
        return Some(format!(
            "an environment can't be renamed: on the server it is called {}",
            theirs.document["name"]
        ));
    }
    match (environment.here, environment.there) {
        (Since::Gone, Since::Changed) if options.delete => {
            Some("it was changed on the server since: pull first".to_owned())
        }
        (Since::Changed, Since::Gone) => Some("it was deleted on the server: pull first".to_owned()),
        (Since::Changed | Since::New, Since::Changed | Since::New) if !environment.is_ours(directory) => {
            Some("it was changed on the server since: pull first".to_owned())
        }
        _ => None,
    }
}

/// Brings an environment's variables to the server, and makes it if it is new: before patterns, which may need them.
/// Whether something was changed, or would be.
///
/// # Errors
///
/// The server has refused, which it does if somebody has changed the variables in the meantime.
pub async fn push_variables(
    directory: &mut Directory,
    server: &Server,
    environment: &mut Environment,
    options: PushOptions<'_>,
) -> Result<Option<Done>, Error> {
    let Some(ours) = environment
        .ours
        .as_ref()
        .filter(|_| environment.here != Since::Same)
    else {
        return Ok(None);
    };
    let variables = &ours["variables"];
    let done = match &environment.theirs {
        None => Done::Created,
        Some(theirs) if theirs.document["variables"] == *variables => return Ok(None),
        Some(_) => Done::Stored,
    };
    if options.dry_run {
        return Ok(Some(done));
    }
    if environment.theirs.is_none() {
        let body = json!({"name": ours["name"]});
        let made = server
            .ask(Method::POST, &address(directory, ""), Some(&body))
            .await?;
        let made = (
            made["data"]["id"].as_str().unwrap_or_default(),
            made["data"]["name"].as_str(),
        );
        let stored = fetched(directory, server, (made.0, made.1.unwrap_or_default()), &[]).await?;
        in_step(directory, &environment.file, &stored);
        environment.theirs = Some(stored);
    }
    if let Some(theirs) = environment
        .theirs
        .as_mut()
        .filter(|theirs| theirs.document["variables"] != *variables)
    {
        let path = address(directory, &format!("/{}/variables", theirs.id));
        let tag = theirs.tag.as_deref();
        let (_, tag) = server
            .ask_tagged(Method::PUT, &path, Some(variables), tag)
            .await?;
        theirs.tag = tag;
        theirs.document["variables"] = variables.clone();
        in_step(directory, &environment.file, theirs);
    }
    Ok(Some(done))
}

/// Brings the schedules of an environment's deployments to the server, after the patterns, and deletes it there if its file is
/// gone and that is wanted. What was done, and which patterns' schedules wait until they are deployed.
///
/// # Errors
///
/// The server has refused.
pub async fn push_schedules(
    directory: &mut Directory,
    server: &Server,
    environment: &mut Environment,
    options: PushOptions<'_>,
) -> Result<(Option<Done>, Vec<String>), Error> {
    let mut waiting = Vec::new();
    let Some(ours) = &environment.ours else {
        let Some(theirs) = environment
            .theirs
            .as_ref()
            .filter(|_| options.delete && environment.locked.is_some())
        else {
            return Ok((None, waiting));
        };
        if !options.dry_run {
            let path = address(directory, &format!("/{}", theirs.id));
            server.ask(Method::DELETE, &path, None).await?;
            directory.environments.remove(&environment.file);
        }
        return Ok((Some(Done::Deleted), waiting));
    };
    let Some(theirs) = environment
        .theirs
        .as_mut()
        .filter(|_| environment.here != Since::Same)
    else {
        return Ok((None, waiting));
    };
    let members = |document: &Value| document["schedules"].as_object().cloned().unwrap_or_default();
    let (wanted, mut there) = (members(ours), members(&theirs.document));
    let names = wanted.keys().chain(there.keys());
    let differing = names.filter(|name| wanted.get(*name) != there.get(*name));
    let differing: BTreeSet<String> = differing.cloned().collect();
    let mut done = None;
    for name in differing {
        let Some(deployment) = theirs.deployments.get(&name) else {
            waiting.push(name);
            continue;
        };
        done = Some(Done::Stored);
        if options.dry_run {
            continue;
        }
        let path = format!("/api/deployments/{deployment}/schedule");
        match wanted.get(&name) {
            Some(schedule) => {
                let body = json!({"cronExpression": schedule["cron"], "timezone": schedule["timezone"]});
                server.ask(Method::PUT, &path, Some(&body)).await?;
                there.insert(name, schedule.clone());
            }
            None => {
                server.ask(Method::DELETE, &path, None).await?;
                there.shift_remove(&name);
            }
        }
        theirs.document["schedules"] = there.clone().into();
        in_step(directory, &environment.file, theirs);
    }
    if !options.dry_run {
        in_step(directory, &environment.file, theirs);
    }
    Ok((done, waiting))
}
