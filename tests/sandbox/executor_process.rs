//! What the tests of executors start: an executor as it is (`serve`), or the same process after somebody has taken it over
//! (`escaped`). That one is confined in the same way, and does what a run's event says.

#![expect(clippy::unwrap_used, reason = "a program of tests may panic")]

use heddle_processes::Channel;
use heddle_sandbox::serve::{confine, serve};
use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::Command;

/// Letters of the protocol.
const LOAD: u8 = 2;
const RUN: u8 = 4;
const STARTED: u8 = 0;
const LOADED: u8 = 1;
const EFFECT: u8 = 2;
const WAITS: u8 = 3;
const CALLED: u8 = 4;
const SENDS: u8 = 5;
const TOLD: u8 = 6;
const ENDED: u8 = 7;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [who, kind, limits] = arguments.as_slice() else {
        panic!("started by hand: {arguments:?}");
    };
    assert_eq!(kind, heddle_sandbox::serve::KIND);
    if who == "serve" {
        if let Err(error) = serve(limits) {
            eprintln!("{error}");
            std::process::exit(1);
        }
        return;
    }
    let channel = confine(limits).unwrap().into_channel();
    // As a real one: what asks for the main thread's stack would open a file.
    std::thread::spawn(move || Escaped { channel }.obey())
        .join()
        .unwrap();
}

struct Escaped {
    channel: Channel,
}

impl Escaped {
    fn obey(&mut self) {
        while let Some(frame) = self.channel.receive().unwrap() {
            match frame.first().copied() {
                Some(LOAD) => self.say(&[&[LOADED], &frame[1..5], &[0]].concat()),
                Some(RUN) => {
                    let run = u32::from_le_bytes(frame[1..5].try_into().unwrap());
                    let length = u32::from_le_bytes(frame[13..17].try_into().unwrap()) as usize;
                    let event = String::from_utf8_lossy(&frame[17..17 + length]).into_owned();
                    self.act(run, event.trim_matches('"'));
                }
                Some(0) => self.say(&[STARTED, 0]),
                _ => {}
            }
        }
    }

    fn say(&mut self, frame: &[u8]) {
        self.channel.send(frame).unwrap();
    }

    /// Ends a run with this output.
    fn end(&mut self, run: u32, output: &str) {
        self.say(&ended(run, output));
    }

    fn act(&mut self, run: u32, attack: &str) {
        match attack {
            "hello" => self.end(run, "\"hello\""),
            "look around" => {
                let found = look_around();
                self.end(run, &format!("{found:?}"));
            }
            "connect" => drop(TcpStream::connect("127.0.0.1:9")),
            "datagram" => drop(UdpSocket::bind("127.0.0.1:0")),
            "local socket" => drop(UnixStream::connect("/run/x")),
            "exec" => drop(call(libc_execve)),
            "trace" => drop(call(trace_parent)),
            "read parent" => drop(call(read_parent)),
            "crash" => std::process::abort(),
            "exit" => std::process::exit(0),
            "exhaust" => exhaust(),
            other => self.misspeak(run, other),
        }
    }

    fn misspeak(&mut self, run: u32, attack: &str) {
        let number = |value: u32| value.to_le_bytes();
        match attack {
            "nothing" => self.say(&[]),
            "unknown word" => self.say(&[200, 1, 2, 3]),
            "another's run" => self.end(run.wrapping_add(1), "1"),
            "twice" => {
                self.end(run, "1");
                self.end(run, "2");
            }
            "no JSON" => self.end(run, "{\"a\":"),
            "short" => self.say(&[&[ENDED], &number(run)[..], &[0, 255, 255, 255, 255]].concat()),
            "many lines" => {
                let mut frame = [&[ENDED], &number(run)[..], &[3, 0], &number(10_000_001)[..]].concat();
                frame.resize(frame.len() + 50_000_000, 0);
                self.say(&frame);
            }
            "too long" => self.raw(&[255, 255, 255, 255]),
            "cut off" => {
                self.raw(&[100, 0, 0, 0, ENDED]);
                std::process::exit(0);
            }
            "start again" => self.say(&[STARTED, 0]),
            "call nobody" => self.say(&[&[CALLED], &number(run)[..], &number(7), &[1], &number(0)].concat()),
            "wait twice" => {
                let effect = asks(run, "sleep", "{\"ms\":3600000}");
                self.say(&effect);
                for _ in 0..2 {
                    self.say(&[&[WAITS], &number(run)[..], &number(0)].concat());
                }
            }
            // A line of the log.
            "tell" => self.say(&tells(run)),
            "flood of what is told" => self.flood(&tells(run)),
            "flood of effects" => self.flood(&asks(run, "sleep", "{\"ms\":3600000}")),
            "flood of requests" => {
                let text = number(0);
                let request = [&text[..], &text, &text, &[0], &[0], &[0]].concat();
                self.flood(&[&[SENDS], &number(run)[..], &number(0), &number(0), &request].concat());
            }
            "flood of large effects" => {
                let large = format!("\"{}\"", "x".repeat(8 << 20));
                self.flood(&asks(run, "http", &large));
            }
            // What the manifest does not list is refused as of any run.
            "foreign effect" => {
                self.say(&asks(run, "mail", "{}"));
                self.say(&[&[WAITS], &number(run)[..], &number(0)].concat());
                let answer = self.channel.receive().unwrap().unwrap();
                let json = serde_json::to_string(&String::from_utf8_lossy(&answer[13..])).unwrap();
                self.end(run, &json);
            }
            _ => panic!("unknown: {attack}"),
        }
    }

    fn raw(&self, bytes: &[u8]) {
        (&self.stream()).write_all(bytes).unwrap();
    }

    /// The socket, which is standard input.
    fn stream(&self) -> UnixStream {
        use std::os::fd::AsFd;
        std::io::stdin().as_fd().try_clone_to_owned().unwrap().into()
    }

    /// Until nobody takes it any more.
    fn flood(&mut self, frame: &[u8]) {
        while self.channel.send(frame).is_ok() {}
        std::process::exit(0);
    }
}

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as u32).to_le_bytes()[..], text.as_bytes()].concat()
}

fn asks(run: u32, kind: &str, request: &str) -> Vec<u8> {
    let mut frame = vec![EFFECT];
    frame.extend(run.to_le_bytes());
    frame.extend(0_u32.to_le_bytes());
    frame.extend(text(kind));
    frame.extend(text("key/0"));
    frame.push(1);
    frame.extend(text(request));
    frame.push(0);
    frame
}

fn tells(run: u32) -> Vec<u8> {
    let mut frame = vec![TOLD];
    frame.extend(run.to_le_bytes());
    frame.extend([1, 1]);
    frame.extend(text("a line"));
    frame.push(0);
    frame
}

fn ended(run: u32, output: &str) -> Vec<u8> {
    let mut frame = vec![ENDED];
    frame.extend(run.to_le_bytes());
    frame.push(0);
    frame.extend(text(output));
    // No answer, no log, no trace, no fuel, no memory.
    frame.push(0);
    frame.extend([0; 4 + 4 + 8 + 8 + 8]);
    frame
}

/// What works of all that must not, of what does not end the process.
fn look_around() -> Vec<&'static str> {
    let parent = std::os::unix::process::parent_id();
    let attempts: [(&'static str, bool); 12] = [
        ("read a file", File::open("/etc/passwd").is_ok()),
        ("write a file", File::create("/tmp/escaped").is_ok()),
        ("list a directory", fs::read_dir("/").is_ok()),
        (
            "look whether a file is there",
            fs::metadata("/etc/passwd").is_ok(),
        ),
        ("its own memory", File::open("/proc/self/mem").is_ok()),
        (
            "its parent's memory",
            OpenOptions::new()
                .read(true)
                .open(format!("/proc/{parent}/mem"))
                .is_ok(),
        ),
        (
            "its parent's variables",
            fs::read(format!("/proc/{parent}/environ")).is_ok(),
        ),
        ("a child", Command::new("/bin/true").spawn().is_ok()),
        ("kill its parent", call(kill_parent) == 0),
        ("a file in memory", call(file_in_memory) >= 0),
        ("a higher priority", call(higher_priority) == 0),
        ("other descriptors", descriptors() > 0),
    ];
    let worked = attempts.into_iter().filter(|(_, worked)| *worked);
    worked.map(|(what, _)| what).collect()
}

/// Descriptors beside those that the process was given or made for itself: three of standard, and what waits for its socket.
fn descriptors() -> usize {
    let open = (3..200).filter(|descriptor| fd_is_foreign(*descriptor));
    open.count()
}

/// Whether a descriptor is there that is a file with a content, other than a view of this process itself.
fn fd_is_foreign(descriptor: i32) -> bool {
    let mut byte = [0_u8; 1];
    #[expect(unsafe_code, reason = "descriptors that nobody owns")]
    // SAFETY: one byte is read into a buffer of one.
    let read = unsafe { libc::pread(descriptor, byte.as_mut_ptr().cast(), 1, 0) };
    // What wasmtime has opened before are the pages of this process, of which nothing is at 0.
    read > 0
}

fn call(function: fn() -> i64) -> i64 {
    function()
}

#[expect(unsafe_code, reason = "system calls that the standard library does not have")]
mod calls {
    use std::os::unix::process::parent_id;

    pub fn kill_parent() -> i64 {
        // SAFETY: sends a signal.
        unsafe { libc::syscall(libc::SYS_kill, parent_id(), 0) }
    }

    pub fn file_in_memory() -> i64 {
        // SAFETY: makes a file with a name that lives long enough.
        unsafe { libc::syscall(libc::SYS_memfd_create, c"escaped".as_ptr(), 0) }
    }

    pub fn higher_priority() -> i64 {
        // SAFETY: takes numbers.
        unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, 0, -20) }
    }

    pub fn libc_execve() -> i64 {
        let arguments = [std::ptr::null::<libc::c_char>()];
        // SAFETY: a path that ends with a zero, and lists of no arguments.
        unsafe {
            libc::syscall(
                libc::SYS_execve,
                c"/bin/true".as_ptr(),
                arguments.as_ptr(),
                arguments.as_ptr(),
            )
        }
    }

    pub fn trace_parent() -> i64 {
        // SAFETY: takes numbers.
        unsafe { libc::syscall(libc::SYS_ptrace, libc::PTRACE_ATTACH, parent_id(), 0, 0) }
    }

    pub fn read_parent() -> i64 {
        let mut byte = [0_u8; 1];
        let local = libc::iovec {
            iov_base: byte.as_mut_ptr().cast(),
            iov_len: 1,
        };
        // SAFETY: both lists have one entry, and the local one is a buffer of one byte.
        unsafe {
            libc::syscall(
                libc::SYS_process_vm_readv,
                parent_id(),
                &raw const local,
                1,
                &raw const local,
                1,
                0,
            )
        }
    }
}
use calls::{file_in_memory, higher_priority, kill_parent, libc_execve, read_parent, trace_parent};

/// Takes memory until there is no more, and uses it.
fn exhaust() {
    let mut all = Vec::new();
    loop {
        all.push(vec![1_u8; 16 << 20]);
    }
}
