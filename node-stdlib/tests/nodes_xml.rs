//! Xml: options, edge cases, errors.

mod support;

use serde_json::{Value, json};
use support::run;

/// What the node gives for a text, as JSON; or `CODE: message`.
fn parsed(parameters: &str, text: &str) -> String {
    let left = run("Xml", parameters, &json!(text).to_string());
    match left
        .strip_prefix("{\"0\":")
        .and_then(|rest| rest.strip_suffix('}'))
    {
        Some(value) => value.to_owned(),
        None => left,
    }
}

fn written(parameters: Value, value: &Value) -> String {
    let mut parameters = parameters;
    parameters["operation"] = json!("stringify");
    let left = run("Xml", &parameters.to_string(), &value.to_string());
    match serde_json::from_str::<Value>(&left) {
        Ok(left) => left["0"].as_str().map_or(left.to_string(), str::to_owned),
        Err(_) => left,
    }
}

#[test]
fn elements_are_text_or_objects() {
    for (text, expected) in [
        ("<a/>", r#"{"a":""}"#),
        ("<a></a>", r#"{"a":""}"#),
        ("<a>x</a>", r#"{"a":"x"}"#),
        ("<a b='1'/>", r#"{"a":{"@b":"1"}}"#),
        ("<a b='1'>x</a>", r##"{"a":{"@b":"1","#text":"x"}}"##),
        ("<a><b/><c/><b>2</b></a>", r#"{"a":{"b":["","2"],"c":""}}"#),
        ("<a>x<b/>y</a>", r##"{"a":{"b":"","#text":"xy"}}"##),
        ("<a>\n  <b> 1 </b>\n</a>", r#"{"a":{"b":"1"}}"#),
        ("<a><![CDATA[<b> & ]]>x</a>", r#"{"a":"<b> & x"}"#),
        (
            "<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</a>",
            r#"{"a":"<>&\"'A😀"}"#,
        ),
        ("<a b='&lt;&#10;&quot;\n'/>", r#"{"a":{"@b":"<\n\" "}}"#),
        ("<a>1\r\n2\r3</a>", r#"{"a":"1\n2\n3"}"#),
        (
            "<s:a xmlns:s='u'><s:b/></s:a>",
            r#"{"s:a":{"@xmlns:s":"u","s:b":""}}"#,
        ),
        (
            "\u{feff}<?xml version='1.0'?>\n<!-- c --><?p i?><!DOCTYPE a><a/>\n<!-- c -->",
            r#"{"a":""}"#,
        ),
        (
            "<!DOCTYPE a [<!ENTITY b 'c'><!ELEMENT a ANY>]><a/>",
            r#"{"a":""}"#,
        ),
        (
            "<a><2/></a>",
            "PARSE: The text is not valid XML: `2` is not a valid element name, in line 1, column 4.",
        ),
    ] {
        assert_eq!(parsed("{}", text), expected, "{text}");
    }
}

#[test]
fn options_change_the_reading() {
    for (parameters, text, expected) in [
        (
            r#"{"attributePrefix": ""}"#,
            "<a b='1'><b>2</b></a>",
            r#"{"a":{"b":["1","2"]}}"#,
        ),
        (r#"{"attributePrefix": "$"}"#, "<a b='1'/>", r#"{"a":{"$b":"1"}}"#),
        (
            r#"{"array": ["b", "a"]}"#,
            "<a><b>2</b><c/></a>",
            r#"{"a":[{"b":["2"],"c":""}]}"#,
        ),
        (
            r#"{"trim": false}"#,
            "<a> <b> 1 </b> <c> </c></a>",
            r#"{"a":{"b":" 1 ","c":" "}}"#,
        ),
        (
            r#"{"trim": false}"#,
            "<a> x <b/></a>",
            r##"{"a":{"b":"","#text":" x "}}"##,
        ),
    ] {
        assert_eq!(parsed(parameters, text), expected, "{parameters} {text}");
    }
    assert!(run("Xml", r#"{"array": "b"}"#, "\"<a/>\"").starts_with("PARAMETER: Parameter `array`"));
    assert!(run("Xml", "{}", "[]").starts_with("PARAMETER: This node works on text"));
}

#[test]
fn what_is_no_xml_says_where() {
    for (text, expected) in [
        ("", "it has no element, in line 1, column 1."),
        (
            "x",
            "text stands outside of the document's element, in line 1, column 1.",
        ),
        ("<a>", "`<a>` is never closed, in line 1, column 4."),
        (
            "<a>\n <b></a>",
            "expected `</b>`, but `</a>` was found, in line 2, column 5.",
        ),
        (
            "<a/><b/>",
            "a document has one element that holds all others, in line 1, column 5.",
        ),
        (
            "<a/>x",
            "text stands outside of the document's element, in line 1, column 5.",
        ),
        ("<a b=1/>", "in line 1, column 1."),
        ("<a b='1' b='2'/>", "in line 1, column 1."),
        (
            "<a b='1'c='2'/>",
            "a space is missing before an attribute, in line 1, column 9.",
        ),
        (
            "<a b='<'/>",
            "`<` stands in the attribute `b`, in line 1, column 1.",
        ),
        (
            "<a>]]></a>",
            "`]]>` stands outside of a CDATA section, in line 1, column 4.",
        ),
        (
            "<a>\n&b;</a>",
            "`&b;` is unknown: entities of a document type are not expanded, in line 2, column 1.",
        ),
        ("<a>&#0;</a>", "in line 1, column 4."),
        (
            "<a>\u{1}</a>",
            "the character U+0001 is not allowed, in line 1, column 4.",
        ),
        (
            "<a>&#1;</a>",
            "the character U+0001 is not allowed, in line 1, column 4.",
        ),
        (
            "<a b='&#1;'/>",
            "the character U+0001 is not allowed, in line 1, column 1.",
        ),
        ("<a><!-- -- --></a>", "in line 1, column 9."),
        (
            "<a/><?xml version='1.0'?>",
            "the XML declaration may only stand at the very beginning, in line 1, column 5.",
        ),
        (
            "<a><!DOCTYPE a></a>",
            "a document type may only stand once, before the element, in line 1, column 4.",
        ),
        ("<a>& b</a>", "in line 1, column 4."),
    ] {
        let failure = parsed("{}", text);
        assert!(
            failure.starts_with("PARSE: The text is not valid XML: "),
            "{text}: {failure}"
        );
        assert!(failure.ends_with(expected), "{text}: {failure}");
    }
}

#[test]
fn entities_do_not_explode() {
    let bomb = "<!DOCTYPE a [<!ENTITY b 'bbbb'><!ENTITY c '&b;&b;&b;'>]><a>&c;</a>";
    assert!(parsed("{}", bomb).contains("`&c;` is unknown"));
    let outside = "<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a b='&b;'/>";
    assert!(parsed("{}", outside).starts_with("PARSE: The text is not valid XML: the attribute `b`"));
}

#[test]
fn nesting_has_a_limit() {
    let nested = |levels: usize| format!("{}{}", "<a>".repeat(levels), "</a>".repeat(levels));
    assert!(parsed("{}", &nested(512)).starts_with("{\"a\":"));
    assert_eq!(
        parsed("{}", &nested(513)),
        "DEPTH_LIMIT: The text is nested more than 512 levels deep, in line 1, column 1537."
    );
    // Arrays are levels too.
    assert!(parsed(r#"{"array": ["a"]}"#, &nested(400)).starts_with("DEPTH_LIMIT: "));
    assert!(parsed("{}", &"<a>".repeat(200_000)).starts_with("DEPTH_LIMIT: "));
}

#[test]
fn objects_are_written() {
    let plain = json!({"declaration": false});
    for (value, expected) in [
        (json!({"a": null}), "<a/>"),
        (json!({"a": ["x"]}), "<a>x</a>"),
        (
            json!({"a": {"b": [1, true, null], "@c": "\"<\n>", "#text": "1 & 2"}}),
            "<a c=\"&quot;&lt;&#10;&gt;\">1 &amp; 2<b>1</b><b>true</b><b/></a>",
        ),
        (json!({"a": {"b": []}}), "<a/>"),
        (json!({"a": "1\r\n2"}), "<a>1&#13;\n2</a>"),
        (json!({"a": {"@b": null}}), "<a b=\"\"/>"),
        (
            json!({}),
            "PARAMETER: Parameter `value` takes an object with one field, the root element, but it is an empty object.",
        ),
        (
            json!({"a": 1, "b": 2}),
            "PARAMETER: Parameter `value` takes an object with one field, the root element, but it is an object with a, b.",
        ),
        (
            json!({"a": [1, 2]}),
            "PARAMETER: The field `a` of the value is the root element, of which there is one.",
        ),
        (
            json!({"a b": 1}),
            "PARAMETER: The field `a b` of the value is not a valid XML name.",
        ),
        (
            json!({"a": {"@": 1}}),
            "PARAMETER: The field `@` of the value is not a valid XML name.",
        ),
        (
            json!({"a": {"@b": []}}),
            "PARAMETER: The field `@b` of the value is an attribute, which takes text.",
        ),
        (
            json!({"a": {"b": [[1]]}}),
            "PARAMETER: The field `b` of the value is an array within an array, which XML can't say.",
        ),
        (
            json!({"a": "\u{1}"}),
            "PARAMETER: The field `a` of the value has the character U+0001, which XML can't say.",
        ),
        (
            json!("x"),
            "PARAMETER: Parameter `value` takes an object with the root element, but it is the string \"x\".",
        ),
    ] {
        assert_eq!(written(plain.clone(), &value), expected, "{value}");
    }
    assert_eq!(
        written(
            json!({"indent": 2, "attributePrefix": "$"}),
            &json!({"a": {"b": {"$c": 1, "d": "x"}, "e": {"#text": "t", "f": 1}}})
        ),
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<a>\n  <b c=\"1\">\n    <d>x</d>\n  </b>\n  <e>t<f>1</f></e>\n</a>"
    );
}

#[test]
fn what_is_written_is_read_again() {
    for value in [
        json!({"a": {"@b": "\t\n\r\"'<>&é😀", "c": ["1", {"@d": "", "e": ["", "x\u{a0}y"]}], "#text": "t]]>"}}),
        json!({"ns:a": {"_b": "a\r\nb", "c.d-e": ["1", "2"]}}),
    ] {
        for indent in [0, 3] {
            let text = written(json!({"indent": indent}), &value);
            assert_eq!(parsed("{}", &text), value.to_string(), "{text}");
        }
    }
}
