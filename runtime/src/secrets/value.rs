//! A secret's value: erased from memory when it is dropped, and never printed.

use secrecy::{ExposeSecret, SecretString};
use std::collections::BTreeMap;

/// A secret of an environment.
#[derive(Clone, Debug)]
pub struct Secret {
    value: SecretString,
    hosts: Vec<String>,
}

impl Secret {
    /// A secret that may be sent to these hosts only (`api.example.com`, `api.example.com:8443`, `*.example.com`);
    /// without any it may be sent anywhere.
    pub fn new(value: impl Into<SecretString>, hosts: Vec<String>) -> Self {
        let value = value.into();
        Secret { value, hosts }
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
