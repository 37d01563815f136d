//! An OpenAPI document: what its references lead to, where its servers are, and what its security asks for. Follows no
//! reference out of the document.

use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// References in a row; a longer one is taken for a circle.
const HOPS_MAX: usize = 16;
/// Bytes of a reference. All parameters of all operations may have the same one.
const REFERENCE_BYTES_MAX: usize = 1_000;
/// Characters of schemes that are named together.
const SCHEMES_CHARS_MAX: usize = 200;
const ADDRESS_BYTES_MAX: usize = 2_000;
const VARIABLES_MAX: usize = 20;
const ALTERNATIVES_MAX: usize = 20;
/// Servers, and below scopes, of an operation: all operations have those that the document lists once.
const SERVERS_MAX: usize = 20;
const SCOPES_MAX: usize = 100;
const SCOPE_BYTES_MAX: usize = 200;
/// Bytes of the name of a security scheme, which all connections of it have.
const SCHEME_BYTES_MAX: usize = 200;

/// Where references lead. Each is looked up once: any number of operations may have the same ones, which go down any number of levels.
pub(super) type Known<'d> = RefCell<BTreeMap<&'d str, Option<&'d Value>>>;

/// A document, read as JSON.
#[derive(Clone, Copy)]
pub(super) struct Document<'d> {
    pub root: &'d Value,
    pub known: &'d Known<'d>,
}

/// How an operation's requests are authenticated.
pub(super) enum Security<'d> {
    /// Not at all.
    Open,
    /// By a connection.
    By(Credentials<'d>),
    /// By these schemes, which no connection has.
    Other(String),
}

/// What a connection for a security scheme needs.
pub(super) struct Credentials<'d> {
    /// The scheme's name in the document.
    pub scheme: &'d str,
    /// Fields of the connection, with the values that the document gives.
    pub fields: Vec<(&'static str, Option<String>)>,
    /// OAuth 2.0 scopes that the operation asks for.
    pub scopes: Vec<&'d str>,
}

impl<'d> Document<'d> {
    /// What a value is once its references are followed; none if they lead out of the document, nowhere, or in a circle.
    pub fn followed(self, value: &'d Value) -> Option<&'d Value> {
        let mut value = value;
        for _ in 0..HOPS_MAX {
            let Some(reference) = value.get("$ref") else {
                return Some(value);
            };
            value = self.target(reference.as_str()?)?;
        }
        None
    }

    /// What a single reference leads to.
    fn target(self, reference: &'d str) -> Option<&'d Value> {
        if reference.len() > REFERENCE_BYTES_MAX {
            return None;
        }
        let known = self.known.borrow().get(reference).copied();
        known.unwrap_or_else(|| {
            let pointer = reference.strip_prefix('#');
            let target = pointer.and_then(|pointer| self.root.pointer(&percent_decoded(pointer)));
            self.known.borrow_mut().insert(reference, target);
            target
        })
    }

    /// The address that paths are below: the first whole one of the operation's servers, its path's, or the document's.
    pub fn base(self, item: &Value, operation: &Value) -> Option<String> {
        let servers = |level: &Value| {
            let servers = level.get("servers").and_then(Value::as_array);
            servers
                .filter(|servers| !servers.is_empty())
                .map(|servers| servers.iter().take(SERVERS_MAX).find_map(address))
        };
        servers(operation)
            .or_else(|| servers(item))
            .or_else(|| servers(self.root))
            .flatten()
    }

    /// The first of an operation's alternatives that a connection can meet.
    pub fn security(self, operation: &'d Value) -> Security<'d> {
        let given = operation.get("security").or_else(|| self.root.get("security"));
        let alternatives = given.and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut other: Option<String> = None;
        let shown = |name: &String| name.chars().take(SCHEMES_CHARS_MAX).collect::<String>();
        let mut is_optional = alternatives.is_empty();
        for alternative in alternatives.iter().take(ALTERNATIVES_MAX) {
            let Some(schemes) = alternative.as_object() else {
                continue;
            };
            let mut names = schemes.iter();
            match (names.next(), names.next()) {
                (None, _) => is_optional = true,
                (Some((scheme, scopes)), None) => match self.credentials(scheme, scopes) {
                    Some(credentials) => return Security::By(credentials),
                    None => other = other.or_else(|| Some(shown(scheme))),
                },
                (Some(_), Some(_)) => {
                    let all: Vec<String> = schemes.keys().take(10).map(shown).collect();
                    other = other.or_else(|| Some(all.join(" together with ")));
                }
            }
        }
        match other {
            Some(schemes) if !is_optional => Security::Other(shown(&schemes)),
            _ => Security::Open,
        }
    }

    fn credentials(self, name: &'d str, scopes: &'d Value) -> Option<Credentials<'d>> {
        if name.len() > SCHEME_BYTES_MAX {
            return None;
        }
        let scheme = self.followed(self.root.pointer("/components/securitySchemes")?.get(name)?)?;
        let text = |name: &str| scheme.get(name).and_then(Value::as_str).unwrap_or_default();
        let is_known = |text: &&str| !text.is_empty() && text.len() <= ADDRESS_BYTES_MAX;
        let known = |text: &str| Some(text).filter(is_known).map(str::to_owned);
        let kind = text("scheme").to_ascii_lowercase();
        let fields = match (text("type"), kind.as_str(), text("in")) {
            ("http", "bearer", _) => vec![("apiKey", None)],
            ("http", "basic", _) => vec![("user", None), ("password", None)],
            ("apiKey", _, "header") => vec![("apiKey", None), ("headerName", known(text("name")))],
            ("apiKey", _, "query") => vec![("apiKey", None), ("queryName", known(text("name")))],
            ("oauth2", _, _) => oauth(scheme),
            ("openIdConnect", _, _) => {
                let issuer = text("openIdConnectUrl").trim_end_matches("/.well-known/openid-configuration");
                vec![
                    ("issuer", known(issuer)),
                    ("clientId", None),
                    ("clientSecret", None),
                ]
            }
            _ => return None,
        };
        let scopes = scopes.as_array().map_or(&[][..], Vec::as_slice);
        Some(Credentials {
            scheme: name,
            fields,
            scopes: scopes
                .iter()
                .take(SCOPES_MAX)
                .filter_map(Value::as_str)
                .filter(|scope| scope.len() <= SCOPE_BYTES_MAX)
                .collect(),
        })
    }
}

/// Without a flow that connections have, a token that was made elsewhere.
fn oauth(scheme: &Value) -> Vec<(&'static str, Option<String>)> {
    let address = |flow: &str, name: &str| {
        let address = scheme.pointer(&format!("/flows/{flow}/{name}"));
        let address = address.and_then(Value::as_str);
        address
            .filter(|address| address.len() <= ADDRESS_BYTES_MAX)
            .map(str::to_owned)
    };
    let client = [("clientId", None), ("clientSecret", None)];
    if let Some(token) = address("clientCredentials", "tokenUrl") {
        return [("tokenUrl", Some(token))].into_iter().chain(client).collect();
    }
    let flow = "authorizationCode";
    if let (Some(authorize), Some(token)) = (address(flow, "authorizationUrl"), address(flow, "tokenUrl")) {
        let addresses = [("authorizeUrl", Some(authorize)), ("tokenUrl", Some(token))];
        return addresses.into_iter().chain(client).collect();
    }
    vec![("apiKey", None)]
}

/// A server's address, with its variables' defaults.
fn address(server: &Value) -> Option<String> {
    let url = server.get("url")?.as_str()?;
    if url.len() > ADDRESS_BYTES_MAX {
        return None;
    }
    let mut url = url.to_owned();
    let variables = server.get("variables").and_then(Value::as_object);
    let variables = variables.into_iter().flatten().take(VARIABLES_MAX);
    for (name, variable) in variables.filter(|(name, _)| name.len() <= ADDRESS_BYTES_MAX) {
        if url.len() > ADDRESS_BYTES_MAX {
            return None;
        }
        let default = variable.get("default").and_then(Value::as_str);
        if let Some(default) = default.filter(|default| default.len() <= ADDRESS_BYTES_MAX) {
            url = url.replacen(&format!("{{{name}}}"), default, 1);
        }
    }
    is_base(&url).then(|| url.trim_end_matches('/').to_owned())
}

/// Whether paths can be put behind an address.
pub(super) fn is_base(url: &str) -> bool {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let is_plain = |c: char| c.is_ascii_graphic() && !"{}\"\\<>^`|?#@".contains(c);
    rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/') && rest.chars().all(is_plain))
        && url.len() <= ADDRESS_BYTES_MAX
}

/// A pointer within an address, as a pointer.
fn percent_decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = hex.and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match (first, byte) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::{Document, HOPS_MAX, Known};
    use serde_json::{Value, json};

    #[test]
    fn each_reference_is_looked_up_once() {
        let mut root =
            json!({"end": {"type": "string"}, "r0": {"$ref": "#/end"}, "lost": {"$ref": "#/none"}});
        for number in 1..=HOPS_MAX {
            root[format!("r{number}")] = json!({"$ref": format!("#/r{}", number - 1)});
        }
        let known = Known::default();
        let document = Document {
            root: &root,
            known: &known,
        };
        let followed = |name: &str| document.followed(&root[name]);
        for _ in 0..100 {
            let most = format!("r{}", HOPS_MAX - 1);
            assert_eq!(followed(&most).and_then(|end| end.get("type")), None);
            let fewer = format!("r{}", HOPS_MAX - 2);
            assert_eq!(followed(&fewer), root.get("end"));
            assert_eq!(followed("lost"), None::<&Value>);
        }
        assert_eq!(known.borrow().len(), HOPS_MAX + 1);
    }
}
