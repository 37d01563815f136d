//! Logins by other services: the one of the `ext_…` settings, further ones (`login_providers`), and which of their groups give
//! which roles (`group_roles`).

use super::sources::{SettingError, Values};
use heddle_model::access::WorkspaceRole;
use heddle_model::ids::WorkspaceId;
use heddle_service::auth::external::{CONSOLE_RETURN, ExternalLogin, GroupRole, SINGLE_LOGIN};
use reqwest::Url;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::PathBuf;

/// What is asked for: the claims that an account is made from.
const SCOPES: &str = "openid email profile";
/// Providers, each of which is a button.
const PROVIDERS_MAX: usize = 20;
/// Rules in all.
const RULES_MAX: usize = 1_000;
const ID_CHARS_MAX: usize = 32;

/// A provider as the settings have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Provider {
    id: String,
    name: Option<String>,
    client_id: String,
    client_secret: Option<String>,
    client_secret_file: Option<PathBuf>,
    issuer: Option<String>,
    authorize_url: Option<String>,
    token_url: Option<String>,
    userinfo_url: Option<String>,
    scopes: Option<String>,
    redirect_uri: Option<String>,
}

/// A rule as the settings have it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    provider: String,
    claim: String,
    value: String,
    workspace: WorkspaceId,
    role: WorkspaceRole,
}

/// All logins by other services, in the order in which people see them.
pub(super) fn read(values: &Values, base_url: &str) -> Result<Vec<ExternalLogin>, SettingError> {
    let mut logins: Vec<ExternalLogin> = single(values)?.into_iter().collect();
    let wrong = |message: String| values.error("login_providers", message);
    for provider in listed::<Provider>(values, "login_providers", PROVIDERS_MAX)? {
        let id = provider.id.clone();
        if logins.iter().any(|login| login.id == id) {
            let why = match id.as_str() {
                SINGLE_LOGIN => "is the provider of the ext_… settings: give this one another id",
                _ => "is there twice",
            };
            return Err(wrong(format!("has the id `{id}`, which {why}")));
        }
        logins.push(
            login(provider, base_url)
                .map_err(|why| wrong(format!("has the provider `{id}`, which {why}")))?,
        );
    }
    for rule in listed::<Rule>(values, "group_roles", RULES_MAX)? {
        let wrong = |message: String| values.error("group_roles", message);
        let Some(login) = logins.iter_mut().find(|login| login.id == rule.provider) else {
            return Err(wrong(format!(
                "names the provider `{}`, which does not exist",
                rule.provider
            )));
        };
        if rule.claim.is_empty() || rule.value.is_empty() {
            return Err(wrong("has a rule whose claim or value is empty".to_owned()));
        }
        login.group_roles.push(GroupRole {
            claim: rule.claim,
            value: rule.value,
            workspace: rule.workspace,
            role: rule.role,
        });
    }
    Ok(logins)
}

/// The elements of a setting that is JSON.
pub(super) fn listed<T: DeserializeOwned>(
    values: &Values,
    name: &str,
    max: usize,
) -> Result<Vec<T>, SettingError> {
    let Some(text) = values.text(name) else {
        return Ok(Vec::new());
    };
    let mut reader = serde_json::Deserializer::from_str(text);
    let read: Result<Vec<T>, _> = serde_path_to_error::deserialize(&mut reader);
    let listed = read.map_err(|error| {
        let place = error.path().to_string();
        let message = error.inner().to_string();
        let message = message
            .rsplit_once(" at line ")
            .map_or(message.as_str(), |(message, _)| message);
        // What was found may be a secret.
        let message = match message
            .strip_prefix("invalid type: ")
            .and_then(|message| message.rsplit_once(", expected "))
        {
            Some((_, expected)) => format!("expected {expected}"),
            None => message.to_owned(),
        };
        values.error(name, format!("has a mistake at {place}: {message}"))
    })?;
    match listed.len() > max {
        true => Err(values.error(name, format!("must not have more than {max}"))),
        false => Ok(listed),
    }
}

/// A provider of `login_providers`; the error continues a sentence about it.
fn login(provider: Provider, base_url: &str) -> Result<ExternalLogin, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if provider.id.is_empty() || provider.id.len() > ID_CHARS_MAX || !provider.id.chars().all(is_plain) {
        return Err(format!(
            "must have an id of 1 to {ID_CHARS_MAX} lowercase letters, digits and hyphens"
        ));
    }
    let secret = match (provider.client_secret, provider.client_secret_file) {
        (Some(secret), None) => secret,
        (None, Some(path)) => std::fs::read_to_string(&path)
            .map_err(|error| format!("names {}, which can't be read: {error}", path.display()))?,
        _ => return Err("needs either client_secret or client_secret_file".to_owned()),
    };
    let secret = secret.trim();
    if secret.is_empty() {
        return Err("has an empty client secret".to_owned());
    }
    let has_urls = provider.token_url.is_some() && provider.userinfo_url.is_some();
    if provider.issuer.is_none() && !has_urls {
        return Err("needs an issuer, or both token_url and userinfo_url".to_owned());
    }
    let redirect_uri = provider.redirect_uri;
    let login = ExternalLogin {
        id: provider.id,
        client_id: provider.client_id,
        client_secret: secret.into(),
        issuer: provider.issuer,
        name: provider.name,
        authorize_url: provider.authorize_url,
        scopes: provider.scopes.unwrap_or_else(|| SCOPES.to_owned()),
        token_url: provider.token_url,
        userinfo_url: provider.userinfo_url,
        redirect_uri: redirect_uri.unwrap_or_else(|| format!("{base_url}{CONSOLE_RETURN}")),
        group_roles: Vec::new(),
    };
    let urls = [
        ("issuer", &login.issuer),
        ("authorize_url", &login.authorize_url),
        ("token_url", &login.token_url),
        ("userinfo_url", &login.userinfo_url),
    ];
    for (name, url) in urls {
        if url.as_ref().is_some_and(|url| url.parse::<Url>().is_err()) {
            return Err(format!("has an {name} that is not a URL"));
        }
    }
    Ok(login)
}

/// The login of the `ext_…` settings.
fn single(values: &Values) -> Result<Option<ExternalLogin>, SettingError> {
    let text = |name| values.text(name).map(str::to_owned);
    let Some(client_id) = text("ext_client_id") else {
        let given = [
            "ext_client_secret",
            "ext_issuer",
            "ext_name",
            "ext_scopes",
            "ext_authorize_url",
            "ext_token_url",
            "ext_userinfo_url",
            "ext_redirect_uri",
        ];
        return match given.into_iter().find(|name| values.text(name).is_some()) {
            Some(name) => Err(values.error(name, "needs ext_client_id")),
            None => Ok(None),
        };
    };
    let needed = |name| text(name).ok_or_else(|| values.error(name, "is required with ext_client_id"));
    let login = ExternalLogin {
        id: SINGLE_LOGIN.to_owned(),
        client_id,
        client_secret: needed("ext_client_secret")?.into(),
        issuer: text("ext_issuer"),
        name: text("ext_name"),
        authorize_url: text("ext_authorize_url"),
        scopes: text("ext_scopes").unwrap_or_else(|| SCOPES.to_owned()),
        token_url: text("ext_token_url"),
        userinfo_url: text("ext_userinfo_url"),
        redirect_uri: needed("ext_redirect_uri")?,
        group_roles: Vec::new(),
    };
    if login.issuer.is_none() && (login.token_url.is_none() || login.userinfo_url.is_none()) {
        return Err(values.error(
            "ext_issuer",
            "is required, or both ext_token_url and ext_userinfo_url",
        ));
    }
    Ok(Some(login))
}
