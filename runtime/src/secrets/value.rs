//! A secret's value: erased from memory when it is dropped, and never printed.

use std::collections::BTreeMap;
use std::fmt;
use zeroize::Zeroizing;

/// A secret of an environment.
#[derive(Clone)]
pub struct Secret {
    value: Zeroizing<String>,
    hosts: Vec<String>,
}

impl Secret {
    /// A secret that may be sent to these hosts only (`api.example.com`, `api.example.com:8443`, `*.example.com`);
    /// without any it may be sent anywhere.
    pub fn new(value: String, hosts: Vec<String>) -> Self {
        Secret {
            value: Zeroizing::new(value),
            hosts,
        }
    }

    /// The value, for where it is used.
    pub fn expose(&self) -> &str {
        &self.value
    }

    pub(super) fn hosts(&self) -> &[String] {
        &self.hosts
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Secret::new(value, Vec::new())
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Secrets by name.
pub type Secrets = BTreeMap<String, Secret>;
