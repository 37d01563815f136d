//! Any bytes as a key and a certificate in PEM, and as a key set of a login provider, or of who issues senders' tokens, with a token
//! behind an empty line: nothing panics, and nobody who has no key has signed anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_model::clock::Timestamp;
use heddle_model::signature::Jwt;
use heddle_runtime::foreign::{is_authority, sign_or_verify};
use heddle_service::auth::external::is_genuine;
use heddle_service::webhooks::jwt::claims;
use heddle_service::webhooks::key_sets;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderValue};
use serde_json::json;

/// Checks an input.
pub fn check(data: &[u8]) {
    if let Some(at) = data.windows(2).position(|two| two == b"\n\n") {
        let (keys, token) = (&data[..at], String::from_utf8_lossy(&data[at + 2..]));
        let now = Timestamp::from_millis(1_795_251_600_000);
        let is_genuine = is_genuine(keys, token.trim(), "https://login.example.com", "heddle", now);
        assert!(!is_genuine, "{token}");
        if let Ok(bearer) = HeaderValue::from_str(&format!("Bearer {}", token.trim())) {
            let headers = HeaderMap::from_iter([(AUTHORIZATION, bearer)]);
            let published = key_sets::read(keys);
            for algorithm in ["RS256", "ES256", "EdDSA"] {
                let jwt = Jwt {
                    algorithm: algorithm.to_owned(),
                    ..Jwt::default()
                };
                let claims = claims(&jwt, "", published.as_ref(), &headers, now);
                assert!(claims.is_err(), "{token}");
            }
        }
    }
    let der = STANDARD.encode(data);
    // It is a certificate, or none.
    let _ = is_authority(&String::from_utf8_lossy(data));
    let _ = is_authority(&format!(
        "-----BEGIN CERTIFICATE-----\n{der}\n-----END CERTIFICATE-----\n"
    ));
    for (algorithm, signature) in [("RS256", 342), ("ES256", 86)] {
        let request = |operation: &str, label: &str| {
            json!({
                "operation": operation, "algorithm": algorithm, "input": "e30.e30", "signature": "A".repeat(signature),
                "secret": format!("-----BEGIN {label}-----\n{der}\n-----END {label}-----\n"),
            })
        };
        let verified = sign_or_verify(request("verify", "PUBLIC KEY"));
        assert_ne!(verified.ok(), Some(true.into()));
        for label in ["PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"] {
            // It is a key, or a reason.
            let _ = sign_or_verify(request("sign", label));
        }
    }
}
