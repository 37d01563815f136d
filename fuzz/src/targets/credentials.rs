//! What comes with a request to say who sends it: on the first line a token, on the second an email address, and below
//! headers. Nobody who was not given a token is let in.

use super::signatures::headers;
use heddle_model::clock::Clock;
use heddle_service::auth::cookie::{self, Cookies};
use heddle_service::auth::token::{Lifetimes, Tokens};
use heddle_service::auth::{api_key, email};
use std::sync::LazyLock;
use std::time::Duration;

static TOKENS: LazyLock<Tokens> = LazyLock::new(|| {
    let day = Duration::from_secs(86_400);
    let lifetimes = Lifetimes {
        token: day,
        session: day,
    };
    Tokens::new(
        "a secret of nobody who reads this, long enough",
        lifetimes,
        Clock::default(),
    )
});

/// Checks an input.
pub fn check(data: &[u8]) {
    let mut lines = data.split(|byte| *byte == b'\n');
    let mut text = || String::from_utf8_lossy(lines.next().unwrap_or_default());
    let (token, address) = (text(), text());
    assert!(TOKENS.check(&token).is_err(), "{token:?}");
    if api_key::is_key(&token) {
        assert!(token.starts_with(api_key::shown(&token)));
        assert_eq!(api_key::hash(&token).len(), 64);
    }
    if let Ok(read) = email::read(&address) {
        assert!(read.is_ascii() && read.len() <= 254 && !read.contains(char::is_whitespace));
        assert_eq!(email::read(&read).ok(), Some(read));
    }
    let headers = headers(lines);
    for base in ["https://heddle.example.com", "http://localhost:8080"] {
        let cookies = Cookies::new(base);
        if let Some(secret) = cookies.secret(&headers) {
            assert!(!secret.contains(';'), "{secret:?}");
        }
        assert!(!(cookies.is_from_own_page(&headers) && cookies.is_from_elsewhere(&headers)));
    }
    for line in headers.get_all(http::header::COOKIE) {
        let others = cookie::without_sessions(&String::from_utf8_lossy(line.as_bytes()));
        let mut left = http::HeaderMap::new();
        if let Some(others) = others.and_then(|others| others.parse().ok()) {
            left.append(http::header::COOKIE, others);
        }
        for base in ["https://heddle.example.com", "http://localhost:8080"] {
            assert_eq!(Cookies::new(base).secret(&left), None, "{line:?}");
        }
    }
}
