//! Reads and checks how a trigger's service is told of a webhook.

use super::problems::Problems;
use super::service::{GIVEN_OPENING, Service};
use crate::node_type::Parameter;
use crate::service_trigger::STEPS;
use serde_json::{Map, Value};

const SUBSCRIPTION: &[&str] = &[
    "baseUrl", "headers", "secret", "needs", "first", "find", "create", "renew", "remove",
];
const STEP: &[&str] = &[
    "method", "url", "query", "body", "form", "items", "id", "address", "secret", "expires", "error",
];
/// What stands in requests for what is known only when they are sent.
const WEBHOOK_OPENING: &str = "{{ $webhook.";
const FIRST_OPENING: &str = "{{ $first.";
const OF_WEBHOOK: &[&str] = &["url", "secret", "name", "id"];

/// The requests, and the parameters that they need.
pub(super) fn subscription(
    service: &Service,
    fields: &Map<String, Value>,
    own: &[Parameter],
    at: &str,
    problems: &mut Problems,
) -> (Option<Map<String, Value>>, Vec<&'static str>) {
    if !fields.contains_key("subscription") {
        return (None, Vec::new());
    }
    let mut requests = problems.object(fields, "subscription", at);
    let at = &format!("{at}.subscription");
    problems.unknown(&requests, SUBSCRIPTION, at);
    if service.connection.is_empty() {
        problems.add(at, "the service must say which `connection` it is told with");
    }
    let needs = needs(requests.remove("needs"), own, at, problems);
    let base = requests
        .get("baseUrl")
        .map(|base| base.as_str().unwrap_or_default());
    if base.is_some_and(|base| !base.starts_with("https://")) {
        problems.add(at, "`baseUrl` must begin with https://");
    }
    for name in STEPS.iter().filter(|name| requests.contains_key(**name)) {
        step(&requests, name, at, problems);
    }
    belongs_together(&requests, at, problems);
    written(&requests, at, problems);
    (Some(requests), needs)
}

fn needs(given: Option<Value>, own: &[Parameter], at: &str, problems: &mut Problems) -> Vec<&'static str> {
    let names = given.unwrap_or_else(|| Value::Array(Vec::new()));
    let optional = |name: &Value| {
        let mut own = own.iter().filter(|parameter| !parameter.required);
        own.find(|parameter| name == parameter.name)
            .map(|parameter| parameter.name)
    };
    let names: Option<Option<Vec<&'static str>>> =
        names.as_array().map(|names| names.iter().map(optional).collect());
    names.flatten().unwrap_or_else(|| {
        problems.add(at, "`needs` must be a list of parameters that are not required");
        Vec::new()
    })
}

fn step(requests: &Map<String, Value>, name: &str, at: &str, problems: &mut Problems) {
    let fields = problems.object(requests, name, at);
    let at = &format!("{at}.{name}");
    problems.unknown(&fields, STEP, at);
    if !problems.text(&fields, "url", at).starts_with('/') {
        problems.add(
            at,
            "`url` must be a path below `baseUrl`, or else the connection's",
        );
    }
    for object in ["query", "form"]
        .into_iter()
        .filter(|it| fields.contains_key(*it))
    {
        problems.object(&fields, object, at);
    }
    for path in ["method", "items", "id", "address", "secret", "expires", "error"] {
        if fields.contains_key(path) {
            problems.text(&fields, path, at);
        }
    }
}

/// What one request says that another one uses.
fn belongs_together(requests: &Map<String, Value>, at: &str, problems: &mut Problems) {
    let text = |step: &str| requests.get(step).map(Value::to_string).unwrap_or_default();
    let has = |step: &str, field: &str| requests.get(step).is_some_and(|it| it.get(field).is_some());
    let is_there = |step: &str| requests.contains_key(step);
    let mut demand = |holds: bool, what: &str| {
        if !holds {
            problems.add(at, what);
        }
    };
    let create = text("create");
    demand(
        is_there("create") && is_there("remove"),
        "`create` and `remove` must be there",
    );
    demand(
        create.contains("{{ $webhook.url }}"),
        "`create` must tell `$webhook.url`",
    );
    let tells_secret = create.contains("{{ $webhook.secret }}");
    let (tells, answers) = match requests.get("secret").map(Value::as_str) {
        None => (true, false),
        Some(Some("service")) => (false, true),
        Some(Some("account")) => (false, false),
        Some(_) => {
            demand(false, "`secret` must be `service` or `account`, or left out");
            return;
        }
    };
    demand(
        tells == tells_secret && answers == has("create", "secret"),
        "`create` must tell `$webhook.secret`, or have `secret` where the service chooses it, and neither where it is the account's",
    );
    let needs_id = ["remove", "renew"]
        .into_iter()
        .any(|step| text(step).contains("{{ $webhook.id }}"));
    demand(
        !needs_id || (has("find", "id") && has("create", "id")),
        "`find` and `create` must have the `id` that is used",
    );
    demand(
        is_there("find") || !needs_id,
        "without `find`, nothing can need an id",
    );
    demand(
        is_there("find") == has("find", "address"),
        "`find` must have `address`",
    );
    demand(
        is_there("renew") == has("create", "expires") && is_there("renew") == has("renew", "expires"),
        "`renew` and `expires` of `create` and `renew` belong together",
    );
    let uses_first = Value::Object(requests.clone())
        .to_string()
        .contains(FIRST_OPENING);
    demand(
        is_there("first") == uses_first,
        "`first` must be there if `$first` is used, and only then",
    );
}

/// All that stands in braces is known when requests are sent.
fn written(requests: &Map<String, Value>, at: &str, problems: &mut Problems) {
    let text = Value::Object(requests.clone()).to_string();
    let mut of_webhook = text.split(WEBHOOK_OPENING).skip(1);
    let is_known = |rest: &str| {
        let name = rest.split_once(" }}").map(|(name, _)| name);
        name.is_some_and(|name| OF_WEBHOOK.contains(&name))
    };
    let openings = [GIVEN_OPENING, WEBHOOK_OPENING, FIRST_OPENING];
    let known: usize = openings.iter().map(|opening| text.matches(opening).count()).sum();
    if !of_webhook.all(is_known) || known != text.matches("{{").count() {
        let known: Vec<String> = OF_WEBHOOK
            .iter()
            .map(|name| format!("`$webhook.{name}`"))
            .collect();
        let message = format!(
            "expressions here can be nothing but `$input.name`, {} and `$first.path`",
            known.join(", ")
        );
        problems.add(at, &message);
    }
}
