//! Forms: the page that starts a run, those that come after it, and what people read at the end.

use crate::built::Translation;
use crate::expression::plain;
use crate::room::is_short;
use crate::scene::Scene;
use crate::workflow::Node;
use serde_json::{Map, Value, json};

/// Fields of a form that are imported.
const FIELDS_MAX: usize = 100;
/// Choices of a field.
const OPTIONS_MAX: usize = 500;
/// Characters that a name is made of; a number may follow.
const NAME_CHARS_MAX: usize = 50;

pub(super) fn trigger(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let mut page = Page::of(node);
    let title = page.fixed(node.text(&["formTitle"]), "Form");
    let mut parameters = json!({"title": title, "fields": page.shown()});
    let answer = node.parameter(&["options", "respondWithOptions", "values"]);
    let answer = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
    for (parameter, given) in [
        ("description", node.text(&["formDescription"])),
        ("button", node.text(&["options", "buttonLabel"])),
        ("thanks", answer("formSubmittedText")),
    ] {
        let text = page.fixed(given, "");
        if !text.is_empty() {
            parameters[parameter] = text.into();
        }
    }
    let redirect = answer("redirectUrl");
    if answer("respondWith") == "redirect" && is_address(redirect) {
        parameters["redirect"] = plain(redirect).into();
    }
    if node.text(&["responseMode"]) == "lastNode" {
        parameters["responseMode"] = "sync".into();
    }
    let translation = Translation::whole("OnForm", parameters)
        .then("Transform", json!({"value": page.item()}), true)
        .differs(
            "address",
            "the form gets a new address, which is shown when the pattern is deployed: tell those who use it",
        )
        .differs_if(
            node.choice(&["authentication"], "none") != "none",
            "secret",
            "the form asks for no password: whoever knows its address can send it",
        )
        .differs_if(
            !node.text(&["options", "ipWhitelist"]).is_empty(),
            "addresses",
            "the form is open to all networks: name those that may see it by `allowIps`",
        )
        .differs_if(
            answer("respondWith") == "redirect" && !is_address(redirect),
            "redirect",
            "the address to which people are taken is computed: answer by a RespondToWebhook that redirects",
        );
    page.with_differences(translation)
}

/// A further page, or the last one.
pub(super) fn page(scene: &Scene<'_>) -> Translation {
    match scene.node.choice(&["operation"], "page") {
        "completion" => completion(scene),
        _ => step(scene, &["options", "formTitle"], &["options", "formDescription"]),
    }
}

/// A page for which a Wait waits.
pub(super) fn waited_for(scene: &Scene<'_>) -> Translation {
    step(scene, &["formTitle"], &["formDescription"])
}

fn step(scene: &Scene<'_>, title: &[&str], description: &[&str]) -> Translation {
    let node = scene.node;
    let mut page = Page::of(node);
    let own = |path: &[&str]| (!node.text(path).is_empty()).then(|| scene.of(path));
    let mut nodes = scene.workflow.nodes.iter();
    let first = nodes.find(|node| node.kind == "formTrigger");
    let inherited = first.map(|first| first.parameter(&["formTitle"]));
    // All pages may have the same one.
    let inherited = inherited.filter(|title| is_short(title)).and_then(Value::as_str);
    let inherited = inherited.unwrap_or_default();
    let title = own(title).unwrap_or_else(|| page.fixed(inherited, "Form").into());
    let mut form = json!({"title": title, "fields": page.shown()});
    if let Some(description) = own(description) {
        form["description"] = description;
    }
    let button = node.text(&["options", "buttonLabel"]);
    if !button.is_empty() {
        form["button"] = page.fixed(button, "Send").into();
    }
    let translation = Translation::whole("WaitForCallback", json!({"form": form}))
        .then("Transform", json!({"value": page.item()}), true)
        .differs(
            "page",
            "the page looks like heddle's own, and is shown to whoever sent the form that started the run",
        )
        .differs_if(
            node.flag(&["limitWaitTime"], false),
            "timeout",
            "it waits for 30 days: set `timeoutMs`, and connect the port `timeout` to the nodes that should execute then",
        );
    page.with_differences(translation)
}

/// What people see who have sent the last page.
fn completion(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let html = json!({"Content-Type": "text/html; charset=utf-8"});
    let parameters = match node.choice(&["respondWith"], "text") {
        "redirect" => json!({
            "status": 303, "headers": {"Location": scene.of(&["redirectUrl"])}, "body": "", "bodyType": "text",
        }),
        "showText" => json!({"headers": html, "body": scene.of(&["responseText"]), "bodyType": "text"}),
        "text" => {
            let (title, message) = (
                scene.source(node.parameter(&["completionTitle"])),
                scene.source(node.parameter(&["completionMessage"])),
            );
            let body = format!(
                "{{{{ [{title}, {message}].map(text => String(text ?? \"\").replaceAll(\"&\", \"&amp;\").replaceAll(\"<\", \"&lt;\"))\
                 .map((text, index) => index === 0 ? \"<h1>\" + text + \"</h1>\" : \"<p>\" + text + \"</p>\").join(\"\") }}}}"
            );
            json!({"headers": html, "body": body, "bodyType": "text"})
        }
        other => return Translation::stub(format!("the last page of a form can't be of the kind `{other}`")),
    };
    Translation::each("RespondToWebhook", parameters).differs(
        "page",
        "the last page is HTML of its own, which you may change; HTML in its texts is shown as text",
    )
}

/// Whether it is a page's address as it stands.
fn is_address(text: &str) -> bool {
    ["https://", "http://"]
        .iter()
        .any(|scheme| text.starts_with(scheme))
        && !text.contains("{{")
}

/// A page while its fields are read.
#[derive(Default)]
struct Page {
    fields: Vec<Value>,
    /// What n8n calls each field, and its name here.
    names: Vec<(String, String)>,
    differs: Vec<(&'static str, &'static str)>,
}

impl Page {
    fn of(node: &Node) -> Self {
        let mut page = Page::default();
        let by_json = node.text(&["defineForm"]) == "json";
        let written = match by_json {
            true => serde_json::from_str::<Vec<Value>>(node.text(&["jsonOutput"])),
            false => Ok(node.list(&["formFields", "values"]).to_vec()),
        };
        let fields = written.unwrap_or_else(|_| {
            page.note("fields", "its fields are computed: write them into `fields`");
            Vec::new()
        });
        for field in fields.iter().take(FIELDS_MAX) {
            page.add(field);
        }
        if fields.len() > FIELDS_MAX {
            page.note("fields", "only the first 100 fields are imported");
        }
        page
    }

    fn note(&mut self, code: &'static str, message: &'static str) {
        if !self.differs.contains(&(code, message)) {
            self.differs.push((code, message));
        }
    }

    /// A text that can't have expressions here.
    fn fixed(&mut self, given: &str, default: &str) -> String {
        let text = given.strip_prefix('=').unwrap_or(given);
        if given.starts_with('=') && text.contains("{{") {
            self.note(
                "texts",
                "computed texts of the form are not imported: write them out",
            );
            return default.to_owned();
        }
        let text = if text.trim().is_empty() { default } else { text };
        plain(text)
    }

    fn add(&mut self, given: &Value) {
        let text = |name: &str| given.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_set = |name: &str, default: bool| given.get(name).and_then(Value::as_bool).unwrap_or(default);
        let options = options(given);
        let kind = match text("fieldType") {
            "html" => return self.note("fields", "HTML between the fields is left out"),
            "" | "text" => "text",
            "dropdown" if !options.is_empty() => "select",
            "radio" if !options.is_empty() => "radio",
            "checkbox" if !options.is_empty() => "checkboxes",
            "textarea" => "textarea",
            "number" => "number",
            "date" => "date",
            "email" => "email",
            "file" => "file",
            "hiddenField" => "hidden",
            "password" => {
                self.note(
                    "fields",
                    "a password is seen while it is typed, and is part of the event",
                );
                "text"
            }
            _ => {
                self.note(
                    "fields",
                    "a field of a kind that heddle does not have is one for text",
                );
                "text"
            }
        };
        let called = [text("fieldName"), text("fieldLabel"), "field"];
        let called = called
            .into_iter()
            .find(|name| !name.is_empty())
            .unwrap_or_default();
        let name = self.free_name(called);
        let mut field = json!({"name": name, "type": kind});
        let label = text("fieldLabel");
        if !label.is_empty() && kind != "hidden" {
            field["label"] = self.fixed(label, called).into();
        }
        if is_set("requiredField", false) && kind != "hidden" {
            field["required"] = true.into();
        }
        let placeholder = text("placeholder");
        if !placeholder.is_empty() && matches!(kind, "text" | "textarea" | "number" | "email") {
            field["placeholder"] = self.fixed(placeholder, "").into();
        }
        if matches!(kind, "select" | "radio" | "checkboxes") {
            field["options"] = options.iter().map(|option| plain(option)).collect();
        }
        if (kind == "select" && is_set("multiselect", false))
            || (kind == "file" && is_set("multipleFiles", true))
        {
            field["multiple"] = true.into();
        }
        if kind == "checkboxes" {
            selection(given, &mut field);
        }
        if kind == "file" {
            self.note(
                "files",
                "a file is a value `{$file, name, type, size}` in its field, not under `$binary`",
            );
            let accepted = accepted(text("acceptFileTypes"));
            if !accepted.is_empty() {
                field["accept"] = accepted.into();
            }
        }
        let default = text(if kind == "hidden" {
            "fieldValue"
        } else {
            "defaultValue"
        });
        if let Some(default) = default_of(kind, default, &options) {
            field["default"] = default;
        }
        self.names.push((called.to_owned(), name));
        self.fields.push(field);
    }

    /// A name that no other field has: a letter, then letters, digits and `_`.
    fn free_name(&self, called: &str) -> String {
        let mut name = String::new();
        for character in called.chars().take(NAME_CHARS_MAX) {
            match character {
                character if character.is_ascii_alphanumeric() => name.push(character),
                _ if !name.is_empty() && !name.ends_with('_') => name.push('_'),
                _ => {}
            }
        }
        let name = name.trim_end_matches('_');
        let name = match name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            true => name.to_owned(),
            false => format!("field_{name}").trim_end_matches('_').to_owned(),
        };
        let is_taken = |name: &str| self.names.iter().any(|(_, taken)| taken == name);
        let mut free = name.clone();
        let mut number = 1;
        while is_taken(&free) {
            number += 1;
            free = format!("{name}_{number}");
        }
        free
    }

    /// The fields; a form without any has one that nobody sees.
    fn shown(&self) -> Value {
        match self.fields.is_empty() {
            true => json!([{"name": "form", "type": "hidden", "default": "sent"}]),
            false => self.fields.clone().into(),
        }
    }

    /// The item that n8n makes of what was sent.
    fn item(&self) -> Value {
        let fields = self.names.iter();
        let mut item: Map<String, Value> = fields
            .map(|(called, name)| (plain(called), format!("{{{{ $input.body?.{name} }}}}").into()))
            .collect();
        item.insert("submittedAt".to_owned(), "{{ $now.toISO() }}".into());
        item.insert("formMode".to_owned(), "production".into());
        item.into()
    }

    fn with_differences(self, translation: Translation) -> Translation {
        let differs = self.differs.into_iter();
        differs.fold(translation, |translation, (code, message)| {
            translation.differs(code, message)
        })
    }
}

/// What can be chosen, as answers can be told apart.
fn options(given: &Value) -> Vec<String> {
    let listed = given
        .pointer("/fieldOptions/values")
        .and_then(Value::as_array)
        .map(Vec::as_slice)
        .unwrap_or_default();
    let mut options: Vec<String> = Vec::new();
    for option in listed.iter().take(OPTIONS_MAX) {
        let option = option.get("option").and_then(Value::as_str).unwrap_or_default();
        let option = option.trim();
        if !option.is_empty() && !options.iter().any(|known| known == option) {
            options.push(option.to_owned());
        }
    }
    options
}

/// How many must be chosen.
fn selection(given: &Value, field: &mut Value) {
    let number = |name: &str| {
        given
            .get(name)
            .and_then(Value::as_u64)
            .filter(|number| *number >= 1)
    };
    let (min, max) = match given.get("limitSelection").and_then(Value::as_str) {
        Some("exact") => (number("numberOfSelections"), number("numberOfSelections")),
        Some("range") => (number("minSelections"), number("maxSelections")),
        _ => (None, None),
    };
    if min.zip(max).is_some_and(|(min, max)| min > max) {
        return;
    }
    for (name, number) in [("min", min), ("max", max)] {
        if let Some(number) = number {
            field[name] = number.into();
        }
    }
}

/// Extensions and media types among those that n8n's field accepts.
fn accepted(given: &str) -> Vec<String> {
    let is_word = |text: &str| {
        let mut bytes = text.bytes();
        !text.is_empty() && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"-+.".contains(&byte))
    };
    let is_kind = |text: &&str| match text.split_once('/') {
        Some((kind, "*")) => is_word(kind),
        Some((kind, form)) => is_word(kind) && is_word(form),
        None => text.strip_prefix('.').is_some_and(is_word),
    };
    let kinds = given.split(',').map(str::trim).filter(is_kind);
    kinds.map(str::to_owned).collect()
}

/// What is written into a field when the page opens, if such a field can have it.
fn default_of(kind: &str, given: &str, options: &[String]) -> Option<Value> {
    if given.is_empty() || given.starts_with('=') {
        return None;
    }
    match kind {
        "text" | "textarea" | "hidden" => Some(plain(given).into()),
        "number" => given
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .map(Value::from),
        "select" | "radio" => {
            let is_option = options.iter().any(|option| option == given.trim());
            is_option.then(|| plain(given.trim()).into())
        }
        _ => None,
    }
}
