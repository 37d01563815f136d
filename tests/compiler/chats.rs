//! What the compiler says of an OnChat node's parameters.

use crate::diagnostics::{graph, node, of};
use serde_json::{Value, json};

fn told(parameters: Value) -> Vec<String> {
    let said = of(graph([node("chat", "OnChat", parameters)], &[]));
    let lines = said.lines().filter(|line| !line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

#[test]
fn a_chat_is_checked() {
    let whole = json!({
        "title": "T", "description": "D", "greeting": "G", "placeholder": "P", "button": "B", "alias": "a",
        "allowIps": ["192.0.2.0/24"], "cors": ["https://shop.example.com", "*"], "requestsPerMinute": 5, "timeoutMs": 10,
    });
    assert_eq!(told(whole), [""; 0]);
    let wrong = json!({"title": "T", "allowIps": ["home"], "cors": ["shop"]});
    let said = told(wrong).join("\n");
    assert!(
        said.contains("`home`") && said.contains("`shop` is not the origin of a page"),
        "{said}"
    );
    assert!(told(json!({})).join("").contains("title"));
    let large = told(json!({"title": "T", "description": "x".repeat(70_000)})).join("");
    assert!(large.contains("65536 are allowed"), "{large}");
    for parameter in ["title", "placeholder", "button"] {
        let of = |chars: usize| {
            let mut parameters = json!({"title": "T"});
            parameters[parameter] = json!("ä".repeat(chars));
            told(parameters).join("")
        };
        assert_eq!(of(200), "", "{parameter}");
        let long = of(201);
        assert!(
            long.contains(&format!("`{parameter}` has 201 characters; 200 are allowed")),
            "{long}"
        );
    }
}
