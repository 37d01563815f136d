//! Who calls as the operator of the service: by a token of its own, and where it is served elsewhere, only there.

use crate::app::App;
use crate::http::client_ip::ClientIp;
use crate::http::error::ApiError;
use crate::http::extract::shows_secret;
use axum::extract::{FromRef, FromRequestParts};
use axum::http::request::Parts;
use heddle_model::Code;
use heddle_model::audit::Origin;
use secrecy::ExposeSecret;

/// Marks requests that came to the operator's own address.
#[derive(Clone, Copy, Debug)]
pub struct AtOwnAddress;

/// The operator of the service, by the token that is set for them.
#[derive(Clone, Copy, Debug)]
pub struct Operator(pub Origin);

impl<S> FromRequestParts<S> for Operator
where
    App: FromRef<S>,
    S: Send + Sync,
{
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let app = App::from_ref(state);
        let Some(token) = &app.config.operator_token else {
            let off = "The operator's API is off: set operator_token.";
            return Err(Code::NotFound.with(off).into());
        };
        if app.config.http.operator_listen.is_some() && parts.extensions.get::<AtOwnAddress>().is_none() {
            let elsewhere = "The operator's API is served at a separate address (operator_listen).";
            return Err(Code::NotFound.with(elsewhere).into());
        }
        if !shows_secret(&parts.headers, token.expose_secret()) {
            let needed =
                "This needs the token that is set as operator_token: send it as `Authorization: Bearer …`.";
            return Err(Code::Unauthorized.with(needed).into());
        }
        let ClientIp(address) = ClientIp::from_request_parts(parts, state).await?;
        Ok(Operator(Origin::from_address(app.clock.now(), address)))
    }
}
