//! The text of a page as a person reads it: space collapsed, paragraphs and lines apart, lists with bullets, cells
//! with tabs between them, nothing of what is not shown. In the manner of `innerText` (WHATWG HTML, section 3.2.7),
//! without styles.

use ego_tree::NodeRef;
use ego_tree::iter::Edge;
use scraper::Node;
use scraper::node::Element;

/// Elements whose content is not shown.
const HIDDEN: &[&str] = &[
    "audio", "canvas", "datalist", "head", "iframe", "math", "noembed", "noframes", "noscript", "object",
    "script", "style", "svg", "template", "video",
];
/// Elements that stand on lines of their own.
const LINES: &[&str] = &[
    "address",
    "article",
    "aside",
    "body",
    "center",
    "dd",
    "details",
    "dialog",
    "div",
    "dt",
    "fieldset",
    "figcaption",
    "footer",
    "form",
    "header",
    "hgroup",
    "legend",
    "li",
    "main",
    "nav",
    "optgroup",
    "option",
    "section",
    "summary",
    "tr",
];
/// Elements with an empty line around them.
const PARAGRAPHS: &[&str] = &[
    "blockquote",
    "dl",
    "figure",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "menu",
    "ol",
    "p",
    "pre",
    "table",
    "ul",
];

/// The text of what is below a node.
pub(super) fn text(node: NodeRef<'_, Node>) -> String {
    let mut writer = Writer::default();
    for edge in node.traverse() {
        match edge {
            Edge::Open(inner) => match inner.value() {
                Node::Text(text) => writer.text(text),
                // What was asked for is shown even if it is of a hidden kind.
                Node::Element(element) => writer.open(element, inner.id() == node.id()),
                _ => {}
            },
            Edge::Close(inner) => {
                if let Node::Element(element) = inner.value() {
                    writer.close(element, inner.id() == node.id());
                }
            }
        }
    }
    writer.out.trim_matches('\n').to_owned()
}

#[derive(Default)]
struct Writer {
    out: String,
    /// Line feeds due before the next text.
    feeds: usize,
    /// A space is due before the next text.
    space: bool,
    hidden: usize,
    preformatted: usize,
    /// Lists that are open, with the number of the last item if they have numbers.
    lists: Vec<Option<u32>>,
    /// What stands before the text of the item that has just begun.
    bullet: String,
    /// Whether the row has a cell already.
    has_cell: bool,
}

impl Writer {
    fn open(&mut self, element: &Element, is_root: bool) {
        let name = element.name();
        if is_hidden(element) && !is_root {
            self.hidden += 1;
        }
        if self.hidden > 0 {
            return;
        }
        self.break_around(name);
        match name {
            "br" => self.line_break(),
            "pre" | "textarea" => self.preformatted += 1,
            "ul" | "menu" => self.lists.push(None),
            "ol" => {
                let start = element.attr("start").and_then(|start| start.parse::<u32>().ok());
                self.lists.push(Some(start.unwrap_or(1).saturating_sub(1)));
            }
            // An item by itself is no list.
            "li" if !is_root => self.item(),
            "tr" => self.has_cell = false,
            "td" | "th" => self.cell(),
            _ => {}
        }
    }

    fn cell(&mut self) {
        if std::mem::replace(&mut self.has_cell, true) {
            self.space = false;
            self.begin();
            self.out.push('\t');
        }
    }

    fn close(&mut self, element: &Element, is_root: bool) {
        if self.hidden > 0 {
            self.hidden -= usize::from(is_hidden(element) && !is_root);
            return;
        }
        match element.name() {
            "pre" | "textarea" => self.preformatted = self.preformatted.saturating_sub(1),
            "ul" | "menu" | "ol" => {
                self.lists.pop();
            }
            "li" => self.bullet.clear(),
            _ => {}
        }
        self.break_around(element.name());
    }

    fn text(&mut self, text: &str) {
        if self.hidden > 0 {
            return;
        }
        if self.preformatted > 0 {
            self.begin();
            return self.out.push_str(text);
        }
        for (index, word) in text.split([' ', '\t', '\n', '\r', '\u{c}']).enumerate() {
            self.space |= index > 0;
            if !word.is_empty() {
                self.begin();
                self.out.push_str(word);
            }
        }
    }

    /// Writes what is due before text.
    fn begin(&mut self) {
        let at_start = self.out.is_empty();
        if self.feeds > 0 && !at_start {
            self.out.extend(std::iter::repeat_n('\n', self.feeds));
        }
        let at_line_start = self.feeds > 0 || at_start || self.out.ends_with(['\n', '\t']);
        if self.space && !at_line_start {
            self.out.push(' ');
        }
        self.out.push_str(&self.bullet);
        self.bullet.clear();
        (self.feeds, self.space) = (0, false);
    }

    fn break_around(&mut self, name: &str) {
        let feeds = if PARAGRAPHS.contains(&name) {
            // A list within a list goes on with it.
            2 - usize::from(!self.lists.is_empty())
        } else {
            usize::from(LINES.contains(&name))
        };
        if feeds > 0 {
            self.feeds = self.feeds.max(feeds);
            self.space = false;
        }
    }

    fn line_break(&mut self) {
        self.begin();
        self.out.push('\n');
    }

    fn item(&mut self) {
        let depth = self.lists.len().saturating_sub(1);
        let bullet = match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                format!("{number}. ")
            }
            _ => "- ".to_owned(),
        };
        self.bullet = "  ".repeat(depth.min(16)) + &bullet;
    }
}

fn is_hidden(element: &Element) -> bool {
    HIDDEN.contains(&element.name()) || element.attr("hidden").is_some()
}
