//! Rules of OnMailbox's parameters that no schema can express: what belongs together, and what can be written into a command. Knows
//! nothing about mail servers.

use super::level::Spot;
use crate::diagnostic::Diagnostic;
use crate::findings::Findings;

/// Characters of a mailbox's name, and of a search.
const NAME_CHARS_MAX: usize = 250;
const SEARCH_CHARS_MAX: usize = 1_000;

/// Checks an OnMailbox node that can start runs.
pub(crate) fn check(spot: &Spot<'_>, found: &mut Findings) {
    let given = &spot.node.parameters;
    let text = |name: &str| given.get(name).and_then(serde_json::Value::as_str);
    let mut report = |diagnostic: Diagnostic, parameter: &str| {
        found.push(diagnostic.at_node(&spot.node.id).at_parameter(parameter));
    };
    for parameter in ["mailbox", "moveTo"] {
        if let Some(name) = text(parameter).filter(|name| !is_name(name)) {
            let message = format!("`{name}` can't be the name of a mailbox");
            let help =
                format!("write at most {NAME_CHARS_MAX} characters on one line, such as `Archive/2026`");
            report(Diagnostic::error("mailbox", message).with_help(help), parameter);
        }
    }
    if let Some(search) = text("search").filter(|search| !is_search(search)) {
        let message = format!("`{search}` is not a search that IMAP knows");
        let help = format!(
            "write at most {SEARCH_CHARS_MAX} ASCII characters on one line, with quotes and parentheses closed and no \
             `{{` or `}}` outside of quotes, such as `UNSEEN FROM \"shop.example\"`"
        );
        report(Diagnostic::error("search", message).with_help(help), "search");
    }
    let moves = text("afterwards") == Some("move");
    if moves && text("moveTo").is_none() {
        let message = "`moveTo` is required when messages are moved";
        report(Diagnostic::error("missing-parameter", message), "moveTo");
    }
    if !moves && text("moveTo").is_some() {
        let message = "`moveTo` is only used with `afterwards` set to `move`";
        let help = "set `afterwards` to `move`, or delete `moveTo`".to_owned();
        report(
            Diagnostic::error("parameter-conflict", message).with_help(help),
            "moveTo",
        );
    }
}

fn is_name(name: &str) -> bool {
    !name.trim().is_empty() && name.chars().count() <= NAME_CHARS_MAX && !name.chars().any(char::is_control)
}

/// Whether a command that ends with it is one command: no line ends in it, no literal begins, and what it opens it closes.
fn is_search(search: &str) -> bool {
    let mut depth = 0_usize;
    let mut is_quoted = false;
    let mut chars = search.chars();
    while let Some(char) = chars.next() {
        match char {
            '"' => is_quoted = !is_quoted,
            '\\' if is_quoted => {
                chars.next();
            }
            _ if is_quoted => {}
            '{' | '}' => return false,
            '(' => depth += 1,
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return false,
            },
            _ => {}
        }
    }
    let is_plain = search.chars().all(|char| matches!(char, ' '..='~'));
    is_plain && !search.trim().is_empty() && search.len() <= SEARCH_CHARS_MAX && depth == 0 && !is_quoted
}
