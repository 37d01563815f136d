//! Reads and checks the triggers of a service's file.

use super::parameters::parameters;
use super::problems::{Problems, kept};
use super::service::{GIVEN_OPENING, Service, used};
use super::subscription::subscription;
use crate::content::{ConnectionKind, Content};
use crate::effects::HTTP_REQUEST;
use crate::face::{Face, Group};
use crate::fits::fields_fit;
use crate::node_type::{Category, Example, NodeType, Parameter, Schema};
use crate::role::{Role, Start};
use crate::service_trigger::{OF_POLL, OF_WEBHOOK, RecordedStart, ServiceTrigger};
use crate::triggers;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

const TRIGGER: &[&str] = &[
    "type",
    "title",
    "description",
    "reference",
    "words",
    "parameters",
    "webhook",
    "poll",
    "cases",
    "subscription",
    "setup",
    "example",
];
const EXAMPLE: &[&str] = &[
    "parameters",
    "request",
    "response",
    "ids",
    "event",
    "subscription",
];

/// The node type of a trigger.
pub(super) fn node_type(
    service: &Service,
    fields: &Map<String, Value>,
    problems: &mut Problems,
) -> Option<NodeType> {
    let name = problems.text(fields, "type", &service.name);
    let at = name.as_str();
    problems.unknown(fields, TRIGGER, at);
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric());
    if !name.starts_with("On") || !is_name {
        problems.add(at, "`type` must be in PascalCase and begin with `On`");
    }
    let (start, way, passed) = match (fields.contains_key("webhook"), fields.contains_key("poll")) {
        (true, false) => (Start::Webhook, "webhook", OF_WEBHOOK),
        (false, true) => (Start::Poll, "poll", OF_POLL),
        _ => {
            problems.add(at, "exactly one of `webhook` and `poll` must be there");
            return None;
        }
    };
    let base = triggers::TYPES
        .iter()
        .find(|base| base.role == Role::Trigger(start))?;
    let own = parameters(fields.get("parameters"), at, problems);
    let (requests, needs) = subscription(service, fields, &own, at, problems);
    if requests.is_some() && start != Start::Webhook {
        problems.add(at, "`subscription` is nothing but of a `webhook`");
    }
    let trigger = ServiceTrigger {
        requests,
        needs,
        service: service.name.clone(),
        reference: problems.text(fields, "reference", at),
        start,
        settings: problems.object(fields, way, at),
        cases: match fields.contains_key("cases") {
            true => problems.object(fields, "cases", at),
            false => Map::new(),
        },
        defaults: defaults(&own),
        setup: problems.text(fields, "setup", at),
        recorded: recorded(fields, at, problems),
    };
    if start == Start::Poll && service.connection.is_empty() {
        problems.add(at, "the service must say which `connection` it is asked with");
    }
    check(&trigger, &own, at, problems);
    let all = all_parameters(service, base, (own, passed), trigger.requests.is_some());
    if !fields_fit(&all, &given(&trigger)) {
        problems.add(at, "`example.parameters` don't fit the parameters");
    }
    if !fields_fit(base.parameters, &trigger.settings(&given(&trigger))) {
        let message = format!("`{way}` must have parameters of {}", base.name);
        problems.add(at, &message);
    }
    let title = problems.text(fields, "title", at);
    let mut words = service.words.clone();
    words.extend(problems.words(fields, at));
    let description = problems.text(fields, "description", at);
    let event = fields.get("example").and_then(|example| example.get("event"));
    let example = example(&trigger, &title, event.unwrap_or(&Value::Null));
    Some(NodeType {
        description: kept(&format!(
            "{description} {} See [{}]({}).",
            trigger.setup, service.name, trigger.reference
        )),
        inputs: &[],
        outputs: base.outputs,
        parameters: all.leak(),
        role: Role::Trigger(start),
        effects: match trigger.requests {
            Some(_) => HTTP_REQUEST.effects,
            None => base.effects,
        },
        trigger: Some(Box::leak(Box::new(trigger))),
        examples: vec![example].leak(),
        ..NodeType::plain(
            kept(&name),
            Category::Trigger,
            Face::new(
                kept(&format!("{}: {title}", service.name)),
                service.icon,
                Group::Triggers,
                words.leak(),
            ),
        )
    })
}

/// The connection first, then the trigger's own, and last what it has of OnWebhook or OnPoll. All are needed before a run.
fn all_parameters(
    service: &Service,
    base: &NodeType,
    (own, passed): (Vec<Parameter>, &[&str]),
    subscribes: bool,
) -> Vec<Parameter> {
    let of_base = |name: &str| base.parameter(name).copied();
    let (connection, others): (Vec<&str>, Vec<&str>) =
        passed.iter().copied().partition(|name| *name == "connection");
    let connection = connection
        .into_iter()
        .filter_map(of_base)
        .map(|parameter| Parameter {
            required: true,
            description: kept(&format!("Id or name of the connection: {}", service.connection)),
            ..parameter
        });
    let own = own.into_iter().map(Parameter::literal);
    let others = others.into_iter().filter_map(of_base).map(|parameter| Parameter {
        advanced: parameter.name != "cron",
        ..parameter
    });
    let to_subscribe = subscribes.then(|| {
        let description = format!(
            "Id or name of the connection with which this webhook is registered at the service when the pattern is \
             deployed: {} Without it, set the webhook up at the service yourself.",
            service.connection
        );
        Parameter::optional("connection", Schema::String, kept(&description))
            .content(Content::Connection(&[ConnectionKind::Http]))
            .literal()
    });
    connection.chain(to_subscribe).chain(own).chain(others).collect()
}

fn defaults(own: &[Parameter]) -> Map<String, Value> {
    let default = |parameter: &Parameter| {
        let value: Value = serde_json::from_str(parameter.default).ok()?;
        Some((parameter.name.to_owned(), value))
    };
    own.iter().filter_map(default).collect()
}

/// The parameters of the example, with a connection where one is needed.
fn given(trigger: &ServiceTrigger) -> Map<String, Value> {
    let mut given = trigger.recorded.parameters.clone();
    if trigger.start == Start::Poll {
        given.insert("connection".to_owned(), "c".into());
    }
    given
}

/// All parameters are used and no others, and cases are of choices.
fn check(trigger: &ServiceTrigger, own: &[Parameter], at: &str, problems: &mut Problems) {
    let written = Value::Object(trigger.settings.clone()).to_string();
    let cases = Value::Object(trigger.cases.clone()).to_string();
    let requests = trigger.requests.clone().map(Value::Object);
    let requests = requests.map(|requests| requests.to_string()).unwrap_or_default();
    let mut named: BTreeSet<&str> = used(&written).union(&used(&cases)).copied().collect();
    named.extend(used(&requests));
    named.extend(trigger.cases.keys().map(String::as_str));
    let known: BTreeSet<&str> = own.iter().map(|parameter| parameter.name).collect();
    for name in named.symmetric_difference(&known) {
        problems.add(
            at,
            &format!("`{name}` is not both a parameter and used by the trigger"),
        );
    }
    let places = [&written, &cases].map(|text| text.matches("{{").count());
    let whole = [&written, &cases].map(|text| text.matches(GIVEN_OPENING).count());
    if places != whole {
        problems.add(at, "expressions here can be nothing but `{{ $input.name }}`");
    }
    for (name, options) in &trigger.cases {
        let parameter = own.iter().find(|parameter| parameter.name == name);
        let is_choice = parameter.is_some_and(|parameter| match parameter.schema {
            Schema::Enum(words) => options
                .as_object()
                .is_some_and(|options| options.keys().all(|option| words.contains(&option.as_str()))),
            _ => false,
        });
        if !is_choice {
            problems.add(
                at,
                &format!("`cases.{name}` must be an object of what the choice `{name}` can be"),
            );
        }
    }
}

fn recorded(fields: &Map<String, Value>, at: &str, problems: &mut Problems) -> RecordedStart {
    let example = problems.object(fields, "example", at);
    problems.unknown(&example, EXAMPLE, at);
    problems.object(&example, "event", at);
    if fields.contains_key("subscription") != example.contains_key("subscription") {
        problems.add(
            at,
            "`example.subscription` must be there if `subscription` is, and only then",
        );
    }
    let part = |name: &str| example.get(name).cloned().unwrap_or_default();
    RecordedStart {
        parameters: problems.object(&example, "parameters", at),
        request: Value::Object(problems.object(&example, "request", at)),
        response: part("response"),
        ids: part("ids"),
        subscription: part("subscription"),
    }
}

fn example(trigger: &ServiceTrigger, title: &str, event: &Value) -> Example {
    let mut parameters = Map::new();
    if trigger.start == Start::Poll {
        let name = trigger.service.to_lowercase().replace(' ', "-");
        parameters.insert("connection".to_owned(), name.into());
    }
    parameters.extend(trigger.recorded.parameters.clone());
    Example {
        title: kept(title),
        parameters: kept(&Value::Object(parameters).to_string()),
        input: kept(&event.to_string()),
        output: kept(&json!({"out": event}).to_string()),
    }
}
