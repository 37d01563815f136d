//! What the tests of executors start: an executor as it is (`serve`), or the same process after somebody has taken it over
//! (`escaped`). That one is confined in the same way, and does what a run's event says.

#![expect(clippy::unwrap_used, reason = "a program of tests may panic")]

use heddle_processes::{Channel, close_threads};
use heddle_sandbox::serve::{confine, serve};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, OwnedFd};
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
    // Otherwise it would end with its first attempt to write to a file, before it has found out whether the file takes that.
    calls::survive_writes();
    let channel = confine(limits).unwrap().into_channel();
    let mut escaped = Escaped { channel, code: None };
    // As a real one: what asks for the main thread's stack would open a file. Then it has all its threads.
    std::thread::spawn(move || {
        close_threads().unwrap();
        escaped.obey();
    })
    .join()
    .unwrap();
}

struct Escaped {
    channel: Channel,
    /// Machine code that others execute as well.
    code: Option<OwnedFd>,
}

impl Escaped {
    fn obey(&mut self) {
        // The first word comes with the standard library's code.
        let (code, header) = receive_descriptor(&self.stream());
        let mut word = vec![0; u32::from_le_bytes(header) as usize];
        self.stream().read_exact(&mut word).unwrap();
        self.code = Some(code);
        self.say(&[STARTED, 0]);
        while let Some(frame) = self.channel.receive().unwrap() {
            match frame.first().copied() {
                Some(LOAD) => self.say(&[&[LOADED], &frame[1..5], &[0]].concat()),
                Some(RUN) => {
                    let run = u32::from_le_bytes(frame[1..5].try_into().unwrap());
                    let length = u32::from_le_bytes(frame[13..17].try_into().unwrap()) as usize;
                    let event = String::from_utf8_lossy(&frame[17..17 + length]).into_owned();
                    self.act(run, event.trim_matches('"'));
                }
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
                let found = look_around(self.code.as_ref().unwrap());
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
            "child" => drop(Command::new("/bin/true").spawn()),
            "threads" => loop {
                // None starts: the first attempt ends the process.
                let started = std::thread::Builder::new().stack_size(16 << 10).spawn(|| {
                    loop {
                        std::thread::park();
                    }
                });
                drop(started);
            },
            "clone" => drop(call(bare_thread)),
            "another list of calls" => drop(call(another_filter)),
            "say nothing" => {}
            "compute for ever" => {
                self.end(run, "1");
                spin();
            }
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
fn look_around(code: &OwnedFd) -> Vec<&'static str> {
    let parent = std::os::unix::process::parent_id();
    let [read, written, mapped, made_writable] = change_code(code);
    let attempts: [(&'static str, bool); 15] = [
        // Otherwise the next ones would fail whatever holds them.
        ("code that can't be read", !read),
        ("write to code", written),
        ("map code to write to it", mapped),
        ("write to code that is mapped", made_writable),
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
        ("kill its parent", call(kill_parent) == 0),
        ("a file in memory", call(file_in_memory) >= 0),
        ("a higher priority", call(higher_priority) == 0),
        ("other descriptors", descriptors(code) > 0),
    ];
    let worked = attempts.into_iter().filter(|(_, worked)| *worked);
    worked.map(|(what, _)| what).collect()
}

/// Descriptors beside those that the process was given or made for itself: three of standard, what waits for its socket, and code.
fn descriptors(code: &OwnedFd) -> usize {
    let others = (3..200).filter(|descriptor| *descriptor != code.as_raw_fd());
    let open = others.filter(|descriptor| fd_is_foreign(*descriptor));
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
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
    use std::os::unix::net::UnixStream;
    use std::os::unix::process::parent_id;

    /// The first four bytes that come, and the file that comes with them.
    pub fn receive_descriptor(stream: &UnixStream) -> (OwnedFd, [u8; 4]) {
        let mut header = [0_u8; 4];
        let mut control = [0_u64; 8];
        let mut buffer = libc::iovec {
            iov_base: header.as_mut_ptr().cast(),
            iov_len: header.len(),
        };
        // SAFETY: a message of zeros is an empty one; what is put into it are a buffer and room for descriptors, with their
        // lengths, which both outlive the call.
        let descriptor = unsafe {
            let mut message: libc::msghdr = std::mem::zeroed();
            message.msg_iov = &raw mut buffer;
            message.msg_iovlen = 1;
            message.msg_control = control.as_mut_ptr().cast();
            message.msg_controllen = size_of_val(&control);
            let read = libc::recvmsg(stream.as_raw_fd(), &raw mut message, libc::MSG_WAITALL);
            assert_eq!(read, 4);
            let first = libc::CMSG_FIRSTHDR(&raw const message);
            assert!(!first.is_null());
            libc::CMSG_DATA(first).cast::<i32>().read_unaligned()
        };
        // SAFETY: nobody else has it: the kernel has just made it.
        (unsafe { OwnedFd::from_raw_fd(descriptor) }, header)
    }

    /// Whether code can be read, written to, mapped to be written to, and be made writable where it is mapped.
    pub fn change_code(code: &OwnedFd) -> [bool; 4] {
        const PAGE: usize = 4_096;
        let descriptor = code.as_raw_fd();
        let mut byte = [0_u8; 1];
        // SAFETY: one byte is read into a buffer of one, and written from it; pages are mapped where there is room, and nothing
        // refers to them.
        unsafe {
            let read = libc::pread(descriptor, byte.as_mut_ptr().cast(), 1, 0) == 1;
            let written = libc::write(descriptor, byte.as_ptr().cast(), 1) == 1
                || libc::pwrite(descriptor, byte.as_ptr().cast(), 1, 0) == 1
                || libc::ftruncate(descriptor, 0) == 0;
            let map = |rights| {
                libc::mmap(
                    std::ptr::null_mut(),
                    PAGE,
                    rights,
                    libc::MAP_SHARED,
                    descriptor,
                    0,
                )
            };
            let mapped = map(libc::PROT_READ | libc::PROT_WRITE) != libc::MAP_FAILED;
            let view = map(libc::PROT_READ);
            let made_writable = view != libc::MAP_FAILED
                && libc::mprotect(view, PAGE, libc::PROT_READ | libc::PROT_WRITE) == 0;
            [read && view != libc::MAP_FAILED, written, mapped, made_writable]
        }
    }

    pub fn bare_thread() -> i64 {
        const FLAGS: libc::c_int = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM;
        // SAFETY: the filter ends the process before the kernel looks at anything; a thread that did start would have no stack of its
        // own, and end the process with an error that is not the expected one.
        unsafe { libc::syscall(libc::SYS_clone, FLAGS, 0, 0, 0, 0) }
    }

    pub fn another_filter() -> i64 {
        // SAFETY: there is no filter to be read at 0, which would be an error.
        unsafe { libc::syscall(libc::SYS_seccomp, 1, 0, 0) }
    }

    /// Has a write beyond the limit of files fail instead of ending the process.
    pub fn survive_writes() {
        // SAFETY: ignoring a signal executes nothing.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }

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
use calls::{
    another_filter, bare_thread, change_code, file_in_memory, higher_priority, kill_parent, libc_execve,
    read_parent, receive_descriptor, trace_parent,
};

/// Computes, and does nothing else any more.
fn spin() -> ! {
    let mut number = 0_u64;
    loop {
        number = std::hint::black_box(number.wrapping_add(1));
    }
}

/// Takes memory until there is no more, and uses it.
fn exhaust() {
    let mut all = Vec::new();
    loop {
        all.push(vec![1_u8; 16 << 20]);
    }
}
