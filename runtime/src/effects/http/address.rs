//! Resolution of request URLs.

use super::super::handles::GrantedHosts;
use crate::connections::{Connection, TOKEN};
use crate::secrets::Destination;
use heddle_sandbox::{EffectCode, EffectError};
use percent_encoding::percent_decode_str;
use reqwest::Url;

/// Where a request to this URL goes.
pub(in crate::effects) fn destination(url: &Url) -> Destination<'_> {
    Destination::Host(url.host_str().unwrap_or_default(), url.port_or_known_default())
}

/// What stands in a base for the connection's key.
const KEY: &str = "{apiKey}";

/// A request's URL, and what follows from where it comes.
pub(in crate::effects) struct Address {
    pub url: Url,
    /// Whether the connection names it: then the right to the connection is enough.
    pub by_connection: bool,
    /// Whether the connection's key is in it, and so in no header.
    pub has_key: bool,
}

/// The URL of a request, which may be a path below its connection's `baseUrl`, or else below its own.
pub(in crate::effects) fn url_of(
    url: &str,
    own_base: Option<&str>,
    connection: Option<&Connection>,
) -> Result<Address, EffectError> {
    let of_connection = connection.and_then(|connection| connection.text(&["baseUrl"]));
    let by_connection = of_connection.is_some() && !url.contains("://");
    let base = of_connection.or_else(|| own_base.map(str::to_owned));
    let Some(base) = base.filter(|_| !url.contains("://")) else {
        let url = Url::parse(url)
            .map_err(|error| EffectError::parameter(format!("`{url}` is not a URL: {error}.")))?;
        return Ok(Address {
            url,
            by_connection: false,
            has_key: false,
        });
    };
    let whose = match by_connection {
        true => "the connection's `baseUrl`",
        false => "`baseUrl`",
    };
    let has_key = base.contains(KEY);
    let base = match connection {
        _ if !has_key => base,
        Some(connection) => base.replace(KEY, &in_path(&connection.required(TOKEN)?)),
        None => {
            let message = format!("`{KEY}` in {whose} stands for a connection's key: give a connection.");
            return Err(EffectError::parameter(message));
        }
    };
    // The address itself is not shown: it may hold the key.
    let base = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|error| {
        let whose = whose.replacen("the", "The", 1);
        EffectError::parameter(format!("{whose} is not a URL: {error}."))
    })?;
    Ok(Address {
        url: below(&base, url, whose)?,
        by_connection,
        has_key,
    })
}

/// A path below an address. What climbs is refused: a part of it may come from anywhere, and is to stay one.
fn below(base: &Url, url: &str, whose: &str) -> Result<Url, EffectError> {
    let path = url.trim_start_matches('/');
    // Whoever parses an address leaves these three out of it, wherever they stand.
    let read = path.replace(['\t', '\r', '\n'], "");
    let mut segments = read
        .split(['?', '#'])
        .next()
        .unwrap_or_default()
        .split(['/', '\\']);
    let climbs = segments.any(|segment| {
        let segment = segment.to_ascii_lowercase().replace("%2e", ".");
        segment == "." || segment == ".."
    });
    let joined = match path {
        "" => Ok(base.clone()),
        path => base.join(path),
    };
    let inside = |joined: &Url| joined.origin() == base.origin() && joined.path().starts_with(base.path());
    joined
        .ok()
        .filter(|joined| !climbs && inside(joined))
        .ok_or_else(|| EffectError::parameter(format!("`{url}` is not a path below {whose}.")))
}

/// A key as a part of a path.
fn in_path(key: &str) -> String {
    let mut encoded = String::with_capacity(key.len());
    for byte in key.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                encoded.push(char::from(byte));
            }
            byte => encoded.push_str(&format!("%{byte:02X}")),
        }
    }
    encoded
}

/// The URL with one query parameter set. The others stay as they are written: services tell `?list` from `?list=`, some of them `%20`
/// from `+`, and a byte that is not UTF-8 can be written in one way only.
pub(super) fn with_query(url: &Url, name: &str, value: &str) -> Url {
    let is_other = |pair: &&str| {
        let own = pair.split('=').next().unwrap_or_default().replace('+', " ");
        !pair.is_empty() && !percent_decode_str(&own).eq(name.bytes())
    };
    let pairs = url.query().unwrap_or_default().split('&');
    let others = pairs.filter(is_other).collect::<Vec<_>>().join("&");
    let mut url = url.clone();
    url.set_query(Some(&others));
    url.query_pairs_mut().append_pair(name, value);
    url
}

/// Refuses hosts that the manifest does not list.
pub(super) fn check_granted(url: &Url, GrantedHosts(hosts): &GrantedHosts) -> Result<(), EffectError> {
    let host = url.host_str().unwrap_or_default();
    let authority = match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    };
    if hosts
        .iter()
        .any(|granted| granted == "*" || granted.eq_ignore_ascii_case(&authority))
    {
        return Ok(());
    }
    let message = format!("The pattern's manifest does not list the host `{authority}`.");
    Err(EffectError::new(EffectCode::NotPermitted, message))
}

/// Scheme, host and port, for messages: paths and queries may hold what is private.
pub(super) fn place(url: &Url) -> String {
    url.origin().ascii_serialization()
}
