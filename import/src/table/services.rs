//! Databases, mail and GraphQL.

use crate::built::Translation;
use crate::scene::Scene;
use crate::workflow::Node;
use heddle_compiler::expression::{Piece, split};
use serde_json::{Value, json};

/// The node's credentials, or a name for them.
pub(super) fn credentials(node: &Node, kind: &str) -> (String, String) {
    let given = node.credentials.first().cloned();
    given.unwrap_or_else(|| (kind.to_owned(), kind.to_owned()))
}

pub(super) fn email(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["operation"], "send") != "send" {
        return Translation::stub("mail that waits for an answer needs a WaitForCallback");
    }
    let (kind, name) = credentials(node, "smtp");
    let mut parameters = json!({"connection": crate::expression::literal(&name)});
    let fields = [
        ("from", node.parameter(&["fromEmail"])),
        ("to", node.parameter(&["toEmail"])),
        ("subject", node.parameter(&["subject"])),
    ];
    for (field, given) in fields {
        parameters[field] = if given.is_null() {
            json!("")
        } else {
            scene.value(given)
        };
    }
    let optional = [
        ("text", node.parameter(&["text"])),
        ("html", node.parameter(&["html"])),
        ("cc", either(node, "ccEmail")),
        ("bcc", either(node, "bccEmail")),
        ("replyTo", node.parameter(&["options", "replyTo"])),
    ];
    for (field, given) in optional
        .into_iter()
        .filter(|(_, given)| given.as_str().is_some_and(|text| !text.is_empty()))
    {
        parameters[field] = scene.value(given);
    }
    let files =
        !node.parameter(&["options", "attachments"]).is_null() || !node.parameter(&["attachments"]).is_null();
    let mut translation = Translation::each("SendEmail", parameters)
        .differs_if(
            files,
            "files",
            "attachments are left out: add them by their content",
        )
        .differs("result", "the result is `{messageId}`");
    translation.connection = Some((kind, name));
    translation
}

fn either<'n>(node: &'n Node, name: &str) -> &'n Value {
    match node.parameter(&[name]) {
        Value::Null => node.parameter(&["options", name]),
        given => given,
    }
}

pub(super) fn postgres(scene: &Scene<'_>) -> Translation {
    query(scene, "postgres", |number| format!("${number}"))
}

pub(super) fn mysql(scene: &Scene<'_>) -> Translation {
    query(scene, "mySql", |_| "?".to_owned())
}

/// A statement; what is spliced into its text becomes a parameter where it stands for a value.
fn query(scene: &Scene<'_>, kind: &str, placeholder: impl Fn(usize) -> String) -> Translation {
    let node = scene.node;
    if node.choice(&["operation"], "insert") != "executeQuery" {
        return Translation::stub("only statements are imported, not operations on tables: write it as SQL");
    }
    let given = node.text(&["query"]);
    let body = given.strip_prefix('=').unwrap_or(given);
    let (kind, name) = credentials(node, kind);
    let mut parameters = Vec::new();
    let Some(text) = bound(scene, given.starts_with('='), body, &placeholder, &mut parameters) else {
        return Translation::stub(
            "an expression makes a part of the statement that is not a value, so it can't be bound",
        );
    };
    if text.trim().is_empty() {
        return Translation::stub("there is no statement");
    }
    let own = node.parameter(&["options", "queryReplacement"]);
    let own = if own.is_null() {
        node.parameter(&["additionalFields", "queryParams"])
    } else {
        own
    };
    let replaced = !own.is_null() && own != "";
    let bound =
        json!({"connection": crate::expression::literal(&name), "query": text, "parameters": parameters});
    let mut translation = Translation::each("SqlQuery", bound)
        .differs_if(
            replaced,
            "parameters",
            "the statement's own parameters are left out: add them to `parameters`",
        )
        .differs(
            "values",
            "values are bound, and not part of the text; large numbers are texts",
        );
    translation.connection = Some((kind, name));
    translation
}

/// The text with placeholders. Quotes around a value go away; an expression within a longer text has none.
fn bound(
    scene: &Scene<'_>,
    computed: bool,
    body: &str,
    placeholder: &impl Fn(usize) -> String,
    parameters: &mut Vec<Value>,
) -> Option<String> {
    if !computed {
        return Some(body.to_owned());
    }
    let pieces = split(body).ok()?;
    let mut text = String::new();
    let mut quoted = false;
    for piece in pieces {
        match piece {
            Piece::Literal(literal) => {
                let literal = match quoted {
                    true => literal.strip_prefix('\'')?.to_owned(),
                    false => literal,
                };
                text.push_str(&literal);
                quoted = false;
            }
            Piece::Expression(range) => {
                if quoted {
                    return None;
                }
                quoted = text.ends_with('\'');
                let before = text.trim_end_matches('\'');
                let is_value = quoted || before.trim_end().ends_with(['=', '<', '>', '(', ',']);
                if !is_value {
                    return None;
                }
                if quoted {
                    text.pop();
                }
                let source = body.get(range)?;
                parameters.push(scene.value(&format!("={{{{{source}}}}}").into()));
                text.push_str(&placeholder(parameters.len()));
            }
        }
    }
    (!quoted).then_some(text)
}

pub(super) fn graphql(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let body = match node.parameter(&["variables"]) {
        Value::Null => json!({"query": scene.of(&["query"])}),
        variables => {
            let source = scene.source(variables);
            let parsed = format!(
                "{{{{ [{source}].map(json => typeof json === \"string\" ? JSON.parse(json || \"{{}}\") : json)[0] }}}}"
            );
            json!({"query": scene.of(&["query"]), "variables": parsed})
        }
    };
    let mut parameters = json!({"method": "POST", "url": scene.of(&["endpoint"]), "body": body, "bodyType": "json", "bodyOnly": true});
    let headers = node.list(&["headerParametersUi", "parameter"]);
    if !headers.is_empty() {
        parameters["headers"] = super::http::pairs(scene, headers);
    }
    let authenticated = node.choice(&["authentication"], "none") != "none";
    let connection = authenticated.then(|| credentials(node, "httpHeaderAuth"));
    if let Some((_, name)) = &connection {
        parameters["connection"] = crate::expression::literal(name).into();
    }
    let mut translation = Translation::each("HttpRequest", parameters).differs(
        "request",
        "requests have heddle's own headers and limits, and can't reach private addresses",
    );
    translation.connection = connection;
    translation
}
