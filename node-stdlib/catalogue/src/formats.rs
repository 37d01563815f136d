//! Nodes for documents of other people's formats.

use crate::content::{Content, Language};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, OUT, Outputs, Parameter, Schema, TEXT_OUT, text_type};

pub(super) const XML: NodeType = text_type(
    "Xml",
    Face::new(
        "XML",
        Icon::CodeXml,
        Group::Formats,
        &["parse", "soap", "feed", "rss", "convert"],
    ),
    "Reads XML as an object with the root element, or writes such an object as XML. An element is the text \
        that it contains; with attributes or elements in it, it is an object of these, in which its own \
        text is `#text` and repeated elements are arrays. Comments and processing instructions are skipped, \
        names keep their namespace prefixes, and no entities are expanded except XML's own five.",
    Outputs::Fixed(&[OUT]),
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["parse", "stringify"]),
            "`parse` gives the value of an XML document; `stringify` a document from an object with one \
                field.",
        )
        .or(r#""parse""#),
        Parameter::optional(
            "value",
            Schema::OneOf(&[Schema::String, Schema::Map(&Schema::Any)]),
            "The text to read or the object to write. Default: the input.",
        )
        .content(Content::Multiline),
        Parameter::optional(
            "attributePrefix",
            Schema::String,
            "The prefix of attribute names in objects. It may be empty: then attributes are read without a \
                prefix, and none are written.",
        )
        .advanced()
        .or(r#""@""#),
        Parameter::optional(
            "array",
            Schema::Array(&Schema::String),
            "For `parse`: names of elements that are arrays even where there is only one of them.",
        )
        .advanced(),
        Parameter::optional(
            "trim",
            Schema::Boolean,
            "For `parse`: trim text. Otherwise its whitespace is kept, except that whitespace which only \
                separates elements is never text.",
        )
        .advanced()
        .or("true"),
        Parameter::optional(
            "indent",
            Schema::Integer { min: 0, max: 10 },
            "For `stringify`: spaces per level; 0 writes everything on one line.",
        )
        .advanced()
        .or("0"),
        Parameter::optional(
            "declaration",
            Schema::Boolean,
            "For `stringify`: whether to begin with the XML declaration.",
        )
        .advanced()
        .or("true"),
    ],
    &[
        Example {
            title: "Read",
            parameters: r#"{"array": ["item"]}"#,
            input: r#""<order id=\"7\"><note>Fish &amp; chips</note><item>cod</item></order>""#,
            output: r#"{"out": {"order": {"@id": "7", "note": "Fish & chips", "item": ["cod"]}}}"#,
        },
        Example {
            title: "Write",
            parameters: r#"{"operation": "stringify", "declaration": false}"#,
            input: r##"{"order": {"@id": 7, "item": ["cod", {"@hot": true, "#text": "chips"}], "note": null}}"##,
            output: r#"{"out": "<order id=\"7\"><item>cod</item><item hot=\"true\">chips</item><note/></order>"}"#,
        },
    ],
);

pub(super) const YAML: NodeType = text_type(
    "Yaml",
    Face::new(
        "YAML",
        Icon::FileText,
        Group::Formats,
        &["yml", "configuration", "parse", "convert"],
    ),
    "Reads YAML 1.2, or writes a value as YAML. Scalars have the types of the core schema: `yes` is text, \
     `1e3` a number; `.inf` and `.nan` become null. Aliases are followed, tags that are not YAML's own are \
     ignored, and keys are text. A bare key `<<` before a mapping or a sequence of mappings adds their \
     fields that are not there yet, as in YAML 1.1; in quotes, or before another value, it is a key like \
     any other, except that an alias of such a value and a sequence of which some are mappings are errors.",
    Outputs::Fixed(&[OUT]),
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["parse", "stringify"]),
            "`parse` gives the value of YAML text; `stringify` the YAML text of a value.",
        )
        .or(r#""parse""#),
        Parameter::optional("value", Schema::Any, "What to read or write. Default: the input."),
        Parameter::optional(
            "all",
            Schema::Boolean,
            "The value is an array of documents, which `---` separates in the text. Without it, reading a text of \
             several documents is an error.",
        )
        .advanced()
        .or("false"),
    ],
    &[
        Example {
            title: "Read",
            parameters: "{}",
            input: r#""defaults: &base\n  retries: 3\nservice:\n  <<: *base\n  name: mail\n  ports: [25, 0x24B]\n""#,
            output: r#"{"out": {"defaults": {"retries": 3}, "service": {"retries": 3, "name": "mail", "ports": [25, 587]}}}"#,
        },
        Example {
            title: "Write",
            parameters: r#"{"operation": "stringify"}"#,
            input: r#"{"name": "mail", "version": "1.10", "hosts": ["a", "b"], "note": "two\nlines"}"#,
            output: r#"{"out": "name: mail\nversion: \"1.10\"\nhosts:\n  - a\n  - b\nnote: |-\n  two\n  lines\n"}"#,
        },
    ],
);

const SELECTED: &[Parameter] = &[
    Parameter::required(
        "selector",
        Schema::String,
        "A CSS selector: `table.prices td:nth-child(2)`.",
    )
    .content(Content::Source(Language::CssSelector)),
    Parameter::optional(
        "attribute",
        Schema::String,
        "The attribute to take; otherwise it is the text.",
    ),
    Parameter::optional("html", Schema::Boolean, "Take the HTML inside the element.").or("false"),
    Parameter::optional(
        "all",
        Schema::Boolean,
        "An array with the results of all matching elements; otherwise the first one's, or null.",
    )
    .or("false"),
];

pub(super) const HTML: NodeType = text_type(
    "Html",
    Face::new(
        "HTML",
        Icon::PanelTop,
        Group::Formats,
        &["web page", "scrape", "extract", "css selector", "text"],
    ),
    "Extracts what CSS selectors find in a page, or turns a page into text. Pages are read as browsers read \
        them, however broken they are; scripts in them are not executed. HTML is written as the HTML \
        standard requires since 2025: `<` and `>` are escaped in attributes too.",
    Outputs::Fixed(&[OUT]),
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["extract", "text"]),
            "`extract` gives an object with what the selectors find; `text` the page as a person reads it: \
                whitespace collapsed, paragraphs separated, list items with `-` or their number, tabs \
                between cells, without scripts, styles and `hidden` elements. `extract` gives the text of \
                elements in the same way.",
        )
        .or(r#""extract""#),
        Parameter::optional("html", Schema::String, "The page. Default: the input.")
            .content(Content::Source(Language::Html)),
        Parameter::optional(
            "selectors",
            Schema::Map(&Schema::Object(SELECTED)),
            "For `extract`: what to take, by its name in the result.",
        ),
    ],
    &[
        Example {
            title: "Extract",
            parameters: r#"{"selectors": {"title": {"selector": "h1"}, "links": {"selector": "a", "attribute": "href", "all": true}, "price": {"selector": ".price"}}}"#,
            input: r#""<h1>Tea <b>&amp;</b> cake</h1><p><a href=\"/tea\">Tea</a> <a href='/cake'>Cake</a>""#,
            output: r#"{"out": {"title": "Tea & cake", "links": ["/tea", "/cake"], "price": null}}"#,
        },
        Example {
            title: "A page as text",
            parameters: r#"{"operation": "text"}"#,
            input: r#""<title>x</title><h2>Menu</h2><ul><li>Tea</li><li>Cake,\n fresh</li></ul><p>Open<br>daily</p><script>1</script>""#,
            output: r#"{"out": "Menu\n\n- Tea\n- Cake, fresh\n\nOpen\ndaily"}"#,
        },
    ],
);

pub(super) const MARKDOWN: NodeType = text_type(
    "Markdown",
    Face::new(
        "Markdown",
        Icon::FileText,
        Group::Formats,
        &["md", "html", "convert", "format", "document"],
    ),
    "Writes Markdown as HTML: CommonMark with GitHub's tables, strikethrough, task lists and footnotes. Cells are aligned \
     by `style`, since HTML no longer has `align`.",
    TEXT_OUT,
    &[
        Parameter::optional("operation", Schema::Enum(&["toHtml"]), "`toHtml` gives the HTML.")
            .or(r#""toHtml""#),
        Parameter::optional("value", Schema::String, "The Markdown. Default: the input.")
            .content(Content::Source(Language::Markdown)),
        Parameter::optional(
            "trusted",
            Schema::Boolean,
            "HTML in the text stays HTML, and links and images may have any scheme. Otherwise HTML is shown \
                as text, and links and images whose scheme is not known to be harmless lead nowhere, so \
                that untrusted text can be shown on a page.",
        )
        .advanced()
        .or("false"),
    ],
    &[
        Example {
            title: "A message",
            parameters: "{}",
            input: r##""# Orders\n\n- [x] *one*\n- [ ] <b>two</b>\n""##,
            output: r#"{"out": "<h1>Orders</h1>\n<ul>\n<li><input disabled=\"\" type=\"checkbox\" checked=\"\"/>\n<em>one</em></li>\n<li><input disabled=\"\" type=\"checkbox\"/>\n&lt;b&gt;two&lt;/b&gt;</li>\n</ul>\n"}"#,
        },
        Example {
            title: "A table",
            parameters: r#"{"value": "| a | b |\n|---|--:|\n| 1 | ~~2~~ |"}"#,
            input: "null",
            output: r#"{"out": "<table><thead><tr><th>a</th><th style=\"text-align: right\">b</th></tr></thead><tbody>\n<tr><td>1</td><td style=\"text-align: right\"><del>2</del></td></tr>\n</tbody></table>\n"}"#,
        },
    ],
);
