//! A message as the pattern receives it: `{from, to, cc, replyTo, subject, date, messageId, text, html, headers,
//! attachments}`. Knows nothing of how a message is read.

use super::message::{Mailbox, Message, Read, fits};
use super::parts::Refused;
use crate::run::EVENT_BYTES_MAX;
use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::{Serialize, Serializer};
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Event<'m, A> {
    from: Option<&'m Mailbox>,
    to: &'m [Mailbox],
    cc: &'m [Mailbox],
    reply_to: &'m [Mailbox],
    subject: Option<&'m str>,
    date: Option<&'m str>,
    message_id: Option<&'m str>,
    text: Option<&'m str>,
    html: Option<&'m str>,
    /// By name in lower case; a repeated one has its values one after the other, each on a line.
    headers: BTreeMap<String, String>,
    attachments: Vec<A>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Inside<'m> {
    filename: Option<&'m str>,
    content_type: &'m str,
    content_id: Option<&'m str>,
    /// Size of the decoded content, in bytes.
    size: usize,
    /// The decoded content, in base64.
    content: Base64<'m>,
}

/// Bytes that are base64 only where they are written, or counted.
struct Base64<'m>(&'m [u8]);

impl Serialize for Base64<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&Base64Display::new(self.0, &STANDARD))
    }
}

/// The event of a message, with its attachments inside, in base64.
pub(super) fn whole(read: &Read) -> Result<Box<RawValue>, Refused> {
    let attachments = read.message.attachments.0.iter().zip(&read.contents);
    let attachments = attachments.map(|(attachment, content)| Inside {
        filename: attachment.filename.as_deref(),
        content_type: &attachment.content_type,
        content_id: attachment.content_id.as_deref(),
        size: content.len(),
        content: Base64(content),
    });
    of(&read.message, attachments.collect())
}

/// The event of a message with these in place of its attachments. No run can begin with one that is larger than events may be, and a
/// message may be many times as large as an event, so that it is counted before it is there.
pub(super) fn of<A: Serialize>(message: &Message, attachments: Vec<A>) -> Result<Box<RawValue>, Refused> {
    let event = event(message, attachments);
    if !fits(&event, EVENT_BYTES_MAX) {
        return Err(Refused::Event);
    }
    to_raw_value(&event).map_err(|_| Refused::Event)
}

/// Whether there is room in an event for a message whose attachments are elsewhere.
pub(super) fn check(message: &Message) -> Result<(), Refused> {
    match fits(&event(message, Vec::<()>::new()), EVENT_BYTES_MAX) {
        true => Ok(()),
        false => Err(Refused::Event),
    }
}

fn event<A>(message: &Message, attachments: Vec<A>) -> Event<'_, A> {
    let mut headers: BTreeMap<String, String> = BTreeMap::new();
    for (name, value) in &message.headers.0 {
        headers
            .entry(name.to_ascii_lowercase())
            .and_modify(|held| {
                held.push('\n');
                held.push_str(value);
            })
            .or_insert_with(|| value.clone());
    }
    Event {
        from: message.from.as_ref(),
        to: &message.to.0,
        cc: &message.cc.0,
        reply_to: &message.reply_to.0,
        subject: message.subject.as_deref(),
        date: message.date.as_deref(),
        message_id: message.message_id.as_deref(),
        text: message.text.as_deref(),
        html: message.html.as_deref(),
        headers,
        attachments,
    }
}

#[cfg(test)]
mod tests {
    use super::super::decoder;
    use super::super::message::{self, RECIPIENTS_MAX};
    use super::super::received::Mail;
    use super::*;
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

    fn read(raw: &str) -> Read {
        let read = message::read(decoder::answer(raw.as_bytes())).unwrap();
        read.unwrap_or_else(|refused| panic!("{refused}"))
    }

    fn mail(raw: &str) -> Mail {
        let mail = Mail::of_answer(decoder::answer(raw.as_bytes()), raw.as_bytes()).unwrap();
        mail.unwrap_or_else(|refused| panic!("{refused}"))
    }

    #[test]
    fn everything_is_decoded() {
        let event: Value = serde_json::from_str(whole(&read(MESSAGE)).unwrap().get()).unwrap();
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
        assert_eq!(
            mail(MESSAGE).recipients(),
            ["0123@mail.example.com", "a@example.com", "b@example.com"]
        );
        let many: String = (0..200)
            .map(|number| format!("<{number}@example.com>, "))
            .collect();
        let many = mail(&format!("To: {many}\r\n\r\nHi"));
        assert_eq!(many.recipients().len(), RECIPIENTS_MAX);
    }

    #[test]
    fn the_key_is_the_message_id_or_else_the_message() {
        let key = |raw: &str| mail(raw).key().to_owned();
        assert_eq!(key(MESSAGE), key(&MESSAGE.replace("Hallo", "Servus")));
        assert_ne!(key(MESSAGE), key(&MESSAGE.replace("<one@", "<two@")));
        let anonymous = MESSAGE.replace("Message-ID", "X-Id");
        assert_ne!(key(&anonymous), key(&anonymous.replace("Hallo", "Servus")));
    }

    #[test]
    fn what_would_be_too_large_an_event_is_refused() {
        let bytes = |raw: String| crate::mail::answered(decoder::answer(raw.as_bytes())).unwrap();
        let of_body = |body: String| bytes(format!("From: a@example.org\r\n\r\n{body}"));
        for (character, most, too_many) in [
            ("\u{1}", 1_390_000, 1_400_000),
            ("\n", 2_390_000, 2_400_000),
            ("<", 3_350_000, 3_360_000),
        ] {
            assert!(
                of_body(character.repeat(most)).unwrap() <= EVENT_BYTES_MAX,
                "{character:?}"
            );
            assert_eq!(
                of_body(character.repeat(too_many)),
                Err(Refused::Event),
                "{character:?}"
            );
        }
        // The process that reads it does not even make so much of it.
        assert_eq!(of_body("\n".repeat(9_000_000)), Err(Refused::Texts));
    }

    #[test]
    fn what_attachments_are_as_files_takes_no_room_in_an_event() {
        let header = "Subject: x\r\nContent-Type: image/png\r\nContent-Disposition: attachment\r\n\r\n";
        let read = read(&format!("{header}{}", "x".repeat(13 << 20)));
        assert_eq!(whole(&read).err(), Some(Refused::Event));
        assert_eq!(check(&read.message), Ok(()));
    }

    #[test]
    fn what_has_no_header_is_no_message() {
        for raw in [&b""[..], b"\r\n\r\n", b"\0\0\0"] {
            let read = message::read(decoder::answer(raw)).unwrap();
            assert!(matches!(read, Err(Refused::NoMessage)), "{raw:?}");
        }
    }
}
