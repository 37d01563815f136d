//! Objects of JSON that are read by the names of their fields only. Left to itself, serde takes an array for one as well, value by
//! value, which no description of a request allows.

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use std::fmt::{self, Formatter};
use std::marker::PhantomData;

/// Something that is read of an object only.
#[derive(Clone, Copy, Debug)]
pub struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        one(value).map(Object)
    }
}

struct Fields<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields))
    }
}

/// Reads one, as its field's `deserialize_with`.
pub fn one<'de, D, T>(value: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    value.deserialize_map(Fields::<T>(PhantomData))
}

/// Reads one or null, as its field's `deserialize_with`, for which it has to have `default` as well.
pub fn optional<'de, D, T>(value: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let read = Option::<Object<T>>::deserialize(value)?;
    Ok(read.map(|Object(read)| read))
}

/// Reads a list of them, as its field's `deserialize_with`.
pub fn list<'de, D, T>(value: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    let read = Vec::<Object<T>>::deserialize(value)?;
    Ok(read.into_iter().map(|Object(read)| read).collect())
}

#[cfg(test)]
mod tests {
    use super::Object;
    use serde::Deserialize;
    use serde_json::value::RawValue;
    use serde_json::{Value, json};

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Inner {
        #[serde(default)]
        n: Option<i64>,
        /// Is read as the text that it is.
        #[serde(default)]
        raw: Option<Box<RawValue>>,
    }

    #[derive(Debug, Deserialize)]
    struct Outer {
        #[serde(deserialize_with = "super::one")]
        one: Inner,
        #[serde(default, deserialize_with = "super::optional")]
        optional: Option<Inner>,
        #[serde(default, deserialize_with = "super::list")]
        list: Vec<Inner>,
    }

    fn read(given: &Value) -> Result<Outer, String> {
        serde_json::from_str(&given.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn objects_are_read_by_the_names_of_their_fields() {
        let given =
            json!({"one": {"n": 1, "raw": {"a": [1, 2]}}, "optional": {"n": 2}, "list": [{"n": 3}, {}]});
        let read = read(&given).unwrap();
        assert_eq!((read.one.n, read.optional.unwrap().n), (Some(1), Some(2)));
        assert_eq!(read.one.raw.unwrap().get(), r#"{"a":[1,2]}"#);
        let of_list: Vec<_> = read.list.iter().map(|inner| inner.n).collect();
        assert_eq!(of_list, [Some(3), None]);
        let Object(alone): Object<Inner> = serde_json::from_value(json!({"n": 4})).unwrap();
        assert_eq!(alone.n, Some(4));
    }

    #[test]
    fn what_is_left_out_or_null_is_none() {
        for given in [
            json!({"one": {}}),
            json!({"one": {}, "optional": null, "list": []}),
        ] {
            let read = read(&given).unwrap();
            assert!(
                read.optional.is_none() && read.list.is_empty(),
                "{given}: {read:?}"
            );
        }
        assert!(read(&json!({})).unwrap_err().starts_with("missing field `one`"));
    }

    #[test]
    fn an_array_is_no_object() {
        for given in [
            json!({"one": []}),
            json!({"one": [1]}),
            json!({"one": {}, "optional": [1]}),
            json!({"one": {}, "list": [[1]]}),
            json!({"one": {}, "list": [{}, []]}),
        ] {
            let error = read(&given).unwrap_err();
            let said = "invalid type: sequence, expected an object";
            assert!(error.starts_with(said), "{given}: {error}");
        }
        let unknown = read(&json!({"one": {"m": 1}})).unwrap_err();
        assert!(unknown.starts_with("unknown field `m`"), "{unknown}");
        assert!(serde_json::from_value::<Object<Inner>>(json!([4])).is_err());
    }
}
