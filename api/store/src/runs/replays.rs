//! What is kept so that runs can be replayed after their end: their journals, which are removed by age, number and bytes,
//! and which environment and variables they had.

use super::event_text::event_sql;
use crate::{Db, StoreError, rights, sql};
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, EnvironmentId, PatternId, RunId};
use heddle_model::status::{RunStatus, TriggeredBy};
use serde_json::{Map, Value};
use sqlx_macros::FromRow;

/// A run as it is needed to execute it again.
#[derive(Clone, Debug, FromRow)]
pub struct ReplayRow {
    /// State.
    pub status: RunStatus,
    /// What started it.
    pub triggered_by: TriggeredBy,
    /// Where it started.
    pub node_id: Option<String>,
    /// eventData as JSON.
    pub event: Option<String>,
    /// SHA-256 of its module, in hex.
    pub artifact: String,
    /// The pattern's version.
    pub version_number: i64,
    /// Its last attempt, from 1.
    pub attempt: i64,
    /// When it began, in milliseconds, as far as that was stored.
    pub started_at: Option<i64>,
    /// When it ended, in milliseconds.
    pub completed_at: Option<i64>,
    /// How long it took, in milliseconds.
    pub duration_ms: Option<i64>,
    /// When its last execution began, if it went on after a wait, in milliseconds.
    pub continued_at: Option<i64>,
    /// JSON.
    pub output: Option<String>,
    /// `{code, message, nodeId}` as JSON.
    pub error: Option<String>,
    /// The pattern that ran.
    pub pattern_id: PatternId,
    /// Where its deployment takes secrets and variables from now.
    pub environment_id: Option<EnvironmentId>,
    /// Whether the entries of its journal are there; `None`: there was none when it ended.
    pub has_journal: Option<bool>,
}

/// A run of a deployment, if the caller may see it.
pub async fn find(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
    run: RunId,
) -> Result<Option<ReplayRow>, StoreError> {
    let query = sql("select r.status, r.triggered_by, r.node_id, ").push(event_sql!(whole "r", db)).push(
        " as event, r.artifact, r.version_number, r.attempt,
         r.started_at, r.completed_at, r.duration_ms, r.continued_at, r.output, r.error, d.pattern_id, d.environment_id,
         k.is_kept as has_journal from runs r join deployments d on d.id = r.deployment_id
         left join run_journals k on k.run_id = r.id where r.id = ? and d.id = ? and ",
    )
    .bind(run)
    .bind(deployment);
    db.optional(rights::deployments(query, editor)).await
}

/// A run that has ended, in a list.
#[derive(Clone, Debug, FromRow)]
pub struct EndedRun {
    pub id: RunId,
    pub accepted_at: Timestamp,
    /// Where it started.
    pub node_id: Option<String>,
}

/// Runs that are looked through for a list.
const LOOKED_THROUGH_MAX: i64 = 20_000;

/// The newest runs that have ended of what a deployment has now, before one of them if it is given. Those of former modules are
/// passed over, among a bounded number of runs.
pub async fn ended(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
    (before, limit): (Option<(Timestamp, RunId)>, i64),
) -> Result<Vec<EndedRun>, StoreError> {
    let mut query = sql(
        "select r.id, r.accepted_at, r.node_id from deployments d join (
             select n.id, n.deployment_id, n.accepted_at, n.node_id, n.status, n.artifact from runs n where n.deployment_id = ?",
    )
    .bind(deployment);
    if let Some((at, id)) = before {
        query = query
            .push(" and (n.accepted_at, n.id) < (?, ?)")
            .bind(at)
            .bind(id);
    }
    let query = query
        .push(
            " order by n.accepted_at desc, n.id desc limit ?) r on r.deployment_id = d.id
             where r.status <> 'running' and r.artifact = d.artifact and ",
        )
        .bind(LOOKED_THROUGH_MAX);
    let query = rights::deployments(query, editor);
    let query = query.push(" order by r.accepted_at desc, r.id desc limit ?");
    db.all(query.bind(limit)).await
}

/// Notes that runs have ended whose journals are to be kept, as far as they have any. What has come for them is of no more
/// use: what they saw of it is in their journals.
pub async fn close(db: &mut Db<'_>, runs: &[RunId]) -> Result<(), StoreError> {
    let ids = || runs.iter().map(RunId::to_string);
    let query = sql("insert into run_journals (run_id, tenant_id, has_failed, ended_at, bytes, is_kept)
         select r.id, coalesce(d.workspace_id, d.user_id), r.status <> 'success', r.completed_at, j.bytes, true
         from (select run_id, cast(sum(octet_length(entry)) as bigint) as bytes from journal_entries where run_id in ")
    .list_of_few_sizes(ids())
    .push(
        " group by run_id) j join runs r on r.id = j.run_id join deployments d on d.id = r.deployment_id
         where r.status <> 'running' and r.completed_at is not null on conflict do nothing",
    );
    db.execute(query).await?;
    db.execute(sql("delete from signals where run_id in ").list_of_few_sizes(ids()))
        .await?;
    Ok(())
}

/// A run whose journal is kept.
#[derive(Clone, Copy, Debug, FromRow)]
pub struct KeptJournal {
    pub run_id: RunId,
    /// Of its entries.
    pub bytes: i64,
}

/// Failed runs that ended before a time and have their journals still.
pub async fn failed_before(
    db: &mut Db<'_>,
    before: Timestamp,
    limit: i64,
) -> Result<Vec<KeptJournal>, StoreError> {
    let query =
        sql("select run_id, bytes from run_journals where is_kept and has_failed and ended_at < ? limit ?");
    db.all(query.bind(before).bind(limit)).await
}

/// What the journals of a tenant amount to.
#[derive(Clone, Debug, FromRow)]
pub struct JournalsOfTenant {
    /// A workspace, or a user outside of workspaces.
    pub tenant_id: String,
    /// Of those of runs that succeeded.
    pub succeeded: i64,
    /// Of all.
    pub bytes: i64,
}

/// Tenants that have journals of more successful runs, or more bytes of journals, than these.
pub async fn beyond(
    db: &mut Db<'_>,
    succeeded_max: i64,
    bytes_max: i64,
) -> Result<Vec<JournalsOfTenant>, StoreError> {
    let query = sql("select tenant_id, succeeded, bytes from (
             select tenant_id, cast(sum(case when has_failed then 0 else 1 end) as bigint) as succeeded,
                    cast(sum(bytes) as bigint) as bytes
             from run_journals where is_kept group by tenant_id) t where succeeded > ? or bytes > ?");
    db.all(query.bind(succeeded_max).bind(bytes_max)).await
}

/// Journals of a tenant, those first that ended first; only of successful runs, if that is asked for.
pub async fn oldest(
    db: &mut Db<'_>,
    tenant: &str,
    only_succeeded: bool,
    limit: i64,
) -> Result<Vec<KeptJournal>, StoreError> {
    let mut query =
        sql("select run_id, bytes from run_journals where is_kept and tenant_id = ?").bind(tenant);
    if only_succeeded {
        query = query.push(" and not has_failed");
    }
    db.all(query.push(" order by ended_at, run_id limit ?").bind(limit))
        .await
}

/// Removes the entries of runs that have ended.
pub async fn remove(db: &mut Db<'_>, runs: &[RunId]) -> Result<(), StoreError> {
    let ids = || runs.iter().map(RunId::to_string);
    db.execute(sql("delete from journal_entries where run_id in ").list_of_few_sizes(ids()))
        .await?;
    let note = sql("update run_journals set is_kept = false, bytes = 0 where run_id in ");
    db.execute(note.list_of_few_sizes(ids())).await?;
    Ok(())
}

/// Runs after another one that have entries although they do not execute, and are not known to have a journal: something
/// else than their execution has ended them.
pub async fn unclosed_after(
    db: &mut Db<'_>,
    after: Option<RunId>,
    limit: i64,
) -> Result<Vec<(RunId,)>, StoreError> {
    let after = after.map_or_else(String::new, |run| run.to_string());
    let query = sql(
        "select distinct j.run_id from journal_entries j where j.run_id > ?
         and not exists (select 1 from run_journals k where k.run_id = j.run_id)
         and not exists (select 1 from runs r where r.id = j.run_id and r.status = 'running')
         order by j.run_id limit ?",
    );
    db.all(query.bind(after).bind(limit)).await
}

/// Removes the entries of those of these runs that are gone.
pub async fn remove_of_gone(db: &mut Db<'_>, runs: &[RunId]) -> Result<(), StoreError> {
    let query = sql("delete from journal_entries where run_id in ")
        .list_of_few_sizes(runs.iter().map(RunId::to_string))
        .push(" and not exists (select 1 from runs r where r.id = journal_entries.run_id)");
    db.execute(query).await?;
    Ok(())
}

/// The environment that a deployment had at a time, of which `now` is its present one.
pub async fn environment_at(
    db: &mut Db<'_>,
    (deployment, now): (DeploymentId, Option<EnvironmentId>),
    at: Timestamp,
) -> Result<Option<EnvironmentId>, StoreError> {
    #[derive(FromRow)]
    struct Past {
        environment_id: Option<EnvironmentId>,
    }
    let query = sql(
        "select environment_id from past_environments where deployment_id = ? and until > ?
         order by until limit 1",
    );
    let past: Option<Past> = db.optional(query.bind(deployment).bind(at)).await?;
    Ok(past.map_or(now, |past| past.environment_id))
}

/// `$vars` at a time.
#[derive(Clone, Debug)]
pub struct VariablesAt {
    /// The variables; `None`: they have changed so often since that it is not known any more, or their environment is gone.
    pub variables: Option<Map<String, Value>>,
    /// Whether they changed around that time.
    pub changed_then: bool,
}

/// `$vars` of an environment as they were at a time, which is known to within `margin_ms` milliseconds.
pub async fn variables_at(
    db: &mut Db<'_>,
    environment: EnvironmentId,
    at: Timestamp,
    margin_ms: i64,
) -> Result<VariablesAt, StoreError> {
    #[derive(FromRow)]
    struct Found {
        since: i64,
        variables: String,
    }
    let past = sql(
        "select since, variables from past_variables where environment_id = ? and until > ?
         order by until limit 1",
    );
    let past: Option<Found> = db.optional(past.bind(environment).bind(at)).await?;
    let found = match past {
        Some(past) => (past.since <= at.millis()).then_some(past.variables),
        None => {
            let query = sql("select variables from environments where id = ?");
            let now: Option<(String,)> = db.optional(query.bind(environment)).await?;
            now.map(|(variables,)| variables)
        }
    };
    let variables = found
        .map(|text| {
            serde_json::from_str(&text).map_err(|_| StoreError::Corrupt {
                table: "past_variables",
                column: "variables",
                row: environment.to_string(),
            })
        })
        .transpose()?;
    let changes =
        sql("select count(*) from past_variables where environment_id = ? and until between ? and ?")
            .bind(environment)
            .bind(at.millis().saturating_sub(margin_ms))
            .bind(at.millis().saturating_add(margin_ms));
    let (changes,): (i64,) = db.one(changes).await?;
    Ok(VariablesAt {
        variables,
        changed_then: changes > 0,
    })
}

/// Removes up to `limit` notes on variables and environments that nobody had since a time.
pub async fn forget_past(db: &mut Db<'_>, before: Timestamp, limit: i64) -> Result<u64, StoreError> {
    let variables = db
        .execute(
            sql("delete from past_variables where (environment_id, until) in
                 (select environment_id, until from past_variables where until < ? limit ?)")
            .bind(before)
            .bind(limit),
        )
        .await?;
    let environments = db
        .execute(
            sql("delete from past_environments where (deployment_id, until) in
                 (select deployment_id, until from past_environments where until < ? limit ?)")
            .bind(before)
            .bind(limit),
        )
        .await?;
    Ok(variables.max(environments))
}
