//! `btoa` and `atob` (HTML, 8.3): base64 of texts whose characters are bytes.

use super::{Exception, Kind, Outcome};
use crate::Text;
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

/// Padding may be missing, and bits that are left over are of no account.
const FORGIVING: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::RequireNone),
);

pub(super) fn encode(text: &Text) -> Outcome {
    let bytes: Result<Vec<u8>, _> = text.units().map(u8::try_from).collect();
    let bytes = bytes.map_err(|_| {
        let message = "`btoa` takes characters up to U+00FF only: a Base64 node takes any text";
        Exception::new(Kind::Character, message)
    })?;
    Ok(base64::engine::general_purpose::STANDARD.encode(bytes).into())
}

/// `atob`
pub(super) fn decode(text: &Text) -> Outcome {
    let units: Vec<u16> = bytes(text)?.into_iter().map(u16::from).collect();
    Ok(Text::from_units(&units).into())
}

/// What the base64 text says.
pub(super) fn bytes(text: &Text) -> Result<Vec<u8>, Exception> {
    let wrong = |_| Exception::new(Kind::Character, "the text is not valid base64");
    let is_space = |unit: &u16| [0x09, 0x0a, 0x0c, 0x0d, 0x20].contains(unit);
    let bytes: Result<Vec<u8>, _> = text
        .units()
        .filter(|unit| !is_space(unit))
        .map(u8::try_from)
        .collect();
    let mut bytes = bytes.map_err(|_| wrong(()))?;
    if bytes.len().is_multiple_of(4) {
        for _ in 0..2 {
            bytes.pop_if(|byte| *byte == b'=');
        }
    }
    FORGIVING.decode(&bytes).map_err(|_| wrong(()))
}
