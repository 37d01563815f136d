//! The schedules of what is deployed: those of its OnSchedule, OnPoll and OnMailbox nodes, and what was set in their place. Starts no runs.

use crate::schedule::{CatchUp, Schedule};
use heddle_catalogue::Start;
use heddle_contract::manifest::{Manifest, Trigger};
use heddle_model::access::Editor;
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{DeploymentId, EndpointId};
use heddle_model::mailbox::Mailbox;
use heddle_model::poll::{EVERY_FIVE_MINUTES, Poll};
use heddle_store::Db;
use heddle_store::polls::{self, ShownPoll};
use heddle_store::schedules::{self, ScheduleRow};

/// Makes the OnSchedule, OnPoll and OnMailbox nodes of what is deployed due from now on: with deploy, redeploy and resume. What was set for
/// the deployment holds, until a version comes that has another expression itself.
pub async fn register(
    db: &mut Db<'_>,
    editor: &Editor,
    deployment: DeploymentId,
    manifest: &Manifest,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let known = schedules::of_deployment(db, editor, deployment).await?;
    let asked = polls::of_deployment(db, editor, deployment).await?;
    let rows = rows(deployment, (known.as_slice(), asked.as_slice()), manifest, now)?;
    Ok(schedules::replace(db, editor, deployment, &rows).await?)
}

/// The schedules that a deployment has once this is its module, given those that it has now, and the lists that were asked for.
pub fn rows(
    deployment: DeploymentId,
    (known, asked): (&[ScheduleRow], &[ShownPoll]),
    manifest: &Manifest,
    now: Timestamp,
) -> Result<Vec<ScheduleRow>, ServiceError> {
    let starts = |trigger: &Trigger| Start::of_type(&trigger.node_type);
    let is_poll = |trigger: &Trigger| matches!(starts(trigger), Some(Start::Poll | Start::Mailbox));
    let is_asked = |node: &Trigger| {
        let source = match starts(node) {
            Some(Start::Mailbox) => Mailbox::of(&node.parameters).fingerprint(),
            _ => Poll::of(&node.parameters).fingerprint(),
        };
        asked
            .iter()
            .any(|asked| asked.node_id == node.node_id && asked.source == source)
    };
    let nodes = manifest
        .triggers
        .iter()
        .filter(|trigger| is_poll(trigger) || starts(trigger) == Some(Start::Schedule));
    let mut rows = Vec::new();
    for node in nodes {
        let parameter = |name| node.parameters.get(name).and_then(serde_json::Value::as_str);
        let mut row = ScheduleRow {
            id: EndpointId::new(),
            deployment_id: deployment,
            node_id: node.node_id.clone(),
            cron: match parameter("cron") {
                None if is_poll(node) => EVERY_FIVE_MINUTES.to_owned(),
                cron => cron.unwrap_or_default().to_owned(),
            },
            timezone: parameter("timezone").unwrap_or("UTC").to_owned(),
            catch_up: CatchUp::named(parameter("catchUp").unwrap_or_default())
                .name()
                .to_owned(),
            set_cron: None,
            set_timezone: None,
            next_due_at: None,
        };
        if let Some(known) = known.iter().find(|known| known.node_id == row.node_id) {
            row.id = known.id;
            if (&known.cron, &known.timezone) == (&row.cron, &row.timezone) {
                row.set_cron.clone_from(&known.set_cron);
                row.set_timezone.clone_from(&known.set_timezone);
                // Another list is asked for at once: by its next time, what has come meanwhile would be passed over.
                if !is_poll(node) || is_asked(node) {
                    row.next_due_at = known.next_due_at;
                }
            }
        }
        if row.next_due_at.is_none() {
            let next = next_of(&row, now)?;
            // A list is asked for at once: what comes from now on is new.
            let due = if is_poll(node) { next.map(|_| now) } else { next };
            row.next_due_at = due.map(Timestamp::millis);
        }
        rows.push(row);
    }
    Ok(rows)
}

fn next_of(row: &ScheduleRow, now: Timestamp) -> Result<Option<Timestamp>, ServiceError> {
    let (cron, timezone) = row.effective();
    let schedule = Schedule::parse(cron, timezone).map_err(|mistake| {
        Code::Validation.with(format!(
            "The schedule of `{}`: `{cron}` in `{timezone}` {mistake}",
            row.node_id
        ))
    })?;
    Ok(schedule.next_after(now))
}

/// Sets the expression and zone of all of a deployment's schedules, which come at the same time next; `None`: those of its nodes hold
/// again. `is_active`: they are due from now on.
pub async fn set(
    db: &mut Db<'_>,
    editor: &Editor,
    (deployment, is_active): (DeploymentId, bool),
    wanted: Option<(&str, &str, Timestamp)>,
    now: Timestamp,
) -> Result<(), ServiceError> {
    let mut rows = schedules::of_deployment(db, editor, deployment).await?;
    if rows.is_empty() {
        return Err(Code::NoSchedule.into());
    }
    // One that has its own already stays as it is.
    for row in rows
        .iter_mut()
        .filter(|row| wanted.is_some() || row.set_cron.is_some())
    {
        row.set_cron = wanted.map(|(cron, ..)| cron.to_owned());
        row.set_timezone = wanted.map(|(_, timezone, _)| timezone.to_owned());
        let next = match wanted {
            _ if !is_active => None,
            Some((_, _, next)) => Some(next),
            None => next_of(row, now)?,
        };
        row.next_due_at = next.map(Timestamp::millis);
    }
    Ok(schedules::replace(db, editor, deployment, &rows).await?)
}
