//! The external login: the authorization-code exchange of OAuth 2.0 (RFC 6749, with PKCE, RFC 7636) and OpenID Connect
//! Core 1.0. The client sends the user to the provider and returns with a code, which is exchanged for an identity
//! here. Knows nothing about accounts.

mod attempt;
mod claims;
mod id_token;
mod login;
mod provider;

pub use attempt::Attempt;
pub use login::{CONSOLE_RETURN, ExternalLogin, Identity, Login};

use claims::{Claims, identity};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_runtime::EgressPolicy;
use login::LoginError;
use provider::{Provider, Tokens};
use std::sync::Arc;

/// A configured login provider. Cheap to clone.
#[derive(Clone)]
pub struct ExternalProvider(Arc<Provider>);

impl ExternalProvider {
    /// With these settings; connections pass the egress guard.
    pub fn new(settings: ExternalLogin, egress: &EgressPolicy) -> Self {
        ExternalProvider(Arc::new(Provider::new(settings, egress)))
    }

    /// Where a browser is sent to begin an attempt at the provider.
    pub async fn authorize(&self, attempt: &Attempt, now: Timestamp) -> Result<String, ServiceError> {
        let provider = &*self.0;
        let endpoints = provider.endpoints(now).await.map_err(told)?;
        let url = provider.authorize_url(&endpoints, attempt).map_err(told)?;
        Ok(url.into())
    }

    /// Exchanges a code for the identity of the person who logged in.
    pub async fn identify(&self, login: Login<'_>, now: Timestamp) -> Result<Identity, ServiceError> {
        self.exchange(login, now).await.map_err(told)
    }

    async fn exchange(&self, login: Login<'_>, now: Timestamp) -> Result<Identity, LoginError> {
        let provider = &*self.0;
        let endpoints = provider.endpoints(now).await?;
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
        identity(provider.name(), claims)
    }

    async fn userinfo(&self, endpoints: &provider::Endpoints, tokens: &Tokens) -> Result<Claims, LoginError> {
        self.0.userinfo(endpoints, tokens).await
    }
}

/// What a client is told; the reason is for the operator.
fn told(error: LoginError) -> ServiceError {
    match error {
        LoginError::Refused(reason) => {
            tracing::info!("An external login was refused: {reason:#}");
            Code::InvalidCredentials
                .with("The login provider did not confirm this login: try logging in again.")
        }
        LoginError::Unavailable(reason) => {
            tracing::error!("Can't use the login provider: {reason:#}");
            Code::Unavailable
                .with("The login provider can't be reached right now: try again shortly.")
                .retry_after_s(5)
        }
    }
}
