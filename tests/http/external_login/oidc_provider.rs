//! oidc-provider in a process of node, and a person's way through it.

use super::{CLIENT_ID, CLIENT_SECRET, REDIRECT_URI};
use crate::npm;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use reqwest::header::{COOKIE, LOCATION, SET_COOKIE};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// A running provider. Dropping it ends it.
pub struct OidcProvider {
    pub issuer: String,
    /// Host and port.
    pub address: String,
    redirect_uri: &'static str,
    process: Child,
}

impl Drop for OidcProvider {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl OidcProvider {
    /// Installs it if need be, and starts it. The error says what is missing.
    pub async fn start() -> Result<OidcProvider, String> {
        OidcProvider::returning_to(REDIRECT_URI).await
    }

    /// The same, which sends people back to another address.
    pub async fn returning_to(redirect_uri: &'static str) -> Result<OidcProvider, String> {
        let started = tokio::task::spawn_blocking(move || {
            let dir = npm::install("http/external_login", "provider.mjs")?;
            let mut process = Command::new("node")
                .arg("provider.mjs")
                .args([CLIENT_ID, CLIENT_SECRET, redirect_uri])
                .current_dir(dir)
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null())
                .spawn()
                .map_err(|error| format!("node does not start: {error}"))?;
            let mut lines = BufReader::new(process.stdout.take().unwrap()).lines();
            // Before its port it may print warnings, and after it: somebody has to read them.
            let port = lines
                .by_ref()
                .map_while(Result::ok)
                .find_map(|line| line.trim().parse::<u16>().ok());
            std::thread::spawn(move || lines.for_each(drop));
            let port = port.ok_or("the provider did not start")?;
            Ok::<_, String>((process, port))
        });
        let (process, port) = started.await.unwrap()?;
        Ok(OidcProvider {
            issuer: format!("http://127.0.0.1:{port}"),
            address: format!("127.0.0.1:{port}"),
            redirect_uri,
            process,
        })
    }

    /// Puts a person into these groups and no others.
    pub async fn put_into(&self, person: &str, groups: &[&str]) {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(groups.iter().map(|group| ("group", group)));
        let url = format!("{}/groups-of/{person}?{}", self.issuer, query.finish());
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        assert!(client.get(url).send().await.unwrap().status().is_success());
    }

    /// Has it forget all that it has granted.
    pub async fn forget(&self) {
        self.told("forget").await;
    }

    /// How many revocations it was asked for, once these are that many.
    pub async fn revocations(&self, wanted: u32) -> u32 {
        let what = format!("revocations?wanted={wanted}");
        self.told(&what).await.parse().unwrap()
    }

    async fn told(&self, what: &str) -> String {
        let client = reqwest::Client::builder().no_proxy().build().unwrap();
        let asked = client.get(format!("{}/{what}", self.issuer));
        let answer = asked.timeout(Duration::from_secs(20)).send().await.unwrap();
        assert!(answer.status().is_success());
        answer.text().await.unwrap()
    }

    /// An authorization code of this person, as a browser gets it.
    pub async fn code(&self, person: &str, verifier: Option<&str>) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("client_id", CLIENT_ID)
            .append_pair("response_type", "code")
            .append_pair("scope", "openid email profile groups")
            .append_pair("redirect_uri", REDIRECT_URI)
            .append_pair("login_hint", person);
        if let Some(verifier) = verifier {
            let challenge = URL_SAFE_NO_PAD.encode(Sha256::digest(verifier));
            query
                .append_pair("code_challenge", &challenge)
                .append_pair("code_challenge_method", "S256");
        }
        let query = query.finish();
        let answer = self.follow(format!("{}/auth?{query}", self.issuer)).await;
        answer["code"].clone()
    }

    /// What comes back with a person who was sent to this address.
    pub async fn answer_to(&self, url: &str, person: &str) -> BTreeMap<String, String> {
        self.follow(format!("{url}&login_hint={person}")).await
    }

    async fn follow(&self, mut url: String) -> BTreeMap<String, String> {
        let client = reqwest::Client::builder()
            .no_proxy()
            .redirect(reqwest::redirect::Policy::none());
        let client = client.build().unwrap();
        let mut cookies = BTreeMap::new();
        for _ in 0..10 {
            if let Some(rest) = url.strip_prefix(self.redirect_uri) {
                let answer = form_urlencoded::parse(rest.trim_start_matches('?').as_bytes());
                return answer.into_owned().collect();
            }
            let sent: Vec<String> = cookies
                .iter()
                .map(|(name, value)| format!("{name}={value}"))
                .collect();
            let response = client
                .get(&url)
                .header(COOKIE, sent.join("; "))
                .send()
                .await
                .unwrap();
            for cookie in response.headers().get_all(SET_COOKIE) {
                let pair = cookie.to_str().unwrap().split(';').next().unwrap();
                let (name, value) = pair.split_once('=').unwrap();
                cookies.insert(name.to_owned(), value.to_owned());
            }
            let status = response.status();
            let Some(location) = response.headers().get(LOCATION) else {
                panic!("{status} at {url}: {}", response.text().await.unwrap());
            };
            let location = location.to_str().unwrap();
            url = match location.starts_with('/') {
                true => format!("{}{location}", self.issuer),
                false => location.to_owned(),
            };
        }
        panic!("the provider redirects for ever");
    }
}
