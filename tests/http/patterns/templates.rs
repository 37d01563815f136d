//! Templates of n8n, imported as people would: their connections made, to services that the test plays, deployed, and started by
//! their own triggers. Each file has a workflow as it was published, without its notes; `{BASE}` stands for the services.

use crate::harness::{Database, Service, User};
use heddle_execution::scheduler;
use heddle_model::clock::Timestamp;
use heddle_runtime::EgressPolicy;
use serde_json::{Map, Value, json};
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// Plays all services.
#[derive(Clone, Default)]
struct Services {
    /// Requests as they came: head and body.
    asked: Arc<Mutex<Vec<String>>>,
    /// Answers by what paths begin with.
    answers: Arc<Mutex<Map<String, Value>>>,
}

impl Services {
    /// They, and their address.
    async fn start() -> (Services, String) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let services = Services::default();
        let shared = services.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(shared.clone().answer(stream));
            }
        });
        (services, address)
    }

    async fn answer(self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.unwrap());
        }
        let head = String::from_utf8(head).unwrap();
        let length = head.lines().find_map(|line| {
            line.to_ascii_lowercase()
                .strip_prefix("content-length: ")?
                .parse()
                .ok()
        });
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).await.unwrap();
        let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
        let request = format!("{head}{}", String::from_utf8_lossy(&body));
        self.asked.lock().unwrap().push(request);
        let answer = self.of(&path).to_string();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        );
        stream.write_all(answer.as_bytes()).await.unwrap();
    }

    /// The answer of the longest beginning.
    fn of(&self, path: &str) -> Value {
        let answers = self.answers.lock().unwrap();
        let of_path = answers
            .iter()
            .filter(|(begins, _)| path.starts_with(begins.as_str()));
        let longest = of_path.max_by_key(|(begins, _)| begins.len());
        longest.map_or_else(|| json!({}), |(_, answer)| answer.clone())
    }

    /// Whether a request of this line has come that has all of this in it.
    fn were_asked(&self, wanted: &Value) -> bool {
        let line = wanted["line"].as_str().unwrap();
        let parts = wanted["has"].as_array().map_or(&[][..], Vec::as_slice);
        let has_all = |request: &String| {
            let mut parts = parts.iter().map(|part| part.as_str().unwrap());
            request.starts_with(line) && parts.all(|part| request.contains(part))
        };
        self.asked.lock().unwrap().iter().any(has_all)
    }
}

fn templates(base: &str) -> Vec<Value> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/http/patterns/templates");
    let files = fs::read_dir(dir).unwrap();
    let mut files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let read = |file: &Path| fs::read_to_string(file).unwrap().replace("{BASE}", base);
    files
        .iter()
        .map(|file| serde_json::from_str(&read(file)).unwrap())
        .collect()
}

/// Imports a template and deploys it; the pattern and the deployment.
async fn deployed(service: &Service, ann: &User, template: &Value) -> (String, String) {
    let body = json!({"workflows": [template["workflow"]]});
    let imported = service.post("/api/patterns/import/n8n").bearer(&ann.token);
    let imported = imported.json(&body).send().await;
    assert_eq!(imported.status, 201, "{imported}");
    let pattern = &imported.body["patterns"][0];
    assert_eq!(pattern["report"]["summary"]["stub"], 0, "{imported}");
    let wanted = pattern["report"]["connections"].as_array().unwrap();
    let made = template["connections"].as_array().unwrap();
    let names = |list: &[Value]| {
        let mut names: Vec<String> = list.iter().map(|one| one["name"].to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(wanted), names(made), "{imported}");
    for connection in made {
        let body = json!({
            "provider": connection["provider"], "displayName": connection["name"],
            "credentials": connection["credentials"], "hosts": ["127.0.0.1"],
        });
        let made = service.post("/api/connections/credentials").bearer(&ann.token);
        let made = made.json(&body).send().await;
        assert_eq!(made.status, 201, "{made}");
    }
    let id = pattern["id"].as_str().unwrap().to_owned();
    let deployment = service.deploy(ann, &id).await;
    (id, deployment)
}

/// Sends what the template waits for; its answer.
async fn send(service: &Service, ann: &User, pattern: &str, sent: &Value) -> String {
    let listed = service.get(&format!("/api/patterns/{pattern}/webhooks"));
    let listed = listed.bearer(&ann.token).send().await;
    let webhook = listed.body["data"]["endpoints"][0]["webhookId"].as_str().unwrap();
    let path = format!("/webhooks/{webhook}");
    let request = service.request(sent["method"].as_str().unwrap(), &path);
    let answer = request.json(&sent["body"]).send().await;
    assert!(answer.status < 300, "{answer}");
    answer.text
}

/// Moves the clock to when the template is due.
async fn wait_until(service: &Service, time: &str) {
    let time = Timestamp::parse(time).unwrap();
    let step = time.millis() - service.app.clock.now().millis();
    service
        .app
        .clock
        .advance(Duration::from_millis(u64::try_from(step).unwrap()));
    assert!(scheduler::tick(&service.app.executions, time).await.unwrap() > 0);
}

#[tokio::test]
async fn templates_do_their_work_when_their_triggers_start_them() {
    let open = |config: &mut heddle_api::config::Config| {
        config.egress = EgressPolicy::parse(["127.0.0.0/8"]).unwrap();
    };
    let service = Service::with(Database::Sqlite, open).await;
    service.app.executions.start().await.unwrap();
    let (services, base) = Services::start().await;
    let mut templates = templates(&base);
    assert!(templates.len() >= 10);
    // The clock only goes on.
    templates.sort_by_key(|template| template["at"].as_str().map(str::to_owned));
    for (number, template) in templates.iter().enumerate() {
        let name = template["workflow"]["name"].as_str().unwrap();
        // Each is somebody else's, so that connections of one name don't meet.
        let ann = service.user(&format!("ann{number}")).await;
        services.asked.lock().unwrap().clear();
        *services.answers.lock().unwrap() = template["answers"].as_object().unwrap().clone();
        let (pattern, deployment) = deployed(&service, &ann, template).await;
        match template["at"].as_str() {
            Some(time) => wait_until(&service, time).await,
            None => {
                let answer = send(&service, &ann, &pattern, &template["send"]).await;
                let wanted = template["answered"].as_str().unwrap_or_default();
                assert!(answer.contains(wanted), "{name}: {answer}");
            }
        }
        let runs = service.get(&format!("/api/deployments/{deployment}/runs"));
        let runs = runs.bearer(&ann.token).send().await;
        let run = runs.body["data"][0]["id"].as_str().unwrap();
        let ended = service.ended(&ann, &deployment, run).await;
        assert_eq!(ended["status"], "success", "{name}: {ended}");
        for wanted in template["requests"].as_array().unwrap() {
            let asked = services.asked.lock().unwrap().clone();
            assert!(services.were_asked(wanted), "{name} lacks {wanted}: {asked:#?}");
        }
    }
}
