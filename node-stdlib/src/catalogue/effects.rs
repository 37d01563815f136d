//! Nodes that reach the outside world.

use super::{Category, Example, IN, NodeType, Outputs, Parameter, Port, Schema, ValueType};

const TIMEOUT_MS_MAX: i64 = 3_600_000;

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    NodeType {
        name: "HttpRequest",
        category: Category::Effect,
        description: "Calls a URL. Statuses other than 2xx fail the node with the code `HTTP_<status>`, unless \
                      `acceptStatuses` lists them. Every request carries an `Idempotency-Key` of its own that stays \
                      the same when the node is tried again.",
        inputs: &[IN],
        outputs: Outputs::Fixed(&[Port::new("out", ValueType::Any, "{status, headers, body}, or the body alone with `bodyOnly`.")]),
        parameters: &[
            Parameter::optional(
                "method",
                Schema::Enum(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]),
                "HTTP method.",
            )
            .or("\"GET\""),
            Parameter::required("url", Schema::String, "Address, with http:// or https://."),
            Parameter::optional("headers", Schema::Map(&Schema::Any), "Headers by name; a list gives several."),
            Parameter::optional(
                "query",
                Schema::Map(&Schema::Any),
                "Query parameters by name, added to the URL's own; a list gives several.",
            ),
            Parameter::optional("body", Schema::Any, "What to send."),
            Parameter::optional(
                "bodyType",
                Schema::Enum(&["json", "form", "multipart", "text", "base64"]),
                "How to send the body. Default: text for a string, JSON for anything else. `form` and `multipart` \
                 take an object; a multipart file is {filename, contentType, base64}.",
            ),
            Parameter::optional(
                "auth",
                Schema::OneOf(&[
                    Schema::Object(&[Parameter::required(
                        "basic",
                        Schema::Object(&[
                            Parameter::required("user", Schema::String, "User name."),
                            Parameter::required("password", Schema::String, "Password, usually a secret."),
                        ]),
                        "HTTP Basic.",
                    )]),
                    Schema::Object(&[Parameter::required("bearer", Schema::String, "Token, usually a secret.")]),
                    Schema::Object(&[Parameter::required(
                        "header",
                        Schema::Object(&[
                            Parameter::required("name", Schema::String, "Header name."),
                            Parameter::required("value", Schema::String, "Header value, usually a secret."),
                        ]),
                        "A header of the service's own.",
                    )]),
                ]),
                "Credentials.",
            ),
            Parameter::optional(
                "timeoutMs",
                Schema::Integer { min: 1, max: TIMEOUT_MS_MAX },
                "Time for the whole request, in milliseconds.",
            ),
            Parameter::optional("followRedirects", Schema::Boolean, "Follow up to 10 redirects.").or("true"),
            Parameter::optional(
                "acceptStatuses",
                Schema::Array(&Schema::Any),
                "Statuses that are no failure: numbers, classes (\"4xx\") or ranges (\"400-404\").",
            )
            .or("[\"2xx\"]"),
            Parameter::optional(
                "responseType",
                Schema::Enum(&["auto", "json", "text", "base64"]),
                "How to read the body. `auto`: JSON if the content type says so, otherwise text, or base64 when it \
                 is no text.",
            )
            .or("\"auto\""),
            Parameter::optional("bodyOnly", Schema::Boolean, "Emit only the body.").or("false"),
        ],
        effects: &["http"],
        examples: &[],
    },
    NodeType {
        name: "Log",
        category: Category::Effect,
        description: "Writes a line to the run's log and passes its input through.",
        inputs: &[IN],
        outputs: Outputs::Fixed(&[Port::new("out", ValueType::Any, "The input, unchanged.")]),
        parameters: &[
            Parameter::optional("level", Schema::Enum(&["debug", "info", "warn", "error"]), "Severity.").or("\"info\""),
            Parameter::required("message", Schema::Any, "The text; other values are written as JSON."),
        ],
        effects: &[],
        examples: &[Example {
            title: "Note an order",
            parameters: r#"{"message": "Order {{ $input.id }} came in"}"#,
            input: r#"{"id": "o-1"}"#,
            output: r#"{"out": {"id": "o-1"}}"#,
        }],
    },
];
