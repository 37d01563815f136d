//! Types of the external login: its settings, its result and its errors.

/// A login by another service: OpenID Connect with an issuer, or plain OAuth 2.0 with its URLs.
#[derive(Clone)]
pub struct ExternalLogin {
    /// Client id.
    pub client_id: String,
    /// Client secret.
    pub client_secret: String,
    /// OpenID Connect issuer, whose configuration is discovered.
    pub issuer: Option<String>,
    /// Token endpoint, when there is no discovery.
    pub token_url: Option<String>,
    /// Userinfo endpoint, when there is no discovery.
    pub userinfo_url: Option<String>,
    /// Redirect URI with which clients obtain their codes.
    pub redirect_uri: String,
}

/// What a client brings back from the provider.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// Authorization code.
    pub code: &'a str,
    /// PKCE verifier.
    pub code_verifier: Option<&'a str>,
}

/// A user's identity, as confirmed by the provider.
#[derive(Clone, Debug)]
pub struct Identity {
    /// Provider and the provider's own name for the person: never changes.
    pub subject: String,
    /// Email address, as reported by the provider.
    pub email: String,
    /// Whether the provider has verified that the email is theirs.
    pub email_verified: bool,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
    /// Picture.
    pub avatar_url: Option<String>,
}

/// Why there is no identity.
#[derive(Debug, thiserror::Error)]
pub(super) enum LoginError {
    /// The provider, or the check of what it said, refuses this login.
    #[error("{0}")]
    Refused(String),
    /// The provider does not answer as it must.
    #[error("{0}")]
    Unavailable(String),
}
