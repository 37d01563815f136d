//! Markdown: CommonMark with GitHub's tables, strikethrough, task lists and footnotes, as HTML.
//!
//! What the text brings along of HTML is shown, not obeyed, unless the text is trusted. Source: CommonMark 0.31.

use super::text::text_or_input;
use super::{Context, Emission, NodeResult, Outcome, parameters};
use crate::value::Object;
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};

/// Schemes of links that do no more than lead somewhere.
const SCHEMES: &[&str] = &["http", "https", "mailto", "tel", "sms", "ftp", "geo", "xmpp"];
/// Images that may stand in their URL.
const DATA_IMAGES: &[&str] = &[
    "data:image/png;",
    "data:image/jpeg;",
    "data:image/gif;",
    "data:image/webp;",
];

/// `toHtml`.
pub fn markdown(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    parameters::choice(parameters, "operation", &["toHtml"], "toHtml")?;
    let trusted = parameters::boolean(parameters, "trusted", false)?;
    let text = text_or_input(parameters, context)?;
    let extensions = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_FOOTNOTES;
    let events = Parser::new_ext(&text, extensions);
    let mut out = String::with_capacity(text.len() * 3 / 2);
    match trusted {
        true => html::push_html(&mut out, events),
        false => html::push_html(&mut out, events.map(harmless)),
    }
    Ok(Outcome::Emit(Emission::one(0, out.into())))
}

/// HTML as text, and links that execute nothing.
fn harmless(event: Event<'_>) -> Event<'_> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Event::Text(text),
        Event::Start(Tag::HtmlBlock) => Event::Start(Tag::Paragraph),
        Event::End(TagEnd::HtmlBlock) => Event::End(TagEnd::Paragraph),
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Link {
            link_type,
            dest_url: harmless_url(dest_url, &[]),
            title,
            id,
        }),
        Event::Start(Tag::Image {
            link_type,
            dest_url,
            title,
            id,
        }) => Event::Start(Tag::Image {
            link_type,
            dest_url: harmless_url(dest_url, DATA_IMAGES),
            title,
            id,
        }),
        other => other,
    }
}

/// Nothing in place of a URL whose scheme is not known to be harmless.
fn harmless_url<'a>(url: CowStr<'a>, prefixes: &[&str]) -> CowStr<'a> {
    // Browsers pass over these when they read a scheme.
    let plain: String = url
        .chars()
        .filter(|c| !c.is_control() && !c.is_whitespace())
        .flat_map(char::to_lowercase)
        .collect();
    let scheme = match plain.find([':', '/', '?', '#']) {
        Some(at) if plain[at..].starts_with(':') => &plain[..at],
        _ => return url,
    };
    let harmless = SCHEMES.contains(&scheme) || prefixes.iter().any(|prefix| plain.starts_with(prefix));
    if harmless { url } else { CowStr::Borrowed("") }
}
