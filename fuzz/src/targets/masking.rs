//! The value of a secret on the first line, and below it what a run leaves behind, as text, bytes and JSON: the value is not in
//! it any more, and JSON is still JSON.

use heddle_runtime::masking::Vault;
use serde_json::Value;
use serde_json::value::to_raw_value;

/// Checks an input.
pub fn check(data: &[u8]) {
    let at = data.iter().position(|byte| *byte == b'\n');
    let Some((secret, left)) = at.map(|at| (&data[..at], &data[at + 1..])) else {
        return;
    };
    let Ok(secret) = std::str::from_utf8(secret) else {
        return;
    };
    let vault = Vault::new([].into(), [].into(), "nonce".to_owned());
    if vault.note_use(secret).is_err() || !vault.was_used() {
        return;
    }
    // What stands in its place may make it anew.
    let escaped = Value::from(secret).to_string();
    let spellings = [secret.as_bytes(), &escaped.as_bytes()[1..escaped.len() - 1]];
    let is_hidden =
        |text: &[u8]| secret.contains('*') || !spellings.iter().any(|spelling| contains(text, spelling));
    assert!(is_hidden(&vault.mask_bytes(left.to_vec())));
    assert!(!contains(left, secret.as_bytes()) || vault.is_in(left));
    let text = String::from_utf8_lossy(left);
    assert!(is_hidden(vault.mask(&text).as_bytes()));
    let values = [
        Value::from(&*text),
        serde_json::from_str(&text).unwrap_or_default(),
    ];
    for value in values {
        let json = to_raw_value(&value).expect("a value is written as JSON");
        let masked: Value = serde_json::from_str(vault.mask_json(json).get()).expect("masked JSON is JSON");
        for masked in [masked, vault.mask_value(value.clone())] {
            each_text(&masked, &mut |text| {
                assert!(is_hidden(text.as_bytes()), "{text:?}")
            });
        }
    }
}

fn contains(text: &[u8], secret: &[u8]) -> bool {
    text.windows(secret.len()).any(|window| window == secret)
}

fn each_text(value: &Value, see: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => see(text),
        Value::Number(number) => see(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, see)),
        Value::Object(members) => {
            for (name, value) in members {
                see(name);
                each_text(value, see);
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
}
