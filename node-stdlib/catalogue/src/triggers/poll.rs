//! OnPoll: asks a service for a list now and then, and starts a run for each thing that is new in it.

use super::node::{event, trigger};
use crate::content::{ConnectionKind, Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, Parameter, Schema};
use crate::role::Start;

const PARAMETERS: &[Parameter] = &[
    Parameter::required(
        "url",
        Schema::String,
        "Address of the list, with http:// or https://; with a connection that has a `baseUrl`, a path below it as well.",
    )
    .content(Content::Url)
    .literal(),
    Parameter::optional(
        "connection",
        Schema::String,
        "Id or name of a connection with credentials.",
    )
    .content(Content::Connection(&[ConnectionKind::Http]))
    .literal(),
    Parameter::optional(
        "cron",
        Schema::String,
        "When to ask: minute, hour, day of the month, month and day of the week, such as `*/15 * * * *`.",
    )
    .content(Content::Cron)
    .or("\"*/5 * * * *\"")
    .literal(),
    Parameter::optional(
        "items",
        Schema::String,
        "Dotted path to the list in the answer. Default: the answer is the list.",
    )
    .content(Content::Path)
    .literal(),
    Parameter::optional(
        "id",
        Schema::String,
        "Dotted path in an element to what tells it from others, such as `id` or `meta.id`. Default: all of it, so that an \
         element that has changed is new.",
    )
    .content(Content::Path)
    .literal(),
    Parameter::optional(
        "as",
        Schema::Enum(&["items", "list"]),
        "`items`: each new element starts a run. `list`: all that are new at one time start one run.",
    )
    .or("\"items\"")
    .literal(),
    Parameter::optional(
        "startFrom",
        Schema::Enum(&["now", "beginning"]),
        "On the first poll: pass over what is already there, or start runs for it as well.",
    )
    .or("\"now\"")
    .literal(),
    Parameter::optional("query", Schema::Map(&Schema::Any), "Query parameters by name, added to the address; a list adds several.")
        .literal(),
    Parameter::optional("method", Schema::Enum(&["GET", "POST"]), "HTTP method.")
        .advanced()
        .or("\"GET\"")
        .literal(),
    Parameter::optional("headers", Schema::Map(&Schema::Any), "Headers by name. Credentials belong in a connection.")
        .advanced()
        .literal(),
    Parameter::optional("body", Schema::Any, "With the method POST: what to send as JSON.")
        .content(Content::Json)
        .advanced()
        .literal(),
    Parameter::optional(
        "table",
        Schema::Boolean,
        "Whether the list is a table: each element is a list of cells, and the first one has the names of the columns. The \
         others become objects of their cells by these names, with `row_number`.",
    )
    .advanced()
    .or("false")
    .literal(),
    Parameter::optional(
        "cursor",
        Schema::String,
        "Dotted path in the answer to what the next request says, such as `next` or, in a list that begins with the \
         newest, `0.updatedAt`.",
    )
    .content(Content::Path)
    .advanced()
    .literal(),
    Parameter::optional(
        "cursorParameter",
        Schema::String,
        "Query parameter in which it says that, such as `since`.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "sinceParameter",
        Schema::String,
        "Query parameter that says since when things are asked for, such as `updated_since`: the time of the last answer less a \
         minute, an ISO time. The event has it as `since`.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "timezone",
        Schema::String,
        "Time zone of the times, such as `Europe/Berlin`.",
    )
    .content(Content::TimeZone { offsets: false })
    .advanced()
    .or("\"UTC\"")
    .literal(),
    Parameter::optional(
        "timeoutMs",
        Schema::Integer { min: 1, max: 60_000 },
        "Time for an answer, in milliseconds.",
    )
    .content(Content::Duration(TimeUnit::Milliseconds))
    .advanced()
    .or("30000")
    .literal(),
];

pub(super) const ON_POLL: NodeType = NodeType {
    effects: &["http"],
    ..trigger(
        Start::Poll,
        Face::new(
            "Poll",
            Icon::RefreshCw,
            Group::Triggers,
            &[
                "new items",
                "check for new",
                "watch",
                "fetch",
                "list",
                "api",
                "interval",
                "every minute",
            ],
        ),
        "Asks a service for a list at regular times, and starts one run for each new element in it, or one for all that are new.",
        &[event(
            "The event: `{item, id, polledAt}`: the element, its id or null, and when it was found, an ISO time. With `as` `list`: \
             `{items, polledAt}`.",
        )],
        PARAMETERS,
        &[
            Example {
                title: "A new order",
                parameters: r#"{"url": "https://api.example.com/orders", "items": "orders", "id": "id"}"#,
                input: r#"{"item": {"id": "o-1", "total": 12.5}, "id": "o-1", "polledAt": "2026-03-30T07:00:00.412Z"}"#,
                output: r#"{"out": {"item": {"id": "o-1", "total": 12.5}, "id": "o-1", "polledAt": "2026-03-30T07:00:00.412Z"}}"#,
            },
            Example {
                title: "All new orders together",
                parameters: r#"{"url": "https://api.example.com/orders", "items": "orders", "id": "id", "as": "list"}"#,
                input: r#"{"items": [{"id": "o-1", "total": 12.5}, {"id": "o-2", "total": 4}], "polledAt": "2026-03-30T07:00:00.412Z"}"#,
                output: r#"{"out": {"items": [{"id": "o-1", "total": 12.5}, {"id": "o-2", "total": 4}], "polledAt": "2026-03-30T07:00:00.412Z"}}"#,
            },
        ],
    )
};
