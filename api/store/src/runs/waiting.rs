//! Callbacks that runs wait for, of all deployments that a caller may see.

use super::packed::{unpack, unpacked_bytes};
use crate::{Db, StoreError, rights, sql};
use heddle_model::access::Scope;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, PatternId, RunId};
use sqlx_macros::FromRow;

/// An effect of a run that waits to be called.
#[derive(Clone, Debug, FromRow)]
pub struct WaitingRow {
    pub run_id: RunId,
    pub deployment_id: DeploymentId,
    /// What is deployed.
    pub pattern_id: PatternId,
    /// The pattern's name now, or when it was deployed if it is gone.
    pub pattern_name: String,
    /// The version that the run executes.
    pub version_number: i64,
    /// When the run was accepted.
    pub accepted_at: Timestamp,
    /// Which effect of the run.
    pub key: String,
    state: String,
}

impl WaitingRow {
    /// Bytes of its state, roughly.
    pub fn state_bytes(&self) -> usize {
        unpacked_bytes(&self.state)
    }

    /// Its state as JSON. Unpacking it takes milliseconds for a megabyte.
    pub fn unpacked_state(&self) -> Result<String, StoreError> {
        unpack(self.state.clone())
    }
}

/// Which callbacks a list has.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Only callbacks of this pattern.
    pub pattern: Option<PatternId>,
    /// After this one in the list.
    pub after: Option<(RunId, String)>,
    /// How many at most.
    pub limit: i64,
}

/// What runs wait for that nobody has called yet, the newest run first. Among them may be effects of other kinds with a large
/// state: whether it is a callback's, the state says.
pub async fn page(db: &mut Db<'_>, scope: &Scope, filter: &Filter) -> Result<Vec<WaitingRow>, StoreError> {
    // A state of 2 KiB or more is packed, so that it can't be looked into.
    let query = sql(
        "select r.id as run_id, d.id as deployment_id, d.pattern_id, coalesce(p.name, d.pattern_name) as pattern_name,
         r.version_number, r.accepted_at, j.key, j.entry as state
         from deployments d join runs r on r.deployment_id = d.id join journal_entries j on j.run_id = r.id
         left join patterns p on p.id = d.pattern_id
         where r.wake_at is not null and r.status = 'running' and j.number is null and j.key <> ''
         and (j.entry like 'z%' or j.entry like '%\"respondBody\"%')
         and not exists (select 1 from signals s where s.run_id = j.run_id
         and (j.key = s.key || '/1.0' or j.key = s.key || '//1.0')) and ",
    );
    let mut query = rights::deployments(query, scope);
    if let Some(pattern) = filter.pattern {
        query = query.push(" and d.pattern_id = ?").bind(pattern);
    }
    if let Some((run, key)) = &filter.after {
        query = query
            .push(" and (r.id < ? or (r.id = ? and j.key > ?))")
            .bind(*run)
            .bind(*run)
            .bind(key.as_str());
    }
    let query = query
        .push(" order by r.id desc, j.key limit ?")
        .bind(filter.limit);
    db.all(query).await
}
