//! Makes tests from runs on a directory's server, and from events that its webhooks have received.

use super::pattern_name;
use super::running::id_of;
use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use crate::cli::serve;
use heddle_remote::directory::Directory;
use heddle_remote::server::{Server, plain};
use heddle_remote::test_files;
use reqwest::Method;
use serde_json::{Value, json};
use std::process::ExitCode;

/// What a test is made of.
pub enum MadeFrom<'a> {
    /// A run, by its id.
    Run(&'a str),
    /// An event of a pattern's webhooks, 1 for the newest.
    Event(&'a str, usize),
}

/// Makes a test, on the server and here.
pub fn make_test(of: &MadeFrom<'_>, name: Option<&str>) -> Result<ExitCode, Failure> {
    let (mut directory, server) = super::opened()?;
    serve::wait(async {
        let (pattern, path, mut body) = match of {
            MadeFrom::Run(run) => of_run(&directory, &server, run).await?,
            MadeFrom::Event(pattern, number) => of_event(&directory, &server, pattern, *number).await?,
        };
        if let Some(name) = name {
            body["name"] = name.into();
        }
        let made = server.ask(Method::POST, &path, Some(&body)).await?;
        let file = test_files::keep(&mut directory, &pattern, &made["test"])?;
        directory.save()?;
        output::result(&directory.test_path(&pattern, &file).display().to_string())?;
        for node in made["unpinned"].as_array().into_iter().flatten() {
            output::note(&format!(
                "node {} reaches outside and is not pinned: {}",
                plain(node["nodeId"].as_str().unwrap_or_default()),
                why(node["reason"].as_str().unwrap_or_default())
            ));
        }
        Ok::<_, Failure>(())
    })??;
    Ok(ExitCode::SUCCESS)
}

fn why(reason: &str) -> &'static str {
    match reason {
        "notReached" => "the run did not reach it",
        "repeated" => "it executed several times, but a pin has one value",
        "failed" => "it failed, or was under way when the run ended",
        "tooLarge" => "its output was not recorded in full",
        "notReplayed" => {
            "its output was not recorded, and the server has no room to execute the run once more: make the test again later"
        }
        _ => "its output is unknown",
    }
}

async fn of_run(
    directory: &Directory,
    server: &Server,
    run: &str,
) -> Result<(String, String, Value), Failure> {
    let query: String = form_urlencoded::byte_serialize(run.as_bytes()).collect();
    let found = server
        .ask(Method::GET, &format!("/api/runs?limit=1&q={query}"), None)
        .await?;
    let mut found = found["data"].as_array().into_iter().flatten();
    let found = found.find(|found| found["id"] == run);
    let found = found.ok_or_else(|| {
        let message =
            format!("there is no run {run} in this workspace: `heddle runs` lists them with their ids");
        Failure::new(Exit::Failed, "NOT_FOUND", message)
    })?;
    let id = found["patternId"].as_str().unwrap_or_default();
    let mut known = directory.locked.iter();
    let (pattern, _) = known.find(|(_, locked)| locked.id == id).ok_or_else(|| {
        Failure::usage("the run belongs to a pattern that is not in this directory: pull it first")
    })?;
    let body = json!({"deploymentId": found["deploymentId"], "runId": run});
    Ok((
        pattern.clone(),
        format!("/api/patterns/{id}/tests/from-run"),
        body,
    ))
}

async fn of_event(
    directory: &Directory,
    server: &Server,
    pattern: &str,
    number: usize,
) -> Result<(String, String, Value), Failure> {
    let id = id_of(directory, pattern)?;
    let path = format!("/api/patterns/{id}/tap-events");
    let found = server.ask(Method::GET, &path, None).await?;
    let events: Vec<&Value> = found["events"].as_array().into_iter().flatten().collect();
    let event = events.get(number.saturating_sub(1)).ok_or_else(|| {
        let message = format!(
            "the server keeps {} events of this pattern's webhooks",
            events.len()
        );
        Failure::new(Exit::Failed, "NOT_FOUND", message)
    })?;
    let body = json!({"nodeId": event["nodeId"], "receivedAt": event["receivedAt"]});
    let path = format!("/api/patterns/{id}/tests/from-event");
    Ok((pattern_name(pattern).to_owned(), path, body))
}
