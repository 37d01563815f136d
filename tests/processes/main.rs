//! Workers from outside: whatever a worker does, its parent gets a typed error in time, holds no more than it allows,
//! and goes on; a worker has nothing but its socket. And what bounds work for each of its owners.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

#[path = "../shared/needs.rs"]
mod needs;
mod places;

use heddle_processes::{
    End, Frame, Layers, Limits, LinkLimits, LinkReceiver, Worker, WorkerCommand, WorkerError, WorkerProgram,
};
use std::time::Duration;

/// Longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn command(kind: &'static str, limits: Limits) -> WorkerCommand {
    let program = WorkerProgram {
        program: env!("CARGO_BIN_EXE_heddle-test-worker").into(),
        arguments: Vec::new(),
    };
    program.command(kind, limits)
}

async fn start(kind: &'static str) -> Worker {
    Worker::start(command(kind, Limits::default())).await.unwrap()
}

/// The error with which a worker of this kind answers its first request.
async fn failure(kind: &'static str, limits: Limits) -> WorkerError {
    let mut worker = Worker::start(command(kind, limits)).await.unwrap();
    let error = worker.ask(b"go on", PATIENCE).await.unwrap_err();
    let again = worker.ask(b"go on", PATIENCE).await.unwrap_err();
    assert!(matches!(again, WorkerError::GivenUp), "{again}");
    error
}

#[tokio::test]
async fn answers_come_back_one_after_the_other() {
    let mut worker = start("echo").await;
    let large = vec![7; 3 << 20];
    for request in [b"".as_slice(), b"a", &large, b"b"] {
        assert_eq!(worker.ask(request, PATIENCE).await.unwrap(), request);
    }
}

/// What a link gives next.
async fn next(receiver: &mut LinkReceiver) -> Vec<u8> {
    loop {
        if let Some(frame) = receiver.take_frame().unwrap() {
            return frame.to_vec();
        }
        assert!(receiver.fill().await.unwrap());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_link_speak_whenever_they_like() {
    let limits = LinkLimits {
        sent_bytes_max: 16 << 20,
        received_bytes_max: 16 << 20,
        waiting_bytes_max: 256 << 20,
        takes_descriptors: false,
    };
    let linked = Worker::start_linked(command("link", Limits::default()), limits).await;
    let (_process, sender, mut receiver) = linked.unwrap();
    // From several threads, more than the socket holds at a time, before anything is read.
    let speaking = (0..4_u8).map(|speaker| {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for number in 0..100_u8 {
                let mut frame = Frame::new();
                frame.extend(&[speaker, number]);
                frame.extend(&vec![number; usize::from(number) * 1_000]);
                sender.send(frame).unwrap();
            }
        })
    });
    let speaking: Vec<_> = speaking.collect();
    let mut heard = [0_u8; 4];
    for _ in 0..400 {
        let frame = tokio::time::timeout(PATIENCE, next(&mut receiver)).await.unwrap();
        let (speaker, number) = (usize::from(frame[0]), frame[1]);
        assert_eq!(number, heard[speaker], "in order");
        assert_eq!(frame.len(), 2 + usize::from(number) * 1_000);
        heard[speaker] += 1;
    }
    speaking.into_iter().for_each(|speaker| speaker.join().unwrap());
    let file = tempfile();
    let mut frame = Frame::new();
    frame.extend(b"with a file");
    sender.send_with(frame, vec![std::sync::Arc::new(file)]).unwrap();
    assert_eq!(next(&mut receiver).await, b"with a file");
    assert_eq!(next(&mut receiver).await, b"hello");
    // Whoever looks takes what others would be woken for, and these go on to wait.
    assert_eq!(receiver.fill_now().unwrap(), None);
    let mut frame = Frame::new();
    frame.extend(b"looked for");
    sender.send(frame).unwrap();
    let looked = async {
        while receiver.fill_now().unwrap().is_none() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, looked).await.unwrap();
    assert_eq!(receiver.take_frame().unwrap(), Some(b"looked for".as_slice()));
    let mut frame = Frame::new();
    frame.extend(b"waited for");
    sender.send(frame).unwrap();
    assert_eq!(next(&mut receiver).await, b"waited for");
    let mut frame = Frame::new();
    frame.extend(&vec![0; (16 << 20) + 1]);
    assert!(sender.send(frame).is_err());
}

/// A file that nobody else can open.
fn tempfile() -> std::os::fd::OwnedFd {
    let path = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("link");
    std::fs::write(&path, "hello").unwrap();
    let file = std::fs::File::open(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    file.into()
}

#[tokio::test]
async fn a_worker_that_crashes_is_told_apart_by_how() {
    let aborted = failure("abort", Limits::default()).await;
    assert!(
        matches!(
            aborted,
            WorkerError::Died {
                end: End::Signal(6),
                ..
            }
        ),
        "{aborted:?}"
    );
    assert!(!aborted.is_out_of_memory() && !aborted.is_out_of_time());
    let exited = failure("exit", Limits::default()).await;
    assert!(
        matches!(
            exited,
            WorkerError::Died {
                end: End::Exit(7),
                ..
            }
        ),
        "{exited:?}"
    );
    let panicked = failure("panic", Limits::default()).await;
    let WorkerError::Died {
        end: End::Exit(101),
        last_words,
    } = panicked
    else {
        panic!("{panicked:?}");
    };
    assert!(last_words.contains("an odd graph"), "{last_words}");
}

#[tokio::test]
async fn memory_ends_at_the_limit() {
    let error = failure("memory", Limits::default()).await;
    assert!(error.is_out_of_memory(), "{error:?}");
}

#[tokio::test]
async fn processor_time_ends_at_the_limit() {
    let limits = Limits {
        processor_seconds_max: 1,
        ..Limits::default()
    };
    let error = failure("spin", limits).await;
    assert!(matches!(error, WorkerError::Died { .. }), "{error:?}");
    assert!(error.is_out_of_time(), "{error:?}");
}

#[tokio::test]
async fn whoever_spins_is_killed_at_the_deadline() {
    let mut worker = start("spin").await;
    let error = worker.ask(b"go on", Duration::from_millis(20)).await.unwrap_err();
    assert!(
        matches!(error, WorkerError::TimedOut(_)) && error.is_out_of_time(),
        "{error:?}"
    );
    let (mut process, ..) = worker.into_parts();
    let WorkerError::Died { end, .. } = process.death().await else {
        panic!("it lives");
    };
    assert_eq!(end, End::Signal(9));
}

#[tokio::test]
async fn a_request_that_was_given_up_spoils_the_worker() {
    let mut worker = start("spin").await;
    let given_up = tokio::time::timeout(Duration::from_millis(1), worker.ask(b"go on", PATIENCE)).await;
    assert!(given_up.is_err());
    let error = worker.ask(b"go on", PATIENCE).await.unwrap_err();
    assert!(matches!(error, WorkerError::GivenUp), "{error:?}");
}

#[tokio::test]
async fn an_answer_that_claims_too_much_is_not_read() {
    let error = failure("claim", Limits::default()).await;
    assert!(
        matches!(
            error,
            WorkerError::AnswerTooLarge {
                bytes: 0x7fff_ffff,
                ..
            }
        ),
        "{error:?}"
    );
    let error = failure("cut", Limits::default()).await;
    assert!(
        matches!(
            error,
            WorkerError::Died {
                end: End::Exit(0),
                ..
            }
        ),
        "{error:?}"
    );
}

#[tokio::test]
async fn frames_over_the_limit_are_refused_before_they_are_sent() {
    let limits = Limits {
        request_bytes_max: 10,
        answer_bytes_max: 100,
        ..Limits::default()
    };
    let mut worker = Worker::start(command("surplus", limits)).await.unwrap();
    let error = worker.ask(&[0; 11], PATIENCE).await.unwrap_err();
    assert!(
        matches!(
            error,
            WorkerError::RequestTooLarge {
                bytes: 11,
                bytes_max: 10
            }
        ),
        "{error:?}"
    );
    let answer = worker.ask(&[0; 10], PATIENCE).await.unwrap();
    assert_eq!(
        String::from_utf8(answer).unwrap(),
        "a message has 101 bytes; at most 100 are allowed"
    );
}

#[tokio::test]
async fn a_program_that_is_not_there_is_no_worker() {
    let absent = WorkerProgram {
        program: "/nowhere/heddle".into(),
        arguments: Vec::new(),
    };
    let error = Worker::start(absent.command("echo", Limits::default()))
        .await
        .unwrap_err();
    assert!(matches!(error, WorkerError::Start(_)), "{error:?}");
}

#[tokio::test]
async fn a_worker_has_no_variables_and_can_start_threads() {
    let mut worker = start("compute").await;
    assert_eq!(worker.ask(b"variables", PATIENCE).await.unwrap(), b"");
    assert_eq!(worker.ask(b"thread", PATIENCE).await.unwrap(), b"done");
}

#[cfg(target_os = "linux")]
mod linux {
    use super::{Layers, PATIENCE, command, failure, start};
    use heddle_processes::{End, Limits, Worker, WorkerError};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[tokio::test]
    async fn all_walls_that_the_kernel_has_stand() {
        let Layers {
            files,
            system_calls,
            network,
        } = Layers::available();
        let stand = start("layers").await.ask(b"", PATIENCE).await.unwrap();
        assert_eq!(stand, [files, system_calls, network].map(u8::from));
        assert!(files && system_calls, "the tests need Landlock and seccomp");
    }

    #[tokio::test]
    async fn files_can_not_be_opened() {
        for kind in ["compute", "socket"] {
            let mut worker = start(kind).await;
            for attempt in ["read", "list", "write", "execute"] {
                let answer = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap();
                assert_eq!(String::from_utf8(answer).unwrap(), "refused", "{kind}: {attempt}");
            }
        }
    }

    #[tokio::test]
    async fn a_worker_with_files_has_those_of_its_directory() {
        let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("files");
        let own = dir.join("own");
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(dir.join("secret"), "x").unwrap();
        let limits = Limits {
            file_bytes_max: 1 << 20,
            ..Limits::default()
        };
        let mut command = command("files", limits);
        command.dir = Some(own);
        let mut worker = Worker::start(command).await.unwrap();
        for (attempt, expected) in [
            ("own", "done"),
            ("up", "refused"),
            ("folder", "refused"),
            ("link", "refused"),
            ("read", "refused"),
            ("list", "refused"),
            ("write", "refused"),
            ("execute", "refused"),
        ] {
            let answer = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap();
            assert_eq!(String::from_utf8(answer).unwrap(), expected, "{attempt}");
        }
        // SIGXFSZ
        let error = worker.ask(b"large", PATIENCE).await.unwrap_err();
        assert!(is_signal(&error, 25), "{error:?}");
    }

    #[tokio::test]
    async fn a_worker_with_a_peer_has_no_other() {
        use std::io::Read;
        let (mut ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        let mut command = command("peer", Limits::default());
        command.peer = Some(std::sync::Arc::new(theirs.into()));
        let mut worker = Worker::start(command).await.unwrap();
        for (attempt, expected) in [
            ("say", "done"),
            ("read", "refused"),
            ("list", "refused"),
            ("write", "refused"),
            ("execute", "refused"),
        ] {
            let answer = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap();
            assert_eq!(String::from_utf8(answer).unwrap(), expected, "{attempt}");
        }
        drop(worker);
        let mut said = String::new();
        ours.read_to_string(&mut said).unwrap();
        assert_eq!(said, "hello");
    }

    #[tokio::test]
    async fn no_worker_has_the_files_of_the_whole_system() {
        let error = failure("files", Limits::default()).await;
        assert!(matches!(error, WorkerError::Died { .. }), "{error:?}");
    }

    fn is_signal(error: &WorkerError, signal: i32) -> bool {
        matches!(error, WorkerError::Died { end: End::Signal(ended), .. } if *ended == signal)
    }

    #[tokio::test]
    async fn a_socket_ends_a_worker_that_has_none() {
        for kind in ["compute", "files"] {
            for attempt in ["connect", "listen", "udp", "pair"] {
                let mut command = command(kind, Limits::default());
                command.dir = Some(env!("CARGO_TARGET_TMPDIR").into());
                let mut worker = Worker::start(command).await.unwrap();
                let error = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap_err();
                // SIGSYS
                assert!(is_signal(&error, 31), "{kind}, {attempt}: {error:?}");
            }
        }
        for attempt in ["connect", "listen", "udp", "pair"] {
            let (_ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
            let mut command = command("peer", Limits::default());
            command.peer = Some(std::sync::Arc::new(theirs.into()));
            let mut worker = Worker::start(command).await.unwrap();
            let error = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap_err();
            assert!(is_signal(&error, 31), "peer, {attempt}: {error:?}");
        }
    }

    #[tokio::test]
    async fn a_worker_with_one_socket_has_no_other_once_it_is_connected() {
        let dir = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-socket");
        std::fs::create_dir_all(&dir).unwrap();
        let socket = dir.join("socket");
        // Of an earlier test.
        let _ = std::fs::remove_file(&socket);
        let listener = std::os::unix::net::UnixListener::bind(socket).unwrap();
        let begin = async || {
            let mut command = command("socket", Limits::default());
            command.dir = Some(dir.clone());
            Worker::start(command).await.unwrap()
        };
        for before in [&["local", "connect", "udp", "close"][..], &["close"]] {
            for attempt in ["local", "connect", "udp", "listen", "pair"] {
                let mut worker = begin().await;
                for step in before {
                    let answer = worker.ask(step.as_bytes(), PATIENCE).await.unwrap();
                    let expected = match *step {
                        "local" | "close" => "done",
                        _ => "refused",
                    };
                    assert_eq!(String::from_utf8(answer).unwrap(), expected, "{step}");
                }
                let error = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap_err();
                // SIGSYS
                assert!(is_signal(&error, 31), "{attempt}: {error:?}");
            }
        }
        let error = begin().await.ask(b"pair", PATIENCE).await.unwrap_err();
        assert!(is_signal(&error, 31), "{error:?}");
        drop(listener);
    }

    /// Where the system allows it: the tests of the log say that it tells where not.
    #[tokio::test]
    async fn a_worker_is_in_a_network_of_its_own_without_privileges() {
        let allowed = Layers::available()
            .network
            .then_some(())
            .ok_or("this system refuses them");
        let Some(()) = crate::needs::or_skip("a network namespace", allowed) else {
            return;
        };
        let network = |process: &str| std::fs::read_link(format!("/proc/{process}/ns/net")).unwrap();
        for kind in ["compute", "socket", "files"] {
            let mut command = command(kind, Limits::default());
            command.dir = Some(env!("CARGO_TARGET_TMPDIR").into());
            let mut worker = Worker::start(command).await.unwrap();
            assert_eq!(worker.ask(b"thread", PATIENCE).await.unwrap(), b"done");
            let process = worker.id().unwrap().to_string();
            assert_ne!(network(&process), network("self"), "{kind}");
            // Only the loopback device, which is down.
            let devices = std::fs::read_to_string(format!("/proc/{process}/net/dev")).unwrap();
            assert_eq!(devices.lines().count(), 3, "{kind}: {devices}");
            let routes = std::fs::read_to_string(format!("/proc/{process}/net/route")).unwrap();
            // A heading at most.
            assert!(routes.lines().count() <= 1, "{kind}: {routes}");
            let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
            let privileges = status
                .lines()
                .find_map(|line| line.strip_prefix("CapEff:"))
                .unwrap();
            let has_none = u64::from_str_radix(privileges.trim(), 16) == Ok(0);
            // Files of root's tenants may belong to others.
            assert!(has_none || kind == "files", "{kind}: {privileges}");
        }
    }

    #[tokio::test]
    async fn a_worker_has_its_socket_and_standard_descriptors_only() {
        // As a careless supervisor would leave one: open across the start of a program.
        let open = std::fs::File::open("/etc/hosts").unwrap();
        rustix::io::fcntl_setfd(&open, rustix::io::FdFlags::empty()).unwrap();
        let mut worker = start("echo").await;
        worker.ask(b"", PATIENCE).await.unwrap();
        let dir = format!("/proc/{}/fd", worker.id().unwrap());
        let names = std::fs::read_dir(dir).unwrap();
        let mut open_files: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        open_files.sort();
        drop(open);
        // The socket twice: as standard input, and as what is read.
        assert_eq!(open_files, ["0", "1", "2", "3"]);
    }

    #[test]
    fn no_worker_outlives_its_parent() {
        let mut parent = Command::new(env!("CARGO_BIN_EXE_heddle-test-worker"))
            .arg("parent")
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(parent.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let worker = Pid::from_raw(line.trim().parse().unwrap()).unwrap();
        let worker = pidfd_open(worker, PidfdFlags::empty()).unwrap();
        parent.kill().unwrap();
        parent.wait().unwrap();
        let patience = Timespec {
            tv_sec: 120,
            tv_nsec: 0,
        };
        let mut ended = [PollFd::new(&worker, PollFlags::IN)];
        assert_eq!(poll(&mut ended, Some(&patience)).unwrap(), 1, "it lives on");
    }

    #[tokio::test]
    async fn address_space_has_to_suffice_for_the_program_itself() {
        let limits = Limits {
            address_space_bytes_max: 1 << 20,
            ..Limits::default()
        };
        let error = failure("echo", limits).await;
        assert!(matches!(error, WorkerError::Died { .. }), "{error:?}");
    }
}
