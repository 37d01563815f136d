//! The requests of a subscription, sent to its service.

use crate::blocking::computing;
use crate::executions::Executions;
use crate::outside::{self, Failure, Request, requested_rest};
use crate::queue::{Class, Share};
use heddle_model::subscription::{Known, Remote, SecretOf, Step, Subscription, said};
use serde_json::Value;
use std::time::Duration;

/// Time for a request, a little more than it takes itself.
const TIME_MAX: Duration = Duration::from_secs(32);
/// How long a request waits for a place among the runs of its workspace.
const PATIENCE: Duration = Duration::from_secs(30);
/// Bytes of an answer that is read; one that is made for it takes a hundred times as much memory.
const ANSWER_BYTES_MAX: usize = 1 << 20;
/// What takes the place of the secret in what people are told.
const MASK: &str = "***";

/// A service, and what it is told by.
pub(super) struct Service<'e> {
    pub executions: &'e Executions,
    pub share: Share,
    pub subscription: Subscription,
    /// Hosts that it may send to.
    pub hosts: Vec<String>,
    /// The webhook's address.
    pub address: String,
    /// A name that is always the same for the endpoint.
    pub name: String,
    /// The endpoint's secret; empty where it is not needed.
    pub secret: String,
    /// What it was asked first.
    pub first: Value,
}

/// Whether a service has refused what asking again will not change.
pub(super) fn is_definite(failure: &Failure) -> bool {
    let is_late = ["HTTP_408", "HTTP_425", "HTTP_429"].contains(&failure.code.as_str());
    failure.code.starts_with("HTTP_4") && !is_late
}

/// Whether what a request was about is not there.
fn is_gone(failure: &Failure) -> bool {
    ["HTTP_404", "HTTP_410"].contains(&failure.code.as_str())
}

impl Service<'_> {
    /// Asks what the other requests need.
    pub async fn begin(&mut self) -> Result<(), Failure> {
        if let Some(first) = self.subscription.first.clone() {
            self.first = self.send(&first, "").await?;
        }
        Ok(())
    }

    /// What there sends to the address; none: there is no telling.
    pub async fn found(&self) -> Result<Option<Vec<Remote>>, Failure> {
        let Some(find) = &self.subscription.find else {
            return Ok(None);
        };
        let answer = self.send(find, "").await?;
        let found = find.found(&answer, &self.address);
        let found = found.ok_or_else(|| self.unreadable("has no list of webhooks"))?;
        Ok(Some(found))
    }

    /// Makes it: what it is called, and the secret that the service has chosen.
    pub async fn create(&self) -> Result<(Remote, Option<String>), Failure> {
        let create = &self.subscription.create;
        let answer = self.send(create, "").await?;
        let made = create.remote(&answer);
        let made = made.ok_or_else(|| self.unreadable("does not give the id of the new webhook"))?;
        let secret = match self.subscription.secret {
            SecretOf::Service => {
                let secret = create.secret(&answer);
                Some(secret.ok_or_else(|| self.unreadable("does not have the new webhook's secret"))?)
            }
            SecretOf::Heddle | SecretOf::Account => None,
        };
        Ok((made, secret))
    }

    /// Has it stay: until when; `None`: it can't be renewed.
    pub async fn renew(&self, id: &str) -> Result<Option<i64>, Failure> {
        let Some(renew) = &self.subscription.renew else {
            return Ok(None);
        };
        let answer = self.send(renew, id).await?;
        let until = renew.expires_at(&answer);
        let until = until.ok_or_else(|| self.unreadable("does not say when the webhook expires"))?;
        Ok(Some(until))
    }

    /// Takes away what has this id, which may be gone already.
    pub async fn remove(&self, id: &str) -> Result<(), Failure> {
        match self.send(&self.subscription.remove, id).await {
            Err(failure) if !is_gone(&failure) => Err(failure),
            _ => Ok(()),
        }
    }

    /// Takes away all that sends to the address.
    pub async fn remove_all(&mut self) -> Result<(), Failure> {
        self.begin().await?;
        let found = match self.found().await {
            Ok(Some(found)) => found,
            // One that needs no id.
            Ok(None) => vec![Remote::default()],
            Err(failure) if is_gone(&failure) => Vec::new(),
            Err(failure) => return Err(failure),
        };
        for remote in found {
            self.remove(&remote.id).await?;
        }
        Ok(())
    }

    /// What a request is answered, if that is not a failure.
    async fn send(&self, step: &Step, id: &str) -> Result<Value, Failure> {
        let known = Known {
            url: &self.address,
            secret: &self.secret,
            name: &self.name,
            id,
            first: self.first.clone(),
        };
        let request = Request {
            request: self.subscription.request(step, &known),
            share: self.share,
            granted: (vec![self.subscription.connection.clone()], self.hosts.clone()),
            time_max: TIME_MAX,
        };
        let tests = self.executions.test_runs();
        let place = tests.place_of(Class::Background, self.share, PATIENCE).await?;
        let mut result = outside::send(self.executions, request, place).await?;
        let status = result["status"].as_u64().unwrap_or_default();
        let rest = requested_rest(&result);
        let text = match result["text"].take() {
            Value::String(text) => text,
            _ => String::new(),
        };
        let text = match text.len() > ANSWER_BYTES_MAX {
            true if (200..300).contains(&status) => {
                return Err(self.unreadable(&format!("has more than {} KiB", ANSWER_BYTES_MAX >> 10)));
            }
            // The status says enough.
            true => String::new(),
            false => text,
        };
        let answer = computing(Some(self.share.owner), move || {
            match serde_json::from_str(&text) {
                Ok(answer) => answer,
                Err(_) if text.trim().is_empty() => Value::Null,
                Err(_) => Value::String(text),
            }
        });
        let answer: Value = answer.await?;
        let error = match status {
            200..=299 => match step.error(&answer) {
                None => return Ok(answer),
                Some(error) => error,
            },
            _ => said(&answer),
        };
        Err(Failure {
            code: match status {
                200..=299 => "HTTP_FAILED".to_owned(),
                status => format!("HTTP_{status}"),
            },
            message: self.refused(status, &error),
            is_ours: false,
            rest,
        })
    }

    /// What the service has answered, and what to do.
    fn refused(&self, status: u64, error: &str) -> String {
        let Subscription {
            service, connection, ..
        } = &self.subscription;
        let mut error = error.trim().trim_end_matches('.').to_owned();
        if !self.secret.is_empty() {
            error = error.replace(&self.secret, MASK);
        }
        let told = match error.is_empty() {
            true => format!("{service} answered {status}."),
            false => format!("{service} answered {status}: {error}."),
        };
        let advice = match status {
            401 | 403 => format!(
                " Check that the connection `{connection}` is valid and may manage webhooks there. Deploy again, or redeploy, \
                 to try at once."
            ),
            400 | 404 | 409 | 422 => format!(
                " Check the trigger's parameters, and that the connection `{connection}` may see what they name. Deploy again, \
                 or redeploy, to try at once."
            ),
            _ => String::new(),
        };
        format!("{told}{advice}")
    }

    fn unreadable(&self, what: &str) -> Failure {
        Failure {
            code: "PARSE".to_owned(),
            message: format!("The answer of {} {what}.", self.subscription.service),
            is_ours: false,
            rest: None,
        }
    }
}
