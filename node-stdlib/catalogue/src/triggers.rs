//! Nodes that start a run.

mod chat;
mod form;
mod mailbox;
mod node;
mod poll;

use crate::content::{Content, TimeUnit};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, Parameter, Schema};
use crate::role::Start;
use node::{MAIL_FILES, event, trigger};

/// Who may send, what, and what becomes of it. Without any of them: a signed POST of JSON.
const WEBHOOK: &[Parameter] = &[
    Parameter::optional(
        "alias",
        Schema::String,
        "A readable name of the webhook, for lists; its URL does not change.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "scheme",
        Schema::Enum(&[
            "heddle",
            "github",
            "stripe",
            "slack",
            "shopify",
            "standard-webhooks",
            "twilio",
            "gitlab",
            "hmac",
            "header",
            "bearer",
            "basic",
            "jwt",
            "none",
        ]),
        "How senders prove who they are, which is checked before a run starts: the signature of a service, one described \
         by `hmac`, the webhook's secret in a header (`header`, `bearer`, `basic`), a JSON Web Token, or `none`: anyone \
         who knows the address can start runs.",
    )
    .or("\"heddle\"")
    .literal(),
    Parameter::optional(
        "tokenHeader",
        Schema::String,
        "With the scheme `header`: the header that has the secret, such as `X-Api-Key`.",
    )
    .literal(),
    Parameter::optional(
        "user",
        Schema::String,
        "With the scheme `basic`: the user's name; the password is the webhook's secret.",
    )
    .literal(),
    Parameter::optional(
        "hmac",
        Schema::Object(HMAC),
        "With the scheme `hmac`: how the sender signs.",
    )
    .literal(),
    Parameter::optional(
        "jwt",
        Schema::Object(JWT),
        "With the scheme `jwt`: which tokens are accepted, in `Authorization: Bearer`. They must not have expired.",
    )
    .literal(),
    Parameter::optional(
        "methods",
        Schema::Array(&Schema::Enum(&["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"])),
        "Methods that start a run. A GET with `challenge` or `hub.challenge` is still answered with its value.",
    )
    .or("[\"POST\"]")
    .literal(),
    Parameter::optional(
        "path",
        Schema::String,
        "What must follow the webhook's address, such as `/orders/:order`; what stands for a name is in `params`.",
    )
    .literal(),
    Parameter::optional(
        "accept",
        Schema::Array(&Schema::Enum(&["json", "form", "multipart", "text", "binary"])),
        "Bodies that are read, by their content type: JSON; the fields of a form; fields and small files; text and XML; \
         any bytes, in base64. Default: `json`, for Twilio `json` and `form`.",
    )
    .literal(),
    Parameter::optional(
        "rawBody",
        Schema::Boolean,
        "Whether the event also has the body as text, in `rawBody`: of JSON, forms and texts.",
    )
    .advanced()
    .or("false")
    .literal(),
    Parameter::optional(
        "files",
        Schema::Boolean,
        "Whether the files of `multipart` and `binary` bodies are stored while they arrive, up to the server's \
         `file_max_bytes`, and the event refers to them. Otherwise they are part of the event, in base64.",
    )
    .or("false")
    .literal(),
    Parameter::optional(
        "cors",
        Schema::Array(&Schema::String),
        "Origins of pages that may send requests from a browser, such as `https://shop.example.com`; `*` for any.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "allowIps",
        Schema::Array(&Schema::String),
        "Addresses and networks of senders, such as `192.0.2.0/24`; all others are refused.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "requestsPerMinute",
        Schema::Integer {
            min: 1,
            max: 100_000,
        },
        "Requests within a minute, from all addresses together; further ones are refused.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "maxBytes",
        Schema::Integer {
            min: 1,
            max: 1_000_000_000,
        },
        "Size of the largest body, in bytes, if it is below the server's limit.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "verification",
        Schema::Enum(&["slack"]),
        "Answers the request by which the sender checks a new address, which starts no run: `slack` answers `url_verification` with \
         its challenge.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "whenPaused",
        Schema::Enum(&["capture", "queue"]),
        "What happens to events while the deployment is paused: they are captured, to be looked at, or each gets a run \
         that starts when it is resumed.",
    )
    .advanced()
    .or("\"capture\"")
    .literal(),
    Parameter::optional(
        "responseMode",
        Schema::Enum(&["auto", "sync", "async"]),
        "Whether the sender waits for the run (`sync`) or gets a response at once (`async`); `auto` \
            waits if a RespondToWebhook can be reached from here.",
    )
    .advanced()
    .or("\"auto\"")
    .literal(),
    Parameter::optional(
        "timeoutMs",
        Schema::Integer { min: 1, max: 600_000 },
        "How long the sender waits at most, in milliseconds.",
    )
    .content(Content::Duration(TimeUnit::Milliseconds))
    .advanced()
    .literal(),
    Parameter::optional(
        "errorDetails",
        Schema::Boolean,
        "Whether a sender that waits for the run is told the whole error when it fails. By default it is told \
         the error's code and node, and the message only of a Throw: other messages can contain addresses \
         and what services have answered.",
    )
    .advanced()
    .or("false")
    .literal(),
];

/// A signature that no scheme describes.
const HMAC: &[Parameter] = &[
    Parameter::required("header", Schema::String, "The header that has the signature.").literal(),
    Parameter::optional(
        "algorithm",
        Schema::Enum(&["sha256", "sha1", "sha512"]),
        "The digest.",
    )
    .or("\"sha256\"")
    .literal(),
    Parameter::optional(
        "encoding",
        Schema::Enum(&["hex", "base64"]),
        "How the signature is written.",
    )
    .or("\"hex\"")
    .literal(),
    Parameter::optional(
        "prefix",
        Schema::String,
        "What stands before the signature in the header, such as `sha256=`.",
    )
    .literal(),
    Parameter::optional(
        "timestampHeader",
        Schema::String,
        "The header with the time of sending, if that is signed before the body; it must be within five minutes. If it is \
         `header` itself, that has both: `t=<time>,v1=<signature>`.",
    )
    .literal(),
    Parameter::optional(
        "separator",
        Schema::String,
        "What is signed between the time and the body.",
    )
    .or("\".\"")
    .literal(),
];

/// Which JSON Web Tokens are accepted.
const JWT: &[Parameter] = &[
    Parameter::optional(
        "algorithm",
        Schema::Enum(&[
            "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384",
            "EdDSA",
        ]),
        "How tokens are signed: `HS…` with the webhook's secret, all others with a key of which `keys` or `keysUrl` has the \
         public part.",
    )
    .or("\"HS256\"")
    .literal(),
    Parameter::optional(
        "keys",
        Schema::Any,
        "The issuer's public keys: a JSON Web Key Set, `{\"keys\": […]}`.",
    )
    .content(Content::Json)
    .literal(),
    Parameter::optional(
        "keysUrl",
        Schema::String,
        "Where the issuer publishes its public keys, such as `https://id.example.com/.well-known/jwks.json`, instead of \
         `keys`. New keys are found by themselves.",
    )
    .literal(),
    Parameter::optional("issuer", Schema::String, "What the claim `iss` must be.").literal(),
    Parameter::optional("audience", Schema::String, "What the claim `aud` must be or contain.").literal(),
];

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[
    trigger(
        Start::Webhook,
        Face::new(
            "Webhook",
            Icon::Webhook,
            Group::Triggers,
            &["http request", "api", "url", "callback", "event", "endpoint"],
        ),
        "Starts a run when an HTTP request arrives at the pattern's webhook. Emits the request, which \
         RespondToWebhook can answer.",
        &[event(
            "The event: `{headers, body, method, query}`; with `path` also `params`, with `rawBody` also `rawBody`, with \
             a JSON Web Token also `claims`.",
        )],
        WEBHOOK,
        &[
            Example {
                title: "The event of a request",
                parameters: r#"{"alias": "orders"}"#,
                input: r#"{"method": "POST", "query": {"source": "shop"}, "headers": {"content-type": "application/json"},
                "body": {"id": "o-1", "total": 12.5}}"#,
                output: r#"{"out": {"method": "POST", "query": {"source": "shop"}, "headers": {"content-type": "application/json"},
                "body": {"id": "o-1", "total": 12.5}}}"#,
            },
            Example {
                title: "The event of a form, sent to a path of its own",
                parameters: r#"{"scheme": "bearer", "accept": ["form"], "path": "/orders/:order", "whenPaused": "queue"}"#,
                input: r#"{"method": "POST", "query": {}, "headers": {"content-type": "application/x-www-form-urlencoded"},
                "body": {"name": "Ann", "colour": ["red", "blue"]}, "params": {"order": "o-1"}}"#,
                output: r#"{"out": {"method": "POST", "query": {}, "headers": {"content-type": "application/x-www-form-urlencoded"},
                "body": {"name": "Ann", "colour": ["red", "blue"]}, "params": {"order": "o-1"}}}"#,
            },
        ],
    ),
    form::ON_FORM,
    chat::ON_CHAT,
    trigger(
        Start::Schedule,
        Face::new(
            "Schedule",
            Icon::Clock,
            Group::Triggers,
            &["cron", "timer", "interval", "every day", "nightly", "recurring"],
        ),
        "Starts a run at the times given by a cron expression.",
        &[event("The event: `{scheduledAt, firedAt}`, both ISO times.")],
        &[
            Parameter::required(
                "cron",
                Schema::String,
                "Minute, hour, day of the month, month and day of the week, such as `0 9 * * 1-5`.",
            )
            .content(Content::Cron)
            .literal(),
            Parameter::optional(
                "timezone",
                Schema::String,
                "Time zone of the expression, such as `Europe/Berlin`.",
            )
            .content(Content::TimeZone { offsets: false })
            .or("\"UTC\"")
            .literal(),
            Parameter::optional(
                "catchUp",
                Schema::Enum(&["one", "none", "all"]),
                "What to do about times that were missed while the service was down: one run for all of \
                    them, none, or one for each.",
            )
            .advanced()
            .or("\"one\"")
            .literal(),
        ],
        &[Example {
            title: "The event of Monday morning",
            parameters: r#"{"cron": "0 9 * * 1-5", "timezone": "Europe/Berlin"}"#,
            input: r#"{"scheduledAt": "2026-03-30T07:00:00.000Z", "firedAt": "2026-03-30T07:00:00.412Z"}"#,
            output: r#"{"out": {"scheduledAt": "2026-03-30T07:00:00.000Z", "firedAt": "2026-03-30T07:00:00.412Z"}}"#,
        }],
    ),
    poll::ON_POLL,
    trigger(
        Start::Manual,
        Face::new(
            "Manual start",
            Icon::Play,
            Group::Triggers,
            &["button", "by hand", "test", "click", "start"],
        ),
        "Starts a run by hand: from the command line, the API or an editor.",
        &[event("The event given at the start.")],
        &[],
        &[Example {
            title: "The event is what was given",
            parameters: r#"{}"#,
            input: r#"{"orderId": "o-1"}"#,
            output: r#"{"out": {"orderId": "o-1"}}"#,
        }],
    ),
    trigger(
        Start::Call,
        Face::new(
            "Called by a pattern",
            Icon::CornerDownRight,
            Group::Triggers,
            &[
                "sub-workflow",
                "subflow",
                "function",
                "input",
                "execute workflow trigger",
            ],
        ),
        "Starts a run when another pattern calls this one. Return gives the caller its value. In a \
            composite node, this is where the input enters.",
        &[event("The caller's inputs, an object by name.")],
        &[],
        &[Example {
            title: "The event is the caller's inputs",
            parameters: r#"{}"#,
            input: r#"{"net": 100}"#,
            output: r#"{"out": {"net": 100}}"#,
        }],
    ),
    trigger(
        Start::Email,
        Face::new(
            "Email received",
            Icon::Mail,
            Group::Triggers,
            &["mail", "inbox", "message", "inbound"],
        ),
        "Starts a run when an email arrives at the pattern's address.",
        &[event(
            "The e-mail: `{from, to, cc, replyTo, subject, date, messageId, text, html, headers, attachments}`.",
        )],
        &[
            MAIL_FILES,
            Parameter::optional(
                "alias",
                Schema::String,
                "A readable name of the address, for lists; the address itself does not change.",
            )
            .advanced()
            .literal(),
        ],
        &[Example {
            title: "The event of a message",
            parameters: r#"{"alias": "support"}"#,
            input: r#"{"from": {"name": "Ann", "address": "ann@example.com"},
                "to": [{"name": null, "address": "support@mail.example.com"}], "cc": [], "replyTo": [],
                "subject": "My order", "date": "2026-03-30T09:00:00+02:00", "messageId": "one@example.com",
                "text": "Where is it?", "html": "<p>Where is it?</p>", "headers": {"subject": "My order"},
                "attachments": [{"filename": "bill.txt", "contentType": "text/plain", "contentId": null, "size": 3,
                    "content": "aGV5"}]}"#,
            output: r#"{"out": {"from": {"name": "Ann", "address": "ann@example.com"},
                "to": [{"name": null, "address": "support@mail.example.com"}], "cc": [], "replyTo": [],
                "subject": "My order", "date": "2026-03-30T09:00:00+02:00", "messageId": "one@example.com",
                "text": "Where is it?", "html": "<p>Where is it?</p>", "headers": {"subject": "My order"},
                "attachments": [{"filename": "bill.txt", "contentType": "text/plain", "contentId": null, "size": 3,
                    "content": "aGV5"}]}}"#,
        }],
    ),
    mailbox::ON_MAILBOX,
    trigger(
        Start::Error,
        Face::new(
            "Run failed",
            Icon::TriangleAlert,
            Group::Triggers,
            &["error trigger", "failure", "exception", "alert", "catch"],
        ),
        "Starts a run when a run of a pattern that names this one as its `errorPatternId` has failed.",
        &[event(
            "What failed: `{runId, patternId, nodeId, error, eventData}`.",
        )],
        &[],
        &[Example {
            title: "The event of a run that a shop's answer has ended",
            parameters: r#"{}"#,
            input: r#"{"runId": "019a9f3c-5b1e-7c3a-9a64-0d2f6c1b7e55", "patternId": "019a9f3a-02d4-7b6e-8f10-4c5e9d3a2b11",
                "nodeId": "pay", "error": {"message": "The server answered 500", "code": "HTTP_500", "nodeId": "pay"},
                "eventData": {"orderId": "o-1"}}"#,
            output: r#"{"out": {"runId": "019a9f3c-5b1e-7c3a-9a64-0d2f6c1b7e55", "patternId": "019a9f3a-02d4-7b6e-8f10-4c5e9d3a2b11",
                "nodeId": "pay", "error": {"message": "The server answered 500", "code": "HTTP_500", "nodeId": "pay"},
                "eventData": {"orderId": "o-1"}}}"#,
        }],
    ),
];
