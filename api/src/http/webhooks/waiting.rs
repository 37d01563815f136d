//! Waiting for a run's answer on behalf of its sender.

use super::admission::Admitted;
use super::answer::{to_sender, too_late};
use super::streaming;
use crate::app::App;
use crate::http::error::ApiError;
use crate::http::forms::page as form_page;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use heddle_catalogue::Role;
use heddle_execution::{ActiveDeployment, Answer, Ended, Ticket};
use std::time::Duration;

/// How long a sender waits at most.
pub(super) fn patience(app: &App, admitted: &Admitted) -> Duration {
    let of_node = admitted.deployed().and_then(|webhook| webhook.patience);
    of_node.unwrap_or(app.config.run_timeout)
}

/// The answer to a sender that waits for its run.
pub(super) async fn wait(app: &App, admitted: &Admitted, ticket: Ticket) -> Response {
    let run = ticket.run_id;
    let patience = patience(app, admitted);
    let answer = tokio::time::timeout(patience, ticket.answer()).await;
    let ended = match answer {
        Ok(Ok(Answer::Begun(begun, ticket))) => {
            return streaming::respond(begun, (ticket, patience), later_errors(admitted));
        }
        Ok(Ok(Answer::Whole(ended))) => Ok(Ok(ended)),
        Ok(Err(error)) => Ok(Err(error)),
        Err(late) => Err(late),
    };
    if let Some(form) = &admitted.webhook().form {
        match &ended {
            Ok(Ok(ended)) if ended.response.is_none() => return form_page::ended(form, ended),
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return form_page::failed(StatusCode::INTERNAL_SERVER_ERROR),
            Err(_) => return form_page::refusal(too_late(run)),
        }
    }
    match ended {
        Ok(Ok(ended)) => {
            let with_details = tells_errors(admitted, &ended);
            match &admitted.deployment {
                Some(deployment) => {
                    let by = (run, deployment.tenant, deployment.owner);
                    to_sender(app, by, &ended, with_details).await
                }
                // A run has a deployment.
                None => too_late(run).into_response(),
            }
        }
        Ok(Err(error)) => ApiError::from(error).into_response(),
        Err(_) => too_late(run).into_response(),
    }
}

/// Whether the sender is told what the error of a failed run says: if the trigger has it so, or if the words are those of the
/// pattern's author.
pub(super) fn tells_errors(admitted: &Admitted, ended: &Ended) -> bool {
    let always = admitted.deployed().is_some_and(|webhook| webhook.tells_errors);
    always || is_authors(admitted.deployment.as_deref(), ended)
}

/// Decides as [`tells_errors`] does, for an end that comes after `admitted` is gone.
pub(super) fn later_errors(admitted: &Admitted) -> impl Fn(&Ended) -> bool + Send + Sync + use<> {
    let deployment = admitted.deployment.clone();
    let always = admitted.deployed().is_some_and(|webhook| webhook.tells_errors);
    move |ended| always || is_authors(deployment.as_deref(), ended)
}

/// Whether the words of a failure are those of the pattern's author.
fn is_authors(deployment: Option<&ActiveDeployment>, ended: &Ended) -> bool {
    let failed_at = ended.error.as_ref().and_then(|error| error.node_id.as_deref());
    let mut nodes = deployment.into_iter().flat_map(|active| &active.manifest().nodes);
    let node = nodes.find(|node| Some(node.id.as_str()) == failed_at);
    let node_type = node.and_then(|node| heddle_catalogue::node_type(&node.node_type));
    node_type.is_some_and(|node_type| node_type.role == Role::Throw)
}
