//! The caller's rights, as part of a statement: whoever forgets to look first whether an object may be seen finds nothing.

use crate::db::Sql;
use crate::{deployments, patterns};
use heddle_model::access::Scope;
use heddle_model::ids::{DeploymentId, PatternId};

/// That the deployment belongs to the caller's workspace, or to the caller and no workspace. It does not depend on the rows
/// around it, so that databases look once.
pub(crate) fn deployment(query: Sql, scope: &Scope, deployment: DeploymentId) -> Sql {
    let query = query
        .push("exists (select 1 from deployments d where d.id = ? and ")
        .bind(deployment);
    deployments::tenant(query, scope).push(")")
}

/// The same of a pattern.
pub(crate) fn pattern(query: Sql, scope: &Scope, pattern: PatternId) -> Sql {
    let query = query
        .push("exists (select 1 from patterns p where p.id = ? and ")
        .bind(pattern);
    patterns::tenant(query, scope).push(")")
}
