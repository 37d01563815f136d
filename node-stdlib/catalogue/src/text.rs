//! Nodes for text and formats.

use super::formats::{HTML, MARKDOWN, XML, YAML};
use crate::content::{Content, Language};
use crate::face::{Face, Group};
use crate::icon::Icon;
use crate::node_type::{Example, NodeType, OUT, Outputs, Parameter, Schema, TEXT_OUT, text_type};

/// In the order in which lists show them.
pub const TYPES: &[NodeType] = &[TEMPLATE, REGEX, JSON, CSV, XML, YAML, HTML, MARKDOWN, BASE64, URL];

const TEMPLATE: NodeType = text_type(
    "Template",
    Face::new(
        "Template",
        Icon::TextQuote,
        Group::Text,
        &[
            "text",
            "message",
            "format",
            "interpolate",
            "string",
            "concatenate",
        ],
    ),
    "Text with the values of expressions in it: `Hello {{ $input.name }}!`. Null and missing values are empty, objects \
     and arrays are written as JSON.",
    TEXT_OUT,
    &[Parameter::required(
        "text",
        Schema::String,
        "The text, with `{{ expressions }}` where values go.",
    )
    .content(Content::Multiline)],
    &[Example {
        title: "A message",
        parameters: r#"{"text": "The nightly import has ended."}"#,
        input: "{}",
        output: r#"{"out": "The nightly import has ended."}"#,
    }],
);

const REGEX: NodeType = NodeType {
    needs_engine: true,
    ..text_type(
        "Regex",
        Face::new(
            "Regex",
            Icon::Regex,
            Group::Text,
            &["regular expression", "match", "replace", "extract", "split", "search"],
        ),
        "Searches text with a regular expression, and replaces or splits it. Expressions, positions (in \
            UTF-16 units) and replacements are those of JavaScript. An expression that takes too many steps \
            ends the run at its limits.",
        Outputs::Fixed(&[OUT]),
        &[
            Parameter::required("text", Schema::String, "The text to work on.").content(Content::Multiline),
            Parameter::required(
                "pattern",
                Schema::String,
                "The regular expression, without slashes around it: `(?<year>\\d{4})-(\\d\\d)`.",
            )
            .content(Content::Source(Language::Regex))
            .literal(),
            Parameter::optional(
                "flags",
                Schema::String,
                "Letters: `i` ignores case, `m` lets `^` and `$` stand at the ends of lines, `s` lets `.` match line breaks \
                 too, `g` replaces every match, `u` and `v` read characters instead of UTF-16 units, `y` matches at the \
                 beginning only.",
            )
            .advanced()
            .or(r#""""#),
            Parameter::optional(
                "operation",
                Schema::Enum(&["test", "match", "matchAll", "replace", "split"]),
                "`test` gives true or false. `match` gives the first match as {match, index, captures, \
                 groups}, or null: `captures` are the values of the parentheses in order (null for those \
                 that took no part), `groups` those with names. `matchAll` gives an array of all matches, \
                 `replace` the string with the first match replaced, or with the flag `g` every one, \
                 `split` an array of what lies between the matches, with the captures.",
            )
            .or(r#""match""#),
            Parameter::optional(
                "replacement",
                Schema::String,
                "For `replace`: the replacement for a match. In it, `$&` is the match, `$1` the first \
                    capture, `$<name>` a group, `$$` a dollar sign.",
            )
            .or(r#""""#),
        ],
        &[
            Example {
                title: "All matches, with a named group",
                parameters: r##"{"operation": "matchAll", "pattern": "#(?<id>\\d+)", "text": "Fixes #12, see #7."}"##,
                input: "null",
                output: r##"{"out": [{"match": "#12", "index": 6, "captures": ["12"], "groups": {"id": "12"}}, {"match": "#7", "index": 15, "captures": ["7"], "groups": {"id": "7"}}]}"##,
            },
            Example {
                title: "Replace",
                parameters: r#"{"operation": "replace", "pattern": "(\\w+)@(\\w+)", "flags": "g", "replacement": "$2:$1", "text": "a@b, c@d"}"#,
                input: "null",
                output: r#"{"out": "b:a, d:c"}"#,
            },
        ],
    )
};

const JSON: NodeType = text_type(
    "Json",
    Face::new(
        "JSON",
        Icon::Braces,
        Group::Formats,
        &["parse", "stringify", "object", "convert"],
    ),
    "Reads JSON text, or writes a value as JSON text.",
    Outputs::Fixed(&[OUT]),
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["parse", "stringify"]),
            "`parse` gives the value of JSON text; `stringify` the JSON text of a value.",
        )
        .or(r#""parse""#),
        Parameter::optional("value", Schema::Any, "What to read or write. Default: the input."),
        Parameter::optional(
            "indent",
            Schema::Integer { min: 0, max: 10 },
            "For `stringify`: spaces per level; 0 writes everything on one line.",
        )
        .advanced()
        .or("0"),
    ],
    &[
        Example {
            title: "Read",
            parameters: r#"{"operation": "parse"}"#,
            input: r#""{\"id\": 7, \"tags\": [\"a\"]}""#,
            output: r#"{"out": {"id": 7, "tags": ["a"]}}"#,
        },
        Example {
            title: "Write, indented",
            parameters: r#"{"operation": "stringify", "indent": 2}"#,
            input: r#"{"id": 7}"#,
            output: r#"{"out": "{\n  \"id\": 7\n}"}"#,
        },
    ],
);

const CSV: NodeType = text_type(
    "Csv",
    Face::new(
        "CSV",
        Icon::Table,
        Group::Formats,
        &["spreadsheet", "excel", "comma-separated", "rows", "import", "export"],
    ),
    "Reads comma-separated values (RFC 4180) as rows, or writes rows as such text. Cells are always text when read. \
     A row with fewer cells than there are columns gets empty text for the others; one with more is an error. Rows of a \
     file, such as one that a webhook or a form has received, are given by ConvertFile.",
    Outputs::Fixed(&[OUT]),
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["parse", "stringify"]),
            "`parse` gives an array of rows; `stringify` the text of an array of objects or of arrays, whose lines \
             end with a line feed.",
        )
        .or(r#""parse""#),
        Parameter::optional(
            "value",
            Schema::OneOf(&[Schema::String, Schema::Array(&Schema::Any)]),
            "The text to read or the rows to write. Default: the input.",
        )
        .content(Content::Multiline),
        Parameter::optional(
            "delimiter",
            Schema::String,
            "The one ASCII character between cells: `,`, `;`, a tab, ….",
        )
        .advanced()
        .or(r#"",""#),
        Parameter::optional(
            "header",
            Schema::Boolean,
            "The first line names the columns. Without it, rows are read as arrays unless `columns` names them, and \
             written without a first line of names.",
        )
        .advanced()
        .or("true"),
        Parameter::optional(
            "columns",
            Schema::Array(&Schema::String),
            "Names. Reading with a header: the columns to keep; reading without: what the columns are called. \
             Writing: the columns, in order; default: every key of the objects, in order of appearance.",
        )
        .advanced(),
    ],
    &[
        Example {
            title: "Read",
            parameters: r#"{"operation": "parse", "delimiter": ";"}"#,
            input: r#""name;city\r\nAda;\"London; W1\"\r\nKurt;Brno\r\n""#,
            output: r#"{"out": [{"name": "Ada", "city": "London; W1"}, {"name": "Kurt", "city": "Brno"}]}"#,
        },
        Example {
            title: "Write chosen columns",
            parameters: r#"{"operation": "stringify", "columns": ["id", "note"]}"#,
            input: r#"[{"note": "one, two", "id": 1, "internal": true}, {"id": 2}]"#,
            output: r#"{"out": "id,note\n1,\"one, two\"\n2,\n"}"#,
        },
    ],
);

const BASE64: NodeType = text_type(
    "Base64",
    Face::new(
        "Base64",
        Icon::Binary,
        Group::Formats,
        &["encode", "decode", "binary", "file", "attachment"],
    ),
    "Encodes text as Base64 (RFC 4648) or decodes it. Decoding accepts the URL alphabet too, and text \
        without padding; the decoded text must be UTF-8.",
    TEXT_OUT,
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["encode", "decode"]),
            "`encode` gives the Base64 of text; `decode` the text.",
        )
        .or(r#""encode""#),
        Parameter::optional("value", Schema::String, "The text. Default: the input.")
            .content(Content::Multiline),
        Parameter::optional(
            "urlSafe",
            Schema::Boolean,
            "For `encode`: the alphabet of URLs and file names (`-` and `_`), without padding.",
        )
        .advanced()
        .or("false"),
    ],
    &[
        Example {
            title: "Encode",
            parameters: r#"{"operation": "encode"}"#,
            input: r#""Grüße""#,
            output: r#"{"out": "R3LDvMOfZQ=="}"#,
        },
        Example {
            title: "Decode",
            parameters: r#"{"operation": "decode", "value": "R3LDvMOfZQ"}"#,
            input: "null",
            output: r#"{"out": "Grüße"}"#,
        },
    ],
);

const URL: NodeType = text_type(
    "Url",
    Face::new(
        "URL",
        Icon::Link,
        Group::Formats,
        &["address", "parse", "build", "query string", "link", "encode"],
    ),
    "Parses a URL, or builds one with everything encoded (WHATWG URL Standard).",
    Outputs::Fixed(&[OUT]),
    &[
        Parameter::optional(
            "operation",
            Schema::Enum(&["parse", "build"]),
            "`parse` gives {href, protocol, username, host, hostname, port, pathname, query, hash}, `query` being an \
             object in which a repeated name holds an array; `build` gives the text of such an object.",
        )
        .or(r#""parse""#),
        Parameter::optional(
            "value",
            Schema::OneOf(&[Schema::String, Schema::Map(&Schema::Any)]),
            "For `parse` the URL. For `build` an object with the fields that `parse` gives; `base` (or `href`) is a \
             URL of which the other fields replace parts. Default: the input.",
        ),
    ],
    &[
        Example {
            title: "Parse",
            parameters: r#"{"operation": "parse", "value": "https://api.example.com:8443/v1/users?tag=a&tag=b&q=x%20y#top"}"#,
            input: "null",
            output: r##"{"out": {"href": "https://api.example.com:8443/v1/users?tag=a&tag=b&q=x%20y#top", "protocol": "https:", "username": "", "host": "api.example.com:8443", "hostname": "api.example.com", "port": 8443, "pathname": "/v1/users", "query": {"tag": ["a", "b"], "q": "x y"}, "hash": "#top"}}"##,
        },
        Example {
            title: "Build",
            parameters: r#"{"operation": "build", "value": {"base": "https://api.example.com", "pathname": "/search", "query": {"q": "fish & chips", "page": 2}}}"#,
            input: "null",
            output: r#"{"out": "https://api.example.com/search?q=fish+%26+chips&page=2"}"#,
        },
    ],
);
