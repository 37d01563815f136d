//! Prints what becomes of a collection of expressions, given as JSON lines `{"e": expression, "n": occurrences}`:
//! `cargo run -p heddle-compiler --example corpus -- FILE`. Kept in docs/expressions-corpus.md.

#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command prints")]

#[path = "../../tests/shared/corpus.rs"]
mod corpus;

use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("name a file of JSON lines");
        return ExitCode::FAILURE;
    };
    match std::fs::read_to_string(&path) {
        Ok(lines) => {
            let tally = corpus::Tally::of(&lines);
            println!("{}\n{}", tally.table(), tally.causes(40));
            for line in &tally.no_javascript {
                println!("no JavaScript: {line}");
            }
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{path} can't be read: {error}");
            ExitCode::FAILURE
        }
    }
}
