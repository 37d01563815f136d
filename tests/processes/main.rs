//! Workers from outside: whatever a worker does, its parent gets a typed error in time, holds no more than it allows,
//! and goes on; a worker has nothing but its socket.

#![expect(clippy::unwrap_used, reason = "a failed test may panic")]

use heddle_processes::{End, Layers, Limits, Worker, WorkerCommand, WorkerError};
use std::time::Duration;

/// Longer than anything here takes, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(120);

fn command(kind: &str, limits: Limits) -> WorkerCommand {
    WorkerCommand {
        program: env!("CARGO_BIN_EXE_heddle-test-worker").into(),
        arguments: vec![kind.into()],
        limits,
    }
}

async fn start(kind: &str) -> Worker {
    Worker::start(command(kind, Limits::default())).await.unwrap()
}

/// The error with which a worker of this kind answers its first request.
async fn failure(kind: &str, limits: Limits) -> WorkerError {
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
    let absent = WorkerCommand {
        program: "/nowhere/heddle".into(),
        ..command("echo", Limits::default())
    };
    let error = Worker::start(absent).await.unwrap_err();
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
    use super::{Layers, PATIENCE, failure, start};
    use heddle_processes::{Limits, WorkerError};
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::process::{Pid, PidfdFlags, pidfd_open};
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    #[tokio::test]
    async fn all_walls_that_the_kernel_has_stand() {
        let Layers { files, system_calls } = Layers::available();
        let stand = start("layers").await.ask(b"", PATIENCE).await.unwrap();
        assert_eq!(stand, [u8::from(files), u8::from(system_calls)]);
        assert!(files && system_calls, "the tests need Landlock and seccomp");
    }

    #[tokio::test]
    async fn files_can_not_be_opened() {
        for kind in ["compute", "sockets"] {
            let mut worker = start(kind).await;
            for attempt in ["read", "list", "write", "execute"] {
                let answer = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap();
                assert_eq!(String::from_utf8(answer).unwrap(), "refused", "{kind}: {attempt}");
            }
        }
    }

    #[tokio::test]
    async fn a_socket_ends_a_worker_that_computes() {
        for attempt in ["connect", "listen", "udp", "pair"] {
            let mut worker = start("compute").await;
            let error = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap_err();
            // SIGSYS
            assert!(
                matches!(
                    &error,
                    WorkerError::Died {
                        end: heddle_processes::End::Signal(31),
                        ..
                    }
                ),
                "{attempt}: {error:?}"
            );
        }
        let mut worker = start("sockets").await;
        for (attempt, expected) in [("pair", "done"), ("connect", "refused"), ("listen", "refused")] {
            let answer = worker.ask(attempt.as_bytes(), PATIENCE).await.unwrap();
            assert_eq!(String::from_utf8(answer).unwrap(), expected, "{attempt}");
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
