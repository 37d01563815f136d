//! The operator's API of a running server, as its client.

use crate::cli::failure::{Exit, Failure};
use crate::cli::output;
use heddle_model::error::chain;
use reqwest::{Method, RequestBuilder, Response as Answer};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;
use std::time::Duration;

/// Deleting a workspace takes as long as it has rows.
const ANSWER_MAX: Duration = Duration::from_secs(60 * 60);

fn client() -> Result<reqwest::Client, Failure> {
    // Fails when a provider was chosen already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().no_proxy().timeout(ANSWER_MAX).build();
    client.map_err(|error| Failure::new(Exit::File, "FILE", chain(&error)))
}

/// The operator's API.
pub struct Operator {
    url: String,
    token: SecretString,
    client: reqwest::Client,
}

impl Operator {
    /// At this address, by this token.
    pub fn at(url: String, token: SecretString) -> Result<Self, Failure> {
        let client = client()?;
        Ok(Operator { url, token, client })
    }

    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let text = self.send(method, path, body).await?;
        self.json(path, &text)
    }

    pub fn json(&self, path: &str, text: &str) -> Result<Value, Failure> {
        serde_json::from_str(text).map_err(|error| {
            let message = format!("{}{path}: the answer is not JSON: {error}", self.url);
            Failure::new(Exit::Failed, "ANSWER", message)
        })
    }

    pub async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<String, Failure> {
        let mut request = self.request(method, path);
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        self.text(request).await
    }

    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let url = format!("{}{path}", self.url);
        let request = self.client.request(method, url);
        request.bearer_auth(self.token.expose_secret())
    }

    pub async fn text(&self, request: RequestBuilder) -> Result<String, Failure> {
        let answer = self.answered(request).await?;
        answer.text().await.map_err(|error| self.unreachable(error))
    }

    /// An answer that is not a refusal.
    pub async fn answered(&self, request: RequestBuilder) -> Result<Answer, Failure> {
        let answer = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        let text = answer.text().await.map_err(|error| self.unreachable(error))?;
        let error: Value = serde_json::from_str(&text).unwrap_or_default();
        let message = error["error"]["message"].as_str();
        let message = message.map_or_else(|| format!("{}: {status}", self.url), str::to_owned);
        Err(match status.as_u16() {
            502..=504 => Failure::new(Exit::Failed, "UNREACHABLE", message),
            _ => Failure::new(Exit::Failed, "REFUSED", message),
        })
    }

    pub fn unreachable(&self, error: reqwest::Error) -> Failure {
        // The address without its query is in front of it.
        let why = match error.is_connect() {
            true => "can't be reached: is the server running, and is this where it listens? --url names another place".to_owned(),
            false => chain(&error.without_url()),
        };
        Failure::new(Exit::Failed, "UNREACHABLE", format!("{}: {why}", self.url))
    }
}

/// Prints the data of an answer: as JSON, or as text for people.
pub fn print_data(answer: &Value, json: bool, text: impl FnOnce(&Value) -> String) -> Result<(), Failure> {
    let data = &answer["data"];
    match json {
        true => output::result(&data.to_string()),
        false => output::result(&text(data)),
    }
}
