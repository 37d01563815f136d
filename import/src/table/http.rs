//! HTTP Request, versions 1 to 4.

use crate::built::Translation;
use crate::scene::Scene;
use serde_json::{Map, Value, json};

const METHODS: &[&str] = &["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];

/// `[{name, value}]` as an object.
pub(super) fn pairs(scene: &Scene<'_>, given: &[Value]) -> Value {
    let mut object = Map::new();
    for pair in given {
        let name = pair.get("name").map(|name| scene.value(name));
        let name = name
            .as_ref()
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !name.is_empty() && !name.contains("{{") {
            object.insert(name, scene.value(pair.get("value").unwrap_or(&json!(""))));
        }
    }
    Value::Object(object)
}

/// A JSON text, or an expression that gives one or an object.
fn parsed(scene: &Scene<'_>, given: &Value) -> Value {
    if let Some(Ok(value)) = given
        .as_str()
        .filter(|text| !text.starts_with('='))
        .map(serde_json::from_str::<Value>)
    {
        return scene.value(&value);
    }
    let source = scene.source(given);
    format!("{{{{ [{source}].map(json => typeof json === \"string\" ? JSON.parse(json) : json)[0] }}}}")
        .into()
}

pub(super) fn request(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let is_old = node.version < 3.0;
    let method = node.choice(&[if is_old { "requestMethod" } else { "method" }], "GET");
    let computed = method.starts_with('=');
    let url = match scene.of(&["url"]) {
        Value::String(url) if !url.trim().is_empty() => url.trim().to_owned(),
        _ => return Translation::stub("it has no URL"),
    };
    if !computed && !METHODS.contains(&method) {
        return Translation::stub(format!("there is no method `{method}`"));
    }
    let mut parameters = json!({"method": scene.value(&method.into()), "url": url, "bodyOnly": true});
    let mut translation = Translation::default();
    match is_old {
        true => old_parts(scene, &mut parameters),
        false => parts(scene, &mut parameters, &mut translation),
    }
    options(scene, &mut parameters, &mut translation);
    translation.connection = connection(scene);
    if let Some((_, name)) = &translation.connection {
        parameters["connection"] = crate::expression::literal(name).into();
    }
    let file = response_format(scene) == "file";
    let text = matches!(response_format(scene), "text" | "string");
    let mut translation = translation.then("HttpRequest", parameters, true);
    if text {
        let name = node.choice(
            &["options", "response", "response", "outputPropertyName"],
            node.choice(&["dataPropertyName"], "data"),
        );
        let value = if name.starts_with('=') {
            json!({"data": "{{ $input }}"})
        } else {
            json!({name: "{{ $input }}"})
        };
        translation = translation.then("Transform", json!({"value": value}), true);
    }
    translation
        .differs_if(file, "files", "the file is the item itself, `{$file, name, type, size}`, not under `$binary`")
        .differs("request", "requests have heddle's own headers and limits, and can't reach private addresses; text is the item itself unless it is asked for as text")
}

fn response_format<'n>(scene: &'n Scene<'_>) -> &'n str {
    let node = scene.node;
    node.choice(
        &["options", "response", "response", "responseFormat"],
        node.choice(&["responseFormat"], "autodetect"),
    )
}

fn parts(scene: &Scene<'_>, parameters: &mut Value, translation: &mut Translation) {
    let node = scene.node;
    let part = |send: &str, specify: &str, json: &str, list: &str| match () {
        () if !node.flag(&[send], false) => None,
        () if node.choice(&[specify], "keypair") == "json" => Some(parsed(scene, node.parameter(&[json]))),
        () => Some(pairs(scene, node.list(&[list, "parameters"]))),
    };
    if let Some(query) = part("sendQuery", "specifyQuery", "jsonQuery", "queryParameters") {
        parameters["query"] = query;
    }
    if let Some(headers) = part("sendHeaders", "specifyHeaders", "jsonHeaders", "headerParameters") {
        parameters["headers"] = headers;
    }
    if node.flag(&["sendBody"], false) {
        body(scene, parameters, translation);
    }
}

fn body(scene: &Scene<'_>, parameters: &mut Value, translation: &mut Translation) {
    let node = scene.node;
    let fields = || pairs(scene, node.list(&["bodyParameters", "parameters"]));
    match node.choice(&["contentType"], "json") {
        "json" if node.choice(&["specifyBody"], "keypair") == "json" => {
            parameters["body"] = parsed(scene, node.parameter(&["jsonBody"]));
            parameters["bodyType"] = "json".into();
        }
        "json" => {
            parameters["body"] = fields();
            parameters["bodyType"] = "json".into();
        }
        "form-urlencoded" if node.choice(&["specifyBody"], "keypair") == "keypair" => {
            parameters["body"] = fields();
            parameters["bodyType"] = "form".into();
        }
        "multipart-form-data" => {
            let has_files = node.list(&["bodyParameters", "parameters"]).iter().any(|pair| {
                pair.get("parameterType")
                    .is_some_and(|kind| kind == "formBinaryData")
            });
            parameters["body"] = fields();
            parameters["bodyType"] = "multipart".into();
            if has_files {
                let moved = std::mem::take(translation);
                *translation = moved.differs(
                    "files",
                    "files are not part of the body: add the file's value to its field",
                );
            }
        }
        "raw" | "form-urlencoded" => {
            parameters["body"] = scene.of(&["body"]);
            parameters["bodyType"] = "text".into();
            let kind = match node.text(&["rawContentType"]) {
                "" if node.text(&["contentType"]) == "raw" => "text/plain",
                "" => "application/x-www-form-urlencoded",
                kind => kind,
            };
            header(parameters, kind);
        }
        _ => {
            parameters["body"] = "{{ $json }}".into();
            let moved = std::mem::take(translation);
            *translation = moved.differs("files", "the body is the item: name the file's value instead");
        }
    }
}

/// A content type, unless there is one.
fn header(parameters: &mut Value, kind: &str) {
    if parameters.get("headers").is_none() {
        parameters["headers"] = json!({});
    }
    let headers = parameters.get_mut("headers").and_then(Value::as_object_mut);
    if let Some(headers) = headers.filter(|headers| {
        !headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("content-type"))
    }) {
        headers.insert(
            "Content-Type".to_owned(),
            crate::expression::literal(kind.trim_start_matches('=')).into(),
        );
    }
}

/// Versions 1 and 2.
fn old_parts(scene: &Scene<'_>, parameters: &mut Value) {
    let node = scene.node;
    let as_json = node.flag(&["jsonParameters"], false);
    let part = |json: &str, list: &str| match as_json {
        true => (!node.text(&[json]).is_empty()).then(|| parsed(scene, node.parameter(&[json]))),
        false => {
            let list = node.list(&[list, "parameter"]);
            (!list.is_empty()).then(|| pairs(scene, list))
        }
    };
    if let Some(query) = part("queryParametersJson", "queryParametersUi") {
        parameters["query"] = query;
    }
    if let Some(headers) = part("headerParametersJson", "headerParametersUi") {
        parameters["headers"] = headers;
    }
    let method = node.choice(&["requestMethod"], "GET");
    if method == "GET" || method == "HEAD" {
        return;
    }
    if let Some(body) = part("bodyParametersJson", "bodyParametersUi") {
        parameters["body"] = body;
        parameters["bodyType"] = match node.choice(&["options", "bodyContentType"], "json") {
            "form-urlencoded" => "form",
            "multipart-form-data" => "multipart",
            _ => "json",
        }
        .into();
    }
}

fn options(scene: &Scene<'_>, parameters: &mut Value, translation: &mut Translation) {
    let node = scene.node;
    let response = |name: &str| {
        node.flag(
            &["options", "response", "response", name],
            node.flag(&["options", name], false),
        )
    };
    if response("fullResponse") {
        parameters["bodyOnly"] = false.into();
        *translation =
            std::mem::take(translation).differs("full-response", "the status is `status`, not `statusCode`");
    }
    if response("neverError") || node.flag(&["options", "ignoreResponseCode"], false) {
        parameters["acceptStatuses"] = json!(["1xx", "2xx", "3xx", "4xx", "5xx"]);
    }
    if let Some(timeout) = node.parameter(&["options", "timeout"]).as_u64() {
        parameters["timeoutMs"] = timeout.clamp(1, 3_600_000).into();
    }
    parameters["responseType"] = match response_format(scene) {
        "file" => "file",
        "text" | "string" => "text",
        _ => "auto",
    }
    .into();
    let unlike = [
        (
            "pagination",
            "pages",
            "only the first page is requested: set `pagination`",
        ),
        (
            "batching",
            "batching",
            "requests are not sent in batches: set `concurrency`",
        ),
        ("proxy", "proxy", "the proxy is not used"),
    ];
    for (name, code, message) in unlike {
        if !node.parameter(&["options", name]).is_null() {
            *translation = std::mem::take(translation).differs(code, message);
        }
    }
    if node.flag(&["options", "allowUnauthorizedCerts"], false) {
        *translation = std::mem::take(translation).differs("certificates", "certificates are always checked");
    }
}

/// The credentials that the node uses.
fn connection(scene: &Scene<'_>) -> Option<(String, String)> {
    let node = scene.node;
    let wanted = match node.choice(&["authentication"], "none") {
        "none" => return None,
        "genericCredentialType" => node.choice(&["genericAuthType"], "httpHeaderAuth"),
        "predefinedCredentialType" => node.choice(&["nodeCredentialType"], "api"),
        "basicAuth" => "httpBasicAuth",
        "headerAuth" => "httpHeaderAuth",
        "queryAuth" => "httpQueryAuth",
        "oAuth2" => "oAuth2Api",
        other => other,
    };
    let given = node.credentials.iter().find(|(kind, _)| kind == wanted);
    Some(
        given
            .cloned()
            .unwrap_or_else(|| (wanted.to_owned(), wanted.to_owned())),
    )
}
