//! The form in which values cross between the engine and the world: a value is a tag and what belongs to it.
//!
//! | tag | followed by |
//! | --- | --- |
//! | 0 undefined, 1 null, 2 false, 3 true | nothing |
//! | 4 number | 8 bytes, little-endian double |
//! | 5 integer | varint, zigzag: a number that is an i32 and not -0 |
//! | 6 text | varint bytes, UTF-8 |
//! | 7 text with lone surrogates | varint code units, 2 bytes each, little-endian |
//! | 8 array | varint length, the values |
//! | 9 object | for each property a key and a value, then the varint 0 |
//! | 10 date | 8 bytes, milliseconds since 1970 UTC, NaN: invalid |
//! | 11 time of another kind | a byte (0 date-time, 1 duration), 8 bytes: milliseconds, its text as tag 6 without the tag, with the zone of a date-time behind it in brackets unless that is UTC; into the engine only |
//! | 12 shared | an array or object, which gets the next number, from 0; into the engine only |
//! | 13 again | varint number: the same array or object once more, when it has ended |
//! | 14 object of a kind | as an object (tag 9); its keys get the next number, from 0 |
//! | 15 like | varint number: the values of another object with these keys in this order, when the first one has ended |
//!
//! A key is the varint 1 and a text (tag 6 or 7) when it is new in this message, else 2 + its place among the new
//! keys before it. Varints are LEB128 of at most 32 bits. One message is one value.
//!
//! Neither side trusts the other: a reader checks every length against what is left, and whoever builds or walks
//! nested values counts their depth ([`DEPTH_MAX`]). Needs `alloc` only; knows nothing of either side's values.

mod reader;
mod writer;

pub use reader::{Broken, Key, Reader, TimeKind, Token};
pub use writer::{Text, Writer};

/// Arrays and objects may be nested this deep: what may travel in a pattern, and what is put around it.
pub const DEPTH_MAX: usize = 520;

mod tag {
    pub const UNDEFINED: u8 = 0;
    pub const NULL: u8 = 1;
    pub const FALSE: u8 = 2;
    pub const TRUE: u8 = 3;
    pub const NUMBER: u8 = 4;
    pub const INTEGER: u8 = 5;
    pub const UTF8: u8 = 6;
    pub const UTF16: u8 = 7;
    pub const ARRAY: u8 = 8;
    pub const OBJECT: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const SHARED: u8 = 12;
    pub const AGAIN: u8 = 13;
    pub const KIND: u8 = 14;
    pub const LIKE: u8 = 15;
}

mod key {
    pub const END: u32 = 0;
    pub const NEW: u32 = 1;
    pub const KNOWN: u32 = 2;
}
