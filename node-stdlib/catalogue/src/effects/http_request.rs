//! HttpRequest.

use crate::content::{ConnectionKind, Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Category, Example, NodeType, Outputs, Parameter, Port, Schema, ValueType};

/// An hour.
const TIMEOUT_MS_MAX: i64 = 3_600_000;

/// HttpRequest.
pub const TYPE: NodeType = NodeType {
    description: "Calls a URL. Statuses other than 2xx fail the node with the code `HTTP_<status>`, unless \
        `acceptStatuses` lists them. Every request carries an `Idempotency-Key` of its own that stays the \
        same when the node is retried. A `Retry-After` in the response lengthens the wait of the node's \
        `retry`.",
    outputs: Outputs::Fixed(&[Port::new("out", ValueType::Any, "{status, headers, body}, or only the body \
        with `bodyOnly`. With `pagination` the body is the array of all pages' items, `pages` is how many \
        pages were requested, and `more` whether there are others.")]),
    parameters: &[
        Parameter::optional(
            "method",
            Schema::Enum(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
            "HTTP method.",
        )
        .or("\"GET\""),
        Parameter::required(
            "url",
            Schema::String,
            "Address, with http:// or https://; with a connection that has a `baseUrl`, a path below it as well.",
        )
        .content(Content::Url),
        Parameter::optional(
            "baseUrl",
            Schema::String,
            "Address that `url` is a path below, unless the connection has a `baseUrl` of its own. `{apiKey}` in it stands \
             for the connection's key, which is then sent nowhere else.",
        )
        .content(Content::Url)
        .advanced(),
        Parameter::optional("headers", Schema::Map(&Schema::Any), "Headers by name; a list sends several."),
        Parameter::optional(
            "query",
            Schema::Map(&Schema::Any),
            "Query parameters by name, added to the URL's own; a list adds several.",
        ),
        Parameter::optional("body", Schema::Any, "What to send."),
        Parameter::optional(
            "bodyType",
            Schema::Enum(&["json", "form", "multipart", "text", "base64", "file"]),
            "How to send the body. Default: text for a string, `file` for a file, JSON for anything else. `form` and \
             `multipart` take an object; in a multipart body, files and {filename, contentType, base64} are sent as \
             files.",
        ),
        Parameter::optional(
            "auth",
            Schema::OneOf(&[
                Schema::Object(&[Parameter::required(
                    "basic",
                    Schema::Object(&[
                        Parameter::required("user", Schema::String, "User name."),
                        Parameter::required("password", Schema::String, "Password, usually a secret.")
                            .content(Content::Secret),
                    ]),
                    "HTTP Basic.",
                )]),
                Schema::Object(&[Parameter::required("bearer", Schema::String, "Token, usually a secret.")
                    .content(Content::Secret)]),
                Schema::Object(&[Parameter::required(
                    "header",
                    Schema::Object(&[
                        Parameter::required("name", Schema::String, "Header name."),
                        Parameter::required("value", Schema::String, "Header value, usually a secret.")
                            .content(Content::Secret),
                    ]),
                    "A custom header.",
                )]),
            ]),
            "Credentials.",
        )
        .advanced(),
        Parameter::optional(
            "connection",
            Schema::String,
            "Id or name of a connection with credentials, instead of `auth`: a token, user and password, a \
                custom header or query parameter, or OAuth 2.0 client credentials.",
        )
        .content(Content::Connection(&[ConnectionKind::Http])),
        Parameter::optional(
            "timeoutMs",
            Schema::Integer { min: 1, max: TIMEOUT_MS_MAX },
            "Time for the whole request, in milliseconds; of a stream, until the response begins.",
        )
        .content(Content::Duration(TimeUnit::Milliseconds))
        .advanced(),
        Parameter::optional("followRedirects", Schema::Boolean, "Follow up to 10 redirects.").advanced().or("true"),
        Parameter::optional(
            "acceptStatuses",
            Schema::Array(&Schema::Any),
            "Statuses that are not failures: numbers, classes (\"4xx\") or ranges (\"400-404\").",
        )
        .advanced()
        .or("[\"2xx\"]"),
        Parameter::optional(
            "responseType",
            Schema::Enum(&["auto", "json", "text", "base64", "file", "lines", "jsonLines", "events"]),
            "How to read the body. `auto`: JSON if the content type says so, otherwise text, or base64 if \
                it is not text. `file`: the body of a 2xx response becomes a file, whatever its size; others are read \
                as with `auto`. `lines`, `jsonLines` and `events` (server-sent events): the node ends as soon as a 2xx response \
                begins, and its body is a stream that ReadStream reads while it arrives.",
        )
        .advanced()
        .or("\"auto\""),
        Parameter::optional(
            "pagination",
            Schema::Object(&[
                Parameter::required(
                    "type",
                    Schema::Enum(&["link", "cursor", "page"]),
                    "`link`: the header `Link` with `rel=\"next\"`. `cursor`: a field of the body. `page`: numbers, until a \
                     page is empty.",
                ),
                Parameter::optional(
                    "items",
                    Schema::String,
                    "Dotted path to the list in a page's body. Default: the body is the list. A first page without the list is an \
                     error, unless it has null there or the path ends with `?`, for services that leave empty lists out.",
                )
                .content(Content::Path),
                Parameter::optional("cursor", Schema::String, "`cursor`: dotted path to the next cursor in a page's body.")
                    .content(Content::Path),
                Parameter::optional(
                    "parameter",
                    Schema::String,
                    "Query parameter of the cursor or page number. Default: `page` for numbers; a cursor without it is \
                     the next page's URL.",
                )
                .advanced(),
                Parameter::optional(
                    "start",
                    Schema::Integer { min: 0, max: u32::MAX as i64 >> 1 },
                    "`page`: number of the first page.",
                )
                .advanced()
                .or("1"),
                Parameter::optional("maxPages", Schema::Integer { min: 1, max: 1_000 }, "Maximum number of \
                    pages to request.").advanced().or("100"),
            ]),
            "Requests all pages of a list.",
        )
        .advanced(),
        Parameter::optional(
            "failure",
            Schema::PerItem(&Schema::Any),
            "For services that answer 200 to what they refuse: looks at the body, `$item`, and gives the message with which \
             the node fails (code `HTTP_FAILED`), or nothing. With `pagination` at a page that has no list.",
        )
        .content(Content::Path)
        .advanced(),
        Parameter::optional(
            "result",
            Schema::PerItem(&Schema::Any),
            "What is emitted as the body: a part or another form of it, `$item`.",
        )
        .content(Content::Path)
        .advanced(),
        Parameter::optional("bodyOnly", Schema::Boolean, "Emit only the body.").advanced().or("false"),
    ],
    effects: &["http"],
    examples: &[
        Example {
            title: "Look an order up",
            parameters: r#"{"url": "https://api.example.com/orders/{{ $input.id }}", "connection": "shop", "bodyOnly": true}"#,
            input: r#"{"id": "o-1"}"#,
            output: r#"{"out": {"id": "o-1", "total": 12.5}}"#,
        },
        Example {
            title: "All pages of a list",
            parameters: r#"{"url": "https://api.example.com/orders", "query": {"status": "open"}, "bodyOnly": true,
                "pagination": {"type": "page", "items": "orders"}}"#,
            input: "null",
            output: r#"{"out": [{"id": "o-1"}, {"id": "o-2"}, {"id": "o-3"}]}"#,
        },
    ],
    ..NodeType::plain(
        "HttpRequest",
        Category::Effect,
        Face::new(
            "HTTP request",
            Icon::Globe,
            Group::Services,
            &["api call", "rest", "fetch", "get", "post", "curl", "download", "graphql"],
        ),
    )
};
