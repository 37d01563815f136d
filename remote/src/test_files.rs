//! Keeps the tests of patterns in step, each a file `patterns/NAME/tests/FILE.json`, by the rules that `sync` has for patterns. A
//! test is its pattern's; what is not on the server yet has none there.

use crate::Error;
use crate::case;
use crate::directory::{Directory, LockedTest};
use crate::document::digest;
use crate::files;
use crate::history;
use crate::merge::{Prefer, merge_values};
use crate::server::{ListedTest, Server};
use crate::sync::{Done, PushOptions, Since};
use reqwest::Method;
use serde_json::{Value, json};
use std::collections::{BTreeSet, HashMap};

/// What a change can't take away from a test: without one of these, it is made anew.
const LASTING: [&str; 2] = ["triggerNodeId", "seed"];

/// A test on both sides.
#[derive(Debug)]
pub struct Test {
    /// Its pattern, by the directory's name.
    pub pattern: String,
    /// Its file's name without the ending; of one that is only on the server, the name that it would get.
    pub file: String,
    /// What has become of it here.
    pub here: Since,
    /// What has become of it on the server.
    pub there: Since,
    /// As it is here.
    pub ours: Option<Value>,
    theirs: Option<Stored>,
    locked: Option<LockedTest>,
}

/// A test as the server has it.
#[derive(Clone, Debug)]
struct Stored {
    id: String,
    case: Value,
    updated_at: String,
}

/// All tests of the patterns that are here, on both sides.
///
/// # Errors
///
/// The server can't be asked, or a file is not a test.
pub async fn all(directory: &Directory, server: &Server) -> Result<Vec<Test>, Error> {
    let mut listed: HashMap<String, Vec<ListedTest>> = HashMap::new();
    let found = match server.tests().await {
        // A server from before there was this list: what it has of tests is nobody's business here.
        Err(Error::Refused { status: 404, .. }) => return Ok(Vec::new()),
        found => found?,
    };
    for test in found {
        listed.entry(test.pattern_id.clone()).or_default().push(test);
    }
    let mut all = Vec::new();
    for name in directory.names()? {
        let locked = directory.locked.get(&name);
        let on_server = locked.and_then(|locked| listed.remove(&locked.id));
        of_pattern(directory, server, &name, on_server.unwrap_or_default(), &mut all).await?;
    }
    Ok(all)
}

async fn of_pattern(
    directory: &Directory,
    server: &Server,
    pattern: &str,
    mut listed: Vec<ListedTest>,
    all: &mut Vec<Test>,
) -> Result<(), Error> {
    let known = directory.locked.get(pattern).map(|locked| &locked.tests);
    let mut files = known_files(directory, pattern)?;
    let is_known = |id: &str| known.into_iter().flatten().any(|(_, locked)| locked.id == id);
    for file in &files {
        let locked = known.and_then(|known| known.get(file)).cloned();
        let ours = directory.read_test(pattern, file)?;
        let place = listed.iter().position(|test| match (&locked, &ours) {
            (Some(locked), _) => test.id == locked.id,
            // Made on both sides, as by CI, which keeps no lock: of one name it is one test.
            (None, Some(ours)) => ours["name"] == test.name.as_str() && !is_known(&test.id),
            (None, None) => false,
        });
        let found = place.map(|place| listed.swap_remove(place));
        all.push(one(server, (pattern, file), ours, locked, found).await?);
    }
    // The older ones first, so that of two of one name the older one gets the plain file.
    listed.sort_by(|a, b| a.id.cmp(&b.id));
    for test in listed {
        let file = files::free_name_of(&test.name, &files);
        files.insert(file.clone());
        all.push(one(server, (pattern, &file), None, None, Some(test)).await?);
    }
    Ok(())
}

/// The files of a pattern's tests that are here or have been.
fn known_files(directory: &Directory, pattern: &str) -> Result<BTreeSet<String>, Error> {
    let mut files: BTreeSet<String> = directory.tests(pattern)?.into_iter().collect();
    let locked = directory.locked.get(pattern);
    files.extend(locked.into_iter().flat_map(|locked| locked.tests.keys().cloned()));
    Ok(files)
}

async fn one(
    server: &Server,
    (pattern, file): (&str, &str),
    ours: Option<Value>,
    locked: Option<LockedTest>,
    listed: Option<ListedTest>,
) -> Result<Test, Error> {
    let here = match (&ours, &locked) {
        (None, _) => Since::Gone,
        (Some(_), None) => Since::New,
        (Some(ours), Some(locked)) if digest(ours) == locked.sha256 => Since::Same,
        (Some(_), Some(_)) => Since::Changed,
    };
    let mut theirs = None;
    let there = match (&locked, listed) {
        (_, None) => Since::Gone,
        (Some(locked), Some(listed)) if listed.updated_at == locked.updated_at => Since::Same,
        (locked, Some(listed)) => {
            let stored = fetched(server, &listed.pattern_id, &listed.id).await?;
            let sha256 = digest(&stored.case);
            theirs = Some(stored);
            match locked {
                None => Since::New,
                Some(locked) if locked.sha256 == sha256 => Since::Same,
                Some(_) => Since::Changed,
            }
        }
    };
    Ok(Test {
        pattern: pattern.to_owned(),
        file: file.to_owned(),
        here,
        there,
        ours,
        theirs,
        locked,
    })
}

async fn fetched(server: &Server, pattern: &str, id: &str) -> Result<Stored, Error> {
    let path = format!("/api/patterns/{pattern}/tests/{id}");
    stored(&server.ask(Method::GET, &path, None).await?)
}

/// A test as an answer of the server has it.
fn stored(answer: &Value) -> Result<Stored, Error> {
    let text = |name: &str| answer[name].as_str().map(str::to_owned);
    let found = text("id").zip(text("updatedAt")).zip(case::tidy(&answer["case"]));
    let ((id, updated_at), case) = found
        .ok_or_else(|| Error::Unreachable("the server's answer is not a test of heddle's".to_owned()))?;
    Ok(Stored { id, case, updated_at })
}

fn in_step(directory: &mut Directory, (pattern, file): (&str, &str), stored: &Stored) {
    directory.keep_base(&stored.id, &stored.case);
    let locked = LockedTest {
        id: stored.id.clone(),
        updated_at: stored.updated_at.clone(),
        sha256: digest(&stored.case),
    };
    if let Some(of) = directory.locked.get_mut(pattern) {
        of.tests.insert(file.to_owned(), locked);
    }
}

fn forget(directory: &mut Directory, pattern: &str, file: &str) {
    if let Some(of) = directory.locked.get_mut(pattern) {
        of.tests.remove(file);
    }
}

/// A case as its file has it.
pub fn tidy(case: Value) -> Value {
    case::tidy(&case).unwrap_or(case)
}

/// Keeps a test that the server has just made, in a new file: the file's name.
///
/// # Errors
///
/// The answer is not a test, or the file can't be written.
pub fn keep(directory: &mut Directory, pattern: &str, answer: &Value) -> Result<String, Error> {
    let stored = stored(answer)?;
    let taken = known_files(directory, pattern)?;
    let file = files::free_name_of(stored.case["name"].as_str().unwrap_or_default(), &taken);
    directory.write_test(pattern, &file, &stored.case)?;
    in_step(directory, (pattern, &file), &stored);
    Ok(file)
}

impl Test {
    /// Whether both sides are as they were.
    pub fn is_in_step(&self) -> bool {
        (self.here, self.there) == (Since::Same, Since::Same)
    }

    /// Its file, from the workspace's directory.
    pub fn place(&self) -> String {
        format!("{}/tests/{}.json", self.pattern, self.file)
    }

    /// What the server has, and the same without the time that it has given to a test without one.
    fn theirs(&self) -> impl Iterator<Item = Value> {
        let whole = self.theirs.as_ref().map(|theirs| theirs.case.clone());
        let has_time = self
            .ours
            .as_ref()
            .is_none_or(|ours| ours.get("startedAt").is_some());
        let mut timeless = whole.clone().filter(|_| !has_time);
        if let Some(Value::Object(members)) = &mut timeless {
            members.shift_remove("startedAt");
        }
        whole.into_iter().chain(timeless)
    }

    /// Whether both sides say the same.
    fn is_same(&self) -> bool {
        let ours = self.ours.as_ref().map(digest);
        self.theirs().any(|theirs| Some(digest(&theirs)) == ours)
    }

    /// Whether what the server has is this file, or an earlier state of it, and so nobody else's work.
    fn is_ours(&self, directory: &Directory) -> bool {
        let had = |case: Value| history::case(directory, &self.pattern, &self.file, &digest(&case));
        self.is_same() || self.theirs().any(|theirs| had(theirs).is_some())
    }
}

/// Brings the server's changes of a test here. `None`: there are none.
///
/// # Errors
///
/// A file can't be written.
pub fn pull(
    directory: &mut Directory,
    test: &Test,
    prefer: Option<Prefer>,
    dry_run: bool,
) -> Result<Option<Done>, Error> {
    let place = (test.pattern.as_str(), test.file.as_str());
    match (test.here, test.there) {
        (_, Since::Same) => {
            if let (Some(theirs), false) = (&test.theirs, dry_run) {
                in_step(directory, place, theirs);
            }
            return Ok(None);
        }
        (Since::New, Since::Gone) => return Ok(None),
        (Since::Same, Since::Gone) => {
            if !dry_run {
                directory.remove_test(place.0, place.1);
                forget(directory, place.0, place.1);
            }
            return Ok(Some(Done::Removed));
        }
        (Since::Gone, Since::Gone) => {
            if !dry_run {
                forget(directory, place.0, place.1);
            }
            return Ok(None);
        }
        (_, Since::Gone) => return Ok(Some(deleted_there(directory, test, prefer, dry_run))),
        (Since::Gone, Since::Changed) if prefer != Some(Prefer::Theirs) => {
            return Ok(Some(Done::Left(
                "it was removed here and changed on the server: `heddle pull --theirs` brings it back"
                    .to_owned(),
            )));
        }
        _ => {}
    }
    let Some(theirs) = &test.theirs else {
        return Ok(None);
    };
    let (case, done) = match (&test.ours, test.here) {
        (None, Since::Gone) if test.locked.is_none() => (theirs.case.clone(), Done::Added),
        (None, _) | (_, Since::Same) => (theirs.case.clone(), Done::Updated),
        (Some(_), _) if test.is_ours(directory) => {
            if !dry_run {
                in_step(directory, place, theirs);
            }
            return Ok(None);
        }
        (Some(ours), _) => {
            let base = test.locked.as_ref().and_then(|locked| {
                let kept = directory.test_base(locked);
                kept.or_else(|| history::case(directory, place.0, place.1, &locked.sha256))
            });
            // Without a common state, all that differs is a conflict.
            let base = base.unwrap_or_else(|| json!({}));
            let (merged, conflicts) = merge_values([&base, ours, &theirs.case], prefer);
            if !conflicts.is_empty() {
                return Ok(Some(Done::Conflicts(conflicts)));
            }
            let merged = merged.as_ref().and_then(case::tidy);
            let merged = merged.unwrap_or_else(|| ours.clone());
            let is_theirs = merged == theirs.case;
            (merged, if is_theirs { Done::Updated } else { Done::Merged })
        }
    };
    if !dry_run {
        directory.write_test(place.0, place.1, &case)?;
        in_step(directory, place, theirs);
    }
    Ok(Some(done))
}

/// Deleted on the server and changed here.
fn deleted_there(directory: &mut Directory, test: &Test, prefer: Option<Prefer>, dry_run: bool) -> Done {
    let Some(side) = prefer else {
        let why = "it was deleted on the server and changed here: `heddle pull --theirs` removes it, `--ours` makes it a new one";
        return Done::Left(why.to_owned());
    };
    if !dry_run {
        if side == Prefer::Theirs {
            directory.remove_test(&test.pattern, &test.file);
        }
        forget(directory, &test.pattern, &test.file);
    }
    match side {
        Prefer::Theirs => Done::Removed,
        Prefer::Ours => Done::Merged,
    }
}

/// What keeps a test from being pushed; `None`: nothing does, or there is nothing to push.
pub fn obstacle(directory: &Directory, test: &Test, options: PushOptions<'_>) -> Option<String> {
    match (test.here, test.there) {
        (Since::Gone, Since::Changed) if options.delete => {
            Some("it was changed on the server since: pull first".to_owned())
        }
        (Since::Changed, Since::Gone) => Some("it was deleted on the server: pull first".to_owned()),
        (Since::Changed | Since::New, Since::Changed | Since::New) if !test.is_ours(directory) => {
            Some("it was changed on the server since: pull first".to_owned())
        }
        _ => None,
    }
}

/// Brings the changes of a test to the server; its pattern has to be there. `None`: there are none.
///
/// # Errors
///
/// The server has refused, or a file can't be written.
pub async fn push(
    directory: &mut Directory,
    server: &Server,
    test: &Test,
    options: PushOptions<'_>,
) -> Result<Option<Done>, Error> {
    let place = (test.pattern.as_str(), test.file.as_str());
    let pattern = directory.locked.get(place.0).map(|locked| locked.id.clone());
    let path = format!("/api/patterns/{}/tests", pattern.unwrap_or_default());
    let Some(ours) = &test.ours else {
        let (Some(locked), true) = (&test.locked, options.delete && test.there != Since::Gone) else {
            return Ok(None);
        };
        if !options.dry_run {
            let path = format!("{path}/{}", locked.id);
            server.ask(Method::DELETE, &path, None).await?;
            forget(directory, place.0, place.1);
        }
        return Ok(Some(Done::Deleted));
    };
    if test.here == Since::Same {
        return Ok(None);
    }
    if let Some(theirs) = test.theirs.as_ref().filter(|_| test.is_same()) {
        if !options.dry_run {
            directory.write_test(place.0, place.1, &theirs.case)?;
            in_step(directory, place, theirs);
        }
        return Ok(None);
    }
    let id = test.theirs.as_ref().map(|theirs| &theirs.id);
    let id = id.or(test.locked.as_ref().map(|locked| &locked.id));
    let done = match id {
        None => Done::Created,
        Some(_) => Done::Stored,
    };
    if options.dry_run {
        return Ok(Some(done));
    }
    let answer = match id {
        None => server.ask(Method::POST, &path, Some(ours)).await?,
        Some(id) => changed(server, &path, id, ours).await?,
    };
    let stored = stored(&answer)?;
    // The server gives it a time, and leaves out what is null.
    if stored.case != *ours {
        directory.write_test(place.0, place.1, &stored.case)?;
    }
    in_step(directory, place, &stored);
    Ok(Some(done))
}

/// Puts a case in place of a test's.
async fn changed(server: &Server, path: &str, id: &str, ours: &Value) -> Result<Value, Error> {
    let own = format!("{path}/{id}");
    let before = server.ask(Method::GET, &own, None).await?;
    let is_lost = |name: &str| before["case"].get(name).is_some() && ours.get(name).is_none();
    if LASTING.iter().any(|name| is_lost(name)) {
        let made = server.ask(Method::POST, path, Some(ours)).await?;
        server.ask(Method::DELETE, &own, None).await?;
        return Ok(made);
    }
    let mut body = json!({
        "event": null, "environmentId": null, "pins": {}, "allowEffects": false, "expect": {}, "ignore": [],
    });
    if let (Some(body), Some(ours)) = (body.as_object_mut(), ours.as_object()) {
        body.extend(ours.clone());
    }
    server.ask(Method::PUT, &own, Some(&body)).await
}
