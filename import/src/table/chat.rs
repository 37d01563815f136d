//! Language models: what is one question and one answer becomes a ChatCompletion.

use crate::built::Translation;
use crate::kinds::is_model;
use crate::room::is_short;
use crate::scene::Scene;
use crate::workflow::Node;
use serde_json::{Value, json};

/// Models whose services have OpenAI's API at another address.
const SERVICES: &[&str] = &[
    "lmChatOpenAi",
    "lmChatOpenRouter",
    "lmChatGroq",
    "lmChatDeepSeek",
    "lmChatMistralCloud",
    "lmChatOllama",
    "lmChatXAiGrok",
    "lmChatAnthropic",
    "lmChatGoogleGemini",
];

/// A question: what is asked, by which model, and how the answer is given on.
struct Question<'n> {
    connection: (String, String),
    model: Value,
    messages: Vec<Value>,
    options: &'n Value,
    /// The answer as n8n gives it on.
    answer: Value,
}

fn asked(question: Question<'_>) -> Translation {
    let Question {
        connection,
        model,
        messages,
        options,
        answer,
    } = question;
    let mut parameters = json!({"connection": crate::expression::literal(&connection.1), "model": model, "messages": messages});
    if let Some(temperature) = options.get("temperature").and_then(Value::as_f64) {
        parameters["temperature"] = json!(temperature);
    }
    if let Some(tokens) = options
        .get("maxTokens")
        .and_then(Value::as_u64)
        .filter(|tokens| *tokens > 0)
    {
        parameters["maxTokens"] = json!(tokens.min(1_000_000));
    }
    let mut translation = Translation::each("ChatCompletion", parameters)
        .then("Transform", json!({"value": answer}), true)
        .differs(
            "model",
            "the question goes to OpenAI's chat API; options other than temperature and length are left out",
        );
    translation.connection = Some(connection);
    translation
}

/// Messages with a role each; without text, none.
fn messages(scene: &Scene<'_>, given: &[Value], content: &str) -> Vec<Value> {
    let read = given.iter().filter_map(|message| {
        let role = message.get("role").and_then(Value::as_str).unwrap_or("user");
        let content = message.get(content).filter(|content| !content.is_null())?;
        Some(json!({"role": role, "content": scene.value(content)}))
    });
    read.collect()
}

pub(super) fn open_ai(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let is_message = matches!(node.choice(&["operation"], "message"), "message")
        && node.choice(&["resource"], "text") == "text";
    let tools = !scene.parts(|_| true).is_empty();
    if !is_message || tools {
        return Translation::stub(
            "only messages without tools are imported, not files, images and assistants",
        );
    }
    let as_json = node.flag(&["jsonOutput"], false);
    let content = if as_json {
        "{{ JSON.parse($input.text) }}"
    } else {
        "{{ $input.text }}"
    };
    asked(Question {
        connection: super::services::credentials(node, "openAiApi"),
        model: model(scene, node.located("modelId")),
        messages: messages(scene, node.list(&["messages", "values"]), "content"),
        options: node.parameter(&["options"]),
        answer: json!({"message": {"role": "assistant", "content": content}}),
    })
}

pub(super) fn old_open_ai(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let chat = node.choice(&["resource"], "text") == "chat";
    let complete = node.choice(&["operation"], "complete") == "complete";
    if !complete || node.choice(&["resource"], "text") == "image" {
        return Translation::stub("only completions are imported");
    }
    let (messages, answer) = match chat {
        true => (
            messages(scene, node.list(&["prompt", "messages"]), "content"),
            json!({"message": {"role": "assistant", "content": "{{ $input.text }}"}}),
        ),
        false => (
            vec![json!({"role": "user", "content": scene.of(&["prompt"])})],
            json!({"text": "{{ $input.text }}"}),
        ),
    };
    let given = node.located(if chat { "chatModel" } else { "model" });
    let given = if given.is_null() {
        node.located("model")
    } else {
        given
    };
    asked(Question {
        connection: super::services::credentials(node, "openAiApi"),
        model: model(scene, given),
        messages,
        options: node.parameter(&["options"]),
        answer,
    })
}

fn model(scene: &Scene<'_>, given: &Value) -> Value {
    match given {
        Value::Null => json!("gpt-4o-mini"),
        given => scene.value(given),
    }
}

/// The model that is connected to a chain.
fn model_of<'s>(scene: &'s Scene<'_>) -> Option<&'s Node> {
    let node = scene.parts(|node| is_model(&node.kind)).into_iter().next()?;
    SERVICES.contains(&node.kind.as_str()).then_some(node)
}

pub(super) fn chain(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let mut asked_before: Vec<Value> = Vec::new();
    for message in node.list(&["messages", "messageValues"]) {
        let role = match message.get("type").and_then(Value::as_str) {
            Some("HumanMessagePromptTemplate") => "user",
            Some("AIMessagePromptTemplate") => "assistant",
            _ => "system",
        };
        if let Some(text) = message.get("message") {
            asked_before.push(json!({"role": role, "content": scene.value(text)}));
        }
    }
    by_model(scene, asked_before, "text", "prompt")
}

pub(super) fn agent(scene: &Scene<'_>) -> Translation {
    let parts = scene.parts(|node| {
        node.kind.contains("Tool") || node.kind.starts_with("tool") || node.kind.starts_with("mcp")
    });
    if !parts.is_empty() {
        return Translation::stub(
            "an agent with tools is a loop around ChatCompletion: see the recipe for agents",
        );
    }
    let system = scene.of(&["options", "systemMessage"]);
    let before = if system.is_null() {
        Vec::new()
    } else {
        vec![json!({"role": "system", "content": system})]
    };
    by_model(scene, before, "output", "text")
}

fn by_model(scene: &Scene<'_>, mut messages: Vec<Value>, answer: &str, old_name: &str) -> Translation {
    let node = scene.node;
    let Some(service) = model_of(scene) else {
        return Translation::stub("no model is connected, or one whose service does not have OpenAI's API");
    };
    let given = service.located("model");
    let given = if given.is_null() {
        service.located("modelName")
    } else {
        given
    };
    // Any number of chains may have the same one.
    if !is_short(given) {
        return Translation::stub("the model's name is too long");
    }
    if !scene.parts(|node| node.kind.starts_with("memory")).is_empty() {
        return Translation::stub("earlier messages are not remembered: keep them with a KeyValue");
    }
    let text = match node.choice(&["promptType"], "auto") {
        "define" => scene.of(&["text"]),
        _ if !node.parameter(&[old_name]).is_null() => scene.of(&[old_name]),
        _ => json!("{{ $json.chatInput }}"),
    };
    messages.push(json!({"role": "user", "content": text}));
    let parsed = node.flag(&["hasOutputParser"], false);
    let value = if parsed {
        "{{ JSON.parse($input.text) }}"
    } else {
        "{{ $input.text }}"
    };
    let name = if parsed { "output" } else { answer };
    asked(Question {
        connection: super::services::credentials(service, &service.kind),
        model: model(scene, given),
        messages,
        options: service.parameter(&["options"]),
        answer: json!({name: value}),
    })
    .differs_if(
        parsed,
        "parser",
        "the answer must be plain JSON: give the parser's schema as `jsonSchema`",
    )
    .differs_if(
        service.kind != "lmChatOpenAi",
        "service",
        "the connection needs the `baseUrl` of the service's API in OpenAI's form",
    )
}
