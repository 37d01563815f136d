//! Secrets stay secret: they are looked for in every answer, in the log and in every column of the database.

use crate::harness::{self, Service, each_database};
use crate::people::authenticators::secured;
use crate::sessions::claims;
use crate::webhooks::fixture::{Hook, graph, returns};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use heddle_model::error::{Code, ServiceError, chain};
use heddle_store::vault::MasterKey;
use heddle_store::{Db, sql};
use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::{EnvFilter, Layer};

/// All that the test process logs, at the finest level.
static LOG: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn log() -> MutexGuard<'static, Vec<u8>> {
    LOG.lock().unwrap_or_else(PoisonError::into_inner)
}

struct IntoLog;

impl Write for IntoLog {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        log().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn capture_log() {
    static ONCE: OnceLock<()> = OnceLock::new();
    ONCE.get_or_init(|| {
        let layer = tracing_subscriber::fmt::layer()
            .with_ansi(false)
            .with_writer(|| IntoLog);
        // All of ours begin with it.
        let filter = EnvFilter::new("heddle=trace,sqlx=trace,tower_http=trace,axum=trace");
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(filter));
        tracing::subscriber::set_global_default(subscriber).expect("no other test captures the log");
    });
}

/// Every value of every table, as bytes.
async fn whole_database(db: &mut Db<'_>) -> Vec<u8> {
    let names = if db.is_postgres() {
        "select table_name from information_schema.tables where table_schema = 'public'"
    } else {
        "select name from sqlite_master where type = 'table'"
    };
    let tables: Vec<(String,)> = db.all(sql(names)).await.unwrap();
    assert!(tables.len() > 5, "{tables:?}");
    let mut all = Vec::new();
    for (table,) in tables {
        // The test's own text: names of tables come from the database.
        let columns: String = if db.is_postgres() {
            format!("select row_to_json(t)::text from \"{table}\" t")
        } else {
            let columns: Vec<(String,)> = db
                .all(sql("select name from pragma_table_info(?)").bind(&table))
                .await
                .unwrap();
            let quoted: Vec<String> = columns
                .iter()
                .map(|(column,)| format!("case typeof(\"{column}\") when 'blob' then '' else coalesce(\"{column}\", '') end || hex(\"{column}\")"))
                .collect();
            format!("select {} from \"{table}\"", quoted.join(" || ' ' || "))
        };
        let rows: Vec<(String,)> = db.all(sql(String::leak(columns))).await.unwrap();
        for (row,) in rows {
            all.extend_from_slice(row.as_bytes());
            all.push(b'\n');
        }
    }
    all
}

/// A secret in the forms in which it could leak.
fn forms(secret: &str) -> Vec<String> {
    vec![
        secret.to_owned(),
        STANDARD.encode(secret).trim_end_matches('=').to_owned(),
        URL_SAFE_NO_PAD.encode(secret),
        hex::encode(secret),
        hex::encode_upper(secret),
    ]
}

fn assert_hidden(place: &str, text: &[u8], secrets: &[String]) {
    for secret in secrets {
        for form in forms(secret) {
            let found = text.windows(form.len()).any(|window| window == form.as_bytes());
            assert!(!found, "{secret} is in {place}");
        }
    }
}

#[test]
fn what_holds_secrets_does_not_print_them() {
    const SECRET: &str = "correct-horse-battery-staple-32b";
    let key: [u8; 32] = SECRET.as_bytes().try_into().unwrap();
    let fields = serde_json::Map::from_iter([("apiKey".to_owned(), Value::from(SECRET))]);
    let connection = heddle_runtime::Connection {
        id: "1".to_owned(),
        name: "one".to_owned(),
        provider: "open-ai".to_owned(),
        hosts: Vec::new(),
        fields,
        former: vec![SECRET.to_owned()],
    };
    let printed = [
        format!("{:?}", MasterKey::from(key)),
        format!("{:?}", SecretString::from(SECRET)),
        format!("{:?}", heddle_runtime::CacheKey::derived(&key)),
        format!("{:?}", heddle_runtime::Secret::new(SECRET, Vec::new())),
        format!(
            "{:?}",
            heddle_store::secrets::OpenedSecret {
                value: SECRET.into(),
                hosts: Vec::new()
            }
        ),
        format!("{connection:?}"),
        format!("{:#?}", (&connection, MasterKey::from(key))),
    ];
    let bytes = format!("{key:?}");
    let bytes = bytes.trim_matches(['[', ']']);
    for text in printed {
        assert!(!text.contains(SECRET) && !text.contains(bytes), "{text}");
        assert!(!text.contains("99,\n"), "{text}");
    }
}

each_database! {
    async fn no_secret_is_in_an_answer_the_log_or_the_database(service: Service) {
        capture_log();
        // Distinct, so that another test's words are never found.
        let mark = uuid::Uuid::now_v7().simple().to_string();
        let secret = |name: &str| format!("{name}~{mark}~secret");
        let secrets: Vec<String> =
            ["key", "password", "token", "value", "changed", "replaced"].map(secret).to_vec();
        let [key, password, token, value, changed, replaced] = secrets.as_slice() else { panic!() };
        let login_password = format!("login!{mark}");
        let account = json!({"email": "ann@example.com", "firstName": "A", "lastName": "L", "password": login_password});
        let registered = service.post("/api/auth/register").json(&account).send().await;
        let session = registered.data(201)["token"].as_str().unwrap().to_owned();
        let workspace = claims(&session)["workspaceId"].as_str().unwrap().to_owned();
        let path = format!("/api/workspaces/{workspace}/environments");
        let environments = service.get(&path).bearer(&session).send().await;
        let environment = environments.data(200)[0]["id"].as_str().unwrap().to_owned();
        let vars = format!("{path}/{environment}/secrets");
        let mut answers = Vec::new();
        for (method, path, body) in [
            ("POST", "/api/auth/login", json!({"email": "ann@example.com", "password": login_password})),
            ("POST", "/api/auth/login", json!({"email": "ann@example.com", "password": [password]})),
            ("POST", "/api/connections/api-key", json!({"provider": "a", "apiKey": key})),
            ("POST", "/api/connections/api-key", json!({"provider": "a", "apiKey": [key]})),
            ("POST", "/api/connections/api-key", json!({"provider": "-", "apiKey": key})),
            ("POST", "/api/connections/credentials",
                json!({"provider": "b", "credentials": {"password": password, "token": token}})),
            ("POST", "/api/connections/credentials", json!({"provider": "b", "credentials": password})),
            ("POST", "/api/connections/credentials", json!({"provider": "b", "credentials": {"x": [password]}})),
            ("PUT", &format!("{vars}/VALUE"), json!({"value": value})),
            ("PUT", &format!("{vars}/VALUE"), json!({"value": changed})),
            ("PUT", &format!("{vars}/B_TOKEN"), json!({"value": replaced})),
            ("PUT", &format!("{vars}/VALUE"), json!({"value": {"a": value}})),
            ("GET", &vars, Value::Null),
            ("GET", "/api/connections", Value::Null),
            ("GET", "/api/auth/me", Value::Null),
        ] {
            let request = service.request(method, path).bearer(&session);
            let request = if body.is_null() { request } else { request.json(&body) };
            answers.push(request.send().await);
        }
        let made = service.post("/api/auth/api-keys").bearer(&session).json(&json!({"name": "CI"})).send().await;
        let api_key = made.data(201)["key"].as_str().unwrap().to_owned();
        answers.push(service.get("/api/auth/me").bearer(&api_key).send().await);
        answers.push(service.get("/api/auth/api-keys").bearer(&session).send().await);

        let mut everything = secrets.clone();
        everything.extend([login_password, api_key]);
        for answer in &answers {
            assert_hidden(&format!("the answer {answer}"), answer.text.as_bytes(), &everything);
        }
        let mut reader = service.app.store.reader().await.unwrap();
        let database = whole_database(&mut reader.db()).await;
        assert!(database.windows(11).any(|window| window == b"ann@example"), "the search finds what is there");
        let signing = service.app.config.jwt_secret.expose_secret().to_owned();
        let master = hex::encode(service.app.config.master_key.expose());
        everything.extend([session.clone(), signing.clone()]);
        assert_hidden("the database", &database, &everything);
        assert_hidden("the database", &database, &[master]);
        let log = log().clone();
        assert!(log.windows(4).any(|window| window == b"POST"), "the log is captured");
        assert_hidden("the log", &log, &everything);
    }

    async fn what_proves_senders_and_people_is_encrypted_or_a_hash(service: Service) {
        let (ann, authenticator, recovery_codes) = secured(&service).await;
        let hook = Hook::saved_by(&service, ann, graph(json!({}), &[returns("1")])).await;
        let path = format!("/api/workspaces/{}/invitation-links", service.workspace_of(&hook.user).await);
        let made = service.post(&path).bearer(&hook.user.token).json(&json!({"role": "viewer"})).send().await;
        let (_, invitation) = made.data(201)["url"].as_str().unwrap().split_once('#').unwrap();
        service.user("bob").await;
        let cookie = service.cookie("bob").await;
        let (_, session) = cookie.split_once('=').unwrap();
        let mut secrets = recovery_codes;
        secrets.extend([hook.secret.as_str(), invitation, session].map(str::to_owned));
        // Bytes, which are read from the database in hexadecimal.
        secrets.extend([hex::encode(&authenticator), hex::encode_upper(&authenticator)]);
        assert!(secrets.iter().all(|secret| secret.len() > 7), "{secrets:?}");
        let mut reader = service.app.store.reader().await.unwrap();
        let database = whole_database(&mut reader.db()).await;
        let address = hook.webhook.as_bytes();
        assert!(database.windows(address.len()).any(|window| window == address), "the search finds what is there");
        assert_hidden("the database", &database, &secrets);
    }

    async fn nothing_that_a_run_is_about_is_in_the_log(service: Service) {
        capture_log();
        let mark = uuid::Uuid::now_v7().simple().to_string();
        let words: Vec<String> = ["event", "output", "secret"].map(|name| format!("{name}~{mark}~word")).to_vec();
        let [event, output, secret] = words.as_slice() else { panic!() };
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}/environments", service.workspace_of(&ann).await);
        let environments = service.get(&path).bearer(&ann.token).send().await;
        let environment = environments.data(200)[0]["id"].as_str().unwrap().to_owned();
        let stored = service.put(&format!("{path}/{environment}/secrets/TOKEN")).bearer(&ann.token);
        let stored = stored.json(&json!({"value": secret})).send().await;
        assert_eq!(stored.status, 200, "{stored}");
        let start = ("start", "OnManual", json!({}));
        let completes = harness::chain(&[
            start.clone(),
            ("note", "Log", json!({"message": "{{ $input.word }}"})),
            ("sign", "Hmac", json!({"value": "{{ $input.word }}", "secret": "{{ $secrets.TOKEN }}"})),
            ("end", "Return", json!({"value": output})),
        ]);
        let asks_in_vain = harness::chain(&[
            start.clone(),
            ("ask", "HttpRequest", json!({
                "url": "http://127.0.0.1:9/{{ $input.word }}", "headers": {"x-key": "{{ $secrets.TOKEN }}"},
            })),
            ("end", "Return", json!({})),
        ]);
        let throws = harness::chain(&[start, ("stop", "Throw", json!({"message": "{{ $input.word }}"}))]);
        for graph in [&completes, &asks_in_vain, &throws] {
            let deployment = service.deployed(&ann, graph).await;
            service.ran(&ann, &deployment, &json!({"word": event})).await;
        }
        let log = log().clone();
        // What executes runs is not the crate that answers requests.
        let failed = b"A run failed";
        assert!(log.windows(failed.len()).any(|window| window == failed), "the log of all our crates is captured");
        assert_hidden("the log", &log, &words);
    }

    async fn what_the_database_says_is_for_the_log_only(service: Service) {
        let mut reader = service.app.store.reader().await.unwrap();
        let query = sql("select 1\n from nowhere where 'it' = ?").bind("hush");
        let failed = reader.db().all::<(i32,)>(query).await.unwrap_err();
        let told = chain(&failed);
        assert!(told.starts_with("the database failed: at `select 1 from nowhere where 'it' = ?`: "), "{told}");
        assert!(told.matches("nowhere").count() == 2 && !told.contains("hush"), "{told}");
        let error = ServiceError::from(failed);
        assert_eq!((error.code(), error.message()), (Code::Internal, Code::Internal.message()));
        assert!(chain(&error).ends_with(told.trim_start_matches("the database failed: ")), "{}", chain(&error));
    }
}
