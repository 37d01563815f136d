//! Resolution of request URLs.

use super::super::handles::GrantedHosts;
use crate::connections::Connection;
use crate::secrets::Destination;
use heddle_sandbox::{EffectCode, EffectError};
use reqwest::Url;

/// Where a request to this URL goes.
pub(in crate::effects) fn destination(url: &Url) -> Destination<'_> {
    Destination::Host(url.host_str().unwrap_or_default(), url.port_or_known_default())
}

/// The URL of a request that may be relative to its connection's `baseUrl`, and whether it is.
pub(in crate::effects) fn url_of(
    url: &str,
    connection: Option<&Connection>,
) -> Result<(Url, bool), EffectError> {
    let no_url =
        |error: &dyn std::fmt::Display| EffectError::parameter(format!("`{url}` is not a URL: {error}."));
    let base = connection.and_then(|connection| connection.text(&["baseUrl"]));
    let Some(base) = base.filter(|_| !url.contains("://")) else {
        return Url::parse(url)
            .map(|url| (url, false))
            .map_err(|error| no_url(&error));
    };
    let base = Url::parse(&format!("{}/", base.trim_end_matches('/'))).map_err(|error| {
        EffectError::parameter(format!("The connection's `baseUrl` is not a URL: {error}."))
    })?;
    let joined = match url.trim_start_matches('/') {
        "" => base.clone(),
        path => base.join(path).map_err(|error| no_url(&error))?,
    };
    if joined.origin() != base.origin() {
        return Err(EffectError::parameter(format!(
            "`{url}` is not a path below the connection's `baseUrl`."
        )));
    }
    Ok((joined, true))
}

/// The URL with one query parameter set.
pub(super) fn with_query(url: &Url, name: &str, value: &str) -> Url {
    let others: Vec<(String, String)> = url
        .query_pairs()
        .filter(|(other, _)| other != name)
        .map(|(name, value)| (name.into_owned(), value.into_owned()))
        .collect();
    let mut url = url.clone();
    url.query_pairs_mut()
        .clear()
        .extend_pairs(others)
        .append_pair(name, value);
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
