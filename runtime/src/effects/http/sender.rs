//! Sends requests with the same credentials.

use super::answer::Answer;
use super::auth::{Auth, Credentials};
use super::context::HttpNeeds;
use super::exchange::Exchange;
use super::oauth::Tokens;
use crate::egress::GuardedHttp;
use heddle_sandbox::EffectError;
use reqwest::Url;

/// Sends requests with the same credentials, which go to the origin of the first one only.
pub(super) struct Sender<'a> {
    pub clients: &'a GuardedHttp,
    pub tokens: &'a Tokens,
    pub context: &'a HttpNeeds,
    pub origin: Url,
    pub credentials: Credentials,
}

impl Sender<'_> {
    /// A request with its redirects. A token that is refused is replaced once.
    pub async fn send(&self, exchange: Exchange) -> Result<Answer, EffectError> {
        let at_origin = exchange.url.origin() == self.origin.origin();
        let grant = match &self.credentials {
            Credentials::Fixed(auth) if at_origin => {
                return self.send_with(exchange, Some(auth.clone())).await;
            }
            Credentials::OAuth(grant) if at_origin => grant,
            _ => return self.send_with(exchange, None).await,
        };
        let vault = &self.context.vault;
        let (tokens, clients) = (self.tokens, self.clients);
        let token = tokens.get(clients, grant, None, vault).await?;
        let answer = self
            .send_with(exchange.clone(), Some(Auth::Bearer(token.to_string())))
            .await?;
        if answer.status != 401 || answer.url.origin() != self.origin.origin() {
            return Ok(answer);
        }
        let token = tokens.get(clients, grant, Some(&token), vault).await?;
        self.send_with(exchange, Some(Auth::Bearer(token.to_string())))
            .await
    }

    async fn send_with(&self, mut exchange: Exchange, auth: Option<Auth>) -> Result<Answer, EffectError> {
        if let Some(auth) = auth {
            exchange.authorize(auth, &self.context.vault)?;
        }
        exchange.perform(self.clients, self.context).await
    }
}
