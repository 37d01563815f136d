//! OnMailbox: watches a mailbox on a mail server, and starts a run for each message that comes.

use super::node::{MAIL_FILES, event, trigger};
use crate::content::{ConnectionKind, Content};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, Parameter, Schema};
use crate::role::Start;

const PARAMETERS: &[Parameter] = &[
    Parameter::required(
        "connection",
        Schema::String,
        "Id or name of a connection to the mail server, by IMAP or POP3.",
    )
    .content(Content::Connection(&[ConnectionKind::Mailbox]))
    .literal(),
    Parameter::optional(
        "mailbox",
        Schema::String,
        "By IMAP: the mailbox, such as `INBOX` or `Archive/2026`.",
    )
    .or("\"INBOX\"")
    .literal(),
    Parameter::optional(
        "afterwards",
        Schema::Enum(&["leave", "seen", "move", "delete"]),
        "What happens to a message once its run is stored: it stays as it is, is marked as read, is moved or is deleted. By POP3, \
         messages stay or are deleted.",
    )
    .or("\"leave\"")
    .literal(),
    Parameter::optional(
        "moveTo",
        Schema::String,
        "The mailbox to which messages are moved, such as `Done`.",
    )
    .literal(),
    MAIL_FILES,
    Parameter::optional(
        "startFrom",
        Schema::Enum(&["now", "beginning"]),
        "The first time: pass over the messages that are already there, or start runs for them as well.",
    )
    .or("\"now\"")
    .literal(),
    Parameter::optional(
        "search",
        Schema::String,
        "By IMAP: which of the new messages start runs, as IMAP's SEARCH writes it, such as `UNSEEN FROM \"shop.example\"`. \
         Default: all.",
    )
    .advanced()
    .literal(),
    Parameter::optional(
        "cron",
        Schema::String,
        "When to look where the server does not tell of new messages by itself: minute, hour, day of the month, month and \
         day of the week.",
    )
    .content(Content::Cron)
    .advanced()
    .or("\"*/5 * * * *\"")
    .literal(),
    Parameter::optional(
        "timezone",
        Schema::String,
        "Time zone of these times, such as `Europe/Berlin`.",
    )
    .content(Content::TimeZone { offsets: false })
    .advanced()
    .or("\"UTC\"")
    .literal(),
];

pub(super) const ON_MAILBOX: NodeType = NodeType {
    effects: &["mail"],
    ..trigger(
        Start::Mailbox,
        Face::new(
            "Mailbox",
            Icon::Mail,
            Group::Triggers,
            &[
                "imap",
                "pop3",
                "email trigger",
                "inbox",
                "new email",
                "read email",
                "gmail",
                "outlook",
            ],
        ),
        "Watches a mailbox on a mail server by IMAP or POP3, and starts one run for each new message.",
        &[event(
            "The e-mail: `{from, to, cc, replyTo, subject, date, messageId, text, html, headers, attachments}`.",
        )],
        PARAMETERS,
        &[Example {
            title: "A message to support",
            parameters: r#"{"connection": "support mailbox", "afterwards": "seen"}"#,
            input: r#"{"from": {"name": "Ann", "address": "ann@example.com"},
                "to": [{"name": null, "address": "support@example.com"}], "cc": [], "replyTo": [],
                "subject": "My order", "date": "2026-03-30T09:00:00+02:00", "messageId": "one@example.com",
                "text": "Where is it?", "html": "<p>Where is it?</p>", "headers": {"subject": "My order"},
                "attachments": []}"#,
            output: r#"{"out": {"from": {"name": "Ann", "address": "ann@example.com"},
                "to": [{"name": null, "address": "support@example.com"}], "cc": [], "replyTo": [],
                "subject": "My order", "date": "2026-03-30T09:00:00+02:00", "messageId": "one@example.com",
                "text": "Where is it?", "html": "<p>Where is it?</p>", "headers": {"subject": "My order"},
                "attachments": []}}"#,
        }],
    )
};
