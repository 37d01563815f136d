//! Objects whose values are texts, numbers and the like. What is none of these is read and never built, however large it is.

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::fmt;

/// So many fields at most, each a string, a number, a boolean or null.
#[derive(Default)]
pub struct Scalars<const MAX: usize> {
    fields: Map<String, Value>,
    /// A field that is an array or an object.
    composite: Option<String>,
    has_more: bool,
}

/// What is wrong with the fields of an object.
#[derive(Debug, PartialEq, Eq)]
pub enum Unfit {
    /// There are too many.
    TooMany,
    /// The one with this name is an array or an object.
    Composite(String),
}

impl<const MAX: usize> Scalars<MAX> {
    /// The fields, in the order in which they were sent.
    pub fn fit(self) -> Result<Map<String, Value>, Unfit> {
        match (self.has_more, self.composite) {
            (true, _) => Err(Unfit::TooMany),
            (false, Some(name)) => Err(Unfit::Composite(name)),
            (false, None) => Ok(self.fields),
        }
    }
}

impl<'de, const MAX: usize> Deserialize<'de> for Scalars<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Fields::<MAX>)
    }
}

struct Fields<const MAX: usize>;

impl<'de, const MAX: usize> Visitor<'de> for Fields<MAX> {
    type Value = Scalars<MAX>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Scalars<MAX>, A::Error> {
        let mut read = Scalars::default();
        while let Some(name) = map.next_key::<String>()? {
            if read.fields.len() >= MAX && !read.fields.contains_key(&name) {
                read.has_more = true;
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            match map.next_value::<Scalar>()?.0 {
                Some(value) => drop(read.fields.insert(name, value)),
                None => read.composite = Some(name),
            }
        }
        Ok(read)
    }
}

/// `None`: it is an array or an object.
struct Scalar(Option<Value>);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Any)
    }
}

struct Any;

impl<'de> Visitor<'de> for Any {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string, a number, a boolean or null")
    }

    fn visit_str<E>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(Some(text.into())))
    }

    fn visit_string<E>(self, text: String) -> Result<Scalar, E> {
        Ok(Scalar(Some(text.into())))
    }

    fn visit_bool<E>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(Some(value.into())))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(Some(number.into())))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(Some(number.into())))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar(Some(number.into())))
    }

    fn visit_unit<E>(self) -> Result<Scalar, E> {
        Ok(Scalar(Some(Value::Null)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut elements: A) -> Result<Scalar, A::Error> {
        while elements.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Scalar(None))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Scalar, A::Error> {
        while fields.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Scalar(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Scalars<3> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn scalars_are_as_they_were_sent_and_the_last_of_a_name_counts() {
        let fields = read(r#"{"b":"\u00e9","a":-1.50,"c":null,"b":18446744073709551615}"#).fit();
        let fields = Value::Object(fields.unwrap());
        assert_eq!(fields, json!({"b": u64::MAX, "a": -1.5, "c": null}));
        assert_eq!(
            fields.to_string(),
            r#"{"b":18446744073709551615,"a":-1.5,"c":null}"#
        );
        assert!(read("{}").fit().unwrap().is_empty());
    }

    #[test]
    fn what_does_not_fit_is_not_built() {
        let list = format!("[{}1]", "1,".repeat(1 << 20));
        for value in ["[]", "{}", list.as_str()] {
            let unfit = read(&format!(r#"{{"x":1,"a":{value}}}"#)).fit();
            assert_eq!(unfit, Err(Unfit::Composite("a".to_owned())));
        }
        let many: Vec<String> = (0..100_000).map(|number| format!(r#""f{number}":1"#)).collect();
        let many = read(&format!("{{{}}}", many.join(",")));
        assert_eq!(many.fields.len(), 3);
        assert_eq!(many.fit(), Err(Unfit::TooMany));
        assert!(serde_json::from_str::<Scalars<3>>("[]").is_err());
    }
}
