//! Markdown: options, edge cases, errors.

mod support;

use serde_json::{Value, json};
use support::run;

/// What the node gives for a text.
fn html(parameters: Value, markdown: &str) -> Value {
    let left = run("Markdown", &parameters.to_string(), &json!(markdown).to_string());
    match serde_json::from_str::<Value>(&left) {
        Ok(left) => left["0"].clone(),
        Err(_) => left.into(),
    }
}

#[test]
fn markdown_is_written_as_html() {
    for (markdown, expected) in [
        ("", ""),
        (
            "*a* **b** `c`",
            "<p><em>a</em> <strong>b</strong> <code>c</code></p>\n",
        ),
        ("~~a~~", "<p><del>a</del></p>\n"),
        ("a\0b", "<p>a\u{fffd}b</p>\n"),
        ("`\0`", "<p><code>\u{fffd}</code></p>\n"),
        // Tabs end a heading like spaces, and nothing else.
        (
            "# a\t\n# b \t#\t\n\n> ## c#\t",
            "<h1>a</h1>\n<h1>b</h1>\n<blockquote>\n<h2>c#</h2>\n</blockquote>\n",
        ),
        ("# a\tb \\#\t#", "<h1>a\tb #</h1>\n"),
        ("# &#9;\t", "<h1>\t</h1>\n"),
        ("a\t\t\nb  \nc \t \nd\\\ne", "<p>a\nb<br />\nc\nd<br />\ne</p>\n"),
        ("~~~ a\tb\n~~~", "<pre><code class=\"language-a\"></code></pre>\n"),
        ("    # a\t#\t", "<pre><code># a\t#\t</code></pre>\n"),
        ("1. a\n2. b", "<ol>\n<li>a</li>\n<li>b</li>\n</ol>\n"),
        (
            "```rust\na < b\n```",
            "<pre><code class=\"language-rust\">a &lt; b\n</code></pre>\n",
        ),
        ("[a](/b \"c\")", "<p><a href=\"/b\" title=\"c\">a</a></p>\n"),
        (
            "a[^1]\n\n[^1]: b",
            "<p>a<sup class=\"footnote-reference\"><a href=\"#1\">1</a></sup></p>\n<div class=\"footnote-definition\" id=\"1\"><sup class=\"footnote-definition-label\">1</sup>\n<p>b</p>\n</div>\n",
        ),
    ] {
        assert_eq!(html(json!({}), markdown), expected, "{markdown}");
    }
    assert_eq!(
        html(json!({"value": "a", "operation": "toHtml"}), "b"),
        "<p>a</p>\n"
    );
    let failure = html(json!({"operation": "fromHtml"}), "a");
    assert!(
        failure
            .as_str()
            .is_some_and(|text| text.starts_with("PARAMETER: Parameter `operation`"))
    );
}

#[test]
fn a_strangers_markdown_does_no_harm() {
    for (markdown, expected) in [
        (
            "<script>alert(1)</script>",
            "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>\n",
        ),
        (
            "a <img src=x onerror=alert(1)>",
            "<p>a &lt;img src=x onerror=alert(1)&gt;</p>\n",
        ),
        ("[a](javascript:alert(1))", "<p><a href=\"\">a</a></p>\n"),
        ("[a](JaVa&#x53;cript&colon;alert)", "<p><a href=\"\">a</a></p>\n"),
        (
            "<javascript:alert(1)>",
            "<p><a href=\"\">javascript:alert(1)</a></p>\n",
        ),
        ("[a]\n\n[a]: vbscript:x", "<p><a href=\"\">a</a></p>\n"),
        ("[a](data:text/html,x)", "<p><a href=\"\">a</a></p>\n"),
        (
            "![a](data:image/svg+xml;base64,x)",
            "<p><img src=\"\" alt=\"a\" /></p>\n",
        ),
        (
            "![a](data:image/png;base64,x)",
            "<p><img src=\"data:image/png;base64,x\" alt=\"a\" /></p>\n",
        ),
        (
            "[a](/b:c) [d](?e:f) [g](#h:i)",
            "<p><a href=\"/b:c\">a</a> <a href=\"?e:f\">d</a> <a href=\"#h:i\">g</a></p>\n",
        ),
        (
            "[a](mailto:x@y.z) <HTTPS://x.y>",
            "<p><a href=\"mailto:x@y.z\">a</a> <a href=\"HTTPS://x.y\">HTTPS://x.y</a></p>\n",
        ),
        (
            "[a](/b \"\\\" onclick=\\\"x\")",
            "<p><a href=\"/b\" title=\"&quot; onclick=&quot;x\">a</a></p>\n",
        ),
        (
            "``` \"onclick=x\n```",
            "<pre><code class=\"language-&quot;onclick=x\"></code></pre>\n",
        ),
    ] {
        assert_eq!(html(json!({}), markdown), expected, "{markdown}");
    }
    let trusted = "<b>a</b> [c](javascript:d)";
    assert_eq!(
        html(json!({"trusted": true}), trusted),
        "<p><b>a</b> <a href=\"javascript:d\">c</a></p>\n"
    );
}

#[test]
fn markdown_takes_what_is_huge_and_nested() {
    for nested in [
        "> ".repeat(5_000),
        "[".repeat(20_000),
        "*a ".repeat(20_000),
        "- ".repeat(2_000),
    ] {
        let given = html(json!({}), &nested);
        assert!(
            given.as_str().is_some_and(|text| text.starts_with('<')),
            "{}",
            &nested[..10]
        );
    }
}
