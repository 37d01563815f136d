//! Lists in what another process says, which may have been taken over: of one that is too long no more is read.

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::marker::PhantomData;

/// A list that has at most so many elements if it was read.
#[derive(Serialize)]
pub struct BoundedList<T, const MAX: usize>(pub Vec<T>);

impl<T, const MAX: usize> BoundedList<T, MAX> {
    /// Whether nobody would read it, as it was made here.
    pub const fn is_too_long(&self) -> bool {
        self.0.len() > MAX
    }
}

impl<'de, T: Deserialize<'de>, const MAX: usize> Deserialize<'de> for BoundedList<T, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Reader::<T, MAX>(PhantomData))
    }
}

struct Reader<T, const MAX: usize>(PhantomData<T>);

impl<'de, T: Deserialize<'de>, const MAX: usize> Visitor<'de> for Reader<T, MAX> {
    type Value = BoundedList<T, MAX>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "a list of at most {MAX}")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() >= MAX {
                return Err(Error::invalid_length(list.len() + 1, &self));
            }
            list.push(item);
        }
        Ok(BoundedList(list))
    }
}

#[cfg(test)]
mod tests {
    use super::BoundedList;

    #[test]
    fn a_list_is_read_up_to_its_bound() {
        let read = serde_json::from_str::<BoundedList<u8, 2>>;
        assert_eq!(read("[1, 2]").map(|list| list.0).unwrap(), [1, 2]);
        for wrong in ["[1, 2, 3]", "{}", "[1, 2"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        assert!(BoundedList::<u8, 2>(vec![1, 2, 3]).is_too_long());
        assert!(!BoundedList::<u8, 2>(vec![1, 2]).is_too_long());
    }
}
