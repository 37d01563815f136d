//! The operator's clients at providers that people consent at (`oauth_clients`): connections to these providers need none of
//! their own.

use super::logins::listed;
use super::sources::{SettingError, Values};
use heddle_catalogue::{CONSENT_PROVIDERS, consent_provider};
use heddle_execution::OperatorClient;
use serde::Deserialize;
use std::path::PathBuf;

const CLIENTS_MAX: usize = 100;

/// A client as the settings have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Client {
    provider: String,
    client_id: String,
    client_secret: Option<String>,
    client_secret_file: Option<PathBuf>,
}

pub(super) fn read(values: &Values) -> Result<Vec<OperatorClient>, SettingError> {
    let mut clients: Vec<OperatorClient> = Vec::new();
    for client in listed::<Client>(values, "oauth_clients", CLIENTS_MAX)? {
        let provider = client.provider.clone();
        let wrong = |why: String| {
            values.error(
                "oauth_clients",
                format!("has a client at `{provider}`, which {why}"),
            )
        };
        if consent_provider(&provider).is_none() {
            let known: Vec<&str> = CONSENT_PROVIDERS.iter().map(|known| known.id).collect();
            return Err(wrong(format!("is not one of {}", known.join(", "))));
        }
        if clients.iter().any(|other| other.provider == provider) {
            return Err(wrong("is there twice".to_owned()));
        }
        clients.push(checked(client).map_err(wrong)?);
    }
    Ok(clients)
}

/// The error continues a sentence about the client.
fn checked(client: Client) -> Result<OperatorClient, String> {
    let secret = match (client.client_secret, client.client_secret_file) {
        (Some(secret), None) => secret,
        (None, Some(path)) => std::fs::read_to_string(&path)
            .map_err(|error| format!("names {}, which can't be read: {error}", path.display()))?,
        _ => return Err("needs either client_secret or client_secret_file".to_owned()),
    };
    let secret = secret.trim();
    if secret.is_empty() || client.client_id.trim().is_empty() {
        return Err("has an empty client id or secret".to_owned());
    }
    Ok(OperatorClient {
        provider: client.provider,
        client_id: client.client_id.trim().to_owned(),
        client_secret: secret.into(),
    })
}
