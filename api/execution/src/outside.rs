//! Requests that are sent outside of runs, on a tenant's account: how they go, why they fail, and how long what has failed rests.

use crate::executions::Executions;
use crate::queue::{Place, Share};
use heddle_model::entropy;
use heddle_model::error::{Code, ServiceError};
use heddle_runtime::{EffectError, Fetch, retry_after};
use serde_json::Value;
use std::time::Duration;

/// Rests after failures: at least, at most, and at most where the service says when to come back.
const REST_MIN: Duration = Duration::from_secs(30);
const REST_MAX: Duration = Duration::from_secs(60 * 60);
const REST_TOLD_MAX: Duration = Duration::from_secs(24 * 60 * 60);

/// Characters of a failure's message that are kept.
const MESSAGE_CHARS_MAX: usize = 1_000;

/// Why a request was not sent, or did not do what it was to do.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    pub code: String,
    pub message: String,
    /// Whether it is this service that has no room or no quota left, of which the other one knows nothing.
    pub is_ours: bool,
    /// When the service, or this one, wants to be asked again.
    pub rest: Option<Duration>,
}

impl From<ServiceError> for Failure {
    fn from(error: ServiceError) -> Self {
        Failure {
            code: error.code().name().to_owned(),
            message: error.message().to_owned(),
            is_ours: matches!(error.code(), Code::Unavailable | Code::WorkspaceQuotaExceeded),
            // A quota may have been raised before its month is over.
            rest: error
                .retry_after()
                .map(|seconds| Duration::from_secs(seconds).min(REST_MAX)),
        }
    }
}

impl From<EffectError> for Failure {
    fn from(error: EffectError) -> Self {
        Failure {
            code: error.code.as_str().to_owned(),
            message: error.message,
            is_ours: false,
            rest: None,
        }
    }
}

impl Failure {
    /// Counts it, unless it is ours. How long what has failed rests.
    pub fn counted(&self, failures: &mut i64) -> Duration {
        if self.is_ours {
            return rest_after(1, self.rest);
        }
        *failures = failures.saturating_add(1);
        rest_after(*failures, self.rest)
    }
}

/// What is kept of a message.
pub(crate) fn shown(message: &str) -> String {
    message.chars().take(MESSAGE_CHARS_MAX).collect()
}

/// What is sent, and for whom.
pub(crate) struct Request {
    /// As the effect `http` takes it.
    pub request: Value,
    pub share: Share,
    /// The connections and hosts that it may use.
    pub granted: (Vec<String>, Vec<String>),
    pub time_max: Duration,
}

/// Sends a request in a place among the runs of its tenant, and counts it; gives the result of the effect `http`.
pub(crate) async fn send(executions: &Executions, request: Request, place: Place) -> Result<Value, Failure> {
    let tests = executions.test_runs();
    let runtime = tests.modules.runtime().await?.clone();
    let fetched = runtime
        .fetch(Fetch {
            request: request.request,
            connections: tests.services.connections(request.share),
            granted: request.granted,
            time_max: request.time_max,
            answer_bytes_max: tests.limits.effect_result_bytes_max,
        })
        .await;
    drop(place);
    tests
        .meter
        .count_request(request.share.tenant, fetched.egress_bytes)
        .await;
    Ok(fetched.result?)
}

/// What the header Retry-After says.
pub(crate) fn requested_rest(result: &Value) -> Option<Duration> {
    let header = |name: &str| result["headers"][name].as_str();
    retry_after(header("retry-after")?, header("date"))
}

/// How long it rests after so many failures: twice as long each time, and never exactly as long as others that failed with it.
fn rest_after(failures: i64, requested: Option<Duration>) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(0).min(16);
    let rest = REST_MIN.saturating_mul(1 << doublings).min(REST_MAX);
    let rest = rest.mul_f64(entropy::random_in(0.75..1.25));
    rest.max(requested.unwrap_or_default().min(REST_TOLD_MAX))
}
