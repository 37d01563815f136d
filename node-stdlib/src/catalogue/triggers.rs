//! Nodes that start a run.

use super::{Category, NodeType, Outputs, Parameter, Port, Schema, ValueType};

const fn event(description: &'static str) -> Port {
    Port::new("out", ValueType::Any, description)
}

const fn trigger(
    name: &'static str,
    description: &'static str,
    outputs: &'static [Port],
    parameters: &'static [Parameter],
) -> NodeType {
    NodeType {
        name,
        category: Category::Trigger,
        description,
        inputs: &[],
        outputs: Outputs::Fixed(outputs),
        parameters,
        effects: &[],
        // A trigger passes the event through; there is nothing to execute.
        examples: &[],
    }
}

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    trigger(
        "OnWebhook",
        "Starts a run when an HTTP request comes to the pattern's webhook. Emits the request, which \
         RespondToWebhook can answer.",
        &[event("The event: `{headers, body, method, query}`.")],
        &[
            Parameter::optional(
                "alias",
                Schema::String,
                "A readable name of the webhook, for lists; its URL does not change.",
            )
            .literal(),
            Parameter::optional(
                "scheme",
                Schema::Enum(&["heddle", "github", "stripe", "slack", "shopify", "standard-webhooks"]),
                "How the sender signs its requests; the signature is checked before a run starts.",
            )
            .or("\"heddle\"")
            .literal(),
            Parameter::optional(
                "responseMode",
                Schema::Enum(&["auto", "sync", "async"]),
                "Whether the sender waits for the run (`sync`) or is answered at once (`async`); `auto` waits if a \
                 RespondToWebhook can be reached from here.",
            )
            .or("\"auto\"")
            .literal(),
            Parameter::optional(
                "timeoutMs",
                Schema::Integer { min: 1, max: 600_000 },
                "How long the sender waits at most, in milliseconds.",
            )
            .literal(),
        ],
    ),
    trigger(
        "OnSchedule",
        "Starts a run at the times that a cron expression says.",
        &[event("The event: `{scheduledAt, firedAt}`, both ISO times.")],
        &[
            Parameter::required(
                "cron",
                Schema::String,
                "Minute, hour, day of the month, month and day of the week, such as `0 9 * * 1-5`.",
            )
            .literal(),
            Parameter::optional(
                "timezone",
                Schema::String,
                "Time zone in which the expression is meant, such as `Europe/Berlin`.",
            )
            .or("\"UTC\"")
            .literal(),
            Parameter::optional(
                "catchUp",
                Schema::Enum(&["one", "none", "all"]),
                "What happens with times that were missed while the service was down: one run for all of them, none, \
                 or one for each.",
            )
            .or("\"one\"")
            .literal(),
        ],
    ),
    trigger(
        "OnManual",
        "Starts a run by hand: from the command line, the API or an editor.",
        &[event("The event that was given with the start.")],
        &[],
    ),
    trigger(
        "OnCall",
        "Starts a run when another pattern calls this one. Return gives the caller its value. In a composite node it \
         is where the input enters.",
        &[event("The inputs that the caller gave, an object by name.")],
        &[],
    ),
    trigger(
        "OnEmail",
        "Starts a run when an e-mail comes to the pattern's address.",
        &[event("The e-mail: `{from, to, subject, text, html, headers, attachments}`.")],
        &[Parameter::optional(
            "alias",
            Schema::String,
            "A readable name of the address, for lists; the address itself does not change.",
        )
        .literal()],
    ),
    trigger(
        "OnError",
        "Starts a run when a run of a pattern that names this one as its `errorPatternId` has failed.",
        &[event("What failed: `{runId, patternId, nodeId, error, eventData}`.")],
        &[],
    ),
];
