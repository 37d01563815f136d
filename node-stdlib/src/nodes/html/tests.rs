//! Html: options, edge cases, errors.

#[path = "../../../tests/support/mod.rs"]
mod support;

use serde_json::{Value, json};
use support::run;

/// What the node gives for a text.
fn given(parameters: &Value, input: &Value) -> Value {
    let left = run("Html", &parameters.to_string(), &input.to_string());
    match serde_json::from_str::<Value>(&left) {
        Ok(left) => left["0"].clone(),
        Err(_) => left.into(),
    }
}

fn extracted(selectors: Value, page: &str) -> Value {
    given(&json!({ "selectors": selectors }), &json!(page))
}

fn readable(page: &str) -> Value {
    given(&json!({"operation": "text", "html": page}), &Value::Null)
}

const PAGE: &str = "<!doctype html><title>Shop</title><ul id=list class='a b'><li data-n=1>One<li data-n=2>Two \
                    <b>bold</b><li>Three</ul><p hidden>secret</p><a HREF='/x?a=1&amp;b=2'>go</a><img alt=''>";

/// What stands in a table where it must not is moved before it by the parser, which made it later.
#[test]
fn elements_come_in_the_order_of_the_page() {
    let page = "<table id=t><tr id=r><p id=p>x</table>";
    for (selector, first, all) in [
        ("[id]", "p", json!(["p", "t", "r"])),
        (":root, p", "", json!(["", "p"])),
    ] {
        let wanted = json!({
            "first": {"selector": selector, "attribute": "id"},
            "all": {"selector": selector, "attribute": "id", "all": true},
        });
        let page = page.replacen("<table", "<html id=''><table", usize::from(first.is_empty()));
        assert_eq!(
            extracted(wanted, &page),
            json!({"first": first, "all": all}),
            "{selector}"
        );
    }
}

#[test]
fn selectors_find_text_attributes_and_html() {
    for (selector, expected) in [
        (json!({"selector": "li"}), json!("One")),
        (
            json!({"selector": "li", "all": true}),
            json!(["One", "Two bold", "Three"]),
        ),
        (
            json!({"selector": "#list.a.b > li:nth-child(2)"}),
            json!("Two bold"),
        ),
        (
            json!({"selector": "li[data-n]", "attribute": "data-n", "all": true}),
            json!(["1", "2"]),
        ),
        (
            json!({"selector": "li", "attribute": "data-n", "all": true}),
            json!(["1", "2"]),
        ),
        (
            json!({"selector": "li:not([data-n])", "attribute": "data-n"}),
            Value::Null,
        ),
        (json!({"selector": "a", "attribute": "href"}), json!("/x?a=1&b=2")),
        (json!({"selector": "A", "attribute": "HREF"}), json!("/x?a=1&b=2")),
        (json!({"selector": "img", "attribute": "alt"}), json!("")),
        (
            json!({"selector": "li:has(b)", "html": true}),
            json!("Two <b>bold</b>"),
        ),
        (
            json!({"selector": "ul, a", "all": true}),
            json!(["- One\n- Two bold\n- Three", "go"]),
        ),
        (json!({"selector": "table"}), Value::Null),
        (json!({"selector": "table", "all": true}), json!([])),
        (json!({"selector": "title"}), json!("Shop")),
        (json!({"selector": "p"}), json!("secret")),
    ] {
        assert_eq!(
            extracted(json!({"it": selector}), PAGE),
            json!({"it": expected}),
            "{selector}"
        );
    }
}

#[test]
fn broken_pages_are_read_as_browsers_do() {
    for (page, html) in [
        ("", "<head></head><body></body>"),
        ("<p>a<p>b", "<head></head><body><p>a</p><p>b</p></body>"),
        (
            "<b>a<i>b</b>c</i>",
            "<head></head><body><b>a<i>b</i></b><i>c</i></body>",
        ),
        (
            "<table><td>a</table>",
            "<head></head><body><table><tbody><tr><td>a</td></tr></tbody></table></body>",
        ),
        (
            "&lt;&notit;&#x80;<x-y a a=1>",
            "<head></head><body>&lt;¬it;€<x-y a=\"\"></x-y></body>",
        ),
        ("\u{feff}<!-- c --><html lang=en>", "<head></head><body></body>"),
    ] {
        let given = extracted(json!({"it": {"selector": "html", "html": true}}), page);
        assert_eq!(given["it"], html, "{page}");
    }
    let deep = "<div>".repeat(300);
    assert_eq!(
        extracted(json!({"it": {"selector": "div div", "all": true}}), &deep)["it"]
            .as_array()
            .map(Vec::len),
        Some(299)
    );
    let failure = readable(&"<b>".repeat(1_001));
    assert_eq!(
        failure,
        "DEPTH_LIMIT: The page is nested more than 1000 levels deep."
    );
}

#[test]
fn what_is_no_selector_is_refused() {
    for (selectors, expected) in [
        (
            json!("h1"),
            "PARAMETER: Parameter `selectors` takes an object whose fields have a `selector`, but it is the string \"h1\".",
        ),
        (
            json!({"a": "h1"}),
            "PARAMETER: Parameter `selectors.a` takes an object with a `selector`, but it is the string \"h1\".",
        ),
        (
            json!({"a": {}}),
            "PARAMETER: Parameter `selectors.a.selector` takes a CSS selector, but it is missing.",
        ),
        (
            json!({"a": {"selector": "h1[", "all": true}}),
            "PARAMETER: Parameter `selectors.a.selector` takes a CSS selector, but `h1[` is not a valid one.",
        ),
        (
            json!({"a": {"selector": ""}}),
            "PARAMETER: Parameter `selectors.a.selector` takes a CSS selector, but `` is not a valid one.",
        ),
        (
            json!({"a": {"selector": "p", "all": 1}}),
            "PARAMETER: Parameter `selectors.a.all` takes true or false, but it is the number 1.",
        ),
        (
            json!({"a": {"selector": "p", "attribute": "x", "html": true}}),
            "PARAMETER: Parameter `selectors.a` has both `attribute` and `html`; an attribute has no HTML.",
        ),
        (
            json!({"a": {"selector": "p".repeat(1_001)}}),
            "PARAMETER: Parameter `selectors.a.selector` takes a CSS selector, but it has more than 1000 bytes.",
        ),
        (
            json!({"a": {"selector": ":is(".repeat(9)}}),
            "PARAMETER: Parameter `selectors.a.selector` takes a CSS selector, but it has brackets more than 8 deep.",
        ),
    ] {
        assert_eq!(extracted(selectors.clone(), PAGE), expected, "{selectors}");
    }
    let failure = given(&json!({}), &json!("<p>"));
    assert!(
        failure
            .as_str()
            .is_some_and(|text| text.starts_with("PARAMETER: Parameter `selectors`")),
        "{failure}"
    );
    let failure = given(&json!({"operation": "text"}), &json!([1]));
    assert!(
        failure
            .as_str()
            .is_some_and(|text| text.starts_with("PARAMETER: This node works on text")),
        "{failure}"
    );
}

#[test]
fn pages_become_readable_text() {
    for (page, expected) in [
        ("", ""),
        ("  a \n b ", "a b"),
        ("a<b>b</b> <i>c</i>", "ab c"),
        ("<p>a</p>\n<p>b</p>", "a\n\nb"),
        ("<div>a</div><div>b<div>c</div></div>", "a\nb\nc"),
        ("a<br>b<br><br>c", "a\nb\n\nc"),
        ("<pre>a\n  b</pre>c", "a\n  b\n\nc"),
        ("<h1>T</h1>x<hr>y", "T\n\nx\n\ny"),
        (
            "<ol start=3><li>a<li>b<ul><li>c</ul><li>d</ol>",
            "3. a\n4. b\n  - c\n5. d",
        ),
        ("<table><tr><th>a<th>b<tr><td><td>2</table>", "a\tb\n\t2"),
        (
            "<head><title>t</title><style>s</style></head><script>1</script><p hidden>h</p><template>x</template>ok",
            "ok",
        ),
        ("<p>a&nbsp;&nbsp;b</p>", "a\u{a0}\u{a0}b"),
        ("<span> a</span><span> b</span>", "a b"),
    ] {
        assert_eq!(readable(page), expected, "{page}");
    }
}
