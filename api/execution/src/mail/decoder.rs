//! Reads a message: describes it from its bytes, decoded from its character sets and encodings. This is done in a process
//! that knows nothing but the message.

use super::message::{self, Attachment, Mailbox, Message, RECIPIENTS_MAX};
use super::parts::{Part, Parts, Refused};
use crate::run::EVENT_BYTES_MAX;
use heddle_runtime::BoundedList;
use mail_parser::{Addr, Address, Message as Header, MimeHeaders};
use std::collections::BTreeSet;

/// Reads a message, in time and memory that its length bounds: what is answered.
pub fn answer(raw: &[u8]) -> Vec<u8> {
    read(raw).unwrap_or_else(message::refusal)
}

fn read(raw: &[u8]) -> Result<Vec<u8>, Refused> {
    let parts = Parts::read(raw)?;
    if !parts.header.headers_raw().any(|(name, _)| is_field_name(name)) {
        return Err(Refused::NoMessage);
    }
    // It may be five times as large as the text that it is made of.
    if parts.html_bytes() > EVENT_BYTES_MAX {
        return Err(Refused::Texts);
    }
    let contents = parts.attachments().map(Part::contents);
    message_of(&parts).answer(contents)
}

/// RFC 5322, section 2.2; the parser takes any line for a field.
fn is_field_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b':')
}

fn message_of(parts: &Parts<'_>) -> Message {
    let header = &parts.header;
    let headers = header
        .headers_raw()
        .map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    Message {
        from: mailboxes(header.from()).next(),
        to: BoundedList(mailboxes(header.to()).collect()),
        cc: BoundedList(mailboxes(header.cc()).collect()),
        reply_to: BoundedList(mailboxes(header.reply_to()).collect()),
        subject: header.subject().map(str::to_owned),
        date: header.date().map(mail_parser::DateTime::to_rfc3339),
        message_id: header.message_id().map(str::to_owned),
        text: parts.text().map(|text| text.into_owned()),
        html: parts.html().map(|html| html.into_owned()),
        headers: BoundedList(headers.collect()),
        attachments: BoundedList(parts.attachments().map(attachment).collect()),
        recipients: BoundedList(recipients(header)),
    }
}

fn mailboxes(addresses: Option<&Address<'_>>) -> impl Iterator<Item = Mailbox> {
    let mailbox = |address: &Addr<'_>| {
        Some(Mailbox {
            name: address.name().map(str::to_owned),
            address: address.address()?.to_owned(),
        })
    };
    addresses.into_iter().flat_map(Address::iter).filter_map(mailbox)
}

/// What the transport added of the recipient comes before what the sender wrote.
fn recipients(header: &Header<'_>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let mut addresses: Vec<String> = Vec::new();
    let traced = ["Delivered-To", "X-Original-To"]
        .into_iter()
        .flat_map(|name| header.header_raw(name));
    let traced = traced.map(|value| value.trim().trim_matches(['<', '>']).to_owned());
    let written = [header.to(), header.cc()]
        .into_iter()
        .flatten()
        .flat_map(Address::iter);
    let written = written.filter_map(|address| address.address()).map(str::to_owned);
    for address in traced.chain(written) {
        if addresses.len() < RECIPIENTS_MAX && seen.insert(address.to_ascii_lowercase()) {
            addresses.push(address);
        }
    }
    addresses
}

fn attachment(part: &Part<'_>) -> Attachment {
    let header = part.header.as_ref();
    let content_type = header.and_then(|header| header.content_type());
    let content_type = content_type.map(|kind| match kind.subtype() {
        Some(subtype) => format!("{}/{subtype}", kind.ctype()),
        None => kind.ctype().to_owned(),
    });
    Attachment {
        filename: header
            .and_then(|header| header.attachment_name())
            .map(str::to_owned),
        content_type: content_type.unwrap_or_else(|| "application/octet-stream".to_owned()),
        content_id: header.and_then(|header| header.content_id()).map(str::to_owned),
        bytes: part.contents().len(),
    }
}
