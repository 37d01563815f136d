//! Email addresses of users: a restricted set of characters, so that addresses that look the same can't belong to
//! different users. Mail servers accept more (RFC 6531, quoted local parts), but people with such an address usually
//! have another one too.

use heddle_model::error::ServiceError;

const CHARS_MAX: usize = 254;
const LOCAL_CHARS_MAX: usize = 64;
const LABEL_CHARS_MAX: usize = 63;
/// Besides letters and digits, in front of the @ (RFC 5322, atext).
const LOCAL_SPECIAL: &[u8] = b"!#$%&'*+-/=?^_`{|}~";

/// An address that a new user may have, without the spaces around it: ASCII only, a local part of letters, digits,
/// `.!#$%&'*+-/=?^_{|}~` and backquotes, and a domain of letters, digits, hyphens and dots. International domains are written
/// in ASCII (`xn--…`).
pub fn read(given: &str) -> Result<String, ServiceError> {
    let email = given.trim_matches([' ', '\t', '\r', '\n']);
    let refused = |problem: &str| Err(ServiceError::field("email", problem));
    if email.len() > CHARS_MAX {
        return refused("must have at most 254 characters");
    }
    if !email.is_ascii() {
        return refused(
            "must be plain ASCII, without accents, invisible characters or letters of other scripts; write \
             an international domain in its xn--… form",
        );
    }
    let plausible = email
        .split_once('@')
        .is_some_and(|(local, domain)| is_local(local) && is_domain(domain));
    match plausible {
        true => Ok(email.to_owned()),
        false => refused("is not an email address"),
    }
}

fn is_local(local: &str) -> bool {
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || LOCAL_SPECIAL.contains(&byte))
    };
    local.len() <= LOCAL_CHARS_MAX && local.split('.').all(is_atom)
}

fn is_domain(domain: &str) -> bool {
    domain.split('.').all(|label| {
        (1..=LABEL_CHARS_MAX).contains(&label.len())
            && !label.starts_with('-')
            && !label.ends_with('-')
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// The part of an address after the @.
pub fn domain(email: &str) -> &str {
    email.trim().rsplit_once('@').map_or("", |(_, domain)| domain)
}

/// A domain in lower case, as [`read`] accepts it in an address.
pub fn read_domain(given: &str) -> Option<String> {
    let domain = given.trim().trim_start_matches('@').to_ascii_lowercase();
    (domain.is_ascii() && is_domain(&domain)).then_some(domain)
}
