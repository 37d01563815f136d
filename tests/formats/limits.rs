//! What is huge, deep or hostile fails its node or its run, within the sandbox's own stack and limits.

use crate::sandbox::Node;
use serde_json::{Value, json};

#[tokio::test]
async fn nesting_stops_before_the_stack_does() {
    let open = |text: &str, levels: usize| text.repeat(levels);
    let deepest = format!("{}{}", open("<a>", 512), open("</a>", 512));
    let xml = Node::new("Xml", json!({}));
    let written = there_and_back("Xml").run(&json!(deepest)).await.unwrap();
    let declaration = r#"<?xml version="1.0" encoding="UTF-8"?>"#;
    assert_eq!(
        written,
        format!("{declaration}{}<a/>{}", open("<a>", 511), open("</a>", 511))
    );
    let yaml = Node::new("Yaml", json!({}));
    let deepest = open("- ", 511) + "x: z\n";
    assert_eq!(
        there_and_back("Yaml").run(&json!(deepest)).await,
        Ok(json!(deepest))
    );
    let jwt = Node::new("Jwt", json!({"operation": "decode"}));
    for (node, text) in [
        (&xml, open("<a>", 100_000)),
        (&xml, open("<a b='1'>", 513)),
        (&yaml, open("- ", 100_000)),
        (&yaml, open("[", 100_000)),
        (&yaml, open("{a: ", 100_000)),
        (&yaml, open("? ", 100_000)),
        (&yaml, open("!a ", 100_000)),
        (&jwt, open("a.", 100_000)),
    ] {
        let failure = node.run(&json!(text)).await.unwrap_err();
        assert!(
            failure.starts_with("DEPTH_LIMIT: ") || failure.starts_with("PARSE: "),
            "{failure}"
        );
    }
}

/// Reads a text and writes the value.
fn there_and_back(node_type: &str) -> Node {
    let write = json!({"operation": "stringify"});
    Node::of(&json!({
        "nodes": [
            { "id": "start", "type": "OnManual" },
            { "id": "read", "type": node_type },
            { "id": "write", "type": node_type, "data": { "parameters": write } },
            { "id": "end", "type": "Return" },
        ],
        "edges": [
            { "source": "start", "target": "read" }, { "source": "read", "target": "write" },
            { "source": "write", "target": "end" },
        ],
    }))
}

/// Either there is a result, or the run has used its fuel; no trap, no overflow.
#[tokio::test]
async fn pages_and_texts_may_be_nested_as_they_like() {
    let selector = "div ".repeat(200);
    let selectors =
        json!({"a": {"selector": selector}, "b": {"selector": ":is(:not(:has(:is(p))))", "all": true}});
    let html = Node::new("Html", json!({ "selectors": selectors }));
    let text = Node::new("Html", json!({"operation": "text"}));
    let markdown = Node::new("Markdown", json!({}));
    for nested in ["<div>", "<b>", "<table><td>", "<svg>", "<ul><li>", "<a><p>"] {
        for node in [&html, &text] {
            within_limits(nested, node.run(&json!(nested.repeat(3_000))).await);
        }
    }
    for nested in [
        "> ", "- ", "[", "*a ", "`a", "<b>", "![a](", "1. ", "&lt;", "| a ",
    ] {
        within_limits(nested, markdown.run(&json!(nested.repeat(3_000))).await);
    }
}

fn within_limits(nested: &str, result: Result<Value, String>) {
    if let Err(failure) = result {
        assert!(
            ["OUT_OF_FUEL: ", "OUT_OF_MEMORY: ", "DEPTH_LIMIT: "]
                .iter()
                .any(|code| failure.starts_with(code)),
            "{nested}: {failure}"
        );
    }
}

#[tokio::test]
async fn bombs_do_not_go_off() {
    let laughs: String = (1..12)
        .map(|level| {
            format!(
                "l{level}: &l{level} [{}]\n",
                vec![format!("*l{}", level - 1); 10].join(", ")
            )
        })
        .collect();
    let yaml = Node::new("Yaml", json!({}));
    let failure = yaml
        .run(&json!(format!("l0: &l0 lol\n{laughs}")))
        .await
        .unwrap_err();
    assert!(
        failure.starts_with("PARSE: The text has aliases that repeat more than 8 MiB"),
        "{failure}"
    );
    let entities: String = (1..12)
        .map(|level| format!("<!ENTITY l{level} '{}'>", format!("&l{};", level - 1).repeat(10)))
        .collect();
    let xml = Node::new("Xml", json!({}));
    let bomb = format!("<!DOCTYPE a [<!ENTITY l0 'lol'>{entities}]><a>&l11;</a>");
    let failure = xml.run(&json!(bomb)).await.unwrap_err();
    assert!(failure.contains("`&l11;` is unknown"), "{failure}");
}

/// Large texts of an ordinary kind are ordinary work.
#[tokio::test]
async fn large_texts_are_read_and_written() {
    let rows = 5_000;
    let xml: String = (0..rows)
        .map(|id| format!("<row id='{id}'><name>Name {id}</name></row>"))
        .collect();
    let xml = Node::new("Xml", json!({}))
        .run(&json!(format!("<rows>{xml}</rows>")))
        .await
        .unwrap();
    assert_eq!(xml["rows"]["row"].as_array().map(Vec::len), Some(rows));
    assert_eq!(
        xml["rows"]["row"][rows - 1],
        json!({"@id": "4999", "name": "Name 4999"})
    );
    let yaml: String = (0..rows)
        .map(|id| format!("- id: {id}\n  name: Name {id}\n"))
        .collect();
    let list = Node::new("Yaml", json!({})).run(&json!(yaml)).await.unwrap();
    assert_eq!(list[rows - 1], json!({"id": 4999, "name": "Name 4999"}));
    let written = Node::new("Yaml", json!({"operation": "stringify"}))
        .run(&list)
        .await;
    assert_eq!(written, Ok(json!(yaml)));
    let page: String = (0..rows).map(|id| format!("<tr><td>{id}<td>Name {id}")).collect();
    let cells = json!({"names": {"selector": "td:nth-child(2)", "all": true}});
    let found = Node::new("Html", json!({ "selectors": cells }))
        .run(&json!(format!("<table>{page}</table>")))
        .await
        .unwrap();
    assert_eq!(found["names"][rows - 1], "Name 4999");
}
