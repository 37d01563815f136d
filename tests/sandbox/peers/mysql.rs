//! As much of a MySQL server as one statement needs: every prepared statement gives the number 7.

use super::server::{read, say};
use std::io::Write;
use std::net::TcpStream;

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
    [&length[..3], &[sequence], payload].concat()
}

/// A count of 2^50 columns: 13 bytes in all.
pub fn endless_columns() -> Vec<u8> {
    let count = (1_u64 << 50).to_le_bytes();
    packet(1, &[&[0xfe], count.as_slice()].concat())
}

pub fn greeting() -> Vec<u8> {
    let mut payload = b"\x0a8.0.30\0".to_vec();
    payload.extend([1, 0, 0, 0]);
    payload.extend(b"abcdefgh\0");
    // PROTOCOL_41, CONNECT_WITH_DB, TRANSACTIONS, SECURE_CONNECTION; PLUGIN_AUTH and DEPRECATE_EOF.
    let capabilities: u32 = 0x200 | 8 | 0x2000 | 0x8000 | 0x8_0000 | 0x100_0000;
    let halves = capabilities.to_le_bytes();
    payload.extend([halves[0], halves[1], 45, 2, 0, halves[2], halves[3], 21]);
    payload.extend([0; 10]);
    payload.extend(b"ijklmnopqrst\0mysql_native_password\0");
    packet(0, &payload)
}

fn column() -> Vec<u8> {
    let mut payload = b"\x03def\0\0\0\x01v\0\x0c".to_vec();
    // Binary; eight bytes, BIGINT, not null and unsigned.
    payload.extend([63, 0, 20, 0, 0, 0, 8, 0x21, 0, 0, 0, 0]);
    payload
}

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];

/// Talks until the other side ends; `spoil` makes of each honest answer what is said.
pub fn talk(mut stream: TcpStream, mut spoil: impl FnMut(Vec<u8>) -> Vec<u8>) -> Option<()> {
    stream.write_all(&greeting()).ok()?;
    request(&mut stream)?;
    stream.write_all(&packet(2, OK)).ok()?;
    loop {
        let request = request(&mut stream)?;
        let said = match request.first()? {
            // COM_STMT_PREPARE: statement 1 of one column and no parameters.
            0x16 => {
                let prepared = [0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0];
                [packet(1, &prepared), packet(2, &column())].concat()
            }
            // COM_STMT_EXECUTE.
            0x17 => [
                packet(1, &[1]),
                packet(2, &column()),
                packet(3, &[0, 0, 7, 0, 0, 0, 0, 0, 0, 0]),
                packet(4, END),
            ]
            .concat(),
            // COM_STMT_CLOSE is not answered.
            0x19 => continue,
            0x01 => return None,
            _ => packet(1, OK),
        };
        say(&mut stream, said, &mut spoil)?;
    }
}

fn request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let head = read(stream, 4)?;
    let length = u32::from_le_bytes([head[0], head[1], head[2], 0]) as usize;
    read(stream, length)
}
