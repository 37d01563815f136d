//! `heddle status`, `diff`, `pull` and `push`.

use super::{opened, pattern_name};
use crate::cli::case;
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::schema;
use crate::cli::serve;
use clap::Args;
use heddle_remote::change::{Change, changes};
use heddle_remote::directory::Directory;
use heddle_remote::document::Document;
use heddle_remote::merge::{Conflict, Prefer};
use heddle_remote::server::{Server, plain};
use heddle_remote::sync::{self, Done, Pattern, PushOptions, Since};
use heddle_remote::test_files::{self, Test};
use serde_json::{Value, json};
use std::process::ExitCode;

/// Characters of a value in a conflict that are shown.
const SHOWN_MAX: usize = 200;

/// Flags of `heddle status`.
#[derive(Args, Debug)]
pub struct StatusArgs {
    /// Print JSON: [{pattern, test?, here, there}], each of same, changed, new and gone.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `heddle diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Patterns, by their directories' names; default: all.
    patterns: Vec<String>,
    /// Show what has changed on the server instead of here.
    #[arg(long)]
    server: bool,
}

/// Flags of `heddle pull`.
#[derive(Args, Debug)]
pub struct PullArgs {
    /// Patterns, by their directories' names; default: all.
    patterns: Vec<String>,
    /// Where both sides have changed the same, keep what is here.
    #[arg(long, conflicts_with = "theirs")]
    ours: bool,
    /// Where both sides have changed the same, take what the server has.
    #[arg(long)]
    theirs: bool,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// Flags of `heddle push`.
#[derive(Args, Debug)]
pub struct PushArgs {
    /// Patterns, by their directories' names; default: all.
    patterns: Vec<String>,
    /// The summary of the new versions; default: what has changed, in the server's words.
    #[arg(short, long)]
    message: Option<String>,
    /// Delete on the server what was removed here.
    #[arg(long)]
    delete: bool,
    /// Push patterns that have errors as well.
    #[arg(long)]
    with_errors: bool,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// Says what has changed on either side.
pub fn status(args: &StatusArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let (all, cases) = serve::wait(async {
        let all = sync::patterns(&directory, &server).await?;
        Ok::<_, Failure>((all, test_files::all(&directory, &server).await?))
    })??;
    if args.json {
        let patterns = all
            .iter()
            .map(|pattern| json!({"pattern": pattern.name, "here": word(pattern.here), "there": word(pattern.there)}));
        let cases = cases.iter().map(|test| {
            let (here, there) = (word(test.here), word(test.there));
            json!({"pattern": test.pattern, "test": test.file, "here": here, "there": there})
        });
        let all: Vec<Value> = patterns.chain(cases).collect();
        output::result(&Value::from(all).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let patterns = all.iter().filter(|pattern| !pattern.is_in_step());
    let patterns = patterns.map(|pattern| (pattern.name.clone(), pattern.here, pattern.there));
    let differing = cases.iter().filter(|test| !test.is_in_step());
    let differing = differing.map(|test| (test.place(), test.here, test.there));
    let differing: Vec<(String, Since, Since)> = patterns.chain(differing).collect();
    for (name, here, there) in &differing {
        output::result(&format!("{name:44} {}", told(*here, *there)))?;
    }
    if differing.is_empty() {
        output::note(&format!(
            "{} patterns and {} tests, all as on the server",
            all.len(),
            cases.len()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

fn word(since: Since) -> &'static str {
    match since {
        Since::Same => "same",
        Since::Changed => "changed",
        Since::New => "new",
        Since::Gone => "gone",
    }
}

fn told(here: Since, there: Since) -> &'static str {
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

/// Those that are named, or all.
fn selected(all: Vec<Pattern>, names: &[String]) -> Result<Vec<Pattern>, Failure> {
    if names.is_empty() {
        return Ok(all);
    }
    let names: Vec<&str> = names.iter().map(|name| pattern_name(name)).collect();
    if let Some(missing) = names
        .iter()
        .find(|name| !all.iter().any(|pattern| pattern.name == **name))
    {
        return Err(Failure::usage(format!(
            "there is no pattern `{missing}`, neither here nor on the server: `heddle status` lists what differs"
        )));
    }
    Ok(all
        .into_iter()
        .filter(|pattern| names.contains(&pattern.name.as_str()))
        .collect())
}

/// The tests of the patterns that are named, or all.
fn selected_tests(all: Vec<Test>, names: &[String]) -> Vec<Test> {
    let names: Vec<&str> = names.iter().map(|name| pattern_name(name)).collect();
    let is_wanted = |test: &Test| names.is_empty() || names.contains(&test.pattern.as_str());
    all.into_iter().filter(is_wanted).collect()
}

/// Prints what has changed since both sides were in step, by node.
pub fn diff(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    serve::wait(async {
        let all = sync::patterns(&directory, &server).await?;
        for mut pattern in selected(all, &args.patterns)? {
            let side = if args.server { pattern.there } else { pattern.here };
            if side == Since::Same {
                continue;
            }
            let base = pattern.base(&directory, &server).await?;
            let side = if args.server {
                let theirs = pattern.theirs(&server).await?;
                theirs.map(|theirs| theirs.document.clone())
            } else {
                pattern.ours.clone()
            };
            let nothing = Document::of(&json!({}));
            let (Some(base), Some(side)) = (base.or(nothing.clone()), side.or(nothing)) else {
                continue;
            };
            output::result(&format!("{}:", pattern.name))?;
            for change in changes(&base, &side) {
                output::result(&format!("  {}", line(&change)))?;
            }
        }
        Ok::<_, Failure>(())
    })??;
    Ok(ExitCode::SUCCESS)
}

fn line(change: &Change) -> String {
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

/// Brings the server's changes here.
pub fn pull(args: &PullArgs) -> Result<ExitCode, Failure> {
    let (mut directory, server) = opened()?;
    let prefer = match (args.ours, args.theirs) {
        (true, _) => Some(Prefer::Ours),
        (_, true) => Some(Prefer::Theirs),
        _ => None,
    };
    let whole = serve::wait(pull_all(&mut directory, &server, args, prefer))?;
    // What was done is in step, also if something else has failed.
    if !args.dry_run {
        directory.save()?;
        schema::keep(&directory);
    }
    Ok(match whole? {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(Exit::Failed as u8),
    })
}

async fn pull_all(
    directory: &mut Directory,
    server: &Server,
    args: &PullArgs,
    prefer: Option<Prefer>,
) -> Result<bool, Failure> {
    let all = sync::patterns(directory, server).await?;
    let mut is_whole = true;
    let mut count = 0;
    let mut left = Vec::new();
    for mut pattern in selected(all, &args.patterns)? {
        let Some(done) = sync::pull(directory, server, &mut pattern, prefer, args.dry_run).await? else {
            continue;
        };
        count += 1;
        is_whole &= !matches!(done, Done::Left(_) | Done::Conflicts(_));
        output::result(&report(&pattern.name, &done))?;
        if matches!(done, Done::Left(_)) {
            left.push(pattern.name);
        }
    }
    for test in selected_tests(test_files::all(directory, server).await?, &args.patterns) {
        // With a pattern that is left as it is, its tests are: the server has none only because the pattern is gone there.
        if left.contains(&test.pattern) {
            continue;
        }
        let Some(done) = test_files::pull(directory, &test, prefer, args.dry_run)? else {
            continue;
        };
        count += 1;
        is_whole &= !matches!(done, Done::Left(_) | Done::Conflicts(_));
        output::result(&report(&test.place(), &done))?;
    }
    if count == 0 {
        output::note("nothing has changed on the server");
    }
    Ok(is_whole)
}

/// Brings the changes here to the server. All is checked before anything is stored.
pub fn push(args: &PushArgs) -> Result<ExitCode, Failure> {
    let (mut directory, server) = opened()?;
    let options = PushOptions {
        summary: args.message.as_deref(),
        delete: args.delete,
        with_errors: args.with_errors,
        dry_run: args.dry_run,
    };
    let pushed = serve::wait(push_all(&mut directory, &server, &args.patterns, options))?;
    if !args.dry_run {
        directory.save()?;
    }
    pushed?;
    Ok(ExitCode::SUCCESS)
}

async fn push_all(
    directory: &mut Directory,
    server: &Server,
    names: &[String],
    options: PushOptions<'_>,
) -> Result<(), Failure> {
    let mut all = selected(sync::patterns(directory, server).await?, names)?;
    let mut obstacles = Vec::new();
    for pattern in &mut all {
        if let Some(why) = sync::obstacle(directory, server, pattern, options).await? {
            let why = why.replace('\n', "\n    ");
            obstacles.push(format!("  {}: {why}", pattern.name));
        }
    }
    let cases = selected_tests(test_files::all(directory, server).await?, names);
    for test in &cases {
        if let Some(why) = test_files::obstacle(directory, test, options).or_else(|| wrong(test)) {
            obstacles.push(format!("  {}: {why}", test.place()));
        }
    }
    if !obstacles.is_empty() {
        let message = format!("nothing was pushed:\n{}", obstacles.join("\n"));
        return Err(Failure::new(Exit::Failed, "REFUSED", message));
    }
    let mut count = 0;
    for pattern in &mut all {
        if let Some(done) = sync::push(directory, server, pattern, options).await? {
            count += 1;
            output::result(&report(&pattern.name, &done))?;
        } else if pattern.here == Since::Gone && pattern.there == Since::Same {
            output::note(&format!(
                "{}: removed here, and still on the server: --delete deletes it",
                pattern.name
            ));
        }
    }
    count += push_tests(directory, server, &cases, options).await?;
    if count == 0 {
        output::note("nothing has changed here");
    }
    Ok(())
}

/// How many were pushed.
async fn push_tests(
    directory: &mut Directory,
    server: &Server,
    cases: &[Test],
    options: PushOptions<'_>,
) -> Result<usize, Failure> {
    let mut count = 0;
    for test in cases {
        // Its pattern would be made first.
        if options.dry_run && !directory.locked.contains_key(&test.pattern) {
            output::result(&report(&test.place(), &Done::Created))?;
            count += 1;
        } else if let Some(done) = test_files::push(directory, server, test, options).await? {
            count += 1;
            output::result(&report(&test.place(), &done))?;
        } else if test.here == Since::Gone && test.there == Since::Same {
            output::note(&format!(
                "{}: removed here, and still on the server: --delete deletes it",
                test.place()
            ));
        }
    }
    Ok(count)
}

/// What the server would refuse of a test that is new or changed here.
fn wrong(test: &Test) -> Option<String> {
    let ours = test.ours.as_ref().filter(|_| test.here != Since::Same)?;
    case::checked(ours.clone()).err()
}

fn report(name: &str, done: &Done) -> String {
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
                "{name}: left as it is, since both sides have changed the same. Take one side for all of it with --ours or --theirs:\n{}",
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
