//! Values by hand-checked cases: JSON in and out, conversions, paths, order.

#[path = "values/numbers.rs"]
mod numbers;

use heddle_values::{
    Array, Near, Object, Text, Value, json_indent, number_remainder, number_to_text, ops, parse_json,
    text_to_number,
};

fn parse(text: &str) -> Value {
    parse_json(text.as_bytes(), 512).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn refusal(text: &[u8]) -> String {
    match parse_json(text, 8) {
        Ok(value) => panic!("accepted as {}", value.to_json()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn json_is_printed_as_javascript_prints_it() {
    let cases = [
        (
            r#" { "b" : 1 , "a" : [ true , null ] } "#,
            r#"{"b":1,"a":[true,null]}"#,
        ),
        (
            r#"{"b":1,"10":2,"9":3,"a":4,"01":5,"4294967295":6,"4294967294":7}"#,
            r#"{"9":3,"10":2,"4294967294":7,"b":1,"a":4,"01":5,"4294967295":6}"#,
        ),
        (r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#),
        (r#"{"__proto__":1}"#, r#"{"__proto__":1}"#),
        (
            r#""\u0041\ud83d\ude00\/\u001f\b\f\n\r\t\"\\é""#,
            "\"A😀/\\u001f\\b\\f\\n\\r\\t\\\"\\\\é\"",
        ),
        (r#""\ud83d x \udE00""#, r#""\ud83d x \ude00""#),
        (r#""\ud83d\ud83d\ude00""#, "\"\\ud83d😀\""),
        (
            "[-0, 0.0, 1e21, 1e-7, 123456789012345680000, 5e-324, 0.1]",
            "[0,0,1e+21,1e-7,123456789012345680000,5e-324,0.1]",
        ),
        ("[1e999, -1e999]", "[null,null]"),
        ("[[],{}]", "[[],{}]"),
        ("\"\u{7f}\u{2028}\"", "\"\u{7f}\u{2028}\""),
    ];
    for (source, printed) in cases {
        assert_eq!(parse(source).to_json(), printed, "{source}");
    }
}

#[test]
fn what_is_no_json_is_refused_with_its_place() {
    let cases: &[(&[u8], &str)] = &[
        (b"", "expected a value, found the end of the text at byte 0"),
        (b"[1,]", "expected a value, found ']' at byte 3"),
        (
            b"[1 2]",
            "expected ',' or ']' after an element, found '2' at byte 3",
        ),
        (
            b"{\"a\":1,}",
            "expected a property name in double quotes, found '}' at byte 7",
        ),
        (
            b"{\"a\" 1}",
            "expected ':' after a property name, found '1' at byte 5",
        ),
        (
            b"{\"a\":1 \"b\"",
            "expected ',' or '}' after a property, found '\"' at byte 7",
        ),
        (b"01", "expected the end of the text, found '1' at byte 1"),
        (b"1.", "expected a digit, found the end of the text at byte 2"),
        (b"-", "expected a digit, found the end of the text at byte 1"),
        (b"1e+", "expected a digit, found the end of the text at byte 3"),
        (b"+1", "expected a value, found '+' at byte 0"),
        (b"tru", "expected 'true', found the end of the text at byte 3"),
        (b"NaN", "expected a value, found 'N' at byte 0"),
        (b"\"a", "a string that doesn't end at byte 2"),
        (
            b"\"a\nb\"",
            "a control character in a string, which must be escaped at byte 2",
        ),
        (
            b"\"\\x\"",
            "expected one of \" \\ / b f n r t u after a backslash, found 'x' at byte 2",
        ),
        (
            b"\"\\u12g4\"",
            "expected four hexadecimal digits after \\u, found 'g' at byte 5",
        ),
        (b"\"\xff\"", "invalid UTF-8 at byte 1"),
        (b"\xef\xbb\xbf1", "expected a value, found '\\u{feff}' at byte 0"),
        (b"1\x0c", "expected the end of the text, found '\\u{c}' at byte 1"),
        (b"[[[[[[[[[1]]]]]]]]]", "nested more than 8 levels deep at byte 8"),
    ];
    for (source, message) in cases {
        assert_eq!(refusal(source), *message, "{source:?}");
    }
    assert_eq!(parse("[[[[[[[[1]]]]]]]]").depth(), 8);
}

#[test]
fn pretty_json_is_that_of_stringify() {
    let pretty = |source: &str, space: Value| {
        let mut out = String::new();
        parse(source).write_json_pretty(&mut out, &json_indent(&space));
        out
    };
    assert_eq!(
        pretty(r#"{"a":[1,{}],"b":[]}"#, Value::Number(2.9)),
        "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"
    );
    assert_eq!(pretty("[1]", Value::Number(99.0)), "[\n          1\n]");
    assert_eq!(pretty("[1]", Value::from("\t")), "[\n\t1\n]");
    for compact in [
        Value::Number(0.9),
        Value::Number(f64::NAN),
        Value::Number(-3.0),
        Value::from(""),
        Value::Null,
    ] {
        assert_eq!(pretty("{\"a\":[1]}", compact), "{\"a\":[1]}");
    }
}

#[test]
fn what_json_cannot_say_is_gone_from_an_edge() {
    let mut inner = Array::from(vec![
        Value::Undefined,
        Value::Number(f64::NAN),
        Value::Function(3),
    ]);
    inner.push(Value::Number(f64::NEG_INFINITY));
    let mut object = Object::new();
    object.insert("a", Value::Undefined);
    object.insert("b", Value::Function(1));
    object.insert("c", inner.into());
    object.insert("d", Value::Number(f64::INFINITY));
    let value = Value::Object(object);
    assert!(!value.is_json());
    let printed = value.to_json();
    let json = value.into_json();
    assert!(json.is_json());
    assert_eq!(json.to_json(), r#"{"c":[null,null,null,null],"d":null}"#);
    assert_eq!(json.to_json(), printed);
    for nothing in [Value::Undefined, Value::Function(0), Value::Number(f64::NAN)] {
        assert_eq!(nothing.into_json().type_name(), "null");
    }
}

#[test]
fn json_stays_the_same_object_on_an_edge_until_it_is_changed() {
    let value = parse(r#"{"list":[{"n":1}]}"#);
    assert!(value.clone().into_json().strict_equal(&value));
    let Value::Object(mut object) = value.clone() else {
        panic!("an object")
    };
    object.update("list", |list| {
        let Value::Array(array) = list else {
            panic!("an array")
        };
        array.make_mut()[0] = Value::Undefined;
    });
    assert!(!Value::Object(object.clone()).is_json());
    assert_eq!(
        Value::Object(object.clone()).into_json().to_json(),
        r#"{"list":[null]}"#
    );
    assert_eq!(value.to_json(), r#"{"list":[{"n":1}]}"#);
    assert!(object.remove("list").is_some());
    assert!(Value::Object(object).is_json());
}

#[test]
fn properties_are_found_in_objects_of_any_size() {
    for size in [0, 1, 11, 12, 13, 14, 40, 1_000] {
        let mut object: Object = (0..size)
            .map(|at| (format!("key {at}"), Value::Number(f64::from(at))))
            .collect();
        object.insert(Text::from_units(&[0xd800]), Value::Null);
        assert_eq!(object.len(), size as usize + 1);
        for at in 0..size {
            let found = object.get(&format!("key {at}")).unwrap();
            assert!(found.strict_equal(&Value::Number(f64::from(at))));
        }
        assert!(object.get("key").is_none());
        assert!(object.get("\u{fffd}").is_none());
        assert!(object.get_text(&Text::from_units(&[0xd800])).is_some());
        for at in (0..size).step_by(2) {
            assert!(object.remove(&format!("key {at}")).is_some());
        }
        let names: Vec<_> = object.keys().take(2).map(ToString::to_string).collect();
        let expected: Vec<_> = (1..size)
            .step_by(2)
            .map(|at| format!("key {at}"))
            .chain(["\u{fffd}".into()])
            .collect();
        assert_eq!(names, expected[..expected.len().min(2)]);
    }
}

#[test]
fn numbers_are_written_and_read_as_javascript_does() {
    for (number, text) in [
        (-0.0, "0"),
        (f64::NAN, "NaN"),
        (f64::NEG_INFINITY, "-Infinity"),
        (1e21, "1e+21"),
        (999_999_999_999_999_900_000.0, "999999999999999900000"),
        (0.000_001, "0.000001"),
        (0.000_000_1, "1e-7"),
        (f64::MAX, "1.7976931348623157e+308"),
    ] {
        assert_eq!(number_to_text(number), text);
    }
    for (text, number) in [
        ("", 0.0),
        (" \u{feff}\u{a0}\n12\u{3000}", 12.0),
        ("0x1F", 31.0),
        ("0b101", 5.0),
        ("0o17", 15.0),
        ("0x20000000000001", 9_007_199_254_740_992.0),
        ("0x20000000000003", 9_007_199_254_740_996.0),
        ("0x200000000000011", 144_115_188_075_855_890.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1e400", f64::NEG_INFINITY),
        ("+Infinity", f64::INFINITY),
    ] {
        assert_eq!(text_to_number(text), number, "{text:?}");
    }
    for text in [
        "0x", "-0x1", "inf", "nan", "infinity", "1_000", "1e", ".", "+", "e5", "1 2", "\u{85}1", "0b2",
    ] {
        assert!(text_to_number(text).is_nan(), "{text:?}");
    }
}

#[test]
fn paths_lead_to_values() {
    let value = parse(r#"{"a":[{"b":{"x y":1,"it's":2,"q\"":3}}],"":4,"0":5,"c.d":6}"#);
    let at = |path: &str| value.at_path(path).map(Value::to_json);
    for (path, found) in [
        ("a.0.b['x y']", "1"),
        ("a[0].b[\"x y\"]", "1"),
        ("a[0][\"b\"]['it\\'s']", "2"),
        ("a.0.b[\"q\\\"\"]", "3"),
        ("[\"a\"][0].b.x y", "1"),
        ("['']", "4"),
        ("0", "5"),
        ("[0]", "5"),
        ("['c.d']", "6"),
    ] {
        assert_eq!(at(path).as_deref(), Some(found), "{path}");
    }
    assert!(value.at_path("").is_some_and(|whole| whole.strict_equal(&value)));
    for path in [
        "a.1", "a.-1", "a.00", "x", "a..b", ".a", "a.", "a[0", "a[\"0]", "a[0]b", "a.length", "[", "['",
    ] {
        assert_eq!(at(path), None, "{path}");
    }
}

#[test]
fn shapes_describe_values() {
    for (source, shape) in [
        ("null", "null"),
        ("true", "true"),
        ("1.5", "the number 1.5"),
        ("\"\"", "an empty string"),
        ("\"abc\"", "the string \"abc\""),
        ("[]", "an empty array"),
        ("[1,2,3]", "an array of 3"),
        ("{}", "an empty object"),
        ("{\"id\":1,\"name\":2}", "an object with id, name"),
        (
            "{\"a\":1,\"b\":1,\"c\":1,\"d\":1,\"e\":1,\"f\":1}",
            "an object with a, b, c, d, e, …",
        ),
    ] {
        assert_eq!(parse(source).shape(), shape);
    }
    let long = Value::from("é".repeat(41)).shape();
    assert_eq!(long, format!("the string \"{}…\"", "é".repeat(40)));
}

#[test]
fn inherited_properties_are_refused_and_own_ones_read() {
    let object = parse(r#"{"map":1,"constructor":2}"#);
    for (value, name) in [
        (parse("{}"), "constructor"),
        (parse("{}"), "__proto__"),
        (parse("[]"), "map"),
        (parse("\"\""), "trim"),
        (parse("1"), "toFixed"),
        (parse("true"), "valueOf"),
    ] {
        let error = ops::get(&value, name).unwrap_err();
        assert!(
            error.0.contains("inherited properties aren't supported"),
            "{error}"
        );
    }
    assert!(
        ops::get(&object, "map")
            .unwrap()
            .strict_equal(&Value::Number(1.0))
    );
    assert!(
        ops::get(&object, "constructor")
            .unwrap()
            .strict_equal(&Value::Number(2.0))
    );
    assert!(
        ops::get(&object, "filter")
            .unwrap()
            .strict_equal(&Value::Undefined)
    );
    assert_eq!(
        ops::get(&Value::Null, "x").unwrap_err().0,
        "Cannot read properties of null (reading 'x')"
    );
}

#[test]
fn objects_that_share_names_are_read_as_they_are_written() {
    let same =
        r#"[{"a":1,"b":2},{"a":3,"b":4},{"b":5,"a":6},{"a":7},{"a":8,"c":{"a":9,"b":10}},{"é":1,"a":2}]"#;
    assert_eq!(parse(same).to_json(), same);
    // The last of a name counts, in the place of the first; names like integers come first, in their order.
    assert_eq!(
        parse(r#"[{"a":1,"b":2},{"a":1,"a":2},{"a":1,"b":2,"a":3},{"2":1,"1":2},{"a":1,"1":2}]"#).to_json(),
        r#"[{"a":1,"b":2},{"a":2},{"a":3,"b":2},{"1":2,"2":1},{"1":2,"a":1}]"#
    );
    let many: Vec<String> = (0..300)
        .map(|name| format!("{{\"name{name}\":{name},\"a\":0}}"))
        .collect();
    let many = format!("[{0},{0}]", many.join(","));
    assert_eq!(parse(&many).to_json(), many);
}

#[test]
fn objects_of_a_list_are_read_as_by_themselves() {
    let objects = [
        r#"{"id":1,"name":"a","tags":["x"],"at":{"city":"c","zip":"1"}}"#,
        r#"{"id":1,"name":"b","tags":[],"at":{"city":"d"}}"#,
        r#"{"id":1,"name":"c"}"#,
        r#"{"id":1}"#,
        r#"{}"#,
        r#"{"name":"d","id":2}"#,
        r#"{"id":1,"nam":2,"names":3,"name":"e"}"#,
        r#"{"id":1,"7":2,"name":"f"}"#,
        r#"{"id":1,"id":2,"name":"g"}"#,
        r#"{"id":1,"na\u006de":"h"}"#,
        r#"{ "id" : 1 , "name" : { "id" : 1 , "name" : { "id" : 2 } } }"#,
        r#"{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"k":11,"l":12,"m":13,"n":14}"#,
        r#"{"has_13_bytes_":1,"has_14_bytes__":2,"has_12_bytes":3}"#,
        r#"{"has_13_bytes_" :1,"has_14_bytes__":2,"has_12_byte!":3}"#,
        // The name of one is how the other one's stands in the text.
        r#"{"back\\b":1}"#,
        r#"{"back\b":2}"#,
    ];
    let (ways, count) = (1 << 10, objects.len());
    for way in 0..ways {
        // Every order of so many that each follows each other one.
        let list: Vec<&str> = (0..24)
            .map(|at| objects[(way * 7 + at * at * (way % 11 + 1)) % count])
            .collect();
        let alone: Vec<String> = list.iter().map(|object| parse(object).to_json()).collect();
        let together = parse(&format!("[{}]", list.join(",")));
        assert_eq!(together.to_json(), format!("[{}]", alone.join(",")));
    }
}

#[test]
fn what_is_added_to_objects_of_one_shape_stays_theirs() {
    let Value::Array(objects) = parse(r#"[{"a":1},{"a":2},{"a":3}]"#) else {
        panic!("an array");
    };
    let names = ["b", "c", "b", "3", "b"];
    let mut changed: Vec<String> = Vec::new();
    for (at, object) in objects.iter().enumerate() {
        let Value::Object(object) = object else { continue };
        let mut object = object.clone();
        for name in names.iter().skip(at) {
            object.insert(*name, Value::from(at as f64));
        }
        object.remove("a");
        object.insert("z", Value::Null);
        changed.push(Value::from(object).to_json());
    }
    assert_eq!(
        changed,
        [
            r#"{"3":0,"b":0,"c":0,"z":null}"#,
            r#"{"3":1,"c":1,"b":1,"z":null}"#,
            r#"{"3":2,"b":2,"z":null}"#
        ]
    );
    assert_eq!(Value::from(objects).to_json(), r#"[{"a":1},{"a":2},{"a":3}]"#);
}

#[test]
fn remainders_are_exact() {
    let numbers = [
        0.0,
        -0.0,
        1.0,
        3.0,
        7.0,
        0.1,
        1.5,
        1e15,
        1e16,
        1e300,
        5e-324,
        1e-310,
        2.2250738585072014e-308,
        f64::MAX,
        f64::INFINITY,
        f64::NAN,
        17_320.508_075_688_77,
        4_503_599_627_370_495.5,
    ];
    for a in numbers.into_iter().flat_map(|number| [number, -number]) {
        for b in numbers.into_iter().flat_map(|number| [number, -number]) {
            let (remainder, expected) = (number_remainder(a, b), a % b);
            let is_same =
                remainder.to_bits() == expected.to_bits() || remainder.is_nan() && expected.is_nan();
            assert!(is_same, "{a:e} % {b:e} is {remainder:e}, not {expected:e}");
        }
    }
}

#[test]
fn what_is_spread_is_another_object() {
    let (object, array) = (parse(r#"{"b":1,"1":2}"#), parse("[1,[2]]"));
    let (mut properties, mut elements) = (Object::new(), Array::default());
    ops::set_spread(&mut properties, &object);
    ops::push_spread(&mut elements, &array).unwrap();
    let (properties, elements) = (Value::from(properties), Value::from(elements));
    assert!(properties.deep_equal(&object) && !properties.strict_equal(&object));
    assert!(elements.deep_equal(&array) && !elements.strict_equal(&array));
}

#[test]
fn decimals_are_read_to_the_last_bit_and_nothing_else_is_one() {
    for text in [
        "0",
        "-0",
        "7",
        "0.1",
        "123.456",
        "999999999999999",
        "0.000000000000001",
        "12345678901234567890.5",
    ] {
        let Value::Number(number) = parse(text) else {
            panic!("{text}")
        };
        assert_eq!(number.to_bits(), text.parse::<f64>().unwrap().to_bits(), "{text}");
    }
    for text in ["01", "-01", "1.", ".5", "-.5", "1.e3", "-", "+1", "1.2.3"] {
        assert!(parse_json(text.as_bytes(), 1).is_err(), "{text}");
    }
}

#[test]
fn objects_of_a_list_are_read_whatever_space_is_among_them() {
    let rows = r#"[{"id":1,"a long name of more than sixteen":[[]]},{"id":2,"a long name of more than sixteen":{}},{"id":3}]"#;
    let expected = parse(rows).to_json();
    assert_eq!(expected, rows);
    for spaces in [" ", "\n\t", "\r\n    "] {
        // Space around everything, and around some things only.
        for rare in 1..6 {
            let mut spaced = String::new();
            for (at, character) in rows.char_indices() {
                let around = "{}[],:".contains(character) && at % rare == 0;
                spaced.push_str(if around { spaces } else { "" });
                spaced.push(character);
                spaced.push_str(if around { spaces } else { "" });
            }
            assert_eq!(parse(&spaced).to_json(), expected, "{spaced}");
        }
    }
    for (before, after) in [
        (",", "}"),
        ("{", ","),
        (",", ","),
        ("{\"id\"", "}"),
        ("{\"id\":", "}"),
    ] {
        let broken = format!("[{{\"id\":1}},{{\"id\":2}},{{\"id\":3}}{before} {after}]");
        assert!(parse_json(broken.as_bytes(), 8).is_err(), "{broken}");
    }
}

#[test]
fn what_is_no_utf8_is_found_at_its_place() {
    let pieces: [&[u8]; 9] = [
        b"a",
        "é".as_bytes(),
        "€".as_bytes(),
        "😀".as_bytes(),
        b"\x80",
        b"\xc3",
        b"\xed\xa0\x80",
        b"\xf0\x9f\x98",
        b"\x80\x80\x80\x80\x80",
    ];
    for before in [0, 1, 12, 13, 14, 15, 16, 17, 60, 61, 62, 63, 64, 65, 80, 130] {
        for first in pieces {
            for second in pieces {
                for between in [0, 1, 40, 61, 62, 63, 64] {
                    let mut text = vec![b'"'];
                    for (plain, piece) in [(before, first), (between, second), (20, b"")] {
                        text.resize(text.len() + plain, b'x');
                        text.extend(piece);
                    }
                    text.push(b'"');
                    let read = parse_json(&text, 1).map_err(|error| error.offset);
                    let expected = std::str::from_utf8(&text);
                    let expected = expected.map(|text| Value::from(&text[1..text.len() - 1]));
                    match (read, expected) {
                        (Ok(read), Ok(expected)) => assert!(read.strict_equal(&expected)),
                        (read, expected) => assert_eq!(
                            read.map(|_| ()),
                            expected.map(|_| ()).map_err(|error| error.valid_up_to()),
                            "{text:x?}"
                        ),
                    }
                }
            }
        }
    }
}

#[test]
fn names_are_found_near_where_objects_had_them() {
    let texts = [
        r#"{"a":1,"name":"x"}"#,
        r#"{"name":"x","a":1}"#,
        r#"{"a":2}"#,
        r#"{}"#,
        r#"{"7":1,"name":3}"#,
        r#"{"b":0,"a":1,"name":"y"}"#,
    ];
    for name in ["name", "a", "7", "none"] {
        let (near, name) = (Near::default(), Text::from(name));
        for way in 0..300_usize {
            // Read anew, so that shapes come to be where others were.
            let Value::Object(mut object) = parse(texts[way * way / 3 % texts.len()]) else {
                panic!("no object")
            };
            if way % 5 == 0 {
                object.remove("a");
            }
            if way % 7 == 0 {
                object.insert("name", Value::Null);
            }
            let found = object.get_near(&name, &near).map(Value::to_json);
            assert_eq!(found, object.get_text(&name).map(Value::to_json), "{way}");
        }
    }
}
