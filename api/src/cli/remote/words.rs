//! Sentences about differences between a directory and its server.

use heddle_remote::change::Change;
use heddle_remote::merge::Conflict;
use heddle_remote::server::plain;
use heddle_remote::sync::{Done, Since};
use serde_json::Value;

/// Characters of a value in a conflict that are shown.
const SHOWN_MAX: usize = 200;

/// For programs.
pub fn word(since: Since) -> &'static str {
    match since {
        Since::Same => "same",
        Since::Changed => "changed",
        Since::New => "new",
        Since::Gone => "gone",
    }
}

/// For people, with what to do.
pub fn state_of(here: Since, there: Since) -> &'static str {
    match (here, there) {
        (Since::Same, Since::Same) => "as on the server",
        (Since::Changed, Since::Same) => "changed here: push",
        (Since::Same, Since::Changed) => "changed on the server: pull",
        (Since::Changed, Since::Changed) => "changed here and on the server: pull merges, then push",
        (Since::New, Since::New) => "new here and on the server: pull merges, then push",
        (Since::New, _) => "new here: push",
        (_, Since::New) => "new on the server: pull",
        (Since::Gone, Since::Same) => "removed here: push --delete",
        (Since::Gone, Since::Changed) => "removed here, changed on the server",
        (Since::Same, Since::Gone) => "deleted on the server: pull",
        (Since::Changed, Since::Gone) => "changed here, deleted on the server",
        (Since::Gone, Since::Gone) => "gone on both sides: pull",
    }
}

/// A change as a line.
pub fn line(change: &Change) -> String {
    match change {
        Change::Added(what) => format!("+ {what}"),
        Change::Removed(what) => format!("- {what}"),
        Change::Changed {
            what,
            field,
            from,
            to,
        } if field.is_empty() => format!("~ {what}: {from} → {to}"),
        Change::Changed {
            what,
            field,
            from,
            to,
        } => format!("~ {what}, {field}: {from} → {to}"),
        Change::Moved(nodes) => format!("~ {nodes} nodes moved"),
    }
}

/// What was done with something.
pub fn report(name: &str, done: &Done) -> String {
    match done {
        Done::Added => format!("{name}: new from the server"),
        Done::Updated => format!("{name}: updated"),
        Done::Merged => format!("{name}: merged; `heddle push` stores the result"),
        Done::Removed => format!("{name}: removed, as on the server"),
        Done::Created => format!("{name}: created"),
        Done::Pushed(version) => format!("{name}: version {version}"),
        Done::Stored => format!("{name}: stored"),
        Done::Deleted => format!("{name}: deleted on the server"),
        Done::Left(why) => format!("{name}: left as it is: {why}"),
        Done::Conflicts(conflicts) => {
            let lines: Vec<String> = conflicts.iter().map(conflict).collect();
            format!(
                "{name}: left as it is, since both sides have changed the same things. Take one side for all of it with --ours or --theirs:\n{}",
                lines.join("\n")
            )
        }
    }
}

fn conflict(conflict: &Conflict) -> String {
    let shown = |value: &Option<Value>| {
        let text = value
            .as_ref()
            .map_or_else(|| "nothing".to_owned(), |value| plain(&value.to_string()));
        match text.char_indices().nth(SHOWN_MAX) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text,
        }
    };
    format!(
        "  {}\n    here:          {}\n    on the server: {}",
        plain(&conflict.place),
        shown(&conflict.ours),
        shown(&conflict.theirs)
    )
}
