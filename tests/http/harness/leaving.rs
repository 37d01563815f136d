//! Senders who go away before they are answered.

use super::Service;
use axum::body::Body;
use axum::http::Request;
use heddle_store::{StoreError, sql};
use serde_json::Value;
use std::task::Poll;
use std::time::Duration;

/// How long something may take to become so.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request of somebody: method, path and token.
type Asked<'r> = (&'r str, &'r str, Option<&'r str>);

/// The request as a router takes it.
pub fn asked((method, path, token): Asked<'_>, body: Body) -> Request<Body> {
    let request = Request::builder().method(method).uri(path);
    let request = request.header("content-type", "application/json");
    let request = match token {
        Some(token) => request.header("authorization", format!("Bearer {token}")),
        None => request,
    };
    request.body(body).unwrap()
}

impl Service {
    /// Has a request answered until it has waited so often for something, and drops it then, as when its sender goes away; the
    /// status, if it was answered before.
    async fn answered_within(&self, waits: usize, what: Asked<'_>, body: &Value) -> Option<u16> {
        let request = asked(what, Body::from(body.to_string()));
        let mut router = heddle_api::http::router(&self.app);
        let mut answer = Box::pin(tower::Service::call(&mut router, request));
        let mut count = 0;
        let answered = std::future::poll_fn(|context| {
            if count > waits {
                return Poll::Ready(None);
            }
            count += 1;
            answer.as_mut().poll(context).map(Some)
        });
        let answered = answered.await?;
        Some(answered.unwrap().status().as_u16())
    }

    /// Sends a request again and again, and goes away a little later each time, until what it asks for is stored.
    pub async fn leave(&self, what: Asked<'_>, body: &Value, is_stored: impl AsyncFn() -> bool) {
        for waits in 0.. {
            let answered = self.answered_within(waits, what, body).await;
            // After what was on its way to the database.
            let nothing = self
                .app
                .store
                .write(|db| Box::pin(async move { db.execute(sql("delete from runs where id = ''")).await }));
            let nothing: Result<u64, StoreError> = nothing.await;
            nothing.unwrap();
            if is_stored().await {
                return;
            }
            assert_eq!(answered, None, "nothing was stored");
        }
    }
}

/// Waits until something is so.
pub async fn until(is_so: impl AsyncFn() -> bool) {
    let waiting = async {
        while !is_so().await {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting)
        .await
        .expect("it is not so");
}
