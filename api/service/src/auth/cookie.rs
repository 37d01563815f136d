//! What browsers send by themselves: the cookie of a session, and where a request comes from. Knows nothing of whose
//! session it is.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use http::HeaderMap;
use http::header::{COOKIE, HOST, ORIGIN};
use reqwest::Url;
use sha2::{Digest, Sha256};
use std::time::Duration;

const SEC_FETCH_SITE: &str = "sec-fetch-site";
/// The cookie over TLS: with this prefix it can only be set over TLS, and only by this very host.
const SECURE_NAME: &str = "__Host-heddle";
/// The cookie without TLS.
const PLAIN_NAME: &str = "heddle";
/// The cookie of an attempt to sign in elsewhere, over TLS.
const SECURE_ATTEMPT_NAME: &str = "__Host-heddle-sign-in";
/// The cookie of an attempt to sign in elsewhere, without TLS.
const PLAIN_ATTEMPT_NAME: &str = "heddle-sign-in";
/// The cookie by which a browser that was shown a form is known again, over TLS.
const SECURE_FORM_NAME: &str = "__Host-heddle-form";
/// The cookie by which a browser that was shown a form is known again, without TLS.
const PLAIN_FORM_NAME: &str = "heddle-form";
/// How long such an attempt may take.
const ATTEMPT_LIFETIME: Duration = Duration::from_secs(10 * 60);

/// The cookies of a service at one address, and how requests of its own pages are known.
#[derive(Clone, Debug)]
pub struct Cookies {
    name: &'static str,
    attempt_name: &'static str,
    form_name: &'static str,
    /// Ends with `://`.
    scheme: &'static str,
    /// As browsers write it.
    origin: String,
}

impl Cookies {
    /// The cookies of the service that clients reach at this URL.
    pub fn new(base_url: &str) -> Self {
        let is_secure = base_url.starts_with("https://");
        let origin = base_url
            .parse::<Url>()
            .map(|url| url.origin().ascii_serialization());
        Cookies {
            name: if is_secure { SECURE_NAME } else { PLAIN_NAME },
            attempt_name: if is_secure {
                SECURE_ATTEMPT_NAME
            } else {
                PLAIN_ATTEMPT_NAME
            },
            form_name: if is_secure {
                SECURE_FORM_NAME
            } else {
                PLAIN_FORM_NAME
            },
            scheme: if is_secure { "https://" } else { "http://" },
            origin: origin.unwrap_or_default(),
        }
    }

    /// The secret in a request's cookie.
    pub fn secret<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        value_of(headers, self.name)
    }

    /// The secret of the attempt to sign in elsewhere that the browser has begun.
    pub fn attempt<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        value_of(headers, self.attempt_name)
    }

    /// The `Set-Cookie` that gives a browser the secret of such an attempt.
    pub fn attempt_given(&self, secret: &str) -> String {
        self.set(self.attempt_name, secret, ATTEMPT_LIFETIME)
    }

    /// The `Set-Cookie` that has a browser forget it.
    pub fn attempt_taken(&self) -> String {
        self.set(self.attempt_name, "", Duration::ZERO)
    }

    /// The secret of a browser that was shown a form.
    pub fn form<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        value_of(headers, self.form_name).filter(|secret| !secret.is_empty())
    }

    /// The `Set-Cookie` that gives a browser such a secret, until it is closed. Links from elsewhere bring it along, so that a
    /// second one gives no new secret; what pages from elsewhere send does not.
    pub fn form_given(&self, secret: &str) -> String {
        let (name, secure) = (self.form_name, self.secure());
        format!("{name}={secret}; Path=/; HttpOnly; SameSite=Lax{secure}")
    }

    /// The `Set-Cookie` that gives a browser a secret for so long.
    pub fn given(&self, secret: &str, lifetime: Duration) -> String {
        self.set(self.name, secret, lifetime)
    }

    fn set(&self, name: &str, secret: &str, lifetime: Duration) -> String {
        let (seconds, secure) = (lifetime.as_secs(), self.secure());
        format!("{name}={secret}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
    }

    fn secure(&self) -> &'static str {
        if self.scheme == "https://" { "; Secure" } else { "" }
    }

    /// The `Set-Cookie` that has a browser forget it.
    pub fn taken(&self) -> String {
        self.given("", Duration::ZERO)
    }

    /// Whether a browser says that a page of the service itself sends the request. Old browsers, and those that reach the
    /// service without TLS, don't send `Sec-Fetch-Site`, but the origin of whatever is not a simple link.
    pub fn is_from_own_page(&self, headers: &HeaderMap) -> bool {
        if let Some(site) = headers.get(SEC_FETCH_SITE) {
            return site == "same-origin";
        }
        let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
        let Some(origin) = text(ORIGIN) else {
            return false;
        };
        // The host, since a server that was given no base_url does not know all its names. Cookies are sent to no other
        // host than the one that has set them, so that nobody else's page gets in by this.
        let here = origin.strip_prefix(self.scheme);
        origin == self.origin || here.is_some_and(|here| text(HOST) == Some(here))
    }

    /// Whether a browser says that another page sends the request. Clients other than browsers say nothing.
    pub fn is_from_elsewhere(&self, headers: &HeaderMap) -> bool {
        let is_said = headers.contains_key(SEC_FETCH_SITE) || headers.contains_key(ORIGIN);
        is_said && !self.is_from_own_page(headers)
    }

    /// Whether a browser says that a page of another origin sends a form. Unlike `is_from_elsewhere` this lets pass what people
    /// load again by themselves, and the origin `null`, which pages that send no referrer have: our own for people without an
    /// account are such pages.
    pub fn is_form_from_elsewhere(&self, headers: &HeaderMap) -> bool {
        match headers.get(SEC_FETCH_SITE) {
            Some(site) => site == "cross-site" || site == "same-site",
            None => {
                headers.get(ORIGIN).is_some_and(|origin| origin != "null") && !self.is_from_own_page(headers)
            }
        }
    }
}

/// The value of a request's cookie.
fn value_of<'a>(headers: &'a HeaderMap, wanted: &str) -> Option<&'a str> {
    let lines = headers.get_all(COOKIE).iter();
    let pairs = lines
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'));
    let mut named = pairs.filter_map(|pair| pair.trim().split_once('='));
    named.find_map(|(name, value)| (name == wanted).then_some(value))
}

/// A line of cookies without those of the service itself, for patterns; `None` if there are no others. Browsers send a session's
/// cookie with a link that somebody follows to a callback URL, too.
pub fn without_sessions(line: &str) -> Option<String> {
    let name = |pair: &&str| {
        let name = pair.split('=').next().unwrap_or_default();
        !matches!(
            name,
            SECURE_NAME
                | PLAIN_NAME
                | SECURE_ATTEMPT_NAME
                | PLAIN_ATTEMPT_NAME
                | SECURE_FORM_NAME
                | PLAIN_FORM_NAME
        )
    };
    let others: Vec<&str> = line.split(';').map(str::trim).filter(name).collect();
    (!others.is_empty()).then(|| others.join("; "))
}

/// A new secret of 256 random bits.
pub fn generate() -> String {
    let random: [u8; 32] = heddle_model::entropy::random();
    URL_SAFE_NO_PAD.encode(random)
}

/// The stored form, in which a secret is looked up.
pub fn hash(secret: &str) -> String {
    hex::encode(Sha256::digest(secret))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(lines: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn a_cookie_is_found_among_others_by_its_whole_name() {
        let (plain, secure) = (Cookies::new("http://a:1"), Cookies::new("https://a"));
        for (line, of_plain, of_secure) in [
            ("heddle=x", Some("x"), None),
            ("a=b; heddle=x;c=d", Some("x"), None),
            ("__Host-heddle=y; heddle=x", Some("x"), Some("y")),
            ("xheddle=x; HEDDLE=x; heddle", None, None),
        ] {
            let headers = headers(&[("cookie", line)]);
            assert_eq!(plain.secret(&headers), of_plain, "{line}");
            assert_eq!(secure.secret(&headers), of_secure, "{line}");
        }
    }

    #[test]
    fn patterns_see_no_session() {
        for (line, others) in [
            ("a=1; heddle=x; b=2;__Host-heddle=y", Some("a=1; b=2")),
            ("heddle=x", None),
            ("heddle-sign-in=x; __Host-heddle-sign-in=y", None),
            ("heddle-form=x; __Host-heddle-form=y", None),
            ("heddles=x; HEDDLE=y", Some("heddles=x; HEDDLE=y")),
        ] {
            assert_eq!(without_sessions(line).as_deref(), others, "{line}");
        }
    }

    #[test]
    fn a_cookie_is_for_this_host_and_no_script() {
        let hour = Duration::from_secs(3600);
        assert_eq!(
            Cookies::new("https://a").given("x", hour),
            "__Host-heddle=x; Path=/; Max-Age=3600; HttpOnly; SameSite=Strict; Secure"
        );
        assert_eq!(
            Cookies::new("http://a").taken(),
            "heddle=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"
        );
        assert_eq!(
            Cookies::new("https://a").form_given("x"),
            "__Host-heddle-form=x; Path=/; HttpOnly; SameSite=Lax; Secure"
        );
    }

    #[test]
    fn only_own_pages_are_own() {
        let cookies = Cookies::new("https://Heddle.example:443/");
        for (lines, own, elsewhere) in [
            (&[][..], false, false),
            (&[("sec-fetch-site", "same-origin")], true, false),
            (&[("sec-fetch-site", "same-site")], false, true),
            (&[("sec-fetch-site", "cross-site")], false, true),
            (&[("sec-fetch-site", "none")], false, true),
            (&[("origin", "https://heddle.example")], true, false),
            (&[("origin", "http://heddle.example")], false, true),
            (&[("origin", "https://heddle.example.evil")], false, true),
            (&[("origin", "null")], false, true),
            (
                &[
                    ("origin", "https://heddle.example"),
                    ("sec-fetch-site", "cross-site"),
                ],
                false,
                true,
            ),
            (&[("origin", "https://other:9"), ("host", "other:9")], true, false),
            (&[("origin", "http://other:9"), ("host", "other:9")], false, true),
            (
                &[("origin", "https://evil"), ("host", "heddle.example")],
                false,
                true,
            ),
        ] {
            let headers = headers(lines);
            assert_eq!(cookies.is_from_own_page(&headers), own, "{lines:?}");
            assert_eq!(cookies.is_from_elsewhere(&headers), elsewhere, "{lines:?}");
        }
    }

    #[test]
    fn forms_of_other_pages_are_known() {
        let cookies = Cookies::new("https://heddle.example");
        for (lines, elsewhere) in [
            (&[][..], false),
            (&[("sec-fetch-site", "same-origin")], false),
            (&[("sec-fetch-site", "none")], false),
            (&[("sec-fetch-site", "same-site")], true),
            (&[("sec-fetch-site", "cross-site")], true),
            (&[("sec-fetch-site", "cross-site"), ("origin", "null")], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "null")], false),
            (&[("origin", "null")], false),
            (&[("origin", "https://heddle.example")], false),
            (&[("origin", "https://evil.example")], true),
        ] {
            assert_eq!(
                cookies.is_form_from_elsewhere(&headers(lines)),
                elsewhere,
                "{lines:?}"
            );
        }
    }
}
