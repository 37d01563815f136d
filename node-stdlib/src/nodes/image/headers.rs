//! The headers of PNG, GIF and WebP, which are the first bytes of the file.
//!
//! Sources: PNG (Third Edition) 5.2 and 11.2.1, GIF89a 17 and 18, RFC 9649 2 (containers and extended files), RFC 6386 9.1, WebP
//! lossless bitstream 3 (RFC 9649 3.4).

use super::part::{Info, broken, bytes};
use crate::failure::Failure;
use heddle_contract::abi::code;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// The first chunk of a PNG: its length and its name.
const PNG_HEADER: &[u8] = b"\0\0\0\rIHDR";

/// What the first bytes of a file say.
pub(super) fn info(part: &[u8]) -> Result<Info, Failure> {
    let (format, name, size) = if let Some(rest) = part.strip_prefix(PNG) {
        ("png", "PNG", png(rest))
    } else if part.starts_with(b"GIF87a") || part.starts_with(b"GIF89a") {
        ("gif", "GIF", gif(part))
    } else if part.starts_with(b"RIFF") && part.get(8..12) == Some(b"WEBP") {
        ("webp", "WebP", webp(part))
    } else {
        return Err(Failure::new(
            code::PARSE,
            "This isn't a PNG, JPEG, GIF or WebP image: it doesn't begin like one.",
        ));
    };
    match size {
        Some((width, height)) if width > 0 && height > 0 => Ok(Info {
            format,
            width,
            height,
            orientation: None,
        }),
        _ => Err(broken(name, "its header is damaged, or ends too early")),
    }
}

fn png(rest: &[u8]) -> Option<(u32, u32)> {
    let header = rest.strip_prefix(PNG_HEADER)?;
    Some((
        u32::from_be_bytes(bytes(header, 0)?),
        u32::from_be_bytes(bytes(header, 4)?),
    ))
}

fn gif(part: &[u8]) -> Option<(u32, u32)> {
    let side = |at| Some(u32::from(u16::from_le_bytes(bytes(part, at)?)));
    Some((side(6)?, side(8)?))
}

fn webp(part: &[u8]) -> Option<(u32, u32)> {
    /// Widths and heights have 14 bits.
    const SIDE: u32 = 0x3fff;
    let chunk = part.get(12..)?;
    let content = chunk.get(8..)?;
    match &bytes::<4>(chunk, 0)? {
        b"VP8 " => {
            let side = |at| Some(u32::from(u16::from_le_bytes(bytes(content, at)?)) & SIDE);
            (bytes::<3>(content, 3)? == [0x9d, 0x01, 0x2a]).then_some(())?;
            Some((side(6)?, side(8)?))
        }
        b"VP8L" => {
            (bytes::<1>(content, 0)? == [0x2f]).then_some(())?;
            let bits = u32::from_le_bytes(bytes(content, 1)?);
            Some(((bits & SIDE) + 1, (bits >> 14 & SIDE) + 1))
        }
        b"VP8X" => {
            let side = |at| {
                let [low, middle, high] = bytes::<3>(content, at)?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            Some((side(4)?, side(7)?))
        }
        _ => None,
    }
}
