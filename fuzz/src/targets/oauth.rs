//! A status, behind a space what separates scopes, and below what a provider of OAuth 2.0 answers: by a person's consent, to a client for itself, and of its
//! own addresses. Tokens and lifetimes are within bounds, and so is what people are told when there is none.

use heddle_runtime::consent::{ConsentError, granted, published};
use heddle_runtime::foreign::token_granted;
use heddle_runtime::masking::Vault;
use std::time::Duration;

const TOKEN_BYTES_MAX: usize = 32 << 10;
const YEAR: Duration = Duration::from_secs(366 * 24 * 60 * 60);
const DAY: Duration = Duration::from_secs(24 * 60 * 60);
/// Characters of what people are told: twice what a provider says, and our own words.
const TOLD_CHARS_MAX: usize = 800;

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(at) = data.iter().position(|byte| *byte == b'\n') else {
        return;
    };
    let Ok(line) = std::str::from_utf8(&data[..at]) else {
        return;
    };
    let (status, separator) = line.split_once(' ').unwrap_or((line, " "));
    let (Ok(status), answer) = (status.parse::<u16>(), &data[at + 1..]) else {
        return;
    };
    let is_success = (200..300).contains(&status);
    let place = "https://id.example.com";
    match granted((place, separator), status, answer, &[]) {
        Ok(grants) => {
            assert!(is_success);
            for token in [Some(&grants.access), grants.refresh.as_ref()]
                .into_iter()
                .flatten()
            {
                assert!(!token.is_empty() && token.len() <= TOKEN_BYTES_MAX);
            }
            assert!(grants.lifetime.is_none_or(|lifetime| lifetime <= YEAR));
            let scopes = grants.scopes.iter().flatten();
            for scope in scopes {
                assert!(!scope.is_empty() && !scope.contains(char::is_whitespace));
            }
        }
        Err(ConsentError::Refused(message) | ConsentError::Unavailable(message)) => is_short(&message),
    }
    match published(place, status, answer) {
        Ok(found) => {
            assert_eq!(status, 200);
            found.knows_basic();
        }
        Err(ConsentError::Refused(message)) => {
            panic!("nothing was asked for that could be refused: {message}")
        }
        Err(ConsentError::Unavailable(message)) => is_short(&message),
    }
    let vault = Vault::new([].into(), [].into(), "nonce".to_owned());
    match token_granted(status, answer, &vault) {
        Ok((token, lifetime)) => assert!(is_success && token.len() <= answer.len() && lifetime <= DAY),
        Err(message) => is_short(&message),
    }
}

fn is_short(message: &str) {
    assert!(
        !message.is_empty() && message.chars().count() <= TOLD_CHARS_MAX,
        "{message}"
    );
    assert!(!message.contains(char::is_control), "{message}");
}
