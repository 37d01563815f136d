//! `heddle man`: manual pages, made of the same texts as `--help`, a page for each command.

use super::failure::{Exit, Failure};
use super::output;
use clap::{Arg, Args, Command};
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `heddle man`.
#[derive(Args, Debug)]
pub struct ManArgs {
    /// Write all pages to this directory, `heddle.1` and one for each command; without it, the one of heddle is printed.
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Prints or writes the pages of a command and of those below it.
pub fn man(args: &ManArgs, mut command: Command) -> Result<ExitCode, Failure> {
    command.build();
    let Some(folder) = &args.output else {
        output::result_bytes(page("heddle", &command).as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    };
    let unwritten =
        |error: std::io::Error| Failure::new(Exit::File, "FILE", format!("{}: {error}", folder.display()));
    fs::create_dir_all(folder).map_err(unwritten)?;
    let mut rest = vec![("heddle".to_owned(), &command)];
    while let Some((name, command)) = rest.pop() {
        fs::write(folder.join(format!("{name}.1")), page(&name, command)).map_err(unwritten)?;
        let below = shown(command).map(|below| (format!("{name}-{}", below.get_name()), below));
        rest.extend(below);
    }
    Ok(ExitCode::SUCCESS)
}

/// The commands below one that people are told of.
fn shown(command: &Command) -> impl Iterator<Item = &Command> {
    let below = command.get_subcommands();
    below.filter(|below| !below.is_hide_set() && below.get_name() != "help")
}

/// A page, in the language of man(7).
fn page(name: &str, command: &Command) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let mut page = format!(
        ".TH {} 1 \"\" \"heddle {version}\"\n.SH NAME\n{} \\- {}\n",
        plain(&name.to_uppercase()),
        plain(name),
        plain(about.trim_end_matches('.'))
    );
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    page += &format!(".SH SYNOPSIS\n.nf\n{}\n.fi\n", plain(usage));
    if let Some(about) = command.get_long_about() {
        page += &format!(".SH DESCRIPTION\n{}\n", paragraphs(&about.to_string()));
    }
    let arguments: Vec<&Arg> = command.get_arguments().filter(|it| !it.is_hide_set()).collect();
    if !arguments.is_empty() {
        page += ".SH OPTIONS\n";
    }
    for argument in arguments {
        page += &option(argument);
    }
    let mut below = shown(command).peekable();
    if below.peek().is_some() {
        page += ".SH COMMANDS\n";
    }
    for below in below {
        let about = below.get_about().map(ToString::to_string).unwrap_or_default();
        let page_of_it = format!("{name}-{}(1)", below.get_name());
        page += &format!(".TP\n.B {}\n{}\n", plain(&page_of_it), plain(&about));
    }
    if let Some(after) = command.get_after_help() {
        page += &format!(".SH NOTES\n.nf\n{}\n.fi\n", plain(&after.to_string()));
    }
    page
}

fn option(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let mut names = [short, long]
        .into_iter()
        .flatten()
        .collect::<Vec<String>>()
        .join(", ");
    if argument.get_action().takes_values() {
        let values = argument.get_value_names().unwrap_or_default();
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        if !names.is_empty() {
            names.push(' ');
        }
        names += &match values.is_empty() {
            true => argument.get_id().to_string(),
            false => values.join(" "),
        };
    }
    let help = argument.get_long_help().or_else(|| argument.get_help());
    let help = help.map(ToString::to_string).unwrap_or_default();
    format!(".TP\n.B {}\n{}\n", plain(&names), paragraphs(&help))
}

fn paragraphs(text: &str) -> String {
    plain(text).replace("\n\n", "\n.sp\n")
}

/// Text that means nothing but itself to man(7), where a backslash, and a dot or an apostrophe at the beginning of a line, do.
fn plain(text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line = line.replace('\\', "\\e").replace('-', "\\-");
        match line.starts_with(['.', '\'']) {
            true => format!("\\&{line}"),
            false => line,
        }
    });
    lines.collect::<Vec<String>>().join("\n")
}
