//! Rules of OnPoll's parameters that no schema can express: parameters that belong together, addresses and paths. Knows nothing
//! about requests.

use super::level::Spot;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;
use serde_json::{Map, Value};
use url::Url;

/// Bytes of all parameters together as JSON, which are kept in memory with each deployment.
const BYTES_MAX: usize = 64 << 10;
/// Characters and names of a path.
const PATH_CHARS_MAX: usize = 200;
const NAMES_MAX: usize = 10;

/// Checks an OnPoll node that can start runs, or the trigger of a service that stands for these parameters.
pub(crate) fn check(spot: &Spot<'_>, given: &Map<String, Value>, found: &mut Findings) {
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    let bytes: usize = given.values().map(|value| value.to_string().len()).sum();
    if bytes > BYTES_MAX {
        let message = format!("the poll's parameters have {bytes} bytes; {BYTES_MAX} are allowed");
        report(Diagnostic::error("too-large", message), "body");
        return;
    }
    if let Some(url) = text(given, "url").filter(|url| !is_address(url, is_given(given, "connection"))) {
        let message = format!("`{url}` is not an address that can be polled");
        let help = "write all of it, with http:// or https://; with a connection that has a `baseUrl`, a path below it \
                    will do";
        report(
            Diagnostic::error("url", message).with_help(help.to_owned()),
            "url",
        );
    }
    for parameter in ["items", "id", "cursor"] {
        if let Some(path) = text(given, parameter).filter(|path| !is_path(path)) {
            let message = format!("`{path}` is not a path");
            let help = format!(
                "write at most {NAMES_MAX} names of fields or numbers of elements with dots between them, such as \
                 `data.items` or `-1.id`"
            );
            report(Diagnostic::error("path", message).with_help(help), parameter);
        }
    }
    for (parameter, other) in [("cursor", "cursorParameter"), ("cursorParameter", "cursor")] {
        if is_given(given, parameter) && !is_given(given, other) {
            let message = format!("`{other}` is required with `{parameter}`");
            report(Diagnostic::error("missing-parameter", message), other);
        }
    }
    if is_given(given, "sinceParameter") && is_given(given, "cursor") {
        let message = "`sinceParameter` says when the service was asked last, `cursor` what its answer said";
        let help = "delete one of them".to_owned();
        report(
            Diagnostic::error("parameter-conflict", message).with_help(help),
            "sinceParameter",
        );
    }
    if is_given(given, "body") && text(given, "method").is_none_or(|method| method == "GET") {
        let message = "`body` is not sent with the method GET";
        let help = "choose the method POST, or delete the body".to_owned();
        report(
            Diagnostic::error("parameter-conflict", message).with_help(help),
            "body",
        );
    }
}

fn text<'g>(given: &'g Map<String, Value>, name: &str) -> Option<&'g str> {
    given.get(name).and_then(Value::as_str)
}

fn is_given(given: &Map<String, Value>, name: &str) -> bool {
    given.get(name).is_some_and(|value| !value.is_null())
}

fn is_address(url: &str, has_connection: bool) -> bool {
    match url.contains("://") {
        true => Url::parse(url).is_ok_and(|url| matches!(url.scheme(), "http" | "https") && url.has_host()),
        false => has_connection,
    }
}

fn is_path(path: &str) -> bool {
    path.chars().count() <= PATH_CHARS_MAX
        && path.split('.').count() <= NAMES_MAX
        && path.split('.').all(|name| !name.is_empty())
}
