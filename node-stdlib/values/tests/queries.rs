//! `$jmespath`: what queries find. The answers are those of the JavaScript library `jmespath` 0.16,
//! made once, but for what is said to be otherwise.

use heddle_values::{parse_json, query};
use std::fmt::Write as _;

const DATA: &str = r#"{"a":{"b":{"c":[1,2,{"d":"x"}]}},"people":[{"name":"Zoe","age":30,"tags":["p","q"]},{"name":"Ann","age":25,"tags":[]},{"name":"Bob","age":41,"tags":["q"],"boss":{"name":"Zoe"}}],"words":["b","a","C"],"mixed":[1,"a",null,{"x":1}],"nested":[[1,2],[3,[4]],5],"z":{"10":"ten","two":2,"one":1},"empty":"","zero":0,"no":null,"yes":true,"text":"héllo","q-r":{"s t":7}}"#;

/// Queries and the JSON of what they find.
const FOUND: &[(&str, &str)] = &[
    ("a.b.c[0]", "1"),
    ("a.b.c[-1].d", r#""x""#),
    ("a.nope.c", "null"),
    ("people[*].name", r#"["Zoe","Ann","Bob"]"#),
    ("people[].tags[]", r#"["p","q","q"]"#),
    ("people[?age > `26`].name", r#"["Zoe","Bob"]"#),
    ("people[?boss].name", r#"["Bob"]"#),
    ("people[?tags[0]=='q' || age==`25`].name", r#"["Ann","Bob"]"#),
    ("people[?!boss] | [0].name", r#""Zoe""#),
    (
        "people[?boss.name=='Zoe' && age>`40`] | [0]",
        r#"{"name":"Bob","age":41,"tags":["q"],"boss":{"name":"Zoe"}}"#,
    ),
    (
        "people[0].{name: name, n: length(tags)}",
        r#"{"name":"Zoe","n":2}"#,
    ),
    ("people[*].[name, age]", r#"[["Zoe",30],["Ann",25],["Bob",41]]"#),
    ("people[1:].name", r#"["Ann","Bob"]"#),
    ("people[::-1].name", r#"["Bob","Ann","Zoe"]"#),
    ("people[:2].age", "[30,25]"),
    ("nested[]", "[1,2,3,[4],5]"),
    ("nested[*][0]", "[1,3]"),
    ("z.*", r#"["ten",2,1]"#),
    ("*.b", r#"[{"c":[1,2,{"d":"x"}]}]"#),
    ("keys(z)", r#"["10","two","one"]"#),
    ("values(z)", r#"["ten",2,1]"#),
    ("sort(words)", r#"["C","a","b"]"#),
    ("sort_by(people,&age)[*].name", r#"["Ann","Zoe","Bob"]"#),
    ("max_by(people,&age).name", r#""Bob""#),
    // The library itself finds nothing here.
    ("min_by(people,&name).age", "25"),
    ("max(people[].age)", "41"),
    // The specification's order, not that of a language.
    ("min(words)", r#""C""#),
    ("sum(people[].age)", "96"),
    ("avg(people[].age)", "32"),
    ("avg(`[]`)", "null"),
    ("length(text)", "5"),
    ("length(z)", "3"),
    ("join(', ',words)", r#""b, a, C""#),
    ("reverse(words)", r#"["C","a","b"]"#),
    ("reverse(text)", r#""olléh""#),
    ("contains(words,'a')", "true"),
    ("contains(text,'éll')", "true"),
    ("starts_with(text,'h')", "true"),
    ("ends_with(text,'lo')", "true"),
    ("to_string(z)", r#""{\"10\":\"ten\",\"two\":2,\"one\":1}""#),
    ("to_string(text)", r#""héllo""#),
    ("to_number('12.5')", "12.5"),
    ("to_number('x')", "null"),
    ("to_array(zero)", "[0]"),
    ("type(no)", r#""null""#),
    ("type(z)", r#""object""#),
    ("not_null(no,nope,zero)", "0"),
    ("map(&name,people)", r#"["Zoe","Ann","Bob"]"#),
    (
        r#"merge(z,`{"two":3,"new":4}`)"#,
        r#"{"10":"ten","two":3,"one":1,"new":4}"#,
    ),
    ("abs(`-3`)", "3"),
    ("ceil(`1.2`)", "2"),
    ("floor(`-1.2`)", "-2"),
    ("@.zero", "0"),
    (r#"`"lit"`"#, r#""lit""#),
    (r#"'raw \' str'"#, r#""raw ' str""#),
    ("`bare words`", r#""bare words""#),
    (r#""q-r"."s t""#, "7"),
    ("people[?name=='Ann'].age | [0]", "25"),
    ("zero || 'x'", "0"),
    ("empty || 'x'", r#""x""#),
    ("yes && zero", "0"),
    ("!zero", "false"),
    ("!empty", "true"),
    ("a == a", "true"),
    (r#"words == `["b","a","C"]`"#, "true"),
    ("text < 'i'", "true"),
    ("people[?age>='30'].name", r#"["Zoe","Bob"]"#),
    ("no.x", "null"),
    ("mixed[*].x", "[1]"),
    ("a.b.c[5]", "null"),
    ("[zero, no]", "[0,null]"),
    ("{b: zero, a: yes}", r#"{"b":0,"a":true}"#),
    (
        "people[?contains(tags,'q')].name | sort(@) | join('-',@)",
        r#""Bob-Zoe""#,
    ),
    ("people[0:3:2].name", r#"["Zoe","Bob"]"#),
    ("people[-2:].name", r#"["Ann","Bob"]"#),
];

/// Queries that fail, wherever it shows.
const FAILING: &[&str] = &[
    "foo[",
    "a.",
    "people[?age >",
    "nope(a)",
    "length(zero)",
    "sort_by(people,&boss)",
    "abs('x')",
    "sum(words)",
    "words[::0]",
    "length()",
    "a b",
    "merge(zero)",
];

#[test]
fn queries_find_what_they_find_in_javascript() {
    let data = parse_json(DATA.as_bytes(), 99).unwrap();
    let mut differences = String::new();
    for (source, expected) in FOUND {
        assert_eq!(query::check(source), Ok(()), "{source}");
        let found = query::search(&data, source).map(|found| {
            let mut json = String::new();
            found.write_json(&mut json);
            json
        });
        if found.as_deref().ok() != Some(*expected) {
            writeln!(differences, "{source}: {found:?}, not {expected}").unwrap();
        }
    }
    assert!(differences.is_empty(), "{differences}");
    for source in FAILING {
        let found = query::search(&data, source);
        assert!(found.is_err(), "{source}: {found:?}");
    }
}

#[test]
fn what_is_wrong_with_a_query_is_said_with_its_place() {
    let said = |source: &str| {
        let error = query::check(source).unwrap_err();
        format!("{} {}", error.offset, error.message)
    };
    assert_eq!(said("'héllo' | nope(a)"), "11 there is no function `nope()`");
    assert_eq!(said("length(a, b)"), "0 `length()` takes 1 argument, not 2");
    assert_eq!(said("people[?age >"), "13 the end has no place here");
    assert_eq!(said("a b"), "2 the name `b` has no place here");
    assert_eq!(said("a[0"), "3 the end has no place here");
    assert_eq!(
        said("a[::0]"),
        "6 a slice is `[start:stop:step]` with a step other than 0"
    );
    assert_eq!(said("é"), "0 `é` has no place in a query");
    assert_eq!(said("a == 'x"), "5 the ' is not closed");
    assert_eq!(said(&"[".repeat(100)), "64 the query nests more than 64 levels");
    assert!(said(&format!("{}a", "a.".repeat(600))).ends_with("more than 500 operators"));
}
