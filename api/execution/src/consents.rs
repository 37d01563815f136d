//! Connections that a person consents to at a provider: consent begun and finished, tokens kept fresh for runs, and revoked.
//! Of all servers, one at a time asks for other tokens, since many providers take each refresh token once only.
//!
//! What is said to providers is the runtime's.

mod answer;
mod client;
mod revoking;

pub use answer::ConsentAnswer;
pub use client::{IDENTITY, OperatorClient};
pub use revoking::Revocations;

use answer::{check_issuer, hash, secret, times};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use client::{Resolved, check, refused, resolve};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use heddle_catalogue::consent_provider;
use heddle_model::access::Editor;
use heddle_model::audit::{Action, Object};
use heddle_model::clock::{Clock, Timestamp, monotonic, since};
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::{ConnectionId, UserId, WorkspaceId};
use heddle_runtime::consent::{ConsentError, ConsentHttp, Grants};
use heddle_runtime::{Connection, ConnectionError, EgressPolicy, names_as_here, names_for};
use heddle_store::connection_tokens::{self as kept, Kept, NewConsent, NewTokens, Tokens};
use heddle_store::connections::{self, Opened};
use heddle_store::vault::{Vault, VaultError};
use heddle_store::{Store, audit};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

/// The type of such connections.
pub const CONSENTED: &str = "oauth";
/// The console's page to which providers send people back.
pub const CONSENT_RETURN: &str = "/connections/return";
/// How long somebody may take at a provider.
const CONSENT_TIME_MAX: Duration = Duration::from_secs(15 * 60);
/// All that is asked of a provider for one renewal.
const RENEWAL_TIME_MAX: Duration = Duration::from_secs(40);
/// Longer than a renewal, so that nobody begins another one beside it.
const CLAIM: Duration = Duration::from_secs(60);
/// How long a request waits for a renewal at another server, and how often it looks.
const WAIT_MAX: Duration = Duration::from_secs(25);
const LOOK_EVERY: Duration = Duration::from_millis(150);
/// A refresh token that was used is worth nothing any more: what came for it has to be stored.
const STORED_AT_MOST: u32 = 5;

/// Cheap to clone.
#[derive(Clone)]
pub struct Consents(Arc<Parts>);

struct Parts {
    store: Store,
    vault: Arc<Vault>,
    clock: Clock,
    http: ConsentHttp,
    operators: Vec<OperatorClient>,
    redirect_uri: String,
}

/// What became of the tokens of a connection that was disconnected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Revoked {
    /// The provider takes them no more.
    Done,
    /// The provider has no way for that.
    Impossible,
    /// It failed; why.
    Failed(String),
    /// There were none.
    Nothing,
}

/// Whose tokens.
#[derive(Clone)]
struct Subject {
    id: ConnectionId,
    workspace: Option<WorkspaceId>,
    provider: String,
    fields: Map<String, Value>,
}

/// What a connection is used with.
struct Access {
    token: String,
    /// What it was used with before.
    former: Vec<String>,
}

impl Access {
    fn of(tokens: &Tokens) -> Self {
        Access {
            token: tokens.access.clone(),
            former: tokens.former.clone(),
        }
    }
}

impl Subject {
    fn of(opened: &Opened) -> Self {
        Subject {
            id: opened.row.id,
            workspace: opened.workspace,
            provider: opened.row.provider.clone(),
            fields: opened.fields.clone(),
        }
    }
}

impl Consents {
    pub(crate) fn new(
        (store, vault, clock): (Store, Arc<Vault>, Clock),
        egress: &EgressPolicy,
        operators: Vec<OperatorClient>,
        base_url: &str,
    ) -> Self {
        Consents(Arc::new(Parts {
            store,
            vault,
            clock,
            http: ConsentHttp::new(egress),
            operators,
            redirect_uri: format!("{base_url}{CONSENT_RETURN}"),
        }))
    }

    /// Where providers send people back to, as it has to be registered there.
    pub fn redirect_uri(&self) -> &str {
        &self.0.redirect_uri
    }

    /// The known providers at which the operator has a client.
    pub fn clients(&self) -> impl Iterator<Item = &str> {
        self.0.operators.iter().map(|client| client.provider.as_str())
    }

    /// Whether a connection with these fields can lead to a consent.
    pub fn check(&self, provider: &str, fields: &Map<String, Value>) -> Result<(), ServiceError> {
        check(provider, fields, &self.0.operators)
    }

    async fn resolve(&self, of: &Subject) -> Result<Resolved, client::NoClient> {
        let own = (self.0.operators.as_slice(), self.redirect_uri());
        resolve(&self.0.http, &of.provider, &of.fields, own).await
    }

    /// Where the browser of a connection's user is sent.
    pub async fn begin(&self, editor: &Editor, id: ConnectionId) -> Result<String, ServiceError> {
        let mut reader = self.0.store.reader().await?;
        let opened = connections::opened_own(&mut reader.db(), &self.0.vault, editor, id).await?;
        drop(reader);
        let opened = opened.ok_or(Code::NotFound)?;
        if opened.row.kind != CONSENTED {
            return Err(Code::Validation
                .with("This connection has credentials of its own: there is nothing to consent to."));
        }
        let subject = Subject::of(&opened);
        let resolved = asked_by(editor.user(), self.resolve(&subject)).await?;
        let (state, verifier) = (secret(), secret());
        let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(&verifier));
        let url = resolved.client.consent_url(&state, &challenge).map_err(refused)?;
        let (parts, user, workspace) = (self.0.clone(), editor.user(), subject.workspace);
        let begun = self.0.store.write(move |db| {
            Box::pin(async move {
                let now = parts.clock.now();
                let consent = NewConsent {
                    state_hash: &hash(&state),
                    connection: id,
                    workspace,
                    verifier: &verifier,
                    expires_at: now.plus(CONSENT_TIME_MAX),
                };
                kept::begin(db, &parts.vault, user, consent, now).await
            })
        });
        begun.await.map_err(ServiceError::from)?;
        Ok(url)
    }

    /// Exchanges what the provider sent back for tokens; whoever has begun is who may finish, once. Gives the connection.
    pub async fn finish(&self, editor: &Editor, answer: ConsentAnswer) -> Result<ConnectionId, ServiceError> {
        let (parts, taker, state_hash) = (self.0.clone(), *editor, hash(&answer.state));
        let taken = self.0.store.write(move |db| {
            Box::pin(
                async move { kept::take(db, &parts.vault, &taker, &state_hash, parts.clock.now()).await },
            )
        });
        let consent = taken.await.map_err(ServiceError::from)?.ok_or_else(|| {
            Code::NotFound.with(
                "This consent has expired, or somebody else started it: choose “Connect” for the connection once more.",
            )
        })?;
        let code = answer.result.map_err(|error| {
            Code::Validation.with(match error.as_str() {
                "access_denied" => "Access was denied at the provider.".to_owned(),
                other => format!("The provider did not allow it: {other}."),
            })
        })?;
        let mut reader = self.0.store.reader().await?;
        let opened =
            connections::opened_own(&mut reader.db(), &self.0.vault, editor, consent.connection).await?;
        drop(reader);
        let subject = Subject::of(&opened.ok_or(Code::NotFound)?);
        let resolved = asked_by(editor.user(), self.resolve(&subject)).await?;
        check_issuer(&resolved, answer.issuer.as_deref())?;
        let asked_at = self.0.clock.now();
        let http = &self.0.http;
        let exchanged = asked_by(
            editor.user(),
            http.exchange(&resolved.client, &code, &consent.verifier),
        );
        let grants = exchanged.await.map_err(refused)?;
        let (parts, editor, id) = (self.0.clone(), *editor, consent.connection);
        let stored = self.0.store.write(move |db| {
            Box::pin(async move {
                // Somebody may have deleted it meanwhile.
                let opened = connections::opened_to_change(db, &parts.vault, &editor, id).await?;
                let opened = opened.ok_or(Code::NotFound)?;
                if IDENTITY
                    .iter()
                    .any(|field| opened.fields.get(*field) != subject.fields.get(*field))
                {
                    return Err(
                        Code::Conflict.with("The connection was changed in the meantime: connect it again.")
                    );
                }
                let scopes = grants.scopes.clone().unwrap_or(resolved.client.scopes);
                let (access, refresh) = (grants.access.clone(), grants.refresh.clone());
                let before = match kept::find(db, &parts.vault, opened.workspace, id).await {
                    // Whatever it was, this is in its place.
                    Err(VaultError::Unopenable) => None,
                    before => before?,
                };
                let tokens = match before {
                    Some(before) => before.tokens.replaced_by(access, refresh),
                    None => Tokens {
                        access,
                        refresh,
                        former: Vec::new(),
                    },
                };
                let (expires_at, renew_at) = times(&grants, asked_at);
                let new = NewTokens {
                    tokens: &tokens,
                    scopes: Some(&scopes),
                    expires_at,
                    renew_at,
                };
                kept::put(db, &parts.vault, opened.workspace, id, new).await?;
                let entry = Action::ConnectionConnected.of(Object::Connection(id));
                audit::note(db, &editor, entry.with("provider", &*opened.row.provider)).await?;
                Ok::<ConnectionId, ServiceError>(id)
            })
        });
        stored.await
    }

    /// Forgets the tokens of a connection, and has its provider do the same.
    pub async fn disconnect(&self, editor: &Editor, id: ConnectionId) -> Result<Revoked, ServiceError> {
        let (parts, editor) = (self.0.clone(), *editor);
        let taken = self.0.store.write(move |db| {
            Box::pin(async move {
                let opened = connections::opened_to_change(db, &parts.vault, &editor, id).await?;
                let opened = opened.ok_or(Code::NotFound)?;
                if opened.row.kind != CONSENTED {
                    return Err(Code::Validation
                        .with("This connection has credentials of its own: delete it instead."));
                }
                let tokens = kept::find(db, &parts.vault, opened.workspace, id).await?;
                kept::forget(db, id).await?;
                audit::note(
                    db,
                    &editor,
                    Action::ConnectionDisconnected.of(Object::Connection(id)),
                )
                .await?;
                Ok::<_, ServiceError>((Subject::of(&opened), tokens))
            })
        });
        let (subject, tokens) = taken.await?;
        match tokens {
            Some(tokens) => Ok(asked_by(editor.user(), self.revoke(&subject, &tokens.tokens)).await),
            None => Ok(Revoked::Nothing),
        }
    }

    /// What has to be revoked once a connection is deleted; to be asked before that. `None`: nothing.
    pub async fn revocation(
        &self,
        editor: &Editor,
        id: ConnectionId,
    ) -> Result<Option<BoxFuture<'static, ()>>, ServiceError> {
        let mut reader = self.0.store.reader().await?;
        let db = &mut reader.db();
        let opened = connections::opened_own(db, &self.0.vault, editor, id).await?;
        let Some(opened) = opened.filter(|opened| opened.row.kind == CONSENTED) else {
            return Ok(None);
        };
        let tokens = kept::find(db, &self.0.vault, opened.workspace, id).await?;
        let (consents, subject) = (self.clone(), Subject::of(&opened));
        let revoking = |tokens: Kept| async move {
            consents.revoke(&subject, &tokens.tokens).await;
        };
        Ok(tokens.map(|tokens| asked_by(editor.user(), revoking(tokens)).boxed()))
    }

    async fn revoke(&self, subject: &Subject, tokens: &Tokens) -> Revoked {
        let revoked = match self.resolve(subject).await {
            Err(why) => Err(why.reason()),
            Ok(resolved) => {
                let refresh = tokens.refresh.as_deref();
                let asked = self
                    .0
                    .http
                    .revoke(&resolved.client, &resolved.revoking, &tokens.access, refresh);
                asked.await.map_err(|error| error.to_string())
            }
        };
        match revoked {
            Ok(true) => Revoked::Done,
            Ok(false) => Revoked::Impossible,
            Err(reason) => {
                tracing::warn!(connection = %subject.id, reason, "The tokens of a connection were not revoked");
                Revoked::Failed(reason)
            }
        }
    }

    /// A connection with a token that can be used, and without anything that other tokens could be had with.
    pub async fn connection(&self, opened: Opened) -> Result<Connection, ConnectionError> {
        let subject = Subject::of(&opened);
        let Access { token, former } = self.access(&subject).await?;
        let text = |name: &str| opened.fields.get(name).filter(|value| value.is_string()).cloned();
        let known = consent_provider(&opened.row.provider);
        let known_base = known.map(|it| it.base_url).filter(|base| !base.is_empty());
        let mut fields = Map::from_iter([("token".to_owned(), Value::from(token))]);
        let base = text("baseUrl").or_else(|| known_base.map(Value::from));
        fields.extend(base.map(|base| ("baseUrl".to_owned(), base)));
        match text("headerName") {
            None => fields.insert("auth".to_owned(), "bearer".into()),
            Some(name) => fields.insert("headerName".to_owned(), name),
        };
        fields.extend(text("headerPrefix").map(|prefix| ("headerPrefix".to_owned(), prefix)));
        // Whose mailbox is read by the token.
        fields.extend(text("user").map(|user| ("user".to_owned(), user)));
        Ok(Connection {
            id: opened.row.id.to_string(),
            name: opened.row.display_name,
            provider: opened.row.provider,
            hosts: opened.row.hosts.0,
            fields,
            former,
        })
    }

    async fn kept(&self, of: &Subject) -> Result<Option<Kept>, ConnectionError> {
        let mut reader = self.0.store.reader().await.map_err(unavailable)?;
        kept::find(&mut reader.db(), &self.0.vault, of.workspace, of.id)
            .await
            .map_err(unavailable)
    }

    /// An access token that is not about to be over.
    async fn access(&self, of: &Subject) -> Result<Access, ConnectionError> {
        let began = monotonic();
        loop {
            let Some(found) = self.kept(of).await? else {
                let reason = "Nobody has given consent for it at its provider yet.";
                return Err(ConnectionError::ConsentNeeded(reason.to_owned()));
            };
            if let Some(reason) = &found.refused {
                return Err(ConnectionError::ConsentNeeded(reason.clone()));
            }
            let now = self.0.clock.now();
            let is_over = found.expires_at.is_some_and(|end| end <= now);
            if found.renew_at.is_none_or(|at| now < at) {
                return Ok(Access::of(&found.tokens));
            }
            if found.tokens.refresh.is_none() {
                if !is_over {
                    return Ok(Access::of(&found.tokens));
                }
                let reason = "The provider's token has expired, and the provider issued no refresh token.";
                self.refuse(of.id, found.version, reason).await?;
                return Err(ConnectionError::ConsentNeeded(reason.to_owned()));
            }
            let is_free = found.claimed_until.is_none_or(|until| until <= now);
            if is_free && let Some(claim) = self.claim(of.id, found.version).await? {
                // A run that ends meanwhile must not take the answer with it.
                let (consents, of) = (self.clone(), of.clone());
                let renewing = async move { consents.renew(&of, &claim, found).await };
                let work = tokio::spawn(names_as_here(renewing));
                match work.await {
                    Ok(Ok(None)) => continue,
                    Ok(Ok(Some(access))) => return Ok(access),
                    Ok(Err(error)) => return Err(error),
                    Err(error) => return Err(unavailable(error)),
                }
            }
            if !is_over {
                return Ok(Access::of(&found.tokens));
            }
            if since(began) >= WAIT_MAX {
                let reason = "Another request is renewing it, and did not finish in time.";
                return Err(ConnectionError::NoToken(reason.to_owned()));
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    async fn claim(&self, id: ConnectionId, version: i64) -> Result<Option<String>, ConnectionError> {
        let (claim, now) = (entropy::new_uuid().to_string(), self.0.clock.now());
        let held = claim.clone();
        let claimed = self.0.store.write(move |db| {
            Box::pin(async move { kept::claim(db, id, version, &held, (now, now.plus(CLAIM))).await })
        });
        Ok(claimed.await.map_err(unavailable)?.then_some(claim))
    }

    async fn refuse(
        &self,
        id: ConnectionId,
        version: i64,
        reason: &'static str,
    ) -> Result<(), ConnectionError> {
        let refused = self
            .0
            .store
            .write(move |db| Box::pin(async move { kept::refuse(db, id, version, reason).await }));
        refused.await.map_err(unavailable)
    }

    /// Asks the provider for other tokens, and stores them; `None`: the claim was lost meanwhile, to another consent.
    async fn renew(&self, of: &Subject, claim: &str, found: Kept) -> Result<Option<Access>, ConnectionError> {
        let asked_at = self.0.clock.now();
        let work = async {
            let resolved = self
                .resolve(of)
                .await
                .map_err(|why| ConsentError::Unavailable(why.reason()))?;
            let refresh = found.tokens.refresh.as_deref().unwrap_or_default();
            self.0.http.refresh(&resolved.client, refresh).await
        };
        let late = |_| {
            Err(ConsentError::Unavailable(
                "The provider did not answer in time.".to_owned(),
            ))
        };
        let asked = tokio::time::timeout(RENEWAL_TIME_MAX, work)
            .await
            .unwrap_or_else(late);
        match asked {
            Ok(grants) => {
                // A provider that gave no other refresh token means the one of before.
                let refresh = grants.refresh.clone().or_else(|| found.tokens.refresh.clone());
                let tokens = found.tokens.replaced_by(grants.access.clone(), refresh);
                let is_stored = self.store(of, claim, (&grants, &tokens), asked_at).await?;
                Ok(is_stored.then(|| Access::of(&tokens)))
            }
            Err(ConsentError::Refused(reason)) => {
                tracing::info!(connection = %of.id, reason, "A connection needs consent again");
                self.give_up(of.id, claim, Some(reason.clone())).await?;
                Err(ConnectionError::ConsentNeeded(reason))
            }
            Err(ConsentError::Unavailable(reason)) => {
                tracing::warn!(connection = %of.id, reason, "The token of a connection could not be renewed");
                self.give_up(of.id, claim, None).await?;
                let is_over = found.expires_at.is_some_and(|end| end <= self.0.clock.now());
                match is_over {
                    false => Ok(Some(Access::of(&found.tokens))),
                    true => Err(ConnectionError::NoToken(reason)),
                }
            }
        }
    }

    async fn give_up(
        &self,
        id: ConnectionId,
        claim: &str,
        refused: Option<String>,
    ) -> Result<(), ConnectionError> {
        let claim = claim.to_owned();
        let given = self.0.store.write(move |db| {
            Box::pin(async move { kept::give_up(db, id, &claim, refused.as_deref()).await })
        });
        given.await.map_err(unavailable)
    }

    /// Stores renewed tokens.
    async fn store(
        &self,
        of: &Subject,
        claim: &str,
        (grants, tokens): (&Grants, &Tokens),
        asked_at: Timestamp,
    ) -> Result<bool, ConnectionError> {
        let (expires_at, renew_at) = times(grants, asked_at);
        let mut failures = 0;
        loop {
            let tokens = tokens.clone();
            let (parts, place) = (self.0.clone(), (of.workspace, of.id));
            let (claim, scopes) = (claim.to_owned(), grants.scopes.clone());
            let stored = self.0.store.write(move |db| {
                Box::pin(async move {
                    let new = NewTokens {
                        tokens: &tokens,
                        scopes: scopes.as_deref(),
                        expires_at,
                        renew_at,
                    };
                    kept::renew(db, &parts.vault, place, &claim, new).await
                })
            });
            match stored.await {
                Ok(is_stored) => return Ok(is_stored),
                Err(error @ VaultError::Store(_)) if failures < STORED_AT_MOST => {
                    tracing::warn!(error = %chain(&error), "Renewed tokens of a connection are not stored yet");
                    failures += 1;
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                Err(error) => return Err(unavailable(error)),
            }
        }
    }
}

/// What is asked of providers for somebody: whoever asks chooses their names.
fn asked_by<W: Future>(user: UserId, work: W) -> impl Future<Output = W::Output> {
    names_for(Some(user.as_u128()), work)
}

/// Wherever tokens are kept, they can't be read or written now.
pub(crate) fn unavailable(error: impl Error + Send + Sync + 'static) -> ConnectionError {
    tracing::error!(error = %chain(&error), "A connection can't be opened");
    ConnectionError::Unavailable(Arc::new(error))
}
