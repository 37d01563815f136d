//! Codes of authenticators: TOTP (RFC 6238) with SHA-1, 30 seconds and six digits, which is what every authenticator knows.
//! ring computes the HMAC; what is left is less than a crate for it would bring. Knows nothing of users.

use heddle_model::clock::Timestamp;
use heddle_model::error::ServiceError;
use qrcodegen::{QrCode, QrCodeEcc};
use ring::hmac;
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// Bytes of a secret, as RFC 4226 recommends.
const SECRET_BYTES: usize = 20;
/// How long a code counts.
const STEP_MS: i64 = 30_000;
/// Codes have six digits.
const CODES: u32 = 1_000_000;
const DIGITS: usize = 6;
/// Clocks may differ by so many steps in each direction.
const STEPS_OFF_MAX: i64 = 1;
/// RFC 4648, section 6.
const BASE32: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/// A new secret.
pub fn generate() -> Zeroizing<Vec<u8>> {
    let random: [u8; SECRET_BYTES] = heddle_model::entropy::random();
    Zeroizing::new(random.to_vec())
}

/// The time step at which this code is right, of those that are near enough to now.
pub fn step_of(secret: &[u8], code: &str, now: Timestamp) -> Option<i64> {
    let given = read(code)?;
    let step = now.millis().div_euclid(STEP_MS);
    let mut near = step.saturating_sub(STEPS_OFF_MAX)..=step.saturating_add(STEPS_OFF_MAX);
    near.find(|step| at(secret, *step) == Some(given))
}

/// The code of a time, for those who hold the secret.
pub fn code(secret: &[u8], time: Timestamp) -> Option<String> {
    at(secret, time.millis().div_euclid(STEP_MS)).map(|code| format!("{code:06}"))
}

/// RFC 4226, section 5.3. `None`: before 1970.
fn at(secret: &[u8], step: i64) -> Option<u32> {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let counter = u64::try_from(step).ok()?.to_be_bytes();
    let tag = hmac::sign(&key, &counter);
    let tag = tag.as_ref();
    let offset = usize::from(tag.last()? & 0xf);
    let taken: [u8; 4] = tag.get(offset..offset + 4)?.try_into().ok()?;
    Some((u32::from_be_bytes(taken) & 0x7fff_ffff) % CODES)
}

/// A code as people type it, with spaces or without.
fn read(code: &str) -> Option<u32> {
    let digits: String = code.chars().filter(|c| !c.is_whitespace()).collect();
    let is_code = digits.len() == DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_code.then(|| digits.parse().ok()).flatten()
}

/// Bytes as people type them: base32 without padding.
pub fn base32(bytes: &[u8]) -> String {
    let mut text = String::new();
    let (mut held, mut bits) = (0_u32, 0_u32);
    for byte in bytes {
        held = (held << 8 | u32::from(*byte)) & 0xffff;
        bits += 8;
        while bits >= 5 {
            bits -= 5;
            text.push(letter(held >> bits));
        }
    }
    if bits > 0 {
        text.push(letter(held << (5 - bits)));
    }
    text
}

fn letter(bits: u32) -> char {
    let index = usize::try_from(bits & 31).unwrap_or_default();
    char::from(BASE32.get(index).copied().unwrap_or(b'A'))
}

/// What authenticators read from a QR code: Google's "Key URI Format".
pub fn url(secret: &[u8], email: &str, service: &str) -> String {
    let encoded = |text: &str| {
        // Spaces as %20: not every authenticator takes a plus sign for one.
        let encoded: String = form_urlencoded::byte_serialize(text.as_bytes()).collect();
        encoded.replace('+', "%20")
    };
    let (service, email) = (encoded(service), encoded(email));
    format!(
        "otpauth://totp/{service}:{email}?secret={}&issuer={service}&algorithm=SHA1&digits=6&period=30",
        base32(secret)
    )
}

/// A text as a QR code, as an SVG image without style or script.
pub fn qr(text: &str) -> Result<String, ServiceError> {
    /// Modules around the code that stay white.
    const QUIET: i32 = 4;
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).map_err(ServiceError::internal)?;
    let side = code.size() + 2 * QUIET;
    let mut dark = String::new();
    for y in 0..code.size() {
        for x in (0..code.size()).filter(|x| code.get_module(*x, y)) {
            // Writing to a text does not fail.
            let _ = write!(dark, "M{},{}h1v1h-1z", x + QUIET, y + QUIET);
        }
    }
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {side} {side}\" shape-rendering=\"crispEdges\">\
         <path fill=\"#fff\" d=\"M0,0h{side}v{side}h-{side}z\"/><path fill=\"#000\" d=\"{dark}\"/></svg>"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &[u8] = b"12345678901234567890";

    /// RFC 6238, appendix B, of which a code has the last six digits.
    const VECTORS: [(i64, &str); 6] = [
        (59, "287082"),
        (1_111_111_109, "081804"),
        (1_111_111_111, "050471"),
        (1_234_567_890, "005924"),
        (2_000_000_000, "279037"),
        (20_000_000_000, "353130"),
    ];

    #[test]
    fn codes_are_those_of_the_rfc() {
        for (seconds, expected) in VECTORS {
            let time = Timestamp::from_millis(seconds * 1000);
            assert_eq!(code(SECRET, time).unwrap(), expected);
            assert_eq!(step_of(SECRET, expected, time), Some(seconds / 30));
        }
    }

    #[test]
    fn a_code_counts_a_step_before_and_after() {
        let code = "005924";
        for (seconds, is_right) in [(-60, false), (-30, true), (0, true), (30, true), (60, false)] {
            let time = Timestamp::from_millis((1_234_567_890 + seconds) * 1000);
            assert_eq!(step_of(SECRET, code, time).is_some(), is_right, "{seconds}");
        }
    }

    #[test]
    fn what_is_no_code_is_never_right() {
        let now = Timestamp::from_millis(59_000);
        assert!(step_of(SECRET, " 287 082 ", now).is_some());
        for code in ["", "28708", "2870820", "+87082", "28708²", "287-082", "٢٨٧٠٨٢"] {
            assert_eq!(step_of(SECRET, code, now), None, "{code}");
        }
    }

    #[test]
    fn secrets_are_written_in_base32() {
        // RFC 4648, section 10, without padding.
        for (bytes, expected) in [
            ("", ""),
            ("f", "MY"),
            ("fo", "MZXQ"),
            ("foo", "MZXW6"),
            ("foob", "MZXW6YQ"),
            ("fooba", "MZXW6YTB"),
            ("foobar", "MZXW6YTBOI"),
        ] {
            assert_eq!(base32(bytes.as_bytes()), expected);
        }
        assert_eq!(
            url(b"foobar", "ann+x@example.com", "heddle test"),
            "otpauth://totp/heddle%20test:ann%2Bx%40example.com?secret=MZXW6YTBOI&issuer=heddle%20test&algorithm=SHA1\
             &digits=6&period=30"
        );
    }
}
