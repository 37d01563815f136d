//! Types of the external login: its settings, its result and its errors.

use super::groups::GroupRole;
use heddle_model::access::WorkspaceRole;
use heddle_model::ids::WorkspaceId;
use reqwest::Url;
use secrecy::SecretString;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// The console's page to which the provider sends people back.
pub const CONSOLE_RETURN: &str = "/sign-in/return";

/// The id of the login that the `ext_…` settings describe.
pub const SINGLE_LOGIN: &str = "ext";

/// A login by another service: OpenID Connect with an issuer, or plain OAuth 2.0 with its URLs.
#[derive(Clone)]
pub struct ExternalLogin {
    /// By which the settings and the API name it.
    pub id: String,
    pub client_id: String,
    pub client_secret: SecretString,
    /// OpenID Connect issuer, whose configuration is discovered.
    pub issuer: Option<String>,
    /// What people know the provider as; `None`: the host of its issuer or token endpoint.
    pub name: Option<String>,
    /// Authorization endpoint, when there is no discovery.
    pub authorize_url: Option<String>,
    /// What the console asks for, separated by spaces.
    pub scopes: String,
    /// Token endpoint, when there is no discovery.
    pub token_url: Option<String>,
    /// Userinfo endpoint, when there is no discovery.
    pub userinfo_url: Option<String>,
    /// Redirect URI with which clients obtain their codes.
    pub redirect_uri: String,
    /// Which groups of the provider give which roles.
    pub group_roles: Vec<GroupRole>,
}

impl ExternalLogin {
    /// What people know the provider as.
    pub fn shown_name(&self) -> String {
        let place = || {
            let url: Url = self.issuer.as_ref().or(self.token_url.as_ref())?.parse().ok()?;
            url.host_str().map(str::to_owned)
        };
        self.name.clone().or_else(place).unwrap_or_default()
    }

    /// Whether the console can begin this login: the provider sends people back to the console's page, and it is known
    /// where they are sent to.
    pub fn is_for_console(&self) -> bool {
        let returns = self.redirect_uri.parse::<Url>();
        let is_known = self.issuer.is_some() || self.authorize_url.is_some();
        is_known && returns.is_ok_and(|url| url.path() == CONSOLE_RETURN)
    }
}

/// What a client brings back from the provider.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// Authorization code.
    pub code: &'a str,
    /// PKCE verifier.
    pub code_verifier: Option<&'a str>,
    /// What the ID token must have in it, if the code was requested with a nonce.
    pub nonce: Option<&'a str>,
    /// Who says that the code is theirs, if the answer says it (`iss`, RFC 9207).
    pub issuer: Option<&'a str>,
}

/// A user's identity, as confirmed by the provider.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The provider's id in the settings, which may change.
    pub provider_id: String,
    /// Its issuer, or its token endpoint if it has none: with this, the subject begins.
    pub provider: String,
    /// Provider and the provider's own name for the person: never changes.
    pub subject: String,
    /// Email address, as reported by the provider.
    pub email: String,
    /// Whether the provider has verified that the email is theirs.
    pub email_verified: bool,
    pub first_name: String,
    pub last_name: String,
    /// Picture.
    pub avatar_url: Option<String>,
    /// What their groups give them; `None`: the provider does not tell of their groups this time.
    pub group_roles: Option<BTreeMap<WorkspaceId, WorkspaceRole>>,
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    /// The provider, or the check of what it said, refuses this login.
    #[error("an external login was refused")]
    Refused(#[source] anyhow::Error),
    /// The provider does not answer as it must.
    #[error("can't use the login provider")]
    Unavailable(#[source] anyhow::Error),
}

impl LoginError {
    /// The provider can't be used, for this reason.
    pub fn unavailable(reason: String) -> Self {
        LoginError::Unavailable(anyhow::Error::msg(reason))
    }

    /// The login is refused, for this reason.
    pub fn refused(reason: impl Into<Cow<'static, str>>) -> Self {
        LoginError::Refused(anyhow::Error::msg(reason.into()))
    }
}
