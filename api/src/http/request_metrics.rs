//! Request metrics. Looking up a metric by its labels takes longer than counting, so each thread caches the metrics it
//! has looked up: one per route, method and status.

use metrics::{Counter, Histogram, counter, histogram};
use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

struct Counted {
    method: &'static str,
    status: u16,
    requests: Counter,
    seconds: Histogram,
}

impl Counted {
    fn find(method: &'static str, route: &str, status: u16) -> Self {
        let labels = [
            ("method", method.to_owned()),
            ("route", route.to_owned()),
            ("status", status.to_string()),
        ];
        Counted {
            method,
            status,
            requests: counter!("heddle_http_requests_total", &labels),
            seconds: histogram!("heddle_http_request_seconds", &labels[..2]),
        }
    }

    fn add(&self, took: Duration) {
        self.requests.increment(1);
        self.seconds.record(took);
    }
}

thread_local! {
    /// By route.
    static FOUND: RefCell<HashMap<String, Vec<Counted>>> = RefCell::default();
}

/// Counts a request that was answered.
pub(super) fn count(method: &'static str, route: &str, status: u16, took: Duration) {
    FOUND.with_borrow_mut(|found| {
        let is_it = |counted: &&Counted| counted.method == method && counted.status == status;
        if let Some(counted) = found.get(route).and_then(|of_route| of_route.iter().find(is_it)) {
            return counted.add(took);
        }
        let counted = Counted::find(method, route, status);
        counted.add(took);
        found.entry(route.to_owned()).or_default().push(counted);
    });
}
