//! The wire: what is written is read again, and no bytes can do harm. And the engine's side of it, where that knows objects
//! by their kinds.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

#[expect(dead_code, reason = "other tests have more use for it")]
mod support;

use heddle_javascript::protocol::{SourceKind, Status};
use heddle_javascript::wire::{Reader, Text, TimeKind, Token, Writer};
use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};
use serde_json::{Value, json};
use support::{Guest, write_but_objects, written};

/// A value as the test keeps it.
#[derive(Clone, Debug)]
enum Sample {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Date(f64),
    Text(String),
    Units(Vec<u16>),
    Array(Vec<Sample>),
    Object(Vec<(String, Sample)>),
}

fn sample() -> impl Strategy<Value = Sample> {
    let leaf = prop_oneof![
        proptest::strategy::Just(Sample::Undefined),
        proptest::strategy::Just(Sample::Null),
        any::<bool>().prop_map(Sample::Bool),
        any::<f64>().prop_map(Sample::Number),
        any::<i32>().prop_map(|integer| Sample::Number(f64::from(integer))),
        proptest::strategy::Just(Sample::Number(-0.0)),
        any::<f64>().prop_map(Sample::Date),
        any::<String>().prop_map(Sample::Text),
        any::<Vec<u16>>().prop_map(Sample::Units),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Sample::Array),
            proptest::collection::vec(("[a-e]{0,2}", inner), 0..6).prop_map(Sample::Object),
        ]
    })
}

fn write(sample: &Sample, writer: &mut Writer) {
    match sample {
        Sample::Undefined => writer.undefined(),
        Sample::Null => writer.null(),
        Sample::Bool(value) => writer.bool(*value),
        Sample::Number(number) => writer.number(*number),
        Sample::Date(ms) => writer.date(*ms),
        Sample::Text(text) => writer.text(Text::Utf8(text)),
        Sample::Units(units) => writer.text(Text::Utf16(units)),
        Sample::Array(items) => {
            writer.array(items.len() as u32);
            items.iter().for_each(|item| write(item, writer));
        }
        Sample::Object(properties) => {
            writer.object();
            for (name, value) in properties {
                writer.key(Text::Utf8(name));
                write(value, writer);
            }
            writer.end();
        }
    }
}

/// The same text for the same value, down to the bits of numbers.
fn shown(sample: &Sample) -> String {
    match sample {
        Sample::Number(number) => format!("Number({:x})", number.to_bits()),
        Sample::Date(number) => format!("Date({:x})", number.to_bits()),
        Sample::Array(items) => format!("[{}]", items.iter().map(shown).collect::<Vec<_>>().join(",")),
        Sample::Object(properties) => {
            let properties = properties
                .iter()
                .map(|(name, value)| format!("{name:?}:{}", shown(value)));
            format!("{{{}}}", properties.collect::<Vec<_>>().join(","))
        }
        other => format!("{other:?}"),
    }
}

fn read(reader: &mut Reader<'_>, depth: usize) -> Option<Sample> {
    if depth > 100 {
        return None;
    }
    Some(match reader.token().ok()? {
        Token::Undefined => Sample::Undefined,
        Token::Null => Sample::Null,
        Token::Bool(value) => Sample::Bool(value),
        Token::Number(number) => Sample::Number(number),
        Token::Date(ms) => Sample::Date(ms),
        // Not written here, but any bytes may say so.
        Token::Time { .. } | Token::Shared | Token::Again(_) | Token::Kind | Token::Like(_) => return None,
        Token::Utf8(text) => Sample::Text(text.into()),
        Token::Utf16(bytes) => Sample::Units(
            bytes
                .chunks(2)
                .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
                .collect(),
        ),
        Token::Array(length) => {
            let items = (0..length).map(|_| read(reader, depth + 1));
            Sample::Array(items.collect::<Option<_>>()?)
        }
        Token::Object => {
            let mut properties = Vec::new();
            while let Some(key) = reader.key().ok()? {
                let Token::Utf8(name) = key.text else {
                    return None;
                };
                properties.push((name.to_owned(), read(reader, depth + 1)?));
            }
            Sample::Object(properties)
        }
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_again(sample in sample()) {
        let mut writer = Writer::default();
        write(&sample, &mut writer);
        let message = writer.finish();
        let mut reader = Reader::new(&message);
        let found = read(&mut reader, 0).unwrap();
        prop_assert_eq!(shown(&found), shown(&sample));
        assert!(reader.is_at_end());
    }

    #[test]
    fn any_bytes_end_in_a_value_or_an_error(bytes in any::<Vec<u8>>()) {
        // A length without its values would be an allocation that the bytes did not pay for.
        let mut reader = Reader::new(&bytes);
        read(&mut reader, 0);
    }
}

#[test]
fn keys_are_written_once() {
    let mut writer = Writer::default();
    writer.array(1_000);
    for _ in 0..1_000 {
        writer.object();
        for name in ["customer_number", "customer_name"] {
            writer.key(Text::Utf8(name));
            writer.null();
        }
        writer.end();
    }
    assert!(writer.finish().len() < 6_100);
}

#[test]
fn a_length_beyond_the_message_is_refused() {
    for bytes in [
        &[6, 0xff, 0xff, 0xff, 0xff, 0x0f][..],
        &[7, 0xff, 0xff, 0xff, 0xff, 0x0f],
        &[8, 0xff, 0xff, 0xff, 0xff, 0x0f],
        &[8, 2, 0],
        &[9, 5],
        &[6, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00],
        &[6, 0xff, 0xff, 0xff, 0xff, 0x1f],
        &[4, 1, 2],
        &[6, 1, 0xff],
        &[11],
        &[],
    ] {
        let mut reader = Reader::new(bytes);
        assert!(read(&mut reader, 0).is_none(), "{bytes:?}");
    }
}

#[test]
fn what_only_the_engine_is_told() {
    let mut writer = Writer::default();
    writer.array(3);
    writer.shared();
    writer.object();
    writer.end();
    writer.again(0);
    writer.time(TimeKind::Duration, f64::NAN, "P1D");
    let message = writer.finish();
    let mut reader = Reader::new(&message);
    let mut next = || reader.token().unwrap();
    assert_eq!(next(), Token::Array(3));
    assert_eq!(next(), Token::Shared);
    assert_eq!(next(), Token::Object);
    assert_eq!(reader.key(), Ok(None));
    assert_eq!(reader.token(), Ok(Token::Again(0)));
    let Ok(Token::Time { kind, ms, text }) = reader.token() else {
        panic!("is no time");
    };
    assert!(kind == TimeKind::Duration && ms.is_nan() && text == "P1D");
    assert!(reader.is_at_end());
}

/// JSON as a message in which objects with keys that came before are like the first of them.
fn written_by_kinds(value: &Value) -> Vec<u8> {
    fn write<'a>(value: &'a Value, writer: &mut Writer, kinds: &mut Vec<(Vec<&'a String>, u32)>) {
        let elements = |item: &'a Value, writer: &mut Writer| write(item, writer, kinds);
        let Some(properties) = write_but_objects(value, writer, elements) else {
            return;
        };
        let keys: Vec<&String> = properties.keys().collect();
        if let Some((_, number)) = kinds.iter().find(|(known, _)| *known == keys) {
            writer.like(*number);
            properties.values().for_each(|item| write(item, writer, kinds));
            return;
        }
        let number = writer.kind();
        for (name, item) in properties {
            writer.key(Text::Utf8(name));
            write(item, writer, kinds);
        }
        writer.end();
        kinds.push((keys, number));
    }
    let mut writer = Writer::default();
    write(value, &mut writer, &mut Vec::new());
    writer.finish()
}

/// Lists of objects of few kinds, some with what is special: many keys, none, integers for keys, a file, and within each other.
fn lists() -> Value {
    let many = |start: usize| {
        let properties = (0..40).map(|at| (format!("key{at}"), json!(start + at)));
        Value::Object(properties.collect())
    };
    let file = |name: &str| json!({"$file": name, "name": "a.txt"});
    json!([
        [{"a": 1, "b": "x"}, {"a": 2.5, "b": "x"}, {"a": null, "b": ["x", "a longer text that is there only once"]}],
        [many(0), many(1), many(2)],
        [{}, {}, {"__proto__": 1, "toString": 2}, {"__proto__": {"a": 3, "b": 4}, "toString": 5}],
        [{"10": 1, "2": 2, "x": 3}, {"10": 4, "2": 5, "x": 6}, {"3000000000": 1, "x": 2}, {"3000000000": 3, "x": 4}],
        [file("01"), file("02"), {"$file": 1, "name": "no file"}, file("03")],
        [{"a": {"a": {"a": 1, "b": 2}, "b": 3}, "b": {"a": 4, "b": {"c": "é"}}}, {"a": {"c": "é"}, "b": {"c": "😀"}}],
        "x".repeat(2_000),
    ])
}

#[test]
fn objects_of_a_kind_are_objects_like_any_others() {
    let changed = "export default ({input}) => {
        const [first, second, third] = input[0];
        first.c = 1; delete second.a; third.a = () => 1; third.d = third.a;
        input[1][1].key3 = undefined; delete input[1][2].key39; input[1][2].last = 1;
        Object.defineProperty(input[2][1], 'hidden', {value: 1});
        return [input, input.flat(9).map((value) => Object.keys(value).join()), Object.keys(input[0][0]).join()];
    }";
    let hooked = "export default ({input}) => {
        const list = [1, 2, 3].map((n) => ({ a: n, b: n, c: n }));
        list[1].a = { toJSON() { delete list[1].b; list[1].d = 4; return 'was changed'; } };
        list[2].toJSON = () => ({ a: 'own', b: 2, c: 3 });
        const named = [new Map(), new Date(0), /x/, { [Symbol.iterator]: 1, a: 1 }, new (class A { a = 2; #b = 3 })(), { get a() { return 4 } }];
        const none = Object.assign(Object.create(null), { a: 1 });
        const kept = [list, named, [none, none, { a: 5 }, { a: () => 1 }, { a: Symbol() }, { a: 6 }]];
        return [kept];
    }";
    for source in [
        "export default ({input}) => [input, JSON.stringify(input)]",
        changed,
        hooked,
    ] {
        let mut guest = Guest::new();
        let function = guest.load(SourceKind::Module, source);
        let arguments = json!([{"input": lists()}]);
        let singly = guest.call_raw(function, 7, &written(&arguments)).unwrap();
        let by_kinds = guest
            .call_raw(function, 7, &written_by_kinds(&arguments))
            .unwrap();
        let (singly, by_kinds) = (
            (singly.0, support::read(&singly.1)),
            (by_kinds.0, support::read(&by_kinds.1)),
        );
        assert_eq!(singly.0, Status::Done, "{}", singly.1);
        assert_eq!(singly, by_kinds, "{source}");
    }
    let (_, answer) = called(
        "export default ({input}) => [input, JSON.stringify(input)]",
        &lists(),
    );
    let text: Value = serde_json::from_str(answer[1].as_str().unwrap()).unwrap();
    assert_eq!(answer[0], text);
    assert_eq!(text, lists());
    let (_, answer) = called(hooked, &Value::Null);
    assert_eq!(answer[0][0][0], json!({"a": 1, "b": 1, "c": 1}));
    let changed = json!({"a": "was changed", "b": {"$undefined": true}, "c": 2});
    assert_eq!(answer[0][0][1], changed);
    assert_eq!(answer[0][0][2], json!({"a": "own", "b": 2, "c": 3}));
    let named = json!([{}, {"$date": 0}, {}, {"a": 1}, {"a": 2}, {"a": 4}]);
    assert_eq!(answer[0][1], named);
    assert_eq!(
        answer[0][2],
        json!([{"a": 1}, {"a": 1}, {"a": 5}, {}, {}, {"a": 6}])
    );
}

fn called(source: &str, input: &Value) -> (Status, Value) {
    let mut guest = Guest::new();
    let function = guest.load(SourceKind::Module, source);
    let message = written_by_kinds(&json!([{ "input": input }]));
    let (status, answer) = guest.call_raw(function, 7, &message).unwrap();
    (status, support::read(&answer))
}

#[test]
fn kinds_that_are_not_there_are_refused() {
    let kind = |writer: &mut Writer| {
        writer.kind();
        for name in ["a", "a", "b"] {
            writer.key(Text::Utf8(name));
            writer.integer(1);
        }
        writer.end();
    };
    type Write<'a> = &'a dyn Fn(&mut Writer);
    let cases: [(Write<'_>, Status); 4] = [
        (&|writer| writer.like(0), Status::Failed),
        // Within its first object.
        (
            &|writer| {
                writer.kind();
                writer.key(Text::Utf8("a"));
                writer.like(0);
                writer.end();
            },
            Status::Failed,
        ),
        // Too few values.
        (
            &|writer| {
                writer.array(2);
                kind(writer);
                writer.like(0);
                writer.integer(1);
            },
            Status::Failed,
        ),
        // The same key twice: the last value counts, as in an object by itself.
        (
            &|writer| {
                writer.array(2);
                kind(writer);
                writer.like(0);
                (2..5).for_each(|value| writer.integer(value));
            },
            Status::Done,
        ),
    ];
    for (write, expected) in cases {
        let mut guest = Guest::new();
        let function = guest.load(SourceKind::Module, "export default (list) => list");
        let mut writer = Writer::default();
        writer.array(1);
        write(&mut writer);
        let (status, answer) = guest.call_raw(function, 7, &writer.finish()).unwrap();
        assert_eq!(status, expected);
        if status == Status::Done {
            assert_eq!(support::read(&answer)[1], json!({"a": 3, "b": 4}));
        }
    }
}
