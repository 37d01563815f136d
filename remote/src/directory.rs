//! The directory: `heddle.json` says which workspace it is, `heddle.lock` with what each pattern was last in step, and
//! `patterns/` has a directory for each. `.heddle/` has copies of what was in step; it is not for git, and can be deleted.

use crate::Error;
use crate::case;
use crate::document::{Document, digest};
use crate::files::{self, PATTERN};
use crate::print;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

const CONFIG: &str = "heddle.json";
const LOCK: &str = "heddle.lock";
const PATTERNS: &str = "patterns";
const TESTS: &str = "tests";
const OWN: &str = ".heddle";
/// Bytes of a file; a pattern with its components has at most 48 MiB.
pub const FILE_BYTES_MAX: u64 = 48 << 20;

/// Which workspace a directory is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The server's address, as in `https://heddle.example.com`.
    pub server: String,
    /// The workspace's id.
    pub workspace: String,
}

/// What a pattern's directory was last in step with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Locked {
    /// The pattern's id.
    pub id: String,
    /// The pattern's version, as the server counts.
    pub version: i64,
    /// When the server had last changed it.
    pub updated_at: String,
    /// The document's digest.
    pub sha256: String,
    /// Its tests, by the names of their files.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tests: BTreeMap<String, LockedTest>,
}

/// What a test's file was last in step with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LockedTest {
    /// For the addresses of the API.
    pub id: String,
    /// When the server had last changed it.
    pub updated_at: String,
    /// The case's digest.
    pub sha256: String,
}

/// What an environment's file was last in step with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LockedEnvironment {
    /// The environment's id.
    pub id: String,
    /// The digest of what can be pushed of it.
    pub sha256: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lock {
    #[serde(default)]
    environments: BTreeMap<String, LockedEnvironment>,
    patterns: BTreeMap<String, Locked>,
}

/// A directory that is a workspace.
#[derive(Debug)]
pub struct Directory {
    root: PathBuf,
    /// Which workspace it is.
    pub config: Config,
    /// By the name of the pattern's directory.
    pub locked: BTreeMap<String, Locked>,
    /// By the name of the environment's file.
    pub environments: BTreeMap<String, LockedEnvironment>,
}

impl Directory {
    /// Makes a directory a workspace.
    ///
    /// # Errors
    ///
    /// It is one already, or can't be written.
    pub fn create(root: &Path, config: Config) -> Result<Self, Error> {
        let path = root.join(CONFIG);
        if path.exists() {
            return Err(Error::invalid(path, "this directory is a workspace already"));
        }
        fs::create_dir_all(root.join(PATTERNS)).map_err(Error::file(root))?;
        let text = format!("{:#}\n", json!(config));
        replace(&path, text.as_bytes())?;
        let directory = Directory {
            root: root.to_owned(),
            config,
            locked: BTreeMap::new(),
            environments: BTreeMap::new(),
        };
        directory.save()?;
        Ok(directory)
    }

    /// The directory that this one is in.
    ///
    /// # Errors
    ///
    /// There is none, or what it says of itself can't be read.
    pub fn find(from: &Path) -> Result<Self, Error> {
        let root = from.ancestors().find(|above| above.join(CONFIG).is_file());
        let root = root.ok_or_else(|| {
            Error::Usage(format!(
                "{} is not in the directory of a workspace, which has a {CONFIG}: `heddle init` makes one",
                from.display()
            ))
        })?;
        let config: Config = parsed(&root.join(CONFIG))?.unwrap_or(Config {
            server: String::new(),
            workspace: String::new(),
        });
        let lock: Lock = parsed(&root.join(LOCK))?.unwrap_or_default();
        let tests = lock.patterns.values().flat_map(|locked| locked.tests.keys());
        let others = lock.environments.keys().chain(tests);
        if let Some(name) = lock.patterns.keys().chain(others).find(|name| !is_one_name(name)) {
            let message = format!("`{name}` is not the name of a directory or a file");
            return Err(Error::invalid(root.join(LOCK), message));
        }
        Ok(Directory {
            root: root.to_owned(),
            config,
            locked: lock.patterns,
            environments: lock.environments,
        })
    }

    /// Its place.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The directory of a pattern.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.root.join(PATTERNS).join(name)
    }

    /// Stores what patterns were last in step with.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn save(&self) -> Result<(), Error> {
        let mut sections = Vec::new();
        if !self.environments.is_empty() {
            sections.push(section("environments", &self.environments));
        }
        sections.push(section("patterns", &self.locked));
        let text = format!("{{\n{}\n}}\n", sections.join(",\n"));
        replace(&self.root.join(LOCK), text.as_bytes())
    }

    /// Names of the directories that hold a pattern.
    ///
    /// # Errors
    ///
    /// The directory can't be read.
    pub fn names(&self) -> Result<Vec<String>, Error> {
        let patterns = self.root.join(PATTERNS);
        if !patterns.is_dir() {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&patterns).map_err(Error::file(&patterns))? {
            let entry = entry.map_err(Error::file(&patterns))?;
            if let Ok(name) = entry.file_name().into_string()
                && is_one_name(&name)
                && entry.path().join(PATTERN).is_file()
            {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// A pattern as its files have it.
    ///
    /// # Errors
    ///
    /// They can't be read, or are no pattern.
    pub fn read(&self, name: &str) -> Result<Document, Error> {
        let folder = self.path_of(name);
        let read = files::document_of(|path| read_inside(&folder, path).map_err(Problem::Other));
        let mut document = read.map_err(|problem| match problem {
            Problem::Wrong(message) => Error::invalid(&folder, message),
            Problem::Other(error) => error,
        })?;
        if document.name().is_empty() {
            // A graph alone says no name.
            document.fields.insert("name".to_owned(), name.into());
        }
        Ok(document)
    }

    /// Makes a pattern's files those of a document. What `before` had and the document has not is removed; other files stay.
    ///
    /// # Errors
    ///
    /// A file can't be written.
    pub fn write(&self, name: &str, document: &Document, before: Option<&Document>) -> Result<(), Error> {
        let folder = self.path_of(name);
        let new = files::files_of(document);
        let old = before.map(files::files_of).unwrap_or_default();
        // The pattern comes last: until then its files are those of before, and what it names is there.
        for (path, bytes) in new.iter().filter(|(path, _)| *path != PATTERN) {
            write_inside(&folder, path, bytes)?;
        }
        if let Some(bytes) = new.get(PATTERN) {
            write_inside(&folder, PATTERN, bytes)?;
        }
        remove(&folder, old.keys().filter(|path| !new.contains_key(*path)));
        Ok(())
    }

    /// Removes a pattern's files, and its directory if it has no others. Tests that are as they were in step go with it.
    pub fn remove(&self, name: &str, document: &Document) {
        let folder = self.path_of(name);
        for (file, locked) in self.locked.get(name).into_iter().flat_map(|locked| &locked.tests) {
            let is_same = |case: &Value| digest(case) == locked.sha256;
            if self
                .read_test(name, file)
                .ok()
                .flatten()
                .as_ref()
                .is_some_and(is_same)
            {
                self.remove_test(name, file);
            }
        }
        remove(&folder, files::files_of(document).keys());
        // Files of people's own stay.
        let _ = fs::remove_dir(folder);
    }

    /// The names of the files with a pattern's tests, without their ending.
    ///
    /// # Errors
    ///
    /// The directory can't be read.
    pub fn tests(&self, name: &str) -> Result<Vec<String>, Error> {
        json_files(&self.path_of(name).join(TESTS))
    }

    /// The names of the JSON files in a folder of the workspace, without their ending.
    ///
    /// # Errors
    ///
    /// The folder can't be read.
    pub fn files_in(&self, folder: &str) -> Result<Vec<String>, Error> {
        json_files(&self.root.join(folder))
    }

    /// A file of the workspace as JSON. `None`: there is no such file.
    ///
    /// # Errors
    ///
    /// It can't be read, or is not JSON.
    pub fn read_json(&self, path: &str) -> Result<Option<Value>, Error> {
        let Some(bytes) = read_inside(&self.root, path)? else {
            return Ok(None);
        };
        let parsed = serde_json::from_slice(&bytes);
        parsed
            .map(Some)
            .map_err(|error| Error::invalid(self.root.join(path), error.to_string()))
    }

    /// Refuses a file of the workspace that is not in it: for whoever reads it in another way.
    ///
    /// # Errors
    ///
    /// It is a link that leads out of the directory, or is behind one.
    pub fn refuse_link(&self, path: &str) -> Result<(), Error> {
        inside(&self.root, path).map(drop)
    }

    /// Makes a file of the workspace that of a value.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write_json(&self, path: &str, value: &Value) -> Result<(), Error> {
        write_inside(&self.root, path, print::pattern(value).as_bytes())
    }

    /// Removes a file of the workspace.
    pub fn remove_json(&self, path: &str) {
        remove(&self.root, std::iter::once(&path.to_owned()));
    }

    /// The copy of what an object was last in step with, if it is the one of this digest.
    pub fn kept(&self, id: &str, sha256: &str) -> Option<Value> {
        let bytes = read_bounded(&self.base_path(id)?).ok()??;
        let value: Value = serde_json::from_slice(&bytes).ok()?;
        (digest(&value) == sha256).then_some(value)
    }

    /// A test's case as its file has it, without what means nothing. `None`: there is no such file.
    ///
    /// # Errors
    ///
    /// It can't be read, or is no JSON object.
    pub fn read_test(&self, name: &str, file: &str) -> Result<Option<Value>, Error> {
        let path = self.test_path(name, file);
        let Some(bytes) = read_inside(&self.path_of(name), &format!("{TESTS}/{file}.json"))? else {
            return Ok(None);
        };
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| Error::invalid(&path, error.to_string()))?;
        let case = case::tidy(&value)
            .ok_or_else(|| Error::invalid(&path, "this is not a test: it must be an object with `name`"))?;
        Ok(Some(case))
    }

    /// Makes a test's file that of a case.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub fn write_test(&self, name: &str, file: &str, case: &Value) -> Result<(), Error> {
        let text = print::pattern(case);
        write_inside(
            &self.path_of(name),
            &format!("{TESTS}/{file}.json"),
            text.as_bytes(),
        )
    }

    /// Removes a test's file.
    pub fn remove_test(&self, name: &str, file: &str) {
        remove(
            &self.path_of(name),
            std::iter::once(&format!("{TESTS}/{file}.json")),
        );
    }

    /// Where a test's file is.
    pub fn test_path(&self, name: &str, file: &str) -> PathBuf {
        self.path_of(name).join(TESTS).join(format!("{file}.json"))
    }

    /// The copy of what a test was last in step with.
    pub fn test_base(&self, locked: &LockedTest) -> Option<Value> {
        self.kept(&locked.id, &locked.sha256)
    }

    /// A name for a new pattern's directory.
    pub fn free_name(&self, pattern: &str) -> String {
        let wanted = files::directory_name(pattern);
        let mut number = 1;
        loop {
            let name = match number {
                1 => wanted.clone(),
                number => format!("{wanted}-{number}"),
            };
            if !self.locked.contains_key(&name) && !self.path_of(&name).exists() {
                return name;
            }
            number += 1;
        }
    }

    /// The copy of what a pattern was last in step with.
    pub fn base(&self, locked: &Locked) -> Option<Document> {
        let bytes = read_bounded(&self.base_path(&locked.id)?).ok()??;
        let document = Document::of(&serde_json::from_slice(&bytes).ok()?)?;
        // Git has brought another lock than the one that the copy was made with.
        (document.digest() == locked.sha256).then_some(document)
    }

    /// Keeps something that is made anew at any time, in a file that is not for git.
    pub fn keep_own(&self, file: &str, text: &str) {
        let folder = self.root.join(OWN);
        if fs::create_dir_all(&folder).is_ok() && is_inside(&self.root, &folder) {
            let _ = replace(&folder.join(".gitignore"), b"*\n");
            let _ = write_inside(&folder, file, text.as_bytes());
        }
    }

    /// Keeps the copy. It is only a convenience: the server has the version as well.
    pub fn keep_base(&self, id: &str, document: &Value) {
        let Some(path) = self.base_path(id) else { return };
        let made = path
            .parent()
            .is_some_and(|folder| fs::create_dir_all(folder).is_ok() && is_inside(&self.root, folder));
        if made {
            let _ = replace(&self.root.join(OWN).join(".gitignore"), b"*\n");
            let _ = replace(&path, document.to_string().as_bytes());
        }
    }

    fn base_path(&self, id: &str) -> Option<PathBuf> {
        let name = format!("{id}.json");
        is_one_name(&name).then(|| self.root.join(OWN).join("base").join(name))
    }
}

/// A member of the lock: a line for each of its own, so that git merges changes of different ones.
fn section<T: Serialize>(name: &str, all: &BTreeMap<String, T>) -> String {
    let lines = all
        .iter()
        .map(|(name, locked)| format!("    {}: {}", json!(name), json!(locked)));
    let lines: Vec<String> = lines.collect();
    match lines.is_empty() {
        true => format!("  \"{name}\": {{}}"),
        false => format!("  \"{name}\": {{\n{}\n  }}", lines.join(",\n")),
    }
}

/// Whether a name is one file's or directory's, here and on other systems.
fn is_one_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && !name.contains(['/', '\\', ':'])
        && !name.contains(char::is_control)
}

enum Problem {
    Wrong(String),
    Other(Error),
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Problem::Wrong(message)
    }
}

fn json_files(folder: &Path) -> Result<Vec<String>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let entry = entry.map_err(Error::file(folder))?.file_name();
        let file = entry.to_str().and_then(|name| name.strip_suffix(".json"));
        files.extend(file.filter(|file| is_one_name(file)).map(str::to_owned));
    }
    files.sort();
    Ok(files)
}

fn parsed<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<Option<T>, Error> {
    let Some(bytes) = read_bounded(path)? else {
        return Ok(None);
    };
    let parsed = serde_json::from_slice(&bytes);
    parsed
        .map(Some)
        .map_err(|error| Error::invalid(path, error.to_string()))
}

/// A file below a folder, not through links that lead out of it.
pub(crate) fn read_inside(folder: &Path, path: &str) -> Result<Option<Vec<u8>>, Error> {
    read_bounded(&inside(folder, path)?)
}

/// The place of a file below a folder, which must not be elsewhere.
fn inside(folder: &Path, path: &str) -> Result<PathBuf, Error> {
    let file = folder.join(path);
    match is_inside(folder, &file) {
        true => Ok(file),
        false => Err(Error::invalid(
            file,
            "this is a link that leads out of its directory",
        )),
    }
}

fn read_bounded(path: &Path) -> Result<Option<Vec<u8>>, Error> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Error::file(path)(error)),
    };
    let mut bytes = Vec::new();
    let read = file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes);
    read.map_err(Error::file(path))?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(Error::invalid(path, "this file is larger than a pattern may be")),
        false => Ok(Some(bytes)),
    }
}

fn write_inside(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), Error> {
    let file = folder.join(path);
    let above = file.parent().unwrap_or(folder);
    fs::create_dir_all(above).map_err(Error::file(above))?;
    if !is_inside(folder, above) {
        let message = "this is a link that leads out of its directory";
        return Err(Error::invalid(above, message));
    }
    // What is as it should be keeps its time, for those who build by it.
    if read_bounded(&file).ok().flatten().as_deref() == Some(bytes) {
        return Ok(());
    }
    replace(&file, bytes)
}

/// Whether a place below a folder is there, and not through links elsewhere. What is not there is nowhere else.
pub(crate) fn is_inside(folder: &Path, below: &Path) -> bool {
    match (below.canonicalize(), folder.canonicalize()) {
        (Ok(below), Ok(folder)) => below.starts_with(folder),
        _ => true,
    }
}

fn remove<'a>(folder: &Path, paths: impl Iterator<Item = &'a String>) {
    for path in paths {
        let file = folder.join(path);
        if !is_inside(folder, file.parent().unwrap_or(folder)) {
            continue;
        }
        // What is gone already, or can't be removed, is in nobody's way: nothing names it.
        let _ = fs::remove_file(&file);
        if let Some(above) = file.parent().filter(|above| *above != folder) {
            let _ = fs::remove_dir(above);
        }
    }
}

/// Writes a file in one step: whoever reads it finds what was or what is.
pub(crate) fn replace(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let beside = PathBuf::from(beside);
    // Of a former attempt, or a link that came with the directory: it would be followed.
    let _ = fs::remove_file(&beside);
    let mut file = fs::File::create_new(&beside).map_err(Error::file(&beside))?;
    file.write_all(bytes).map_err(Error::file(&beside))?;
    drop(file);
    fs::rename(&beside, path).map_err(Error::file(path))
}
