//! Markdown: CommonMark with GitHub's tables, strikethrough, task lists and footnotes, as HTML.
//!
//! What the text brings along of HTML is shown, not obeyed, unless the text is trusted. Source: CommonMark 0.31.

use super::parameters;
use super::text::text_or_input;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_values::Object;
use pulldown_cmark::{CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd, html};
use std::borrow::Cow;

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
    // CommonMark, 2.3.
    let text = text.replace('\0', "\u{fffd}");
    let text = with_spaces_after_headings(&text, extensions);
    let events = Parser::new_ext(&text, extensions).into_offset_iter();
    let events = events.map(|(event, range)| with_tabs_apart(event, &text[range]));
    let mut out = String::with_capacity(text.len() * 3 / 2);
    match trusted {
        true => html::push_html(&mut out, events),
        false => html::push_html(&mut out, events.map(harmless)),
    }
    Ok(Outcome::Emit(Emission::one(0, out.into())))
}

/// Tabs at the end of headings, around closing `#` too, as spaces: the parser takes only these off, CommonMark (4.2)
/// wants both off.
fn with_spaces_after_headings(text: &str, extensions: Options) -> Cow<'_, str> {
    if !(text.contains('\t') && text.contains('#')) {
        return Cow::Borrowed(text);
    }
    let mut spaced = text.to_owned();
    for (event, range) in Parser::new_ext(text, extensions).into_offset_iter() {
        if !matches!(event, Event::Start(Tag::Heading { .. })) {
            continue;
        }
        let space = [' ', '\t'];
        let line = text[range.clone()].trim_end_matches(['\r', '\n']);
        let content = line
            .trim_end_matches(space)
            .trim_end_matches('#')
            .trim_end_matches(space);
        let end = &line[content.len()..];
        let start = range.start + content.len();
        spaced.replace_range(start..start + end.len(), &end.replace('\t', " "));
    }
    Cow::Owned(spaced)
}

/// What CommonMark makes of tabs where the parser and the writer make another thing of them: two spaces break a line,
/// tabs don't (6.7); the first word beside a fence ends by a tab too (4.5).
fn with_tabs_apart<'a>(event: Event<'a>, source: &str) -> Event<'a> {
    match event {
        Event::HardBreak => {
            match source.starts_with('\\') || source.trim_end_matches(['\r', '\n']).ends_with("  ") {
                true => Event::HardBreak,
                false => Event::SoftBreak,
            }
        }
        Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) => {
            let language = info.split_ascii_whitespace().next().unwrap_or_default();
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(language.to_owned().into())))
        }
        other => other,
    }
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
