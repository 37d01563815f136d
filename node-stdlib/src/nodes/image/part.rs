//! A part of a header, what is read from it, and how it is told that it can't be.

use crate::failure::Failure;
use heddle_contract::abi::code;

/// What a header says.
pub(super) struct Info {
    /// As media types end.
    pub format: &'static str,
    pub width: u32,
    pub height: u32,
    /// How it is to be turned, from 1 to 8 as in Exif.
    pub orientation: Option<u16>,
}

impl Info {
    /// As the picture is stored.
    pub fn size(&self) -> (usize, usize) {
        (self.width as usize, self.height as usize)
    }

    /// Whether it is shown with rows as columns.
    pub fn is_transposed(&self) -> bool {
        matches!(self.orientation, Some(5..=8))
    }

    /// The format as people write it.
    pub fn name(&self) -> &'static str {
        match self.format {
            "png" => "PNG",
            "jpeg" => "JPEG",
            "gif" => "GIF",
            _ => "WebP",
        }
    }
}

/// The header of a picture can't be read.
pub(super) fn broken(format: &str, what: &str) -> Failure {
    Failure::new(code::PARSE, format!("This {format} can't be read: {what}."))
}

/// Bytes at a place, if there are so many.
pub(super) fn bytes<const N: usize>(part: &[u8], at: usize) -> Option<[u8; N]> {
    part.get(at..at.checked_add(N)?)?.try_into().ok()
}
