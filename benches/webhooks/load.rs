//! A load generator: so many connections, each of which sends a request, waits for its answer, and sends the next.

use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// Where requests go to, and what they are signed with.
#[derive(Clone)]
pub struct Target {
    pub address: SocketAddr,
    pub path: String,
    /// `None`: this one checks no signatures.
    pub secret: Option<String>,
    /// Status of a good answer.
    pub status: u16,
    /// Body of the request with a number.
    pub body: fn(u64) -> String,
}

/// How much is sent.
#[derive(Clone, Copy)]
pub enum Extent {
    /// For so long.
    Time(Duration),
    /// So many requests.
    Requests(u64),
}

/// What a load has measured.
pub struct Measured {
    pub answered: u64,
    pub took: Duration,
    latencies: Vec<Duration>,
}

impl Measured {
    pub fn per_second(&self) -> f64 {
        self.answered as f64 / self.took.as_secs_f64()
    }

    /// `share` of the answers came within this time.
    pub fn percentile(&self, share: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        self.latencies[(last as f64 * share).round() as usize]
    }
}

/// About 1 KB, as an order has; `number` makes each its own.
pub fn order(number: u64) -> String {
    let line = r#"{"sku":"DESK-140","name":"Standing desk 140 cm","quantity":1,"unitPrice":549.0,"tax":0.2}"#;
    let lines = [line; 8].join(",");
    format!(
        r#"{{"id":"A-{number}","customer":{{"name":"Ann Lee","country":"FR","email":"ann@example.com"}},"lines":[{lines}],"total":4392.0}}"#
    )
}

impl Target {
    /// The request with this number.
    pub fn request(&self, number: u64) -> String {
        let body = (self.body)(number);
        let signature = self.secret.as_ref().map_or(String::new(), |secret| {
            let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).unwrap();
            mac.update(body.as_bytes());
            format!(
                "x-webhook-signature: {}\r\n",
                hex::encode(mac.finalize().into_bytes())
            )
        });
        format!(
            "POST {} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n{signature}content-length: {}\r\n\r\n{body}",
            self.path,
            body.len()
        )
    }

    /// Sends one request on a new connection; whether the answer was good.
    pub async fn answers(&self) -> bool {
        let Ok(mut stream) = TcpStream::connect(self.address).await else {
            return false;
        };
        exchange(&mut stream, &self.request(0), &mut Vec::new()).await == Some(self.status)
    }
}

/// Sends on so many connections at a time.
pub async fn run(target: &Target, connections: usize, extent: Extent) -> Measured {
    run_on_all(std::slice::from_ref(target), connections, extent).await
}

/// The same to several servers in turn.
pub async fn run_on_all(targets: &[Target], connections: usize, extent: Extent) -> Measured {
    let number = Arc::new(AtomicU64::new(0));
    let began = Instant::now();
    let tasks: Vec<_> = targets
        .iter()
        .cycle()
        .take(connections)
        .map(|target| tokio::spawn(send(target.clone(), number.clone(), began, extent)))
        .collect();
    let mut latencies = Vec::new();
    for task in tasks {
        latencies.extend(task.await.unwrap());
    }
    let took = began.elapsed();
    latencies.sort();
    Measured {
        answered: latencies.len() as u64,
        took,
        latencies,
    }
}

async fn send(target: Target, number: Arc<AtomicU64>, began: Instant, extent: Extent) -> Vec<Duration> {
    let mut stream = TcpStream::connect(target.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let (mut latencies, mut buffer) = (Vec::new(), Vec::new());
    loop {
        let number = number.fetch_add(1, Ordering::Relaxed);
        let goes_on = match extent {
            Extent::Time(during) => began.elapsed() < during,
            Extent::Requests(count) => number < count,
        };
        if !goes_on {
            return latencies;
        }
        let request = target.request(number);
        let sent = Instant::now();
        let status = exchange(&mut stream, &request, &mut buffer).await;
        assert_eq!(
            status,
            Some(target.status),
            "{}",
            String::from_utf8_lossy(&buffer)
        );
        latencies.push(sent.elapsed());
    }
}

/// Status of the answer, which is read to its end.
pub async fn exchange(
    stream: &mut TcpStream,
    request: impl AsRef<[u8]>,
    buffer: &mut Vec<u8>,
) -> Option<u16> {
    stream.write_all(request.as_ref()).await.ok()?;
    buffer.clear();
    loop {
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
        let Some(head) = buffer.windows(4).position(|window| window == b"\r\n\r\n") else {
            continue;
        };
        let text = std::str::from_utf8(buffer.get(..head)?)
            .ok()?
            .to_ascii_lowercase();
        let length: usize = text
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"))?
            .trim()
            .parse()
            .ok()?;
        while buffer.len() < head + 4 + length {
            if stream.read_buf(buffer).await.ok()? == 0 {
                return None;
            }
        }
        return text.split(' ').nth(1)?.parse().ok();
    }
}
