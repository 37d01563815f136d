//! Where a page of a list begins.

/// Where a page of a list begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Start<K> {
    /// After so many elements, whatever has come since.
    Offset(i64),
    /// After the element that is there in the list's order.
    After(K),
}

impl<K> Start<K> {
    /// How many elements are skipped.
    pub const fn offset(&self) -> i64 {
        match self {
            Start::Offset(offset) => *offset,
            Start::After(_) => 0,
        }
    }

    /// The element that the page comes after, if it begins with one.
    pub const fn after(&self) -> Option<&K> {
        match self {
            Start::Offset(_) => None,
            Start::After(key) => Some(key),
        }
    }
}
