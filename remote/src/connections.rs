//! The connections that a workspace needs, in `connections.json` by their labels, without anything secret. They can't be pushed:
//! what is listed and not there, people have to make.

use crate::Error;
use crate::directory::Directory;
use crate::server::{Server, plain};
use crate::sync::{Done, Since};
use reqwest::Method;
use serde_json::{Map, Value, json};

/// The file.
pub const CONNECTIONS: &str = "connections.json";

/// The connections of both sides.
#[derive(Debug)]
pub struct Connections {
    /// Whether the server has some that are not listed, or are listed otherwise.
    pub there: Since,
    /// What is listed and can't be used, each with the reason.
    pub missing: Vec<String>,
    ours: Map<String, Value>,
    theirs: Map<String, Value>,
}

/// What is listed here, and what the server has.
///
/// # Errors
///
/// The server can't be asked, or the file is not a list of connections.
pub async fn all(directory: &Directory, server: &Server) -> Result<Connections, Error> {
    let ours = match directory.read_json(CONNECTIONS)? {
        None => Map::new(),
        Some(Value::Object(ours)) => ours,
        Some(_) => {
            let what = "this must be an object of connections by name: {\"shop\": {\"provider\": \"shop\", \"type\": \"api_key\"}}";
            return Err(Error::invalid(directory.root().join(CONNECTIONS), what));
        }
    };
    let path = "/api/connections?owner=workspace";
    let found = server.ask(Method::GET, path, None).await?;
    let mut found: Vec<&Value> = found["connections"].as_array().into_iter().flatten().collect();
    // Of several with one label the one that nodes get comes last: an active one, and of those the newest.
    found.sort_by_cached_key(|connection| {
        let id = connection["id"].as_str().unwrap_or_default().to_owned();
        (connection["status"] == "active", id)
    });
    let mut theirs = Map::new();
    let mut waiting = Vec::new();
    for connection in found {
        let label = connection["displayName"].as_str().unwrap_or_default().to_owned();
        waiting.retain(|waiting| *waiting != label);
        if connection["status"] != "active" {
            waiting.push(label.clone());
        }
        let entry = json!({"provider": connection["provider"], "type": connection["type"]});
        theirs.insert(label, entry);
    }
    theirs.sort_keys();
    let missing = ours.keys().filter_map(|label| match theirs.contains_key(label) {
        false => Some(format!("connection “{}” is not on the server", plain(label))),
        true if waiting.contains(label) => Some(format!("connection “{}” needs consent", plain(label))),
        true => None,
    });
    let is_listed = theirs.iter().all(|(label, entry)| ours.get(label) == Some(entry));
    Ok(Connections {
        there: if is_listed { Since::Same } else { Since::Changed },
        missing: missing.collect(),
        ours,
        theirs,
    })
}

impl Connections {
    /// What the server has, in words: connections that are not listed, or are listed otherwise.
    pub fn unlisted(&self) -> impl Iterator<Item = String> {
        let unlisted = self
            .theirs
            .iter()
            .filter(|(label, entry)| self.ours.get(*label) != Some(*entry));
        unlisted.map(|(label, entry)| format!("connection “{}” {}", plain(label), plain(&entry.to_string())))
    }
}

/// Lists what the server has besides what is listed. `None`: all of it is.
///
/// # Errors
///
/// The file can't be written.
pub fn pull(directory: &Directory, connections: &Connections, dry_run: bool) -> Result<Option<Done>, Error> {
    if connections.there == Since::Same {
        return Ok(None);
    }
    let mut joined = connections.ours.clone();
    joined.extend(connections.theirs.clone());
    joined.sort_keys();
    if !dry_run {
        directory.write_json(CONNECTIONS, &joined.into())?;
    }
    Ok(Some(match connections.ours.is_empty() {
        true => Done::Added,
        false => Done::Updated,
    }))
}
