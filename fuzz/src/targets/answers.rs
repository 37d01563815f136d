//! Any bytes as what a connector, a compiler process or one that reads messages answers, after a line that says which: it is refused or read, and what is read
//! is what such an answer may be.

use heddle_execution::compile::worker::{kinds_of, result_of};
use heddle_execution::mail;
use heddle_runtime::EffectCode;
use heddle_runtime::foreign::{mail_answered, mailbox_answered, sql_answered};
use serde_json::Value;

/// What rows may take where this reads them, and what they take at most then.
const BYTES_MAX: usize = 1_000;
const ROWS_BYTES_MAX: usize = 2 * BYTES_MAX + (1 << 20);
/// Numbers that a search finds at most.
const FOUND_MAX: usize = 1 << 20;
/// How much longer than what tells of a message its event can be: names of members are added, and contents are in base64.
const EVENT_RATIO_MAX: usize = 8;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(at) = data.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let answer = &data[at + 1..];
    match &data[..at] {
        b"sql" => match sql_answered(answer, BYTES_MAX) {
            Ok(Ok(rows)) => {
                assert!(rows.iter().all(Value::is_object));
                assert!(rows.iter().map(size).sum::<usize>() <= ROWS_BYTES_MAX);
            }
            // Nothing that another kind of node may say, or the service about itself.
            Ok(Err(error)) => assert!(matches!(
                error.code,
                EffectCode::SqlFailed
                    | EffectCode::SqlRowLimit
                    | EffectCode::Parameter
                    | EffectCode::NotPermitted
                    | EffectCode::Timeout
                    | EffectCode::Internal
            )),
            Err(_) => {}
        },
        b"mail" => {
            if let Ok(Err(error)) = mail_answered(answer) {
                assert!(matches!(
                    error.code,
                    EffectCode::MailFailed | EffectCode::Parameter | EffectCode::Internal
                ));
            }
        }
        b"mailbox" => match mailbox_answered(answer, BYTES_MAX) {
            Ok(Some(Ok(extent))) => assert!(extent <= FOUND_MAX),
            Ok(Some(Err(error))) => assert!(matches!(
                error.code,
                EffectCode::MailFailed | EffectCode::OutputLimit | EffectCode::Timeout | EffectCode::Internal
            )),
            Ok(None) | Err(_) => {}
        },
        b"message" => {
            let (bytes, read) = (answer.len(), mail::answered(answer.to_vec()));
            if let Ok(Ok(event)) = read {
                assert!(event <= EVENT_RATIO_MAX * bytes);
            }
        }
        b"compiler" => {
            // Nobody finds an answer to a request that was not made.
            assert!(result_of(b"a request", answer).is_none());
            kinds_of(answer);
        }
        _ => {}
    }
}

fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => 8 + text.len(),
        Value::Array(items) => 8 + items.iter().map(size).sum::<usize>(),
        Value::Object(members) => {
            8 + members
                .iter()
                .map(|(name, value)| name.len() + size(value))
                .sum::<usize>()
        }
    }
}
