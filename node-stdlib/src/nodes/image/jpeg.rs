//! JPEG: segment by segment up to the one that has the size; how the picture is to be turned, from its Exif.
//!
//! Sources: ITU-T T.81 B.1 and B.2, Exif 2.32 (CIPA DC-008) 4.5 and 4.6, TIFF 6.0 section 2.

use super::part::{Info, broken, bytes};
use crate::failure::Failure;

/// With what a JPEG begins.
pub(super) const START: [u8; 2] = [0xff, 0xd8];
/// Where its size must be found: a camera's texts, previews and colour profiles come before it.
const HEADER_BYTES_MAX: u64 = 16 << 20;
const EXIF: &[u8] = b"Exif\0\0";
/// The tag of the orientation, and the type of its value: a number of 16 bits.
const ORIENTATION: u16 = 0x0112;
const SHORT: u16 = 3;

/// What has been read before the size.
#[derive(Default)]
pub(super) struct Jpeg {
    orientation: Option<u16>,
}

/// What a segment gives.
pub(super) enum Next {
    /// The next one begins at this offset.
    At(u64),
    Info(Info),
}

impl Jpeg {
    /// Reads the segment with which the bytes begin.
    pub fn segment(&mut self, part: &[u8], offset: u64) -> Result<Next, Failure> {
        let early = || broken("JPEG", "it ends before its size");
        if offset > HEADER_BYTES_MAX {
            return Err(broken("JPEG", "its size is not within the first 16 MiB"));
        }
        let [mark, kind] = bytes::<2>(part, 0).ok_or_else(early)?;
        if mark != 0xff {
            return Err(broken("JPEG", "between its segments is something else"));
        }
        match kind {
            // Filling before a marker: as much of it as there is, at once.
            0xff => {
                let filling = part.iter().take_while(|byte| **byte == 0xff).count();
                return Ok(Next::At(offset + filling as u64 - 1));
            }
            // Markers without a segment.
            0x01 | 0xd0..=0xd7 => return Ok(Next::At(offset + 2)),
            // The pixels, or the end.
            0xd9 | 0xda => return Err(broken("JPEG", "it has no size")),
            _ => {}
        }
        let length = u16::from_be_bytes(bytes(part, 2).ok_or_else(early)?);
        if length < 2 {
            return Err(broken("JPEG", "a segment is shorter than its length"));
        }
        match kind {
            // All frames but tables, extensions and arithmetic conditions, which have numbers among theirs.
            0xc0..=0xcf if ![0xc4, 0xc8, 0xcc].contains(&kind) => self.size(part).map(Next::Info),
            _ => {
                if kind == 0xe1 && self.orientation.is_none() {
                    let content = part.get(4..usize::from(length) + 2);
                    self.orientation = content
                        .and_then(|content| content.strip_prefix(EXIF))
                        .and_then(orientation);
                }
                Ok(Next::At(offset + 2 + u64::from(length)))
            }
        }
    }

    fn size(&self, part: &[u8]) -> Result<Info, Failure> {
        let side = |at| bytes(part, at).map(u16::from_be_bytes).map(u32::from);
        match (side(7), side(5)) {
            (Some(width), Some(height)) if width > 0 && height > 0 => Ok(Info {
                format: "jpeg",
                width,
                height,
                orientation: self.orientation,
            }),
            _ => Err(broken("JPEG", "its header is damaged, or ends too early")),
        }
    }
}

/// How the picture is to be turned; nothing if it is not said, or in no way that is known.
fn orientation(tiff: &[u8]) -> Option<u16> {
    let is_little = match &bytes::<4>(tiff, 0)? {
        b"II*\0" => true,
        b"MM\0*" => false,
        _ => return None,
    };
    let short = |part: &[u8], at: usize| {
        let number = bytes(part, at)?;
        Some(match is_little {
            true => u16::from_le_bytes(number),
            false => u16::from_be_bytes(number),
        })
    };
    let first = bytes(tiff, 4)?;
    let first = match is_little {
        true => u32::from_le_bytes(first),
        false => u32::from_be_bytes(first),
    };
    let directory = tiff.get(usize::try_from(first).ok()?..)?;
    let count = usize::from(short(directory, 0)?);
    let mut entries = directory.get(2..)?.chunks_exact(12).take(count);
    let entry = entries.find(|entry| short(entry, 0) == Some(ORIENTATION))?;
    if short(entry, 2)? != SHORT {
        return None;
    }
    short(entry, 8).filter(|value| (1..=8).contains(value))
}
