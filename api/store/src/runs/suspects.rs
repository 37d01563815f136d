//! Finds the runs that may have crashed a server. A server that dies leaves its row behind; the server that removes
//! this row assesses the dead server's runs in the same transaction.
//!
//! After the first crash it is not known which runs were executing, because recording that would cost a commit per run:
//! all of the server's runs are suspects. Suspects are announced before they execute, so that the next crash narrows
//! them down; a run that was announced alone is proven to be the cause. Knows nothing about when which run is tried.

use super::left::{LeftRow, returning_left};
use crate::notices::{self, Notice};
use crate::{Db, StoreError, sql};
use heddle_model::clock::Timestamp;
use heddle_model::ids::{DeploymentId, RunId};
use sqlx_macros::FromRow;
use std::collections::BTreeSet;

/// With so many strikes a deployment executes no more.
pub const STRIKES_MAX: i64 = 2;

/// A run that the dead server had announced, and not ended.
#[derive(FromRow)]
struct Announced {
    id: RunId,
    deployment_id: DeploymentId,
    strikes: i64,
}

/// Judges the runs of a server that has died at `now`, and leaves them to anybody. `was_trying`: nothing executed there
/// but what was announced.
pub async fn judge(
    db: &mut Db<'_>,
    server: &str,
    was_trying: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    let announced: Vec<Announced> = db
        .all(
            sql("select r.id, r.deployment_id, d.strikes from runs r join deployments d on d.id = r.deployment_id
                 where r.owner = ? and r.announced_by = ? and r.status = 'running' and r.wake_at is null")
            .bind(server)
            .bind(server),
        )
        .await?;
    let (guilty, struck) = match announced.as_slice() {
        [alone] if was_trying => (Some(alone.id), Some(alone.deployment_id)),
        _ if was_trying => (None, None),
        several => (None, only_struck(several)),
    };
    leave(db, server, guilty, was_trying, now).await?;
    match struck {
        Some(deployment) => strike(db, deployment, now).await,
        None => Ok(()),
    }
}

/// The one deployment among those of these runs that has brought a server down before.
fn only_struck(announced: &[Announced]) -> Option<DeploymentId> {
    let struck: BTreeSet<DeploymentId> = announced
        .iter()
        .filter(|run| run.strikes > 0)
        .map(|run| run.deployment_id)
        .collect();
    match struck.len() {
        1 => struck.into_iter().next(),
        _ => None,
    }
}

/// Runs that had certainly not begun are not under suspicion: those between two attempts, those that wait for a trial, and
/// while the server tried runs all but these.
async fn leave(
    db: &mut Db<'_>,
    server: &str,
    guilty: Option<RunId>,
    was_trying: bool,
    now: Timestamp,
) -> Result<(), StoreError> {
    let guilty = guilty.map(|run| run.to_string()).unwrap_or_default();
    db.execute(
        sql(
            "update runs set owner = '', announced_by = null, takeovers = takeovers + 1, suspicion = case
             when id = ? then -1 - suspicion
             when announced_by = ? then suspicion + 1
             when suspicion = 0 and (resumes_at is null or resumes_at <= ?) then ?
             else suspicion end
             where owner = ? and status = 'running' and wake_at is null",
        )
        .bind(guilty)
        .bind(server)
        .bind(now)
        .bind(i64::from(!was_trying))
        .bind(server),
    )
    .await
    .map(drop)
}

/// What is said of a deployment that was stopped.
const STOPPED: &str = "Runs of this deployment have repeatedly crashed a server or an executor process, so its triggers are \
    stopped and its waiting runs are held. Find the cause (see the run with the code INTERRUPTED, and the server's \
    log from that time), fix it, and deploy again.";

/// Counts a proof against a deployment, and stops it at the second one.
pub async fn strike(db: &mut Db<'_>, deployment: DeploymentId, now: Timestamp) -> Result<(), StoreError> {
    db.execute(sql("update deployments set strikes = strikes + 1 where id = ?").bind(deployment))
        .await?;
    db.execute(
        sql(
            "update deployments set status = 'failed', error_message = ?, updated_at = ?
             where id = ? and strikes >= ? and status in ('active', 'paused')",
        )
        .bind(STOPPED)
        .bind(now)
        .bind(deployment)
        .bind(STRIKES_MAX),
    )
    .await?;
    notices::tell(db, Notice::Deployment(deployment)).await
}

/// Says that a server is about to execute a run. `false`: the run is not the server's any more.
pub async fn announce(db: &mut Db<'_>, owner: &str, run: RunId) -> Result<bool, StoreError> {
    let query = sql("update runs set announced_by = ? where id = ? and owner = ? and status = 'running'");
    let announced = db.execute(query.bind(owner).bind(run).bind(owner)).await?;
    Ok(announced > 0)
}

/// Says whether a server executes nothing but what it announces: one server at a time. `false`: another one does, or
/// this one has lost its lease.
pub async fn set_trying(db: &mut Db<'_>, owner: &str, is_trying: bool) -> Result<bool, StoreError> {
    let query = match is_trying {
        true => {
            "update servers set trying = true where id = ? and not exists (select 1 from servers s where s.trying)"
        }
        false => "update servers set trying = false where id = ?",
    };
    Ok(db.execute(sql(query).bind(owner)).await? > 0)
}

/// Runs that no server has, `r`, and that may execute.
const TO_BE_TRIED: &str = " from runs r join deployments d on d.id = r.deployment_id
    where r.suspicion > 0 and r.status = 'running' and r.wake_at is null and d.status <> 'paused' and not d.suspended and d.strikes < ?
    and r.owner not in (select s.id from servers s)";

/// How strong the strongest suspicion is of a run that waits to be tried.
pub async fn strongest(db: &mut Db<'_>) -> Result<Option<i64>, StoreError> {
    let query = sql("select max(r.suspicion)").push(TO_BE_TRIED).bind(STRIKES_MAX);
    db.one(query).await.map(|(strongest,): (Option<i64>,)| strongest)
}

/// Takes the run under the strongest suspicion, up to a limit. Of those that may have begun the oldest is the likeliest
/// to have; of those that had, the one that was announced last is the likeliest to be what a server died of.
pub async fn take(db: &mut Db<'_>, owner: &str, suspicion_max: i64) -> Result<Option<LeftRow>, StoreError> {
    let query = sql("update runs set owner = ?, announced_by = null where id in (select r.id")
        .bind(owner)
        .push(TO_BE_TRIED)
        .bind(STRIKES_MAX)
        .push(
            " and r.suspicion <= ? and exists (select 1 from servers s where s.id = ?)
             order by r.suspicion desc, case when r.suspicion = 1 then r.id end, r.id desc limit 1",
        )
        .bind(suspicion_max)
        .bind(owner);
    let query = returning_left(query, db);
    db.optional(query).await
}

/// Takes up to `limit` runs that were found to bring servers down, to be ended. This is asked for again and again, and after each
/// deployment: SQLite does not see that what is below zero is not zero, and would read all runs that there are, not just those in
/// the index of suspects.
pub async fn take_guilty(db: &mut Db<'_>, owner: &str, limit: i64) -> Result<Vec<LeftRow>, StoreError> {
    let query = sql("update runs set owner = ?, announced_by = null where id in (
         select r.id from runs r where r.suspicion < 0 and r.suspicion <> 0 and r.status = 'running'
         and r.owner not in (select s.id from servers s) and exists (select 1 from servers s where s.id = ?)
         order by r.id limit ?")
    .bind(owner)
    .bind(owner)
    .bind(limit);
    let query = returning_left(query, db);
    db.all(query).await
}
