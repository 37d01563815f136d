//! Executor processes: what one does that somebody has taken over, and what becomes of runs whose executor dies.

use crate::harness::{START, code, config, executors, load, request, runtime_with};
use crate::needs;
use crate::server::{Server, ok};
use aho_corasick::AhoCorasick;
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use heddle_runtime::{
    EgressPolicy, ExecutorGroup, Outcome, Program, RunRequest, Runtime, RuntimeConfig, Status,
};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::symlink;
use std::process::Command;
use std::time::Duration;

/// As in `http`.
const WITH_SECRET: u32 = 19;
const SECRET: &str = "hush \"quiet\" & still";
/// However slow a machine is, nothing that an executor does holds the service for so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// What ends the executor, as the service sees it: by the system's walls, or since it did not keep to the protocol.
const DEADLY: &[&str] = &[
    "connect",
    "datagram",
    "local socket",
    "exec",
    "trace",
    "read parent",
    "crash",
    "exit",
    "exhaust",
    "child",
    "threads",
    "clone",
    "another list of calls",
    "nothing",
    "unknown word",
    "another's run",
    "no JSON",
    "short",
    "many lines",
    "too long",
    "cut off",
    "start again",
    "call nobody",
    "wait twice",
    // Nobody looks on.
    "tell",
    "flood of effects",
    "flood of requests",
    "flood of large effects",
];

fn runtime_of(kind: &str, memory_bytes_max: u64) -> (Runtime, Program) {
    runtime_with_groups(kind, memory_bytes_max, &[])
}

fn runtime_with_groups(kind: &str, memory_bytes_max: u64, groups: &[ExecutorGroup]) -> (Runtime, Program) {
    let mut program = executors(kind);
    program.memory_bytes_max = Some(memory_bytes_max);
    program.groups = groups.to_vec();
    let runtime = runtime_with(RuntimeConfig {
        executors: Some(program),
        egress: EgressPolicy::parse(["127.0.0.0/8"]).unwrap(),
        ..config()
    });
    let program = load(&runtime, START);
    (runtime, program)
}

async fn run(runtime: &Runtime, program: &Program, event: &Value) -> Outcome {
    let run = runtime.run(program, request(0, event));
    tokio::time::timeout(PATIENCE, run).await.unwrap()
}

fn output(outcome: &Outcome) -> Value {
    let output = outcome.output.as_ref().unwrap_or_else(|| panic!("{outcome:?}"));
    serde_json::from_str(output.get()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_there_for_one_who_has_escaped() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    let found = run(&runtime, &program, &json!("look around")).await;
    assert_eq!(output(&found), json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_one_does_who_has_escaped_ends_with_its_executor() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    for attack in DEADLY {
        let outcome = run(&runtime, &program, &json!(attack)).await;
        assert_eq!(code(&outcome), "INTERRUPTED", "{attack}: {outcome:?}");
        let next = run(&runtime, &program, &json!("hello")).await;
        assert_eq!(output(&next), json!("hello"), "after {attack}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_tells_more_than_may_be_told_is_ended() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    let (watcher, mut watched) = heddle_runtime::watch();
    let request = RunRequest {
        watcher: Some(watcher),
        ..request(0, &json!("flood of what is told"))
    };
    let run = runtime.run(&program, request);
    let outcome = tokio::time::timeout(PATIENCE, run).await.unwrap();
    assert_eq!(code(&outcome), "INTERRUPTED", "{outcome:?}");
    let mut told = 0;
    while watched.next_now().is_some() {
        told += 1;
    }
    assert!((1..=8_192).contains(&told), "{told}");
}

/// The only executor.
fn the_one(runtime: &Runtime) -> u32 {
    let [process] = runtime.executor_process_ids(None)[..] else {
        panic!("there is one executor");
    };
    process
}

/// Waits until another executor has taken the place of `old`.
async fn replaced(runtime: &Runtime, old: u32) {
    standing(runtime, |ids| matches!(ids, [new] if *new != old)).await;
}

/// Waits until these executors stand ready.
async fn standing(runtime: &Runtime, are_those: impl Fn(&[u32]) -> bool) {
    let waiting = async {
        while !are_those(&runtime.executor_process_ids(None)) {
            tokio::task::yield_now().await;
        }
    };
    // One that computes is ended for what it has computed, which takes long on a machine that has other things to do.
    tokio::time::timeout(PATIENCE * 10, waiting).await.unwrap();
}

fn kill(process: u32) {
    let killed = Command::new("kill")
        .args(["-KILL", &process.to_string()])
        .status();
    assert!(killed.unwrap().success());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_after_a_report_ends_the_executor() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
    let old = the_one(&runtime);
    assert_eq!(output(&run(&runtime, &program, &json!("twice")).await), json!(1));
    replaced(&runtime, old).await;
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_computes_on_after_a_run_has_ended_is_ended() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
    let old = the_one(&runtime);
    let ran = run(&runtime, &program, &json!("compute for ever")).await;
    assert_eq!(output(&ran), json!(1));
    replaced(&runtime, old).await;
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_keeps_a_cancelled_run_is_ended() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
    let old = the_one(&runtime);
    let silent = runtime.run(&program, request(0, &json!("say nothing")));
    let outcome = tokio::time::timeout(Duration::from_millis(200), silent).await;
    assert!(outcome.is_err(), "it was cancelled before it could end");
    replaced(&runtime, old).await;
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn every_thread_of_an_executor_has_lost_the_right_to_start_others() {
    let (runtime, program) = runtime_of("serve", 4 << 30);
    assert_eq!(output(&run(&runtime, &program, &json!(1)).await), json!(1));
    let threads = format!("/proc/{}/task", the_one(&runtime));
    let filters = |status: String| -> Option<u32> {
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("Seccomp_filters:"));
        line.and_then(|number| number.trim().parse().ok())
    };
    let told = fs::read_to_string("/proc/self/status").ok().and_then(filters);
    let told = told.ok_or("the kernel does not say how many filters a process has");
    let Some(_) = needs::or_skip("the number of filters", told) else {
        return;
    };
    let mut seen = 0;
    for thread in fs::read_dir(threads).unwrap() {
        let status = fs::read_to_string(thread.unwrap().path().join("status")).unwrap();
        // What is allowed, what ends the process, and what ends it once all threads are there.
        let name = status.lines().next().unwrap_or_default().to_owned();
        let of_tests = fs::read_to_string("/proc/self/status")
            .ok()
            .and_then(filters)
            .unwrap();
        assert_eq!(filters(status), Some(of_tests + 3), "{name}");
        seen += 1;
    }
    assert!(seen > 3, "{seen}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_that_the_manifest_does_not_list_is_refused() {
    let (runtime, program) = runtime_of("escaped", 1 << 30);
    let outcome = run(&runtime, &program, &json!("foreign effect")).await;
    let refused = output(&outcome);
    assert!(refused.as_str().unwrap().contains("NOT_PERMITTED"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_s_network_is_empty_where_the_system_allows_that() {
    let (runtime, program) = runtime_of("serve", 4 << 30);
    assert_eq!(output(&run(&runtime, &program, &json!(1)).await), json!(1));
    let made = Command::new("unshare").args(["--user", "--net", "true"]).status();
    let made = made.is_ok_and(|status| status.success());
    let made = made.then_some(()).ok_or("`unshare` can't make one");
    let Some(()) = needs::or_skip("a network namespace", made) else {
        return;
    };
    let network = |process: &str| fs::read_link(format!("/proc/{process}/ns/net"));
    for id in runtime.executor_process_ids(None) {
        let Some(theirs) = needs::or_skip("the right to look at processes", network(&id.to_string())) else {
            return;
        };
        assert_ne!(theirs, network("self").unwrap());
        let devices = fs::read_to_string(format!("/proc/{id}/net/dev")).unwrap();
        // Two lines of headings, and the loopback device.
        assert_eq!(devices.lines().count(), 3, "{devices}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_has_no_privileges_and_gets_none() {
    let (runtime, program) = runtime_of("serve", 4 << 30);
    assert_eq!(output(&run(&runtime, &program, &json!(1)).await), json!(1));
    for id in runtime.executor_process_ids(None) {
        let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let told = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_else(|| panic!("{name} {status}")).trim()
        };
        for of in ["CapInh:", "CapPrm:", "CapEff:"] {
            assert_eq!(told(of), "0000000000000000", "{of}");
        }
        assert_eq!(told("NoNewPrivs:"), "1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_system_kills_executors_first_when_memory_runs_out() {
    let (runtime, program) = runtime_of("serve", 4 << 30);
    assert_eq!(output(&run(&runtime, &program, &json!(1)).await), json!(1));
    for id in runtime.executor_process_ids(None) {
        let score = fs::read_to_string(format!("/proc/{id}/oom_score_adj")).unwrap();
        // The highest that there is.
        assert_eq!(score.trim(), "1000");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_executor_that_dies_is_replaced() {
    let (runtime, program) = runtime_of("serve", 4 << 30);
    assert_eq!(output(&run(&runtime, &program, &json!(1)).await), json!(1));
    let old = the_one(&runtime);
    kill(old);
    replaced(&runtime, old).await;
    assert_eq!(output(&run(&runtime, &program, &json!(2)).await), json!(2));
}

#[tokio::test(flavor = "multi_thread")]
async fn no_run_waits_for_a_start_while_another_executor_stands() {
    let dir = tempfile::tempdir().unwrap();
    let link = dir.path().join("executor");
    let mut two = executors("serve");
    let executable = std::mem::replace(&mut two.program.program, link.clone());
    symlink(&executable, &link).unwrap();
    two.processes = 2;
    let runtime = runtime_with(RuntimeConfig {
        executors: Some(two),
        ..config()
    });
    let program = load(&runtime, START);
    standing(&runtime, |ids| ids.len() == 2).await;
    let [dead, alive] = runtime.executor_process_ids(None)[..] else {
        panic!("there are two executors");
    };
    // From now on none can be started: whoever executes a run was there before.
    fs::remove_file(&link).unwrap();
    kill(dead);
    standing(&runtime, |ids| matches!(ids, [one] if *one == alive)).await;
    for n in 0..3 {
        assert_eq!(output(&run(&runtime, &program, &json!(n)).await), json!(n));
    }
    symlink(&executable, &link).unwrap();
    standing(&runtime, |ids| ids.len() == 2).await;
    assert_eq!(output(&run(&runtime, &program, &json!(3)).await), json!(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_executor_keeps_little_memory_of_its_own() {
    /// What an executor may have; pages of the program are there once for all of them.
    const OWN_MAX: u64 = 15 << 20;
    let (runtime, program) = runtime_of("serve", 4 << 30);
    // Once it has all that executing takes.
    for n in 0..20 {
        assert_eq!(output(&run(&runtime, &program, &json!(n)).await), json!(n));
    }
    let process = the_one(&runtime);
    if needs::or_skip("the right to look at processes", own_memory(process)).is_none() {
        return;
    }
    // What it puts away after a run may come after the run's report.
    let idle = async {
        while own_memory(process).unwrap() > OWN_MAX {
            tokio::task::yield_now().await;
        }
    };
    let kept = tokio::time::timeout(PATIENCE, idle).await;
    assert!(kept.is_ok(), "{} KiB", own_memory(process).unwrap() >> 10);
    // A run writes to 40 MiB, which are nobody's afterwards.
    let filling = START.replace(
        "(call $start",
        "(memory.fill (i32.shl (memory.grow (i32.const 640)) (i32.const 16)) (i32.const 1) (i32.const 41943040))
         (call $start",
    );
    let filling = load(&runtime, &filling);
    assert_eq!(output(&run(&runtime, &filling, &json!(1)).await), json!(1));
    assert_eq!(the_one(&runtime), process);
    let given_back = async {
        while own_memory(process).unwrap() > OWN_MAX {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, given_back).await.unwrap();
}

/// Bytes that a process has written to and shares with nobody.
fn own_memory(process: u32) -> io::Result<u64> {
    let told = fs::read_to_string(format!("/proc/{process}/smaps_rollup"))?;
    let line = told.lines().find_map(|line| line.strip_prefix("Private_Dirty:"));
    let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
    kib.map(|kib| kib << 10)
        .ok_or_else(|| io::Error::other("the kernel does not say what is written to"))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_s_value_is_in_no_executor() {
    let (held, release) = std::sync::mpsc::channel::<()>();
    let release = std::sync::Mutex::new(release);
    let server = Server::start(move |_| {
        // The secret is on the wire, and nothing has come back.
        let _ = release.lock().unwrap().recv_timeout(PATIENCE);
        ok(&format!("you sent {SECRET}"))
    })
    .await;
    let (runtime, program) = runtime_of("serve", 4 << 30);
    let reference = "heddle-secret(KEY;@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@)";
    let http = json!({
        "method": "POST", "url": server.url("/"), "headers": [["x-key", "visible"]],
        "body": {"text": reference}, "followRedirects": true,
    });
    let running = {
        let (runtime, program) = (runtime.clone(), program.clone());
        tokio::spawn(async move { runtime.run(&program, request(WITH_SECRET, &http)).await })
    };
    while server.requests().is_empty() {
        tokio::task::yield_now().await;
    }
    assert!(server.requests()[0].contains(SECRET));
    let ids = runtime.executor_process_ids(None);
    let memory: Result<Vec<Vec<u8>>, _> = ids.iter().map(|id| memory_of(*id)).collect();
    let Some(memory) = needs::or_skip("the right to read the memory of processes", memory) else {
        return;
    };
    for memory in memory {
        // What is searched is the memory of the run: the request is there, with the reference.
        assert!(contains(&memory, b"heddle-secret(KEY;"));
        assert_has_no_secret(&memory);
    }
    held.send(()).unwrap();
    assert_eq!(running.await.unwrap().status, Status::Completed);
    // Nor has the answer brought it.
    for id in runtime.executor_process_ids(None) {
        assert_has_no_secret(&memory_of(id).unwrap());
    }
}

/// As it is, and in the spellings in which it is sent and comes back.
fn assert_has_no_secret(memory: &[u8]) {
    let bytes = SECRET.as_bytes();
    let url = utf8_percent_encode(SECRET, NON_ALPHANUMERIC).to_string();
    let mut spellings = vec![
        SECRET.to_owned(),
        SECRET.replace('"', "\\\""),
        url.replace("%20", "+"),
        url,
        bytes.iter().map(|byte| format!("{byte:02x}")).collect(),
        bytes.iter().map(|byte| format!("{byte:02X}")).collect(),
    ];
    // In base64 it depends on what is before it: all groups that have nothing else in them.
    for before in 0..3 {
        let shifted = [&vec![b'x'; before], bytes].concat();
        let groups = if before == 0 { 0 } else { 4 }..shifted.len() / 3 * 4;
        spellings.extend(
            [STANDARD_NO_PAD, URL_SAFE_NO_PAD]
                .map(|engine| engine.encode(&shifted)[groups.clone()].to_owned()),
        );
    }
    let found = AhoCorasick::new(&spellings).unwrap().find(memory);
    assert!(
        found.is_none(),
        "{:?}",
        found.map(|found| &spellings[found.pattern().as_usize()])
    );
}

async fn run_of(tenant: u128, runtime: &Runtime, program: &Program, event: &Value) -> Outcome {
    let request = RunRequest {
        tenant: Some(tenant),
        ..request(0, event)
    };
    let run = runtime.run(program, request);
    tokio::time::timeout(PATIENCE, run).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_group_s_executors_execute_the_runs_of_its_tenants_and_no_others() {
    const SHARED: Option<u128> = None;
    let groups = [
        ExecutorGroup {
            tenants: vec![7, 8],
            processes: 1,
        },
        ExecutorGroup {
            tenants: vec![9],
            processes: 2,
        },
    ];
    let (runtime, program) = runtime_with_groups("escaped", 1 << 30, &groups);
    for tenant in [7, 9, 10] {
        let ran = run_of(tenant, &runtime, &program, &json!("hello")).await;
        assert_eq!(output(&ran), json!("hello"), "{tenant}");
    }
    let processes = |tenant| runtime.executor_process_ids(tenant);
    let all_started = async {
        while processes(Some(9)).len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, all_started).await.unwrap();
    let (shared, ours, theirs) = (processes(SHARED), processes(Some(7)), processes(Some(9)));
    assert_eq!((shared.len(), ours.len(), theirs.len()), (1, 1, 2));
    assert_eq!((&processes(Some(8)), &processes(Some(10))), (&ours, &shared));
    assert!(!shared.contains(&ours[0]) && !theirs.contains(&ours[0]) && !theirs.contains(&shared[0]));
    // Whoever brings an executor down brings down that of the group.
    assert_eq!(
        code(&run_of(8, &runtime, &program, &json!("crash")).await),
        "INTERRUPTED"
    );
    let replaced = run_of(7, &runtime, &program, &json!("hello")).await;
    assert_eq!(output(&replaced), json!("hello"));
    assert_ne!(processes(Some(7)), ours);
    assert_eq!((processes(SHARED), processes(Some(9))), (shared.clone(), theirs));
    // And a stranger's only that of all others.
    assert_eq!(
        code(&run_of(10, &runtime, &program, &json!("crash")).await),
        "INTERRUPTED"
    );
    assert_eq!(
        output(&run(&runtime, &program, &json!("hello")).await),
        json!("hello")
    );
    assert_ne!(processes(SHARED), shared);
}

/// All that a process has in memory and may write to.
fn memory_of(process: u32) -> io::Result<Vec<u8>> {
    let maps = fs::read_to_string(format!("/proc/{process}/maps"))?;
    let mut memory = fs::File::open(format!("/proc/{process}/mem"))?;
    let pages = fs::File::open(format!("/proc/{process}/pagemap"))?;
    let mut found = Vec::new();
    for line in maps.lines().filter(|line| {
        line.split(' ')
            .nth(1)
            .is_some_and(|rights| rights.starts_with("rw"))
    }) {
        let (from, to) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let (from, to) = (
            u64::from_str_radix(from, 16).unwrap(),
            u64::from_str_radix(to, 16).unwrap(),
        );
        for page in (from..to).step_by(4_096).filter(|page| is_present(&pages, *page)) {
            let mut bytes = [0; 4_096];
            memory.seek(SeekFrom::Start(page))?;
            if memory.read_exact(&mut bytes).is_ok() {
                found.extend_from_slice(&bytes);
            }
        }
    }
    Ok(found)
}

fn is_present(pages: &fs::File, page: u64) -> bool {
    use std::os::unix::fs::FileExt;
    let mut entry = [0; 8];
    let read = pages.read_exact_at(&mut entry, page / 4_096 * 8);
    read.is_ok() && u64::from_le_bytes(entry) >> 63 == 1
}

fn contains(memory: &[u8], wanted: &[u8]) -> bool {
    memory.windows(wanted.len()).any(|window| window == wanted)
}
