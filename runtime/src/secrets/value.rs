//! A secret's value: erased from memory when it is dropped, and never printed.

use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A secret of an environment. Clones have the same value in memory: each run has those that it may use, which can be megabytes.
#[derive(Clone, Debug)]
pub struct Secret {
    value: Arc<SecretString>,
    hosts: Arc<[String]>,
}

impl Secret {
    /// A secret that may be sent to these hosts only (`api.example.com`, `api.example.com:8443`, `*.example.com`);
    /// without any it may be sent anywhere.
    pub fn new(value: impl Into<SecretString>, hosts: Vec<String>) -> Self {
        Secret {
            value: Arc::new(value.into()),
            hosts: hosts.into(),
        }
    }

    /// The value, for where it is used.
    pub fn expose(&self) -> &str {
        self.value.expose_secret()
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

/// Secrets by name.
pub type Secrets = BTreeMap<String, Secret>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_in_memory_once_however_many_runs_have_it() {
        let secret = Secret::new("geheim".to_owned(), vec!["api.example.com".to_owned()]);
        let other = secret.clone();
        assert_eq!(other.expose().as_ptr(), secret.expose().as_ptr());
        assert_eq!(other.hosts().as_ptr(), secret.hosts().as_ptr());
    }
}
