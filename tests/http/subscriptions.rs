//! Services that deploying tells of webhooks: a fake one over real TCP, with a clock that the tests move by hand.

use crate::harness::{Database, Service};
use crate::webhooks::fixture::{Hook, sign};
use axum::extract::State;
use axum::http::{Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use heddle_execution::subscriptions::{self, OnSecret};
use heddle_model::tenant::Tenant;
use heddle_runtime::EgressPolicy;
use heddle_store::subscriptions::{WantedSubscription, want};
use heddle_store::vault::VaultError;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const BASE: &str = "https://heddle.example.com";

/// What a service has been told, and how it answers.
#[derive(Default)]
struct Recorded {
    /// Webhooks with their ids, as they were sent.
    hooks: Vec<(String, Value)>,
    /// Methods and paths of all requests.
    asked: Vec<String>,
    /// Webhooks that were made so far.
    made: usize,
    /// Whether the answer to the next webhook that is made gets lost.
    loses_answer: bool,
    /// Until when those that are made or renewed are there, in milliseconds.
    until: i64,
    /// What it answers to everything instead.
    refuses: Option<(u16, Value)>,
}

#[derive(Clone, Default)]
struct Fake {
    url: String,
    told: Arc<Mutex<Recorded>>,
}

/// Answers as GitHub and Stripe do.
async fn answer(State(fake): State<Fake>, method: Method, uri: Uri, body: String) -> Response {
    let mut told = fake.told.lock().unwrap();
    let path = uri.path().to_owned();
    told.asked.push(format!("{method} {path}"));
    if let Some((status, body)) = &told.refuses {
        let status = StatusCode::from_u16(*status).unwrap();
        return (status, Json(body.clone())).into_response();
    }
    let is_stripe = path.starts_with("/webhook_endpoints");
    match method.as_str() {
        "POST" => {
            told.made += 1;
            let id = told.made.to_string();
            let hook = match is_stripe {
                true => {
                    let fields: Vec<(String, String)> = serde_html_form::from_str(&body).unwrap();
                    json!({"id": id, "url": fields[0].1, "events": fields[1].1})
                }
                false => serde_json::from_str(&body).unwrap(),
            };
            told.hooks.push((id.clone(), hook));
            if std::mem::take(&mut told.loses_answer) {
                return StatusCode::BAD_GATEWAY.into_response();
            }
            let made = json!({"id": id, "secret": format!("whsec_of_{id}"), "until": told.until});
            Json(made).into_response()
        }
        "PUT" => Json(json!({"until": told.until})).into_response(),
        "DELETE" => {
            let id = path.rsplit('/').next().unwrap();
            let before = told.hooks.len();
            told.hooks.retain(|(known, _)| known != id);
            match told.hooks.len() < before {
                true => StatusCode::NO_CONTENT.into_response(),
                false => StatusCode::NOT_FOUND.into_response(),
            }
        }
        _ => {
            let with_id = |(id, hook): &(String, Value)| {
                let mut hook = hook.clone();
                hook["id"] = json!(id);
                hook
            };
            let hooks: Vec<Value> = told.hooks.iter().map(with_id).collect();
            match is_stripe {
                true => Json(json!({"data": hooks})).into_response(),
                false => Json(json!(hooks)).into_response(),
            }
        }
    }
}

impl Fake {
    async fn start() -> Fake {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let fake = Fake {
            url: format!("http://{}", listener.local_addr().unwrap()),
            ..Fake::default()
        };
        let router = Router::new().fallback(answer).with_state(fake.clone());
        tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        fake
    }

    /// Webhooks that are there.
    fn hooks(&self) -> Vec<Value> {
        let told = self.told.lock().unwrap();
        told.hooks.iter().map(|(_, hook)| hook.clone()).collect()
    }

    fn asked(&self) -> usize {
        self.told.lock().unwrap().asked.len()
    }

    fn set(&self, change: impl FnOnce(&mut Recorded)) {
        change(&mut self.told.lock().unwrap());
    }
}

async fn open(database: Database, base_url: &str) -> Service {
    Service::with(database, |config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
        config.base_url = base_url.to_owned();
    })
    .await
}

fn graph(node_type: &str, parameters: Value) -> Value {
    json!({"nodes": [{"id": "on", "type": node_type, "data": {"parameters": parameters}}], "edges": []})
}

fn pushes(more: Value) -> Value {
    let mut parameters =
        json!({"connection": "fake", "owner": "acme", "repository": "shop", "events": ["push"]});
    let more = more.as_object().unwrap().clone();
    parameters.as_object_mut().unwrap().extend(more);
    graph("OnGitHubEvent", parameters)
}

/// A saved pattern whose service is the fake one.
async fn saved<'s>(service: &'s Service, fake: &Fake, graph: Value) -> Hook<'s> {
    let mut user = service.user("ann").await;
    // The clock moves by days, for which a token would not last.
    let key = service
        .post("/api/auth/api-keys")
        .bearer(&user.token)
        .json(&json!({"name": "days"}))
        .send()
        .await;
    user.token = key.data(201)["key"].as_str().unwrap().to_owned();
    let connection = json!({"provider": "fake", "credentials": {"apiKey": "the-key", "baseUrl": fake.url}});
    let made = service
        .post("/api/connections/credentials")
        .bearer(&user.token)
        .json(&connection)
        .send()
        .await;
    assert_eq!(made.status, 201, "{made}");
    Hook::saved_by(service, user, graph).await
}

async fn shown(hook: &Hook<'_>, deployment: &str) -> Value {
    let path = format!("/api/deployments/{deployment}/subscriptions");
    hook.get(&path).await.data(200)[0].clone()
}

/// Rows that are kept, those that no deployment shows any more as well.
async fn rows(service: &Service) -> i64 {
    let mut reader = service.app.store.reader().await.unwrap();
    let (rows,): (i64,) = reader
        .db()
        .one(sql("select count(*) from subscriptions"))
        .await
        .unwrap();
    rows
}

/// Moves the clock, begins what is due, and waits until `is_done`.
async fn tick(service: &Service, later: Duration, is_done: impl AsyncFn() -> bool) {
    service.app.clock.advance(later);
    let now = service.app.clock.now();
    let of_service = service.app.service.clone();
    let on_secret: OnSecret = Arc::new(move |pattern| of_service.webhooks.changed(pattern));
    subscriptions::tick(&service.app.executions, &on_secret, now)
        .await
        .unwrap();
    while !is_done().await {
        tokio::task::yield_now().await;
    }
}

/// The same until the deployment's subscription was looked at; how it stands then.
async fn looked_at(hook: &Hook<'_>, deployment: &str, later: Duration) -> Value {
    let time = hook.service.app.clock.now().plus(later);
    tick(hook.service, later, async || {
        shown(hook, deployment).await["checkedAt"] == json!(time)
    })
    .await;
    shown(hook, deployment).await
}

const SOON: Duration = Duration::from_secs(60);
const A_DAY: Duration = Duration::from_secs(27 * 60 * 60);

async fn a_webhook_is_there_once_and_while_it_is_deployed(database: Database) {
    let (service, fake) = (open(database, BASE).await, Fake::start().await);
    let hook = saved(&service, &fake, pushes(json!({}))).await;
    let deployment = hook.deploy().await;
    assert_eq!(shown(&hook, &deployment).await["status"], "pending");
    // The service makes it, but nobody hears of it, as if the server had stopped then: it is looked for before it is made.
    fake.set(|told| told.loses_answer = true);
    let lost = looked_at(&hook, &deployment, SOON).await;
    assert_eq!(
        (&lost["status"], &lost["lastError"]["code"]),
        (&json!("failed"), &json!("HTTP_502")),
        "{lost}"
    );
    let there = looked_at(&hook, &deployment, SOON).await;
    assert_eq!(
        (&there["status"], &there["failures"]),
        (&json!("active"), &json!(0)),
        "{there}"
    );
    let address = format!("{BASE}/webhooks/{}", hook.webhook);
    let config = json!({"url": address, "content_type": "json", "secret": hook.secret});
    let expected = json!({"name": "web", "active": true, "events": ["push"], "config": config});
    assert_eq!(fake.hooks(), [expected]);
    let listed = hook.get("/api/subscriptions").await;
    assert_eq!(listed.body["data"][0], there);
    // Whoever takes it away there finds it again after a day; what is there stays as it is.
    looked_at(&hook, &deployment, A_DAY).await;
    assert_eq!(fake.told.lock().unwrap().made, 2);
    fake.set(|told| told.hooks.clear());
    looked_at(&hook, &deployment, A_DAY).await;
    assert_eq!(fake.hooks().len(), 1);
    // Another version says other events, and another repository; what the former has made goes.
    hook.save(pushes(json!({"repository": "stock", "events": ["issues"]})))
        .await;
    hook.deploy().await;
    looked_at(&hook, &deployment, SOON).await;
    let hooks = fake.hooks();
    assert_eq!((hooks.len(), &hooks[0]["events"]), (1, &json!(["issues"])));
    // Another secret is told to the service.
    let path = format!("/api/deployments/{deployment}/webhook/regenerate");
    let which = json!({"endpointId": hook.endpoint});
    let renewed = service
        .post(&path)
        .bearer(&hook.user.token)
        .json(&which)
        .send()
        .await;
    assert_eq!(renewed.status, 200, "{renewed}");
    looked_at(&hook, &deployment, SOON).await;
    let hooks = fake.hooks();
    assert!(
        hooks.len() == 1 && hooks[0]["config"]["secret"] != json!(hook.secret),
        "{hooks:?}"
    );
    // A version without the trigger, and then one with it that is undeployed.
    hook.save(graph("OnManual", json!({}))).await;
    hook.deploy().await;
    tick(&service, SOON, async || {
        fake.hooks().is_empty() && rows(&service).await == 0
    })
    .await;
    hook.save(pushes(json!({}))).await;
    hook.deploy().await;
    looked_at(&hook, &deployment, SOON).await;
    let path = format!("/api/patterns/{}/deploy", hook.pattern);
    assert_eq!(
        service.delete(&path).bearer(&hook.user.token).send().await.status,
        200
    );
    tick(&service, SOON, async || {
        fake.hooks().is_empty() && rows(&service).await == 0
    })
    .await;
    // What is deleted before anybody was told asks nobody; what was told is taken away although all is gone.
    hook.change(&deployment, "redeploy").await;
    looked_at(&hook, &deployment, SOON).await;
    let path = format!("/api/patterns/{}", hook.pattern);
    assert_eq!(
        service.delete(&path).bearer(&hook.user.token).send().await.status,
        204
    );
    tick(&service, SOON, async || {
        fake.hooks().is_empty() && rows(&service).await == 0
    })
    .await;
}

async fn a_service_that_refuses_is_told_of(database: Database) {
    let (service, fake) = (open(database, BASE).await, Fake::start().await);
    let hook = saved(&service, &fake, pushes(json!({}))).await;
    fake.set(|told| told.refuses = Some((403, json!({"message": "Not for this token."}))));
    let deployment = hook.deploy().await;
    let refused = looked_at(&hook, &deployment, SOON).await;
    let error = &refused["lastError"];
    let message = error["message"].as_str().unwrap();
    assert_eq!(
        (&refused["status"], &error["code"]),
        (&json!("failed"), &json!("HTTP_403"))
    );
    assert!(
        message.starts_with("GitHub answered 403: Not for this token. Check that the connection `fake`"),
        "{message}"
    );
    // It rests, and goes on when it is deployed again.
    let asked = fake.asked();
    tick(&service, Duration::from_millis(1), async || true).await;
    assert_eq!(fake.asked(), asked);
    fake.set(|told| told.refuses = None);
    hook.change(&deployment, "redeploy").await;
    let there = looked_at(&hook, &deployment, Duration::from_millis(1)).await;
    assert_eq!(
        (&there["status"], &there["lastError"]),
        (&json!("active"), &json!(null))
    );
    // A server has stopped when it had told the service, and before it could say so: another one goes on.
    let stopped = service.app.store.write(|db| {
        Box::pin(async move {
            db.execute(sql(
                "update subscriptions set remote_id = null, subscribed_at = null, due_at = 1",
            ))
            .await
        })
    });
    let stopped: Result<u64, StoreError> = stopped.await;
    assert_eq!(stopped.unwrap(), 1);
    looked_at(&hook, &deployment, SOON).await;
    assert_eq!(fake.hooks().len(), 1);
}

async fn a_service_chooses_the_secret(database: Database) {
    let (service, fake) = (open(database, BASE).await, Fake::start().await);
    let events = json!({"connection": "fake", "events": ["invoice.paid"]});
    let hook = saved(&service, &fake, graph("OnStripeEvent", events)).await;
    let deployment = hook.deploy().await;
    let event = json!({"id": "evt_1", "type": "invoice.paid"}).to_string();
    let signed = |secret: &str| {
        let seconds = service.app.clock.now().millis() / 1_000;
        let signature = sign(secret, &format!("{seconds}.{event}"));
        hook.post(&event)
            .header("stripe-signature", &format!("t={seconds},v1={signature}"))
    };
    // Before, it is the webhook's own.
    assert_eq!(signed("whsec_of_1").send().await.status, 401);
    looked_at(&hook, &deployment, SOON).await;
    let address = format!("{BASE}/webhooks/{}", hook.webhook);
    assert_eq!(
        fake.hooks(),
        [json!({"id": "1", "url": address, "events": "invoice.paid"})]
    );
    assert_eq!(hook.endpoints().await[0]["webhookSecret"], "whsec_of_1");
    assert_eq!(signed("whsec_of_1").send().await.status, 202);
}

async fn a_webhook_that_ends_is_renewed(database: Database) {
    let (service, fake) = (open(database, BASE).await, Fake::start().await);
    let hook = saved(&service, &fake, graph("OnGitHubEvent", json!({}))).await;
    let deployment = hook.deploy().await;
    let subscription = json!({
        "service": "Fake", "connection": "fake",
        "find": {"url": "/hooks", "address": "url", "id": "id"},
        "create": {"method": "POST", "url": "/hooks", "body": {"url": "{{ $webhook.url }}"}, "id": "id", "expires": "until"},
        "renew": {"method": "PUT", "url": "/hooks/{{ $webhook.id }}", "expires": "until"},
        "remove": {"method": "DELETE", "url": "/hooks/{{ $webhook.id }}"},
    });
    let plan = json!({"subscription": subscription, "hosts": []}).to_string();
    let tenant = Tenant::Workspace(service.workspace_of(&hook.user).await);
    let (endpoint, of) = (hook.endpoint.parse().unwrap(), deployment.parse().unwrap());
    let (vault, start) = (service.app.vault.clone(), service.app.clock.now());
    let wanted = service.app.store.write(move |db| {
        Box::pin(async move {
            let wanted = WantedSubscription {
                endpoint,
                deployment: of,
                tenant,
                node_id: "on",
                service: "Fake",
                plan: &plan,
                fingerprint: "one",
            };
            want(db, &vault, wanted, start).await
        })
    });
    let wanted: Result<(), VaultError> = wanted.await;
    wanted.unwrap();
    let after = |days: u64| start.plus(Duration::from_secs(days * 24 * 60 * 60));
    fake.set(|told| told.until = after(3).millis());
    let made = looked_at(&hook, &deployment, SOON).await;
    assert_eq!(
        (&made["status"], &made["expiresAt"]),
        (&json!("active"), &json!(after(3)))
    );
    fake.set(|told| told.until = after(9).millis());
    let renewed = looked_at(&hook, &deployment, A_DAY).await;
    assert_eq!(renewed["expiresAt"], json!(after(9)), "{renewed}");
    looked_at(&hook, &deployment, A_DAY).await;
    let told = fake.told.lock().unwrap();
    let renewals = told.asked.iter().filter(|asked| *asked == "PUT /hooks/1").count();
    assert_eq!(
        (told.made, renewals, told.hooks.len()),
        (1, 1, 1),
        "{:?}",
        told.asked
    );
}

async fn an_address_of_the_machine_alone_is_told_to_nobody(database: Database) {
    let (service, fake) = (open(database, "http://localhost:8080").await, Fake::start().await);
    let hook = saved(&service, &fake, pushes(json!({}))).await;
    let deployment = hook.deploy().await;
    let told = looked_at(&hook, &deployment, SOON).await;
    assert_eq!(told["lastError"]["code"], "BASE_URL", "{told}");
    assert!(
        told["lastError"]["message"]
            .as_str()
            .unwrap()
            .contains("`base_url`"),
        "{told}"
    );
    assert_eq!(fake.asked(), 0);
}

/// Makes two tests of each function, one for each database.
macro_rules! on_each {
    ($($name:ident)*) => {
        mod sqlite {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::harness::Database::Sqlite).await;
            }
        )*}
        mod postgres {$(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $name() {
                super::$name(crate::harness::Database::Postgres).await;
            }
        )*}
    };
}

on_each! {
    a_webhook_is_there_once_and_while_it_is_deployed
    a_service_that_refuses_is_told_of
    a_service_chooses_the_secret
    a_webhook_that_ends_is_renewed
    an_address_of_the_machine_alone_is_told_to_nobody
}
