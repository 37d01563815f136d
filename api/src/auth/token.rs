//! Tokens: JWT (RFC 7519) signed with HS256.

use crate::access::{Role, WorkspaceRole};
use crate::clock::Clock;
use crate::error::{ApiError, Code};
use crate::ids::{UserId, WorkspaceId};
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use uuid::Uuid;

/// What a token says. Roles in it are for the client's eyes: rights are read from the database with every request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    /// User.
    pub sub: UserId,
    /// Email.
    pub email: String,
    /// Role in the service.
    pub role: Role,
    /// Active workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    /// Role in it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_role: Option<WorkspaceRole>,
    /// Issued at, in seconds since 1970.
    pub iat: i64,
    /// Expires at, in seconds since 1970.
    pub exp: i64,
    /// The token's own id.
    pub jti: String,
}

/// Makes and checks tokens.
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
    ttl: Duration,
    clock: Clock,
}

impl Tokens {
    /// With this secret and lifetime.
    pub fn new(secret: &str, ttl: Duration, clock: Clock) -> Self {
        let mut validation = Validation::new(Algorithm::HS256);
        // The service's own clock decides, below.
        validation.validate_exp = false;
        validation.set_required_spec_claims(&["exp"]);
        Tokens {
            encoding: EncodingKey::from_secret(secret.as_bytes()),
            decoding: DecodingKey::from_secret(secret.as_bytes()),
            validation,
            ttl,
            clock,
        }
    }

    /// A token for a user in a workspace.
    pub fn issue(
        &self,
        user: UserId,
        email: &str,
        role: Role,
        membership: Option<(WorkspaceId, WorkspaceRole)>,
    ) -> Result<String, ApiError> {
        let now = self.clock.now();
        let claims = Claims {
            sub: user,
            email: email.to_owned(),
            role,
            workspace_id: membership.map(|(workspace, _)| workspace),
            workspace_role: membership.map(|(_, role)| role),
            iat: now.millis().div_euclid(1000),
            exp: now.plus(self.ttl).millis().div_euclid(1000),
            jti: Uuid::now_v7().to_string(),
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding)
            .map_err(ApiError::internal)
    }

    /// What a token says, if it is ours and its time is not over.
    pub fn check(&self, token: &str) -> Result<Claims, ApiError> {
        let checked = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation);
        let claims = match checked {
            Ok(checked) => checked.claims,
            Err(error) if matches!(error.kind(), ErrorKind::ExpiredSignature) => {
                return Err(Code::TokenExpired.into());
            }
            Err(_) => return Err(Code::Unauthorized.into()),
        };
        if claims.exp <= self.clock.now().millis().div_euclid(1000) {
            return Err(Code::TokenExpired.into());
        }
        Ok(claims)
    }
}
