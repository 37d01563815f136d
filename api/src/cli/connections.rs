//! Connections of `heddle run`, from a JSON file.

use super::failure::Failure;
use super::input::{self, DATA_BYTES_MAX};
use heddle_runtime::{Connection, ConnectionError, ConnectionFuture, Connections};
use serde::Deserialize;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

/// Connections by name.
#[derive(Default, Deserialize)]
#[serde(transparent)]
pub struct FileConnections(BTreeMap<String, Entry>);

#[derive(Clone, Deserialize)]
struct Entry {
    provider: Option<String>,
    #[serde(default)]
    hosts: Vec<String>,
    #[serde(flatten)]
    fields: Map<String, Value>,
}

impl FileConnections {
    /// Reads `{"name": {"provider"?, "hosts"?: […], field: value, …}}`.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        input::read_json(path, "the file of connections", DATA_BYTES_MAX)
    }
}

/// Names only.
impl fmt::Debug for FileConnections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl Connections for FileConnections {
    fn open(&self, reference: String) -> ConnectionFuture {
        let found = self.0.get(&reference).cloned();
        Box::pin(async move {
            let entry = found.ok_or(ConnectionError::Missing)?;
            Ok(Connection {
                id: reference.clone(),
                provider: entry.provider.unwrap_or_else(|| reference.clone()),
                name: reference,
                hosts: entry.hosts,
                fields: entry.fields,
                former: Vec::new(),
            })
        })
    }
}
