//! Senders whose body takes its time, which may be minutes: what they may do is looked at once more when it is there. Otherwise
//! somebody who is about to be shut out could keep a change in store.

use crate::app::App;
use crate::http::error::ApiError;
use axum::http::header::{AUTHORIZATION, COOKIE};
use axum::http::{HeaderMap, HeaderName};
use heddle_model::Code;
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::WorkspaceId;
use heddle_service::auth::caller::{self, Credential, WORKSPACE};
use heddle_store::accounts;
use std::time::Duration;

/// How long it holds what somebody may do.
const CHECKED_FOR: Duration = Duration::from_secs(1);

/// Who sends a request, in its extensions, with what they could do when it began.
#[derive(Clone)]
pub(super) struct Sender {
    /// Those that say who it is.
    headers: HeaderMap,
    scope: Scope,
    /// The rights in the workspace of the path, if it names one.
    member: Option<Scope>,
}

impl Sender {
    /// A sender who has just been looked at.
    pub fn new(headers: &HeaderMap, scope: Scope) -> Self {
        let mut kept = HeaderMap::new();
        for name in [AUTHORIZATION, COOKIE, HeaderName::from_static(WORKSPACE)] {
            for value in headers.get_all(&name) {
                kept.append(name.clone(), value.clone());
            }
        }
        Sender {
            headers: kept,
            scope,
            member: None,
        }
    }

    /// The same as a member of the workspace that the path names.
    pub fn set_member(&mut self, member: Scope) {
        self.member = Some(member);
    }

    /// Whether what is known of them may be different by now.
    pub fn is_long_ago(&self, now: Timestamp) -> bool {
        let at = self.scope.origin().at;
        !(at..at.plus(CHECKED_FOR)).contains(&now)
    }

    /// Refuses who may not do any longer, or not in the same way, what they could do when the request began.
    pub async fn look_again(&self, app: &App) -> Result<(), ApiError> {
        let caller = caller::check(app, &self.headers).await?;
        let mut is_same = caller.scope.has_rights_of(&self.scope);
        if let Some(before) = &self.member {
            let workspace = before.workspace().ok_or(Code::WorkspaceNotFound)?;
            let member = member(app, &caller, workspace).await?;
            is_same = is_same && member.has_rights_of(before);
        }
        match is_same {
            true => Ok(()),
            false => Err(Code::Forbidden
                .with("Your rights were changed while the request arrived: send it again.")
                .into()),
        }
    }
}

/// A caller's rights in a workspace; 404 for those who aren't members.
pub(super) async fn member(
    app: &App,
    caller: &caller::Caller,
    workspace: WorkspaceId,
) -> Result<Scope, ApiError> {
    if caller.credential == Credential::ApiKey && caller.scope.workspace() != Some(workspace) {
        return Err(Code::WorkspaceNotFound.into());
    }
    let user = caller.scope.user();
    let standing =
        accounts::standing(&mut app.store.reader().await?.db(), user, Some(workspace), None).await?;
    let standing = standing.ok_or(Code::WorkspaceNotFound)?;
    let role = standing.workspace_role.ok_or(Code::WorkspaceNotFound)?;
    let origin = caller.scope.origin();
    let scope = Scope::checked(user, Some((workspace, role)), origin);
    let scope = scope.limited(caller.scope.limit());
    Ok(scope.suspended_if(standing.is_suspended))
}
