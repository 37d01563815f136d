//! Links that prove once who somebody is: for another password, and to verify an address. What is secret in a link stands after
//! its `#`, which browsers send nobody.

use crate::Service;
use crate::auth::cookie;
use crate::outbox::{self, Outbox};
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError, chain};
use heddle_model::ids::UserId;
use heddle_store::account_tokens::{self, NewToken, Purpose};
use heddle_store::accounts::{self, UserRow};
use heddle_store::credentials::{self, Cleared};
use heddle_store::{Db, StoreError, audit};
use std::time::Duration;

/// How long a link for another password holds.
const RESET_LIFETIME: Duration = Duration::from_secs(60 * 60);
/// How long a link to verify an address holds.
const VERIFY_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The console's page where an invitation is answered.
pub const JOIN_PAGE: &str = "/join";
const RESET_PAGE: &str = "/reset-password";
const VERIFY_PAGE: &str = "/verify-email";
const SIGN_IN_PAGE: &str = "/sign-in";

/// The address of a page of the console with a secret.
pub fn link(base_url: &str, page: &str, secret: &str) -> String {
    format!("{base_url}{page}#{secret}")
}

/// A link for another password, and its token to be stored. `mailed_to`: the address that it is sent to.
pub fn reset_link(
    base_url: &str,
    user: UserId,
    mailed_to: Option<&str>,
    now: Timestamp,
) -> (String, NewToken) {
    let (secret, token) = token((user, Purpose::Reset), mailed_to, now.plus(RESET_LIFETIME));
    (link(base_url, RESET_PAGE, &secret), token)
}

fn token(
    (user, purpose): (UserId, Purpose),
    mailed_to: Option<&str>,
    expires_at: Timestamp,
) -> (String, NewToken) {
    let secret = cookie::generate();
    let token = NewToken {
        hash: cookie::hash(&secret),
        user,
        purpose,
        mailed_to: mailed_to.map(str::to_owned),
        expires_at,
    };
    (secret, token)
}

/// Sends a link for another password to this address, if it is a user's. In the background, so that how long the answer takes
/// does not tell whether it is.
pub fn send_reset(service: &Service, email: String, origin: Origin) {
    let Some(outbox) = service.outbox.clone() else {
        return;
    };
    let service = service.clone();
    tokio::spawn(async move {
        if let Err(error) = reset_by_mail(&service, &outbox, &email, origin).await {
            tracing::error!(error = %chain(&error), "A password reset link could not be sent");
        }
    });
}

async fn reset_by_mail(
    service: &Service,
    outbox: &Outbox,
    email: &str,
    origin: Origin,
) -> Result<(), ServiceError> {
    let found = accounts::by_email(&mut service.store.reader().await?.db(), email).await?;
    let Some(user) = found.filter(|user| !user.is_disabled) else {
        return Ok(());
    };
    if user.password_hash.is_none() {
        let page = format!("{}{SIGN_IN_PAGE}", service.base_url);
        return outbox.leave(outbox::no_password(&user.email, &page));
    }
    let (link, token) = reset_link(&service.base_url, user.id, Some(&user.email), origin.at);
    let stored = service.store.write(move |db| {
        Box::pin(async move {
            let asked = Action::PasswordResetAsked.of(Object::User(token.user));
            audit::note_about(db, token.user, origin, asked).await?;
            account_tokens::add(db, &token, origin.at).await
        })
    });
    let stored: Result<(), StoreError> = stored.await;
    stored?;
    outbox.leave(outbox::reset(&user.email, user.email_verified, &link))
}

/// Checks that a link for another password holds, before work is done for it.
pub async fn check_reset(service: &Service, secret: &str) -> Result<(), ServiceError> {
    let (hash, now) = (cookie::hash(secret), service.clock.now());
    let mut reader = service.store.reader().await?;
    match account_tokens::find(&mut reader.db(), &hash, Purpose::Reset, now).await? {
        Some(_) => Ok(()),
        None => Err(gone()),
    }
}

/// Sets another password by a link, uses that up, and ends all logins. Who has a link that was mailed to an address that was
/// not verified has proven to own it; whatever else could open the account before is cleared then, and told.
pub async fn reset(
    service: &Service,
    secret: &str,
    password_hash: String,
    origin: Origin,
) -> Result<Option<Cleared>, ServiceError> {
    let hash = cookie::hash(secret);
    let done = service.store.write(move |db| {
        Box::pin(async move {
            let found = account_tokens::take(db, &hash, Purpose::Reset, origin.at).await?;
            let found = found.ok_or_else(gone)?;
            let user = accounts::by_id(db, found.user_id).await?.ok_or_else(gone)?;
            let cleared = match found.is_proof_of_address && !user.email_verified {
                true => Some(proven(db, user.id, origin).await?),
                false => None,
            };
            credentials::recover_password(db, user.id, &password_hash).await?;
            let recovered = Action::PasswordRecovered.of(Object::User(user.id));
            audit::note_about(db, user.id, origin, recovered).await?;
            Ok::<_, ServiceError>(cleared)
        })
    });
    done.await
}

async fn proven(db: &mut Db<'_>, user: UserId, origin: Origin) -> Result<Cleared, ServiceError> {
    let cleared = credentials::clear_unproven(db, user, origin.at).await?;
    credentials::verify(db, user).await?;
    let entry = Action::AccountProven
        .of(Object::User(user))
        .with("apiKeys", cleared.api_keys)
        .with("members", cleared.members)
        .with("deployments", cleared.deployments);
    audit::note_about(db, user, origin, entry).await?;
    Ok(cleared)
}

/// Sends a user a link to verify their address.
pub async fn send_verification(service: &Service, user: &UserRow) -> Result<(), ServiceError> {
    let outbox = service.outbox.as_ref().ok_or(Code::MailDisabled)?;
    let now = service.clock.now();
    service.auth_limits.check_letter(&user.email, now)?;
    let lasts_until = now.plus(VERIFY_LIFETIME);
    let (secret, token) = token((user.id, Purpose::Verify), Some(&user.email), lasts_until);
    let stored = service
        .store
        .write(move |db| Box::pin(async move { account_tokens::add(db, &token, now).await }));
    let stored: Result<(), StoreError> = stored.await;
    stored?;
    let link = link(&service.base_url, VERIFY_PAGE, &secret);
    outbox.leave(outbox::verification(&user.email, &link))
}

/// Verifies the address of a user who has signed in and has the link that was sent there. The link alone verifies nothing: it
/// may have reached somebody with whose address a stranger has registered.
pub async fn verify(
    service: &Service,
    user: UserId,
    secret: &str,
    origin: Origin,
) -> Result<(), ServiceError> {
    let hash = cookie::hash(secret);
    let verified = service.store.write(move |db| {
        Box::pin(async move {
            let found = account_tokens::find(db, &hash, Purpose::Verify, origin.at).await?;
            let is_theirs = found.is_some_and(|found| found.user_id == user && found.is_proof_of_address);
            if !is_theirs {
                return Err(Code::Gone
                    .with("This link was used, has expired, or is for another account: request a new one."));
            }
            account_tokens::take(db, &hash, Purpose::Verify, origin.at)
                .await?
                .ok_or_else(gone)?;
            credentials::verify(db, user).await?;
            let verified = Action::AddressVerified.of(Object::User(user));
            audit::note_account(db, user, origin, verified).await?;
            Ok(())
        })
    });
    verified.await
}

fn gone() -> ServiceError {
    Code::Gone.with("This link was used or has expired: ask for another one.")
}
