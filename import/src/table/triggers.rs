//! Nodes at which runs start.

use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

/// Characters of what stands on one line of a chat's page, and of its other texts.
const LINE_CHARS_MAX: usize = 200;
const TEXT_CHARS_MAX: usize = 4_000;

pub(super) fn manual(_: &Scene<'_>) -> Translation {
    Translation::whole("OnManual", json!({}))
}

pub(super) fn webhook(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let path = node.text(&["path"]).trim_matches('/');
    let mut parameters = json!({"alias": alias(path), "methods": methods(scene)});
    if path.split('/').any(|part| part.starts_with(':')) {
        parameters["path"] = format!("/{path}").into();
    }
    parameters["accept"] = json!(["json", "form", "multipart", "text"]);
    let scheme = match node.choice(&["authentication"], "none") {
        "basicAuth" => "basic",
        "headerAuth" => "header",
        _ => "none",
    };
    parameters["scheme"] = scheme.into();
    if scheme == "header" {
        parameters["tokenHeader"] = "X-Api-Key".into();
    }
    if scheme == "basic" {
        parameters["user"] = "n8n".into();
    }
    let origins = node.text(&["options", "allowedOrigins"]);
    if !origins.is_empty() && !origins.starts_with('=') {
        parameters["cors"] = origins.split(',').map(str::trim).collect();
    }
    match node.choice(&["responseMode"], "onReceived") {
        "lastNode" => parameters["responseMode"] = "sync".into(),
        "onReceived" => parameters["responseMode"] = "async".into(),
        _ => {}
    }
    let answers_at_once = node.choice(&["responseMode"], "onReceived") == "onReceived";
    Translation::whole("OnWebhook", parameters)
        .differs(
            "address",
            "the webhook gets a new address, which is shown when the pattern is deployed: tell the senders",
        )
        .differs_if(
            answers_at_once,
            "response",
            "the sender gets heddle's own answer at once, not n8n's",
        )
        .differs_if(
            scheme != "none",
            "secret",
            "the webhook's secret must be set; the header is `X-Api-Key`, the user `n8n`",
        )
        .differs_if(
            node.choice(&["authentication"], "none") == "jwtAuth",
            "secret",
            "tokens are not checked: set the scheme `jwt` and its keys",
        )
}

fn alias(path: &str) -> String {
    let alias: String = path.chars().filter(|c| !c.is_control()).take(100).collect();
    if alias.is_empty() {
        "webhook".to_owned()
    } else {
        crate::expression::literal(&alias)
    }
}

fn methods(scene: &Scene<'_>) -> Value {
    const KNOWN: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];
    let given = scene.node.parameter(&["httpMethod"]);
    let named: Vec<&str> = match given {
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        other => vec![other.as_str().unwrap_or("GET")],
    };
    let known: Vec<&str> = named.into_iter().filter(|name| KNOWN.contains(name)).collect();
    if known.is_empty() {
        json!(["GET"])
    } else {
        json!(known)
    }
}

/// A cron expression, or why there is none.
fn of_rule(rule: &Value) -> Result<String, String> {
    let number = |name: &str, default: u64| rule.get(name).and_then(Value::as_u64).unwrap_or(default);
    let (minute, hour) = (
        number("triggerAtMinute", 0).min(59),
        number("triggerAtHour", 0).min(23),
    );
    let field = rule.get("field").and_then(Value::as_str).unwrap_or("days");
    let every = |n: u64, most: u64| match n {
        0 | 1 => Ok("*".to_owned()),
        n if n < most && most.is_multiple_of(n) => Ok(format!("*/{n}")),
        n => Err(format!(
            "every {n} {field} does not divide the clock evenly, which cron requires"
        )),
    };
    Ok(match field {
        "minutes" => format!("{} * * * *", every(number("minutesInterval", 5), 60)?),
        "hours" => format!("{minute} {} * * *", every(number("hoursInterval", 1), 24)?),
        "days" if number("daysInterval", 1) == 1 => format!("{minute} {hour} * * *"),
        "weeks" if number("weeksInterval", 1) == 1 => {
            let days = rule.get("triggerAtDay").and_then(Value::as_array);
            let days: Vec<String> = days
                .into_iter()
                .flatten()
                .filter_map(Value::as_u64)
                .map(|day| (day % 7).to_string())
                .collect();
            let days = if days.is_empty() {
                "0".to_owned()
            } else {
                days.join(",")
            };
            format!("{minute} {hour} * * {days}")
        }
        "months" if number("monthsInterval", 1) == 1 => {
            format!(
                "{minute} {hour} {} * *",
                number("triggerAtDayOfMonth", 1).clamp(1, 31)
            )
        }
        "cronExpression" => five(rule.get("expression").and_then(Value::as_str).unwrap_or_default())?,
        "seconds" => return Err("schedules are precise to the minute, not to the second".to_owned()),
        other => return Err(format!("intervals of several {other} can't be written as cron")),
    })
}

/// Bytes of a cron expression.
const CRON_BYTES_MAX: usize = 1_000;

/// n8n's cron may begin with seconds.
fn five(expression: &str) -> Result<String, String> {
    if expression.len() > CRON_BYTES_MAX {
        return Err(format!(
            "the cron expression has more than {CRON_BYTES_MAX} bytes"
        ));
    }
    let parts: Vec<&str> = expression.trim_start_matches('=').split_whitespace().collect();
    let candidate = match parts.as_slice() {
        [_, rest @ ..] if rest.len() == 5 => rest.join(" "),
        parts => parts.join(" "),
    };
    match heddle_compiler::cron_problem(&candidate) {
        None => Ok(candidate),
        Some(problem) => Err(problem.message),
    }
}

fn scheduled(scene: &Scene<'_>, rules: Vec<Result<String, String>>) -> Translation {
    let mut crons: Vec<String> = rules.iter().filter_map(|rule| rule.clone().ok()).collect();
    crons.dedup();
    let refused = rules.into_iter().find_map(Result::err);
    let first = crons.first().cloned();
    let mut parameters = json!({"cron": first.clone().unwrap_or_else(|| "0 * * * *".to_owned())});
    if let Some(zone) = scene.names.zone {
        parameters["timezone"] = zone.into();
    }
    let mut translation = Translation::whole("OnSchedule", parameters)
        .differs_if(
            scene.flow.readers.read(scene.workflow, scene.place),
            "event",
            "the event is `{scheduledAt, firedAt}`, not n8n's fields of the time",
        )
        .differs_if(
            crons.len() > 1,
            "schedules",
            "only the first time is imported; add an OnSchedule for each of the others",
        );
    if let Some(refused) = refused {
        translation = translation.differs("schedule", format!("{refused}; an hourly one takes its place"));
    }
    translation
}

pub(super) fn schedule(scene: &Scene<'_>) -> Translation {
    let rules = scene.node.list(&["rule", "interval"]);
    let rules = rules.iter().map(of_rule).collect();
    scheduled(scene, rules)
}

pub(super) fn cron(scene: &Scene<'_>) -> Translation {
    let rules = scene.node.list(&["triggerTimes", "item"]).iter().map(of_time);
    scheduled(scene, rules.collect())
}

/// A time of the old Cron node, or of a trigger that asks a service.
pub(super) fn of_time(time: &Value) -> Result<String, String> {
    let number = |name: &str, default: u64| time.get(name).and_then(Value::as_u64).unwrap_or(default);
    let (minute, hour) = (number("minute", 0).min(59), number("hour", 14).min(23));
    Ok(
        match time.get("mode").and_then(Value::as_str).unwrap_or("everyDay") {
            "everyMinute" => "* * * * *".to_owned(),
            "everyHour" => format!("{minute} * * * *"),
            "everyDay" => format!("{minute} {hour} * * *"),
            "everyWeek" => {
                let day = time.get("weekday");
                let day = day
                    .and_then(|day| day.as_u64().or_else(|| day.as_str()?.parse().ok()))
                    .unwrap_or(1);
                format!("{minute} {hour} * * {}", day % 7)
            }
            "everyMonth" => format!("{minute} {hour} {} * *", number("dayOfMonth", 1).clamp(1, 31)),
            "everyX" => {
                let unit = time.get("unit").and_then(Value::as_str).unwrap_or("hours");
                every(unit, number("value", 2))?
            }
            "custom" => five(
                time.get("cronExpression")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
            )?,
            other => return Err(format!("the mode `{other}` is not known")),
        },
    )
}

fn every(unit: &str, count: u64) -> Result<String, String> {
    let mut rule = Map::new();
    let name = if unit.starts_with('m') {
        "minutesInterval"
    } else {
        "hoursInterval"
    };
    rule.insert("field".to_owned(), unit.into());
    rule.insert(name.to_owned(), count.into());
    of_rule(&Value::Object(rule))
}

pub(super) fn interval(scene: &Scene<'_>) -> Translation {
    let unit = scene.node.choice(&["unit"], "seconds");
    let count = scene.node.parameter(&["interval"]).as_u64().unwrap_or(1);
    scheduled(scene, vec![every(unit, count)])
}

pub(super) fn call(_: &Scene<'_>) -> Translation {
    Translation::whole("OnCall", json!({})).differs(
        "inputs",
        "the caller's inputs are one object: a caller that passes several items calls once for each",
    )
}

pub(super) fn error(_: &Scene<'_>) -> Translation {
    Translation::whole("OnError", json!({})).differs(
        "event",
        "the event is `{runId, patternId, nodeId, error, eventData}`, not `{execution, workflow}`",
    )
}

pub(super) fn chat(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let mut computed = false;
    let mut parameters = json!({});
    for (parameter, path, default, chars) in [
        ("title", &["options", "title"][..], "Chat", LINE_CHARS_MAX),
        ("description", &["options", "subtitle"][..], "", TEXT_CHARS_MAX),
        ("greeting", &["initialMessages"][..], "", TEXT_CHARS_MAX),
        (
            "placeholder",
            &["options", "inputPlaceholder"][..],
            "",
            LINE_CHARS_MAX,
        ),
    ] {
        let given = node.text(path);
        let text = given.strip_prefix('=').unwrap_or(given);
        let is_computed = given.starts_with('=') && text.contains("{{");
        computed |= is_computed;
        let text = if is_computed || text.trim().is_empty() {
            default
        } else {
            text
        };
        if !text.is_empty() {
            let text: String = text.chars().take(chars).collect();
            parameters[parameter] = crate::expression::plain(&text).into();
        }
    }
    let origins = node.text(&["options", "allowedOrigins"]);
    let is_origin = |origin: &&str| {
        let host = origin
            .strip_prefix("https://")
            .or_else(|| origin.strip_prefix("http://"));
        *origin == "*"
            || host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '{', '?', '#', '@', ' ']))
    };
    let origins: Vec<&str> = origins.split(',').map(str::trim).filter(is_origin).collect();
    if !origins.is_empty() {
        parameters["cors"] = json!(origins);
    }
    let item = json!({
        "sessionId": "{{ $input.body?.sessionId }}", "action": "sendMessage", "chatInput": "{{ $input.body?.message }}",
    });
    Translation::whole("OnChat", parameters)
        .then("Transform", json!({"value": item}), true)
        .differs(
            "address",
            "the chat gets a new address, which is shown when the pattern is deployed; programs send `{message, sessionId}` to it",
        )
        .differs_if(
            computed,
            "texts",
            "computed texts of the chat are not imported: write them out",
        )
        .differs_if(
            node.choice(&["authentication"], "none") != "none",
            "secret",
            "the chat asks for no password: whoever knows its address can write",
        )
        .differs_if(
            node.flag(&["options", "allowFileUploads"], false),
            "files",
            "messages of the chat have no files",
        )
        .differs_if(
            node.text(&["options", "responseMode"]) == "streaming",
            "streaming",
            "the answer comes at once: put a StreamResponse where its parts are made",
        )
}

/// Triggers of services.
pub(super) fn foreign(scene: &Scene<'_>) -> Translation {
    Translation {
        stub: Some(format!(
            "nothing starts runs like n8n's `{}`; start them by hand with its event",
            scene.node.full_type
        )),
        ..manual(scene)
    }
}
