//! A provider's addresses, as it publishes them itself: OpenID Connect Discovery 1.0, or else RFC 8414.

use super::ask::shown;
use super::ask::{self, Ask, Body, ConsentHttp, url};
use super::error::ConsentError;
use reqwest::{Method, Url};
use serde::Deserialize;

/// What a provider publishes of itself.
#[derive(Clone, Debug, Deserialize)]
pub struct Discovered {
    pub issuer: String,
    pub authorization_endpoint: String,
    pub token_endpoint: String,
    pub revocation_endpoint: Option<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Option<Vec<String>>,
    /// Whether every answer says whose it is (RFC 9207).
    #[serde(default)]
    pub authorization_response_iss_parameter_supported: bool,
}

impl Discovered {
    /// Whether a client's id and secret go into the header of a request: they do without a list, says the standard.
    pub fn knows_basic(&self) -> bool {
        let methods = self.token_endpoint_auth_methods_supported.as_ref();
        methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"))
    }
}

impl ConsentHttp {
    /// What the provider with this issuer publishes.
    pub async fn discover(&self, issuer: &str) -> Result<Discovered, ConsentError> {
        let base = url(issuer)?;
        let (openid, oauth) = addresses(issuer, &base);
        let found = match self.published(openid).await {
            Ok(found) => found,
            Err(_) => self.published(url(&oauth)?).await?,
        };
        if found.issuer != issuer {
            let other = shown(&found.issuer, &[]);
            return Err(ConsentError::Unavailable(format!(
                "The issuer is {issuer}, but calls itself {other}: the two must be equal."
            )));
        }
        let endpoints = [
            ("authorization_endpoint", Some(&found.authorization_endpoint)),
            ("token_endpoint", Some(&found.token_endpoint)),
            ("revocation_endpoint", found.revocation_endpoint.as_ref()),
        ];
        for (name, endpoint) in endpoints {
            if let Some(endpoint) = endpoint {
                self.check_published(name, endpoint)?;
            }
        }
        Ok(found)
    }

    async fn published(&self, at: Url) -> Result<Discovered, ConsentError> {
        let place = ask::place(&at);
        let ask = Ask {
            method: Method::GET,
            url: at,
            authorization: None,
            body: Body::None,
        };
        let answer = self.ask(ask).await?;
        published(&place, answer.status, &answer.body)
    }
}

/// What the provider at this place publishes, by its answer.
pub fn published(place: &str, status: u16, answer: &[u8]) -> Result<Discovered, ConsentError> {
    if status != 200 {
        return Err(ConsentError::Unavailable(format!(
            "{place} does not publish its addresses: it answered with status {status}."
        )));
    }
    serde_json::from_slice(answer).map_err(|error| {
        // It quotes what it did not expect.
        let reason = shown(&error.to_string(), &[]);
        ConsentError::Unavailable(format!(
            "The addresses that {place} publishes can't be read ({reason})."
        ))
    })
}

/// OpenID Connect puts the document behind the issuer's path, RFC 8414 before it.
fn addresses(issuer: &str, base: &Url) -> (Url, String) {
    let issuer = issuer.trim_end_matches('/');
    let openid = format!("{issuer}/.well-known/openid-configuration");
    let path = base.path().trim_end_matches('/');
    let oauth = format!(
        "{}/.well-known/oauth-authorization-server{path}",
        base.origin().ascii_serialization()
    );
    (openid.parse().unwrap_or_else(|_| base.clone()), oauth)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_where_the_standards_have_them() {
        let issuer = "https://id.example.com/tenant/";
        let (openid, oauth) = addresses(issuer, &issuer.parse().unwrap());
        assert_eq!(
            openid.as_str(),
            "https://id.example.com/tenant/.well-known/openid-configuration"
        );
        assert_eq!(
            oauth,
            "https://id.example.com/.well-known/oauth-authorization-server/tenant"
        );
    }
}
