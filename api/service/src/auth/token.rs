//! Tokens: JWT (RFC 7519) signed with HS256.

use super::signing;
use heddle_model::access::{Role, WorkspaceRole};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{UserId, WorkspaceId};
use heddle_store::sessions::Ended;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The claims of a token. Its roles are only informative for clients: rights are read from the database with every
/// request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Claims {
    /// The user's id.
    pub sub: UserId,
    /// Email address, as registered.
    pub email: String,
    /// Role in the service.
    pub role: Role,
    /// Active workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_id: Option<WorkspaceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workspace_role: Option<WorkspaceRole>,
    /// Issued at, in seconds since 1970.
    pub iat: i64,
    /// Expires at, in seconds since 1970.
    pub exp: i64,
    /// Unique id of the token.
    pub jti: String,
    /// The login that it goes back to; without it, as in tokens of earlier versions, the token is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sid: Option<String>,
    /// When that login was, in seconds since 1970.
    #[serde(default, rename = "auth_time", skip_serializing_if = "Option::is_none")]
    pub auth_time: Option<i64>,
    /// The user's generation of tokens: all tokens of a generation end at once.
    #[serde(default, rename = "gen")]
    pub generation: i64,
}

/// A login, from which tokens follow each other until it ends.
#[derive(Clone, Debug)]
pub struct Session {
    /// Id of the login; for tokens of earlier versions, the token's own id.
    pub id: String,
    /// When the user proved who they are, in seconds since 1970.
    pub began_at: i64,
    /// The user's generation of tokens.
    pub generation: i64,
}

impl Claims {
    /// The login that the token goes back to.
    pub fn session(&self) -> Session {
        Session {
            id: self.sid.clone().unwrap_or_else(|| self.jti.clone()),
            began_at: self.auth_time.unwrap_or(self.iat),
            generation: self.generation,
        }
    }
}

/// How long things last.
#[derive(Clone, Copy, Debug)]
pub struct Lifetimes {
    pub token: Duration,
    /// A login, however often its token is renewed.
    pub session: Duration,
}

/// Makes and checks tokens.
pub struct Tokens {
    encoding: EncodingKey,
    decoding: DecodingKey,
    validation: Validation,
    lifetimes: Lifetimes,
    clock: Clock,
}

impl Tokens {
    /// With this secret and these lifetimes.
    pub fn new(secret: &str, lifetimes: Lifetimes, clock: Clock) -> Self {
        signing::install();
        let mut validation = Validation::new(Algorithm::HS256);
        // The service's own clock decides, below.
        validation.validate_exp = false;
        validation.set_required_spec_claims(&["exp"]);
        Tokens {
            encoding: EncodingKey::from_secret(secret.as_bytes()),
            decoding: DecodingKey::from_secret(secret.as_bytes()),
            validation,
            lifetimes,
            clock,
        }
    }

    /// A login that begins now.
    pub fn begin(&self, generation: i64) -> Session {
        Session {
            id: heddle_model::entropy::new_uuid().to_string(),
            began_at: seconds(self.clock.now()),
            generation,
        }
    }

    /// When a login expires, however often its token was renewed.
    pub fn end_of(&self, session: &Session) -> Timestamp {
        Timestamp::from_millis(session.began_at.saturating_mul(1000)).plus(self.lifetimes.session)
    }

    /// When a browser's session expires that began then and was last used then: after as long without use as a token
    /// lasts, and at the latest as any login does.
    pub fn end_of_use(&self, began_at: Timestamp, used_at: Timestamp) -> Timestamp {
        let unused = used_at.plus(self.lifetimes.token);
        unused.min(began_at.plus(self.lifetimes.session))
    }

    /// Which browsers' sessions have expired by now.
    pub fn expired(&self) -> Ended {
        let now = self.clock.now();
        Ended {
            unused_since: now.minus(self.lifetimes.token),
            begun_before: now.minus(self.lifetimes.session),
        }
    }

    /// How long a login lasts at most.
    pub fn session_lifetime(&self) -> Duration {
        self.lifetimes.session
    }

    /// A token for a user in a workspace.
    pub fn issue(
        &self,
        user: UserId,
        email: &str,
        role: Role,
        membership: Option<(WorkspaceId, WorkspaceRole)>,
        session: &Session,
    ) -> Result<String, ServiceError> {
        let now = self.clock.now();
        let exp = now.plus(self.lifetimes.token).min(self.end_of(session));
        let claims = Claims {
            sub: user,
            email: email.to_owned(),
            role,
            workspace_id: membership.map(|(workspace, _)| workspace),
            workspace_role: membership.map(|(_, role)| role),
            iat: seconds(now),
            exp: seconds(exp),
            jti: heddle_model::entropy::new_uuid().to_string(),
            sid: Some(session.id.clone()),
            auth_time: Some(session.began_at),
            generation: session.generation,
        };
        jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.encoding)
            .map_err(ServiceError::internal)
    }

    /// The claims of a token, if it is genuine and has not expired.
    pub fn check(&self, token: &str) -> Result<Claims, ServiceError> {
        let checked = jsonwebtoken::decode::<Claims>(token, &self.decoding, &self.validation);
        let claims = match checked {
            Ok(checked) => checked.claims,
            Err(error) if matches!(error.kind(), ErrorKind::ExpiredSignature) => {
                return Err(Code::TokenExpired.into());
            }
            Err(_) => return Err(Code::Unauthorized.into()),
        };
        let now = self.clock.now();
        // The longest login may have become shorter since the token was made.
        if claims.exp <= seconds(now) || self.end_of(&claims.session()) <= now {
            return Err(Code::TokenExpired.into());
        }
        Ok(claims)
    }
}

fn seconds(time: Timestamp) -> i64 {
    time.millis().div_euclid(1000)
}
