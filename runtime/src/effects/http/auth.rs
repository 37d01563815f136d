//! Credentials of a request: what they are, where in the request they go, and how a connection names them.

use super::address::with_query;
use super::headers::{header_name, header_value};
use super::oauth::Grant;
use crate::connections::{Connection, TOKEN};
use crate::secrets::Vault;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_sandbox::EffectError;
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use serde::Deserialize;

/// Credentials as they are sent.
#[derive(Clone, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Auth {
    Basic { user: String, password: String },
    Bearer(String),
    Header { name: String, value: String },
    Query { name: String, value: String },
}

/// Credentials as a connection has them.
pub(super) enum Credentials {
    None,
    Fixed(Auth),
    /// To be exchanged for a token.
    OAuth(Box<Grant>),
}

impl Auth {
    /// Puts the credentials into a request; gives the header that they are in.
    pub fn apply(
        self,
        headers: &mut HeaderMap,
        url: &mut Url,
        vault: &Vault,
    ) -> Result<Option<HeaderName>, EffectError> {
        let (name, value) = match self {
            Auth::Basic { user, password } => {
                let secret = vault.is_in(password.as_bytes()) || vault.is_in(user.as_bytes());
                let credentials = STANDARD.encode(format!("{user}:{password}"));
                if secret {
                    vault.note_use(&credentials)?;
                }
                (AUTHORIZATION, format!("Basic {credentials}"))
            }
            Auth::Bearer(token) => (AUTHORIZATION, format!("Bearer {token}")),
            Auth::Header { name, value } => (header_name(&name)?, value),
            Auth::Query { name, value } => {
                *url = with_query(url, &name, &value);
                return Ok(None);
            }
        };
        let mut value = header_value(name.as_str(), &value)?;
        value.set_sensitive(true);
        headers.insert(name.clone(), value);
        Ok(Some(name))
    }
}

impl Credentials {
    /// What a connection's fields say: its `auth`, or else what its fields are fit for.
    pub fn of(connection: &Connection) -> Result<Self, EffectError> {
        let stated = connection.text(&["auth"]);
        let Some(kind) = stated.as_deref().or_else(|| inferred(connection)) else {
            return match connection.text(&["baseUrl"]) {
                Some(_) => Ok(Credentials::None),
                None => Err(connection.unfit("it has no credentials for HTTP")),
            };
        };
        let auth = match kind {
            "oauth2" => return Ok(Credentials::OAuth(Box::new(Grant::of(connection)?))),
            "basic" => Auth::Basic {
                user: connection.text(&["user", "username"]).unwrap_or_default(),
                password: connection.required(&["password"])?,
            },
            "bearer" => Auth::Bearer(connection.required(TOKEN)?),
            "header" => {
                let value = connection.required(TOKEN)?;
                Auth::Header {
                    name: connection.required(&["headerName"])?,
                    value: match connection.text(&["headerPrefix"]) {
                        Some(prefix) => format!("{prefix} {value}"),
                        None => value,
                    },
                }
            }
            "query" => Auth::Query {
                name: connection.required(&["queryName"])?,
                value: connection.required(TOKEN)?,
            },
            other => {
                let takes = "bearer, basic, header, query or oauth2";
                return Err(connection.unfit(format!("its `auth` is `{other}`, not {takes}")));
            }
        };
        Ok(Credentials::Fixed(auth))
    }
}

/// What the fields of a connection without `auth` are fit for.
fn inferred(connection: &Connection) -> Option<&'static str> {
    let has = |name: &str| connection.text(&[name]).is_some();
    match () {
        () if has("tokenUrl") => Some("oauth2"),
        () if has("headerName") => Some("header"),
        () if has("queryName") => Some("query"),
        () if has("password") => Some("basic"),
        () if connection.text(TOKEN).is_some() => Some("bearer"),
        () => None,
    }
}
