//! JMESPath (jmespath.org), a query language for JSON, for `$jmespath(value, query)`.
//!
//! Source: the specification at jmespath.org. Where the JavaScript library that n8n has differs, this follows the
//! library: `<` and `>` compare as JavaScript does, objects keep their order, and `` `text` `` needs no quotes. The
//! `jmespath` crate orders objects by name, and brings along a JSON parser of its own. Knows nothing of expressions.

mod error;
mod evaluate;
mod functions;
mod lexer;
mod parser;

pub use error::QueryError;

use crate::Value;
use crate::methods::{Exception, Kind, Outcome};
use evaluate::evaluated;
use parser::parse;

/// Whether the query can be read, and its functions exist.
pub fn check(query: &str) -> Result<(), QueryError> {
    let tree = parse(query)?;
    functions::check_names(&tree)
}

/// What the query finds in the value.
pub fn search(value: &Value, query: &str) -> Outcome {
    let tree = parse(query).map_err(|QueryError { message, offset }| {
        let message = format!("the query is not valid JMESPath at offset {offset}: {message}");
        Exception::new(Kind::Syntax, message)
    })?;
    let value = match value.clone().with_times_as_text() {
        Value::Undefined => Value::Null,
        value => value,
    };
    let found = evaluated(&value, &tree)?;
    Ok(found)
}
