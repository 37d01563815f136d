//! Names of users, and of enumerations in JSON and in the database.

/// A user's whole name; empty, if neither part is known.
pub fn full_name(first: &str, last: &str) -> String {
    format!("{first} {last}").trim().to_owned()
}

/// A name that no variant has.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is unknown")]
pub struct UnknownName(pub String);

/// Gives an enumeration the name of each variant, both ways: `names!(Role: User = "user", Admin = "admin")`.
#[macro_export]
macro_rules! names {
    ($type:ident: $($variant:ident = $name:literal),* $(,)?) => {
        impl $type {
            /// All variants, in the order of declaration.
            pub const ALL: &'static [$type] = &[$($type::$variant),*];

            /// The name in JSON and in the database.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name),* }
            }
        }

        impl TryFrom<String> for $type {
            type Error = $crate::names::UnknownName;

            fn try_from(name: String) -> Result<Self, $crate::names::UnknownName> {
                match name.as_str() {
                    $($name => Ok($type::$variant),)*
                    _ => Err($crate::names::UnknownName(name)),
                }
            }
        }
    };
}
