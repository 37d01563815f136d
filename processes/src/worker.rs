//! The parent's side: starts a worker, talks to it, and ends it when it is dropped. Nothing that a worker does can make
//! the parent wait beyond a deadline, hold more than a limit, or panic.

use crate::frame::{self, FrameError, Receiver, Sender};
use crate::limits::Limits;
use crate::link::{self, LinkLimits, LinkReceiver, LinkSender};
use crate::starter;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStderr, Command};
use tokio::time::timeout;

/// A worker that closed its socket gets so long to end.
const END_MAX: Duration = Duration::from_secs(1);
/// Bytes that are kept of what a worker said last; a pipe holds no more.
const LAST_WORDS_BYTES_MAX: u64 = 64 << 10;
/// Characters at the end of that which are shown.
const LAST_WORDS_CHARS_MAX: usize = 1_000;
/// Signals by which a process ends itself, or the system ends one that used up its processor time.
const SIGABRT: i32 = 6;
const SIGXCPU: i32 = 24;

/// The program that is started as workers, mostly this one: `program arguments… KIND LIMITS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerProgram {
    /// The program's file.
    pub program: PathBuf,
    /// What makes it a worker of any kind.
    pub arguments: Vec<OsString>,
}

/// Which worker is started, and what it may use.
#[derive(Clone, Debug)]
pub struct WorkerCommand {
    pub program: WorkerProgram,
    /// What the worker does.
    pub kind: &'static str,
    /// What it may use.
    pub limits: Limits,
    /// Its working directory, which is all that a worker with the right to files has of them; `None`: the root.
    pub dir: Option<PathBuf>,
    /// What it finds as standard output: a connection to somebody else, for a worker that can make none.
    pub peer: Option<Arc<OwnedFd>>,
}

impl WorkerProgram {
    /// A worker of this kind, without files and peer.
    pub fn command(&self, kind: &'static str, limits: Limits) -> WorkerCommand {
        WorkerCommand {
            program: self.clone(),
            kind,
            limits,
            dir: None,
            peer: None,
        }
    }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// By itself, with this code.
    Exit(i32),
    Signal(i32),
    /// It closed its socket, did not end, and was killed.
    Killed,
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => End::Exit(code),
            (None, Some(signal)) => End::Signal(signal),
            (None, None) => End::Killed,
        }
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(code) => write!(f, "it ended with code {code}"),
            End::Signal(signal) => write!(f, "signal {signal} ended it"),
            End::Killed => f.write_str("it closed its socket and was killed"),
        }
    }
}

/// Why there is no answer. Whatever it is, the worker has ended.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// The process could not be started.
    #[error("a worker process can't be started: {0}")]
    Start(#[source] io::Error),
    /// It ended before it answered.
    #[error("the worker process ended: {end}")]
    Died {
        /// How.
        end: End,
        /// The last that it wrote to standard error: for a log, not for clients.
        last_words: String,
    },
    /// It took longer than the deadline.
    #[error("the worker process took longer than {} ms", .0.as_millis())]
    TimedOut(Duration),
    /// The request is over its limit; nothing was sent.
    #[error("the request has {bytes} bytes; at most {bytes_max} are allowed")]
    RequestTooLarge {
        /// What it has.
        bytes: usize,
        /// What it may have.
        bytes_max: usize,
    },
    /// The answer claims to be over its limit; it was not read.
    #[error("the worker's answer has {bytes} bytes; at most {bytes_max} are allowed")]
    AnswerTooLarge {
        /// What it claims.
        bytes: usize,
        /// What it may have.
        bytes_max: usize,
    },
    /// The answer can't be read, with the reader's reason.
    #[error("the worker's answer can't be used: {0}")]
    Malformed(String),
    /// An earlier request of this worker was given up, or failed.
    #[error("the worker has been given up")]
    GivenUp,
    /// The socket failed.
    #[error("the worker can't be reached: {0}")]
    Socket(#[source] io::Error),
}

impl WorkerError {
    /// Whether it ran out of its address space.
    pub fn is_out_of_memory(&self) -> bool {
        // The words are those of Rust's handler of failed allocations, which aborts the process.
        matches!(self, WorkerError::Died { end: End::Signal(SIGABRT), last_words }
            if last_words.contains("memory allocation of"))
    }

    /// Whether it used up its processor time, or passed its deadline.
    pub fn is_out_of_time(&self) -> bool {
        matches!(
            self,
            WorkerError::TimedOut(_)
                | WorkerError::Died {
                    end: End::Signal(SIGXCPU),
                    ..
                }
        )
    }
}

/// A running worker, for one request at a time.
#[derive(Debug)]
pub struct Worker {
    process: Process,
    sender: Sender,
    receiver: Receiver,
    /// A request is under way, or was when its caller left.
    is_busy: bool,
}

impl Worker {
    /// Starts one: with an empty environment, the socket as its standard input, its peer as standard output if it has one,
    /// and no other descriptor but standard error, of which the last lines are kept for when it dies. To be called within a
    /// runtime of tokio.
    pub async fn start(command: WorkerCommand) -> Result<Self, WorkerError> {
        let Limits {
            request_bytes_max,
            answer_bytes_max,
            ..
        } = command.limits;
        let started = starter::start(move || spawn(&command)).await;
        let (stream, process) = started.map_err(WorkerError::Start)?;
        let (sender, receiver) = frame::halves(stream, answer_bytes_max, request_bytes_max);
        Ok(Worker {
            process,
            sender,
            receiver,
            is_busy: false,
        })
    }

    /// Starts one for a conversation in which both sides speak whenever they like, likewise. It ends when the process is
    /// dropped.
    pub async fn start_linked(
        command: WorkerCommand,
        limits: LinkLimits,
    ) -> Result<(Process, LinkSender, LinkReceiver), WorkerError> {
        let started = starter::start(move || spawn(&command)).await;
        let (stream, process) = started.map_err(WorkerError::Start)?;
        let linked = stream.into_std().and_then(|socket| link::link(socket, limits));
        let (sender, receiver) = linked.map_err(WorkerError::Start)?;
        Ok((process, sender, receiver))
    }

    /// Sends a request and waits for the answer. After an error, or when the future is dropped before its end, the
    /// worker can't be used any more.
    pub async fn ask(&mut self, request: &[u8], deadline: Duration) -> Result<Vec<u8>, WorkerError> {
        if std::mem::replace(&mut self.is_busy, true) {
            return Err(WorkerError::GivenUp);
        }
        let exchanged = timeout(deadline, self.exchange(request)).await;
        let answer = exchanged.unwrap_or(Err(WorkerError::TimedOut(deadline)));
        match answer {
            Ok(answer) => {
                self.is_busy = false;
                Ok(answer)
            }
            Err(WorkerError::RequestTooLarge { bytes, bytes_max }) => {
                self.is_busy = false;
                Err(WorkerError::RequestTooLarge { bytes, bytes_max })
            }
            Err(error) => {
                self.process.kill();
                Err(error)
            }
        }
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Vec<u8>, WorkerError> {
        match self.sender.send(request).await {
            Ok(()) => {}
            Err(FrameError::TooLarge { bytes, bytes_max }) => {
                return Err(WorkerError::RequestTooLarge { bytes, bytes_max });
            }
            Err(error) => return Err(self.process.why(error).await),
        }
        match self.receiver.receive().await {
            Ok(Some(answer)) => Ok(answer),
            Ok(None) => Err(self.process.death().await),
            Err(error) => Err(self.process.why(error).await),
        }
    }

    /// Its process, and both directions of its socket, for a conversation of another form. The worker ends when the
    /// process is dropped.
    pub fn into_parts(self) -> (Process, Sender, Receiver) {
        (self.process, self.sender, self.receiver)
    }

    /// Its id, while it lives.
    pub fn id(&self) -> Option<u32> {
        self.process.child.id()
    }
}

/// Processor time that a process has used in its life, all threads together. `None`: it has ended, or the system does not say.
pub fn processor_time(process: u32) -> Option<Duration> {
    #[cfg(target_os = "linux")]
    {
        let process = libc::pid_t::try_from(process).ok()?;
        let mut clock = 0;
        let mut time = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        #[expect(unsafe_code, reason = "no safe call reads another process's clock")]
        // SAFETY: both calls write what they return into the variables whose addresses they get.
        let read = unsafe {
            libc::clock_getcpuclockid(process, &raw mut clock) == 0
                && libc::clock_gettime(clock, &raw mut time) == 0
        };
        let (seconds, nanoseconds) = (
            u64::try_from(time.tv_sec).ok()?,
            u32::try_from(time.tv_nsec).ok()?,
        );
        read.then(|| Duration::new(seconds, nanoseconds))
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = process;
        None
    }
}

/// A worker's process; killed when dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    stderr: Option<ChildStderr>,
}

impl Process {
    /// Its id, while it lives.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Ends it.
    pub fn kill(&mut self) {
        // It has ended already if this fails.
        let _ = self.child.start_kill();
    }

    /// Why the other side of the socket is gone: waits for the process's end, but not for long.
    pub async fn death(&mut self) -> WorkerError {
        let end = match timeout(END_MAX, self.child.wait()).await {
            Ok(Ok(status)) => End::from(status),
            _ => {
                self.kill();
                End::Killed
            }
        };
        WorkerError::Died {
            end,
            last_words: self.last_words().await,
        }
    }

    /// What an error of the socket means.
    pub async fn why(&mut self, error: FrameError) -> WorkerError {
        match error {
            FrameError::TooLarge { bytes, bytes_max } => WorkerError::AnswerTooLarge { bytes, bytes_max },
            FrameError::CutOff => self.death().await,
            FrameError::Socket(error) => match error.kind() {
                io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => self.death().await,
                _ => WorkerError::Socket(error),
            },
        }
    }

    async fn last_words(&mut self) -> String {
        let Some(stderr) = self.stderr.take() else {
            return String::new();
        };
        let mut said = Vec::new();
        // What has come until then is enough.
        let _ = timeout(END_MAX, stderr.take(LAST_WORDS_BYTES_MAX).read_to_end(&mut said)).await;
        let said = String::from_utf8_lossy(&said);
        let surplus = said.chars().count().saturating_sub(LAST_WORDS_CHARS_MAX);
        let end = said.chars().skip(surplus);
        let readable = end.map(|char| if char.is_control() { ' ' } else { char });
        readable.collect::<String>().trim().to_owned()
    }
}

fn spawn(command: &WorkerCommand) -> io::Result<(UnixStream, Process)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    let ours = UnixStream::from_std(ours)?;
    let peer = match &command.peer {
        Some(peer) => Stdio::from(peer.try_clone()?),
        None => Stdio::null(),
    };
    let mut child = Command::new(&command.program.program)
        .args(&command.program.arguments)
        .arg(command.kind)
        .arg(command.limits.to_string())
        .env_clear()
        .current_dir(command.dir.as_deref().unwrap_or(Path::new("/")))
        // Signals of the terminal are for the parent, which still needs its workers to end well.
        .process_group(0)
        .stdin(OwnedFd::from(theirs))
        .stdout(peer)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let stderr = child.stderr.take();
    Ok((ours, Process { child, stderr }))
}
