//! Base64 (RFC 4648): text to Base64 and back.

use super::parameters;
use super::text::{refuse_secret, text_or_input};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use ::base64::alphabet::STANDARD;
use ::base64::engine::DecodePaddingMode;
use ::base64::engine::general_purpose::{
    GeneralPurpose, GeneralPurposeConfig, STANDARD as PADDED, URL_SAFE_NO_PAD,
};
use ::base64::{DecodeError, Engine as _};
use heddle_contract::abi::code;
use heddle_values::Object;

/// `encode` or `decode`.
pub fn base64(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let text = text_or_input(parameters, context)?;
    let result = match parameters::choice(parameters, "operation", &["encode", "decode"], "encode")? {
        "decode" => decode(&text)?,
        _ => {
            refuse_secret(&text)?;
            match parameters::boolean(parameters, "urlSafe", false)? {
                true => URL_SAFE_NO_PAD.encode(text),
                false => PADDED.encode(text),
            }
        }
    };
    Ok(Outcome::Emit(Emission::one(0, result.into())))
}

/// Takes both alphabets, line breaks and other white space, and missing padding.
fn decode(text: &str) -> Result<String, Failure> {
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let plain: Vec<u8> = text
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace())
        .map(|byte| match byte {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        })
        .collect();
    let bytes = LENIENT.decode(plain).map_err(|error| {
        let what = match error {
            DecodeError::InvalidByte(..) => undecodable(text),
            DecodeError::InvalidLength(_) | DecodeError::InvalidLastSymbol(..) => {
                "its end is missing or damaged".to_owned()
            }
            DecodeError::InvalidPadding => "its padding (`=`) is wrong".to_owned(),
        };
        Failure::new(code::PARSE, format!("The text is not valid Base64: {what}."))
    })?;
    String::from_utf8(bytes).map_err(|error| {
        let message = format!(
            "The decoded bytes are not UTF-8 text (at byte {} of {}).",
            error.utf8_error().valid_up_to() + 1,
            error.as_bytes().len()
        );
        Failure::new(code::PARSE, message)
    })
}

fn undecodable(text: &str) -> String {
    let stray = |c: &(usize, char)| {
        !(c.1.is_ascii_alphanumeric() || c.1.is_ascii_whitespace() || "+/-_=".contains(c.1))
    };
    match text.chars().enumerate().find(stray) {
        Some((at, character)) => format!("`{character}` at character {} is not of its alphabet", at + 1),
        None => "`=` stands before its end".to_owned(),
    }
}
