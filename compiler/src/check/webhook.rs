//! Rules of OnWebhook's parameters that no schema can express: those that belong together, and texts with a syntax of
//! their own. Knows nothing about requests.

use super::level::Spot;
use crate::diagnostic::{Diagnostic, list};
use crate::findings::Findings;
use serde_json::{Map, Value};
use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use url::Url;

/// Segments that a path may have.
const SEGMENTS_MAX: usize = 16;
/// Entries of `allowIps` and `cors`.
const LISTED_MAX: usize = 100;
/// Bytes of all parameters together as JSON, which are read with each endpoint.
const BYTES_MAX: usize = 16 << 10;
/// Public keys by which one signature is checked. Whoever publishes keys and sends tokens decides how much work that is, and it is done
/// where requests are served.
pub const CANDIDATES_MAX: usize = 4;
/// Digits in base64 of the largest modulus of RSA: 4,096 bits, and a byte of zero before them, which some write. One of 8,192 bits takes
/// four times as long.
pub const MODULUS_DIGITS_MAX: usize = 684;

/// Parameters that only some schemes read, and the schemes.
const OF_SCHEMES: [(&str, &str); 4] = [
    ("tokenHeader", "header"),
    ("user", "basic"),
    ("hmac", "hmac"),
    ("jwt", "jwt"),
];

/// Checks an OnWebhook node that can start runs, or the trigger of a service that stands for these parameters.
pub(crate) fn check(spot: &Spot<'_>, given: &Map<String, Value>, found: &mut Findings) {
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    let bytes: usize = given.values().map(|value| value.to_string().len()).sum();
    if bytes > BYTES_MAX {
        let message = format!("the webhook's parameters have {bytes} bytes; {BYTES_MAX} are allowed");
        report(Diagnostic::error("too-large", message), "alias");
    }
    let scheme = text(given, "scheme").unwrap_or("heddle");
    authentication(given, scheme, &mut report);
    path(given, &mut report);
    each(given, "allowIps", &mut report, network);
    each(given, "cors", &mut report, origin);
    if scheme == "none" {
        report(unauthenticated(given), "scheme");
    }
    let subscription = spot.subscription().map(Value::Object);
    let bytes = subscription
        .map(|subscription| subscription.to_string().len())
        .unwrap_or_default();
    if bytes > BYTES_MAX {
        let message =
            format!("the request that subscribes has {bytes} bytes, more than the {BYTES_MAX} allowed");
        report(Diagnostic::error("too-large", message), "connection");
    }
    for name in spot.lacks_to_subscribe() {
        let message =
            format!("`{name}` is required with a connection, since heddle subscribes at the service by it");
        let help =
            "give it, or delete the connection and set up the webhook at the service yourself".to_owned();
        report(
            Diagnostic::error("missing-parameter", message).with_help(help),
            name,
        );
    }
}

/// What a scheme needs, and what it does not read.
fn authentication(given: &Map<String, Value>, scheme: &str, report: &mut impl FnMut(Diagnostic, &str)) {
    for (parameter, of) in OF_SCHEMES {
        let is_given = given.get(parameter).is_some_and(|value| !value.is_null());
        if is_given && scheme != of {
            let message = format!("`{parameter}` does nothing with the scheme `{scheme}`");
            let help = format!("delete it, or choose the scheme `{of}`");
            report(
                Diagnostic::warning("unused-parameter", message).with_help(help),
                parameter,
            );
        }
        if !is_given && scheme == of && parameter != "jwt" {
            let message = format!("`{parameter}` is required with the scheme `{scheme}`");
            report(Diagnostic::error("missing-parameter", message), parameter);
        }
    }
    let of = |object: &str, name: &str| {
        let fields = given.get(object)?.as_object()?;
        text(fields, name).map(str::to_owned)
    };
    for (value, parameter) in [
        (text(given, "tokenHeader").map(str::to_owned), "tokenHeader"),
        (of("hmac", "header"), "hmac.header"),
        (of("hmac", "timestampHeader"), "hmac.timestampHeader"),
    ] {
        if let Some(name) = value.filter(|name| !is_header(name)) {
            report(
                Diagnostic::error("header", format!("`{name}` is not the name of a header")),
                parameter,
            );
        }
    }
    let runs_together = of("hmac", "separator").is_some_and(|separator| {
        separator.is_empty() || separator.starts_with(|first: char| first.is_ascii_digit())
    });
    if scheme == "hmac" && runs_together && of("hmac", "timestampHeader").is_some() {
        let message = "nothing that is signed tells where the time ends and the body begins: a request that was overheard \
                       could be sent again, with digits moved from one to the other";
        let help = "choose one that begins with no digit, such as `.`, if the sender has one";
        report(
            Diagnostic::warning("separator", message).with_help(help.to_owned()),
            "hmac.separator",
        );
    }
    if text(given, "user").is_some_and(|user| user.contains(':')) {
        let message = "the name of a user can't have a colon, which stands between it and the password";
        report(Diagnostic::error("user", message), "user");
    }
    if scheme == "jwt" {
        public_keys(given, report);
    }
}

/// Tokens are checked with the webhook's secret, or with the issuer's keys, which stand here or at an address.
fn public_keys(given: &Map<String, Value>, report: &mut impl FnMut(Diagnostic, &str)) {
    let jwt = given.get("jwt").and_then(Value::as_object);
    let of = |name: &str| jwt?.get(name).filter(|value| !value.is_null());
    let algorithm = of("algorithm").and_then(Value::as_str);
    let is_shared = algorithm.is_none_or(|algorithm| algorithm.starts_with("HS"));
    let (keys, address) = (of("keys"), of("keysUrl").and_then(Value::as_str));
    let costly = keys.and_then(|keys| costly(keys, algorithm.unwrap_or_default()));
    let shared = "tokens of this algorithm are signed with the webhook's secret, not with a key pair";
    let (problem, parameter) = match (is_shared, keys, address) {
        (true, Some(_), _) => (shared, "jwt.keys"),
        (true, None, Some(_)) => (shared, "jwt.keysUrl"),
        (false, Some(_), Some(_)) => (
            "the issuer's public keys stand in `keys` already: delete one of the two",
            "jwt.keysUrl",
        ),
        (false, None, Some(address)) if !is_web_address(address) => (
            "this is not a web address: write one such as `https://id.example.com/.well-known/jwks.json`",
            "jwt.keysUrl",
        ),
        (false, keys, None) if !keys.is_some_and(is_key_set) => (
            "tokens of this algorithm need the issuer's public keys, as a JSON Web Key Set: `{\"keys\": [{\"kty\": …}]}`, or \
             their address as `keysUrl`",
            "jwt.keys",
        ),
        _ => match costly {
            Some(problem) => (problem, "jwt.keys"),
            None => return,
        },
    };
    report(Diagnostic::error("public-keys", problem), parameter);
}

fn is_key_set(keys: &Value) -> bool {
    let keys = keys.get("keys").and_then(Value::as_array);
    let is_key = |key: &Value| key.get("kty").is_some_and(Value::is_string);
    keys.is_some_and(|keys| !keys.is_empty() && keys.iter().all(is_key))
}

fn text_of<'k>(key: &'k Value, name: &str) -> Option<&'k str> {
    key.get(name).and_then(Value::as_str)
}

/// Why signatures can't be checked by a set of keys, since that is done for each request of anybody.
fn costly(set: &Value, algorithm: &str) -> Option<&'static str> {
    let kind = match algorithm {
        "EdDSA" => "OKP",
        _ if algorithm.starts_with("ES") => "EC",
        _ => "RSA",
    };
    let keys = set.get("keys").and_then(Value::as_array)?;
    let fitting: Vec<&Value> = keys
        .iter()
        .filter(|key| text_of(key, "kty") == Some(kind))
        .collect();
    let is_large = |key: &Value| text_of(key, "n").is_some_and(|digits| digits.len() > MODULUS_DIGITS_MAX);
    if fitting.iter().any(|key| is_large(key)) {
        return Some(
            "a key of RSA has more than 4,096 bits: such keys take too long to check, so use one of 2,048 to 4,096",
        );
    }
    let mut of_ids: HashMap<Option<&str>, usize> = HashMap::new();
    for key in fitting {
        *of_ids.entry(text_of(key, "kid")).or_default() += 1;
    }
    let without = of_ids.remove(&None::<&str>).unwrap_or_default();
    let with_one = of_ids.into_values().max().unwrap_or_default();
    (without.saturating_add(with_one) > CANDIDATES_MAX)
        .then_some("more than 4 keys may have signed the same token: give each its `kid`, which tokens name")
}

fn is_web_address(text: &str) -> bool {
    let url = Url::parse(text).ok();
    url.is_some_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host())
}

fn path(given: &Map<String, Value>, report: &mut impl FnMut(Diagnostic, &str)) {
    let Some(path) = text(given, "path") else {
        return;
    };
    let segments: Vec<&str> = path.trim_matches('/').split('/').collect();
    let mut names = HashSet::new();
    let problem = segments.iter().find_map(|segment| match segment.strip_prefix(':') {
        Some(name) if !is_name(name) => Some(format!("`:{name}` is not a name: use letters, digits and `_`")),
        Some(name) if !names.insert(name) => Some(format!("the name `:{name}` is used twice")),
        None if segments.len() > 1 && segment.is_empty() => Some("two `/` have nothing between them".to_owned()),
        None if !segment.bytes().all(is_unreserved) => Some(format!(
            "`{segment}` has characters that an address can't have as they are: use letters, digits and `-._~`"
        )),
        _ => None,
    });
    let problem = problem.or_else(|| {
        let count = segments.len();
        (count > SEGMENTS_MAX)
            .then(|| format!("a path of {count} segments is too long; {SEGMENTS_MAX} are allowed"))
    });
    if let Some(problem) = problem {
        report(Diagnostic::error("path", problem), "path");
    }
}

/// Each text of a list, and how many there are.
pub(super) fn each(
    given: &Map<String, Value>,
    parameter: &str,
    report: &mut impl FnMut(Diagnostic, &str),
    problem: impl Fn(&str) -> Option<Diagnostic>,
) {
    let entries = given.get(parameter).and_then(Value::as_array);
    let entries = entries.map(Vec::as_slice).unwrap_or_default();
    if entries.len() > LISTED_MAX {
        let message = format!("there are {} entries; {LISTED_MAX} are allowed", entries.len());
        report(Diagnostic::error("too-large", message), parameter);
    }
    for (index, entry) in entries.iter().enumerate().take(LISTED_MAX) {
        if let Some(problem) = entry.as_str().and_then(&problem) {
            report(problem, &format!("{parameter}[{index}]"));
        }
    }
}

/// Says what protects a webhook that anybody may send to.
fn unauthenticated(given: &Map<String, Value>) -> Diagnostic {
    let is_given = |name: &&str| given.get(*name).is_some_and(|value| !value.is_null());
    let mut limits: Vec<&str> = vec!["allowIps", "requestsPerMinute", "maxBytes"];
    limits.retain(is_given);
    let besides = match limits.as_slice() {
        [] => String::new(),
        given => format!(", besides {}", list(given.iter().copied())),
    };
    let message = format!(
        "anyone who knows this webhook's address can start runs: its only protection is that nobody can guess it{besides}"
    );
    Diagnostic::warning("unauthenticated-webhook", message).with_help(
        "if the sender can sign, or send a token, choose that `scheme`; else keep the address secret, and let the pattern \
         do no harm with what anyone may send"
            .to_owned(),
    )
}

fn text<'p>(parameters: &'p Map<String, Value>, name: &str) -> Option<&'p str> {
    parameters.get(name).and_then(Value::as_str)
}

fn is_name(name: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphabetic() || byte == b'_';
    name.bytes().next().is_some_and(is_first)
        && name.len() <= 64
        && name.bytes().all(|byte| is_first(byte) || byte.is_ascii_digit())
}

/// RFC 3986, section 2.3.
fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~".contains(&byte)
}

/// A token of RFC 9110, section 5.6.2.
fn is_header(name: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    (1..=100).contains(&name.len()) && name.bytes().all(is_token)
}

/// What is wrong with an entry of `allowIps`.
pub(super) fn network(text: &str) -> Option<Diagnostic> {
    (!is_network(text)).then(|| {
        let message = format!("`{text}` is neither an IP address nor a network");
        let help = "write an address such as `192.0.2.7`, or a network such as `192.0.2.0/24`";
        Diagnostic::error("network", message).with_help(help.to_owned())
    })
}

fn is_network(text: &str) -> bool {
    let (address, prefix) = text
        .split_once('/')
        .map_or((text, None), |(address, prefix)| (address, Some(prefix)));
    let Ok(address) = address.parse::<IpAddr>() else {
        return false;
    };
    let bits_max: u8 = if address.is_ipv4() { 32 } else { 128 };
    prefix.is_none_or(|prefix| prefix.parse::<u8>().is_ok_and(|bits| bits <= bits_max))
}

/// What is wrong with the origin of a page.
pub(super) fn origin(text: &str) -> Option<Diagnostic> {
    (!is_origin(text)).then(|| {
        let message = format!("`{text}` is not the origin of a page");
        let help = "write a scheme and a host, such as `https://shop.example.com`, or `*`";
        Diagnostic::error("origin", message).with_help(help.to_owned())
    })
}

fn is_origin(text: &str) -> bool {
    if text == "*" {
        return true;
    }
    let url = Url::parse(text).ok();
    url.is_some_and(|url| {
        matches!(url.scheme(), "http" | "https")
            && url
                .origin()
                .ascii_serialization()
                .eq_ignore_ascii_case(text.trim_end_matches('/'))
    })
}
