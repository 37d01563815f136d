//! Yaml against the library `yaml`, which passes the whole test suite of YAML.

use crate::oracle::{self, is_error};
use crate::sandbox::{Node, alike};
use serde_json::{Value, json};

/// In the manner of the YAML test suite and of files that people write.
const TEXTS: &[&str] = &[
    "",
    "# c\n",
    "a",
    "- a\n- b: 1\n  c: [x, y]\n-\n- - z\n",
    "a: 1\nb:\n- 2\n- 3\nc:\n    d: {e: f, \"g\": h}\n",
    "a: &x 1\nb: *x\n",
    "base: &b {x: 1}\nd:\n  <<: *b\n  y: 2\n",
    "a: |\n  x\n   y\n\n  z\nb: >\n  x\n  y\n\n  z\n\n",
    "a: |+\n  x\n\n\nb: |-\n  x\n\n",
    "a: >-\n  x\n    y\n  z\n",
    "- |2\n    x\n- >1\n  y\n",
    "a: 'it''s'\nb: \"\\u263a \\x41 \\N\\_\\L\\P \\e \\/\"\n",
    "a: \"x\n  y\n\n  z\"\n",
    "a: x\n  y\n\n  z\n",
    "? a\n: b\n? c\n",
    "? |\n  k\n: v\n",
    "{a: b, c, ? d : e, \"f\":g, h: , i:}",
    "[a, b: c, [d, e], {f: g}, ]",
    "[a: {b: c}, ? d]",
    "--- a\n--- b\n...\n---\nc: d\n",
    "%YAML 1.2\n---\na\n",
    "---\n...\n",
    "- !!str 1\n- !!int \"2\"\n- !!float 3.5\n- !!null ''\n- !!bool \"true\"\n- !!str\n",
    "- ~\n- null\n- True\n- FALSE\n- yes\n- 0o17\n- 0x1F\n- 017\n- 1e3\n- -.5\n- +1.\n- 1_0\n- 12:30\n- 2020-01-01\n- .5.\n- 0x\n",
    "a: http://x.y/z#w\nb: x #c\nc: -1 - 2\nd: a:b\n",
    "a:   \n  b:\n    c\n",
    "\"a b\": 1\n'c': 2\n3: x\n4.5: y\ntrue: z\n",
    "key: [a,\n  b,\n  c]\nother: {a: 1,\n  b: 2}\n",
    "- a\n -b\n- c\n",
    "a: \"\\\n  x \\\n  y\"\n",
    "&a a: &b b\n*b : *a\n",
    "- &x\n  k: v\n- *x\n",
    "a: - b\n",
    "a: b: c\n",
    "a: 1\na: 2\n",
    "a:\n\tb: 1\n",
    "[a, b",
    "{a: b",
    "\"x",
    "'x",
    "*x",
    "a: 1\n b: 2\n",
    "- a\nb: c\n",
    "@x",
    "`x",
    "a: ]",
    "\"\\z\"",
    "a: 'x' y\n",
    "- [a]]\n",
    "&a &b x\n",
    "[\n]\n",
    "\u{feff}a: 1\n",
    "a: \u{85}x\n",
    "a: 1 # c\n#d\n  # e\nb: 2\n",
    "?\n",
    "-\n",
    "- - - a\n    - b\n  - c\n",
    "a:\r\n  b: 1\r\n  c: |\r\n    x\r\n    y\r\n",
];

#[tokio::test]
async fn texts_are_read_and_refused_alike() {
    let texts: Vec<Value> = TEXTS.iter().map(|text| json!(text)).collect();
    let Some(answers) = oracle::ask("yaml", &texts) else {
        return;
    };
    let node = Node::new("Yaml", json!({"all": true}));
    let mut wrong = Vec::new();
    for (text, expected) in texts.iter().zip(answers) {
        let ours = node.run(text).await;
        let same = match &ours {
            Ok(value) => !is_error(&expected) && alike(value) == alike(&expected),
            Err(failure) => is_error(&expected) && failure.starts_with("PARSE: "),
        };
        if !same {
            wrong.push(format!("{text}: {ours:?}, yaml: {expected}"));
        }
    }
    oracle::assert_none(&wrong);
}

#[tokio::test]
async fn what_others_write_is_read() {
    let mut random = oracle::random(5);
    let values = oracle::cases(120).map(|_| merging_nothing(value(&mut random, 4)));
    let values: Vec<Value> = values.collect();
    let Some(answers) = oracle::ask("yamlWrite", &values) else {
        return;
    };
    let node = Node::new("Yaml", json!({}));
    let mut wrong = Vec::new();
    for (value, texts) in values.iter().zip(answers) {
        for text in texts.as_array().unwrap() {
            let ours = node.run(text).await;
            let text = text.as_str().unwrap();
            let is_right = match &ours {
                Err(failure) if has_bare_mark(text) => failure.contains("a byte order mark"),
                Ok(_) if has_bare_mark(text) => text.starts_with('\u{feff}'),
                ours => ours.as_ref().map(alike) == Ok(alike(value)),
            };
            if !is_right {
                wrong.push(format!("{text:?}: {ours:?}, written of {value}"));
            }
        }
    }
    oracle::assert_none(&wrong);
}

/// The library writes a byte order mark without quotes, where YAML forbids it (5.2) or takes it for that of the file.
fn has_bare_mark(text: &str) -> bool {
    let text = text.replace("'\u{feff}'", "").replace("\"\u{feff}\"", "");
    text.contains('\u{feff}')
}

/// The library writes a key `<<` as it is even where a mapping or mappings follow, which all that know the merge key
/// take for one, the library's own `merge` included, or refuse if not all of a sequence are. Such values become text here;
/// all others stay.
fn merging_nothing(value: Value) -> Value {
    let merges = |value: &Value| match value {
        Value::Object(_) => true,
        Value::Array(values) => values.is_empty() || values.iter().any(Value::is_object),
        _ => false,
    };
    match value {
        Value::Array(values) => values.into_iter().map(merging_nothing).collect(),
        Value::Object(fields) => {
            let fields = fields.into_iter().map(|(name, value)| match name.as_str() {
                "<<" if merges(&value) => (name, "merged".into()),
                _ => (name, merging_nothing(value)),
            });
            Value::Object(fields.collect())
        }
        other => other,
    }
}

/// By readers of YAML 1.2, and by those of 1.1, which take more texts for something else.
#[tokio::test]
async fn what_is_written_is_read_by_others() {
    let mut random = oracle::random(6);
    let values: Vec<Value> = oracle::cases(200).map(|_| value(&mut random, 4)).collect();
    let node = Node::new(
        "Yaml",
        json!({"operation": "stringify", "value": "{{ $input.value }}"}),
    );
    let mut written = Vec::new();
    for value in &values {
        written.push(node.run(&json!({ "value": value })).await.unwrap());
    }
    let Some(answers) = oracle::ask("yaml", &written) else {
        return;
    };
    for ((value, text), expected) in values.iter().zip(&written).zip(answers) {
        assert_eq!(alike(&json!([value])), alike(&expected), "{text}");
    }
    for ((value, text), expected) in values
        .iter()
        .zip(&written)
        .zip(oracle::ask("yaml11", &written).unwrap())
    {
        assert_eq!(alike(value), alike(&expected), "{text}");
    }
}

fn value(random: &mut fastrand::Rng, depth: u32) -> Value {
    match random.u32(0..if depth == 0 { 5 } else { 8 }) {
        0 => random.choice([json!(null), json!(true), json!(false)]).unwrap(),
        1 => random
            .choice([json!(0), json!(-7), json!(1.5), json!(1e21), json!(0.000_001)])
            .unwrap(),
        2..=4 => text(random).into(),
        5 => (0..random.u32(0..4)).map(|_| value(random, depth - 1)).collect(),
        _ => {
            let count = random.u32(0..4);
            let field = |_| (text(random), value(random, depth - 1));
            Value::Object((0..count).map(field).collect())
        }
    }
}

/// Texts that look like something else, or have what must be quoted.
fn text(random: &mut fastrand::Rng) -> String {
    let texts = [
        "",
        "a",
        "yes",
        "No",
        "on",
        "~",
        "null",
        "True",
        "1",
        "-1",
        "1.0",
        "1e3",
        "0x1F",
        "0o7",
        "017",
        "1_000",
        "1:30",
        ".5",
        ".inf",
        ".NaN",
        "2020-01-01",
        "2001-12-14t21:59:43.10-05:00",
        "=",
        "<<",
        "- a",
        "-",
        "--- x",
        "...",
        "? a",
        ": b",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "[a",
        "{a",
        "]",
        ",a",
        "&a",
        "*a",
        "!a",
        "|",
        ">",
        "%a",
        "@a",
        "`a",
        "\"a\"",
        "'a'",
        " a",
        "a ",
        "a\nb",
        "a\nb\n",
        "a\n\n\nb\n\n",
        "\na",
        "a\n b\n  c",
        "a\n\t\nb",
        "\ta",
        "a\tb",
        "a\\b",
        "é",
        "😀",
        "\u{a0}x",
        "x\u{2028}y",
        "\u{85}",
        "\u{feff}",
        "\u{1}",
        "\r",
        "a\r\nb",
        "long word ".repeat(30).leak(),
        "y",
        "N",
        "0.",
        "+1",
        "1e",
        "0b1",
        "!!str a",
        "a, b",
        "a]b",
        "/path/to.x",
        "(x)",
        "$x",
        "^a",
        "_x",
        "key-1",
        "日本: 語",
    ];
    random.choice(texts).unwrap().to_owned()
}
