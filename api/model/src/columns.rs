//! What columns of the database are read as.

/// Reads a type from columns of another, which is converted: `column!(Role: String, Role::try_from)`.
#[macro_export]
macro_rules! column {
    ($type:ident: $stored:ty, $convert:expr) => {
        impl<DB: ::sqlx::Database> ::sqlx::Type<DB> for $type
        where
            $stored: ::sqlx::Type<DB>,
        {
            fn type_info() -> DB::TypeInfo {
                <$stored as ::sqlx::Type<DB>>::type_info()
            }

            fn compatible(of: &DB::TypeInfo) -> bool {
                <$stored as ::sqlx::Type<DB>>::compatible(of)
            }
        }

        impl<'r, DB: ::sqlx::Database> ::sqlx::Decode<'r, DB> for $type
        where
            $stored: ::sqlx::Decode<'r, DB>,
        {
            fn decode(value: DB::ValueRef<'r>) -> Result<Self, ::sqlx::error::BoxDynError> {
                Ok($convert(<$stored as ::sqlx::Decode<'r, DB>>::decode(
                    value,
                )?)?)
            }
        }
    };
}
