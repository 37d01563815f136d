//! Keeps a directory and a server in step: what differs on which side, and pulling and pushing it. A pattern that both sides have
//! changed is merged when it is pulled, and never overwritten.

use crate::Error;
use crate::directory::{Directory, Locked};
use crate::document::Document;
use crate::history;
use crate::merge::{Conflict, Prefer, merge};
use crate::server::{Fetched, Listed, Server};
use reqwest::Method;
use serde_json::json;
use std::collections::{BTreeMap, HashMap};

/// What has become of a pattern on one side since it was last in step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// Nothing.
    Same,
    /// It is otherwise.
    Changed,
    /// It was not there.
    New,
    /// It is not there any more, or never was.
    Gone,
}

/// A pattern on both sides.
#[derive(Debug)]
pub struct Pattern {
    /// Its directory's name; of one that is only on the server, the name that it would get.
    pub name: String,
    /// What has become of it here.
    pub here: Since,
    /// What has become of it on the server.
    pub there: Since,
    /// As it is here.
    pub ours: Option<Document>,
    /// As the server has it, if that was asked for.
    theirs: Option<Fetched>,
    locked: Option<Locked>,
    id: Option<String>,
}

/// What was done with a pattern, or would be.
#[derive(Debug, PartialEq)]
pub enum Done {
    /// The server's pattern is in a new directory.
    Added,
    /// The server's changes are here.
    Updated,
    /// Both sides' changes are here, and wait to be pushed.
    Merged,
    /// It is here no more, as on the server.
    Removed,
    /// It is on the server, as a new pattern.
    Created,
    /// It is on the server, as this version.
    Pushed(i64),
    /// It is on the server; of what has no versions.
    Stored,
    /// It is deleted on the server.
    Deleted,
    /// Nothing was done, since people have to decide; with the reason.
    Left(String),
    /// Nothing was done, since both sides have changed the same things.
    Conflicts(Vec<Conflict>),
}

/// What a push does beside what has changed.
#[derive(Clone, Copy, Debug, Default)]
pub struct PushOptions<'a> {
    /// The summary of the versions.
    pub summary: Option<&'a str>,
    /// Whether patterns whose directories are gone are deleted on the server.
    pub delete: bool,
    /// Whether patterns with errors are stored all the same.
    pub with_errors: bool,
    /// Whether to change nothing.
    pub dry_run: bool,
}

/// All patterns of both sides, by the names of their directories.
///
/// # Errors
///
/// The server can't be asked, or a directory's files are no pattern.
pub async fn patterns(directory: &Directory, server: &Server) -> Result<Vec<Pattern>, Error> {
    let listed = server.patterns().await?;
    let mut listed: HashMap<String, Listed> = listed
        .into_iter()
        .map(|pattern| (pattern.id.clone(), pattern))
        .collect();
    let mut all = BTreeMap::new();
    for name in directory.names()? {
        let ours = directory.read(&name)?;
        let locked = directory.locked.get(&name).cloned();
        let here = match &locked {
            None => Since::New,
            Some(locked) if ours.digest() == locked.sha256 => Since::Same,
            Some(_) => Since::Changed,
        };
        let pattern = one(name.clone(), here, Some(ours), locked, &mut listed, server).await?;
        all.insert(name, pattern);
    }
    for (name, locked) in &directory.locked {
        if !all.contains_key(name) {
            let locked = Some(locked.clone());
            let pattern = one(name.clone(), Since::Gone, None, locked, &mut listed, server).await?;
            all.insert(name.clone(), pattern);
        }
    }
    // The older ones first, so that of two of one name the older one gets the plain directory.
    let mut new: Vec<Listed> = listed.into_values().collect();
    new.sort_by(|a, b| a.id.cmp(&b.id));
    for pattern in new {
        let mut name = directory.free_name(&pattern.name);
        let mut number = 1;
        while all.contains_key(&name) {
            number += 1;
            name = directory.free_name(&format!("{} {number}", pattern.name));
        }
        let found = Pattern {
            name: name.clone(),
            here: Since::Gone,
            there: Since::New,
            ours: None,
            theirs: None,
            locked: None,
            id: Some(pattern.id),
        };
        all.insert(name, found);
    }
    Ok(all.into_values().collect())
}

async fn one(
    name: String,
    here: Since,
    ours: Option<Document>,
    locked: Option<Locked>,
    listed: &mut HashMap<String, Listed>,
    server: &Server,
) -> Result<Pattern, Error> {
    let id = locked.as_ref().map(|locked| locked.id.clone());
    let mut theirs = None;
    let there = match &locked {
        None => Since::Gone,
        Some(locked) => match listed.remove(&locked.id) {
            None => Since::Gone,
            Some(now) if now.updated_at == locked.updated_at => Since::Same,
            // The time says that it was touched, the document what has become of it.
            Some(now) => {
                let fetched = server.pattern(&now.id).await?;
                let is_same = fetched.document.digest() == locked.sha256;
                theirs = Some(fetched);
                if is_same { Since::Same } else { Since::Changed }
            }
        },
    };
    Ok(Pattern {
        name,
        here,
        there,
        ours,
        theirs,
        locked,
        id,
    })
}

impl Pattern {
    /// Whether both sides are as they were.
    pub fn is_in_step(&self) -> bool {
        (self.here, self.there) == (Since::Same, Since::Same)
    }

    /// As it was when both sides were last in step.
    ///
    /// # Errors
    ///
    /// The server can't be asked.
    pub async fn base(&self, directory: &Directory, server: &Server) -> Result<Option<Document>, Error> {
        let Some(locked) = &self.locked else {
            return Ok(None);
        };
        if let Some(base) = directory.base(locked) {
            return Ok(Some(base));
        }
        let like = match (&self.theirs, &self.ours) {
            (Some(theirs), _) => &theirs.document,
            (None, Some(ours)) => ours,
            (None, None) => return Ok(None),
        };
        match server.version(&locked.id, locked.version, like).await {
            Ok(base) => Ok(Some(base)),
            Err(Error::Refused { status: 404, .. }) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// As the server has it now. `None`: it has it not.
    ///
    /// # Errors
    ///
    /// The server can't be asked.
    pub async fn theirs(&mut self, server: &Server) -> Result<Option<&Fetched>, Error> {
        if self.theirs.is_none()
            && let Some(id) = &self.id
            && !(self.there == Since::Gone)
        {
            self.theirs = Some(server.pattern(id).await?);
        }
        Ok(self.theirs.as_ref())
    }
}

fn in_step(directory: &mut Directory, name: &str, id: &str, fetched: &Fetched) {
    directory.keep_base(id, &fetched.document.whole());
    let before = directory.locked.remove(name);
    let locked = Locked {
        id: id.to_owned(),
        version: fetched.version,
        updated_at: fetched.updated_at.clone(),
        sha256: fetched.document.digest(),
        tests: before.map(|before| before.tests).unwrap_or_default(),
    };
    directory.locked.insert(name.to_owned(), locked);
}

/// Brings the server's changes of a pattern here. `None`: there are none.
///
/// # Errors
///
/// The server can't be asked, or a file can't be written.
pub async fn pull(
    directory: &mut Directory,
    server: &Server,
    pattern: &mut Pattern,
    prefer: Option<Prefer>,
    dry_run: bool,
) -> Result<Option<Done>, Error> {
    let (here, there) = (pattern.here, pattern.there);
    match (here, there) {
        (_, Since::Same) | (Since::New, _) => {
            // Touched, but not changed: the next look need not ask again.
            if let (Some(fetched), Some(id), false) = (&pattern.theirs, &pattern.id, dry_run) {
                in_step(directory, &pattern.name, id, fetched);
            }
            return Ok(None);
        }
        (Since::Same, Since::Gone) => {
            if !dry_run {
                if let Some(ours) = &pattern.ours {
                    directory.remove(&pattern.name, ours);
                }
                directory.locked.remove(&pattern.name);
            }
            return Ok(Some(Done::Removed));
        }
        (Since::Gone, Since::Gone) => {
            if !dry_run {
                directory.locked.remove(&pattern.name);
            }
            return Ok(None);
        }
        (Since::Changed, Since::Gone) => {
            return Ok(Some(Done::Left(format!(
                "it was deleted on the server and changed here: remove patterns/{0}, or its line in heddle.lock to create it again",
                pattern.name
            ))));
        }
        (Since::Gone, Since::Changed) if prefer != Some(Prefer::Theirs) => {
            return Ok(Some(Done::Left(
                "it was removed here and changed on the server: `heddle pull --theirs` brings it back, `heddle push --delete` deletes it"
                    .to_owned(),
            )));
        }
        _ => {}
    }
    pattern.theirs(server).await?;
    let (Some(theirs), Some(id)) = (&pattern.theirs, &pattern.id) else {
        return Ok(None);
    };
    let (document, done) = match (&pattern.ours, here) {
        (Some(ours), Since::Changed) => {
            let digest = theirs.document.digest();
            if ours.digest() == digest || history::has_had(directory, &pattern.name, &digest) {
                if !dry_run {
                    in_step(directory, &pattern.name, id, theirs);
                }
                return Ok(None);
            }
            let base = pattern.base(directory, server).await?;
            // Without a common state, all that differs is a conflict.
            let nothing = Document::of(&json!({}));
            let Some(base) = base.or(nothing) else {
                return Ok(None);
            };
            let (merged, conflicts) = merge(&base, ours, &theirs.document, prefer);
            if !conflicts.is_empty() {
                return Ok(Some(Done::Conflicts(conflicts)));
            }
            let done = match merged == theirs.document {
                true => Done::Updated,
                false => Done::Merged,
            };
            (merged, done)
        }
        (Some(_), _) => (theirs.document.clone(), Done::Updated),
        (None, _) => (theirs.document.clone(), Done::Added),
    };
    if !dry_run {
        directory.write(&pattern.name, &document, pattern.ours.as_ref())?;
        // What comes back comes with its tests: they have not been removed here one by one, which a push would do there.
        if pattern.ours.is_none()
            && let Some(before) = directory.locked.get_mut(&pattern.name)
        {
            before.tests.clear();
        }
        in_step(directory, &pattern.name, id, theirs);
    }
    Ok(Some(done))
}

/// What keeps a pattern from being pushed; `None`: nothing does, or there is nothing to push.
///
/// # Errors
///
/// The server can't be asked.
pub async fn obstacle(
    directory: &Directory,
    server: &Server,
    pattern: &mut Pattern,
    options: PushOptions<'_>,
) -> Result<Option<String>, Error> {
    match (pattern.here, pattern.there) {
        (Since::Same, _) | (Since::Gone, Since::Gone | Since::New) => return Ok(None),
        (Since::Gone, Since::Changed) if options.delete => {
            return Ok(Some("it was changed on the server since: pull first".to_owned()));
        }
        (Since::Gone, _) => return Ok(None),
        (Since::Changed, Since::Gone) => {
            return Ok(Some(format!(
                "it was deleted on the server: remove patterns/{0}, or its line in heddle.lock to create it again",
                pattern.name
            )));
        }
        (Since::Changed, Since::Changed) => {
            let Some(theirs) = pattern.theirs(server).await? else {
                return Ok(None);
            };
            let (digest, version) = (theirs.document.digest(), theirs.version);
            if !history::has_had(directory, &pattern.name, &digest) {
                return Ok(Some(format!(
                    "version {version} was saved on the server since: pull first"
                )));
            }
        }
        _ => {}
    }
    let Some(ours) = pattern.ours.as_ref().filter(|_| !options.with_errors) else {
        return Ok(None);
    };
    let errors = server.errors_of(ours).await?;
    Ok((!errors.is_empty()).then(|| errors.join("\n")))
}

/// Brings the changes of a pattern to the server, on top of the version that was looked at. `None`: there are none.
///
/// # Errors
///
/// The server has refused, which it does if somebody has saved in the meantime; or a file can't be written.
pub async fn push(
    directory: &mut Directory,
    server: &Server,
    pattern: &mut Pattern,
    options: PushOptions<'_>,
) -> Result<Option<Done>, Error> {
    if let (Since::Gone, Some(locked)) = (pattern.here, &pattern.locked) {
        if pattern.there == Since::Gone || !options.delete {
            return Ok(None);
        }
        if !options.dry_run {
            let path = format!("/api/patterns/{}", locked.id);
            server.ask(Method::DELETE, &path, None).await?;
            directory.locked.remove(&pattern.name);
        }
        return Ok(Some(Done::Deleted));
    }
    let Some(ours) = pattern.ours.clone() else {
        return Ok(None);
    };
    let done = match (pattern.here, &pattern.locked) {
        (Since::New, _) => Done::Created,
        (Since::Changed, Some(locked)) => {
            let base = pattern
                .theirs
                .as_ref()
                .map_or(locked.version, |theirs| theirs.version);
            // Nothing to store if others have made the same of it.
            let is_there = pattern
                .theirs
                .as_ref()
                .is_some_and(|theirs| theirs.document == ours);
            if options.dry_run || is_there {
                Done::Pushed(base + i64::from(!is_there))
            } else {
                Done::Pushed(server.put(&locked.id, &ours, base, options.summary).await?)
            }
        }
        _ => return Ok(None),
    };
    if options.dry_run {
        return Ok(Some(done));
    }
    let id = match (&done, &pattern.locked) {
        (Done::Created, _) | (_, None) => created(server, &ours, options.summary).await?,
        (_, Some(locked)) => locked.id.clone(),
    };
    let stored = server.pattern(&id).await?;
    in_step(directory, &pattern.name, &id, &stored);
    Ok(Some(done))
}

async fn created(server: &Server, document: &Document, summary: Option<&str>) -> Result<String, Error> {
    let id = server.create(document).await?;
    let stored = server.pattern(&id).await?;
    // Making a pattern takes not all of its fields.
    if stored.document != *document {
        server.put(&id, document, stored.version, summary).await?;
    }
    Ok(id)
}
