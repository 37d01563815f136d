//! `heddle status`, `diff`, `pull` and `push`.

use super::opened;
use super::words::{line, report, state_of, word};
use super::workspace_files::{Selection, WorkspaceFiles};
use crate::cli::case;
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::schema;
use crate::cli::serve;
use clap::Args;
use heddle_remote::change::changes;
use heddle_remote::directory::Directory;
use heddle_remote::document::Document;
use heddle_remote::merge::Prefer;
use heddle_remote::server::Server;
use heddle_remote::sync::{self, Done, Pattern, PushOptions, Since};
use heddle_remote::test_files::{self, Test};
use serde_json::{Value, json};
use std::process::ExitCode;

/// After what a dry run has listed.
const ONLY_SAID: &str = "this is what would be done: nothing was stored, here or on the server";

/// Flags of `heddle status`.
#[derive(Args, Debug)]
pub struct StatusArgs {
    /// Print JSON: [{pattern, test?, here, there}] and [{file, here, there, missing}] of other files, each of same, changed, new and gone.
    #[arg(long)]
    pub json: bool,
}

/// Flags of `heddle diff`.
#[derive(Args, Debug)]
pub struct DiffArgs {
    /// Patterns, by their directories' names, and environments, as in `environments/staging`; default: all.
    patterns: Vec<String>,
    /// Show what has changed on the server instead of here.
    #[arg(long)]
    server: bool,
}

/// Flags of `heddle pull`.
#[derive(Args, Debug)]
pub struct PullArgs {
    /// Patterns, by their directories' names, and environments, as in `environments/staging`; default: all.
    patterns: Vec<String>,
    /// Where both sides have changed the same thing, keep what is here.
    #[arg(long, conflicts_with = "theirs")]
    ours: bool,
    /// Where both sides have changed the same thing, take what the server has.
    #[arg(long)]
    theirs: bool,
    /// Only say what would be done.
    #[arg(long)]
    dry_run: bool,
}

/// Flags of `heddle push`.
#[derive(Args, Debug)]
pub struct PushArgs {
    /// Patterns, by their directories' names, and environments, as in `environments/staging`; default: all.
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
    let (all, cases, around) = serve::wait(async {
        let all = sync::patterns(&directory, &server).await?;
        let cases = test_files::all(&directory, &server).await?;
        Ok::<_, Failure>((all, cases, WorkspaceFiles::all(&directory, &server).await?))
    })??;
    if args.json {
        let patterns = all
            .iter()
            .map(|pattern| json!({"pattern": pattern.name, "here": word(pattern.here), "there": word(pattern.there)}));
        let cases = cases.iter().map(|test| {
            let (here, there) = (word(test.here), word(test.there));
            json!({"pattern": test.pattern, "test": test.file, "here": here, "there": there})
        });
        let all: Vec<Value> = patterns.chain(cases).chain(around.json()).collect();
        output::result(&Value::from(all).to_string())?;
        return Ok(ExitCode::SUCCESS);
    }
    let is_gone = |test: &Test| {
        let mut gone = all.iter().filter(|pattern| pattern.there == Since::Gone);
        gone.any(|pattern| pattern.name == test.pattern) && test.there == Since::Gone
    };
    let patterns = all.iter().filter(|pattern| !pattern.is_in_step());
    let patterns = patterns.map(|pattern| (pattern.name.clone(), state_of(pattern.here, pattern.there)));
    let differing = cases.iter().filter(|test| !test.is_in_step());
    let differing = differing.map(|test| {
        let state = match test.here != Since::New && is_gone(test) {
            true => "its pattern was deleted on the server",
            false => state_of(test.here, test.there),
        };
        (test.place(), state)
    });
    let mut lines: Vec<String> = patterns
        .chain(differing)
        .map(|(name, state)| format!("{name:44} {state}"))
        .collect();
    lines.extend(around.lines());
    for line in &lines {
        output::result(line)?;
    }
    if lines.is_empty() {
        output::note(&format!(
            "{} patterns and {} tests, all as on the server",
            all.len(),
            cases.len()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

/// Those that are named, or all.
fn selected(all: Vec<Pattern>, wanted: &Selection) -> Result<Vec<Pattern>, Failure> {
    let is_there = |name: &str| all.iter().any(|pattern| pattern.name == name);
    if let Some(missing) = wanted.patterns.iter().flatten().find(|name| !is_there(name)) {
        return Err(Failure::usage(format!(
            "there is no pattern `{missing}`, neither here nor on the server: `heddle status` lists what differs"
        )));
    }
    let is_wanted = |pattern: &Pattern| wanted.has_pattern(&pattern.name);
    Ok(all.into_iter().filter(is_wanted).collect())
}

/// The tests of the patterns that are named, or all.
fn selected_tests(all: Vec<Test>, wanted: &Selection) -> Vec<Test> {
    let is_wanted = |test: &Test| wanted.has_pattern(&test.pattern);
    all.into_iter().filter(is_wanted).collect()
}

/// Prints what has changed since both sides were in step, by node.
pub fn diff(args: &DiffArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let wanted = Selection::of(&args.patterns);
    serve::wait(async {
        let all = sync::patterns(&directory, &server).await?;
        for mut pattern in selected(all, &wanted)? {
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
        for test in selected_tests(test_files::all(&directory, &server).await?, &wanted) {
            let side = if args.server { test.there } else { test.here };
            if side != Since::Same {
                output::result(&format!("{}: {}", test.place(), word(side)))?;
            }
        }
        let around = WorkspaceFiles::wanted(&directory, &server, &wanted).await?;
        around.diff(&directory, args.server)?;
        Ok::<_, Failure>(())
    })??;
    Ok(ExitCode::SUCCESS)
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
    let wanted = Selection::of(&args.patterns);
    let all = sync::patterns(directory, server).await?;
    let mut is_whole = true;
    let mut count = 0;
    let mut left = Vec::new();
    for mut pattern in selected(all, &wanted)? {
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
    for test in selected_tests(test_files::all(directory, server).await?, &wanted) {
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
    // After the patterns, whose directories' names stand in environments.
    let around = WorkspaceFiles::wanted(directory, server, &wanted).await?;
    for (place, done) in around.pull(directory, prefer, args.dry_run)? {
        count += 1;
        is_whole &= !matches!(done, Done::Left(_) | Done::Conflicts(_));
        output::result(&report(&place, &done))?;
    }
    if count == 0 {
        output::note("nothing has changed on the server");
    } else if args.dry_run {
        output::note(ONLY_SAID);
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
    let wanted = Selection::of(names);
    let mut all = selected(sync::patterns(directory, server).await?, &wanted)?;
    let mut around = WorkspaceFiles::wanted(directory, server, &wanted).await?;
    let mut obstacles = around.obstacles(directory, options);
    for pattern in &mut all {
        if let Some(why) = sync::obstacle(directory, server, pattern, options).await? {
            let why = why.replace('\n', "\n    ");
            obstacles.push(format!("  {}: {why}", pattern.name));
        }
    }
    let cases = selected_tests(test_files::all(directory, server).await?, &wanted);
    for test in &cases {
        if let Some(why) = test_files::obstacle(directory, test, options).or_else(|| wrong(test)) {
            obstacles.push(format!("  {}: {why}", test.place()));
        }
    }
    if !obstacles.is_empty() {
        let message = format!("nothing was pushed:\n{}", obstacles.join("\n"));
        return Err(Failure::new(Exit::Failed, "REFUSED", message));
    }
    // Variables first: what is refused of them is refused before a pattern that needs them is stored.
    let mut count = around.push_variables(directory, server, options).await?;
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
    count += around.push_schedules(directory, server, options).await?;
    if count == 0 {
        output::note("nothing has changed here");
    } else if options.dry_run {
        output::note(ONLY_SAID);
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
