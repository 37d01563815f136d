//! Public keys as issuers of tokens publish them (RFC 7517), by address: read through the egress guard, kept for a while, and read again
//! when the key of a token is not among them. Senders decide when that happens, so an address is asked so often and no more.

mod places;

use super::jwt::{self, Token};
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_model::signature::Jwt;
use heddle_runtime::{EgressPolicy, GuardedHttp, body_within, names_for};
use http::HeaderMap;
pub use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use places::Places;
use reqwest::Url;
use reqwest::header::ACCEPT;
use serde::Deserialize;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For a request and all of its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Keys of a set.
const KEYS_MAX: usize = 100;
/// Addresses of an owner of which something is kept.
const OF_OWNER_MAX: usize = 50;
/// Addresses of all owners of which something is kept.
const ADDRESSES_MAX: usize = 1_000;
/// How long a set is taken for current.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// How long it counts while its issuer can't be reached.
const STALE: Duration = Duration::from_secs(24 * 60 * 60);
/// How long an address is left alone after it was asked.
const REST: Duration = Duration::from_secs(30);

/// What issuers publish.
pub struct KeySets {
    http: GuardedHttp,
    clock: Clock,
    published: Mutex<Places<Published>>,
}

/// What is known of an address.
#[derive(Default)]
struct Published {
    kept: Mutex<Kept>,
    /// Held while it is asked.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Kept {
    /// The newest set, and when it was read.
    set: Option<(Timestamp, Arc<JwkSet>)>,
    asked_at: Option<Timestamp>,
    /// Why there is no newer one; empty if it could be read.
    problem: String,
}

/// Why a token can't be checked now.
#[derive(Debug)]
pub struct Unchecked {
    /// What the sender is told, who may be anybody.
    pub error: ServiceError,
    /// What the webhook's owner reads, in its log.
    pub reason: String,
}

/// There is no key for a token, and nobody can be asked now.
struct Missing {
    problem: String,
    /// Until somebody can.
    wait_s: u64,
}

impl Published {
    /// The set, if it was read after that.
    fn set_since(&self, oldest: Timestamp) -> Option<(Timestamp, Arc<JwkSet>)> {
        let known = locked(&self.kept).set.clone();
        known.filter(|(read_at, _)| *read_at > oldest)
    }

    /// The set, if it was read after that and has the key of a token. Looks for the key while nothing is locked, as signatures take their time.
    fn set_with_key(&self, token: &Token<'_>, oldest: Timestamp) -> Option<(Timestamp, Arc<JwkSet>)> {
        let known = self.set_since(oldest);
        known.filter(|(_, set)| token.has_key_in(set))
    }

    fn rests_at(&self, now: Timestamp) -> bool {
        let asked_at = locked(&self.kept).asked_at;
        asked_at.is_some_and(|asked_at| asked_at.plus(REST) > now)
    }

    /// Keeps what was read, and gives it.
    fn keep(
        &self,
        asked: Result<JwkSet, String>,
        (asked_at, now): (Timestamp, Timestamp),
    ) -> Option<Arc<JwkSet>> {
        let mut kept = locked(&self.kept);
        kept.asked_at = Some(asked_at);
        match asked {
            Ok(set) => {
                let set = Arc::new(set);
                kept.set = Some((now, set.clone()));
                kept.problem.clear();
                Some(set)
            }
            Err(problem) => {
                kept.problem = problem;
                None
            }
        }
    }

    fn missing(&self, now: Timestamp) -> Missing {
        let kept = locked(&self.kept);
        let problem = match kept.problem.as_str() {
            "" => format!(
                "the issuer's keys were read less than {} s ago, and the key of the token is not among them",
                REST.as_secs()
            ),
            problem => problem.to_owned(),
        };
        let until = kept.asked_at.map_or(now, |asked_at| asked_at.plus(REST));
        let wait_ms = until.millis().saturating_sub(now.millis());
        Missing {
            problem,
            wait_s: u64::try_from(wait_ms).unwrap_or_default().div_ceil(1_000),
        }
    }
}

impl KeySets {
    pub(super) fn new(policy: &EgressPolicy, clock: Clock) -> Self {
        KeySets {
            http: GuardedHttp::new(policy),
            clock,
            published: Mutex::new(Places::new(OF_OWNER_MAX, ADDRESSES_MAX)),
        }
    }

    /// The keys of which one has signed the token in a request, where the webhook, which is this owner's, says at which address they
    /// are. For what can't be right, nobody is asked.
    ///
    /// To be done to the end: an issuer that was asked, and not heard, would be asked again at once.
    pub async fn of(
        &self,
        owner: UserId,
        jwt: &Jwt,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<JwkSet>>, Unchecked> {
        let Some(address) = &jwt.keys_url else {
            return Ok(None);
        };
        let token = match jwt::token(jwt, headers) {
            Ok(token) if !token.is_shared() => token,
            _ => return Ok(None),
        };
        // Whoever made the webhook chose the name that is looked up.
        let found = names_for(Some(owner.as_u128()), self.get(owner, address, &token)).await;
        found.map(Some).map_err(|Missing { problem, wait_s }| Unchecked {
            error: Code::Unavailable
                .with("The sender's token can't be checked right now: send the request again later.")
                .retry_after_s(wait_s),
            reason: format!("The sender's token can't be checked: {problem}."),
        })
    }

    async fn get(&self, owner: UserId, address: &str, token: &Token<'_>) -> Result<Arc<JwkSet>, Missing> {
        let published = locked(&self.published).of(owner, address);
        let now = self.clock.now();
        let (fresh, stale) = (now.minus(FRESH), now.minus(STALE));
        let known = published.set_with_key(token, stale);
        let known = match known {
            Some((read_at, set)) if read_at > fresh => return Ok(set),
            known => known,
        };
        let _turn = match (published.turn.try_lock(), known) {
            (Ok(turn), _) => turn,
            // Somebody asks already, and what is known will do.
            (Err(_), Some((_, set))) => return Ok(set),
            (Err(_), None) => published.turn.lock().await,
        };
        if !published.rests_at(now) {
            let asked = self.ask(address).await;
            // Whether the key is among them is seen when the token is checked.
            if let Some(set) = published.keep(asked, (now, self.clock.now())) {
                return Ok(set);
            }
        }
        // Read while this one waited, or else with the key. A key that is in no set which may be too old is not refused: it may be new.
        let set = published
            .set_since(now)
            .or_else(|| published.set_with_key(token, stale));
        set.map(|(_, set)| set).ok_or_else(|| published.missing(now))
    }

    async fn ask(&self, address: &str) -> Result<JwkSet, String> {
        let Ok(url) = Url::parse(address) else {
            return Err("the address of the issuer's keys is not a URL".to_owned());
        };
        let place = url.origin().ascii_serialization();
        let asked = tokio::time::timeout(TIMEOUT, self.exchange(url)).await;
        let late = |_| Err(format!("did not answer within {} s", TIMEOUT.as_secs()));
        let body = asked.unwrap_or_else(late);
        let set = body
            .and_then(|body| read(&body).ok_or_else(|| "sent something that is not a key set".to_owned()));
        set.map_err(|problem| format!("{place} {problem}"))
    }

    async fn exchange(&self, url: Url) -> Result<Vec<u8>, String> {
        if !self.http.may_trust(&url) {
            return Err("is not encrypted: use https".to_owned());
        }
        let failed = || "can't be reached".to_owned();
        let client = self.http.client(&url).map_err(|_| failed())?;
        let request = client.get(url).header(ACCEPT, "application/json");
        let response = request.send().await.map_err(|_| failed())?;
        let status = response.status();
        if !status.is_success() {
            return Err(format!("answered {}", status.as_u16()));
        }
        let body = body_within(response, ANSWER_BYTES_MAX)
            .await
            .map_err(|_| failed())?;
        body.ok_or_else(|| format!("sent more than {} KiB", ANSWER_BYTES_MAX >> 10))
    }
}

/// The keys of a set that may check signatures, without those of kinds that nobody here knows. `None`: it is not a set.
pub fn read(body: &[u8]) -> Option<JwkSet> {
    #[derive(Deserialize)]
    struct Set {
        keys: Vec<Value>,
    }
    let set: Set = serde_json::from_slice(body).ok()?;
    let keys = set.keys.into_iter().take(KEYS_MAX);
    let known = keys.filter_map(|key| serde_json::from_value::<Jwk>(key).ok());
    let signs = |key: &Jwk| !matches!(key.common.public_key_use, Some(PublicKeyUse::Encryption));
    Some(JwkSet {
        keys: known.filter(signs).collect(),
    })
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
