//! Nodes on HTML, Markdown and XML.

use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

pub(super) fn html(scene: &Scene<'_>) -> Translation {
    match scene.node.choice(&["operation"], "generateHtmlTemplate") {
        "generateHtmlTemplate" => template(scene),
        "extractHtmlContent" => html_extract(scene),
        _ => Translation::stub("HTML tables are not generated"),
    }
}

/// A page with expressions in it, with or without `=` before it.
fn template(scene: &Scene<'_>) -> Translation {
    let page = scene.node.text(&["html"]);
    let page = if page.starts_with('=') {
        page.to_owned()
    } else {
        format!("={page}")
    };
    Translation::each("Transform", json!({"value": {"html": scene.value(&page.into())}}))
}

pub(super) fn html_extract(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["sourceData"], "json") != "json" {
        return Translation::stub("the page is in a file");
    }
    let mut selectors = Map::new();
    for value in node.list(&["extractionValues", "values"]) {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let (key, selector) = (text("key"), scene.value(&text("cssSelector").into()));
        if key.is_empty() || key.starts_with('=') {
            return Translation::stub("the name of a value is computed or missing");
        }
        let mut taken =
            json!({"selector": selector, "all": value.get("returnArray") == Some(&Value::Bool(true))});
        match text("returnValue") {
            "attribute" => taken["attribute"] = scene.value(&text("attribute").into()),
            "html" => taken["html"] = true.into(),
            "value" => return Translation::stub("values of form fields are not extracted"),
            _ => {}
        }
        selectors.insert(key.to_owned(), taken);
    }
    if selectors.is_empty() {
        return Translation::stub("there is nothing to extract");
    }
    let name = scene.source(&node.choice(&["dataPropertyName"], "data").into());
    let page = format!("{{{{ typeof $json === \"string\" ? $json : $json[{name}] }}}}");
    Translation::each(
        "Html",
        json!({"operation": "extract", "html": page, "selectors": selectors}),
    )
    .differs(
        "text",
        "text of elements is as a person reads it: whitespace is collapsed",
    )
}

pub(super) fn markdown(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["mode"], "htmlToMarkdown") != "markdownToHtml" {
        return Translation::stub(
            "HTML can't be written as Markdown: Html with the operation `text` gives its text",
        );
    }
    let name = node.choice(&["destinationKey"], "data");
    if name.starts_with('=') {
        return Translation::stub("the name of the field is computed");
    }
    Translation::each(
        "Markdown",
        json!({"operation": "toHtml", "value": scene.of(&["markdown"])}),
    )
    .then("Transform", json!({"value": {name: "{{ $input }}"}}), true)
    .differs(
        "html",
        "the HTML is CommonMark's, and the item's other fields are left out",
    )
}

pub(super) fn xml(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let name = node.choice(&["dataPropertyName"], "data");
    if name.starts_with('=') {
        return Translation::stub("the name of the field is computed");
    }
    if node.choice(&["mode"], "xmlToJson") == "jsonToxml" {
        return Translation::each("Xml", json!({"operation": "stringify"}))
            .then("Transform", json!({"value": {name: "{{ $input }}"}}), true)
            .differs(
                "attributes",
                "attributes are the fields that begin with `@`, not those of `$`",
            );
    }
    let value = format!(
        "{{{{ typeof $json === \"string\" ? $json : $json[{}] }}}}",
        Value::from(name)
    );
    Translation::each(
        "Xml",
        json!({"operation": "parse", "value": value, "attributePrefix": ""}),
    )
    .differs("attributes", "text beside attributes is `#text`, not `_`")
}
