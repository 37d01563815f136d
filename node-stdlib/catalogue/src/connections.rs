//! The kinds of connections that people make, and the fields of each: for forms, and for docs/connections.md, which a test
//! compares. What reads the fields is the runtime; it takes others as well.

use crate::consent::{CONSENT_PROVIDERS, ConsentProvider};
use crate::content::ConnectionKind;

/// A kind of connection as a form shows it.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionForm {
    /// Name in kebab-case, unique.
    pub id: &'static str,
    pub title: &'static str,
    /// What it is for, in a sentence.
    pub description: &'static str,
    pub leads_to: ConnectionKind,
    /// The provider that it is stored under; `None`: people name the service.
    pub provider: Option<&'static str>,
    /// Whether somebody consents to it at the provider, and these fields only say where and as which client.
    pub by_consent: bool,
    /// Its fields, in the order of a form.
    pub fields: &'static [ConnectionField],
}

#[derive(Clone, Copy, Debug)]
pub struct ConnectionField {
    /// Name as it is stored.
    pub name: &'static str,
    pub title: &'static str,
    /// What it is for, if the title does not say it all.
    pub description: &'static str,
    /// Whether its value is never shown, not even while it is typed.
    pub is_secret: bool,
    /// Whether it can't be left out.
    pub is_required: bool,
    /// The values that it can have, the usual one first; none: any.
    pub options: &'static [&'static str],
    /// A value as an example; empty: none.
    pub example: &'static str,
}

impl ConnectionField {
    const fn new(name: &'static str, title: &'static str) -> Self {
        ConnectionField {
            name,
            title,
            description: "",
            is_secret: false,
            is_required: false,
            options: &[],
            example: "",
        }
    }

    const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    const fn secret(mut self) -> Self {
        self.is_secret = true;
        self
    }

    const fn about(mut self, description: &'static str) -> Self {
        self.description = description;
        self
    }

    const fn such_as(mut self, example: &'static str) -> Self {
        self.example = example;
        self
    }

    const fn one_of(mut self, options: &'static [&'static str]) -> Self {
        self.options = options;
        self
    }
}

const KEY: ConnectionField = ConnectionField::new("apiKey", "API key").required().secret();
const USER: ConnectionField = ConnectionField::new("user", "User");
const PASSWORD: ConnectionField = ConnectionField::new("password", "Password").secret();
const BASE_URL: ConnectionField = ConnectionField::new("baseUrl", "Base URL")
    .about("If it is set, a node's URL may be a path below it.")
    .such_as("https://api.example.com/v1");
const HOST: ConnectionField = ConnectionField::new("host", "Host").required();
const PORT: ConnectionField = ConnectionField::new("port", "Port");
const TLS_CA: ConnectionField = ConnectionField::new("tlsCa", "CA certificate")
    .about("Certificate of your own certificate authority, in PEM format.")
    .such_as("-----BEGIN CERTIFICATE-----…");
const DATABASE_TLS: ConnectionField = ConnectionField::new("tls", "TLS")
    .about("`verify` checks the server's certificate and name, `require` takes any certificate, `prefer` encrypts if the server can.")
    .one_of(&["verify", "require", "prefer", "none"]);

const CLIENT_ID: ConnectionField = ConnectionField::new("clientId", "Client id");
const CLIENT_SECRET: ConnectionField = ConnectionField::new("clientSecret", "Client secret").secret();
const SCOPE: ConnectionField =
    ConnectionField::new("scope", "Scopes").about("What it may do there, separated by spaces.");

/// A connection to a known provider that people consent at.
const fn consented(provider: &'static ConsentProvider) -> ConnectionForm {
    ConnectionForm {
        id: provider.id,
        title: provider.title,
        description: "You sign in there and allow access; heddle renews the tokens.",
        leads_to: ConnectionKind::Http,
        provider: Some(provider.id),
        by_consent: true,
        fields: match provider.imap_host {
            Some(_) => MAILBOX_CONSENT_FIELDS,
            None => CONSENT_FIELDS,
        },
    }
}

/// The same for all of them; where the operator has a client there, both can be left out.
const CONSENT_FIELDS: &[ConnectionField] = &[CLIENT_ID.required(), CLIENT_SECRET.required(), SCOPE, BASE_URL];

const MAILBOX_CONSENT_FIELDS: &[ConnectionField] = &[
    CLIENT_ID.required(),
    CLIENT_SECRET.required(),
    SCOPE,
    BASE_URL,
    ConnectionField::new("user", "Email address").about("Whose mailbox OnMailbox reads with it."),
];

/// All kinds: those of fields, and those of known providers.
pub fn connection_forms() -> impl Iterator<Item = ConnectionForm> {
    let known = CONSENT_PROVIDERS.iter().map(consented);
    CONNECTION_FORMS.iter().copied().chain(known)
}

const fn server(port: &'static str) -> [ConnectionField; 7] {
    [
        HOST.such_as("db.example.com"),
        PORT.such_as(port),
        ConnectionField::new("database", "Database")
            .required()
            .such_as("shop"),
        USER.required(),
        PASSWORD,
        DATABASE_TLS,
        TLS_CA,
    ]
}

const fn mailbox(host: &'static str, port: &'static str) -> [ConnectionField; 7] {
    [
        HOST.such_as(host),
        PORT.such_as(port),
        ConnectionField::new("tls", "TLS").one_of(&["tls", "starttls", "none"]),
        USER.required().such_as("support@example.com"),
        PASSWORD,
        ConnectionField::new("accessToken", "Access token")
            .secret()
            .about("In place of a password, where the server takes tokens (XOAUTH2)."),
        TLS_CA,
    ]
}

/// The kinds without known providers, those that are used most first.
const CONNECTION_FORMS: &[ConnectionForm] = &[
    ConnectionForm {
        id: "http-bearer",
        title: "HTTP: bearer token or API key",
        description: "Sent as `Authorization: Bearer …`.",
        leads_to: ConnectionKind::Http,
        provider: None,
        by_consent: false,
        fields: &[KEY, BASE_URL],
    },
    ConnectionForm {
        id: "http-basic",
        title: "HTTP: user and password",
        description: "Sent as HTTP Basic.",
        leads_to: ConnectionKind::Http,
        provider: None,
        by_consent: false,
        fields: &[USER.required(), PASSWORD.required(), BASE_URL],
    },
    ConnectionForm {
        id: "http-header",
        title: "HTTP: key in a header",
        description: "For services that use their own header.",
        leads_to: ConnectionKind::Http,
        provider: None,
        by_consent: false,
        fields: &[
            KEY,
            ConnectionField::new("headerName", "Header")
                .required()
                .such_as("X-Api-Key"),
            ConnectionField::new("headerPrefix", "Prefix")
                .about("Written before the key, separated by a space.")
                .such_as("Token"),
            BASE_URL,
        ],
    },
    ConnectionForm {
        id: "http-query",
        title: "HTTP: key in the URL",
        description: "Sent as a query parameter.",
        leads_to: ConnectionKind::Http,
        provider: None,
        by_consent: false,
        fields: &[
            KEY,
            ConnectionField::new("queryName", "Parameter")
                .required()
                .such_as("api_key"),
            BASE_URL,
        ],
    },
    ConnectionForm {
        id: "http-oauth2",
        title: "HTTP: OAuth 2.0 client credentials",
        description: "heddle gets tokens and renews them.",
        leads_to: ConnectionKind::Http,
        provider: None,
        by_consent: false,
        fields: &[
            ConnectionField::new("tokenUrl", "Token URL")
                .required()
                .such_as("https://auth.example.com/token"),
            ConnectionField::new("clientId", "Client id").required(),
            ConnectionField::new("clientSecret", "Client secret")
                .required()
                .secret(),
            ConnectionField::new("scope", "Scope"),
            ConnectionField::new("audience", "Audience"),
            ConnectionField::new("clientAuth", "Send client id and secret in").one_of(&["header", "body"]),
            BASE_URL,
        ],
    },
    ConnectionForm {
        id: "http-consent",
        title: "HTTP: OAuth 2.0 with consent",
        description: "A person signs in to the service and allows access; heddle renews the tokens.",
        leads_to: ConnectionKind::Http,
        provider: None,
        by_consent: true,
        fields: &[
            CLIENT_ID.required(),
            CLIENT_SECRET,
            SCOPE,
            ConnectionField::new("issuer", "Issuer")
                .about("Of a service that publishes its addresses (OpenID Connect, RFC 8414); the addresses below are needed without it.")
                .such_as("https://auth.example.com"),
            ConnectionField::new("authorizeUrl", "Authorization URL").such_as("https://auth.example.com/authorize"),
            ConnectionField::new("tokenUrl", "Token URL").such_as("https://auth.example.com/token"),
            ConnectionField::new("revokeUrl", "Revocation URL").such_as("https://auth.example.com/revoke"),
            ConnectionField::new("parameters", "Further parameters")
                .about("Of the authorization URL.")
                .such_as("access_type=offline&prompt=consent"),
            ConnectionField::new("clientAuth", "Send client id and secret in").one_of(&["header", "body"]),
            BASE_URL,
        ],
    },
    ConnectionForm {
        id: "chat",
        title: "Chat completion (OpenAI and others)",
        description: "For ChatCompletion nodes.",
        leads_to: ConnectionKind::Chat,
        provider: Some("open-ai"),
        by_consent: false,
        fields: &[
            KEY,
            ConnectionField::new("baseUrl", "Base URL")
                .about("If the service is not OpenAI's.")
                .such_as("http://localhost:11434/v1"),
            ConnectionField::new("organization", "Organization"),
        ],
    },
    ConnectionForm {
        id: "postgres",
        title: "PostgreSQL",
        description: "For SqlQuery nodes.",
        leads_to: ConnectionKind::Sql,
        provider: Some("postgres"),
        by_consent: false,
        fields: &server("5432"),
    },
    ConnectionForm {
        id: "mysql",
        title: "MySQL or MariaDB",
        description: "For SqlQuery nodes.",
        leads_to: ConnectionKind::Sql,
        provider: Some("mysql"),
        by_consent: false,
        fields: &server("3306"),
    },
    ConnectionForm {
        id: "sqlite",
        title: "SQLite",
        description: "For SqlQuery nodes, on servers with a directory for such files.",
        leads_to: ConnectionKind::Sql,
        provider: Some("sqlite"),
        by_consent: false,
        fields: &[ConnectionField::new("file", "File")
            .required()
            .such_as("orders.db")],
    },
    ConnectionForm {
        id: "smtp",
        title: "Email (SMTP)",
        description: "For SendEmail nodes.",
        leads_to: ConnectionKind::Smtp,
        provider: Some("smtp"),
        by_consent: false,
        fields: &[
            HOST.such_as("smtp.example.com"),
            PORT.such_as("587"),
            ConnectionField::new("tls", "TLS").one_of(&["starttls", "tls", "none"]),
            USER,
            PASSWORD,
            TLS_CA,
        ],
    },
    ConnectionForm {
        id: "imap",
        title: "Mailbox (IMAP)",
        description: "For OnMailbox nodes.",
        leads_to: ConnectionKind::Mailbox,
        provider: Some("imap"),
        by_consent: false,
        fields: &mailbox("imap.example.com", "993"),
    },
    ConnectionForm {
        id: "pop3",
        title: "Mailbox (POP3)",
        description: "For OnMailbox nodes, where a server has no IMAP.",
        leads_to: ConnectionKind::Mailbox,
        provider: Some("pop3"),
        by_consent: false,
        fields: &mailbox("pop.example.com", "995"),
    },
];
