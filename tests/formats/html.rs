//! Html against cheerio, which reads pages with parse5.

use crate::oracle;
use crate::sandbox::Node;
use serde_json::{Value, json};

const PAGES: &[&str] = &[
    "",
    "<!doctype html><html lang=en><head><meta charset=utf-8><title>T &amp; U</title></head><body class='x y'>b</body></html>",
    "<p>a<p>b<div>c</p>d",
    "<ul><li>1<li>2<ul><li>3</ul><li>4</ul>",
    "<table><tr><td>1<td>2<tr><td>3</table>",
    "<table>x<tr><p>y</table>z",
    "<b><p>a</b>b</p>",
    "<a href=1>x<a href=2>y</a>",
    "<select><option>a<option selected>b</select>",
    "<p title=\"a&quot;b\" data-x='&lt;&notin;&not' id=p>&copy;&#128;&nbsp;&unknown;</p>",
    "<script>if (a < b) { '</p>' }</script><style>p > a {}</style><textarea>\n<b></textarea>",
    "<svg viewBox='0 0 1 1'><circle r=1 /><foreignObject><p>x</foreignObject></svg><math><mi>x</math>",
    "<!-- a --><p><!-- b -->x<br/>y<hr><img src=x alt></p><input disabled value=1>",
    "<template><p>t</template><noscript>n</noscript>",
    "<h1>a</h2><h3>b</h3></h1>",
    "<form><form><input></form>",
    "<DIV CLASS=a ID=b>x</DIV>",
    "<p title='a<b>c' data-x='&lt;i&gt;&amp;lt;&nbsp;'>x</p><script>x = \"<b>\";</script>",
    "<p class='a  b'>x</p><p class=b>y</p><p lang=en-GB>z</p>",
];

fn selectors() -> Value {
    let of = |selector: &str| json!({"selector": selector, "all": true, "html": true});
    let text = |selector: &str| json!({"selector": selector, "all": true});
    let attribute =
        |selector: &str, name: &str| json!({"selector": selector, "all": true, "attribute": name});
    json!({
        "page": of("html"), "paragraphs": of("p"), "items": of("ul > li"), "nested": of("li li"), "cells": of("td:first-child"),
        "next": of("p + p, h1 ~ h3"), "nth": of("tr:nth-child(odd) td"), "not": of("p:not(.a)"), "has": of("li:has(ul)"),
        "is": of(":is(div, p).b"), "prefix": of("[lang|=en]"), "word": of("[class~=b]"), "contains": of("[href*='1']"),
        "bold": text("b"), "headings": text("h1, h3"), "link": text("a"),
        "ids": attribute("[id]", "id"), "titles": attribute("p", "title"), "data": attribute("p", "data-x"),
        "alt": attribute("img", "alt"), "href": attribute("a[href]", "href"), "last": attribute("input:last-of-type", "value"),
    })
}

#[tokio::test]
async fn selectors_find_the_same_in_broken_pages() {
    let mut random = oracle::random(10);
    let mut pages: Vec<String> = PAGES.iter().map(|page| (*page).to_owned()).collect();
    pages.extend(oracle::cases(150).map(|_| soup(&mut random)));
    let cases: Vec<Value> = pages
        .iter()
        .map(|page| json!({"page": page, "selectors": selectors()}))
        .collect();
    let Some(answers) = oracle::ask("html", &cases) else {
        return;
    };
    let node = Node::new("Html", json!({"selectors": selectors()}));
    let mut wrong = Vec::new();
    for (page, expected) in pages.iter().zip(answers) {
        let found = node.run(&json!(page)).await.unwrap();
        for (name, expected) in expected.as_object().unwrap() {
            let is_text =
                selectors()[name].get("html").is_none() && selectors()[name].get("attribute").is_none();
            let found = if is_text {
                without_space(&found[name])
            } else {
                found[name].clone()
            };
            if found != *expected {
                wrong.push(format!("{name} in {page:?}: {found}, cheerio: {expected}"));
            }
        }
    }
    oracle::assert_none(&wrong);
}

/// How text is laid out is heddle's own, so only its characters are compared, without the bullets of lists; the pages'
/// own text has no `-`.
fn without_space(texts: &Value) -> Value {
    let line = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix("- ")
            .unwrap_or(line)
            .replace(char::is_whitespace, "")
    };
    let text = |text: &Value| text.as_str().unwrap().lines().map(line).collect::<String>();
    texts.as_array().unwrap().iter().map(text).collect()
}

/// Tags in no order.
fn soup(random: &mut fastrand::Rng) -> String {
    const TAGS: &[&str] = &[
        "p", "b", "i", "div", "a", "ul", "li", "table", "tr", "td", "h1", "h3", "span", "em", "button",
    ];
    let mut page = String::new();
    for _ in 0..random.u32(3..25) {
        let tag = random.choice(TAGS).unwrap();
        page += &match random.u32(0..7) {
            0 | 1 => format!("<{tag}>"),
            2 => format!("<{tag} class='a b' id={tag}1>"),
            3 | 4 => format!("</{tag}>"),
            5 => random
                .choice([" ", "\n", "&lt;", "&amp", "<br>", "<!-- c -->", "<p lang=en>"])
                .unwrap()
                .to_owned(),
            _ => random.choice(["x", "y z", "é"]).unwrap().to_owned(),
        };
    }
    page
}
