//! What must be known of a type to read its values: what it is made of, or else its name.

use sqlx::TypeInfo;
use sqlx::postgres::{PgTypeInfo, PgTypeKind};

/// What a type is made of.
pub(super) enum MadeOf<'a, T> {
    Array(&'a T),
    Domain(&'a T),
    /// An enumeration's.
    Words,
    /// It stands for itself.
    Nothing,
}

/// A type of PostgreSQL.
pub(super) trait Typed: Sized {
    fn made_of(&self) -> MadeOf<'_, Self>;

    /// In capitals for those that sqlx knows.
    fn name(&self) -> &str;
}

impl Typed for PgTypeInfo {
    fn made_of(&self) -> MadeOf<'_, Self> {
        match self.kind() {
            PgTypeKind::Array(element) => MadeOf::Array(element),
            PgTypeKind::Domain(base) => MadeOf::Domain(base),
            PgTypeKind::Enum(_) => MadeOf::Words,
            _ => MadeOf::Nothing,
        }
    }

    fn name(&self) -> &str {
        TypeInfo::name(self)
    }
}
