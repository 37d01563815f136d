//! The XML of a workbook as a sequence of events, names without their prefixes.

use super::failure::broken;
use crate::failure::Failure;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion};

/// What happens in a document.
pub(super) enum Seen<'a> {
    Start(&'a str, &'a BytesStart<'a>),
    End(&'a str),
    Text(&'a str),
}

/// Hands on what is in a document, in order.
pub(super) fn walk(document: &[u8], see: impl FnMut(Seen<'_>) -> Result<(), Failure>) -> Result<(), Failure> {
    let text = text(document)?;
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    events(reader, see)
}

/// The same for a part of a document, cut where a tag begins: what ends in it may have begun before it.
pub(super) fn walk_part(
    part: &[u8],
    see: impl FnMut(Seen<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let text = text(part)?;
    let mut reader = Reader::from_str(text);
    let config = reader.config_mut();
    config.expand_empty_elements = true;
    config.check_end_names = false;
    config.allow_unmatched_ends = true;
    events(reader, see)
}

fn text(document: &[u8]) -> Result<&str, Failure> {
    let text = str::from_utf8(document).map_err(|_| broken("its XML is not UTF-8"))?;
    Ok(text.strip_prefix('\u{feff}').unwrap_or(text))
}

fn events(
    mut reader: Reader<&[u8]>,
    mut see: impl FnMut(Seen<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    loop {
        let event = reader
            .read_event()
            .map_err(|error| broken(&format!("its XML is damaged ({error})")))?;
        match event {
            Event::Start(start) => see(Seen::Start(local(start.name().into_inner()), &start))?,
            Event::End(end) => see(Seen::End(local(end.name().into_inner())))?,
            Event::Text(text) => see(Seen::Text(&text.xml10_content()))?,
            Event::CData(data) => see(Seen::Text(&data.xml10_content()))?,
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(character)) => see(Seen::Text(character.encode_utf8(&mut [0; 4])))?,
                Ok(None) => match resolve_predefined_entity(&reference) {
                    Some(text) => see(Seen::Text(text))?,
                    None => return Err(broken("its XML has entities of its own")),
                },
                Err(error) => return Err(broken(&format!("its XML is damaged ({error})"))),
            },
            Event::Eof => return Ok(()),
            Event::Empty(_) | Event::Decl(_) | Event::PI(_) | Event::Comment(_) | Event::DocType(_) => {}
        }
    }
}

fn local(name: &str) -> &str {
    name.rsplit_once(':').map_or(name, |(_, local)| local)
}

/// An attribute's value, by its name without a prefix.
pub(super) fn attribute(start: &BytesStart<'_>, name: &str) -> Result<Option<String>, Failure> {
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|error| broken(&format!("its XML is damaged ({error})")))?;
        if local(attribute.key.into_inner()) == name {
            let value = attribute.normalized_value(XmlVersion::Implicit1_0);
            let value = value.map_err(|error| broken(&format!("its XML is damaged ({error})")))?;
            return Ok(Some(value.into_owned()));
        }
    }
    Ok(None)
}
