//! Servers that heddle asks outside of runs and that mean harm: mailboxes, and providers of OAuth 2.0. What they say is spoilt by
//! the generator, and understood or refused.

use super::head;
use super::runtimes;
use super::server::{Server, say};
use crate::services::{Given, open_runtime, runtime_with_crashing_connectors, runtime_with_lying_connectors};
use crate::spoiler::{Spoiler, cases};
use crate::tried::tried;
use heddle_catalogue::ClientAuth;
use heddle_runtime::consent::{ConsentClient, ConsentError, ConsentHttp};
use heddle_runtime::{
    Afterwards, EffectCode, EffectError, EgressPolicy, MailboxAccess, Numbering, Runtime, SqliteFiles,
};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use zeroize::Zeroizing;

/// Name, greeting, and what is answered to a line.
type Protocol = (&'static str, &'static str, fn(&str) -> String);

/// The largest message that is asked for, and how many are.
const MESSAGE_BYTES_MAX: usize = 1 << 10;
const MESSAGES_MAX: usize = 5;
/// Characters of what people are told.
const TOLD_CHARS_MAX: usize = 1_000;

/// Answers each line, until one side has had enough.
fn talk(
    mut stream: TcpStream,
    greeting: &str,
    answer: fn(&str) -> String,
    mut spoil: impl FnMut(Vec<u8>) -> Vec<u8>,
) {
    let Ok(reading) = stream.try_clone() else { return };
    let mut commands = BufReader::new(reading);
    let mut said = greeting.to_owned();
    loop {
        if say(&mut stream, said.into_bytes(), &mut spoil).is_none() {
            return;
        }
        let mut command = String::new();
        if !matches!(commands.read_line(&mut command), Ok(1..)) {
            return;
        }
        said = answer(command.trim_end());
    }
}

/// What an IMAP server answers whose mailbox has one message.
fn imap(line: &str) -> String {
    let (tag, command) = line.split_once(' ').unwrap_or((line, ""));
    let said = if command.starts_with("CAPABILITY") {
        "* CAPABILITY IMAP4rev1 UIDPLUS\r\n"
    } else if command.starts_with("SELECT") {
        "* OK [UIDVALIDITY 7] valid\r\n* OK [UIDNEXT 2] next\r\n"
    } else if command.starts_with("UID SEARCH") {
        "* SEARCH 1\r\n"
    } else if command.contains("RFC822.SIZE") {
        "* 1 FETCH (FLAGS (\\Seen ($X)) UID 1 RFC822.SIZE 19 INTERNALDATE \"20-Nov-2026 09:00:00 +0000\")\r\n"
    } else if command.contains("BODY.PEEK[]") {
        "* 1 FETCH (UID 1 BODY[] {19}\r\nSubject: 1\r\n\r\nHello)\r\n"
    } else {
        ""
    };
    format!("{said}{tag} OK done\r\n")
}

/// The same by POP3, with two messages.
fn pop(line: &str) -> String {
    let said = match line.split(' ').next().unwrap_or_default() {
        "CAPA" => "+OK\r\nUIDL\r\n.\r\n",
        "UIDL" => "+OK\r\n1 first\r\n2 second\r\n.\r\n",
        "LIST" => "+OK 1 19\r\n",
        "RETR" => "+OK\r\nSubject: 1\r\n\r\nHello\r\n.\r\n",
        _ => "+OK\r\n",
    };
    said.to_owned()
}

fn access(protocol: &str, fields: Value) -> MailboxAccess {
    MailboxAccess {
        connections: Arc::new(Given::one(protocol, fields)),
        granted: vec![protocol.to_owned()],
        connection: protocol.to_owned(),
        name: "INBOX".to_owned(),
        is_changed: true,
    }
}

fn fields(port: u16) -> Value {
    json!({"host": "127.0.0.1", "port": port, "tls": "none", "user": "a", "password": "pw"})
}

/// Reads what is in a mailbox, and deletes it.
async fn read(runtime: &Runtime, protocol: &str, port: u16) -> Result<(), EffectError> {
    let mut mailbox = runtime.open_mailbox(access(protocol, fields(port))).await?;
    let mut numbers = match mailbox.numbering() {
        Numbering::Growing { .. } => mailbox.search(1, None).await?,
        Numbering::Ids => mailbox
            .list()
            .await?
            .iter()
            .map(|message| message.number)
            .collect(),
    };
    numbers.truncate(MESSAGES_MAX);
    if numbers.is_empty() {
        return Ok(());
    }
    for about in mailbox.about(&numbers).await? {
        if let Some(message) = mailbox.fetch(about.number, MESSAGE_BYTES_MAX).await? {
            assert!(message.len() <= MESSAGE_BYTES_MAX + 2, "{}", message.len());
        }
        mailbox.settle(about.number, &Afterwards::Delete).await?;
    }
    mailbox.end().await
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_mailboxes_end_well() {
    let protocols: [Protocol; 2] = [("imap", "* OK ready\r\n", imap), ("pop3", "+OK ready\r\n", pop)];
    for (protocol, greeting, answer) in protocols {
        for (mode, runtime) in runtimes() {
            let honest = Server::start(move |stream| talk(stream, greeting, answer, |said| said));
            read(&runtime, protocol, honest.port).await.unwrap();
            tried(protocol, cases(60), move |seed| {
                let runtime = runtime.clone();
                async move {
                    let spoiler = Spoiler::new(seed, 7);
                    let of_server = spoiler.clone();
                    let server = Server::start(move |stream| {
                        let mut spoiler = of_server.clone();
                        talk(stream, greeting, answer, |said| spoiler.spoil(said));
                    });
                    if let Err(error) = read(&runtime, protocol, server.port).await {
                        let known = [
                            EffectCode::MailFailed,
                            EffectCode::Timeout,
                            EffectCode::OutputLimit,
                        ];
                        let case = format!("{protocol} {mode}, seed {seed}");
                        assert!(known.contains(&error.code), "{case}: {error}");
                        let chars = error.message.chars().count();
                        assert!(chars <= TOLD_CHARS_MAX, "{case}: {chars}");
                        let crashed = error.message.contains("sent an unreadable answer");
                        assert!(!crashed, "{case}: {error}");
                    }
                    spoiler.has_spoilt()
                }
            })
            .await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_in_a_mailbox_is_told_and_ends_nothing_else() {
    let crashing = runtime_with_crashing_connectors(SqliteFiles::None);
    let protocols: [Protocol; 2] = [("imap", "* OK ready\r\n", imap), ("pop3", "+OK ready\r\n", pop)];
    for (protocol, greeting, answer) in protocols {
        let server = Server::start(move |stream| talk(stream, greeting, answer, |said| said));
        let failure = read(&crashing, protocol, server.port).await.unwrap_err();
        let told = format!(
            "The mail server 127.0.0.1:{} sent an unreadable answer: the process that read it crashed. Nothing else is \
             affected.",
            server.port
        );
        assert_eq!((failure.code, failure.message), (EffectCode::MailFailed, told));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connector_that_lies_is_asked_nothing_more() {
    let server = Server::start(|stream| talk(stream, "* OK ready\r\n", imap, |said| said));
    for lie in [
        "",
        "\"Gone\"",
        r#"{"Found":[9,1]}"#,
        r#"{"Found":[0]}"#,
        r#"{"Listed":[{"number":1,"id":"first"}]}"#,
        r#"{"Entered":{"numbering":"Ids","can_wait":true}}"#,
    ] {
        let runtime = runtime_with_lying_connectors(lie);
        let opened = runtime.open_mailbox(access("imap", fields(server.port))).await;
        let mut mailbox = opened.unwrap();
        for _ in 0..2 {
            let refused = mailbox.search(1, None).await.unwrap_err();
            assert_eq!(refused.code, EffectCode::MailFailed, "{lie}: {refused}");
            let told = refused.message.contains("sent an unreadable answer");
            assert!(told, "{lie}: {refused}");
        }
        assert_eq!(
            mailbox.numbering(),
            Numbering::Growing {
                validity: 7,
                next: Some(2)
            }
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_none_is_told_before_anybody_is_asked() {
    let runtime = open_runtime();
    for text in ["no certificate", "!", "AAAA"] {
        let pem = format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
        for given in [text, &pem] {
            let fields =
                json!({"host": "127.0.0.1", "port": 9, "user": "a", "password": "pw", "tlsCa": given});
            let refused = runtime.open_mailbox(access("imap", fields)).await.unwrap_err();
            let told = refused.message.contains("its `tlsCa` is not a certificate");
            assert!(told, "{given}: {refused}");
        }
    }
}

/// What talks to providers on this machine.
fn consent_http() -> ConsentHttp {
    ConsentHttp::new(&EgressPolicy::parse(["127.0.0.0/8"]).unwrap())
}

fn client(base: &str) -> ConsentClient {
    ConsentClient {
        authorize_url: format!("{base}/authorize"),
        token_url: format!("{base}/token"),
        client_id: "heddle".to_owned(),
        client_secret: Some(Zeroizing::new("s3cret".to_owned())),
        auth: ClientAuth::Header,
        takes_json: false,
        has_proof_keys: true,
        scope_separator: " ".to_owned(),
        scopes: vec!["read".to_owned()],
        parameters: Vec::new(),
        redirect_uri: "https://heddle.example.com/consent".to_owned(),
    }
}

/// How a provider lets its clients prove who they are.
fn methods() -> Value {
    json!({"token_endpoint_auth_methods_supported": ["client_secret_basic"]})
}

/// Answers a request for tokens, or for a provider's addresses: the same object is both, with these fields.
fn provide(mut stream: TcpStream, fields: Value, spoil: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let mut asked = [0; 4096];
    let bytes = stream.read(&mut asked).unwrap_or_default();
    let text = String::from_utf8_lossy(&asked[..bytes]);
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    let issuer = format!("http://{}", host.unwrap_or_default());
    let mut body = json!({
        "access_token": "t", "refresh_token": "r", "token_type": "Bearer", "expires_in": 60, "scope": "read write",
        "issuer": issuer, "authorization_endpoint": format!("{issuer}/authorize"),
        "token_endpoint": format!("{issuer}/token"),
    });
    for (name, field) in fields.as_object().into_iter().flatten() {
        body[name.as_str()] = field.clone();
    }
    let body = body.to_string();
    let headers = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    let _ = stream.write_all(&spoil([head("200 OK", &headers), body.into_bytes()].concat()));
    let _ = stream.shutdown(Shutdown::Write);
    // What was not read yet would take the answer back.
    let _ = stream.read(&mut [0; 4096]);
}

fn assert_short(error: &ConsentError, case: &str) {
    let told = error.to_string();
    let chars = told.chars().count();
    assert!((1..=TOLD_CHARS_MAX).contains(&chars), "{case}: {chars}");
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_answers_of_providers_end_well() {
    let honest = Server::start(|stream| provide(stream, methods(), |said| said));
    let http = consent_http();
    let base = format!("http://127.0.0.1:{}", honest.port);
    let grants = http.exchange(&client(&base), "code", "verifier").await;
    assert_eq!(grants.map(|grants| grants.access.clone()).unwrap(), "t");
    let found = http.discover(&base).await.unwrap();
    assert_eq!(found.token_endpoint, format!("{base}/token"));
    tried("providers", cases(100), move |seed| {
        let http = http.clone();
        async move {
            let spoiler = Spoiler::new(seed, 1);
            let of_server = spoiler.clone();
            let server = Server::start(move |stream| {
                let mut spoiler = of_server.clone();
                provide(stream, methods(), |said| spoiler.spoil(said));
            });
            let base = format!("http://127.0.0.1:{}", server.port);
            let case = format!("seed {seed}");
            match http.exchange(&client(&base), "code", "verifier").await {
                Ok(grants) => assert!(!grants.access.is_empty(), "{case}"),
                Err(error) => assert_short(&error, &case),
            }
            if let Err(error) = http.discover(&base).await {
                assert_short(&error, &case);
            }
            spoiler.has_spoilt()
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_publishes_is_not_quoted_at_length() {
    let long = json!({"token_endpoint_auth_methods_supported": "x".repeat(100_000)});
    let server = Server::start(move |stream| provide(stream, long.clone(), |said| said));
    let base = format!("http://127.0.0.1:{}", server.port);
    let refused = consent_http().discover(&base).await.unwrap_err();
    assert!(refused.to_string().contains("can't be read"), "{refused}");
    assert_short(&refused, "a long list");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provider_publishes_leads_to_the_web() {
    for endpoint in [
        "javascript:alert(document.domain)//",
        // With a host that the operator lists.
        "javascript://127.0.0.1/%0aalert(document.domain)",
        "data:text/html,<script>alert(1)</script>",
        "http://login.example.com/authorize",
        "/authorize",
        "",
    ] {
        for name in ["authorization_endpoint", "token_endpoint", "revocation_endpoint"] {
            let server = Server::start(move |stream| provide(stream, json!({ name: endpoint }), |said| said));
            let base = format!("http://127.0.0.1:{}", server.port);
            let refused = consent_http().discover(&base).await.unwrap_err().to_string();
            assert!(
                refused.contains(name) && refused.contains("https://"),
                "{refused}"
            );
        }
    }
    let mut own = client("javascript://127.0.0.1");
    own.token_url = "https://id.example.com/token".to_owned();
    assert!(own.consent_url("state", "challenge").is_err());
}
