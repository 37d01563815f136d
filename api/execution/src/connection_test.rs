//! Trying a connection for whoever makes it: within the limits of their workspace's runs, and by the same effects. Nothing
//! of it is stored.

use crate::queue::Share;
use crate::test_run::TestRuns;
use heddle_catalogue::ConnectionKind;
use heddle_model::access::Editor;
use heddle_model::error::ServiceError;
use heddle_model::tenant::Tenant;
use heddle_runtime::{Connection, EffectError, Probe, ProbeWay, Probed};
use serde_json::{Map, Value};
use std::time::Duration;

/// Time for all of it, the wait for a place left aside.
const TIME_MAX: Duration = Duration::from_secs(15);
/// Where a connection for chats goes that names no other place.
const CHAT_URL: &str = "https://api.openai.com/v1/models";

/// A connection to try.
pub struct ConnectionTest {
    /// Its id; of one that is not stored, any that no other has.
    pub id: String,
    /// What people call it.
    pub name: String,
    /// The service.
    pub provider: String,
    /// Hosts that it may be sent to; none: any.
    pub hosts: Vec<String>,
    /// Its fields in clear.
    pub fields: Map<String, Value>,
    /// What it leads to; `None`: what its fields are fit for.
    pub kind: Option<ConnectionKind>,
    /// Where a request is sent to, or a path below the field `baseUrl`.
    pub url: Option<String>,
}

/// How it went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectionTested {
    /// Whether it can be used, as far as that was found out.
    pub is_ok: bool,
    /// What was found out, for people.
    pub message: String,
    /// Code of the error that a node would have.
    pub code: Option<String>,
    /// How long it took, in milliseconds.
    pub duration_ms: u64,
}

/// Tries a connection in one place among the tenant's executing runs.
pub(crate) async fn try_connection(
    tests: &TestRuns,
    editor: &Editor,
    test: ConnectionTest,
) -> Result<ConnectionTested, ServiceError> {
    let kind = test.kind.unwrap_or_else(|| kind_of(&test));
    let way = way(kind, &test)?;
    let runtime = tests.modules.runtime().await?.clone();
    let tenant = Tenant::of(editor.user(), editor.workspace());
    let share = Share {
        owner: tests.owner(editor).await?,
        tenant,
    };
    let time_max = TIME_MAX.min(tests.timeout);
    let _place = tests.place(share, tests.timeout).await?;
    let probe = Probe {
        connection: Connection {
            id: test.id,
            name: test.name,
            provider: test.provider,
            hosts: test.hosts,
            fields: test.fields,
            former: Vec::new(),
        },
        tenant: Some(tenant.to_string()),
        owner: Some(share.owner.as_u128()),
        way,
        time_max,
        answer_bytes_max: tests.limits.effect_result_bytes_max,
    };
    let started = heddle_model::clock::monotonic();
    let result = runtime.probe(probe).await;
    let duration_ms = u64::try_from(heddle_model::clock::since(started).as_millis()).unwrap_or(u64::MAX);
    Ok(report(kind, result, duration_ms))
}

/// What the fields of a connection are fit for.
fn kind_of(test: &ConnectionTest) -> ConnectionKind {
    let text = |name: &str| test.fields.get(name).and_then(Value::as_str);
    let scheme = text("url")
        .and_then(|url| url.split_once("://"))
        .map(|(scheme, _)| scheme);
    let named = scheme
        .or(text("kind"))
        .unwrap_or(&test.provider)
        .to_ascii_lowercase();
    match named.as_str() {
        "postgres" | "postgresql" | "pg" | "mysql" | "mariadb" | "sqlite" | "sqlite3" => ConnectionKind::Sql,
        "open-ai" | "openai" => ConnectionKind::Chat,
        "imap" | "pop3" | "pop" => ConnectionKind::Mailbox,
        _ if text("host").is_some() && text("baseUrl").is_none() => ConnectionKind::Smtp,
        _ => ConnectionKind::Http,
    }
}

fn way(kind: ConnectionKind, test: &ConnectionTest) -> Result<ProbeWay, ServiceError> {
    let has_base = test
        .fields
        .get("baseUrl")
        .and_then(Value::as_str)
        .is_some_and(|base| !base.trim().is_empty());
    Ok(match (kind, &test.url) {
        (ConnectionKind::Sql, _) => ProbeWay::Sql,
        (ConnectionKind::Smtp, _) => ProbeWay::Smtp,
        (ConnectionKind::Mailbox, _) => ProbeWay::Mailbox,
        (_, Some(url)) => ProbeWay::Http(url.clone()),
        (ConnectionKind::Chat, None) => ProbeWay::Http(if has_base { "models" } else { CHAT_URL }.to_owned()),
        (ConnectionKind::Http, None) if has_base => ProbeWay::Http(String::new()),
        (ConnectionKind::Http, None) => {
            let message = "is needed: the connection has no `baseUrl` that a request could be sent to";
            return Err(ServiceError::field("url", message));
        }
    })
}

fn report(kind: ConnectionKind, result: Result<Probed, EffectError>, duration_ms: u64) -> ConnectionTested {
    let (is_ok, message, code) = match result {
        Err(error) => (false, error.message, Some(error.code.as_str().to_owned())),
        Ok(Probed {
            http_status: Some(status),
        }) => of_status(status),
        Ok(_) if matches!(kind, ConnectionKind::Smtp | ConnectionKind::Mailbox) => {
            (true, "The mail server accepted the login.".to_owned(), None)
        }
        Ok(_) => (true, "Connected to the database.".to_owned(), None),
    };
    ConnectionTested {
        is_ok,
        message,
        code,
        duration_ms,
    }
}

/// What the status of an answer says of the credentials.
fn of_status(status: u16) -> (bool, String, Option<String>) {
    let failed = Some(format!("HTTP_{status}"));
    match status {
        401 | 403 => (
            false,
            format!("The service answered {status}: it does not accept the credentials for this address."),
            failed,
        ),
        407 | 500.. => (
            false,
            format!("The service answered {status}: it can't be used right now."),
            failed,
        ),
        400.. => (
            true,
            format!(
                "The service answered {status}: it can be reached, but this address does not show whether it accepts the \
                 credentials."
            ),
            None,
        ),
        _ => (true, format!("The service answered {status}."), None),
    }
}
