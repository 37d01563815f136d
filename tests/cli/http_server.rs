//! A server that answers as a script says, on 127.0.0.1. Each line of the script is used once.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

pub struct Server {
    pub port: u16,
    script: Arc<Mutex<Vec<Value>>>,
    complaints: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Serves `[{method, path, status, body, expectBody?}]` until the test process ends.
    pub fn start(script: Vec<Value>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let script = Arc::new(Mutex::new(script));
        let complaints = Arc::new(Mutex::new(Vec::new()));
        let shared = (script.clone(), complaints.clone());
        thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (script, complaints) = shared.clone();
                thread::spawn(move || {
                    if let Err(complaint) = answer(connection, &script) {
                        complaints.lock().unwrap().push(complaint);
                    }
                });
            }
        });
        Server {
            port,
            script,
            complaints,
        }
    }

    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// Fails unless every line of the script was asked for, and nothing else.
    pub fn assert_used(&self) {
        assert_eq!(*self.complaints.lock().unwrap(), Vec::<String>::new());
        assert_eq!(
            *self.script.lock().unwrap(),
            Vec::<Value>::new(),
            "these requests never came"
        );
    }
}

fn answer(connection: TcpStream, script: &Mutex<Vec<Value>>) -> Result<(), String> {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut first = String::new();
    if reader.read_line(&mut first).is_err() || first.is_empty() {
        return Ok(());
    }
    let mut length = 0;
    let mut line = String::new();
    while reader.read_line(&mut line).unwrap() > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let mut words = first.split_whitespace();
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let line = {
        let mut script = script.lock().unwrap();
        let at = script
            .iter()
            .position(|line| line["method"] == method && line["path"] == path);
        at.map(|at| script.remove(at))
    };
    let (status, reply) = match &line {
        Some(line) => (line["status"].as_u64().unwrap(), line["body"].to_string()),
        None => (404, "null".to_owned()),
    };
    let mut connection = connection;
    let reply = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{reply}",
        reply.len()
    );
    // The client may have gone away, as when its run was stopped.
    let _ = connection.write_all(reply.as_bytes());
    let line = line.ok_or_else(|| format!("unexpected {method} {path}"))?;
    let sent: Value = serde_json::from_slice(&body).unwrap_or_default();
    match line.get("expectBody") {
        Some(expected) if *expected != sent => {
            Err(format!("{method} {path} with {sent} instead of {expected}"))
        }
        _ => Ok(()),
    }
}
