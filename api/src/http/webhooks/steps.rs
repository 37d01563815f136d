//! The pages of a form that come after its first: where people find the one that is open, and what they see at the end. The
//! pages themselves are at the URLs of callbacks.

use super::admission::Admitted;
use super::answer::respond_to;
use super::waiting::wait;
use crate::app::App;
use crate::http::forms::page;
use axum::http::header::{CACHE_CONTROL, LOCATION, REFERRER_POLICY};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::Response;
use heddle_execution::{Step, Ticket};
use heddle_model::ServiceError;
use heddle_model::form::Form;
use heddle_model::ids::RunId;
use heddle_model::status::RunStatus;
use serde_json::Map;
use serde_json::value::RawValue;
use std::sync::Arc;
use std::time::Duration;

/// How long a page waits for the next one, before browsers look again.
const PATIENCE: Duration = Duration::from_secs(10);
/// How callbacks' URLs are reached from a webhook's.
const FROM_WEBHOOK: &str = "../callbacks/";
/// How callbacks' URLs are reached from each other's.
pub(in super::super) const FROM_CALLBACK: &str = "../../";

/// What somebody sees who has sent the first page: what the run responds if it does before it asks, or else the next page.
pub(super) async fn first(app: &App, admitted: &Admitted, (ticket, waits): (Ticket, bool)) -> Response {
    let run = ticket.run_id;
    let asks = async {
        loop {
            match app.executions.next_step(run, PATIENCE).await {
                Ok(Step::Works | Step::Waits) => {}
                found => return found,
            }
        }
    };
    if waits {
        // Each page is found at the address that the others lead to as well.
        tokio::select! {
            biased;
            response = wait(app, admitted, ticket) => return response,
            Ok(Step::Asks(_)) = asks => {}
        }
    }
    again(app, run).await
}

/// Leads somebody on who has sent the first page, perhaps twice.
pub(super) async fn again(app: &App, run: RunId) -> Response {
    match app.executions.steps_path(run).await {
        Ok(path) => page::lead(&format!("{FROM_WEBHOOK}{path}")),
        Err(error) => page::refusal(error.into()),
    }
}

/// The page that is open now, for whoever fills in a run's forms: it is waited for a while.
pub async fn shown(app: &App, run: RunId) -> Response {
    let found = async {
        let step = app.executions.next_step(run, PATIENCE).await?;
        Ok::<_, ServiceError>((step, app.executions.steps_path(run).await?))
    };
    match found.await {
        Err(error) => page::refusal(error.into()),
        Ok((Step::Works, path)) => page::moment(&format!("{FROM_CALLBACK}{path}")),
        Ok((Step::Waits, path)) => page::elsewhere(&format!("{FROM_CALLBACK}{path}")),
        Ok((Step::Asks(open), _)) => match open.as_slice() {
            [only] => page::lead(&format!("{FROM_CALLBACK}{}", only.path)),
            several => page::choice(several, |step| format!("{FROM_CALLBACK}{}", step.path)),
        },
        Ok((Step::Ended { status, response }, _)) => {
            let ended = ended(app, run, status, response.as_deref());
            ended.await.unwrap_or_else(|error| page::refusal(error.into()))
        }
    }
}

/// The last page: what RespondToWebhook says, or the form.
async fn ended(
    app: &App,
    run: RunId,
    status: RunStatus,
    response: Option<&RawValue>,
) -> Result<Response, ServiceError> {
    let asking = app.executions.run_asking(run).await?;
    let deployment = app.executions.loaded_for(asking.slot).await?;
    let webhook = deployment
        .as_deref()
        .zip(asking.trigger.as_deref())
        .and_then(|(active, trigger)| active.webhook(trigger));
    // What a webhook's or a chat's sender was given is not for whoever answers a form of that run.
    let began_by_form = webhook.is_none_or(|webhook| webhook.form.is_some());
    if let Some(response) = response.filter(|_| began_by_form) {
        let by = (run, asking.tenant, asking.owner);
        let response = respond_to(app, by, response).await;
        if !leads_to_own_page(response.headers(), run) {
            return Ok(private(response));
        }
    }
    if status != RunStatus::Success {
        return Ok(page::failed(StatusCode::INTERNAL_SERVER_ERROR));
    }
    let form: Option<Arc<Form>> = webhook.and_then(|webhook| webhook.form.clone());
    // A run that begins otherwise may ask by forms as well.
    let form = form.unwrap_or_else(|| Arc::new(Form::of(&Map::new())));
    Ok(page::sent(&form))
}

/// Whether a response is the one that has led to a page of the run, which was sent since then.
fn leads_to_own_page(headers: &HeaderMap, run: RunId) -> bool {
    let location = headers.get(LOCATION).and_then(|location| location.to_str().ok());
    location.is_some_and(|location| location.contains(&format!("callbacks/{run}/")))
}

/// The address of a further page is a credential: nothing keeps what is there, or tells others of it.
fn private(mut response: Response) -> Response {
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    response
}
