//! The external login: the authorization-code exchange of OAuth 2.0 (RFC 6749, with PKCE, RFC 7636) and OpenID Connect
//! Core 1.0. The client sends the user to the provider and returns with a code, which is exchanged for an identity
//! here. There may be several providers. Knows nothing about accounts.

mod attempt;
mod claims;
mod groups;
mod id_token;
mod login;
mod provider;

pub use attempt::Attempt;
pub use groups::GroupRole;
pub use login::{CONSOLE_RETURN, ExternalLogin, Identity, Login, SINGLE_LOGIN};

use claims::{Claims, identity};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_runtime::{EgressPolicy, told_by_stranger};
use login::LoginError;
use provider::{Provider, Tokens};
use secrecy::ExposeSecret;
use std::sync::Arc;

/// Characters of why a provider did not log somebody in, which the provider has a say in.
const REASON_CHARS_MAX: usize = 1_000;

/// Whether an ID token of `issuer` for `client` is one that these keys have signed: a set of keys in JSON, as the provider sends it.
/// For those who test that anything may come.
pub fn is_genuine(keys: &[u8], token: &str, issuer: &str, client: &str, now: Timestamp) -> bool {
    let keys = serde_json::from_slice(keys).map(|set| id_token::Keys::new(&set));
    keys.is_ok_and(|keys| {
        keys.know(token) && id_token::check(&keys, token, issuer, (client, None), now).is_ok()
    })
}

/// The configured login providers, in the order of the settings. Cheap to clone.
#[derive(Clone)]
pub struct ExternalProviders(Arc<[ExternalProvider]>);

impl ExternalProviders {
    /// With these settings; connections pass the egress guard.
    pub fn new(settings: Vec<ExternalLogin>, egress: &EgressPolicy) -> Self {
        let providers = settings.into_iter();
        ExternalProviders(
            providers
                .map(|settings| ExternalProvider(Provider::new(settings, egress)))
                .collect(),
        )
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The provider with this id; without one, the first.
    pub fn named(&self, id: Option<&str>) -> Option<&ExternalProvider> {
        match id {
            None => self.0.first(),
            Some(id) => self.0.iter().find(|provider| provider.settings().id == id),
        }
    }

    /// The ids of all.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|provider| provider.settings().id.as_str())
    }

    /// The settings of all.
    pub fn settings(&self) -> impl Iterator<Item = &ExternalLogin> {
        self.0.iter().map(ExternalProvider::settings)
    }
}

/// A configured login provider.
pub struct ExternalProvider(Provider);

impl ExternalProvider {
    /// How it is configured.
    pub fn settings(&self) -> &ExternalLogin {
        &self.0.settings
    }

    /// Where a browser is sent to begin an attempt at the provider.
    pub async fn authorize(&self, attempt: &Attempt, now: Timestamp) -> Result<String, ServiceError> {
        let provider = &self.0;
        let endpoints = provider.endpoints(now).await;
        let url = endpoints.and_then(|endpoints| provider.authorize_url(&endpoints, attempt));
        Ok(url.map_err(|error| self.service_error(error, &[]))?.into())
    }

    /// Exchanges a code for the identity of the person who logged in.
    pub async fn identify(&self, login: Login<'_>, now: Timestamp) -> Result<Identity, ServiceError> {
        let sent = [login.code, login.code_verifier.unwrap_or_default()];
        let exchanged = self.exchange(login, now).await;
        exchanged.map_err(|error| self.service_error(error, &sent))
    }

    async fn exchange(&self, login: Login<'_>, now: Timestamp) -> Result<Identity, LoginError> {
        let provider = &self.0;
        let endpoints = provider.endpoints(now).await?;
        // With several providers, one of them could have a code of another one sent to it.
        if let (Some(said), Some(issuer)) = (login.issuer, &endpoints.issuer)
            && said != issuer
        {
            return Err(LoginError::refused("the code is from another provider"));
        }
        let tokens = provider.tokens(&endpoints, login).await?;
        let claims = match &endpoints.issuer {
            Some(issuer) => {
                let id_token = tokens.id_token.as_deref().ok_or_else(|| {
                    LoginError::refused(
                        "the provider sent no ID token: does the client request the scope openid?",
                    )
                })?;
                let mut claims = provider
                    .check_id_token(&endpoints, issuer, (id_token, login.nonce), now)
                    .await?;
                if endpoints.userinfo.is_some() {
                    let more = self.userinfo(&endpoints, &tokens).await?;
                    if more.subject() != claims.subject() {
                        return Err(LoginError::refused("userinfo is about a different subject"));
                    }
                    claims = more.or(claims);
                }
                claims
            }
            None => self.userinfo(&endpoints, &tokens).await?,
        };
        identity(&provider.settings, provider.name(), claims)
    }

    async fn userinfo(&self, endpoints: &provider::Endpoints, tokens: &Tokens) -> Result<Claims, LoginError> {
        self.0.userinfo(endpoints, tokens).await
    }

    /// What a client is told; the reason is for the operator. The provider may have put into it what it was sent.
    fn service_error(&self, error: LoginError, sent: &[&str]) -> ServiceError {
        let client_secret = self.settings().client_secret.expose_secret();
        let secrets = [sent, &[client_secret][..]].concat();
        match error {
            LoginError::Refused(reason) => {
                tracing::info!("An external login was refused: {}", shown(&reason, &secrets));
                Code::InvalidCredentials
                    .with("The login provider did not confirm this login: try logging in again.")
            }
            LoginError::Unavailable(reason) => {
                tracing::error!("Can't use the login provider: {}", shown(&reason, &secrets));
                Code::Unavailable
                    .with("The login provider can't be reached right now: try again shortly.")
                    .retry_after_s(5)
            }
        }
    }
}

/// Why a login failed, as the operator reads it.
fn shown(reason: &anyhow::Error, secrets: &[&str]) -> String {
    told_by_stranger(&format!("{reason:#}"), secrets, REASON_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::anyhow;

    #[test]
    fn a_provider_that_says_what_it_was_sent_is_not_quoted() {
        let secrets = ["code-of-ann", "the client's secret"];
        let reason = anyhow!("no code code-of-ann for the%20client%27s%20secret")
            .context("the token endpoint answered 400");
        let reason_shown = shown(&reason, &secrets);
        assert!(
            reason_shown.contains("the token endpoint answered 400"),
            "{reason_shown}"
        );
        assert!(
            !reason_shown.contains("code-of-ann") && !reason_shown.contains("%27s"),
            "{reason_shown}"
        );
        let reason_shown = shown(&anyhow!("{}", "x\n".repeat(1 << 20)), &secrets);
        assert!(
            reason_shown.chars().count() <= REASON_CHARS_MAX + 1 && !reason_shown.contains('\n'),
            "{reason_shown}"
        );
    }
}
