//! What streams are encoded by (ISO 32000-2, 7.4), as far as text needs it. What is damaged gives what there is before the damage.

use super::object::{Dictionary, Lexer, Object};
use crate::failure::Failure;
use heddle_contract::abi::code;
use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};

/// Bytes of one stream, decoded.
pub(super) const BYTES_MAX: usize = 64 << 20;
const STEP_BYTES: usize = 64 << 10;

pub(super) fn too_large() -> Failure {
    let message = format!(
        "A part of the PDF has more than {} MiB once it is unpacked.",
        BYTES_MAX >> 20
    );
    Failure::new(code::FILE_LIMIT, message)
}

/// Decodes a stream; `None` for pictures and the like.
pub(super) fn decoded(stream: &Dictionary, data: &[u8]) -> Result<Option<Vec<u8>>, Failure> {
    let filters = list(stream.get("Filter").or(stream.get("F")));
    let parameters = list(stream.get("DecodeParms").or(stream.get("DP")));
    let mut out = data.to_vec();
    for (index, filter) in filters.iter().enumerate() {
        let parameters = match parameters.get(index) {
            Some(Object::Dictionary(parameters)) => Some(&**parameters),
            _ => None,
        };
        let number = |name: &str, default: usize| {
            let given = parameters.and_then(|parameters| parameters.get(name));
            given.and_then(Object::count).unwrap_or(default)
        };
        out = match filter.name() {
            Some("FlateDecode" | "Fl") => predicted(inflated(&out)?, number),
            Some("LZWDecode" | "LZW") => predicted(lzw(&out, number("EarlyChange", 1))?, number),
            Some("ASCII85Decode" | "A85") => ascii85(&out),
            Some("ASCIIHexDecode" | "AHx") => Lexer::of_operators(&out).hexadecimal(),
            Some("RunLengthDecode" | "RL") => run_length(&out)?,
            _ => return Ok(None),
        };
    }
    Ok(Some(out))
}

fn list(object: Option<&Object>) -> Vec<Object> {
    match object {
        None | Some(Object::Null) => Vec::new(),
        Some(Object::Array(items)) => items.to_vec(),
        Some(other) => vec![other.clone()],
    }
}

fn inflated(data: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut state = InflateState::new_boxed(DataFormat::ZLibIgnoreChecksum);
    let (mut out, mut used) = (Vec::new(), 0);
    let mut buffer = vec![0; STEP_BYTES];
    loop {
        let input = data.get(used..).unwrap_or_default();
        let result = inflate(&mut state, input, &mut buffer, MZFlush::None);
        used += result.bytes_consumed;
        out.extend_from_slice(buffer.get(..result.bytes_written).unwrap_or_default());
        if out.len() > BYTES_MAX {
            return Err(too_large());
        }
        match result.status {
            Ok(MZStatus::Ok) if result.bytes_consumed + result.bytes_written > 0 => {}
            _ => return Ok(out),
        }
    }
}

/// Undoes what was subtracted of each byte before it was compressed.
fn predicted(data: Vec<u8>, number: impl Fn(&str, usize) -> usize) -> Vec<u8> {
    let predictor = number("Predictor", 1);
    if predictor < 2 {
        return data;
    }
    let bits = number("Colors", 1).clamp(1, 32) * number("BitsPerComponent", 8).clamp(1, 16);
    let pixel = bits.div_ceil(8);
    let row = (bits * number("Columns", 1).clamp(1, 1 << 20)).div_ceil(8);
    // A row may be told to be longer than all that there is.
    let row = row.min(data.len().max(1));
    if predictor == 2 {
        let mut data = data;
        for line in data.chunks_mut(row) {
            for at in pixel..line.len() {
                let left = line.get(at - pixel).copied().unwrap_or_default();
                if let Some(byte) = line.get_mut(at) {
                    *byte = byte.wrapping_add(left);
                }
            }
        }
        return data;
    }
    let mut out: Vec<u8> = Vec::with_capacity(data.len());
    let mut above = vec![0_u8; row];
    for line in data.chunks(row + 1) {
        let Some((kind, line)) = line.split_first() else {
            break;
        };
        let mut current = line.to_vec();
        for at in 0..current.len() {
            let before = at.checked_sub(pixel);
            let left = before.and_then(|at| current.get(at).copied()).unwrap_or_default();
            let up = above.get(at).copied().unwrap_or_default();
            let corner = before.and_then(|at| above.get(at).copied()).unwrap_or_default();
            let guess = match kind {
                1 => left,
                2 => up,
                3 => ((u16::from(left) + u16::from(up)) / 2) as u8,
                4 => paeth(left, up, corner),
                _ => 0,
            };
            if let Some(byte) = current.get_mut(at) {
                *byte = byte.wrapping_add(guess);
            }
        }
        out.extend_from_slice(&current);
        above = current;
    }
    out
}

fn paeth(left: u8, up: u8, corner: u8) -> u8 {
    let guess = i16::from(left) + i16::from(up) - i16::from(corner);
    let distance = |byte: u8| (guess - i16::from(byte)).abs();
    let (to_left, to_up, to_corner) = (distance(left), distance(up), distance(corner));
    match () {
        () if to_left <= to_up && to_left <= to_corner => left,
        () if to_up <= to_corner => up,
        () => corner,
    }
}

fn lzw(data: &[u8], early: usize) -> Result<Vec<u8>, Failure> {
    const CLEAR: usize = 256;
    const END: usize = 257;
    let mut out: Vec<u8> = Vec::new();
    // Of each code above 257: where its bytes are in what is decoded already.
    let mut table: Vec<(usize, usize)> = Vec::new();
    let mut last: Option<(usize, usize)> = None;
    let (mut bits, mut held, mut width) = (0_u32, 0_u32, 9_u32);
    for byte in data {
        bits = bits << 8 | u32::from(*byte);
        held += 8;
        if held < width {
            continue;
        }
        held -= width;
        let code = (bits >> held) as usize & ((1 << width) - 1);
        bits &= (1 << held) - 1;
        if code == END {
            break;
        }
        if code == CLEAR {
            table.clear();
            (last, width) = (None, 9);
            continue;
        }
        let start = out.len();
        if code < CLEAR {
            out.push(code as u8);
        } else if let Some((from, to)) = table.get(code - 258).copied() {
            out.extend_from_within(from..to);
        } else if let Some((from, to)) = last {
            out.extend_from_within(from..to);
            out.extend_from_within(from..=from);
        } else {
            break;
        }
        if out.len() > BYTES_MAX {
            return Err(too_large());
        }
        // The former code's bytes with the first one of these, which stand one after the other.
        if let Some((from, to)) = last
            && table.len() < 4_096 - 258
        {
            table.push((from, to + 1));
        }
        last = Some((start, out.len()));
        width = match table.len() + 258 + early {
            0..512 => 9,
            512..1_024 => 10,
            1_024..2_048 => 11,
            _ => 12,
        };
    }
    Ok(out)
}

fn ascii85(data: &[u8]) -> Vec<u8> {
    let (mut out, mut group) = (Vec::new(), Vec::with_capacity(5));
    for byte in data {
        match byte {
            b'~' => break,
            b'z' if group.is_empty() => out.extend_from_slice(&[0; 4]),
            b'!'..=b'u' => group.push(u32::from(byte - b'!')),
            _ => {}
        }
        if group.len() == 5 {
            out.extend_from_slice(&of_base_85(&group));
            group.clear();
        }
    }
    if group.len() > 1 {
        let bytes = group.len() - 1;
        group.resize(5, 84);
        out.extend(of_base_85(&group).into_iter().take(bytes));
    }
    out
}

fn of_base_85(group: &[u32]) -> [u8; 4] {
    let number = group.iter().fold(0_u32, |number, digit| {
        number.wrapping_mul(85).wrapping_add(*digit)
    });
    number.to_be_bytes()
}

fn run_length(data: &[u8]) -> Result<Vec<u8>, Failure> {
    let (mut out, mut at) = (Vec::new(), 0);
    while let Some(length) = data.get(at).copied() {
        at += 1;
        match length {
            128 => break,
            0..128 => {
                let end = at + usize::from(length) + 1;
                out.extend_from_slice(data.get(at..end.min(data.len())).unwrap_or_default());
                at = end;
            }
            _ => {
                let byte = data.get(at).copied().unwrap_or_default();
                out.resize(out.len() + 257 - usize::from(length), byte);
                at += 1;
            }
        }
        if out.len() > BYTES_MAX {
            return Err(too_large());
        }
    }
    Ok(out)
}
