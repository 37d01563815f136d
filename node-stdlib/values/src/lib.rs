//! JSON values with JavaScript's meaning.
//!
//! Values are immutable and shared by reference counts, so passing one along an edge costs nothing; building
//! mutates only what nobody else holds (`Rc::make_mut`). Knows nothing of nodes, patterns or the run.
//!
//! What walks a value (printing, comparing, dropping, …) recurses as deep as it is nested: whoever builds values
//! from outside input keeps [`Value::depth`] within a limit.

mod builder;
mod compare;
pub mod date_time;
pub mod digest;
pub mod keys;
pub mod methods;
mod number;
pub mod ops;
mod parse;
mod path;
mod plain;
mod print;
pub mod query;
mod text;
mod type_error;
mod value;
pub mod wire;

pub use builder::TextBuilder;
pub use date_time::Temporal;
pub use number::{number_to_text, power as number_power, remainder as number_remainder, text_to_number};
pub use parse::{JSON_DEPTH_MAX, JsonTexts, ParseError, parse_json};
pub use print::json_indent;
pub use text::Text;
pub use type_error::TypeError;
pub use value::{Array, ArrayMut, Near, Object, ObjectMaker, Shape, Value};
