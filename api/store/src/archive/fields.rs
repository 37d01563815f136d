//! Values of an archive's rows as arguments of a statement: each is what its column holds, or refused. Knows nothing of ids.

use super::part::Kind;
use crate::db::Arg;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::bufread::ZlibDecoder;
use serde::de::IgnoredAny;
use serde_json::Value;
use std::io::Read;

/// Numbers are added up and made to times: what JavaScript counts exactly is more than any of them has.
const NUMBER_MAX: i64 = 1 << 53;
/// Bytes of a journal's entry once it is unpacked, which is more than a whole journal has. Whoever reads the journal unpacks all of it.
const ENTRY_BYTES_MAX: u64 = 64 << 20;

/// The argument that a value is, or what it should have been.
pub(super) fn arg(kind: Kind, value: Value) -> Result<Arg, &'static str> {
    match kind {
        Kind::Text(bytes_max, may_be_null) => text(value, bytes_max, may_be_null),
        Kind::Json(bytes_max, may_be_null) => {
            let text = text(value, bytes_max, may_be_null)?;
            match &text {
                Arg::Text(Some(json)) if !is_json(json) => Err("must be JSON"),
                _ => Ok(text),
            }
        }
        Kind::Entry => {
            let text = text(value, usize::MAX, false)?;
            match &text {
                Arg::Text(Some(entry)) if !is_entry(entry) => Err("must be JSON, or JSON as heddle packs it"),
                _ => Ok(text),
            }
        }
        Kind::Name(is_known) => match value {
            Value::String(name) if is_known(&name) => Ok(name.into()),
            _ => Err("has a name that is unknown here"),
        },
        Kind::Int => Ok(number(&value, -NUMBER_MAX)?.into()),
        Kind::Size => Ok(number(&value, 0)?.into()),
        Kind::MaybeInt if value.is_null() => Ok(Arg::Int(None)),
        Kind::MaybeInt => Ok(number(&value, -NUMBER_MAX)?.into()),
        // SQLite has no others.
        Kind::Bool => match (value.as_bool(), value.as_i64()) {
            (Some(is), _) => Ok(is.into()),
            (None, Some(number @ (0 | 1))) => Ok((number == 1).into()),
            _ => Err("must be true or false"),
        },
        // Ids have become what they are here.
        Kind::Was(_) | Kind::Past | Kind::Author => text(value, usize::MAX, true),
        Kind::Id
        | Kind::Within(_)
        | Kind::Slot
        | Kind::PastOrUser
        | Kind::Workspace
        | Kind::Owner
        | Kind::Account
        | Kind::Module
        | Kind::Address(_)
        | Kind::ScopeOfWorkspace
        | Kind::ScopeOfPattern => text(value, usize::MAX, false),
    }
}

fn text(value: Value, bytes_max: usize, may_be_null: bool) -> Result<Arg, &'static str> {
    match value {
        Value::Null if may_be_null => Ok(Arg::Text(None)),
        Value::String(text) if text.len() > bytes_max => Err("is too long"),
        // PostgreSQL's texts have none.
        Value::String(text) if text.contains('\0') => Err("has a character that no text can have"),
        Value::String(text) => Ok(text.into()),
        _ => Err("must be text"),
    }
}

fn number(value: &Value, min: i64) -> Result<i64, &'static str> {
    let number = value
        .as_i64()
        .filter(|number| (min..=NUMBER_MAX).contains(number));
    number.ok_or("must be a whole number that is not too large")
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// As `runs::packed` writes them.
fn is_entry(entry: &str) -> bool {
    let Some(packed) = entry.strip_prefix('z') else {
        return is_json(entry);
    };
    let Ok(compressed) = STANDARD.decode(packed) else {
        return false;
    };
    let mut unpacked = String::new();
    let mut decoder = ZlibDecoder::new(compressed.as_slice()).take(ENTRY_BYTES_MAX + 1);
    decoder.read_to_string(&mut unpacked).is_ok()
        && unpacked.len() as u64 <= ENTRY_BYTES_MAX
        && is_json(&unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use serde_json::json;
    use std::io::Write;

    /// JSON of so many bytes, most of which are blanks, as an entry.
    fn entry(bytes: u64) -> Value {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"{}").unwrap();
        std::io::copy(&mut std::io::repeat(b' ').take(bytes - 2), &mut encoder).unwrap();
        format!("z{}", STANDARD.encode(encoder.finish().unwrap())).into()
    }

    #[test]
    fn an_entry_that_would_be_too_large_once_unpacked_is_refused() {
        assert!(arg(Kind::Entry, entry(ENTRY_BYTES_MAX)).is_ok());
        // What is within the limit is JSON by itself.
        assert!(arg(Kind::Entry, entry(ENTRY_BYTES_MAX + 1)).is_err());
    }

    #[test]
    fn what_a_column_can_not_hold_is_refused() {
        let short = Kind::Text(3, false);
        for (kind, value) in [
            (short, json!("four")),
            (short, json!(null)),
            (short, json!("a\0")),
            (Kind::Json(100, false), json!("{")),
            (Kind::Json(100, false), json!({})),
            (Kind::Entry, json!("zAAAA")),
            (Kind::Entry, json!("z!")),
            (Kind::Name(|name| name == "a"), json!("b")),
            (Kind::Int, json!(1e300)),
            (Kind::Int, json!(i64::MAX)),
            (Kind::Int, json!(null)),
            (Kind::Size, json!(-1)),
            (Kind::Bool, json!(2)),
            (Kind::Id, json!(null)),
        ] {
            assert!(arg(kind, value.clone()).is_err(), "{kind:?} {value}");
        }
        for (kind, value) in [
            (short, json!("abc")),
            (Kind::Json(100, true), json!(null)),
            (Kind::Json(100, false), json!("{\"a\":1}")),
            (Kind::Entry, json!("{}")),
            (Kind::MaybeInt, json!(null)),
            (Kind::Int, json!(-5)),
            (Kind::Bool, json!(0)),
            (Kind::Bool, json!(true)),
        ] {
            assert!(arg(kind, value.clone()).is_ok(), "{kind:?} {value}");
        }
    }
}
