//! The world outside, as the catalogue's examples see it: an HTTP service on 127.0.0.1 in place of
//! `https://api.example.com`, a mail server, and the connections that examples name.

use super::harness::{Place, graph};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

pub struct StubServices {
    address: String,
    mail_address: String,
}

impl StubServices {
    /// Serves until the test process ends.
    pub fn start(place: &Place) -> Self {
        let address = serve(answer).to_string();
        let mail = serve(take_mail);
        let connections = json!({
            "shop": {"token": "k3y"},
            "orders": {"kind": "sqlite", "file": place.path("orders.db")},
            "openai": {"apiKey": "k3y", "baseUrl": format!("http://{address}/v1")},
            "mail": {"host": "127.0.0.1", "port": mail.port(), "tls": "none"},
        });
        place.file("connections.json", connections.to_string());
        orders(place);
        StubServices {
            address,
            mail_address: mail.to_string(),
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn flags(&self) -> [&str; 6] {
        [
            "--connections",
            "connections.json",
            "--egress-allow",
            &self.address,
            "--egress-allow",
            &self.mail_address,
        ]
    }
}

/// Serves each connection by a thread of its own, on a port of its own.
fn serve(connected: fn(TcpStream)) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            thread::spawn(move || connected(connection));
        }
    });
    address
}

/// Takes a message to ann@example.com, as SMTP has it (RFC 5321), and refuses others.
fn take_mail(mut connection: TcpStream) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let mut line = String::new();
    connection.write_all(b"220 mail.example.com\r\n").unwrap();
    while reader.read_line(&mut line).unwrap() > 0 {
        let command = line.trim_end().to_ascii_uppercase();
        let reply = match command.split([' ', ':']).next().unwrap_or_default() {
            "EHLO" => "250 mail.example.com",
            "MAIL" => "250 OK",
            "RCPT" if command.contains("<ANN@EXAMPLE.COM>") => "250 OK",
            "RCPT" => "550 Who is that?",
            "DATA" => {
                connection.write_all(b"354 Go on\r\n").unwrap();
                while line.trim_end() != "." {
                    line.clear();
                    assert!(
                        reader.read_line(&mut line).unwrap() > 0,
                        "the message ends with a dot"
                    );
                }
                "250 OK"
            }
            "QUIT" => "221 Bye",
            _ => "502 What?",
        };
        connection.write_all(format!("{reply}\r\n").as_bytes()).unwrap();
        line.clear();
    }
}

/// A database with some orders, made by statements of its own.
fn orders(place: &Place) {
    let statements = [
        "create table orders (id integer primary key, customer text, total real)",
        "insert into orders values (1, 'c-1', 12.5), (2, 'c-1', 3), (3, 'c-1', 99), (4, 'c-2', 50)",
    ];
    for statement in statements {
        let query = json!({"parameters": {"connection": "orders", "query": statement}});
        let nodes = [("start", "OnManual", json!({})), ("it", "SqlQuery", query)];
        place.file("orders.json", graph(&nodes, &["start -> it"]).to_string());
        let run = place.run(&["run", "orders.json", "--connections", "connections.json"]);
        run.assert_code(0);
    }
}

fn answer(mut connection: TcpStream) {
    let mut reader = BufReader::new(connection.try_clone().unwrap());
    let (mut first, mut line, mut length, mut authorized) = (String::new(), String::new(), 0, false);
    reader.read_line(&mut first).unwrap();
    while reader.read_line(&mut line).unwrap() > 2 {
        let header = line.to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        authorized |= header.trim() == "authorization: bearer k3y";
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let target = first.split(' ').nth(1).unwrap();
    if target == "/events" {
        let events = "data: {\"text\": \"Hel\"}\n\ndata: {\"text\": \"lo\"}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close";
        connection
            .write_all(format!("{head}\r\n\r\n{events}").as_bytes())
            .unwrap();
        // The answer has no end: it stays open until whoever reads it has closed it.
        let _ = reader.read_line(&mut line);
        return;
    }
    let reply = match (first.split(' ').next().unwrap(), target) {
        ("GET", "/orders/o-1") if authorized => json!({"id": "o-1", "total": 12.5}),
        ("GET", "/orders?status=open&page=1") => json!({"orders": [{"id": "o-1"}, {"id": "o-2"}]}),
        ("GET", "/orders?status=open&page=2") => json!({"orders": [{"id": "o-3"}]}),
        ("GET", "/orders?status=open&page=3") => json!({"orders": []}),
        ("POST", "/v1/chat/completions") if authorized => json!({
            "choices": [{"finish_reason": "stop", "message": {
                "content": json!({"complaint": body["messages"][1]["content"] == "My order never came."}).to_string()
            }}],
            "usage": {"total_tokens": 42},
        }),
        _ => Value::Null,
    };
    let status = if reply.is_null() {
        "404 Not Found"
    } else {
        "200 OK"
    };
    let text = reply.to_string();
    let length = text.len();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close"
    );
    connection
        .write_all(format!("{head}\r\n\r\n{text}").as_bytes())
        .unwrap();
}
