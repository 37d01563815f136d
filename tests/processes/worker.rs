//! What the tests of workers start: workers that misbehave in all the ways that one may, and a parent that dies.

#![expect(clippy::unwrap_used, reason = "a worker of tests may panic")]

use heddle_processes::{Channel, Limits, Rights, Worker, WorkerCommand};
use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["parent"] => parent(),
        [kind, limits] => {
            let rights = match *kind {
                "sockets" => Rights::LocalSockets,
                _ => Rights::Compute,
            };
            let channel = Channel::confined(limits, rights).unwrap();
            let kind = (*kind).to_owned();
            // As real workers do: what asks for the main thread's stack would open a file.
            std::thread::spawn(move || work(&kind, channel)).join().unwrap();
        }
        _ => panic!("unknown: {arguments:?}"),
    }
}

/// Starts a worker, tells its id, and waits to be killed.
fn parent() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let command = WorkerCommand {
            program: std::env::current_exe().unwrap(),
            arguments: vec!["spin".into()],
            limits: Limits {
                processor_seconds_max: 600,
                ..Limits::default()
            },
        };
        let mut worker = Worker::start(command).await.unwrap();
        println!("{}", worker.id().unwrap());
        let _ = worker.ask(b"go on", std::time::Duration::from_secs(600)).await;
    });
}

fn work(kind: &str, mut channel: Channel) {
    while let Some(request) = channel.receive().unwrap() {
        match kind {
            "echo" => channel.send(&request).unwrap(),
            "abort" => std::process::abort(),
            "panic" => panic!("an odd graph"),
            "exit" => std::process::exit(7),
            "spin" => spin(),
            "memory" => channel.send(&[exhaust()]).unwrap(),
            "claim" => raw(&[0xff, 0xff, 0xff, 0x7f, 1, 2, 3]),
            "cut" => raw(&[10, 0, 0, 0, 1, 2, 3]),
            "surplus" => {
                let answer = vec![0; channel.limits().answer_bytes_max + 1];
                let refused = channel.send(&answer).unwrap_err().to_string();
                channel.send(refused.as_bytes()).unwrap();
            }
            "layers" => {
                let layers = channel.layers();
                channel
                    .send(&[layers.files.into(), layers.system_calls.into()])
                    .unwrap();
            }
            "compute" | "sockets" => {
                let answer = attempt(std::str::from_utf8(&request).unwrap());
                channel.send(answer.as_bytes()).unwrap();
            }
            _ => panic!("unknown: {kind}"),
        }
    }
}

fn spin() -> ! {
    let mut number = 0_u64;
    loop {
        number = std::hint::black_box(number.wrapping_add(1));
    }
}

fn exhaust() -> u8 {
    let mut all: Vec<Vec<u8>> = Vec::new();
    loop {
        all.push(vec![1; 16 << 20]);
        std::hint::black_box(&all);
    }
}

/// Writes to the parent what is no frame, or no whole one, and ends.
fn raw(bytes: &[u8]) {
    use std::os::fd::AsFd;
    let socket = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    UnixStream::from(socket).write_all(bytes).unwrap();
    std::process::exit(0);
}

/// What somebody would try who has taken over a worker.
fn attempt(what: &str) -> String {
    let told = |succeeded: bool| if succeeded { "done" } else { "refused" }.to_owned();
    match what {
        "read" => told(std::fs::read("/etc/passwd").is_ok()),
        "list" => told(std::fs::read_dir("/").is_ok()),
        "write" => told(std::fs::write("/tmp/heddle-worker-wrote-this", "x").is_ok()),
        "connect" => told(std::net::TcpStream::connect("127.0.0.1:1").is_ok()),
        "listen" => told(TcpListener::bind("127.0.0.1:0").is_ok()),
        "udp" => told(UdpSocket::bind("127.0.0.1:0").is_ok()),
        "pair" => told(UnixStream::pair().is_ok()),
        "execute" => told(Command::new("/bin/true").status().is_ok()),
        "thread" => told(std::thread::spawn(|| 7).join().is_ok()),
        "variables" => std::env::vars()
            .map(|(name, _)| name)
            .collect::<Vec<_>>()
            .join(","),
        _ => panic!("unknown: {what}"),
    }
}
