//! What the tests of workers start: workers that misbehave in all the ways that one may, and a parent that dies.

#![expect(clippy::unwrap_used, reason = "a worker of tests may panic")]

use heddle_processes::{Channel, Frame, Limits, LinkLimits, Rights, Worker, WorkerProgram};
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
        ["link", limits] => link(limits),
        ["peer", limits] => {
            let confined = Channel::confined_after(limits, Rights::Peer, Channel::peer);
            let (mut channel, peer) = confined.unwrap();
            let work = move || {
                while let Some(request) = channel.receive().unwrap() {
                    let answer = match std::str::from_utf8(&request).unwrap() {
                        "say" => told((&peer).write_all(b"hello").is_ok()),
                        other => attempt(other),
                    };
                    channel.send(answer.as_bytes()).unwrap();
                }
            };
            std::thread::spawn(work).join().unwrap();
        }
        [kind, limits] => {
            let rights = match *kind {
                "socket" => Rights::LocalSocket,
                "files" => Rights::Files,
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

/// Says back what it hears, and the content of files that come with it.
fn link(limits: &str) {
    let prepare = || tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (channel, runtime) = Channel::confined_after(limits, Rights::Execute, prepare).unwrap();
    let work = async move {
        let limits = LinkLimits {
            sent_bytes_max: 16 << 20,
            received_bytes_max: 16 << 20,
            waiting_bytes_max: 256 << 20,
            takes_descriptors: true,
        };
        let (sender, mut receiver) = channel.into_link(limits).unwrap();
        loop {
            let mut heard = Vec::new();
            while let Some(frame) = receiver.take_frame().unwrap() {
                heard.push(frame.to_vec());
            }
            // What is said meanwhile goes together.
            let held = sender.hold();
            for frame in heard {
                let mut answer = Frame::with_capacity(frame.len());
                answer.extend(&frame);
                sender.send(answer).unwrap();
            }
            for descriptor in receiver.descriptors().drain(..) {
                use std::os::unix::fs::FileExt;
                let file = std::fs::File::from(descriptor);
                let mut content = [0; 5];
                file.read_exact_at(&mut content, 0).unwrap();
                let mut answer = Frame::new();
                answer.extend(&content);
                sender.send(answer).unwrap();
            }
            drop(held);
            if !receiver.fill().await.unwrap() {
                return;
            }
        }
    };
    std::thread::spawn(move || runtime.block_on(work)).join().unwrap();
}

/// Starts a worker, tells its id, and waits to be killed.
fn parent() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let program = WorkerProgram {
            program: std::env::current_exe().unwrap(),
            arguments: Vec::new(),
        };
        let limits = Limits {
            processor_seconds_max: 600,
            ..Limits::default()
        };
        let mut worker = Worker::start(program.command("spin", limits)).await.unwrap();
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
                let stand = [layers.files, layers.system_calls, layers.network];
                channel.send(&stand.map(u8::from)).unwrap();
            }
            "compute" | "socket" | "files" => {
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

fn told(succeeded: bool) -> String {
    if succeeded { "done" } else { "refused" }.to_owned()
}

/// What somebody would try who has taken over a worker.
fn attempt(what: &str) -> String {
    match what {
        "own" => told(
            std::fs::write("mine", "x").is_ok()
                && std::fs::read("mine").is_ok_and(|read| read == b"x")
                && std::fs::remove_file("mine").is_ok(),
        ),
        "up" => told(std::fs::read("../secret").is_ok()),
        "folder" => told(std::fs::create_dir("folder").is_ok()),
        "link" => told(std::os::unix::fs::symlink("../secret", "link").is_ok()),
        "large" => told(std::fs::write("large", vec![0; 2 << 20]).is_ok()),
        "read" => told(std::fs::read("/etc/passwd").is_ok()),
        "list" => told(std::fs::read_dir("/").is_ok()),
        "write" => told(std::fs::write("/tmp/heddle-worker-wrote-this", "x").is_ok()),
        "connect" => told(std::net::TcpStream::connect("127.0.0.1:1").is_ok()),
        "listen" => told(TcpListener::bind("127.0.0.1:0").is_ok()),
        "local" => told(UnixStream::connect("socket").is_ok()),
        "close" => told(heddle_processes::close_sockets().is_ok()),
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
