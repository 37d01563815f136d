//! The second factor of a sign-in by password: a code of an authenticator, or one of the recovery codes that stand in for it.
//! Each counts once. Knows nothing of passwords.

use super::totp;
use crate::Service;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::UserId;
use heddle_store::{StoreError, audit, authenticators};
use sha2::{Digest, Sha256};

/// How many recovery codes a user gets.
const RECOVERY_CODES: usize = 10;
/// Random bytes of one: too many to guess, so that a plain hash protects the stored form.
const RECOVERY_BYTES: usize = 10;
/// Characters between two hyphens of one.
const GROUP: usize = 4;
/// Characters of a code at most, so that no more is hashed.
const CODE_CHARS_MAX: usize = 64;

/// Checks a user's second factor, if there is one, and uses the code up.
pub async fn check(
    service: &Service,
    user: UserId,
    code: Option<&str>,
    origin: Origin,
) -> Result<(), ServiceError> {
    let now = service.clock.now();
    let mut reader = service.store.reader().await?;
    let found = authenticators::find(&mut reader.db(), user).await?;
    let Some(found) = found.filter(|found| found.confirmed_at.is_some()) else {
        return Ok(());
    };
    let code = code.map(str::trim).filter(|code| !code.is_empty());
    let code = code.ok_or(Code::SecondFactorRequired)?;
    service.auth_limits.check_code(user, now)?;
    let secret = found.secret(&mut reader.db(), &service.vault, user).await?;
    drop(reader);
    let step = totp::step_of(&secret, code, now);
    let hash = hash(code);
    let accepted = service.store.write(move |db| {
        Box::pin(async move {
            if let Some(step) = step {
                return authenticators::accept(db, user, step).await;
            }
            let Some(hash) = hash else { return Ok(false) };
            let is_right = authenticators::use_recovery_code(db, user, &hash).await?;
            if is_right {
                let used = Action::RecoveryCodeUsed.of(Object::User(user));
                audit::note_account(db, user, origin, used).await?;
            }
            Ok(is_right)
        })
    });
    let accepted: Result<bool, StoreError> = accepted.await;
    match accepted? {
        true => Ok(()),
        false => Err(Code::SecondFactorInvalid.into()),
    }
}

/// New recovery codes, to be shown once.
pub fn recovery_codes() -> Vec<String> {
    let code = || {
        let random: [u8; RECOVERY_BYTES] = heddle_model::entropy::random();
        let text = totp::base32(&random).to_lowercase();
        let groups: Vec<&str> = text
            .as_bytes()
            .chunks(GROUP)
            .filter_map(|group| std::str::from_utf8(group).ok())
            .collect();
        groups.join("-")
    };
    (0..RECOVERY_CODES).map(|_| code()).collect()
}

/// The stored forms of recovery codes.
pub fn hashes(codes: &[String]) -> Vec<String> {
    codes.iter().filter_map(|code| hash(code)).collect()
}

/// The stored form of a recovery code, however it is typed; `None`: it can't be one.
fn hash(code: &str) -> Option<String> {
    if code.len() > CODE_CHARS_MAX {
        return None;
    }
    let kept = code.chars().filter(char::is_ascii_alphanumeric);
    let kept: String = kept.map(|c| c.to_ascii_lowercase()).collect();
    Some(hex::encode(Sha256::digest(kept)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recovery_codes_are_all_different_and_read_as_people_type_them() {
        let codes = recovery_codes();
        let hashes: std::collections::BTreeSet<_> = codes.iter().map(|code| hash(code).unwrap()).collect();
        assert_eq!(hashes.len(), RECOVERY_CODES);
        for code in &codes {
            assert_eq!(code.len(), 19, "{code}");
            let typed = format!(" {} ", code.to_uppercase().replace('-', " "));
            assert_eq!(hash(&typed), hash(code));
        }
        assert_eq!(hash(&"a".repeat(65)), None);
    }
}
