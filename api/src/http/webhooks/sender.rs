//! Who sends a request: known from its head, before anything of the body is read, unless the body itself is signed. Answers and logs
//! nothing.

use super::admission::Admitted;
use crate::app::App;
use crate::http::error::ApiError;
use axum::http::request::Parts;
use axum::http::uri::PathAndQuery;
use heddle_execution::ToTheEnd;
use heddle_model::Code;
use heddle_model::signature::{self, Incoming, Refusal, Scheme};
use heddle_runtime::apart;
use heddle_service::webhooks::jwt;
use heddle_service::webhooks::key_sets::{JwkSet, Unchecked};
use secrecy::ExposeSecret;
use serde_json::value::RawValue;
use std::sync::Arc;

/// Why a sender is not let in.
pub(super) struct NotKnown {
    /// What they are told.
    pub(super) error: ApiError,
    /// What only the webhook's owner reads.
    pub(super) reason: String,
}

impl From<ApiError> for NotKnown {
    fn from(error: ApiError) -> Self {
        let reason = error.message().to_owned();
        NotKnown { error, reason }
    }
}

impl From<Unchecked> for NotKnown {
    fn from(unchecked: Unchecked) -> Self {
        NotKnown {
            error: unchecked.error.into(),
            reason: unchecked.reason,
        }
    }
}

/// Whether the sender of a request whose proof is in its head is who they must be; the claims of their token, if they have one.
pub(super) async fn by_head(
    app: &App,
    admitted: &Admitted,
    parts: &Parts,
) -> Result<Option<Box<RawValue>>, NotKnown> {
    let authentication = &admitted.webhook().authentication;
    if authentication.scheme != Scheme::Jwt {
        by_signature(app, admitted, parts, &[])?;
        return Ok(None);
    }
    let keys = apart(|| published_keys(app, admitted, parts)).await?;
    let secret = admitted.endpoint.secret.expose_secret();
    let now = app.clock.now();
    let claims = jwt::claims(&authentication.jwt, secret, keys.as_deref(), &parts.headers, now);
    Ok(Some(claims.map_err(|refusal| rejected("sender", &refusal))?))
}

/// Whether the sender is who they must be, by any proof but a token.
pub(super) fn by_signature(
    app: &App,
    admitted: &Admitted,
    parts: &Parts,
    body: &[u8],
) -> Result<(), ApiError> {
    let authentication = &admitted.webhook().authentication;
    let secret = admitted.endpoint.secret.expose_secret();
    let incoming = Incoming {
        headers: &parts.headers,
        base_url: &app.config.base_url,
        target: parts.uri.path_and_query().map_or("", PathAndQuery::as_str),
        body,
    };
    let what = match authentication.scheme.is_in_head() {
        true => "sender",
        false => "signature",
    };
    let verified = signature::verify(authentication, secret, &incoming, app.clock.now());
    verified.map_err(|refusal| rejected(what, &refusal))
}

fn rejected(what: &str, refusal: &Refusal) -> ApiError {
    let message = format!("The request's {what} was rejected: {refusal}.");
    Code::SignatureInvalid.with(message).into()
}

/// The keys for the sender's token, where the webhook says that its issuer publishes them.
async fn published_keys(
    app: &App,
    admitted: &Admitted,
    parts: &Parts,
) -> Result<Option<Arc<JwkSet>>, NotKnown> {
    let jwt = &admitted.webhook().authentication.jwt;
    if jwt.keys_url.is_none() {
        return Ok(None);
    }
    let owner = admitted.owner(app).await?;
    let (app, jwt, headers) = (app.clone(), jwt.clone(), parts.headers.clone());
    let asking = async move { app.webhooks.key_sets.of(owner, &jwt, &headers).await };
    Ok(ToTheEnd::new(asking).await?)
}
