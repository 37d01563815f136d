//! Headers of a webhook request, one a line, under the name of a scheme, before an empty line and the body: nobody who
//! does not know the secret is let in.

use heddle_model::clock::Timestamp;
use heddle_model::signature::{Authentication, Incoming, Jwt, MacForm, Scheme, verify};
use heddle_service::webhooks::jwt::claims;
use http::{HeaderMap, HeaderName, HeaderValue};

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some(at) = data.windows(2).position(|two| two == b"\n\n") else {
        return;
    };
    let (head, body) = (&data[..at], &data[at + 2..]);
    let mut lines = head.split(|byte| *byte == b'\n');
    let scheme = lines.next().and_then(|name| std::str::from_utf8(name).ok());
    let scheme = scheme.and_then(Scheme::named).unwrap_or_default();
    let headers = headers(lines);
    let now = Timestamp::from_millis(1_795_251_600_000);
    for secret in [
        "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "a secret of nobody who reads this",
    ] {
        let incoming = Incoming {
            headers: &headers,
            base_url: "https://heddle.example.com",
            target: "/webhooks/6f1ed002ab5595859014ebf0951522d9?a=1",
            body,
        };
        for timestamp_header in [None, Some("x-time".to_owned())] {
            let authentication = Authentication {
                header: "x-signed".to_owned(),
                user: "ann".to_owned(),
                mac: MacForm {
                    timestamp_header,
                    separator: ".".to_owned(),
                    ..MacForm::default()
                },
                ..Authentication::from(scheme)
            };
            assert!(
                scheme == Scheme::Open || verify(&authentication, secret, &incoming, now).is_err(),
                "{scheme:?} {headers:?}"
            );
        }
        // Those tokens are verified elsewhere.
        if scheme == Scheme::Jwt {
            let jwt = Jwt {
                algorithm: "HS256".to_owned(),
                ..Jwt::default()
            };
            assert!(claims(&jwt, secret, None, &headers, now).is_err(), "{headers:?}");
        }
    }
}

/// The headers that lines are, one each.
pub fn headers<'l>(lines: impl Iterator<Item = &'l [u8]>) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for line in lines.take(100) {
        let Some(colon) = line.iter().position(|byte| *byte == b':') else {
            continue;
        };
        let name = HeaderName::from_bytes(line[..colon].trim_ascii());
        let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii());
        if let (Ok(name), Ok(value)) = (name, value) {
            headers.append(name, value);
        }
    }
    headers
}
