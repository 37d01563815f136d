//! The provider's HTTP endpoints: its configuration (OpenID Connect Discovery 1.0), its keys (RFC 7517), tokens and
//! userinfo. Every connection passes the runtime's egress guard.

use super::attempt::Attempt;
use super::claims::Claims;
use super::id_token::{self, Keys};
use super::login::{ExternalLogin, Login, LoginError};
use anyhow::Context;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_model::clock::Timestamp;
use heddle_runtime::{EgressPolicy, GuardedHttp, body_within, told_by_stranger};
use jsonwebtoken::jwk::JwkSet;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use reqwest::{Method, StatusCode, Url};
use secrecy::ExposeSecret;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// Characters of why an answer can't be read.
const REASON_CHARS_MAX: usize = 300;
/// How long a provider's configuration and keys are taken for current.
const FRESH: Duration = Duration::from_secs(60 * 60);

/// Where the provider is reached, and how it wants to be.
pub(super) struct Endpoints {
    /// OpenID Connect: who signs ID tokens.
    pub issuer: Option<String>,
    /// Where people log in.
    authorize: Option<Url>,
    token: Url,
    pub userinfo: Option<Url>,
    keys: Option<Url>,
    /// The client's secret goes into the body, not into the Authorization header.
    secret_in_body: bool,
}

/// The token endpoint's answer.
#[derive(Deserialize)]
pub(super) struct Tokens {
    access_token: String,
    pub id_token: Option<String>,
}

pub(super) struct Provider {
    pub settings: ExternalLogin,
    http: GuardedHttp,
    discovered: Mutex<Option<(Timestamp, Arc<Endpoints>)>>,
    keys: Mutex<Option<(Timestamp, Arc<Keys>)>>,
}

/// A request to the provider.
struct Ask {
    method: Method,
    url: Url,
    authorization: Option<String>,
    form: Option<String>,
}

impl Provider {
    pub fn new(settings: ExternalLogin, egress: &EgressPolicy) -> Self {
        Provider {
            settings,
            http: GuardedHttp::new(egress),
            discovered: Mutex::default(),
            keys: Mutex::default(),
        }
    }

    /// The prefix that distinguishes this provider's subjects from those of others.
    pub fn name(&self) -> &str {
        let settings = &self.settings;
        settings
            .issuer
            .as_deref()
            .or(settings.token_url.as_deref())
            .unwrap_or_default()
    }

    pub async fn endpoints(&self, now: Timestamp) -> Result<Arc<Endpoints>, LoginError> {
        if let Some(endpoints) = fresh(&self.discovered, now) {
            return Ok(endpoints);
        }
        let endpoints = match &self.settings.issuer {
            Some(issuer) => self.discover(issuer).await?,
            None => Endpoints {
                issuer: None,
                authorize: self
                    .settings
                    .authorize_url
                    .as_deref()
                    .map(|at| url(Some(at)))
                    .transpose()?,
                token: url(self.settings.token_url.as_deref())?,
                userinfo: Some(url(self.settings.userinfo_url.as_deref())?),
                keys: None,
                secret_in_body: true,
            },
        };
        let endpoints = Arc::new(endpoints);
        *locked(&self.discovered) = Some((now, endpoints.clone()));
        Ok(endpoints)
    }

    async fn discover(&self, issuer: &str) -> Result<Endpoints, LoginError> {
        #[derive(Deserialize)]
        struct Configuration {
            issuer: String,
            authorization_endpoint: Option<String>,
            token_endpoint: String,
            userinfo_endpoint: Option<String>,
            jwks_uri: String,
            token_endpoint_auth_methods_supported: Option<Vec<String>>,
        }
        let at = format!(
            "{}/.well-known/openid-configuration",
            issuer.trim_end_matches('/')
        );
        let configuration: Configuration = self.get(url(Some(&at))?, None).await?;
        if configuration.issuer != issuer {
            let other = configuration.issuer;
            return Err(LoginError::unavailable(format!(
                "the issuer is configured as {issuer}, but calls itself {other}: the two must be equal"
            )));
        }
        let methods = configuration.token_endpoint_auth_methods_supported;
        // Without a list it is client_secret_basic, says Discovery.
        let knows_basic =
            methods.is_none_or(|methods| methods.iter().any(|method| method == "client_secret_basic"));
        let userinfo = configuration.userinfo_endpoint.as_deref();
        let authorize = configuration.authorization_endpoint.as_deref();
        Ok(Endpoints {
            issuer: Some(configuration.issuer),
            authorize: authorize
                .map(|authorize| self.published("authorization_endpoint", authorize))
                .transpose()?,
            token: self.published("token_endpoint", &configuration.token_endpoint)?,
            userinfo: userinfo
                .map(|userinfo| self.published("userinfo_endpoint", userinfo))
                .transpose()?,
            keys: Some(self.published("jwks_uri", &configuration.jwks_uri)?),
            secret_in_body: !knows_basic,
        })
    }

    /// An address that the issuer publishes, if people and secrets may be sent there.
    fn published(&self, name: &str, endpoint: &str) -> Result<Url, LoginError> {
        let endpoint = url(Some(endpoint))?;
        if self.http.may_trust(&endpoint) {
            return Ok(endpoint);
        }
        Err(LoginError::unavailable(format!(
            "the {name} that the issuer publishes is {endpoint}: it must begin with https://, or with http:// and have a host that \
             HEDDLE_EGRESS_ALLOW lists"
        )))
    }

    /// Where a browser is sent to log in, and to come back to the redirect URI.
    pub fn authorize_url(&self, endpoints: &Endpoints, attempt: &Attempt) -> Result<Url, LoginError> {
        let settings = &self.settings;
        let mut url = endpoints
            .authorize
            .clone()
            .ok_or_else(|| LoginError::unavailable("it has no authorization endpoint".to_owned()))?;
        self.check_scheme(&url)?;
        let mut query = url.query_pairs_mut();
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &settings.client_id)
            .append_pair("redirect_uri", &settings.redirect_uri)
            .append_pair("scope", &settings.scopes)
            .append_pair("state", &attempt.state())
            .append_pair("code_challenge", &attempt.challenge())
            .append_pair("code_challenge_method", "S256");
        if endpoints.issuer.is_some() {
            query.append_pair("nonce", &attempt.nonce());
        }
        drop(query);
        Ok(url)
    }

    /// Exchanges the code.
    pub async fn tokens(&self, endpoints: &Endpoints, login: Login<'_>) -> Result<Tokens, LoginError> {
        let ask = self.token_request(endpoints, login);
        let (status, body) = self.ask(ask).await?;
        if status.is_server_error() {
            return Err(LoginError::unavailable(format!(
                "the token endpoint answered {status}"
            )));
        }
        // An answer without a token is a refusal: some providers send it with status 200.
        serde_json::from_slice(&body).map_err(|_| {
            let error = serde_json::from_slice::<Refusal>(&body).map(|refusal| refusal.error);
            let error = error.unwrap_or_else(|_| "no reason given".to_owned());
            LoginError::refused(format!("the token endpoint answered {status}: {error}"))
        })
    }

    fn token_request(&self, endpoints: &Endpoints, login: Login<'_>) -> Ask {
        let settings = &self.settings;
        let mut form = form_urlencoded::Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code");
        form.append_pair("code", login.code);
        form.append_pair("redirect_uri", &settings.redirect_uri);
        if let Some(verifier) = login.code_verifier {
            form.append_pair("code_verifier", verifier);
        }
        let authorization = if endpoints.secret_in_body {
            form.append_pair("client_id", &settings.client_id);
            form.append_pair("client_secret", settings.client_secret.expose_secret());
            None
        } else {
            let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
            let pair = format!(
                "{}:{}",
                encoded(&settings.client_id),
                encoded(settings.client_secret.expose_secret())
            );
            Some(format!("Basic {}", STANDARD.encode(pair)))
        };
        Ask {
            method: Method::POST,
            url: endpoints.token.clone(),
            authorization,
            form: Some(form.finish()),
        }
    }

    /// The claims from the userinfo endpoint.
    pub async fn userinfo(&self, endpoints: &Endpoints, tokens: &Tokens) -> Result<Claims, LoginError> {
        let userinfo = endpoints.userinfo.clone();
        let userinfo =
            userinfo.ok_or_else(|| LoginError::unavailable("the provider has no userinfo URL".to_owned()))?;
        let place = place(&userinfo);
        let all = self.get(userinfo, Some(format!("Bearer {}", tokens.access_token)));
        Claims::read(all.await?)
            .with_context(|| format!("{place} sent an unexpected answer"))
            .map_err(LoginError::Unavailable)
    }

    /// Checks an ID token against the provider's keys, which are fetched again if its key is unknown.
    pub async fn check_id_token(
        &self,
        endpoints: &Endpoints,
        issuer: &str,
        (id_token, nonce): (&str, Option<&str>),
        now: Timestamp,
    ) -> Result<Claims, LoginError> {
        let kept = fresh(&self.keys, now);
        let keys = match kept.filter(|keys| keys.know(id_token)) {
            Some(keys) => keys,
            None => {
                let at = endpoints.keys.clone();
                let at =
                    at.ok_or_else(|| LoginError::unavailable("the provider publishes no keys".to_owned()))?;
                let set: JwkSet = self.get(at, None).await?;
                let keys = Arc::new(Keys::new(&set));
                *locked(&self.keys) = Some((now, keys.clone()));
                keys
            }
        };
        let client = (self.settings.client_id.as_str(), nonce);
        id_token::check(&keys, id_token, issuer, client, now)
    }

    async fn get<T: DeserializeOwned>(
        &self,
        url: Url,
        authorization: Option<String>,
    ) -> Result<T, LoginError> {
        let place = place(&url);
        let sent = authorization.clone().unwrap_or_default();
        let ask = Ask {
            method: Method::GET,
            url,
            authorization,
            form: None,
        };
        let (status, body) = self.ask(ask).await?;
        if !status.is_success() {
            return Err(LoginError::unavailable(format!("{place} answered {status}")));
        }
        serde_json::from_slice(&body).map_err(|error| {
            // It quotes what it did not expect, which may be the token.
            let token = sent.strip_prefix("Bearer ").unwrap_or_default();
            let reason = told_by_stranger(&error.to_string(), &[token], REASON_CHARS_MAX);
            LoginError::unavailable(format!("{place} sent an unexpected answer: {reason}"))
        })
    }

    /// Sends a request and reads all of the answer, within a time and a size.
    async fn ask(&self, ask: Ask) -> Result<(StatusCode, Vec<u8>), LoginError> {
        let place = place(&ask.url);
        tokio::time::timeout(TIMEOUT, self.exchange(ask))
            .await
            .unwrap_or_else(|_| {
                let waited_s = TIMEOUT.as_secs();
                Err(LoginError::unavailable(format!(
                    "{place} did not answer within {waited_s} s"
                )))
            })
    }

    async fn exchange(&self, ask: Ask) -> Result<(StatusCode, Vec<u8>), LoginError> {
        let place = place(&ask.url);
        self.check_scheme(&ask.url)?;
        let client = self.http.client(&ask.url);
        let client = client.map_err(|error| LoginError::Unavailable(error.into()))?;
        let mut request = client
            .request(ask.method, ask.url)
            .header(ACCEPT, "application/json");
        if let Some(authorization) = ask.authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(form) = ask.form {
            request = request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .body(form);
        }
        let failed =
            |error: reqwest::Error| LoginError::Unavailable(anyhow::Error::new(error).context(place.clone()));
        let response = request.send().await.map_err(failed)?;
        let status = response.status();
        let body = body_within(response, ANSWER_BYTES_MAX).await.map_err(failed)?;
        let body = body.ok_or_else(|| LoginError::unavailable(format!("{place} sent more than 1 MiB")))?;
        Ok((status, body))
    }

    /// Secrets and identities travel encrypted, except to hosts that the operator lists.
    fn check_scheme(&self, url: &Url) -> Result<(), LoginError> {
        if self.http.may_trust(url) {
            return Ok(());
        }
        Err(LoginError::unavailable(format!(
            "{} is not encrypted: use https, or list the host in HEDDLE_EGRESS_ALLOW",
            place(url)
        )))
    }
}

#[derive(Deserialize)]
struct Refusal {
    error: String,
}

fn url(text: Option<&str>) -> Result<Url, LoginError> {
    let text = text.unwrap_or_default();
    Url::parse(text)
        .with_context(|| format!("`{text}` is not a URL"))
        .map_err(LoginError::Unavailable)
}

/// Scheme, host and port only: queries may contain confidential values.
fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}

fn fresh<T>(kept: &Mutex<Option<(Timestamp, Arc<T>)>>, now: Timestamp) -> Option<Arc<T>> {
    let kept = locked(kept);
    let (since, value) = kept.as_ref()?;
    (now < since.plus(FRESH)).then(|| value.clone())
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
