//! Public keys as issuers of tokens publish them (RFC 7517), by address: read through the egress guard, kept for a while, and read again
//! when a token names a key that is not among them. Senders decide when that happens, so an address is asked so often and no more.

use super::jwt;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_model::signature::Jwt;
use heddle_runtime::{EgressPolicy, GuardedHttp, body_within, names_for};
use http::HeaderMap;
pub use jsonwebtoken::jwk::JwkSet;
use jsonwebtoken::jwk::{Jwk, PublicKeyUse};
use reqwest::Url;
use reqwest::header::ACCEPT;
use serde::Deserialize;
use serde_json::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For a request and all of its answer.
const TIMEOUT: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 256 << 10;
/// Keys of a set.
const KEYS_MAX: usize = 100;
/// Addresses of which something is kept.
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
    published: Mutex<HashMap<String, Arc<Published>>>,
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
    /// Why there is no newer one.
    problem: String,
}

impl Published {
    /// The set, if it was read after that and has the key.
    fn set_since(&self, id: Option<&str>, oldest: Timestamp) -> Option<Arc<JwkSet>> {
        let kept = locked(&self.kept);
        let (read_at, set) = kept.set.as_ref()?;
        let has_id = |id: &str| {
            let mut ids = set.keys.iter().map(|key| key.common.key_id.as_deref());
            ids.any(|known| known.is_none_or(|known| known == id))
        };
        (*read_at > oldest && id.is_none_or(has_id)).then(|| set.clone())
    }

    fn rests_at(&self, now: Timestamp) -> bool {
        let asked_at = locked(&self.kept).asked_at;
        asked_at.is_some_and(|asked_at| asked_at.plus(REST) > now)
    }

    fn keep(&self, asked: Result<JwkSet, String>, now: Timestamp) {
        let mut kept = locked(&self.kept);
        kept.asked_at = Some(now);
        match asked {
            Ok(set) => kept.set = Some((now, Arc::new(set))),
            Err(problem) => kept.problem = problem,
        }
    }
}

impl KeySets {
    pub(super) fn new(policy: &EgressPolicy, clock: Clock) -> Self {
        KeySets {
            http: GuardedHttp::new(policy),
            clock,
            published: Mutex::default(),
        }
    }

    /// The keys of which one has signed the token in a request, where the webhook, which is this owner's, says at which address they
    /// are. For what can't be right, nobody is asked.
    pub async fn of(
        &self,
        owner: UserId,
        jwt: &Jwt,
        headers: &HeaderMap,
    ) -> Result<Option<Arc<JwkSet>>, ServiceError> {
        let Some(address) = &jwt.keys_url else {
            return Ok(None);
        };
        let Ok(id) = jwt::key_id(jwt, headers) else {
            return Ok(None);
        };
        // Whoever made the webhook chose the name that is looked up.
        let found = names_for(Some(owner.as_u128()), self.get(address, id.as_deref())).await;
        found.map(Some).map_err(|problem| {
            let message = format!("The sender's token can't be checked: {problem}.");
            Code::Unavailable.with(message).retry_after_s(REST.as_secs())
        })
    }

    async fn get(&self, address: &str, id: Option<&str>) -> Result<Arc<JwkSet>, String> {
        let published = self.published(address);
        let now = self.clock.now();
        let (fresh, stale) = (now.minus(FRESH), now.minus(STALE));
        if let Some(set) = published.set_since(id, fresh) {
            return Ok(set);
        }
        let _turn = match (published.turn.try_lock(), published.set_since(id, stale)) {
            (Ok(turn), _) => turn,
            // Somebody asks already, and what is known will do.
            (Err(_), Some(set)) => return Ok(set),
            (Err(_), None) => published.turn.lock().await,
        };
        if !published.rests_at(now) {
            let asked = self.ask(address).await;
            published.keep(asked, now);
        }
        // Whether the key is among them is seen when the token is checked.
        let set = published.set_since(None, stale);
        set.ok_or_else(|| locked(&published.kept).problem.clone())
    }

    fn published(&self, address: &str) -> Arc<Published> {
        let mut all = locked(&self.published);
        if let Some(known) = all.get(address) {
            return known.clone();
        }
        if all.len() >= ADDRESSES_MAX {
            all.clear();
        }
        all.entry(address.to_owned()).or_default().clone()
    }

    /// Why there is no answer is told to senders, so it names nothing that only the webhook's owner may know.
    async fn ask(&self, address: &str) -> Result<JwkSet, String> {
        let Ok(url) = Url::parse(address) else {
            return Err("the address of the issuer's keys is none".to_owned());
        };
        let place = url.origin().ascii_serialization();
        let asked = tokio::time::timeout(TIMEOUT, self.exchange(url)).await;
        let late = |_| Err(format!("did not answer within {} s", TIMEOUT.as_secs()));
        let body = asked.unwrap_or_else(late);
        let set = body.and_then(|body| read(&body).ok_or_else(|| "sent what is no key set".to_owned()));
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

/// The keys of a set that may check signatures, without those of kinds that nobody here knows. `None`: it is no set.
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
