//! What the compiler says of forms: of an OnForm node's parameters, and of further pages.

use crate::diagnostics::{graph, node, of};
use serde_json::{Value, json};

/// What is said of a form with these parameters, without the help.
fn told(parameters: Value) -> Vec<String> {
    let said = of(graph([node("ask", "OnForm", parameters)], &[]));
    let lines = said.lines().filter(|line| !line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

/// What is said of a form with this one field, which gets a name.
fn told_of(mut field: Value) -> Vec<String> {
    if field.get("name").is_none() {
        field["name"] = json!("x");
    }
    told(json!({"title": "Form", "fields": [field]}))
}

#[test]
fn fields_of_every_kind_are_fine() {
    for field in [
        json!({"name": "first_Name2", "required": true, "placeholder": "Ann", "help": "h", "default": "A"}),
        json!({"type": "textarea", "minLength": 2, "maxLength": 2, "pattern": "(?i)[a-z ]{1,200}|\\d+"}),
        json!({"type": "number", "min": 0.5, "max": 2, "integer": true, "default": 1}),
        json!({"type": "email", "pattern": ".*@example\\.com"}),
        json!({"type": "date", "min": "2026-01-01", "max": "2026-12-31"}),
        json!({"type": "time", "min": "08:00"}),
        json!({"type": "select", "options": ["a", {"value": "b", "label": "B"}], "default": "b"}),
        json!({"type": "checkboxes", "options": ["a", "b"], "min": 1, "max": 2, "default": ["a", "b"]}),
        json!({"type": "checkbox", "default": true}),
        json!({"type": "file", "multiple": true, "accept": [".pdf", "image/*", "application/vnd.ms-excel"], "max": 3}),
        json!({"type": "hidden", "default": "campaign"}),
    ] {
        assert_eq!(told_of(field.clone()), [""; 0], "{field}");
    }
    let parameters = json!({
        "title": "T", "description": "D", "button": "B", "thanks": "T", "redirect": "https://example.com/a?b#c", "alias": "a",
        "fields": [{"name": "x"}], "allowIps": ["192.0.2.0/24"], "requestsPerMinute": 5, "maxBytes": 1000,
        "whenPaused": "queue", "responseMode": "sync", "timeoutMs": 10,
    });
    assert_eq!(told(parameters), [""; 0]);
}

#[test]
fn what_is_wrong_names_the_field_and_its_parameter() {
    let too_many: Vec<Value> = (0..101)
        .map(|index| json!({"name": format!("x{index}")}))
        .collect();
    for (parameters, expected) in [
        (
            json!({"fields": [{"name": "x"}]}),
            "error[missing-parameter] ask title: `title` is required",
        ),
        (
            json!({"title": "T"}),
            "error[missing-parameter] ask fields: `fields` is required",
        ),
        (
            json!({"title": "T", "fields": []}),
            "error[fields] ask fields: a form has 1 to 100 fields; this one has 0",
        ),
        (
            json!({"title": "T", "fields": too_many}),
            "error[fields] ask fields: a form has 1 to 100 fields; this one has 101",
        ),
        (
            json!({"title": "T", "fields": [{"name": "x"}, {"name": "x"}]}),
            "error[field-name] ask fields[1].name: the name `x` is used twice",
        ),
        (
            json!({"title": "T", "fields": [{"name": "_token"}]}),
            "error[field-name] ask fields[0].name: `_token` is not a name: use a letter, then letters, digits and `_`",
        ),
        (
            json!({"title": "{{ 1 }}", "fields": [{"name": "x"}]}),
            "error[literal-only] ask title: must be a literal: it is needed before the run and can't be an expression",
        ),
        (
            json!({"title": "T", "fields": [{"name": "x"}], "redirect": "javascript:alert(1)"}),
            "error[redirect] ask redirect: `javascript:alert(1)` is not the address of a page",
        ),
        (
            json!({"title": "T", "fields": [{"name": "x"}], "allowIps": ["here"]}),
            "error[network] ask allowIps[0]: `here` is neither an IP address nor a network",
        ),
    ] {
        assert_eq!(told(parameters.clone()), [expected], "{parameters}");
    }
}

#[test]
fn each_kind_of_field_takes_its_own() {
    for (field, code, place) in [
        (json!({"type": "colour"}), "parameter-type", "type"),
        (json!({"type": "select"}), "missing-parameter", "options"),
        (
            json!({"type": "radio", "options": ["a", "a"]}),
            "choice",
            "options[1]",
        ),
        (
            json!({"type": "radio", "options": [" a"]}),
            "choice",
            "options[0]",
        ),
        (
            json!({"type": "radio", "options": [{"value": ""}]}),
            "choice",
            "options[0]",
        ),
        (
            json!({"type": "radio", "options": ["a"], "default": "b"}),
            "choice",
            "default",
        ),
        (json!({"type": "number", "min": "1"}), "bound", "min"),
        (json!({"type": "number", "min": 2, "max": 1}), "bound", "min"),
        (json!({"type": "date", "min": "2026-13-01"}), "bound", "min"),
        (json!({"type": "date", "max": 2026}), "bound", "max"),
        (
            json!({"type": "time", "min": "18:00", "max": "08:00"}),
            "bound",
            "min",
        ),
        (
            json!({"type": "checkboxes", "options": ["a"], "max": 0.5}),
            "bound",
            "max",
        ),
        (json!({"minLength": 3, "maxLength": 2}), "bound", "minLength"),
        (json!({"pattern": "("}), "pattern", "pattern"),
        (json!({"pattern": "a)|(b"}), "pattern", "pattern"),
        (json!({"pattern": "(?x) a # b"}), "pattern", "pattern"),
        (json!({"pattern": "\\w{500}{500}"}), "pattern", "pattern"),
        (json!({"pattern": "a".repeat(501)}), "pattern", "pattern"),
        (
            json!({"type": "file", "accept": ["pdf"]}),
            "file-type",
            "accept[0]",
        ),
    ] {
        let expected = format!("error[{code}] ask fields[0].{place}: ");
        let told = told_of(field.clone());
        assert!(
            told.len() == 1 && told[0].starts_with(&expected),
            "{field}: {told:?}"
        );
    }
    for (field, place) in [
        (json!({"options": ["a"]}), "options"),
        (json!({"type": "checkbox", "placeholder": "a"}), "placeholder"),
        (
            json!({"type": "radio", "options": ["a"], "multiple": true}),
            "multiple",
        ),
        (json!({"integer": true}), "integer"),
        (json!({"type": "number", "pattern": "a"}), "pattern"),
        (json!({"type": "file", "default": "a"}), "default"),
    ] {
        let expected = format!("warning[unused-parameter] ask fields[0].{place}: ");
        let told = told_of(field.clone());
        assert!(
            told.len() == 1 && told[0].starts_with(&expected),
            "{field}: {told:?}"
        );
    }
}

/// What is said of a WaitForCallback with these parameters, without the help.
fn told_of_step(parameters: Value) -> Vec<String> {
    let nodes = [
        node("start", "OnManual", json!({})),
        node("ask", "WaitForCallback", parameters),
    ];
    let said = of(graph(nodes, &["start -> ask"]));
    let lines = said.lines().filter(|line| !line.starts_with(' '));
    lines.map(str::to_owned).collect()
}

#[test]
fn further_pages_are_checked_as_the_first_is() {
    let form = json!({"title": "Thank you, {{ $input.name }}", "fields": [{"name": "x", "type": "number", "min": 1}], "follows": false});
    assert_eq!(told_of_step(json!({ "form": form })), [""; 0]);
    for (parameters, expected) in [
        (
            json!({"form": {"title": "T", "fields": []}}),
            "error[fields] ask form.fields: a form has 1 to 100 fields; this one has 0",
        ),
        (
            json!({"form": {"title": "T", "fields": [{"name": "x"}, {"name": "x"}]}}),
            "error[field-name] ask form.fields[1].name: the name `x` is used twice",
        ),
        (
            json!({"form": {"title": "T", "fields": [{"name": "x"}]}, "page": "<p>"}),
            "error[parameter-conflict] ask page: both `form` and `page` are given",
        ),
        (
            json!({"form": "{{ $input }}"}),
            "error[literal-only] ask form: must be written out: its fields are needed before the run and can't be an expression",
        ),
        (
            json!({"form": {"fields": [{"name": "x"}]}}),
            "error[missing-parameter] ask form.title: `title` is required",
        ),
    ] {
        assert_eq!(told_of_step(parameters.clone()), [expected], "{parameters}");
    }
}
