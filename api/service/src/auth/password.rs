//! Passwords, as Argon2id hashes in PHC form. Hashing deliberately takes tens of milliseconds of CPU time, so it runs
//! on threads that give way to others, with at most as many hashes at a time as there are processors.

use argon2::Argon2;
use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use heddle_execution::blocking::hashing;
use heddle_model::error::ServiceError;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use tokio::sync::Semaphore;

/// Characters of a password at least.
pub const CHARS_MIN: usize = 8;
/// Bytes of a password at most: hashing is paid by length.
pub const BYTES_MAX: usize = 1024;

static SLOTS: LazyLock<Semaphore> =
    LazyLock::new(|| Semaphore::new(std::thread::available_parallelism().map_or(1, usize::from)));

/// A dummy hash for unknown emails, so that checking them takes the same time.
static NOBODY: LazyLock<Option<String>> = LazyLock::new(|| hash_now("nobody's password!").ok());

/// Checks that a password may be chosen.
pub fn acceptable(password: &str) -> Result<(), ServiceError> {
    let problem = if password.chars().count() < CHARS_MIN {
        "must have at least 8 characters"
    } else if password.len() > BYTES_MAX {
        "must have at most 1024 bytes"
    } else if password.chars().all(char::is_alphanumeric) {
        "must contain at least one special character, such as ! or -"
    } else {
        return Ok(());
    };
    Err(ServiceError::field("password", problem))
}

/// Hashes a password.
pub async fn hash(password: String) -> Result<String, ServiceError> {
    off_thread(move || hash_now(&password).map_err(ServiceError::internal)).await?
}

/// Checks passwords, and counts the checks: each costs the same, whether there is a hash to check against or not.
#[derive(Clone, Debug, Default)]
pub struct Passwords {
    checked: Arc<AtomicU64>,
}

impl Passwords {
    /// Whether the password belongs to this hash. Without a hash the answer is no, after the same work.
    pub async fn verify(&self, password: String, hash: Option<String>) -> Result<bool, ServiceError> {
        let checked = self.checked.clone();
        off_thread(move || {
            let known = hash.is_some();
            // Made before its first use, or that one would take longer.
            let nobody = LazyLock::force(&NOBODY);
            let Some(hash) = hash.or_else(|| nobody.clone()) else {
                return false;
            };
            let parsed = PasswordHash::new(&hash);
            let matches = parsed.is_ok_and(|hash| {
                checked.fetch_add(1, Ordering::Relaxed);
                let verified = Argon2::default().verify_password(password.as_bytes(), &hash);
                verified.is_ok()
            });
            matches && known
        })
        .await
    }

    /// How many passwords were checked since the start.
    pub fn checked(&self) -> u64 {
        self.checked.load(Ordering::Relaxed)
    }
}

fn hash_now(password: &str) -> Result<String, anyhow::Error> {
    let hash = Argon2::default().hash_password(password.as_bytes());
    hash.map(|hash| hash.to_string())
        .map_err(|error| anyhow::anyhow!("can't hash the password: {error}"))
}

async fn off_thread<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ServiceError> {
    // Never closed. Who leaves while they wait for it has nothing hashed; who leaves later holds it until their hash is made.
    let slot = SLOTS.acquire().await;
    hashing(move || {
        let _slot = slot;
        work()
    })
    .await
}
