//! Forms, chats and pictures of n8n's: what their pages ask, and what the nodes behind them get.

use crate::drawn::{imported, node, node_of, says, workflow};
use heddle_import::Imported;
use serde_json::{Value, json};

fn parameters<'i>(imported: &'i Imported, id: &str) -> &'i Value {
    &node_of(imported, id)["data"]["parameters"]
}

/// The id of the only node of a type.
fn of_type<'i>(imported: &'i Imported, kind: &str) -> &'i Value {
    let nodes = imported.graph_data["nodes"].as_array().unwrap();
    let mut found = nodes.iter().filter(|node| node["type"] == kind);
    let only = found
        .next()
        .unwrap_or_else(|| panic!("{:#}", imported.graph_data));
    assert!(found.next().is_none(), "{:#}", imported.graph_data);
    &only["data"]["parameters"]
}

#[test]
fn a_form_of_several_pages_is_one_of_heddles() {
    let option = |text: &str| json!({"option": text});
    let first = json!({
        "formTitle": "Your order", "formDescription": "Before noon, please", "responseMode": "onReceived",
        "formFields": {"values": [
            {"fieldLabel": "Your name", "requiredField": true, "placeholder": "Ann Lee"},
            {"fieldLabel": "Size", "fieldType": "dropdown", "fieldOptions": {"values": [option("S"), option(" L "), option("S")]}, "defaultValue": "L"},
            {"fieldLabel": "Size", "fieldType": "checkbox", "fieldOptions": {"values": [option("a"), option("b")]},
             "limitSelection": "range", "minSelections": 1, "maxSelections": 2},
            {"fieldLabel": "CV {{ x }}", "fieldType": "file", "multipleFiles": false, "acceptFileTypes": ".pdf, image/*, (*)"},
            {"fieldType": "html", "html": "<hr>"},
            {"fieldType": "hiddenField", "fieldName": "source", "fieldValue": "web"},
        ]},
        "options": {"buttonLabel": "Go on", "respondWithOptions": {"values": {"respondWith": "redirect", "redirectUrl": "https://example.com/thanks"}}},
    });
    let second = json!({
        "formFields": {"values": [{"fieldLabel": "1. Count", "fieldType": "number"}]},
        "options": {"formDescription": "=For {{ $json['Your name'] }}"},
    });
    let last = json!({
        "operation": "completion", "respondWith": "text", "completionTitle": "Thanks",
        "completionMessage": "={{ $('Order').first().json['Your name'] }} < all",
    });
    let nodes = [
        node("Order", "formTrigger", first),
        node("More", "form", second),
        node("End", "form", last),
    ];
    let mut given = workflow(&nodes, &[("Order", "More"), ("More", "End")]);
    given["pinData"] = json!({"Order": [{"json": {"Your name": "Ann"}}]});
    let imported = imported(&given);
    let expected = json!({
        "title": "Your order", "description": "Before noon, please", "button": "Go on", "redirect": "https://example.com/thanks",
        "fields": [
            {"name": "Your_name", "type": "text", "label": "Your name", "required": true, "placeholder": "Ann Lee"},
            {"name": "Size", "type": "select", "label": "Size", "options": ["S", "L"], "default": "L"},
            {"name": "Size_2", "type": "checkboxes", "label": "Size", "options": ["a", "b"], "min": 1, "max": 2},
            {"name": "CV_x", "type": "file", "label": "CV { { x }}", "accept": [".pdf", "image/*"]},
            {"name": "source", "type": "hidden", "default": "web"},
        ],
    });
    assert_eq!(of_type(&imported, "OnForm"), &expected);
    let item = &parameters(&imported, "order")["value"];
    assert_eq!(item["Your name"], "{{ $input.body?.Your_name }}");
    assert_eq!(item["source"], "{{ $input.body?.source }}");
    // n8n's item is what the node behind the form gives.
    assert_eq!(
        imported.tests,
        [
            json!({"name": "Pinned data", "event": null, "pins": {"order": {"Your name": "Ann"}}, "triggerNodeId": "order.1"})
        ]
    );
    let page = &of_type(&imported, "WaitForCallback")["form"];
    assert_eq!(page["title"], "Your order");
    assert_eq!(
        page["fields"],
        json!([{"name": "field_1_Count", "type": "number", "label": "1. Count"}])
    );
    assert_eq!(page["description"], "For {{ $input.first()['Your name'] }}");
    let end = parameters(&imported, "end");
    assert_eq!(
        end["headers"],
        json!({"Content-Type": "text/html; charset=utf-8"})
    );
    assert_eq!(node_of(&imported, "end")["type"], "RespondToWebhook");
    assert!(says(&imported, "address") && says(&imported, "fields") && says(&imported, "files"));
    assert_eq!(imported.report.summary.stub, 0);
}

#[test]
fn a_wait_for_a_form_and_a_form_without_fields_have_pages() {
    let wait =
        json!({"resume": "form", "formTitle": "=Approve {{ $json.id }}", "formFields": {"values": []}});
    let nodes = [
        node("Ask", "formTrigger", json!({"formTitle": "={{ $now }}"})),
        node("Wait", "wait", wait),
    ];
    let imported = imported(&workflow(&nodes, &[("Ask", "Wait")]));
    let nothing = json!([{"name": "form", "type": "hidden", "default": "sent"}]);
    assert_eq!(
        of_type(&imported, "OnForm"),
        &json!({"title": "Form", "fields": nothing})
    );
    let page = &of_type(&imported, "WaitForCallback")["form"];
    assert_eq!(page["title"], "Approve {{ $input.first().id }}");
    assert_eq!(page["fields"], nothing);
    assert!(says(&imported, "texts"));
}

#[test]
fn a_chat_is_a_page_of_heddles() {
    let mut chat = node(
        "Chat",
        "chatTrigger",
        json!({
            "public": true, "initialMessages": "Hi!\nHow can I help?",
            "options": {"title": "Help", "subtitle": "Ask us", "allowedOrigins": "https://shop.example.com, nonsense"},
        }),
    );
    chat["type"] = "@n8n/n8n-nodes-langchain.chatTrigger".into();
    let echo = json!({"mode": "raw", "jsonOutput": "={{ { output: $json.chatInput } }}"});
    let imported = imported(&workflow(&[chat, node("Echo", "set", echo)], &[("Chat", "Echo")]));
    let expected = json!({
        "title": "Help", "description": "Ask us", "greeting": "Hi!\nHow can I help?", "cors": ["https://shop.example.com"],
    });
    assert_eq!(of_type(&imported, "OnChat"), &expected);
    assert_eq!(
        parameters(&imported, "chat")["value"]["chatInput"],
        "{{ $input.body?.message }}"
    );
    of_type(&imported, "Return");
}

#[test]
fn pictures_are_looked_at_and_resized() {
    let picture = |parameters: Value| {
        let nodes = [
            node("Start", "manualTrigger", json!({})),
            node("it", "editImage", parameters),
        ];
        imported(&workflow(&nodes, &[("Start", "it")]))
    };
    let smaller = picture(json!({
        "operation": "resize", "width": "={{ $json.width }}", "resizeOption": "onlyIfLarger", "options": {"format": "jpeg", "quality": 60},
    }));
    let made = parameters(&smaller, "it");
    assert!(made["width"].as_str().unwrap().starts_with("{{ "), "{made}");
    assert_eq!(
        [
            &made["operation"],
            &made["height"],
            &made["fit"],
            &made["withoutEnlargement"],
            &made["format"],
            &made["quality"]
        ],
        [
            &json!("convert"),
            &json!(500),
            &json!("inside"),
            &json!(true),
            &json!("jpeg"),
            &json!(60)
        ]
    );
    assert_eq!(
        node_of(&picture(json!({"operation": "information"})), "it")["type"],
        "Image"
    );
    for stub in [
        json!({}),
        json!({"operation": "blur"}),
        json!({"operation": "resize", "resizeOption": "percent"}),
    ] {
        assert_eq!(picture(stub).report.summary.stub, 1);
    }
}
