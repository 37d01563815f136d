//! Triggers of services that send: webhooks, which the service signs.

use super::services::credentials;
use super::subscribing::{self, is_known};
use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

/// Events of a trigger that are named.
const CHOSEN_MAX: usize = 20;
/// Answers of a form by the titles of its questions, as n8n gives them.
const ANSWERS: &str = "{{ Object.fromEntries(($input.body.form_response.answers ?? []).map(answer => \
    [($input.body.form_response.definition.fields.find(field => field.id === answer.field.id) ?? answer.field).title ?? answer.field.id, \
    answer.type === \"choice\" ? (answer.choice.label ?? answer.choice.other) \
    : answer.type === \"choices\" ? answer.choices.labels : answer[answer.type]])) }}";

/// A trigger that a service sends to. What n8n asks it for is said, as the service has to be asked by hand.
fn webhook(scene: &Scene<'_>, kind: &'static str, instructions: &str, chosen: &str) -> Translation {
    let chosen: Vec<&str> = match scene.node.parameter(&[chosen]) {
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().into_iter().collect(),
    };
    let known = chosen.into_iter().filter(|name| is_known(name)).take(CHOSEN_MAX);
    let known: Vec<String> = known.map(|name| format!("`{name}`")).collect();
    let asked = match known.is_empty() {
        true => String::new(),
        false => format!(" (n8n asks for {})", known.join(", ")),
    };
    Translation::whole(kind, json!({})).differs(
        "subscription",
        format!(
            "the service needs the webhook's address, which is shown when the pattern is deployed: {instructions}{asked}"
        ),
    )
}

/// A trigger whose service deploying tells of the webhook, if all is known that it asks for; else as `webhook` has it.
fn subscribed(
    scene: &Scene<'_>,
    kind: &'static str,
    (instructions, chosen): (&str, &str),
    asked: Option<Value>,
) -> Translation {
    let Some(Value::Object(asked)) = asked else {
        return webhook(scene, kind, instructions, chosen);
    };
    let (credential, name) = credentials(scene.node, &scene.node.kind);
    let mut parameters = Map::from_iter([("connection".to_owned(), Value::from(name.as_str()))]);
    parameters.extend(asked);
    let mut translation = Translation::whole(kind, Value::Object(parameters)).differs(
        "subscription",
        "deploying subscribes by itself, with the connection, which must be allowed to manage webhooks there; undeploying ends it",
    );
    translation.connection = Some((credential, name));
    translation
}

/// A trigger of which only a part of the event goes on.
pub(super) fn part(translation: Translation, part: &str) -> Translation {
    translation.then("Transform", json!({"value": part}), true)
}

/// A webhook whose body goes on.
fn body(scene: &Scene<'_>, kind: &'static str, instructions: &str, chosen: &str) -> Translation {
    body_of(webhook(scene, kind, instructions, chosen))
}

fn body_of(translation: Translation) -> Translation {
    part(translation, "{{ $input.body }}")
}

pub(super) fn telegram(scene: &Scene<'_>) -> Translation {
    let instructions = "call the Bot API's `setWebhook` with it, the webhook's secret as `secret_token`, and the kinds of updates";
    body_of(subscribed(
        scene,
        "OnTelegramUpdate",
        (instructions, "updates"),
        subscribing::telegram(scene.node),
    ))
}

pub(super) fn github(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to the repository's webhooks with the content type `application/json`, its events and a secret, and set the same secret here";
    subscribed(
        scene,
        "OnGitHubEvent",
        (instructions, "events"),
        subscribing::github(scene.node),
    )
}

pub(super) fn gitlab(scene: &Scene<'_>) -> Translation {
    let instructions =
        "add it to the project's webhooks with its events and a secret token, and set the same secret here";
    subscribed(
        scene,
        "OnGitLabEvent",
        (instructions, "events"),
        subscribing::gitlab(scene.node),
    )
}

pub(super) fn bitbucket(scene: &Scene<'_>) -> Translation {
    let instructions =
        "add it to the repository's webhooks with its triggers and a secret, and set the same secret here";
    body_of(subscribed(
        scene,
        "OnBitbucketEvent",
        (instructions, "events"),
        subscribing::bitbucket(scene.node),
    ))
}

pub(super) fn stripe(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to Stripe's webhooks with its events, and set the signing secret here";
    body_of(subscribed(
        scene,
        "OnStripeEvent",
        (instructions, "events"),
        subscribing::stripe(scene.node),
    ))
}

pub(super) fn slack(scene: &Scene<'_>) -> Translation {
    let instructions = "set it as the request URL of your Slack app's event subscriptions, with its events, and set the app's signing secret here";
    part(
        webhook(scene, "OnSlackEvent", instructions, "trigger"),
        "{{ $input.body.event }}",
    )
}

pub(super) fn shopify(scene: &Scene<'_>) -> Translation {
    let instructions =
        "add it to the shop's webhooks in the form of JSON with its topic, and set the signing secret here";
    let asked = subscribing::shopify(scene.node);
    let subscribes = asked.is_some();
    body_of(subscribed(
        scene,
        "OnShopifyEvent",
        (instructions, "topic"),
        asked,
    ))
    .differs_if(
        subscribes,
        "secret",
        "the client secret of the Shopify app must be set as the webhook's secret",
    )
}

pub(super) fn woo_commerce(scene: &Scene<'_>) -> Translation {
    let instructions =
        "add it to WooCommerce's webhooks with its topic and a secret, and set the same secret here";
    body_of(subscribed(
        scene,
        "OnWooCommerceEvent",
        (instructions, "event"),
        subscribing::woo_commerce(scene.node),
    ))
}

pub(super) fn linear(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to Linear's webhooks with its kinds of data, and set the signing secret here";
    let asked = subscribing::linear(scene.node);
    let subscribes = asked.is_some();
    body_of(subscribed(
        scene,
        "OnLinearEvent",
        (instructions, "resources"),
        asked,
    ))
    .differs_if(
        subscribes,
        "team",
        "changes in all public teams are sent, not only those in one team",
    )
}

pub(super) fn jira(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to Jira's webhooks with its events and a secret, and set the same secret here";
    body_of(subscribed(
        scene,
        "OnJiraEvent",
        (instructions, "events"),
        subscribing::jira(scene.node),
    ))
}

pub(super) fn calendly(scene: &Scene<'_>) -> Translation {
    let instructions = "create a webhook subscription with it by Calendly's API, with a `signing_key`, and set the same here as the secret";
    body_of(subscribed(
        scene,
        "OnCalendlyEvent",
        (instructions, "events"),
        subscribing::calendly(scene.node),
    ))
}

pub(super) fn click_up(scene: &Scene<'_>) -> Translation {
    let instructions = "create a webhook with it by ClickUp's API, and set the `secret` of the answer here";
    body_of(subscribed(
        scene,
        "OnClickUpEvent",
        (instructions, "events"),
        subscribing::click_up(scene.node),
    ))
}

pub(super) fn webflow(scene: &Scene<'_>) -> Translation {
    let instructions =
        "create a webhook with it by Webflow's API, and set the `secretKey` of the answer here";
    body(scene, "OnWebflowEvent", instructions, "event")
}

pub(super) fn gumroad(scene: &Scene<'_>) -> Translation {
    let instructions = "set it as the ping endpoint in Gumroad's advanced settings";
    body(scene, "OnGumroadSale", instructions, "resource")
}

pub(super) fn pipedrive(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to Pipedrive's webhooks with its event, the HTTP auth username `pipedrive`, and the secret from here as the password";
    body_of(subscribed(
        scene,
        "OnPipedriveEvent",
        (instructions, "entity"),
        subscribing::pipedrive(scene.node),
    ))
    .differs(
        "event",
        "the event is as Pipedrive's second version of webhooks has it: `data` and `previous`, not `current`",
    )
}

pub(super) fn whats_app(scene: &Scene<'_>) -> Translation {
    let instructions = "set it as the callback URL of the product WhatsApp of your Meta app, subscribe to its fields, and set the app secret here";
    part(
        webhook(scene, "OnWhatsAppMessage", instructions, "updates"),
        "{{ $input.body.entry.flatMap(entry => entry.changes).map(change => ({ ...change.value, field: change.field })) }}",
    )
}

pub(super) fn facebook(scene: &Scene<'_>) -> Translation {
    let instructions = "set it as the callback URL of the product Webhooks of your Meta app, subscribe to its fields, and set the app secret here";
    part(
        webhook(scene, "OnFacebookEvent", instructions, "fields"),
        "{{ $input.body.entry }}",
    )
}

pub(super) fn jotform(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to the form's webhooks in its integrations";
    let answers = "{{ JSON.parse($input.body.rawRequest ?? \"{}\") }}";
    part(
        webhook(scene, "OnJotformSubmission", instructions, "form"),
        answers,
    )
    .differs(
        "answers",
        "the answers have Jotform's own names (`q3_name`), not the texts of the questions",
    )
}

pub(super) fn typeform(scene: &Scene<'_>) -> Translation {
    let instructions = "add it to the form's webhooks with a secret, and set the same secret here";
    let webhook = subscribed(
        scene,
        "OnTypeformResponse",
        (instructions, "formId"),
        subscribing::typeform(scene.node),
    );
    let simple = scene.node.flag(&["simplifyAnswers"], true) && scene.node.flag(&["onlyAnswers"], true);
    part(
        webhook,
        if simple {
            ANSWERS
        } else {
            "{{ $input.body.form_response }}"
        },
    )
}
