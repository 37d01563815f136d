//! Reads JSON as text: individual fields and elements, and fingerprints, without building a tree of values. For graphs
//! that are stored, compared and scanned, but not compiled. Knows nothing about graphs.

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, Hash, Hasher, RandomState};

/// Reads an object's fields of these names, the last of each; none if it is not an object.
pub fn pick<'a, const N: usize>(text: &'a str, names: [&str; N]) -> Option<[Option<&'a RawValue>; N]> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.deserialize_map(Picked(names)).ok()
}

struct Picked<'n, const N: usize>([&'n str; N]);

impl<'de, const N: usize> Visitor<'de> for Picked<'_, N> {
    type Value = [Option<&'de RawValue>; N];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut picked = [None; N];
        while let Some(name) = map.next_key::<Text<'de>>()? {
            match self.0.iter().position(|wanted| *wanted == name.0) {
                Some(place) => picked[place] = Some(map.next_value()?),
                None => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(picked)
    }
}

/// A text, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

/// A text's value; none if it is something else.
pub fn string(value: &RawValue) -> Option<Cow<'_, str>> {
    if !value.get().starts_with('"') {
        return None;
    }
    serde_json::from_str::<Text<'_>>(value.get())
        .ok()
        .map(|text| text.0)
}

/// More than was to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooMany;

/// An array's elements, at most this many; none at all if it is not an array.
pub fn elements(value: Option<&RawValue>, max: usize) -> Result<Vec<&RawValue>, TooMany> {
    let Some(value) = value.filter(|value| value.get().starts_with('[')) else {
        return Ok(Vec::new());
    };
    let mut reader = serde_json::Deserializer::from_str(value.get());
    let mut found = Vec::new();
    match reader.deserialize_seq(Elements(&mut found, max)) {
        Ok(true) => Ok(found),
        _ => Err(TooMany),
    }
}

struct Elements<'e, 'de>(&'e mut Vec<&'de RawValue>, usize);

impl<'de> Visitor<'de> for Elements<'_, 'de> {
    /// Whether that is all.
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an array")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        while let Some(element) = seq.next_element()? {
            if self.0.len() >= self.1 {
                return Err(A::Error::custom("too many"));
            }
            self.0.push(element);
        }
        Ok(true)
    }
}

/// An object's fields in their order, each name once with its last value, at most so many; none if it is not an object or
/// has more.
pub fn fields(value: &RawValue, max: usize) -> Option<Vec<(Cow<'_, str>, &RawValue)>> {
    if !value.get().starts_with('{') {
        return None;
    }
    let mut reader = serde_json::Deserializer::from_str(value.get());
    reader.deserialize_map(Fields(max)).ok()
}

struct Fields(usize);

impl<'de> Visitor<'de> for Fields {
    type Value = Vec<(Cow<'de, str>, &'de RawValue)>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut found: Self::Value = Vec::new();
        let mut places: HashMap<Cow<'de, str>, usize> = HashMap::new();
        while let Some(Text(name)) = map.next_key()? {
            let value = map.next_value()?;
            match places.get(&name) {
                Some(place) => found[*place].1 = value,
                None if found.len() >= self.0 => return Err(A::Error::custom("too many")),
                None => {
                    places.insert(name.clone(), found.len());
                    found.push((name, value));
                }
            }
        }
        Ok(found)
    }
}

/// How many values a valid JSON text has at most, those within others included.
pub fn values_at_most(text: &str) -> usize {
    let (mut count, mut bytes) = (1, text.bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b',' | b'[' | b'{' => count += 1,
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    count
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => drop(bytes.next()),
            _ => {}
        }
    }
}

/// Makes fingerprints: of equal values they are equal, whatever their texts' spaces and the order of their fields, and
/// of others they differ, but for one chance in 2^64.
#[derive(Clone, Debug, Default)]
pub struct Fingerprints(RandomState);

impl Fingerprints {
    /// Measures a JSON text. Fails as reading it would: with numbers that are too large, say, or more than 128 levels.
    pub fn of(&self, text: &str) -> Result<u64, serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_str(text);
        let found = Fingerprint(&self.0).deserialize(&mut reader)?;
        reader.end()?;
        Ok(found)
    }

    /// Whether two values are equal.
    pub fn are_equal(&self, one: &RawValue, other: &RawValue) -> bool {
        one.get() == other.get()
            || self
                .of(one.get())
                .is_ok_and(|one| self.of(other.get()).is_ok_and(|other| one == other))
    }
}

/// 2 to the power of 64: no integer as large as this is read as one.
const INTEGERS_END: f64 = 18_446_744_073_709_551_616.0;

#[derive(Clone, Copy)]
struct Fingerprint<'s>(&'s RandomState);

impl Fingerprint<'_> {
    fn of<T: Hash>(self, kind: u8, value: T) -> u64 {
        let mut hasher = self.0.build_hasher();
        kind.hash(&mut hasher);
        value.hash(&mut hasher);
        hasher.finish()
    }
}

impl<'de> DeserializeSeed<'de> for Fingerprint<'_> {
    type Value = u64;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<u64, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Fingerprint<'_> {
    type Value = u64;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<u64, E> {
        Ok(self.of(0, ()))
    }

    fn visit_bool<E>(self, value: bool) -> Result<u64, E> {
        Ok(self.of(1, value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<u64, E> {
        Ok(self.of(2, i128::from(value)))
    }

    fn visit_i64<E>(self, value: i64) -> Result<u64, E> {
        Ok(self.of(2, i128::from(value)))
    }

    fn visit_f64<E>(self, value: f64) -> Result<u64, E> {
        // `489.0` and `4.89e2` are 489, and both zeros are equal. Beyond that range a number without a fraction is never
        // read as an integer.
        if value.fract() == 0.0 && value.abs() <= INTEGERS_END {
            return Ok(self.of(2, value as i128));
        }
        Ok(self.of(3, value.to_bits()))
    }

    fn visit_str<E>(self, value: &str) -> Result<u64, E> {
        Ok(self.of(5, value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<u64, A::Error> {
        let mut hasher = self.0.build_hasher();
        6u8.hash(&mut hasher);
        while let Some(element) = seq.next_element_seed(self)? {
            element.hash(&mut hasher);
        }
        Ok(hasher.finish())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<u64, A::Error> {
        let mut sum = 0u64;
        while let Some(name) = map.next_key_seed(self)? {
            let value = map.next_value_seed(self)?;
            // A sum does not depend on the order.
            sum = sum.wrapping_add(self.of(7, (name, value)));
        }
        Ok(self.of(8, sum))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_name_that_serde_json_has_for_itself_is_a_name_like_others() {
        let text = r#"{"$serde_json::private::RawValue":"[1, 2, 3]"}"#;
        assert_eq!(values_at_most(text), 2);
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(value.to_string(), text);
        let again: Value = serde_json::from_value(value).unwrap();
        assert_eq!(again.to_string(), text);
    }
}
