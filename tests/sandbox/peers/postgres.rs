//! As much of a PostgreSQL server as one statement needs: it describes every statement by one column, and answers every
//! question about types with the same rows.

use super::server::{read, say};
use std::net::TcpStream;

/// What the server says.
#[derive(Clone)]
pub struct Says {
    /// Type of the column; that of `select pg_backend_pid()` is a number.
    pub oid: u32,
    /// Value of the column.
    pub value: Vec<u8>,
    /// Rows about types, each of `oid, pretty_name, catalog_name, original_name, typtype, typcategory, typelem,
    /// typbasetype, rngsubtype, enum_labels, record_attributes`.
    pub types: Vec<u8>,
}

impl Says {
    /// A value of a type that is known.
    pub fn value(oid: u32, value: Vec<u8>) -> Self {
        Says {
            oid,
            value,
            types: Vec::new(),
        }
    }
}

pub const INT4: u32 = 23;
pub const INT4_ARRAY: u32 = 1007;
const TYPE_COLUMNS: &[(&str, u32)] = &[
    ("oid", 26),
    ("pretty_name", 25),
    ("catalog_name", 19),
    ("original_name", 25),
    ("typtype", 18),
    ("typcategory", 18),
    ("typelem", 26),
    ("typbasetype", 26),
    ("rngsubtype", 26),
    ("enum_labels", 1003),
    ("record_attributes", 2287),
];

pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag], length.to_be_bytes().as_slice(), body].concat()
}

fn description(columns: &[(&str, u32)]) -> Vec<u8> {
    let mut body = i16::try_from(columns.len()).unwrap().to_be_bytes().to_vec();
    for (name, oid) in columns {
        body.extend(name.as_bytes());
        body.extend([0; 7]);
        body.extend(oid.to_be_bytes());
        body.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0]);
    }
    message(b'T', &body)
}

pub fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
    let mut body = i16::try_from(values.len()).unwrap().to_be_bytes().to_vec();
    for value in values {
        match value {
            None => body.extend((-1_i32).to_be_bytes()),
            Some(value) => {
                body.extend(i32::try_from(value.len()).unwrap().to_be_bytes());
                body.extend(*value);
            }
        }
    }
    message(b'D', &body)
}

/// Rows about so many domains, each based on the one before, the last of which has the number `first + count - 1`.
pub fn domains(first: u32, count: u32) -> Vec<u8> {
    let each = (first..first + count).flat_map(|oid| {
        let base = if oid == first { INT4 } else { oid - 1 }.to_string();
        let oid = oid.to_string();
        row(&[
            Some(oid.as_bytes()),
            Some(oid.as_bytes()),
            Some(oid.as_bytes()),
            None,
            Some(b"d"),
            Some(b"N"),
            None,
            Some(base.as_bytes()),
            None,
            Some(b"{}"),
            Some(b"{}"),
        ])
    });
    each.collect()
}

const READY: &[u8] = b"Z\0\0\0\x05I";

/// What a server begins with, once it has been greeted.
pub fn welcome(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = u32::from_be_bytes(read(stream, 4)?.try_into().ok()?);
    read(stream, (length as usize).checked_sub(4)?.min(1 << 20))?;
    Some([message(b'R', &[0; 4]), READY.to_vec()].concat())
}

/// Talks until the other side ends; what is said goes through `spoil`.
pub fn talk(mut stream: TcpStream, says: &Says, mut spoil: impl FnMut(Vec<u8>) -> Vec<u8>) -> Option<()> {
    let begin = welcome(&mut stream)?;
    say(&mut stream, begin, &mut spoil)?;
    let (mut said, mut is_first) = (Vec::new(), false);
    loop {
        let head = read(&mut stream, 5)?;
        let length = u32::from_be_bytes(head[1..].try_into().ok()?) as usize;
        let body = read(&mut stream, length.checked_sub(4)?.min(16 << 20))?;
        let text = String::from_utf8_lossy(&body);
        match head[0] {
            b'P' => {
                is_first = text.contains("pg_backend_pid");
                said.extend(message(b'1', &[]));
            }
            b'D' => {
                let oid = if is_first && says.types.is_empty() {
                    INT4
                } else {
                    says.oid
                };
                said.extend([message(b't', &[0; 2]), description(&[("v", oid)])].concat());
            }
            b'B' => said.extend(message(b'2', &[])),
            b'E' => {
                let value = if is_first {
                    &[0, 0, 0, 7]
                } else {
                    says.value.as_slice()
                };
                said.extend([row(&[Some(value)]), message(b'C', b"SELECT 1\0")].concat());
            }
            b'C' => said.extend(message(b'3', &[])),
            b'Q' if text.contains("pg_type") => {
                said.extend([description(TYPE_COLUMNS), says.types.clone()].concat());
                said.extend([message(b'C', b"SELECT 1\0"), READY.to_vec()].concat());
            }
            b'Q' => said.extend([message(b'C', b"SET\0"), READY.to_vec()].concat()),
            b'S' => said.extend(READY),
            b'X' => return None,
            _ => {}
        }
        if matches!(head[0], b'S' | b'Q' | b'H') {
            say(&mut stream, std::mem::take(&mut said), &mut spoil)?;
        }
    }
}
