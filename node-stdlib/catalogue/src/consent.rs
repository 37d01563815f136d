//! Providers of OAuth 2.0 that people give their consent at: where that is, how a client proves itself there, and where the
//! tokens may be sent. Data from the providers' own documentation; who reads it is the service.

/// A provider whose addresses are known.
#[derive(Clone, Copy, Debug)]
pub struct ConsentProvider {
    /// Name in kebab-case, unique; connections are stored under it.
    pub id: &'static str,
    pub title: &'static str,
    /// Who says that a code is theirs (`iss`, RFC 9207), where the provider says it.
    pub issuer: Option<&'static str>,
    /// Where people give their consent.
    pub authorize_url: &'static str,
    /// Where a code is exchanged for tokens.
    pub token_url: &'static str,
    pub revocation: Revocation,
    pub client_auth: ClientAuth,
    /// Whether the endpoint for tokens takes JSON, and not the form that the standard has.
    pub takes_json: bool,
    /// Whether codes are bound to the client by a proof key (PKCE).
    pub has_proof_keys: bool,
    /// What stands between scopes.
    pub scope_separator: &'static str,
    /// Scopes that are always asked for: without them there would be no refresh token.
    pub scopes: &'static [&'static str],
    /// Scopes as an example.
    pub example: &'static str,
    /// Parameters of the address for consent besides the standard ones.
    pub parameters: &'static [(&'static str, &'static str)],
    /// Hosts that tokens may be sent to.
    pub hosts: &'static [&'static str],
    /// Where its API begins, if that is one place.
    pub base_url: &'static str,
    /// Where mailboxes are read by IMAP with its tokens.
    pub imap_host: Option<&'static str>,
}

/// How a client proves who it is when it asks for tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    /// By its id and secret in the Authorization header.
    Header,
    /// By both in the body.
    Body,
}

/// How tokens are revoked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revocation {
    /// The provider has no way for that; people can do it in their account there.
    None,
    /// As RFC 7009 has it, at this address.
    Standard(&'static str),
    /// By a POST request that the token itself authorizes.
    Bearer(&'static str),
    /// By deleting this address with the refresh token at its end.
    Path(&'static str),
    /// By deleting this address, in which `{client_id}` is replaced, with `{"access_token"}` as its body.
    Json(&'static str),
}

impl ConsentProvider {
    const fn new(
        id: &'static str,
        title: &'static str,
        authorize: &'static str,
        token: &'static str,
    ) -> Self {
        ConsentProvider {
            id,
            title,
            issuer: None,
            authorize_url: authorize,
            token_url: token,
            revocation: Revocation::None,
            client_auth: ClientAuth::Body,
            takes_json: false,
            has_proof_keys: true,
            scope_separator: " ",
            scopes: &[],
            example: "",
            parameters: &[],
            hosts: &[],
            base_url: "",
            imap_host: None,
        }
    }

    const fn revoked(mut self, revocation: Revocation) -> Self {
        self.revocation = revocation;
        self
    }

    const fn by_header(mut self) -> Self {
        self.client_auth = ClientAuth::Header;
        self
    }

    const fn scopes(mut self, always: &'static [&'static str], example: &'static str) -> Self {
        self.scopes = always;
        self.example = example;
        self
    }

    const fn with(mut self, parameters: &'static [(&'static str, &'static str)]) -> Self {
        self.parameters = parameters;
        self
    }

    const fn mailboxes_at(mut self, host: &'static str) -> Self {
        self.imap_host = Some(host);
        self
    }

    const fn at(mut self, base_url: &'static str, hosts: &'static [&'static str]) -> Self {
        self.base_url = base_url;
        self.hosts = hosts;
        self
    }

    const fn by_commas(mut self) -> Self {
        self.scope_separator = ",";
        self
    }
}

const GOOGLE: ConsentProvider = {
    let mut google = ConsentProvider::new(
        "google",
        "Google",
        "https://accounts.google.com/o/oauth2/v2/auth",
        "https://oauth2.googleapis.com/token",
    );
    google.issuer = Some("https://accounts.google.com");
    // Google gives a refresh token only for offline access, and again only when it asks again.
    google
        .with(&[("access_type", "offline"), ("prompt", "consent")])
        .revoked(Revocation::Standard("https://oauth2.googleapis.com/revoke"))
        .scopes(&[], "https://www.googleapis.com/auth/spreadsheets")
        .at("", &["*.googleapis.com", "imap.gmail.com"])
        .mailboxes_at("imap.gmail.com")
};

const SLACK: ConsentProvider = {
    let mut slack = ConsentProvider::new(
        "slack",
        "Slack",
        "https://slack.com/oauth/v2/authorize",
        "https://slack.com/api/oauth.v2.access",
    );
    // Slack takes proof keys only of apps that have switched to them for good.
    slack.has_proof_keys = false;
    slack
        .by_commas()
        .revoked(Revocation::Bearer("https://slack.com/api/auth.revoke"))
        .scopes(&[], "chat:write,channels:read")
        .at("https://slack.com/api", &["slack.com", "*.slack.com"])
};

const NOTION: ConsentProvider = {
    let mut notion = ConsentProvider::new(
        "notion",
        "Notion",
        "https://api.notion.com/v1/oauth/authorize",
        "https://api.notion.com/v1/oauth/token",
    );
    notion.takes_json = true;
    notion
        .by_header()
        .with(&[("owner", "user")])
        .revoked(Revocation::Standard("https://api.notion.com/v1/oauth/revoke"))
        .at("https://api.notion.com/v1", &["api.notion.com"])
};

/// All of them, those that are used most first.
pub const CONSENT_PROVIDERS: &[ConsentProvider] = &[
    GOOGLE,
    ConsentProvider::new(
        "microsoft",
        "Microsoft",
        "https://login.microsoftonline.com/common/oauth2/v2.0/authorize",
        "https://login.microsoftonline.com/common/oauth2/v2.0/token",
    )
    .scopes(&["offline_access"], "Mail.Send Files.ReadWrite")
    .at(
        "https://graph.microsoft.com/v1.0",
        &["graph.microsoft.com", "outlook.office365.com"],
    )
    .mailboxes_at("outlook.office365.com"),
    SLACK,
    ConsentProvider::new(
        "github",
        "GitHub",
        "https://github.com/login/oauth/authorize",
        "https://github.com/login/oauth/access_token",
    )
    .revoked(Revocation::Json(
        "https://api.github.com/applications/{client_id}/token",
    ))
    .scopes(&[], "repo read:org")
    .at(
        "https://api.github.com",
        &["api.github.com", "uploads.github.com"],
    ),
    NOTION,
    ConsentProvider::new(
        "hubspot",
        "HubSpot",
        "https://app.hubspot.com/oauth/authorize",
        "https://api.hubapi.com/oauth/v1/token",
    )
    .revoked(Revocation::Path(
        "https://api.hubapi.com/oauth/v1/refresh-tokens/",
    ))
    .scopes(&[], "crm.objects.contacts.read crm.objects.contacts.write")
    .at("https://api.hubapi.com", &["api.hubapi.com"]),
    ConsentProvider::new(
        "airtable",
        "Airtable",
        "https://airtable.com/oauth2/v1/authorize",
        "https://airtable.com/oauth2/v1/token",
    )
    .by_header()
    .scopes(&[], "data.records:read data.records:write schema.bases:read")
    .at(
        "https://api.airtable.com/v0",
        &["api.airtable.com", "content.airtable.com"],
    ),
    ConsentProvider::new(
        "dropbox",
        "Dropbox",
        "https://www.dropbox.com/oauth2/authorize",
        "https://api.dropboxapi.com/oauth2/token",
    )
    .with(&[("token_access_type", "offline")])
    .revoked(Revocation::Bearer(
        "https://api.dropboxapi.com/2/auth/token/revoke",
    ))
    .scopes(&[], "files.content.read files.content.write")
    .at(
        "https://api.dropboxapi.com/2",
        &["api.dropboxapi.com", "content.dropboxapi.com"],
    ),
    ConsentProvider::new(
        "salesforce",
        "Salesforce",
        "https://login.salesforce.com/services/oauth2/authorize",
        "https://login.salesforce.com/services/oauth2/token",
    )
    .revoked(Revocation::Standard(
        "https://login.salesforce.com/services/oauth2/revoke",
    ))
    .scopes(&["refresh_token"], "api")
    .at("", &["*.salesforce.com"]),
    ConsentProvider::new(
        "atlassian",
        "Atlassian (Jira, Confluence)",
        "https://auth.atlassian.com/authorize",
        "https://auth.atlassian.com/oauth/token",
    )
    .with(&[("audience", "api.atlassian.com"), ("prompt", "consent")])
    .scopes(&["offline_access"], "read:jira-work write:jira-work")
    .at("https://api.atlassian.com", &["api.atlassian.com"]),
    ConsentProvider::new(
        "asana",
        "Asana",
        "https://app.asana.com/-/oauth_authorize",
        "https://app.asana.com/-/oauth_token",
    )
    .revoked(Revocation::Standard("https://app.asana.com/-/oauth_revoke"))
    .scopes(&[], "default")
    .at("https://app.asana.com/api/1.0", &["app.asana.com"]),
    ConsentProvider::new(
        "linear",
        "Linear",
        "https://linear.app/oauth/authorize",
        "https://api.linear.app/oauth/token",
    )
    .by_commas()
    .revoked(Revocation::Bearer("https://api.linear.app/oauth/revoke"))
    .scopes(&[], "read,write")
    .at("https://api.linear.app", &["api.linear.app"]),
    ConsentProvider::new(
        "gitlab",
        "GitLab",
        "https://gitlab.com/oauth/authorize",
        "https://gitlab.com/oauth/token",
    )
    .revoked(Revocation::Standard("https://gitlab.com/oauth/revoke"))
    .scopes(&[], "api")
    .at("https://gitlab.com/api/v4", &["gitlab.com"]),
    ConsentProvider::new(
        "discord",
        "Discord",
        "https://discord.com/oauth2/authorize",
        "https://discord.com/api/oauth2/token",
    )
    .revoked(Revocation::Standard(
        "https://discord.com/api/oauth2/token/revoke",
    ))
    .scopes(&[], "identify guilds")
    .at("https://discord.com/api/v10", &["discord.com"]),
    ConsentProvider::new(
        "zoom",
        "Zoom",
        "https://zoom.us/oauth/authorize",
        "https://zoom.us/oauth/token",
    )
    .by_header()
    .revoked(Revocation::Standard("https://zoom.us/oauth/revoke"))
    .at("https://api.zoom.us/v2", &["api.zoom.us"]),
    ConsentProvider::new(
        "spotify",
        "Spotify",
        "https://accounts.spotify.com/authorize",
        "https://accounts.spotify.com/api/token",
    )
    .by_header()
    .scopes(&[], "playlist-read-private playlist-modify-private")
    .at("https://api.spotify.com/v1", &["api.spotify.com"]),
    ConsentProvider::new(
        "box",
        "Box",
        "https://account.box.com/api/oauth2/authorize",
        "https://api.box.com/oauth2/token",
    )
    .revoked(Revocation::Standard("https://api.box.com/oauth2/revoke"))
    .at("https://api.box.com/2.0", &["api.box.com", "upload.box.com"]),
    ConsentProvider::new(
        "xero",
        "Xero",
        "https://login.xero.com/identity/connect/authorize",
        "https://identity.xero.com/connect/token",
    )
    .by_header()
    .revoked(Revocation::Standard(
        "https://identity.xero.com/connect/revocation",
    ))
    .scopes(&["offline_access"], "accounting.transactions accounting.contacts")
    .at("https://api.xero.com", &["api.xero.com"]),
    ConsentProvider::new(
        "x",
        "X",
        "https://x.com/i/oauth2/authorize",
        "https://api.x.com/2/oauth2/token",
    )
    .by_header()
    .revoked(Revocation::Standard("https://api.x.com/2/oauth2/revoke"))
    .scopes(&["offline_access"], "tweet.read tweet.write users.read")
    .at("https://api.x.com/2", &["api.x.com"]),
];

/// The provider of this id.
pub fn consent_provider(id: &str) -> Option<&'static ConsentProvider> {
    CONSENT_PROVIDERS.iter().find(|provider| provider.id == id)
}
