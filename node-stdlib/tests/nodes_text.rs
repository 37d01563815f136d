//! The nodes for text, formats, digests and randomness: options, edge cases, errors.

mod support;

use support::run;

fn check(node: &str, cases: &[(&str, &str, &str)]) {
    for (parameters, input, expected) in cases {
        assert_eq!(
            run(node, parameters, input),
            *expected,
            "{node} {parameters} on {input}"
        );
    }
}

#[test]
fn json_is_read_and_written() {
    check(
        "Json",
        &[
            ("{}", r#""[1,{\"a\":null}]""#, r#"{"0":[1,{"a":null}]}"#),
            (r#"{"value": "7"}"#, "null", r#"{"0":7}"#),
            (
                r#"{"operation": "stringify"}"#,
                r#"{"a": [1]}"#,
                r#"{"0":"{\"a\":[1]}"}"#,
            ),
            (
                r#"{"operation": "stringify", "value": null}"#,
                "1",
                r#"{"0":"null"}"#,
            ),
            (
                r#"{"operation": "stringify", "indent": 1}"#,
                "[1]",
                r#"{"0":"[\n 1\n]"}"#,
            ),
        ],
    );
    let failure = run("Json", "{}", r#""{\n  \"a\": x}""#);
    assert!(
        failure.starts_with("PARSE: ") && failure.ends_with("line 2, column 8."),
        "{failure}"
    );
    assert!(
        run("Json", "{}", r#"{"a": 1}"#)
            .starts_with("PARAMETER: This node works on text, but its input is an object")
    );
    assert!(run("Json", r#"{"operation": "stringify", "indent": 11}"#, "1").starts_with("PARAMETER: "));
}

#[test]
fn a_file_is_refused_with_the_node_that_reads_it() {
    let file = r#"{"$file": "f", "name": "orders.csv", "type": "text/csv", "size": 9}"#;
    let by_value = format!(r#"{{"value": {file}}}"#);
    assert_eq!(
        run("Csv", &by_value, "null"),
        "PARAMETER: Parameter `value` takes text, but it is a file. The node ConvertFile (`from: \"csv\"`, `to: \"list\"`) gives \
         its rows, the node File (`operation: \"read\"`) its text."
    );
    assert_eq!(
        run("Json", "{}", file),
        "PARAMETER: This node works on text, but its input is a file. The node File (`operation: \"read\"`, `format: \"json\"`) \
         gives the value that it holds."
    );
    let first = "Make it text first with the node File (`operation: \"read\"`).";
    for node in ["Xml", "Yaml", "Hash", "Markdown"] {
        let refused = format!("PARAMETER: This node works on text, but its input is a file. {first}");
        assert_eq!(run(node, "{}", file), refused, "{node}");
    }
    assert_eq!(
        run("Regex", &format!(r#"{{"text": {file}, "pattern": "a"}}"#), "null"),
        format!("PARAMETER: Parameter `text` takes text, but it is a file. {first}")
    );
}

#[test]
fn csv_is_read() {
    check(
        "Csv",
        &[
            (
                "{}",
                r#""a,b\r\n1,\"x \"\"y\"\"\nz\"\r\n""#,
                r#"{"0":[{"a":"1","b":"x \"y\"\nz"}]}"#,
            ),
            (
                "{}",
                r#""a,b\n1\n\n,2""#,
                r#"{"0":[{"a":"1","b":""},{"a":"","b":"2"}]}"#,
            ),
            ("{}", r#""""#, r#"{"0":[]}"#),
            (
                r#"{"header": false}"#,
                r#""a,b\n1""#,
                r#"{"0":[["a","b"],["1"]]}"#,
            ),
            (
                r#"{"header": false, "columns": ["x", "y"]}"#,
                r#""1,2""#,
                r#"{"0":[{"x":"1","y":"2"}]}"#,
            ),
            (
                r#"{"columns": ["b"], "delimiter": "\t"}"#,
                r#""a\tb\n1\t2""#,
                r#"{"0":[{"b":"2"}]}"#,
            ),
        ],
    );
    let long = "é".repeat(5000);
    assert_eq!(
        run("Csv", "{}", &format!("\"a\\n{long}\"")),
        format!("{{\"0\":[{{\"a\":\"{long}\"}}]}}")
    );
    let failure = run("Csv", "{}", r#""a,b\n1,2\n1,2,3""#);
    assert!(
        failure.starts_with("PARSE: The row in line 3 has 3 cells, but there are 2 columns."),
        "{failure}"
    );
    let failure = run("Csv", r#"{"columns": ["z"]}"#, r#""a,b""#);
    assert_eq!(failure, "PARSE: There is no column `z`; the first line has a, b.");
    assert!(run("Csv", r#"{"delimiter": ";;"}"#, r#""a""#).starts_with("PARAMETER: Parameter `delimiter`"));
}

#[test]
fn csv_without_quotes_is_read_as_with_them() {
    let quoted = r#""a,b\n\"1\",é\n\n, x\n5\n""#;
    let plain = r#""a,b\n1,é\n\n, x\n5\n""#;
    for parameters in ["{}", r#"{"header": false}"#, r#"{"columns": ["b"]}"#] {
        assert_eq!(run("Csv", parameters, plain), run("Csv", parameters, quoted));
    }
    assert_eq!(
        run("Csv", "{}", plain),
        r#"{"0":[{"a":"1","b":"é"},{"a":"","b":" x"},{"a":"5","b":""}]}"#
    );
    let too_many = [r#""a\n1\n\n2,3""#, r#""a\n\"1\"\n\n2,3""#];
    let [plain, quoted] = too_many.map(|text| run("Csv", "{}", text));
    assert_eq!(plain, quoted);
}

#[test]
fn csv_is_written() {
    let stringify = r#"{"operation": "stringify"}"#;
    check(
        "Csv",
        &[
            (
                stringify,
                r#"[{"a": 1}, {"b": "x,\"y\"", "a": null}]"#,
                r#"{"0":"a,b\n1,\n,\"x,\"\"y\"\"\"\n"}"#,
            ),
            (
                stringify,
                r#"[[1, true], ["a\nb"]]"#,
                r#"{"0":"1,true\n\"a\nb\"\n"}"#,
            ),
            (stringify, "[]", r#"{"0":""}"#),
            (stringify, r#"[{"a": ""}]"#, r#"{"0":"a\n\"\"\n"}"#),
            (
                r#"{"operation": "stringify", "header": false, "delimiter": ";"}"#,
                r#"[{"a": "1,2", "b": {}}]"#,
                r#"{"0":"1,2;{}\n"}"#,
            ),
        ],
    );
    assert!(run("Csv", stringify, "[1]").starts_with("PARAMETER: Row 0"));
}

#[test]
fn base64_is_read_and_written() {
    check(
        "Base64",
        &[
            ("{}", r#""a?>é""#, r#"{"0":"YT8+w6k="}"#),
            (r#"{"urlSafe": true}"#, r#""a?>é""#, r#"{"0":"YT8-w6k"}"#),
            (r#"{"operation": "decode"}"#, r#""YT8-\n w6k""#, r#"{"0":"a?>é"}"#),
            (r#"{"operation": "decode"}"#, r#""YT8+w6k=""#, r#"{"0":"a?>é"}"#),
            (
                r#"{"operation": "decode"}"#,
                r#""YT8!""#,
                "PARSE: The text is not valid Base64: `!` at character 4 is not of its alphabet.",
            ),
            (
                r#"{"operation": "decode"}"#,
                r#""/w==""#,
                "PARSE: The decoded bytes are not UTF-8 text (at byte 1 of 1).",
            ),
        ],
    );
    assert!(run("Base64", "{}", r#""heddle-secret(a;b)""#).starts_with("PARAMETER: A secret"));
}

#[test]
fn urls_are_taken_apart_and_built() {
    let build = r#"{"operation": "build"}"#;
    check(
        "Url",
        &[
            (
                build,
                r#"{"base": "https://a.example/x?y=1#z", "query": {"q": ["a b", 2], "no": null}}"#,
                r#"{"0":"https://a.example/x?q=a+b&q=2#z"}"#,
            ),
            (
                build,
                r##"{"hostname": "müller.example", "port": 8080, "pathname": "a b", "hash": "#x"}"##,
                r##"{"0":"https://xn--mller-kva.example:8080/a%20b#x"}"##,
            ),
            (
                build,
                r#"{"href": "https://a.example:1/", "host": "b.example", "protocol": "http:"}"#,
                r#"{"0":"http://b.example/"}"#,
            ),
            (
                build,
                r#"{"base": "https://a.example/", "port": 99999}"#,
                "PARAMETER: `99999` can't be the port of this URL.",
            ),
        ],
    );
    assert!(run("Url", "{}", r#""/path""#).starts_with("PARSE: There is no URL in the string \"/path\""));
    assert!(run("Url", build, r#"{"search": "?"}"#).starts_with("PARAMETER: A URL has no field `search`"));
    assert!(run("Url", build, "{}").starts_with("PARAMETER: A URL is built from"));
}

#[test]
fn digests_are_those_of_their_standards() {
    check(
        "Hash",
        &[
            (
                r#"{"algorithm": "md5"}"#,
                r#""abc""#,
                r#"{"0":"900150983cd24fb0d6963f7d28e17f72"}"#,
            ),
            (
                r#"{"algorithm": "sha1"}"#,
                r#""abc""#,
                r#"{"0":"a9993e364706816aba3e25717850c26c9cd0d89d"}"#,
            ),
            (
                r#"{"algorithm": "sha1", "encoding": "base64"}"#,
                r#""abc""#,
                r#"{"0":"qZk+NkcGgWq6PiVxeFDCbJzQ2J0="}"#,
            ),
            (
                r#"{"algorithm": "sha512"}"#,
                r#""abc""#,
                r#"{"0":"ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f"}"#,
            ),
        ],
    );
    assert!(run("Hash", r#"{"algorithm": "crc"}"#, r#""a""#).starts_with("PARAMETER: "));
    assert!(run("Hmac", "{}", r#""a""#).starts_with("PARAMETER: Parameter `secret`"));
    // RFC 2202, test 2.
    check(
        "Hmac",
        &[(
            r#"{"algorithm": "md5", "secret": "Jefe"}"#,
            r#""what do ya want for nothing?""#,
            r#"{"0":"750c783e6ab0b503eaa86e310a5db738"}"#,
        )],
    );
}

#[test]
fn uuids_say_their_version_and_random_numbers_keep_their_bounds() {
    for version in [4, 7] {
        let uuid = run("Uuid", &format!("{{\"version\": {version}}}"), "null");
        assert_eq!(uuid.len(), r#"{"0":""}"#.len() + 36, "{uuid}");
        assert_eq!(
            uuid.chars().nth(6 + 14).and_then(|c| c.to_digit(10)),
            Some(version),
            "{uuid}"
        );
    }
    assert_eq!(
        run("Uuid", r#"{"version": 5}"#, "null"),
        "PARAMETER: Parameter `version` takes 4 or 7, but it is 5."
    );
    check(
        "Random",
        &[
            (r#"{"min": 3, "max": 3}"#, "null", r#"{"0":3}"#),
            (
                r#"{"min": -4, "max": -4, "integer": true}"#,
                "null",
                r#"{"0":-4}"#,
            ),
            (r#"{"choices": [{"a": 1}]}"#, "null", r#"{"0":{"a":1}}"#),
            (
                r#"{"min": 2}"#,
                "null",
                "PARAMETER: Parameter `min` takes at most `max`, but they are 2 and 1.",
            ),
        ],
    );
    assert!(
        run("Random", r#"{"choices": []}"#, "null").starts_with("PARAMETER: Parameter `choices` is empty")
    );
}
