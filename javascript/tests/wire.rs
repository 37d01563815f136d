//! The wire: what is written is read again, and no bytes can do harm.

use heddle_javascript::wire::{Reader, Text, TimeKind, Token, Writer};
use proptest::prelude::{Strategy, any, prop_assert_eq, prop_oneof, proptest};

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
        Token::Time { .. } | Token::Shared | Token::Again(_) => return None,
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
