//! Jwt: what the host is asked for, and what becomes of its answer; tokens that are no good.

mod support;

use heddle_node_stdlib::node::Outcome;
use heddle_node_stdlib::nodes::lookup;
use heddle_values::Value;
use serde_json::{Value as Json, json};
use support::{Fake, outcome, run, value};

fn base64(text: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text)
}

fn token(header: &Json, payload: &Json) -> String {
    format!(
        "{}.{}.c2ln",
        base64(&header.to_string()),
        base64(&payload.to_string())
    )
}

/// The request that the host gets, or `CODE: message`.
fn asked(parameters: &Json, input: &Json) -> Json {
    let mut fake = Fake {
        ports: vec![Some(value(&input.to_string()))],
        ..Fake::default()
    };
    match outcome(&mut fake, "Jwt", &parameters.to_string()) {
        Ok(Outcome::Effect { kind: "jwt", request }) => {
            serde_json::from_str(&request.to_json()).unwrap_or_default()
        }
        Ok(other) => format!("{other:?}").into(),
        Err(failure) => format!("{}: {}", failure.code, failure.message).into(),
    }
}

/// What leaves when the host has found the signature right.
fn verified(parameters: &Json, payload: &Json) -> String {
    answered(parameters, &token(&json!({"alg": "HS256"}), payload), true)
}

fn answered(parameters: &Json, token: &str, is_right: bool) -> String {
    let Some((_, Some(resume))) = lookup("Jwt") else {
        panic!("Jwt goes on after its effect")
    };
    let Value::Object(parameters) = value(&parameters.to_string()) else {
        panic!("an object")
    };
    let mut fake = Fake {
        ports: vec![Some(token.into())],
        ..Fake::default()
    };
    match resume(&parameters, Value::Bool(is_right), &mut fake) {
        Ok(Outcome::Emit(emission)) => emission.0.into_iter().map(|(_, value)| value.to_json()).collect(),
        Ok(other) => format!("{other:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// The support's clock.
const NOW: i64 = 1_790_000_000;

#[test]
fn the_host_signs_header_and_payload() {
    let secret = json!({"operation": "sign", "secret": "heddle-secret(K;n)"});
    let request = asked(&secret, &json!({"sub": "a", "n": null}));
    let input = format!(
        "{}.{}",
        base64(r#"{"alg":"HS256","typ":"JWT"}"#),
        base64(r#"{"sub":"a","n":null}"#)
    );
    assert_eq!(
        request,
        json!({"operation": "sign", "algorithm": "HS256", "input": input, "secret": "heddle-secret(K;n)"})
    );
    let all = json!({
        "operation": "sign", "secret": "s", "algorithm": "ES256", "payload": {"exp": 1}, "expiresInSeconds": 60,
        "header": {"kid": "k1", "typ": "at+jwt"}
    });
    let input = format!(
        "{}.{}",
        base64(r#"{"alg":"ES256","typ":"at+jwt","kid":"k1"}"#),
        base64(&format!(r#"{{"exp":{},"iat":{NOW}}}"#, NOW + 60))
    );
    assert_eq!(asked(&all, &Json::Null)["input"], input);
}

#[test]
fn what_can_not_be_signed_is_refused() {
    for (parameters, expected) in [
        (
            json!({}),
            "PARAMETER: Parameter `secret` takes text, but it is missing.",
        ),
        (
            json!({"secret": "s", "algorithm": "none"}),
            "PARAMETER: Parameter `algorithm` takes one of HS256, HS384, HS512, RS256, ES256, but it is the string \"none\".",
        ),
        (
            json!({"secret": "s", "payload": "x"}),
            "PARAMETER: Parameter `payload` takes an object of claims, but it is the string \"x\".",
        ),
        (
            json!({"secret": "s", "header": {"alg": "none"}}),
            "PARAMETER: Parameter `header` can't have the field `alg`.",
        ),
        (
            json!({"secret": "s", "header": {"crit": []}}),
            "PARAMETER: Parameter `header` can't have the field `crit`.",
        ),
        (
            json!({"secret": "s", "expiresInSeconds": 0}),
            "PARAMETER: Parameter `expiresInSeconds` takes a whole number from 1 to 316224000, but it is the number 0.",
        ),
        (
            json!({"secret": "s", "payload": {"p": "heddle-secret(K;n)"}}),
            "PARAMETER: A secret can't be encoded here: within a pattern it is only a reference. Give it to the node that sends it, such as HttpRequest by its headers or its connection.",
        ),
    ] {
        let mut parameters = parameters;
        parameters["operation"] = json!("sign");
        assert_eq!(asked(&parameters, &json!({})), expected, "{parameters}");
    }
}

#[test]
fn the_host_gets_what_is_signed_and_the_signature() {
    let token = token(&json!({"alg": "HS512"}), &json!({"a": 1}));
    let (signed, signature) = token.rsplit_once('.').unwrap_or_default();
    for given in [token.clone(), format!(" Bearer {token}\n")] {
        let request = asked(&json!({"secret": "s", "algorithm": "HS512"}), &json!(given));
        assert_eq!(
            request,
            json!({"operation": "verify", "algorithm": "HS512", "input": signed, "secret": "s", "signature": signature})
        );
    }
}

#[test]
fn tokens_that_are_none_or_choose_their_algorithm_are_refused() {
    let secret = json!({"secret": "s"});
    let payload = json!({"a": 1});
    for (token, expected) in [
        (
            "".into(),
            "PARSE: The text is not a token: it has 1 parts instead of three separated by dots.",
        ),
        (
            "a.b.c.d.e".into(),
            "PARSE: The text is not a token: it has 5 parts instead of three separated by dots.",
        ),
        (
            "!.e30.".into(),
            "PARSE: The token's header can't be read: it is not base64url.",
        ),
        (
            "e30.e30=.".into(),
            "PARSE: The token's payload can't be read: it is not base64url.",
        ),
        (
            "e30.e30.*".into(),
            "PARSE: The token's signature can't be read: it is not base64url.",
        ),
        (
            "W10.e30.".into(),
            "PARSE: The token's header can't be read: it is not a JSON object.",
        ),
        (
            "e30.e30.".into(),
            "JWT_INVALID: The token's algorithm is ``, but `HS256` is expected.",
        ),
        (
            token(&json!({"alg": "none"}), &payload),
            "JWT_INVALID: The token's algorithm is `none`, but `HS256` is expected.",
        ),
        (
            token(&json!({"alg": "RS256"}), &payload),
            "JWT_INVALID: The token's algorithm is `RS256`, but `HS256` is expected.",
        ),
        (
            token(&json!({"alg": "HS256", "crit": ["exp"]}), &payload),
            "JWT_INVALID: The token requires extensions (`crit`), which are not supported here.",
        ),
        (
            "heddle-secret(K;n)".into(),
            "PARAMETER: A secret can't be read as a token here: within a pattern it is only a reference.",
        ),
    ] {
        let token: String = token;
        assert_eq!(asked(&secret, &json!(token)), expected, "{token}");
    }
    assert_eq!(
        asked(&secret, &json!(7)),
        "PARAMETER: Parameter `token` takes the text of a token, but it is the number 7."
    );
}

#[test]
fn claims_are_judged_at_the_time_of_the_run() {
    let plain = json!({});
    for (parameters, payload, expected) in [
        (&plain, json!({"a": 1}), "{\"a\":1}"),
        (
            &plain,
            json!({"exp": NOW + 1, "nbf": NOW}),
            &*format!("{{\"exp\":{},\"nbf\":{NOW}}}", NOW + 1),
        ),
        (&plain, json!({"exp": NOW}), "JWT_EXPIRED: The token has expired."),
        (
            &plain,
            json!({"nbf": NOW + 1}),
            "JWT_NOT_YET_VALID: The token is not valid yet.",
        ),
        (
            &plain,
            json!({"exp": "never"}),
            "JWT_INVALID: The token's `exp` is the string \"never\", not a number of seconds.",
        ),
        (
            &plain,
            json!({"exp": null}),
            "JWT_INVALID: The token's `exp` is null, not a number of seconds.",
        ),
        (
            &json!({"leewaySeconds": 5}),
            json!({"exp": NOW - 5}),
            "JWT_EXPIRED: The token has expired.",
        ),
        (
            &json!({"leewaySeconds": 5}),
            json!({"exp": 1_789_999_996}),
            "{\"exp\":1789999996}",
        ),
        (
            &json!({"leewaySeconds": 5}),
            json!({"nbf": 1_790_000_005}),
            "{\"nbf\":1790000005}",
        ),
        (&json!({"issuer": "me"}), json!({"iss": "me"}), "{\"iss\":\"me\"}"),
        (
            &json!({"issuer": ["you", "me"]}),
            json!({"iss": "me"}),
            "{\"iss\":\"me\"}",
        ),
        (
            &json!({"issuer": "me"}),
            json!({}),
            "JWT_INVALID: The token's `iss` is not one that parameter `issuer` allows.",
        ),
        (
            &json!({"issuer": "1"}),
            json!({"iss": 1}),
            "JWT_INVALID: The token's `iss` is not one that parameter `issuer` allows.",
        ),
        (
            &json!({"audience": "b"}),
            json!({"aud": ["a", "b"]}),
            "{\"aud\":[\"a\",\"b\"]}",
        ),
        (
            &json!({"audience": ["c"]}),
            json!({"aud": ["a", "b"]}),
            "JWT_INVALID: The token's `aud` is not one that parameter `audience` allows.",
        ),
    ] {
        assert_eq!(verified(parameters, &payload), expected, "{parameters} {payload}");
    }
}

#[test]
fn wrong_signatures_fail() {
    let token = token(&json!({"alg": "HS256"}), &json!({}));
    let failure = answered(&json!({}), &token, false);
    assert!(
        failure.starts_with("JWT_INVALID: The token's signature does not match the secret"),
        "{failure}"
    );
}

#[test]
fn reading_checks_nothing() {
    let none = token(&json!({"alg": "none"}), &json!({"exp": 1}));
    let left = run("Jwt", r#"{"operation": "decode"}"#, &json!(none).to_string());
    assert_eq!(
        left,
        r#"{"0":{"header":{"alg":"none"},"payload":{"exp":1},"signature":"c2ln"}}"#
    );
}
