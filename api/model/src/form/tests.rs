//! Which answers fields take, and what people are told of others.

use super::Form;
use serde_json::{Map, Value, json};

/// What becomes of values that are sent to a form of one field called `x`; `Err`: what people are told.
fn sent(field: Value, given: Value) -> Result<Value, String> {
    let mut field = field;
    field["name"] = json!("x");
    let parameters = json!({"title": "Form", "fields": [field]});
    let form = Form::of(parameters.as_object().unwrap());
    let given = match given {
        Value::Null => json!({}),
        given => json!({ "x": given }),
    };
    match form.check(given.as_object().unwrap()) {
        Ok(values) => Ok(values["x"].clone()),
        Err(mistakes) => Err(mistakes[0].message.clone()),
    }
}

#[test]
fn values_have_the_type_of_their_field() {
    let file = json!({"$file": "f", "name": "A.PDF", "type": "application/pdf", "size": 3});
    let colours = json!(["red", {"value": "blue", "label": "Blue"}]);
    for (field, given, expected) in [
        (json!({}), json!("  Ann "), json!("Ann")),
        (json!({}), json!(" "), json!(null)),
        (json!({}), json!(null), json!(null)),
        (json!({"type": "textarea"}), json!("a\r\nb"), json!("a\nb")),
        (json!({"type": "number"}), json!("12"), json!(12)),
        (json!({"type": "number"}), json!("-1.50"), json!(-1.5)),
        (
            json!({"type": "number"}),
            json!("9007199254740993"),
            json!(9_007_199_254_740_993_i64),
        ),
        (json!({"type": "number"}), json!(""), json!(null)),
        (
            json!({"type": "email"}),
            json!("ann+x@example.com"),
            json!("ann+x@example.com"),
        ),
        (
            json!({"type": "url"}),
            json!("https://bücher.example/a?b"),
            json!("https://bücher.example/a?b"),
        ),
        (
            json!({"type": "tel"}),
            json!("+49 (0)30 123-45"),
            json!("+49 (0)30 123-45"),
        ),
        (json!({"type": "date"}), json!("2028-02-29"), json!("2028-02-29")),
        (json!({"type": "time"}), json!("23:59"), json!("23:59")),
        (
            json!({"type": "select", "options": colours}),
            json!("blue"),
            json!("blue"),
        ),
        (
            json!({"type": "radio", "options": colours}),
            json!(null),
            json!(null),
        ),
        (
            json!({"type": "checkboxes", "options": colours}),
            json!(["blue", "red", "blue"]),
            json!(["red", "blue"]),
        ),
        (
            json!({"type": "checkboxes", "options": colours}),
            json!("blue"),
            json!(["blue"]),
        ),
        (
            json!({"type": "select", "multiple": true, "options": colours}),
            json!(null),
            json!([]),
        ),
        (json!({"type": "checkbox"}), json!("on"), json!(true)),
        (json!({"type": "checkbox"}), json!(null), json!(false)),
        (json!({"type": "hidden"}), json!("campaign"), json!("campaign")),
        (
            json!({"type": "file", "accept": [".pdf"]}),
            file.clone(),
            file.clone(),
        ),
        (
            json!({"type": "file", "accept": ["application/*"]}),
            file.clone(),
            file.clone(),
        ),
        (json!({"type": "file"}), json!(""), json!(null)),
        (
            json!({"type": "file", "multiple": true}),
            file.clone(),
            json!([file]),
        ),
        (json!({"type": "file", "multiple": true}), json!(null), json!([])),
    ] {
        assert_eq!(
            sent(field.clone(), given.clone()),
            Ok(expected),
            "{field} {given}"
        );
    }
}

#[test]
fn what_does_not_fit_is_told_to_whoever_fills_it_in() {
    let file = json!({"$file": "f", "name": "a.exe", "type": "application/x-msdownload", "size": 3});
    let options = json!(["red", "blue"]);
    for (field, given, message) in [
        (json!({"required": true}), json!("  "), "Fill in this field."),
        (json!({}), json!("a\nb"), "Enter this on one line."),
        (json!({}), json!(["a", "b"]), "Send only one value here."),
        (json!({}), file.clone(), "Send a text here."),
        (
            json!({"minLength": 3}),
            json!("äö"),
            "Enter at least 3 characters; this has 2.",
        ),
        (
            json!({"maxLength": 1}),
            json!("äö"),
            "Enter at most 1 character; this has 2.",
        ),
        (
            json!({"pattern": "[a-z]|[0-9]"}),
            json!("a1"),
            "Enter this in the requested format.",
        ),
        (
            json!({"pattern": "a", "patternMessage": "Only a."}),
            json!("b"),
            "Only a.",
        ),
        (
            json!({"pattern": "("}),
            json!("b"),
            "Enter this in the requested format.",
        ),
        (json!({"type": "number"}), json!("nan"), "Enter a number."),
        (json!({"type": "number"}), json!("1,5"), "Enter a number."),
        (json!({"type": "number"}), json!("1e999"), "Enter a number."),
        (
            json!({"type": "number", "integer": true}),
            json!("1.5"),
            "Enter a whole number.",
        ),
        (
            json!({"type": "number", "min": 18}),
            json!("17"),
            "Enter a number of at least 18.",
        ),
        (
            json!({"type": "number", "max": 0.5}),
            json!("0.51"),
            "Enter a number of at most 0.5.",
        ),
        (
            json!({"type": "email"}),
            json!("ann@example"),
            "Enter an email address, such as name@example.com.",
        ),
        (
            json!({"type": "email"}),
            json!("a b@example.com"),
            "Enter an email address, such as name@example.com.",
        ),
        (
            json!({"type": "url"}),
            json!("javascript://x"),
            "Enter an address that begins with https:// or http://.",
        ),
        (
            json!({"type": "tel"}),
            json!("call me"),
            "Enter a phone number, such as +49 30 1234567.",
        ),
        (
            json!({"type": "date"}),
            json!("2027-02-29"),
            "Enter a date as year, month and day, such as 2026-03-31.",
        ),
        (
            json!({"type": "date", "min": "2027-01-01"}),
            json!("2026-12-31"),
            "Enter a date that is not before 2027-01-01.",
        ),
        (
            json!({"type": "time", "max": "18:00"}),
            json!("18:01"),
            "Enter a time that is not after 18:00.",
        ),
        (
            json!({"type": "time"}),
            json!("25:00"),
            "Enter a time as hours and minutes, such as 14:30.",
        ),
        (
            json!({"type": "select", "options": options}),
            json!("green"),
            "Choose one of the listed answers.",
        ),
        (
            json!({"type": "radio", "options": options, "required": true}),
            json!(null),
            "Choose an answer.",
        ),
        (
            json!({"type": "checkboxes", "options": options, "min": 2}),
            json!("red"),
            "Choose at least 2 answers.",
        ),
        (
            json!({"type": "checkboxes", "options": options, "max": 1}),
            json!(["red", "blue"]),
            "Choose at most 1 answer.",
        ),
        (
            json!({"type": "checkbox", "required": true}),
            json!(null),
            "Tick this box to go on.",
        ),
        (
            json!({"type": "file", "required": true}),
            json!(""),
            "Choose a file.",
        ),
        (json!({"type": "file"}), json!("a path"), "Choose a file."),
        (
            json!({"type": "file"}),
            json!([file, file]),
            "Choose only one file.",
        ),
        (
            json!({"type": "file", "accept": [".pdf", "image/*"]}),
            file.clone(),
            "Choose a different kind of file: .pdf, image/*.",
        ),
    ] {
        assert_eq!(
            sent(field.clone(), given.clone()),
            Err(message.to_owned()),
            "{field} {given}"
        );
    }
}

#[test]
fn a_program_is_told_of_names_that_are_no_fields() {
    let parameters = json!({"title": "F", "fields": [{"name": "name"}, {"name": "yes", "type": "checkbox"}]});
    let form = Form::of(parameters.as_object().unwrap());
    let unknown = |given: Value| form.unknown(given.as_object().unwrap());
    assert_eq!(unknown(json!({"name": "Ann"})), None);
    assert_eq!(
        unknown(json!({"nmae": "Ann", "yes": true})).unwrap(),
        "The form has no field `nmae`: its fields are `name`, `yes`."
    );
    let many: Map<String, Value> = (0..9).map(|number| (format!("n{number}"), json!(1))).collect();
    assert!(unknown(many.into()).unwrap().contains("`n4` and others"));
}

#[test]
fn all_mistakes_are_told_and_unknown_names_dropped() {
    let parameters = json!({"title": "F", "fields": [
        {"name": "a", "required": true}, {"name": "b"}, {"name": "c", "type": "checkbox", "required": true},
    ]});
    let form = Form::of(parameters.as_object().unwrap());
    let refused = form.check(json!({"b": "x"}).as_object().unwrap()).unwrap_err();
    assert_eq!(
        refused.iter().map(|mistake| mistake.field).collect::<Vec<_>>(),
        [0, 2]
    );
    let values = form
        .check(json!({"a": "1", "c": "on", "z": "2"}).as_object().unwrap())
        .unwrap();
    assert_eq!(Value::Object(values), json!({"a": "1", "b": null, "c": true}));
}

#[test]
fn a_program_sends_numbers_and_truth_values_and_no_files() {
    let parameters = json!({"title": "F", "fields": [
        {"name": "n", "type": "number", "required": true}, {"name": "yes", "type": "checkbox"}, {"name": "plan", "type": "file"},
    ]});
    let form = Form::of(parameters.as_object().unwrap());
    let sent = |given: Value| form.check_json(given.as_object().unwrap());
    for (given, expected) in [
        (
            json!({"n": 3, "yes": true}),
            json!({"n": 3, "yes": true, "plan": null}),
        ),
        (
            json!({"n": "3", "yes": false, "plan": null}),
            json!({"n": 3, "yes": false, "plan": null}),
        ),
    ] {
        assert_eq!(sent(given).map(Value::Object), Ok(expected));
    }
    for yes in [json!("false"), json!(0), json!({})] {
        let refused = sent(json!({"yes": yes, "plan": {"$file": "f"}})).unwrap_err();
        assert_eq!(
            form.summary(&refused),
            "`n`: Fill in this field. `yes`: Send true or false here. \
             `plan`: Send files as `multipart/form-data`, to the form's own address."
        );
    }
}

#[test]
fn what_is_large_is_compared_with_no_expression_and_each_choice_once() {
    let long = "a".repeat((64 << 10) + 1);
    assert_eq!(sent(json!({}), json!(long)), Ok(json!(long)));
    let refused = sent(json!({"pattern": "a+"}), json!(long)).unwrap_err();
    assert_eq!(
        refused,
        "Enter a shorter text: this one is too long to be checked."
    );
    let field = json!({"type": "checkboxes", "options": ["red", "blue"]});
    let many = vec![json!("blue"); 100_000];
    assert_eq!(sent(field.clone(), json!(many)), Ok(json!(["blue"])));
    assert!(sent(field, json!(["blue", 1])).is_err());
}

#[test]
fn many_answers_and_many_choices_are_each_looked_at_once() {
    // One by the other would be billions.
    let options: Vec<String> = (0..5_000).map(|number| format!("option {number:04}")).collect();
    let field = json!({"type": "checkboxes", "options": options});
    let answers = |last: &str| {
        let mut answers = vec![json!("option 4999"); 500_000];
        answers.push(json!(last));
        Value::Array(answers)
    };
    let chosen = json!(["option 0001", "option 4999"]);
    assert_eq!(sent(field.clone(), answers("option 0001")), Ok(chosen));
    let refused = Err("Choose one of the listed answers.".to_owned());
    assert_eq!(sent(field, answers("none")), refused);
}

#[test]
fn an_answer_that_is_no_text_chooses_nothing() {
    let field = json!({"type": "checkboxes", "options": ["", "a"]});
    assert_eq!(sent(field, json!([7, "a"])), Ok(json!(["a"])));
}
