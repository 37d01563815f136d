//! A message as the pattern receives it: `{from, to, cc, replyTo, subject, date, messageId, text, html, headers,
//! attachments}`, decoded from its character sets and encodings.

use super::parts::{Part, Parts};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use mail_parser::{Addr, Address, MimeHeaders};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'m> {
    from: Option<Mailbox<'m>>,
    to: Vec<Mailbox<'m>>,
    cc: Vec<Mailbox<'m>>,
    reply_to: Vec<Mailbox<'m>>,
    subject: Option<&'m str>,
    date: Option<String>,
    message_id: Option<&'m str>,
    text: Option<Cow<'m, str>>,
    html: Option<Cow<'m, str>>,
    /// By name in lower case; a repeated one has its values one after the other, each on a line.
    headers: BTreeMap<String, String>,
    attachments: Vec<Attachment<'m>>,
}

#[derive(Serialize)]
struct Mailbox<'m> {
    name: Option<&'m str>,
    address: &'m str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Attachment<'m> {
    filename: Option<&'m str>,
    content_type: String,
    /// Content-ID, by which HTML refers to the attachment.
    content_id: Option<&'m str>,
    /// Size of the decoded content, in bytes.
    size: usize,
    /// The decoded content, in base64.
    content: String,
}

/// The event of a message, with attachments in base64. `None`: it can't be written as JSON.
pub(super) fn of_message(parts: &Parts<'_>) -> Option<Box<RawValue>> {
    to_raw_value(&event(parts, parts.attachments().map(attachment).collect())).ok()
}

/// The event of a message, to which its attachments are still to be added.
pub(super) fn without_attachments(parts: &Parts<'_>) -> Option<Value> {
    serde_json::to_value(event(parts, Vec::new())).ok()
}

fn event<'m>(parts: &'m Parts<'_>, attachments: Vec<Attachment<'m>>) -> Event<'m> {
    let message = &parts.header;
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in message.headers_raw() {
        let value = value.trim();
        headers
            .entry(name.to_ascii_lowercase())
            .and_modify(|held| {
                held.push('\n');
                held.push_str(value);
            })
            .or_insert_with(|| value.to_owned());
    }
    Event {
        from: mailboxes(message.from()).into_iter().next(),
        to: mailboxes(message.to()),
        cc: mailboxes(message.cc()),
        reply_to: mailboxes(message.reply_to()),
        subject: message.subject(),
        date: message.date().map(mail_parser::DateTime::to_rfc3339),
        message_id: message.message_id(),
        text: parts.text(),
        html: parts.html(),
        headers,
        attachments,
    }
}

fn mailboxes<'m>(addresses: Option<&'m Address<'_>>) -> Vec<Mailbox<'m>> {
    let mailbox = |address: &'m Addr<'_>| {
        Some(Mailbox {
            name: address.name(),
            address: address.address()?,
        })
    };
    addresses
        .into_iter()
        .flat_map(Address::iter)
        .filter_map(mailbox)
        .collect()
}

fn attachment<'m>(part: &'m Part<'_>) -> Attachment<'m> {
    let about = about(part);
    Attachment {
        filename: about.filename,
        content_type: about.content_type,
        content_id: about.content_id,
        size: part.contents().len(),
        content: STANDARD.encode(part.contents()),
    }
}

/// What an attachment says of itself.
pub(super) struct About<'m> {
    pub filename: Option<&'m str>,
    pub content_type: String,
    pub content_id: Option<&'m str>,
}

pub(super) fn about<'m>(part: &'m Part<'_>) -> About<'m> {
    let header = part.header.as_ref();
    let content_type = header.and_then(|header| header.content_type());
    let content_type = content_type.map(|kind| match kind.subtype() {
        Some(subtype) => format!("{}/{subtype}", kind.ctype()),
        None => kind.ctype().to_owned(),
    });
    About {
        filename: header.and_then(|header| header.attachment_name()),
        content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        content_id: header.and_then(|header| header.content_id()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Mail;
    use serde_json::{Value, json};

    const MESSAGE: &str = "Delivered-To: <0123@mail.example.com>\r\n\
        From: =?utf-8?Q?J=C3=BCrgen?= <j@example.org>\r\n\
        To: a@example.com, Team: b@example.com, 0123@mail.example.com;\r\n\
        Subject: =?iso-8859-1?Q?Gr=FC=DFe?=\r\n\
        Message-ID: <one@example.org>\r\n\
        Date: Sat, 21 Nov 2026 09:00:00 +0100\r\n\
        X-Twice: one\r\n\
        X-Twice: two\r\n\
        Content-Type: multipart/mixed; boundary=xx\r\n\r\n\
        --xx\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n\
        Hallo W=E4lder\r\n\
        --xx\r\nContent-Type: image/png\r\nContent-Disposition: attachment; filename=\"dot.png\"\r\n\
        Content-Transfer-Encoding: base64\r\n\r\niVBORw0K\r\n--xx--\r\n";

    #[test]
    fn everything_is_decoded() {
        let mail = Mail::parse(MESSAGE.as_bytes()).unwrap();
        let event: Value = serde_json::from_str(mail.event.get()).unwrap();
        assert_eq!(
            event["from"],
            json!({"name": "Jürgen", "address": "j@example.org"})
        );
        assert_eq!(
            event["to"][2],
            json!({"name": null, "address": "0123@mail.example.com"})
        );
        assert_eq!(event["subject"], "Grüße");
        assert_eq!(event["text"].as_str().unwrap().trim_end(), "Hallo Wälder");
        assert_eq!(event["messageId"], "one@example.org");
        assert_eq!(event["date"], "2026-11-21T09:00:00+01:00");
        assert_eq!(event["headers"]["x-twice"], "one\ntwo");
        assert_eq!(
            event["attachments"],
            json!([{"filename": "dot.png", "contentType": "image/png", "contentId": null, "size": 6, "content": "iVBORw0K"}])
        );
    }

    #[test]
    fn recipients_are_found_once_each() {
        let mail = Mail::parse(MESSAGE.as_bytes()).unwrap();
        assert_eq!(
            mail.recipients(),
            ["0123@mail.example.com", "a@example.com", "b@example.com"]
        );
    }

    #[test]
    fn the_key_is_the_message_id_or_else_the_message() {
        let key = |raw: &str| Mail::parse(raw.as_bytes()).unwrap().key;
        assert_eq!(key(MESSAGE), key(&MESSAGE.replace("Hallo", "Servus")));
        assert_ne!(key(MESSAGE), key(&MESSAGE.replace("<one@", "<two@")));
        let anonymous = MESSAGE.replace("Message-ID", "X-Id");
        assert_ne!(key(&anonymous), key(&anonymous.replace("Hallo", "Servus")));
    }

    #[test]
    fn what_has_no_header_is_no_message() {
        for raw in [&b""[..], b"\r\n\r\n", b"\0\0\0"] {
            assert!(Mail::parse(raw).is_err(), "{raw:?}");
        }
    }
}
