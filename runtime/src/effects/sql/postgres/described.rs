//! Values of types that somebody has made up, for those who test that anything may be sent as such a value.

use super::super::rows::Room;
use super::read::value;
use super::typed::{MadeOf, Typed};
use serde_json::Value;

/// What a server may tell of a type.
#[derive(Clone, Debug)]
pub enum PostgresType {
    /// As sqlx calls it: `INT4`.
    Named(String),
    Enum,
    Array(Box<PostgresType>),
    Domain(Box<PostgresType>),
}

impl Typed for PostgresType {
    fn made_of(&self) -> MadeOf<'_, Self> {
        match self {
            PostgresType::Named(_) => MadeOf::Nothing,
            PostgresType::Enum => MadeOf::Words,
            PostgresType::Array(element) => MadeOf::Array(element),
            PostgresType::Domain(base) => MadeOf::Domain(base),
        }
    }

    fn name(&self) -> &str {
        match self {
            PostgresType::Named(name) => name,
            PostgresType::Enum | PostgresType::Array(_) | PostgresType::Domain(_) => "",
        }
    }
}

/// What these bytes are, if there is room for so much; or why they are nothing.
pub fn postgres_value(of: &PostgresType, bytes: &[u8], bytes_max: usize) -> Result<Value, String> {
    value(of, bytes, &mut Room::new(bytes_max, None)).map_err(|error| error.to_string())
}
