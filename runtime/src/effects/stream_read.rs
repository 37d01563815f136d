//! `stream-read`: the next entries of a response that the run reads while it arrives, which the effect `http` has opened.
//!
//! Request: `{stream, count?, waitMs?, gatherMs?}` gives `{items, done, json}`: up to `count` entries, those that are there once the
//! first is and `gatherMs` have passed, none if none came within `waitMs`; `done` once nothing more comes; `json` where the node
//! reads each as JSON. `{stream, close: true}` closes it.
//!
//! Each result is recorded before the run sees it, since nothing can be read twice: a run that goes on after a crash has what it
//! had read, and then hears that the stream is gone.

use super::effect::Effect;
use super::framing::Framing;
use super::handles::Bounds;
use super::open_streams::{OpenStreams, ReadBounds};
use super::progress::EffectResult;
use super::requests::read;
use heddle_sandbox::EffectError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::time::Duration;

/// Entries at once, if the request does not say.
const COUNT: f64 = 100.0;
const COUNT_MAX: f64 = 1_000.0;
/// Milliseconds.
const WAIT: f64 = 30_000.0;
const GATHER: f64 = 100.0;
/// Bytes after which the rest is left for the next time; one entry more may follow.
const READ_BYTES: usize = 1 << 20;

/// Reads from open responses.
pub struct StreamRead;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    stream: String,
    #[serde(default)]
    close: bool,
    #[serde(default)]
    count: Option<f64>,
    #[serde(default)]
    wait_ms: Option<f64>,
    #[serde(default)]
    gather_ms: Option<f64>,
    /// The node's own limit of the request.
    #[serde(default)]
    timeout_ms: Option<f64>,
}

impl Effect for StreamRead {
    const KIND: &'static str = "stream-read";

    type Needs = (Bounds, OpenStreams);
    type Output = Value;

    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
        read_or_close(request, needs)
    }
}

async fn read_or_close(request: Value, (bounds, streams): <StreamRead as Effect>::Needs) -> EffectResult {
    let request: Request = read(request)?;
    let got = match request.close {
        true => streams.close(&request.stream).await?,
        false => {
            streams
                .read(&request.stream, &read_bounds(&request, bounds))
                .await?
        }
    };
    Ok(json!({ "items": got.entries, "done": got.done, "json": got.framing == Framing::JsonLines }))
}

fn read_bounds(request: &Request, bounds: Bounds) -> ReadBounds {
    let most = request.timeout_ms.unwrap_or(f64::INFINITY);
    let time = |ms: Option<f64>, otherwise: f64| -> Duration {
        bounds.time_max(Some(ms.unwrap_or(otherwise).min(most)))
    };
    ReadBounds {
        count: request.count.unwrap_or(COUNT).clamp(1.0, COUNT_MAX) as usize,
        bytes: READ_BYTES.min(bounds.result_bytes_max / 4).max(1),
        wait: time(request.wait_ms, WAIT),
        gather: time(request.gather_ms, GATHER),
    }
}
