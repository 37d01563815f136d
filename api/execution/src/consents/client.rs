//! Which client of which provider a connection names: known providers, a connection's own addresses, or what a provider
//! publishes of itself; the client is the connection's own or the operator's.

use heddle_catalogue::{ClientAuth, ConsentProvider, Revocation, consent_provider};
use heddle_model::error::{Code, ServiceError};
use heddle_runtime::consent::{ConsentClient, ConsentError, ConsentHttp, Discovered, Revoking};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};
use zeroize::Zeroizing;

/// Fields of a connection that decide who the provider is. With an own one, the operator's client is not used: its secret
/// would go wherever that leads.
const ADDRESSES: &[&str] = &["authorizeUrl", "tokenUrl", "revokeUrl", "issuer"];

/// Parameters of the address for consent that are heddle's to set.
const OWN_PARAMETERS: &[&str] = &[
    "response_type",
    "client_id",
    "redirect_uri",
    "state",
    "scope",
    "code_challenge",
    "code_challenge_method",
    "nonce",
    "response_mode",
];

/// Fields after whose change the tokens are another client's.
pub const IDENTITY: &[&str] = &["authorizeUrl", "tokenUrl", "issuer", "clientId"];

/// A client at a known provider that the operator has registered for all workspaces.
#[derive(Clone)]
pub struct OperatorClient {
    /// Id of a known provider.
    pub provider: String,
    pub client_id: String,
    pub client_secret: SecretString,
}

/// Why it is not known who to ask.
pub(super) enum NoClient {
    /// A field of the connection is missing or wrong.
    Field(&'static str, String),
    /// What the provider publishes can't be had.
    Provider(ConsentError),
}

impl From<NoClient> for ServiceError {
    fn from(why: NoClient) -> Self {
        match why {
            NoClient::Field(field, problem) => ServiceError::field(format!("credentials.{field}"), problem),
            NoClient::Provider(error) => refused(error),
        }
    }
}

impl NoClient {
    /// For people who read of a run.
    pub fn reason(self) -> String {
        match self {
            NoClient::Field(field, problem) => format!("Its field `{field}` {problem}."),
            NoClient::Provider(error) => error.to_string(),
        }
    }
}

/// What a client of the API is told of a provider's answer.
pub(super) fn refused(error: ConsentError) -> ServiceError {
    match error {
        ConsentError::Refused(reason) => Code::Validation.with(reason),
        ConsentError::Unavailable(reason) => Code::Unavailable.with(reason).retry_after_s(5),
    }
}

/// A connection's client, and what is known of its provider.
pub(super) struct Resolved {
    pub client: ConsentClient,
    pub revoking: Revoking,
    /// Who has to say that an answer is theirs, if anybody is known.
    pub issuer: Option<String>,
    /// Whether every answer says it.
    pub says_issuer: bool,
}

/// The fields of a connection, read.
struct Fields<'a>(&'a Map<String, Value>);

impl Fields<'_> {
    fn text(&self, name: &str) -> Option<String> {
        let text = self.0.get(name)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }

    fn required(&self, name: &'static str) -> Result<String, NoClient> {
        self.text(name)
            .ok_or_else(|| NoClient::Field(name, "is needed".to_owned()))
    }
}

/// Whether these fields, with this provider, name a client without asking anybody.
pub(super) fn check(
    provider: &str,
    fields: &Map<String, Value>,
    operators: &[OperatorClient],
) -> Result<(), ServiceError> {
    let read = Fields(fields);
    let known = consent_provider(provider);
    identity(provider, &read, known, operators)?;
    client_auth(&read)?;
    if known.is_none() && read.text("issuer").is_none() {
        read.required("authorizeUrl")?;
        read.required("tokenUrl")?;
    }
    if let Some((name, _)) = parameters(&read, None)
        .into_iter()
        .find(|(name, _)| OWN_PARAMETERS.contains(&name.as_str()))
    {
        return Err(NoClient::Field("parameters", format!("must not set `{name}`")).into());
    }
    for name in ADDRESSES {
        if let Some(text) = read.text(name)
            && !text.starts_with("https://")
            && !text.starts_with("http://")
        {
            return Err(NoClient::Field(name, "must be an address with https://".to_owned()).into());
        }
    }
    Ok(())
}

fn identity(
    provider: &str,
    fields: &Fields<'_>,
    known: Option<&ConsentProvider>,
    operators: &[OperatorClient],
) -> Result<(String, Option<Zeroizing<String>>), NoClient> {
    if let Some(id) = fields.text("clientId") {
        return Ok((id, fields.text("clientSecret").map(Zeroizing::new)));
    }
    let is_plain = known.is_some() && ADDRESSES.iter().all(|name| fields.text(name).is_none());
    let operators = operators.iter().find(|client| client.provider == provider);
    match operators.filter(|_| is_plain) {
        Some(client) => Ok((
            client.client_id.clone(),
            Some(Zeroizing::new(client.client_secret.expose_secret().to_owned())),
        )),
        None => fields.required("clientId").map(|id| (id, None)),
    }
}

fn client_auth(fields: &Fields<'_>) -> Result<Option<ClientAuth>, NoClient> {
    match fields.text("clientAuth").as_deref() {
        None => Ok(None),
        Some("header") => Ok(Some(ClientAuth::Header)),
        Some("body") => Ok(Some(ClientAuth::Body)),
        Some(_) => Err(NoClient::Field("clientAuth", "must be header or body".to_owned())),
    }
}

/// The client that a connection's fields name.
pub(super) async fn resolve(
    http: &ConsentHttp,
    provider: &str,
    fields: &Map<String, Value>,
    (operators, redirect_uri): (&[OperatorClient], &str),
) -> Result<Resolved, NoClient> {
    let read = Fields(fields);
    let known = consent_provider(provider);
    let own = (read.text("authorizeUrl"), read.text("tokenUrl"));
    let issuer = read.text("issuer");
    let discovered: Option<Discovered> = match &issuer {
        Some(issuer) if own.0.is_none() || own.1.is_none() => {
            Some(http.discover(issuer).await.map_err(NoClient::Provider)?)
        }
        _ => None,
    };
    let published = discovered.as_ref();
    // An address of its own leads to somebody else than the known provider, whose other facts don't hold there then.
    let known = known.filter(|_| issuer.is_none());
    let authorize_url = own
        .0
        .or_else(|| published.map(|it| it.authorization_endpoint.clone()))
        .or_else(|| known.map(|it| it.authorize_url.to_owned()));
    let token_url = own
        .1
        .or_else(|| published.map(|it| it.token_endpoint.clone()))
        .or_else(|| known.map(|it| it.token_url.to_owned()));
    let (client_id, client_secret) = identity(provider, &read, known, operators)?;
    let published_auth = published.map(|it| match it.knows_basic() {
        true => ClientAuth::Header,
        false => ClientAuth::Body,
    });
    let auth = client_auth(&read)?
        .or(published_auth)
        .or(known.map(|it| it.client_auth));
    let needed = |name| move || NoClient::Field(name, "is needed".to_owned());
    Ok(Resolved {
        client: ConsentClient {
            authorize_url: authorize_url.ok_or_else(needed("authorizeUrl"))?,
            token_url: token_url.ok_or_else(needed("tokenUrl"))?,
            client_id,
            client_secret,
            auth: auth.unwrap_or(ClientAuth::Header),
            takes_json: known.is_some_and(|it| it.takes_json),
            has_proof_keys: known.is_none_or(|it| it.has_proof_keys),
            scope_separator: known.map_or(" ", |it| it.scope_separator).to_owned(),
            scopes: scopes(&read, known),
            parameters: parameters(&read, known),
            redirect_uri: redirect_uri.to_owned(),
        },
        revoking: Revoking {
            url: read
                .text("revokeUrl")
                .or_else(|| published.and_then(|it| it.revocation_endpoint.clone())),
            known: known.map_or(Revocation::None, |it| it.revocation),
        },
        issuer: issuer.or_else(|| known.and_then(|it| it.issuer).map(str::to_owned)),
        says_issuer: published.is_some_and(|it| it.authorization_response_iss_parameter_supported),
    })
}

fn scopes(fields: &Fields<'_>, known: Option<&ConsentProvider>) -> Vec<String> {
    let wanted = fields.text("scope").unwrap_or_default();
    let wanted = wanted.split(|c: char| c.is_whitespace() || c == ',');
    let always = known.map_or(&[][..], |it| it.scopes).iter().copied();
    let mut scopes: Vec<String> = Vec::new();
    for scope in wanted.chain(always).filter(|scope| !scope.is_empty()) {
        if !scopes.iter().any(|other| other == scope) {
            scopes.push(scope.to_owned());
        }
    }
    scopes
}

/// The known provider's, and the connection's own in their place: `access_type=offline&prompt=consent`.
fn parameters(fields: &Fields<'_>, known: Option<&ConsentProvider>) -> Vec<(String, String)> {
    let own = fields.text("parameters").unwrap_or_default();
    let own: Vec<(String, String)> = own
        .trim_start_matches('?')
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.trim().to_owned(), value.trim().to_owned()))
        .collect();
    let known = known.map_or(&[][..], |it| it.parameters).iter();
    let mut all: Vec<(String, String)> = known
        .filter(|(name, _)| own.iter().all(|(other, _)| other != name))
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    all.extend(own);
    all
}
