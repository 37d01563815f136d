//! Joining a workspace by a link, in the transaction of whatever else is done with it.

use heddle_model::access::Scope;
use heddle_model::audit::{Action, Object, Origin};
use heddle_model::error::{Code, ServiceError};
use heddle_model::quota::{Quota, Quotas};
use heddle_store::accounts::{UserRow, email_key};
use heddle_store::audit::{self, Log};
use heddle_store::invitation_links::{self, OfferRow};
use heddle_store::quota::{self, Payer};
use heddle_store::{Db, credentials};

/// What a link offers whose secret has this hash, if it still holds.
pub async fn offered(db: &mut Db<'_>, hash: &str, origin: Origin) -> Result<OfferRow, ServiceError> {
    let found = invitation_links::offered(db, hash, origin.at).await?;
    // Whoever made it may have lost the right to it since.
    found.filter(OfferRow::holds).ok_or_else(gone)
}

/// Makes a user a member by the link whose secret has this hash, and uses it up. Who has a link that was mailed to their
/// address has proven that it is theirs.
pub async fn join(
    db: &mut Db<'_>,
    quotas: &Quotas,
    user: &UserRow,
    hash: &str,
    origin: Origin,
) -> Result<OfferRow, ServiceError> {
    let offer = offered(db, hash, origin).await?;
    if let Some(only) = &offer.email_key
        && *only != email_key(&user.email)
    {
        return Err(Code::Forbidden.with(format!(
            "This invitation is for {only}: sign in with that address, or ask for a link without one."
        )));
    }
    let now = origin.at;
    let before = heddle_store::accounts::standing(db, user.id, Some(offer.workspace_id), None).await?;
    if before.is_some_and(|standing| standing.workspace_role.is_some()) {
        return Err(Code::Conflict.with("You are already a member of this workspace."));
    }
    if !invitation_links::join(db, user.id, &offer, now).await? {
        return Err(gone());
    }
    if offer.is_mailed && !user.email_verified {
        credentials::verify(db, user.id).await?;
        let verified = Action::AddressVerified.of(Object::User(user.id));
        audit::note_account(db, user.id, origin, verified).await?;
    }
    let membership = Some((offer.workspace_id, offer.role));
    let scope = Scope::checked(user.id, membership, origin);
    let joined = Action::InvitationAccepted.of(Object::User(user.id));
    let joined = joined.with("role", offer.role.name());
    audit::note_in(db, Log::Workspace(offer.workspace_id), &scope, joined).await?;
    let payer = Payer::Workspace(offer.workspace_id);
    quota::check(db, quotas, &[(payer, &[Quota::Members])]).await?;
    Ok(offer)
}

fn gone() -> ServiceError {
    Code::NotFound
        .with("This invitation does not exist, was used or withdrawn, or has expired: ask for another one.")
}
