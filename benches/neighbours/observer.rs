//! What Ann sees: how long her webhooks take, and the first runs of her new patterns.

use crate::fixture::{fields, fresh};
use crate::load::{Target, exchange};
use crate::process::{Deployed, Process, User};
use serde_json::json;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

/// New patterns in each time.
const FIRST_RUNS: usize = 8;
/// Pause after a refusal.
const PAUSE: Duration = Duration::from_millis(20);

/// Ann.
pub struct Observer<'p> {
    user: User<'p>,
    deployed: Deployed,
}

/// What she has seen in one time; sorted.
pub struct Seen {
    pub webhooks: Vec<Duration>,
    pub first_runs: Vec<Duration>,
    pub refused: usize,
}

impl<'p> Observer<'p> {
    pub async fn new(process: &'p Process) -> Observer<'p> {
        let user = User::new(process).await;
        let deployed = user.deploy(202, &[fields(0)]).await;
        Observer { user, deployed }
    }

    /// What she sees now.
    pub async fn observe(&self, during: Duration) -> Seen {
        let mut seen = Seen {
            webhooks: Vec::new(),
            first_runs: Vec::new(),
            refused: 0,
        };
        self.send(during, &mut seen).await;
        for _ in 0..FIRST_RUNS {
            self.run_first(&mut seen).await;
        }
        seen.webhooks.sort();
        seen.first_runs.sort();
        seen
    }

    /// Webhooks one after the other.
    async fn send(&self, during: Duration, seen: &mut Seen) {
        let target = &self.deployed.target;
        let (began, mut buffer, mut number) = (Instant::now(), Vec::new(), 0);
        let mut stream = None;
        while began.elapsed() < during {
            number += 1;
            let request = target.request(number);
            let sent = Instant::now();
            let status = match connected(&mut stream, target).await {
                Some(stream) => exchange(stream, &request, &mut buffer).await,
                None => None,
            };
            if status == Some(target.status) {
                seen.webhooks.push(sent.elapsed());
                continue;
            }
            eprintln!("refused: {status:?} {}", String::from_utf8_lossy(&buffer));
            seen.refused += 1;
            stream = None;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// From the request to deploy a new pattern to its first answer.
    async fn run_first(&self, seen: &mut Seen) {
        let respond = json!({"id": "respond", "type": "RespondToWebhook", "data": {"parameters": {"body": "{{ $input.total }}"}}});
        let saved = self.user.save(200, &[fresh(), respond]).await;
        let deploy = format!("{}/deploy", saved.path);
        let began = Instant::now();
        let deployed = self
            .user
            .send("POST", &deploy, json!({"nodeDefinitions": {}}))
            .await;
        let is_deployed = deployed.is_ok_and(|(status, _)| status == 200);
        match is_deployed && saved.target.answers().await {
            true => seen.first_runs.push(began.elapsed()),
            false => seen.refused += 1,
        }
    }
}

/// The kept connection, or a new one.
async fn connected<'s>(stream: &'s mut Option<TcpStream>, target: &Target) -> Option<&'s mut TcpStream> {
    if stream.is_none() {
        let new = TcpStream::connect(target.address).await.ok()?;
        new.set_nodelay(true).ok()?;
        *stream = Some(new);
    }
    stream.as_mut()
}
