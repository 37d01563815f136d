//! What a service with a bucket is asked, as the first byte says, and behind it what it answers, with `---` between answers: a line with the status, a line for
//! each header, an empty line, and a body. It is understood or refused; no name is longer than names are, no more is read than was sent, and what is logged of it
//! has a bound.

use heddle_files::FileError;
use heddle_files::foreign::{Answer, Asked, bucket_answered};
use heddle_model::error::chain;

/// Bytes of what the service calls an upload.
const NAME_BYTES_MAX: usize = 2 << 10;
/// Of what is logged, which repeats what an answer has said where a library's errors do.
const LOGGED_BYTES_MAX: usize = 512 << 10;
/// Requests that one operation takes.
const ANSWERS_MAX: usize = 2;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((first, said)) = data.split_first() else {
        return;
    };
    let asked = match first % 5 {
        0 => Asked::Put,
        1 => Asked::Begin,
        2 => Asked::Complete,
        3 => Asked::Read,
        _ => Asked::Remove,
    };
    // Headers are text; what is none becomes U+FFFD in bodies, too.
    let said = String::from_utf8_lossy(said);
    let answers: Vec<Answer> = said.split("\n---\n").take(ANSWERS_MAX).map(answer).collect();
    let sent: usize = answers.iter().map(|answer| answer.body.len()).sum();
    let executor = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    match executor.block_on(bucket_answered(asked, answers)) {
        Ok(said) => {
            assert_eq!(said.upload.is_some(), asked == Asked::Begin);
            assert!(said.upload.is_none_or(|name| name.len() <= NAME_BYTES_MAX));
            assert!(said.bytes <= sent as u64);
        }
        Err(error) => {
            assert!(matches!(error, FileError::Bytes(_)), "{error}");
            assert_eq!(error.to_string(), "The file store has failed.");
            assert!(chain(&error).len() <= LOGGED_BYTES_MAX);
        }
    }
}

fn answer(text: &str) -> Answer {
    let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
    let mut lines = head.lines();
    let status = lines.next().and_then(|line| line.parse().ok());
    let headers = lines.filter_map(|line| line.split_once(": "));
    Answer {
        status: status.unwrap_or(200),
        headers: headers
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        body: body.as_bytes().to_vec().into(),
    }
}
