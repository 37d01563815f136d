//! The examples that the senders publish, and what must not pass.

use super::{Authentication, Digests, Incoming, MacForm, Refusal, Scheme, verify};
use crate::clock::Timestamp;
use http::{HeaderMap, HeaderName, HeaderValue};

/// A request as its sender made it.
#[derive(Clone)]
struct Example {
    scheme: Scheme,
    mac: MacForm,
    secret: &'static str,
    headers: Vec<(&'static str, String)>,
    body: &'static str,
    at_s: i64,
}

impl Example {
    fn verify(&self) -> Result<(), Refusal> {
        let header = |(name, value): &(&'static str, String)| {
            (
                HeaderName::try_from(*name).unwrap(),
                HeaderValue::try_from(value.as_str()).unwrap(),
            )
        };
        let headers: HeaderMap = self.headers.iter().map(header).collect();
        let now = Timestamp::from_millis(self.at_s * 1000);
        let incoming = Incoming {
            headers: &headers,
            base_url: "https://mycompany.com",
            target: "/myapp.php?foo=1&bar=2",
            body: self.body.as_bytes(),
        };
        let authentication = Authentication {
            header: "X-Signed".to_owned(),
            user: "ann".to_owned(),
            mac: self.mac.clone(),
            ..Authentication::from(self.scheme)
        };
        verify(&authentication, self.secret, &incoming, now)
    }

    fn with_header(mut self, name: &str, value: &str) -> Self {
        for (known, held) in &mut self.headers {
            if known.eq_ignore_ascii_case(name) {
                *held = value.to_owned();
            }
        }
        self
    }
}

/// From "Validating webhook deliveries" in GitHub's documentation.
fn github() -> Example {
    Example {
        scheme: Scheme::Github,
        mac: MacForm::default(),
        secret: "It's a Secret to Everybody",
        headers: vec![(
            "X-Hub-Signature-256",
            "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17".to_owned(),
        )],
        body: "Hello, World!",
        at_s: 0,
    }
}

/// GitHub's example in the service's own header.
fn heddle() -> Example {
    Example {
        scheme: Scheme::Heddle,
        headers: vec![(
            "X-Webhook-Signature",
            "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17".to_owned(),
        )],
        ..github()
    }
}

/// From the tests of Stripe's libraries.
fn stripe() -> Example {
    Example {
        scheme: Scheme::Stripe,
        mac: MacForm::default(),
        secret: "webhook_secret",
        headers: vec![(
            "Stripe-Signature",
            "t=1533204620,v1=82216eca827bcb7b34b8055eb2d2d9e6bc13b9ac39ded14a61e69f70c565f53a,\
             v0=63f3a72374a733066c4be69ed7f8e5ac85c22c9f0a6a612ab9a025a9e4ee7eef"
                .to_owned(),
        )],
        body: include_str!("stripe_event.json"),
        at_s: 1_533_204_620,
    }
}

/// From "Verifying requests from Slack".
fn slack() -> Example {
    Example {
        scheme: Scheme::Slack,
        mac: MacForm::default(),
        secret: "8f742231b10e8888abcd99yyyzzz85a5",
        headers: vec![
            (
                "X-Slack-Signature",
                "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503".to_owned(),
            ),
            ("X-Slack-Request-Timestamp", "1531420618".to_owned()),
        ],
        body: "token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&\
               channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&\
               response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F\
               96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c",
        at_s: 1_531_420_618,
    }
}

/// Shopify publishes the rule without figures; these are from SQLPage's page on `hmac`.
fn shopify() -> Example {
    Example {
        scheme: Scheme::Shopify,
        mac: MacForm::default(),
        secret: "test-webhook-secret",
        headers: vec![(
            "X-Shopify-Hmac-SHA256",
            "QNyObTlKbMx2qDlPF/ZOZcBqg5OgPg+2oky3zldc0Gw=".to_owned(),
        )],
        body: r#"{"id":1234567890,"email":"customer@example.com","total_price":"123.45"}"#,
        at_s: 0,
    }
}

/// From the reference libraries of Standard Webhooks.
fn standard_webhooks() -> Example {
    Example {
        scheme: Scheme::StandardWebhooks,
        mac: MacForm::default(),
        secret: "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        headers: vec![
            ("webhook-id", "msg_p5jXN8AQM9LWM0D4loKWxJek".to_owned()),
            ("webhook-timestamp", "1614265330".to_owned()),
            (
                "webhook-signature",
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=".to_owned(),
            ),
        ],
        body: r#"{"test": 2432232314}"#,
        at_s: 1_614_265_330,
    }
}

/// From the tests of Twilio's libraries.
fn twilio() -> Example {
    Example {
        scheme: Scheme::Twilio,
        mac: MacForm::default(),
        secret: "12345",
        headers: vec![
            ("X-Twilio-Signature", "RSOYDt4T1cUTdK1PDd93/VVr8B8=".to_owned()),
            (
                "Content-Type",
                "application/x-www-form-urlencoded; charset=UTF-8".to_owned(),
            ),
        ],
        body: "Digits=1234&CallSid=CA1234567890ABCDE&From=%2B14158675309&To=%2B18005551212&Caller=%2B14158675309",
        at_s: 0,
    }
}

/// Slack's example, described as a scheme of one's own would be.
fn described() -> Example {
    let slack = slack();
    let mut headers = slack.headers.clone();
    headers[0].0 = "X-Signed";
    headers[0].1 = SIGNED_WITHOUT_VERSION.to_owned();
    Example {
        scheme: Scheme::Hmac,
        mac: MacForm {
            algorithm: Digests::Sha512,
            is_base64: true,
            prefix: "sig=".to_owned(),
            timestamp_header: Some("X-Slack-Request-Timestamp".to_owned()),
            separator: ".".to_owned(),
        },
        headers,
        ..slack
    }
}

/// `openssl dgst -sha512 -hmac 8f742231b10e8888abcd99yyyzzz85a5 -binary | base64` of `1531420618.` and Slack's body.
const SIGNED_WITHOUT_VERSION: &str =
    "sig=AWfBE0noRkPE+sMmhSoo19hbT6TowHEdl/IQW/AZU6L/soenJt9c/0M9U6E4Zs8+kW6wnciL+HbBHO1GW8cxlQ==";

fn all() -> [Example; 8] {
    [
        heddle(),
        github(),
        stripe(),
        slack(),
        shopify(),
        standard_webhooks(),
        twilio(),
        described(),
    ]
}

#[test]
fn published_examples_verify() {
    for example in all() {
        assert_eq!(example.verify(), Ok(()), "{}", example.scheme.name());
    }
}

#[test]
fn another_body_or_secret_does_not() {
    for example in all() {
        let scheme = example.scheme;
        let changed = Example {
            body: "{}",
            ..example
        };
        assert_eq!(changed.verify(), Err(Refusal::Wrong), "{}", scheme.name());
    }
    for example in all() {
        let scheme = example.scheme;
        let changed = Example {
            secret: "another",
            ..example
        };
        assert_eq!(changed.verify(), Err(Refusal::Wrong), "{}", scheme.name());
    }
}

fn header_of(example: &Example) -> &'static str {
    match example.scheme {
        Scheme::Hmac => "X-Signed",
        scheme => scheme.header(),
    }
}

#[test]
fn a_missing_or_malformed_header_is_named() {
    for mut example in all() {
        let header = header_of(&example);
        example
            .headers
            .retain(|(name, _)| !name.eq_ignore_ascii_case(header));
        assert_eq!(example.verify(), Err(Refusal::Missing(header.into())));
    }
    for scheme in [heddle, github, stripe, slack, shopify, twilio, described] {
        let example = scheme();
        let header = header_of(&example);
        let malformed = example.with_header(header, "nonsense!").verify();
        assert_eq!(malformed, Err(Refusal::Malformed(header.into())));
    }
    let example = standard_webhooks().with_header("webhook-signature", "nonsense!");
    assert_eq!(example.verify(), Err(Refusal::Wrong));
}

#[test]
fn the_prefix_is_optional_only_in_the_services_own_scheme() {
    let digest = heddle().headers[0].1.clone();
    let prefixed = heddle().with_header("X-Webhook-Signature", &format!("sha256={digest}"));
    assert_eq!(prefixed.verify(), Ok(()));
    let bare = github().with_header("X-Hub-Signature-256", &digest);
    assert_eq!(
        bare.verify(),
        Err(Refusal::Malformed("X-Hub-Signature-256".into()))
    );
}

#[test]
fn timestamps_may_be_five_minutes_off_and_no_more() {
    for example in [stripe, slack, standard_webhooks, described] {
        for (off_s, verdict) in [
            (300, Ok(())),
            (-300, Ok(())),
            (301, Err(Refusal::Timestamp)),
            (-301, Err(Refusal::Timestamp)),
        ] {
            let mut example = example();
            example.at_s += off_s;
            assert_eq!(example.verify(), verdict, "{} {off_s}", example.scheme.name());
        }
    }
    let far = slack().with_header("X-Slack-Request-Timestamp", "9223372036854775807");
    assert_eq!(far.verify(), Err(Refusal::Timestamp));
}

#[test]
fn one_right_signature_among_several_is_enough() {
    let right = stripe().headers[0].1.clone();
    let two = stripe().with_header(
        "Stripe-Signature",
        &right.replace(",v1=", &format!(",v1={},v1=", "0".repeat(64))),
    );
    assert_eq!(two.verify(), Ok(()));
    let right = standard_webhooks().headers[2].1.clone();
    let two = standard_webhooks().with_header("webhook-signature", &format!("v1a,AAAA v1,AAAA {right}"));
    assert_eq!(two.verify(), Ok(()));
}

#[test]
fn standard_webhooks_may_have_the_names_of_svix() {
    let standard = standard_webhooks();
    let named = |names: [&'static str; 3]| {
        let mut example = standard.clone();
        for ((name, _), other) in example.headers.iter_mut().zip(names) {
            *name = other;
        }
        example
    };
    let svix = ["svix-id", "svix-timestamp", "svix-signature"];
    assert_eq!(named(svix).verify(), Ok(()));
    let mut late = named(svix);
    late.at_s += 301;
    assert_eq!(late.verify(), Err(Refusal::Timestamp));
    let mixed = named(["webhook-id", "svix-timestamp", "svix-signature"]);
    assert_eq!(mixed.verify(), Err(Refusal::Missing("svix-id".into())));
    // The names of the standard come first, so that nothing else is what was signed.
    let mut both = standard.clone();
    both.headers.push(("svix-id", "msg_another".to_owned()));
    both.headers.push(("svix-signature", "v1,AAAA".to_owned()));
    assert_eq!(both.verify(), Ok(()));
}

#[test]
fn a_cut_off_signature_does_not_match() {
    let cut = heddle().with_header("X-Webhook-Signature", "7571");
    assert_eq!(cut.verify(), Err(Refusal::Wrong));
    let empty = heddle().with_header("X-Webhook-Signature", "");
    assert_eq!(empty.verify(), Err(Refusal::Wrong));
}

#[test]
fn new_secrets_have_256_bits_and_differ() {
    for scheme in Scheme::ALL {
        let (one, two) = (scheme.new_secret(), scheme.new_secret());
        assert_ne!(one, two);
        let length = if scheme == Scheme::StandardWebhooks {
            6 + 44
        } else {
            64
        };
        assert_eq!(one.len(), length);
        assert_eq!(Scheme::named(scheme.name()), Some(scheme));
    }
}

/// A request with the secret itself in a header.
fn plain(scheme: Scheme, name: &'static str, value: &str) -> Example {
    Example {
        scheme,
        mac: MacForm::default(),
        secret: "a secret",
        headers: vec![(name, value.to_owned())],
        body: "{}",
        at_s: 0,
    }
}

#[test]
fn secrets_themselves_are_compared_as_a_whole() {
    for (scheme, name, right, before) in [
        (Scheme::Gitlab, "X-Gitlab-Token", "a secret", ""),
        (Scheme::Header, "X-Signed", "a secret", ""),
        (Scheme::Bearer, "Authorization", "a secret", "Bearer "),
        (Scheme::Bearer, "Authorization", "a secret", "bearer "),
        // `ann:a secret` in base64.
        (Scheme::Basic, "Authorization", "YW5uOmEgc2VjcmV0", "Basic "),
    ] {
        let value = format!("{before}{right}");
        assert_eq!(plain(scheme, name, &value).verify(), Ok(()), "{value}");
        // `ann:` in base64.
        for wrong in ["YW5uOg==", "YW5uOmEgc2VjcmV0eQ=="] {
            let refused = plain(scheme, name, &format!("{before}{wrong}")).verify();
            assert_eq!(refused, Err(Refusal::Mismatch(name.into())), "{before}{wrong}");
        }
        let missing = plain(scheme, "X-Other", &value).verify();
        assert_eq!(missing, Err(Refusal::Missing(name.into())));
    }
    for (scheme, value) in [
        (Scheme::Bearer, "a secret"),
        (Scheme::Bearer, "Basic a secret"),
        (Scheme::Basic, "Basic nonsense!"),
    ] {
        let refused = plain(scheme, "Authorization", value).verify();
        assert_eq!(
            refused,
            Err(Refusal::Malformed("Authorization".into())),
            "{value}"
        );
    }
}

#[test]
fn without_authentication_anybody_is_let_in_and_tokens_are_left_to_others() {
    assert_eq!(plain(Scheme::Open, "X-Any", "x").verify(), Ok(()));
    let token = plain(Scheme::Jwt, "Authorization", "Bearer a secret");
    assert_eq!(token.verify(), Err(Refusal::Wrong));
}

#[test]
fn secrets_need_not_be_ascii() {
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static("x-gitlab-token"),
        HeaderValue::from_bytes("schlüssel".as_bytes()).unwrap(),
    )]);
    let verified = |secret: &str| {
        let incoming = Incoming {
            headers: &headers,
            base_url: "",
            target: "",
            body: b"{}",
        };
        verify(
            &Scheme::Gitlab.into(),
            secret,
            &incoming,
            Timestamp::from_millis(0),
        )
    };
    assert_eq!(verified("schlüssel"), Ok(()));
    assert_eq!(
        verified("schlussel"),
        Err(Refusal::Mismatch("X-Gitlab-Token".into()))
    );
}

#[test]
fn twilio_signs_only_the_fields_of_forms() {
    for content_type in ["application/json", ""] {
        let other = twilio().with_header("Content-Type", content_type);
        assert_eq!(other.verify(), Err(Refusal::Unsigned), "{content_type}");
    }
}

#[test]
fn twilio_puts_few_fields_in_order() {
    let with = |count: usize| Example {
        body: "a=1&".repeat(count).leak(),
        ..twilio()
    };
    assert_eq!(with(1_000).verify(), Err(Refusal::Wrong));
    assert_eq!(with(1_001).verify(), Err(Refusal::TooManyFields));
}

#[test]
fn twilio_hashes_bodies_that_are_no_forms() {
    let body = r#"{"property": "value", "boolean": true}"#;
    // Both from the tests of Twilio's libraries.
    let hash = "0a1ff7634d9ab3b95db5c9a2dfe9416e41502b283a80c7cf19632632f96e6620";
    let headers = HeaderMap::from_iter([(
        HeaderName::from_static("x-twilio-signature"),
        HeaderValue::from_static("a9nBmqA0ju/hNViExpshrM61xv4="),
    )]);
    let target = format!("/myapp.php?foo=1&bar=2&bodySHA256={hash}");
    let verified = |body: &str| {
        let incoming = Incoming {
            headers: &headers,
            base_url: "https://mycompany.com",
            target: &target,
            body: body.as_bytes(),
        };
        verify(
            &Scheme::Twilio.into(),
            "12345",
            &incoming,
            Timestamp::from_millis(0),
        )
    };
    assert_eq!(verified(body), Ok(()));
    assert_eq!(verified("{}"), Err(Refusal::Wrong));
}
