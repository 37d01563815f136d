//! Compile bombs: small modules, components and graphs that would take compilers minutes or gigabytes. Each ends with
//! an error that names its limit, and other tenants' work goes on beside them.

use crate::hand_made::{base64, component_with};
use crate::harness::{Database, Reply, Service, User, doubling, each_database};
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use heddle_execution::compile::Isolation;
use serde_json::{Value, json};
use std::time::Duration;

/// Functions with loops within each other, all of which carry all variables.
fn loops(functions: usize, loops: usize, variables: usize) -> String {
    let all = |text: fn(usize) -> String, count| (0..count).map(text).collect::<String>();
    let function = format!(
        "(func (local{}) {} {} {})",
        " i32".repeat(variables),
        "loop ".repeat(loops),
        all(
            |index| format!("(local.set {index} (i32.add (local.get {index}) (i32.const 1)))"),
            variables
        ),
        "(br_if 0 (local.get 0)) end ".repeat(loops)
    );
    function.repeat(functions)
}

/// A pattern's module with these functions, as `/api/execute/run` takes it.
fn module(functions: &str) -> String {
    let manifest = json!({"abiVersion": heddle_contract::abi::ABI_VERSION, "nodes": [], "triggers": []});
    let section = manifest.to_string().replace('"', "\\\"");
    let text = format!(
        "(module (func (export \"run\") (param i32)) {functions} (@custom \"heddle\" \"{section}\"))"
    );
    base64(&wat::parse_str(text).unwrap())
}

async fn run(service: &Service, user: &User, code: &str) -> Reply {
    let request = service.post("/api/execute/run").bearer(&user.token);
    request.json(&json!({"code": code})).send().await
}

/// A pattern of one node whose definition is this component, and the answer to its deployment.
async fn deploy_component(service: &Service, user: &User, component: &[u8]) -> Reply {
    let graph = json!({
        "nodes": [{"id": "start", "type": "OnManual"}, {"id": "own", "type": "Own"}],
        "edges": [{"source": "start", "target": "own"}],
    });
    let pattern = service.drawn(user, &graph).await;
    let definitions = json!({"Own": {"kind": "component", "component": base64(component)}});
    let request = service.post(&format!("/api/patterns/{pattern}/deploy"));
    let request = request
        .bearer(&user.token)
        .json(&json!({"nodeDefinitions": definitions}));
    request.send().await
}

/// The message of an answer with this status.
fn message(reply: &Reply, status: u16) -> &str {
    assert_eq!(reply.status, status, "{reply}");
    let error = match &reply.body["errors"] {
        Value::Null => &reply.body["error"],
        errors => &errors[0],
    };
    error["message"].as_str().unwrap()
}

/// A compilation that passes what is counted beforehand, and takes long.
fn long() -> String {
    module(&loops(9, 700, 700))
}

each_database! {
    async fn what_is_too_complex_is_refused_before_it_is_compiled(service: Service) {
        let ann = service.user("ann").await;
        for (functions, depth, variables) in [(1, 4_000, 4_000), (6, 2_000, 1_500)] {
            let code = module(&loops(functions, depth, variables));
            let refused = run(&service, &ann, &code).await;
            let told = message(&refused, 400);
            assert!(told.contains("the module is too complex: it has"), "{told}");
            assert!(told.contains("loops times variables in one function; at most"), "{told}");
        }
        let component = component_with(&loops(1, 3_000, 2_000), "(call $ok (i32.const 0) (i32.const 0))");
        let refused = deploy_component(&service, &ann, &component).await;
        let told = message(&refused, 422);
        assert!(told.contains("component of `Own` can't be used: it has"), "{told}");
        assert!(told.contains("loops times variables in one function; at most"), "{told}");
    }

    async fn a_component_of_usual_size_is_compiled_in_its_worker(service: Service) {
        let ann = service.user("ann").await;
        let component = component_with("", "(call $ok (local.get $input) (local.get $input_len))");
        let deployed = deploy_component(&service, &ann, &component).await;
        assert_eq!(deployed.status, 200, "{deployed}");
        let deployment = deployed.body["data"]["deploymentId"].as_str().unwrap();
        service.ran(&ann, deployment, &json!({"n": 1})).await;
    }
}

/// The same on both databases, with other settings.
async fn with(database: Database, timeout: Duration, memory_bytes_max: u64) -> Service {
    Service::with(database, |config| {
        config.compile_timeout = timeout;
        config.compile_memory_bytes_max = memory_bytes_max;
    })
    .await
}

async fn processor_time_ends(database: Database) {
    let service = with(database, Duration::from_secs(1), 4 << 30).await;
    let (ann, bob) = (service.user("ann").await, service.user("bob").await);
    let (code, graph) = (long(), doubling());
    let (refused, _) = tokio::join!(run(&service, &ann, &code), service.deployed(&bob, &graph));
    let told = message(&refused, 400);
    assert!(
        told.contains("compiling it takes more than the 1 s of CPU time allowed"),
        "{told}"
    );
    // The place is free again.
    service.deployed(&ann, &doubling()).await;
}

async fn memory_ends(database: Database) {
    let service = with(database, Duration::from_secs(60), 400 << 20).await;
    let ann = service.user("ann").await;
    let refused = run(&service, &ann, &long()).await;
    let told = message(&refused, 400);
    assert!(told.contains("of memory allowed"), "{told}");
    assert!(told.contains("compile_memory"), "{told}");
    service.deployed(&ann, &doubling()).await;
}

async fn many_wait(database: Database) {
    let service = with(database, Duration::from_secs(60), 4 << 30).await;
    let (ann, bob) = (service.user("ann").await, service.user("bob").await);
    let code = long();
    let mut answers: FuturesUnordered<_> = (0..20).map(|_| run(&service, &ann, &code)).collect();
    // One is compiled, sixteen wait, and the others are answered at once.
    for _ in 0..3 {
        let answer = answers.next().await.unwrap();
        assert_eq!(
            message(&answer, 503),
            "16 of your compilations are already waiting: try again when they are done."
        );
        assert_eq!(answer.headers["retry-after"], "5");
    }
    service.deployed(&bob, &doubling()).await;
    // They have gone, and their places are free.
    drop(answers);
    service.deployed(&ann, &doubling()).await;
}

async fn threads_will_do(database: Database) {
    let service = Service::with(database, |config| config.isolation = Isolation::Thread).await;
    let ann = service.user("ann").await;
    let deployment = service.deployed(&ann, &doubling()).await;
    service.ran(&ann, &deployment, &json!({"n": 1})).await;
    let refused = run(&service, &ann, &module(&loops(1, 4_000, 4_000))).await;
    assert!(message(&refused, 400).contains("too complex"), "{refused}");
}

macro_rules! on_both {
    ($($name:ident = $test:ident,)*) => {$(
        mod $name {
            use super::*;

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn sqlite() {
                $test(Database::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn postgres() {
                $test(Database::Postgres).await;
            }
        }
    )*};
}
on_both! {
    processor_time_ends_a_compilation_beside_another_tenants = processor_time_ends,
    memory_ends_a_compilation = memory_ends,
    one_tenants_compilations_wait_for_each_other_and_for_nobody_else = many_wait,
    compilers_execute_in_threads_where_that_is_set = threads_will_do,
}
