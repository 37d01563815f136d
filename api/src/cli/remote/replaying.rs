//! `heddle replay`: replays the events of a deployment with another version of the pattern. Nothing reaches outside, and nothing is stored.

use super::running::{environment, id_of, print_rights};
use super::{opened, pattern_name};
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::serve;
use clap::Args;
use heddle_remote::directory::Directory;
use heddle_remote::server::{Server, plain};
use reqwest::Method;
use serde_json::{Map, Value, json};
use std::process::ExitCode;

/// Events of a request: the server gives it 45 s.
const PAGE: u64 = 200;

/// Characters of a value in a line.
const VALUE_CHARS_MAX: usize = 120;

/// What stands for the directory's own files in place of a version.
const HERE: &str = "here";

/// Flags of `heddle replay`.
#[derive(Args, Debug)]
pub struct ReplayArgs {
    /// The pattern, by its directory's name.
    pattern: String,
    /// The environment whose deployment has had the events.
    #[arg(long)]
    env: String,
    /// What is tried with them: a version's number, or `here` for the files of this directory.
    #[arg(long, default_value = HERE, value_name = "VERSION")]
    against: String,
    /// How many events, the newest first.
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    last: u64,
    /// Print JSON: a line for each event that is not treated alike, and then the sums.
    #[arg(long)]
    pub json: bool,
}

/// Sums of all answers.
#[derive(Default)]
struct Sums {
    same: u64,
    different: u64,
    unanswered: u64,
    skipped: u64,
    /// Fuel and microseconds, before and after.
    fuel: [u64; 2],
    time: [u64; 2],
}

impl Sums {
    fn add(&mut self, report: &Value) {
        add(&mut self.same, &report["same"]);
        add(&mut self.different, &report["different"]);
        add(&mut self.unanswered, &report["unanswered"]);
        add(&mut self.skipped, &report["skipped"]);
        let sides = [&report["before"], &report["after"]];
        for ((fuel, time), side) in self.fuel.iter_mut().zip(&mut self.time).zip(sides) {
            add(fuel, &side["fuelUsed"]);
            add(time, &side["durationUs"]);
        }
    }

    fn all(&self) -> u64 {
        let differing = self.different.saturating_add(self.unanswered);
        differing.saturating_add(self.same).saturating_add(self.skipped)
    }

    fn lines(&self) -> [String; 3] {
        let [fuel, new_fuel] = self.fuel;
        let [time, new_time] = self.time.map(|micros| micros / 1_000);
        [
            format!(
                "{} the same, {} different, {} without an answer, {} skipped",
                self.same, self.different, self.unanswered, self.skipped
            ),
            format!("fuel: {fuel} → {new_fuel}"),
            format!("time: {time} ms → {new_time} ms"),
        ]
    }

    fn json(&self) -> Value {
        json!({
            "same": self.same, "different": self.different, "unanswered": self.unanswered, "skipped": self.skipped,
            "before": {"fuelUsed": self.fuel[0], "durationUs": self.time[0]},
            "after": {"fuelUsed": self.fuel[1], "durationUs": self.time[1]},
        })
    }
}

fn add(sum: &mut u64, value: &Value) {
    *sum = sum.saturating_add(value.as_u64().unwrap_or_default());
}

/// Tries a version with recorded events. The exit code is 1 if it treats any of them differently.
pub fn replay(args: &ReplayArgs) -> Result<ExitCode, Failure> {
    let (directory, server) = opened()?;
    let id = id_of(&directory, &args.pattern)?;
    let name = pattern_name(&args.pattern);
    let tried = tried(&directory, name, &args.against)?;
    let sums = serve::wait(async {
        let environment = environment(&directory, &server, &args.env).await?;
        let mut body = tried;
        body.insert("environmentId".to_owned(), environment.into());
        all(&server, args, &format!("/api/patterns/{id}/replay"), body).await
    })??;
    if args.json {
        output::result(&sums.json().to_string())?;
    } else {
        for line in sums.lines() {
            output::result(&line)?;
        }
    }
    if sums.all() == 0 {
        output::note(&format!(
            "the deployment to {} has not received any events: there was nothing to replay",
            args.env
        ));
    }
    Ok(match (sums.different, sums.unanswered) {
        (0, 0) => ExitCode::SUCCESS,
        _ => ExitCode::from(Exit::Failed as u8),
    })
}

/// The part of a request that says what is tried.
fn tried(directory: &Directory, name: &str, against: &str) -> Result<Map<String, Value>, Failure> {
    let mut body = Map::new();
    if against == HERE {
        let document = directory.read(name)?;
        body.insert("graphData".to_owned(), document.graph.into());
        body.insert("nodeDefinitions".to_owned(), document.definitions.into());
        return Ok(body);
    }
    let version: u64 = against.parse().map_err(|_| {
        Failure::usage(format!(
            "--against takes the number of a version, or `{HERE}` for the files of this directory; `{against}` is neither"
        ))
    })?;
    body.insert("versionNumber".to_owned(), version.into());
    Ok(body)
}

/// Asks until enough events have been replayed, and prints differences as they come.
async fn all(
    server: &Server,
    args: &ReplayArgs,
    path: &str,
    mut body: Map<String, Value>,
) -> Result<Sums, Failure> {
    let mut sums = Sums::default();
    loop {
        let left = args.last.saturating_sub(sums.all());
        body.insert("limit".to_owned(), left.min(PAGE).into());
        let report = server
            .ask(Method::POST, path, Some(&Value::Object(body.clone())))
            .await?;
        if sums.all() == 0 && !args.json {
            print_rights(&report)?;
        }
        let before = sums.all();
        sums.add(&report);
        for run in report["runs"].as_array().into_iter().flatten() {
            match args.json {
                true => output::result(&run.to_string())?,
                false => print_run(run)?,
            }
        }
        let cursor = report["nextCursor"].as_str().map(str::to_owned);
        let Some(cursor) = cursor.filter(|_| sums.all() > before && sums.all() < args.last) else {
            return Ok(sums);
        };
        body.insert("cursor".to_owned(), cursor.into());
    }
}

/// Tells of an event what differs, by node and field.
fn print_run(run: &Value) -> Result<(), Failure> {
    let text = |name: &str| plain(run[name].as_str().unwrap_or_default());
    output::result(&format!(
        "{}  {}  {}",
        text("acceptedAt"),
        text("runId"),
        text("status")
    ))?;
    if let Some(message) = run["message"].as_str() {
        output::result(&format!("  {}", plain(message)))?;
    }
    for effect in run["unanswered"].as_array().into_iter().flatten() {
        let node = plain(effect["nodeId"].as_str().unwrap_or("?"));
        let kind = plain(effect["kind"].as_str().unwrap_or_default());
        let what = match effect["reason"].as_str() {
            Some("changed") => "with another request than in the run",
            _ => "which it did not in the run",
        };
        output::result(&format!("  node {node}: has the effect {kind}, {what}"))?;
    }
    for node in run["nodes"].as_array().into_iter().flatten() {
        let place = match node["path"].as_str().unwrap_or_default() {
            "" => String::new(),
            path => format!(" ({})", plain(path)),
        };
        let who = format!(
            "node {}{place}",
            plain(node["nodeId"].as_str().unwrap_or_default())
        );
        differences(&who, &node["differences"])?;
    }
    differences("the run", &run["differences"])?;
    match run["differencesOmitted"].as_u64().unwrap_or_default() {
        0 => Ok(()),
        omitted => output::result(&format!("  and {omitted} more")),
    }
}

fn differences(who: &str, all: &Value) -> Result<(), Failure> {
    for difference in all.as_array().into_iter().flatten() {
        let path = plain(difference["path"].as_str().unwrap_or_default());
        let line = format!(
            "  {who}, {path}: {} → {}",
            value(difference.get("expected")),
            value(difference.get("actual"))
        );
        output::result(&line)?;
    }
    Ok(())
}

fn value(value: Option<&Value>) -> String {
    let Some(value) = value else {
        return "nothing".to_owned();
    };
    let text = plain(&value.to_string());
    match text.chars().count() > VALUE_CHARS_MAX {
        true => text.chars().take(VALUE_CHARS_MAX).chain(['…']).collect(),
        false => text,
    }
}
