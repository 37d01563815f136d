//! The ways in which a value may be written.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;
use zeroize::Zeroizing;

/// What JavaScript's encodeURIComponent leaves alone.
pub const COMPONENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// The ways in which a service may give a value back.
pub fn spellings(value: &str) -> Vec<Zeroizing<String>> {
    let percent: String = utf8_percent_encode(value, COMPONENT).collect();
    let strict: String = utf8_percent_encode(value, NON_ALPHANUMERIC).collect();
    let escaped = json_escaped(value);
    let mut all = vec![
        value.to_owned(),
        // JSON as text within JSON, as a run's output may have it.
        json_escaped(&escaped),
        escaped,
        percent.replace("%20", "+"),
        percent,
        strict,
        STANDARD.encode(value),
        STANDARD_NO_PAD.encode(value),
        URL_SAFE.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ];
    for offset in 0..3 {
        all.extend([&STANDARD_NO_PAD, &URL_SAFE_NO_PAD].map(|engine| within_base64(value, offset, engine)));
    }
    all.sort_unstable();
    all.dedup();
    all.into_iter().map(Zeroizing::new).collect()
}

/// What base64 makes of the value within a longer text, `offset` bytes after a group of three: without the characters
/// that other bytes have a share in.
fn within_base64(
    value: &str,
    offset: usize,
    engine: &base64::engine::general_purpose::GeneralPurpose,
) -> String {
    let bytes = Zeroizing::new([&[0; 2][..offset], value.as_bytes()].concat());
    let encoded = Zeroizing::new(engine.encode(&*bytes));
    let first = (offset * 8).div_ceil(6);
    let last = bytes.len() * 8 / 6;
    encoded.get(first..last).unwrap_or_default().to_owned()
}

/// The inside of the JSON string.
pub fn json_escaped(value: &str) -> String {
    let quoted = Value::from(value).to_string();
    quoted
        .strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(&quoted)
        .to_owned()
}
