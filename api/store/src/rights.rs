//! The caller's rights, as part of a statement: whoever forgets to look first whether an object may be seen finds nothing.

use crate::db::Sql;
use heddle_model::access::Scope;
use heddle_model::ids::{DeploymentId, PatternId};

/// Those deployments `d` that belong to the caller's workspace, or to the caller and no workspace.
pub(crate) fn deployments(query: Sql, scope: &Scope) -> Sql {
    query
        .push("(d.workspace_id = ? or (d.workspace_id is null and d.user_id = ?))")
        .bind(scope.workspace())
        .bind(scope.user())
}

/// Those patterns `p` that belong to the caller's workspace, or to the caller and no workspace.
pub(crate) fn patterns(query: Sql, scope: &Scope) -> Sql {
    query
        .push("(p.workspace_id = ? or (p.workspace_id is null and p.owner_id = ?))")
        .bind(scope.workspace())
        .bind(scope.user())
}

/// That the deployment belongs to the caller's workspace, or to the caller and no workspace. It does not depend on the rows
/// around it, so that databases look once.
pub(crate) fn deployment(query: Sql, scope: &Scope, deployment: DeploymentId) -> Sql {
    let query = query
        .push("exists (select 1 from deployments d where d.id = ? and ")
        .bind(deployment);
    deployments(query, scope).push(")")
}

/// That the pattern belongs to the caller's workspace, or to the caller and no workspace.
pub(crate) fn pattern(query: Sql, scope: &Scope, pattern: PatternId) -> Sql {
    let query = query
        .push("exists (select 1 from patterns p where p.id = ? and ")
        .bind(pattern);
    patterns(query, scope).push(")")
}
