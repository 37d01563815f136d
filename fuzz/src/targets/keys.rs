//! Any bytes as a key in PEM, and as a key set of a login provider with a token behind an empty line: nothing panics, and nobody who
//! has no key has signed anything.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use heddle_model::clock::Timestamp;
use heddle_runtime::foreign::sign_or_verify;
use heddle_service::auth::external::is_genuine;
use serde_json::json;

/// Checks an input.
pub fn check(data: &[u8]) {
    if let Some(at) = data.windows(2).position(|two| two == b"\n\n") {
        let (keys, token) = (&data[..at], String::from_utf8_lossy(&data[at + 2..]));
        let now = Timestamp::from_millis(1_795_251_600_000);
        let is_genuine = is_genuine(keys, token.trim(), "https://login.example.com", "heddle", now);
        assert!(!is_genuine, "{token}");
    }
    let der = STANDARD.encode(data);
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
