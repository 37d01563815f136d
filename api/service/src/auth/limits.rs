//! Rate limits for logins, registrations, invitations and changes.

use crate::rate_limit::{LimitKey, RateLimiter};
use crate::token_bucket::TokenBuckets;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_store::accounts::email_key;
use sha2::{Digest, Sha256};
use std::net::IpAddr;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);
const HOUR: Duration = Duration::from_secs(60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Invitations that one user sends within a minute.
const INVITATIONS_PER_MINUTE: u32 = 30;
/// Codes of an authenticator that are tried for one user within an hour: of a million, three are right at a time.
const CODES_PER_HOUR: u32 = 20;
/// Codes that are tried for one user within a day, so that patience does not help.
const CODES_PER_DAY: u32 = 60;
/// Letters to one address within an hour that its reader may have asked for, and besides, that others ask to send there.
const LETTERS_PER_HOUR: u32 = 5;
/// Letters that are asked for from one address on the network, or by one user, within an hour.
const LETTERS_ASKED_PER_HOUR: u32 = 60;

/// Limits of login attempts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AuthRateLimit {
    /// Maximum per email and minute; 0: no limit.
    pub per_email: u32,
    /// Maximum per IP address and minute; 0: no limit.
    pub per_ip: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RegistrationLimit {
    /// Maximum per IP address and hour; 0: no limit.
    pub per_ip: u32,
    /// Maximum per hour in total; 0: no limit.
    pub in_all: u32,
}

/// The settings of all these limits.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// Limits of login attempts.
    pub attempts: AuthRateLimit,
    pub registrations: RegistrationLimit,
    /// Maximum number of changes per user and minute; 0: no limit.
    pub writes_per_minute: u32,
}

/// Counts attempts by address and by email.
#[derive(Debug)]
pub struct AuthLimits {
    /// Attempts by IP address.
    pub by_ip: RateLimiter<IpAddr>,
    /// By hash, so that long emails take no more memory than short ones.
    pub by_email: RateLimiter<[u8; 32]>,
    /// By both, for addresses from which the email's user has logged in before: strangers' attempts don't count there.
    by_known: RateLimiter<([u8; 32], IpAddr)>,
    invitations: RateLimiter<UserId>,
    codes: TokenBuckets<UserId>,
    codes_by_day: TokenBuckets<UserId>,
    letters: TokenBuckets<[u8; 32]>,
    /// By themselves: whoever invites somebody again and again keeps them from no link for another password.
    letters_of_others: TokenBuckets<[u8; 32]>,
    letters_by_ip: TokenBuckets<IpAddr>,
    letters_by_user: TokenBuckets<UserId>,
    registrations_by_ip: TokenBuckets<IpAddr>,
    registrations: TokenBuckets<()>,
    writes: TokenBuckets<UserId>,
}

impl AuthLimits {
    /// With these limits, of this server or of all that share its database.
    pub fn new(settings: Settings, is_shared: bool) -> Self {
        let (limit, registrations) = (settings.attempts, settings.registrations);
        AuthLimits {
            by_ip: RateLimiter::new(limit.per_ip).shared_if(is_shared),
            by_email: RateLimiter::new(limit.per_email).shared_if(is_shared),
            by_known: RateLimiter::new(limit.per_email),
            invitations: RateLimiter::new(INVITATIONS_PER_MINUTE),
            codes: TokenBuckets::new(CODES_PER_HOUR, HOUR),
            codes_by_day: TokenBuckets::new(CODES_PER_DAY, DAY),
            letters: TokenBuckets::new(LETTERS_PER_HOUR, HOUR),
            letters_of_others: TokenBuckets::new(LETTERS_PER_HOUR, HOUR),
            letters_by_ip: TokenBuckets::new(LETTERS_ASKED_PER_HOUR, HOUR),
            letters_by_user: TokenBuckets::new(LETTERS_ASKED_PER_HOUR, HOUR),
            registrations_by_ip: TokenBuckets::new(registrations.per_ip, HOUR),
            registrations: TokenBuckets::new(registrations.in_all, HOUR),
            writes: TokenBuckets::new(settings.writes_per_minute, MINUTE),
        }
    }

    /// Counts an attempt from this address, or refuses it.
    pub fn check_ip(&self, ip: LimitKey, now: Timestamp) -> Result<(), ServiceError> {
        self.by_ip.check(&ip.address(), now)
    }

    /// Counts an attempt for this email, or refuses it, whether anybody has the email or not.
    pub fn check_email(&self, email: &str, now: Timestamp) -> Result<(), ServiceError> {
        self.by_email.check(&hash(email), now)
    }

    /// Counts or refuses an attempt from an address from which the email's user has logged in before.
    pub fn check_known(&self, email: &str, ip: LimitKey, now: Timestamp) -> Result<(), ServiceError> {
        self.by_known.check(&(hash(email), ip.address()), now)
    }

    /// Counts a registration, or refuses it.
    pub fn check_registration(&self, ip: LimitKey, now: Timestamp) -> Result<(), ServiceError> {
        let limit = self.registrations_by_ip.capacity();
        let checked = self.registrations_by_ip.check(&ip.address(), now);
        checked.map_err(|seconds| {
            Code::RateLimited
                .with(format!(
                    "At most {limit} users may register from one IP address per hour (registration_limit)."
                ))
                .retry_after_s(seconds)
        })?;
        self.registrations.check(&(), now).map_err(|seconds| {
            Code::RateLimited
                .with("Too many users are registering right now (registration_limit): try again later.")
                .retry_after_s(seconds)
        })
    }

    /// Counts a change by this user, or refuses it.
    pub fn check_write(&self, user: UserId, now: Timestamp) -> Result<(), ServiceError> {
        let limit = self.writes.capacity();
        self.writes.check(&user, now).map_err(|seconds| {
            Code::RateLimited
                .with(format!(
                    "A user may make at most {limit} changes per minute (write_rate_limit)."
                ))
                .retry_after_s(seconds)
        })
    }

    /// Counts an invitation by this user, or refuses it.
    pub fn check_invitation(&self, user: UserId, now: Timestamp) -> Result<(), ServiceError> {
        self.invitations.check(&user, now)
    }

    /// Counts a code of this user's authenticator that is tried, or refuses it.
    pub fn check_code(&self, user: UserId, now: Timestamp) -> Result<(), ServiceError> {
        let checked = self.codes.check(&user, now);
        let checked = checked.and_then(|()| self.codes_by_day.check(&user, now));
        checked.map_err(|seconds| {
            Code::RateLimited
                .with("Too many codes were tried for this account: try again later.")
                .retry_after_s(seconds)
        })
    }

    /// Counts a letter to this address that somebody asks for from this address on the network, or refuses it, whether
    /// anybody has the address or not.
    pub fn check_letter_from(&self, ip: LimitKey, email: &str, now: Timestamp) -> Result<(), ServiceError> {
        self.letters_by_ip
            .check(&ip.address(), now)
            .map_err(too_many_letters)?;
        self.check_letter(email, now)
    }

    /// Counts a letter to somebody else's address that this user asks for, or refuses it.
    pub fn check_letter_by(&self, user: UserId, email: &str, now: Timestamp) -> Result<(), ServiceError> {
        self.letters_by_user.check(&user, now).map_err(too_many_letters)?;
        let checked = self.letters_of_others.check(&hash(email), now);
        checked.map_err(too_many_letters)
    }

    /// Counts a letter to this address, or refuses it.
    pub fn check_letter(&self, email: &str, now: Timestamp) -> Result<(), ServiceError> {
        self.letters.check(&hash(email), now).map_err(too_many_letters)
    }
}

fn too_many_letters(seconds: u64) -> ServiceError {
    Code::RateLimited
        .with("Too many messages were requested: try again later.")
        .retry_after_s(seconds)
}

fn hash(email: &str) -> [u8; 32] {
    Sha256::digest(email_key(email)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_invited_again_and_again_may_ask_for_letters_of_their_own() {
        let settings = Settings {
            attempts: AuthRateLimit {
                per_email: 0,
                per_ip: 0,
            },
            registrations: RegistrationLimit { per_ip: 0, in_all: 0 },
            writes_per_minute: 0,
        };
        let (limits, now) = (AuthLimits::new(settings, false), Timestamp::from_millis(0));
        let (email, address) = ("bob@example.com", LimitKey::of("192.0.2.7".parse().unwrap()));
        for _ in 0..LETTERS_PER_HOUR {
            limits.check_letter_by(UserId::new(), email, now).unwrap();
        }
        assert!(limits.check_letter_by(UserId::new(), email, now).is_err());
        assert!(limits.check_letter_from(address, email, now).is_ok());
    }
}
