//! A server, by its HTTP interface.

use crate::Error;
use crate::document::Document;
use reqwest::{Method, RequestBuilder, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::net::IpAddr;
use std::time::Duration;

/// A request that takes longer has failed. Streams may.
const ANSWER_MAX: Duration = Duration::from_secs(120);
/// Bytes of an answer: a pattern with its components has at most 48 MiB.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// Patterns of a page; the service gives no more.
const PAGE: usize = 100;
/// Tests of a page; a list has little of each.
const TESTS_PAGE: usize = 1000;

/// A server, with a key to one of its workspaces.
#[derive(Debug)]
pub struct Server {
    url: String,
    key: SecretString,
    client: reqwest::Client,
}

/// A pattern in a list.
#[derive(Clone, Debug)]
pub struct Listed {
    /// For the addresses of the API.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// When it was changed last.
    pub updated_at: String,
}

/// A test in the list of a workspace.
#[derive(Clone, Debug)]
pub struct ListedTest {
    /// For the addresses of the API.
    pub id: String,
    /// Whose it is.
    pub pattern_id: String,
    /// What people call it.
    pub name: String,
    /// When it was changed last.
    pub updated_at: String,
}

/// A pattern with its version.
#[derive(Clone, Debug)]
pub struct Fetched {
    /// As files have it.
    pub document: Document,
    /// Its newest version.
    pub version: i64,
    /// When it was changed last.
    pub updated_at: String,
}

/// An address without what means nothing in it.
///
/// # Errors
///
/// It is not a server's.
pub fn address(given: &str) -> Result<String, Error> {
    let wrong = || {
        Error::Usage(format!(
            "`{given}` is not a server's address, such as https://heddle.example.com"
        ))
    };
    let url = Url::parse(given).map_err(|_| wrong())?;
    let is_address = matches!(url.scheme(), "http" | "https")
        && url.has_host()
        && url.username().is_empty()
        && url.password().is_none()
        && url.query().is_none()
        && url.fragment().is_none();
    match is_address {
        true => Ok(url.as_str().trim_end_matches('/').to_owned()),
        false => Err(wrong()),
    }
}

/// Whether an address leads to the machine that asks.
pub(crate) fn is_this_machine(url: &str) -> bool {
    let Ok(url) = Url::parse(url) else {
        return false;
    };
    let host = url.host_str().unwrap_or_default();
    let address = host
        .trim_start_matches('[')
        .trim_end_matches(']')
        .parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

impl Server {
    /// At this address, by this key.
    ///
    /// # Errors
    ///
    /// The system's certificates can't be read.
    pub fn at(url: &str, key: SecretString) -> Result<Self, Error> {
        // Fails when a provider was chosen already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // The key is for this server and no other that it names.
        let mut client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
        if is_this_machine(url) {
            // What a proxy would find there is its own machine.
            client = client.no_proxy();
        }
        let client = client
            .build()
            .map_err(|error| Error::Unreachable(error.to_string()))?;
        Ok(Server {
            url: url.to_owned(),
            key,
            client,
        })
    }

    /// Its address.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Asks, and gives the body of the answer.
    ///
    /// # Errors
    ///
    /// The server has refused, or can't be reached.
    pub async fn ask(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Value, Error> {
        let (answer, _) = self.ask_tagged(method, path, body, None).await?;
        Ok(answer)
    }

    /// Asks about what has a tag (`ETag`): with `if_match`, only if that is still its tag. Gives the tag of the answer, too.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`]: 409 if it has another tag.
    pub async fn ask_tagged(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        if_match: Option<&str>,
    ) -> Result<(Value, Option<String>), Error> {
        let mut request = self.request(method, path).timeout(ANSWER_MAX);
        if let Some(tag) = if_match {
            request = request.header("if-match", tag);
        }
        if let Some(body) = body {
            request = request
                .header("content-type", "application/json")
                .body(body.to_string());
        }
        let answer = self.answered(request).await?;
        let tag = answer.headers().get("etag").and_then(|tag| tag.to_str().ok());
        let tag = tag.map(str::to_owned);
        let bytes = self.body(answer).await?;
        if bytes.is_empty() {
            return Ok((Value::Null, tag));
        }
        let parsed = serde_json::from_slice(&bytes).map_err(|error| {
            Error::Unreachable(format!("{}{path}: the answer is not JSON: {error}", self.url))
        });
        Ok((parsed?, tag))
    }

    /// The body of an answer as it came: numbers keep their digits, and texts their form.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn get_as_it_is(&self, path: &str) -> Result<Vec<u8>, Error> {
        let request = self.request(Method::GET, path).timeout(ANSWER_MAX);
        let answer = self.answered(request).await?;
        self.body(answer).await
    }

    /// The lines of a stream, for as long as it lasts and `line` wants more.
    ///
    /// # Errors
    ///
    /// The server has refused, or the connection was lost.
    pub async fn stream(&self, path: &str, mut line: impl FnMut(&str) -> bool) -> Result<(), Error> {
        let mut answer = self.answered(self.request(Method::GET, path)).await?;
        let mut rest = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(error))? {
            rest.extend_from_slice(&piece);
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                let whole: Vec<u8> = rest.drain(..=end).collect();
                if !line(String::from_utf8_lossy(&whole).trim_end()) {
                    return Ok(());
                }
            }
            if rest.len() > ANSWER_BYTES_MAX {
                return Err(Error::Unreachable(format!(
                    "{}{path}: a line without an end",
                    self.url
                )));
            }
        }
        Ok(())
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}{path}", self.url));
        request.bearer_auth(self.key.expose_secret())
    }

    /// An answer that is not a refusal.
    async fn answered(&self, request: RequestBuilder) -> Result<Response, Error> {
        let answer = request.send().await.map_err(|error| self.unreachable(error))?;
        let status = answer.status();
        if status.is_success() {
            return Ok(answer);
        }
        if status.is_redirection() {
            let message = format!("{} answers {status}: give the address that it leads to", self.url);
            return Err(Error::Unreachable(message));
        }
        let bytes = self.body(answer).await?;
        let body: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let text = |name: &str| body["error"][name].as_str().map(plain);
        if status == StatusCode::UNAUTHORIZED {
            // The server speaks of the header, which no person has written.
            return Err(Error::Refused {
                status: status.as_u16(),
                code: text("code").unwrap_or_default(),
                message: format!(
                    "{} does not accept this API key: it is wrong, has expired or was deleted. Create one in the console, under Keys",
                    self.url
                ),
            });
        }
        Err(Error::Refused {
            status: status.as_u16(),
            code: text("code").unwrap_or_default(),
            message: text("message").unwrap_or_else(|| format!("{}: {status}", self.url)),
        })
    }

    async fn body(&self, mut answer: Response) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        while let Some(piece) = answer.chunk().await.map_err(|error| self.unreachable(error))? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > ANSWER_BYTES_MAX {
                return Err(Error::Unreachable(format!(
                    "{}: the answer is too large",
                    self.url
                )));
            }
        }
        Ok(bytes)
    }

    fn unreachable(&self, error: reqwest::Error) -> Error {
        let error = error.without_url();
        let is_refused = error.is_connect();
        let mut why = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            why = format!("{why}: {cause}");
            source = cause.source();
        }
        if is_refused {
            why = format!("can't be reached ({why}): is the server running, and is this its address?");
        }
        Error::Unreachable(format!("{}: {why}", self.url))
    }

    /// All patterns of the workspace.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn patterns(&self) -> Result<Vec<Listed>, Error> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let query = form_urlencoded::Serializer::new(String::new())
                .append_pair("owner", "workspace")
                .append_pair("limit", &PAGE.to_string())
                .append_pair("cursor", &cursor)
                .finish();
            let page = self
                .ask(Method::GET, &format!("/api/patterns?{query}"), None)
                .await?;
            for pattern in page["data"].as_array().into_iter().flatten() {
                all.push(Listed {
                    id: self.text(pattern, "id")?,
                    name: self.text(pattern, "name")?,
                    updated_at: self.text(pattern, "updatedAt")?,
                });
            }
            match page["meta"]["nextCursor"].as_str() {
                Some(next) => next.clone_into(&mut cursor),
                None => return Ok(all),
            }
        }
    }

    /// The tests of all patterns of the workspace.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn tests(&self) -> Result<Vec<ListedTest>, Error> {
        let mut all = Vec::new();
        let mut cursor = String::new();
        loop {
            let path = format!("/api/tests?limit={TESTS_PAGE}&cursor={cursor}");
            let page = self.ask(Method::GET, &path, None).await?;
            for test in page["data"].as_array().into_iter().flatten() {
                all.push(ListedTest {
                    id: self.text(test, "id")?,
                    pattern_id: self.text(test, "patternId")?,
                    // Compared with files, so as it is.
                    name: test["name"].as_str().unwrap_or_default().to_owned(),
                    updated_at: self.text(test, "updatedAt")?,
                });
            }
            match page["meta"]["nextCursor"].as_str() {
                Some(next) => {
                    cursor = form_urlencoded::byte_serialize(next.as_bytes()).collect();
                }
                None => return Ok(all),
            }
        }
    }

    /// A pattern's newest version.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn pattern(&self, id: &str) -> Result<Fetched, Error> {
        let path = format!("/api/patterns/{id}");
        let pattern = self.ask(Method::GET, &path, None).await?;
        Ok(Fetched {
            document: Document::of(&pattern).ok_or_else(|| self.strange(&path))?,
            version: pattern["versionNumber"]
                .as_i64()
                .ok_or_else(|| self.strange(&path))?,
            updated_at: self.text(&pattern, "updatedAt")?,
        })
    }

    /// An earlier version's graph and definitions, with the other fields of `like`, which versions don't have.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn version(&self, id: &str, version: i64, like: &Document) -> Result<Document, Error> {
        let path = format!("/api/patterns/{id}/versions/{version}");
        let found = self.ask(Method::GET, &path, None).await?;
        let mut document = Document::of(&found).ok_or_else(|| self.strange(&path))?;
        document.fields = like.fields.clone();
        Ok(document)
    }

    /// Stores a new version, based on the one that is named, and gives its number.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`]: 409 if there is a newer version.
    pub async fn put(
        &self,
        id: &str,
        document: &Document,
        base: i64,
        summary: Option<&str>,
    ) -> Result<i64, Error> {
        let mut body = document.whole();
        body["versionNumber"] = base.into();
        if let Some(summary) = summary {
            body["summary"] = summary.into();
        }
        let path = format!("/api/patterns/{id}");
        let stored = self.ask(Method::PUT, &path, Some(&body)).await?;
        stored["versionNumber"]
            .as_i64()
            .ok_or_else(|| self.strange(&path))
    }

    /// Makes a pattern of what the service takes for a new one: name, description, graph, definitions. Gives its id.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn create(&self, document: &Document) -> Result<String, Error> {
        let body = json!({
            "name": document.fields["name"],
            "description": document.fields["description"],
            "graphData": document.graph,
            "nodeDefinitions": document.definitions,
        });
        let made = self
            .ask(Method::POST, "/api/patterns/import", Some(&body))
            .await?;
        self.text(&made, "id")
    }

    /// The errors of a pattern, each in one line.
    ///
    /// # Errors
    ///
    /// Those of [`Server::ask`].
    pub async fn errors_of(&self, document: &Document) -> Result<Vec<String>, Error> {
        let body = json!({"graphData": document.graph, "nodeDefinitions": document.definitions});
        let found = self
            .ask(Method::POST, "/api/execute/validate", Some(&body))
            .await?;
        let findings = found["diagnostics"].as_array();
        let errors = findings
            .into_iter()
            .flatten()
            .filter(|finding| finding["severity"] == "error");
        Ok(errors
            .map(|finding| {
                let text = |name: &str| finding[name].as_str().map(plain);
                let message = text("message").unwrap_or_default();
                match (text("nodeId"), text("parameter")) {
                    (Some(node), Some(parameter)) => format!("node {node}, {parameter}: {message}"),
                    (Some(node), None) => format!("node {node}: {message}"),
                    (None, _) => message,
                }
            })
            .collect())
    }

    fn text(&self, value: &Value, name: &str) -> Result<String, Error> {
        let text = value[name].as_str().map(plain);
        text.ok_or_else(|| self.strange(&format!(": `{name}` is missing")))
    }

    fn strange(&self, what: &str) -> Error {
        Error::Unreachable(format!("{}{what}: this is not an answer of heddle's", self.url))
    }
}

/// What others have written gives a terminal no orders.
pub fn plain(text: &str) -> String {
    text.replace(char::is_control, " ")
}
