//! Yaml: options, edge cases, errors, and examples of the YAML 1.2 specification.

mod support;

use proptest::prelude::*;
use serde_json::{Value, json};
use support::run;

/// What the node gives, as JSON; or `CODE: message`.
fn given(parameters: &str, input: &Value) -> String {
    let left = run("Yaml", parameters, &input.to_string());
    match left
        .strip_prefix("{\"0\":")
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(value) => value.to_owned(),
        None => left,
    }
}

fn parsed(text: &str) -> String {
    given("{}", &json!(text))
}

fn written(value: &Value) -> String {
    let left = given(r#"{"operation": "stringify"}"#, value);
    serde_json::from_str(&left).unwrap_or(left)
}

#[test]
fn scalars_have_the_types_of_the_core_schema() {
    for (text, expected) in [
        ("", "null"),
        ("# nothing\n", "null"),
        (
            "[~, null, Null, NULL, '', nULL]",
            r#"[null,null,null,null,"","nULL"]"#,
        ),
        (
            "[true, True, TRUE, tRUE, yes, on, y]",
            r#"[true,true,true,"tRUE","yes","on","y"]"#,
        ),
        (
            "[0, -0, +12, 012, 0o14, 0xC, 0b11, 1_000]",
            r#"[0,0,12,12,12,12,"0b11","1_000"]"#,
        ),
        (
            "[1., .5, -.5e3, 1e3, 1E+2, ., 1e, e1, +]",
            r#"[1,0.5,-500,1000,100,".","1e","e1","+"]"#,
        ),
        (
            "[.inf, -.Inf, .NAN, +.nan, 190:20:30, 2001-12-14]",
            r#"[null,null,null,"+.nan","190:20:30","2001-12-14"]"#,
        ),
        (
            "['1', \"1\", '''x''', \"\\x41\\u00e9\\U0001F600\\n\"]",
            r#"["1","1","'x'","Aé😀\n"]"#,
        ),
        ("12345678901234567890", "12345678901234567000"),
    ] {
        assert_eq!(parsed(text), expected, "{text}");
    }
}

#[test]
fn tags_say_what_a_scalar_is() {
    for (text, expected) in [
        (
            "[!!str 1, !!int '1', !!float 1, !!bool 'true', !!null '', ! 1]",
            r#"["1",1,1,true,null,"1"]"#,
        ),
        ("!!binary |\n  R0lG\n  ODlh\n", r#""R0lGODlh""#),
        (
            "[!Ref name, !<tag:yaml.org,2002:str> 2, !<x:y> 3]",
            r#"["name","2","3"]"#,
        ),
        ("%TAG !e! tag:example.com,2000:\n---\n!e!x {a: 1}", r#"{"a":1}"#),
        ("!!set {a, b}", r#"{"a":null,"b":null}"#),
        ("!!omap [a: 1, b: 2]", r#"[{"a":1},{"b":2}]"#),
        (
            "!!int x",
            "PARSE: The text is not valid YAML: the tag `!!int` takes a whole number, in line 1, column 1.",
        ),
        (
            "!!map x",
            "PARSE: The text is not valid YAML: the tag `!!map` takes a mapping, in line 1, column 1.",
        ),
        (
            "!!str [x]",
            "PARSE: The text is not valid YAML: the tag `!!str` stands at a sequence, in line 1, column 1.",
        ),
    ] {
        assert_eq!(parsed(text), expected, "{text}");
    }
}

#[test]
fn keys_are_text() {
    for (text, expected) in [
        ("{b: 1, 10: 2, 9: 3, a: 4}", r#"{"9":3,"10":2,"b":1,"a":4}"#),
        (
            "{1.0: a, true: b, ~: c, 0x10: d, '': e}",
            "PARSE: The text is not valid YAML: the key `` is used twice, in line 1, column 34.",
        ),
        (
            "{1.0: a, true: b, ~: c, 0x10: d}",
            r#"{"1":"a","16":"d","true":"b","":"c"}"#,
        ),
        ("? a\n: 1\n? b\n", r#"{"a":1,"b":null}"#),
        ("&k a: 1\nb: *k", r#"{"a":1,"b":"a"}"#),
        (
            "a: 1\nb: 2\na: 3",
            "PARSE: The text is not valid YAML: the key `a` is used twice, in line 3, column 1.",
        ),
        (
            "? [a]\n: 1",
            "PARSE: The text is not valid YAML: a key that is a sequence or a mapping can't be the name of a field, in line 1, column 3.",
        ),
        (
            "&a a: 1\n*a : 2",
            "PARSE: The text is not valid YAML: the key `a` is used twice, in line 2, column 1.",
        ),
        (
            "a: &x [1]\n? *x\n: 2",
            "PARSE: The text is not valid YAML: a key that is a sequence or a mapping can't be the name of a field, in line 2, column 3.",
        ),
        (
            "__proto__: 1\nconstructor: 2",
            r#"{"__proto__":1,"constructor":2}"#,
        ),
    ] {
        assert_eq!(parsed(text), expected, "{text}");
    }
}

#[test]
fn merge_keys_add_what_is_not_there() {
    let base = "b: &b {x: 1, y: 2}\nc: &c {x: 3, z: 4}\n";
    for (text, expected) in [
        ("m: {<<: *b, x: 9}", r#"{"x":9,"y":2}"#),
        ("m: {x: 9, <<: *b}", r#"{"x":9,"y":2}"#),
        ("m: {<<: [*b, *c], w: 0}", r#"{"x":1,"y":2,"z":4,"w":0}"#),
        ("m: {'<<': 1}", r#"{"<<":1}"#),
        ("m: [<<]", r#"["<<"]"#),
        ("m: {'<<': *b}", r#"{"<<":{"x":1,"y":2}}"#),
        ("m: {!!merge <<: *b}", r#"{"x":1,"y":2}"#),
        ("m: {<<: *b, <<: *c}", r#"{"x":1,"y":2,"z":4}"#),
        ("m: {<<: {x: 1}, x: 2}", r#"{"x":2}"#),
        ("m: {<<: [], x: 2}", r#"{"x":2}"#),
        // Nothing that could be merged: a key like any other.
        ("m: {<<: 1}", r#"{"<<":1}"#),
        ("m: {<<: }", r#"{"<<":null}"#),
        ("m: {<<: [1, [*b]]}", r#"{"<<":[1,[{"x":1,"y":2}]]}"#),
        ("m: {&k <<: 1, x: *k}", r#"{"<<":1,"x":"<<"}"#),
        ("m: {<<: *b, <<: z}", r#"{"x":1,"y":2,"<<":"z"}"#),
        (
            "m: {<<: 1, '<<': 2}",
            "PARSE: The text is not valid YAML: the key `<<` is used twice, in line 3, column 12.",
        ),
        (
            "m: {'<<': 1, <<: 2}",
            "PARSE: The text is not valid YAML: the key `<<` is used twice, in line 3, column 18.",
        ),
        (
            "m: {<<: *b, x: 1, x: 2}",
            "PARSE: The text is not valid YAML: the key `x` is used twice, in line 3, column 19.",
        ),
        (
            "n: &n 1\nm: {<<: *n}",
            "PARSE: The text is not valid YAML: `<<` takes a mapping or a sequence of mappings, in line 4, column 9.",
        ),
        (
            "m: {<<: [*b, 1]}",
            "PARSE: The text is not valid YAML: `<<` takes a mapping or a sequence of mappings, in line 3, column 15.",
        ),
    ] {
        let given = parsed(&format!("{base}{text}"));
        match given.starts_with('{') {
            true => assert!(given.ends_with(&format!("\"m\":{expected}}}")), "{text}: {given}"),
            false => assert_eq!(given, expected, "{text}"),
        }
    }
}

#[test]
fn aliases_are_followed_within_limits() {
    assert_eq!(
        parsed("a: &a [1, &b 2]\nb: [*a, *b]\na2: &a 3\nc: *a"),
        r#"{"a":[1,2],"b":[[1,2],2],"a2":3,"c":3}"#
    );
    assert!(parsed("*a").starts_with("PARSE: The text is not valid YAML: "));
    assert!(
        parsed("&a [*a]").ends_with("an alias stands within the value that it names, in line 1, column 5.")
    );
    // Anchors belong to their document.
    assert!(given(r#"{"all": true}"#, &json!("&a 1\n---\n*a\n")).starts_with("PARSE: "));
    let mut bomb = "l0: &l0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]\n".to_owned();
    for level in 1..9 {
        let again = format!("*l{}", level - 1);
        bomb += &format!("l{level}: &l{level} [{}]\n", vec![again; 9].join(", "));
    }
    let failure = parsed(&bomb);
    assert!(
        failure.starts_with("PARSE: The text has aliases that repeat more than 8 MiB ("),
        "{failure}"
    );
    assert!(failure.contains("in line 7, column "), "{failure}");
}

#[test]
fn several_documents_are_an_array() {
    let all = r#"{"all": true}"#;
    let text = json!("a: 1\n---\n- b\n...\n---\n");
    assert_eq!(given(all, &text), r#"[{"a":1},["b"],null]"#);
    assert_eq!(given(all, &json!("")), "[]");
    assert_eq!(
        given("{}", &text),
        "PARSE: The text has a second document (set `all` to get an array of them), in line 2, column 1."
    );
    let write = r#"{"operation": "stringify", "all": true}"#;
    assert_eq!(
        given(write, &json!([{"a": 1}, "x", []])),
        r#""---\na: 1\n---\nx\n---\n[]\n""#
    );
    assert!(
        given(write, &json!({"a": 1}))
            .starts_with("PARAMETER: Parameter `value` takes an array of documents")
    );
}

#[test]
fn what_is_no_yaml_says_where() {
    for (text, place) in [
        ("a: [1, 2", "line 2, column 1."),
        ("a: b: c", "line 1, column 5."),
        ("a: 1\n b: 2", "line 2, column"),
        ("a:\n\tb: 1", "line 2, column"),
        ("a: \"x", "line 1, column"),
        ("- a\nb", "line 3, column 1."),
        ("%YAML 1.2\na", "line 2, column"),
        ("\"\\q\"", "line 1, column"),
    ] {
        let failure = parsed(text);
        assert!(
            failure.starts_with("PARSE: The text is not valid YAML: ") && failure.contains(place),
            "{text:?}: {failure}"
        );
    }
    assert!(given("{}", &json!([1])).starts_with("PARAMETER: This node works on text"));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    let by_dashes = |levels: usize| format!("{}x", "- ".repeat(levels));
    assert_eq!(
        parsed(&by_dashes(512)),
        format!("{}\"x\"{}", "[".repeat(512), "]".repeat(512))
    );
    assert_eq!(
        parsed(&by_dashes(513)),
        "DEPTH_LIMIT: The text is nested more than 512 levels deep, in line 1, column 1025."
    );
    assert_eq!(parsed(&nested(255)), nested(255));
    assert_eq!(
        parsed(&nested(256)),
        "DEPTH_LIMIT: The text has brackets nested more than 255 levels deep, in line 1, column 256."
    );
    assert!(parsed(&"- ".repeat(100_000)).starts_with("DEPTH_LIMIT: "));
    let open = "[".repeat(200);
    let close = "]".repeat(200);
    let by_alias = format!("- &a {open}{close}\n- &b {open}*a{close}\n- {open}*b{close}");
    assert!(
        parsed(&by_alias).starts_with("DEPTH_LIMIT: "),
        "{}",
        parsed(&by_alias)
    );
}

/// From chapters 2 and 6 to 8 of the specification.
#[test]
fn examples_of_the_specification_are_read() {
    for (text, expected) in [
        (
            "american:\n  - Boston Red Sox\nnational:\n  - New York Mets\n",
            json!({"american": ["Boston Red Sox"], "national": ["New York Mets"]}),
        ),
        (
            "Mark McGwire: {hr: 65, avg: 0.278}\nSammy Sosa: {\n    hr: 63,\n    avg: 0.288\n  }\n",
            json!({"Mark McGwire": {"hr": 65, "avg": 0.278}, "Sammy Sosa": {"hr": 63, "avg": 0.288}}),
        ),
        (
            "---\nhr:\n  - Mark McGwire\n  # Following node labeled SS\n  - &SS Sammy Sosa\nrbi:\n  - *SS # Subsequent occurrence\n",
            json!({"hr": ["Mark McGwire", "Sammy Sosa"], "rbi": ["Sammy Sosa"]}),
        ),
        (
            "# ASCII Art\n--- |\n  \\//||\\/||\n  // ||  ||__\n",
            json!("\\//||\\/||\n// ||  ||__\n"),
        ),
        (
            "--- >\n  Mark McGwire's\n  year was crippled\n  by a knee injury.\n",
            json!("Mark McGwire's year was crippled by a knee injury.\n"),
        ),
        (
            ">\n Sammy Sosa completed another\n fine season with great stats.\n\n   63 Home Runs\n   0.288 Batting Average\n\n What a year!\n",
            json!(
                "Sammy Sosa completed another fine season with great stats.\n\n  63 Home Runs\n  0.288 Batting Average\n\nWhat a year!\n"
            ),
        ),
        (
            "plain:\n  This unquoted scalar\n  spans many lines.\n\nquoted: \"So does this\n  quoted scalar.\\n\"\n",
            json!({"plain": "This unquoted scalar spans many lines.", "quoted": "So does this quoted scalar.\n"}),
        ),
        (
            "unicode: \"Sosa did fine.\\u263A\"\ncontrol: \"\\b1998\\t1999\\t2000\\n\"\nhex esc: \"\\x0d\\x0a is \\r\\n\"\nquoted: ' # Not a ''comment''.'\n",
            json!({"unicode": "Sosa did fine.☺", "control": "\u{8}1998\t1999\t2000\n", "hex esc": "\r\n is \r\n", "quoted": " # Not a 'comment'."}),
        ),
        (
            "strip: |-\n  text\nclip: |\n  text\nkeep: |+\n  text\n\n",
            json!({"strip": "text", "clip": "text\n", "keep": "text\n\n"}),
        ),
        ("- |1\n  explicit\n", json!([" explicit\n"])),
        (
            "\"folded \nto a space,\t\n \nto a line feed, or \t\\\n \\ \tnon-content\"",
            json!("folded to a space,\nto a line feed, or \t \tnon-content"),
        ),
        (
            "{\n  ? explicit: entry,\n  implicit: entry,\n  ?\n}",
            json!({"explicit": "entry", "implicit": "entry", "": null}),
        ),
        (
            "- [a: b]\n- {http://x.y/z: 1, \"k\":v}\n- - - x\n",
            json!([[{"a": "b"}], {"http://x.y/z": 1, "k": "v"}, [["x"]]]),
        ),
    ] {
        let given: Value =
            serde_json::from_str(&parsed(text)).unwrap_or_else(|_| panic!("{text}: {}", parsed(text)));
        assert_eq!(given, expected, "{text}");
    }
}

#[test]
fn values_are_written_for_people() {
    for (value, expected) in [
        (json!(null), "null\n"),
        (json!(1.5), "1.5\n"),
        (json!([]), "[]\n"),
        (json!({}), "{}\n"),
        (json!({"a": [], "b": {}}), "a: []\nb: {}\n"),
        (
            json!([[1, [2]], {"a": 1, "b": [3]}]),
            "- - 1\n  - - 2\n- a: 1\n  b:\n    - 3\n",
        ),
        (
            json!({"a b": "x y", "": "", "1": true}),
            "\"1\": true\na b: x y\n\"\": \"\"\n",
        ),
        (
            json!([
                "no",
                "1",
                "1e3",
                "~",
                "- a",
                "a: b",
                "a #b",
                "a#b",
                "x:",
                "é",
                "0x1f",
                "1:30",
                "2001-01-01",
                "12 monkeys"
            ]),
            "- \"no\"\n- \"1\"\n- \"1e3\"\n- \"~\"\n- \"- a\"\n- \"a: b\"\n- \"a #b\"\n- a#b\n- \"x:\"\n- é\n- \"0x1f\"\n- \"1:30\"\n- \"2001-01-01\"\n- 12 monkeys\n",
        ),
        (
            json!({"t": "a\nb\n", "u": "a\n\n\nb", "v": "a\n\n", "w": " a\nb", "x": "\t", "y": "\u{7}\u{2028}"}),
            "t: |\n  a\n  b\nu: |-\n  a\n\n\n  b\nv: |+\n  a\n\nw: \" a\\nb\"\nx: \"\\t\"\n\"y\": \"\\u0007\\u2028\"\n",
        ),
        (json!([{"t": "a\nb"}]), "- t: |-\n    a\n    b\n"),
        (json!("a\nb"), "|-\n  a\n  b\n"),
    ] {
        assert_eq!(written(&value), expected, "{value}");
        let again: Value = serde_json::from_str(&parsed(expected)).unwrap();
        assert_eq!(as_doubles(&again), as_doubles(&value), "{expected}");
    }
    let long = "k".repeat(1_100);
    let text = written(&json!({&long: {"a": 1}}));
    assert!(text.starts_with("? kkk"), "{text}");
    assert_eq!(parsed(&text), json!({&long: {"a": 1}}).to_string());
}

fn values() -> impl Strategy<Value = Value> {
    let text = prop_oneof![
        "[a-z ]{0,6}",
        "[-:#?!&*|>%@`'\"\\[\\]{},~=<. a1\n\t]{0,8}",
        "[0-9eE.+xo_:-]{1,6}",
        "(\n| |a|é|\u{85}|\u{feff}|😀|\\\\|\r){0,6}",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        (-1e9..1e9_f64).prop_map(Value::from),
        text.clone().prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::btree_map(text.clone(), inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(value in values()) {
        let text = written(&value);
        let again: Value = serde_json::from_str(&parsed(&text)).map_err(|_| TestCaseError::fail(format!("{text}: {}", parsed(&text))))?;
        let (again, value) = (as_doubles(&again), as_doubles(&value));
        prop_assert_eq!(again, value, "{}", text);
    }

    #[test]
    fn no_text_breaks_the_reader(text in "[-:#?!&*|>%@'\"\\[\\]{},~<. ab1\n\t]{0,40}") {
        let given = parsed(&text);
        prop_assert!(!given.starts_with("PARAMETER") && !given.starts_with("INTERNAL"), "{}", given);
    }
}

/// Numbers as doubles, in which 1 and 1.0 are the same; objects without their order.
fn as_doubles(value: &Value) -> String {
    match value {
        Value::Number(number) => format!("{:?}", number.as_f64()),
        Value::Array(items) => format!("{:?}", items.iter().map(as_doubles).collect::<Vec<_>>()),
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields
                .iter()
                .map(|(name, field)| (name, as_doubles(field)))
                .collect();
            fields.sort();
            format!("{fields:?}")
        }
        other => other.to_string(),
    }
}
