//! One node in a pattern, on a runtime that may reach this machine, with the services of a host made up by the test.

use crate::harness::{CACHE, config, request};
use heddle_compiler::Options;
use heddle_runtime::{
    Connection, ConnectionError, ConnectionFuture, Connections, EgressPolicy, Limits, Outcome, RunRequest,
    Runtime, RuntimeConfig, Services, SqliteFiles, Tier, WorkerProgram,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How the names of modules end whose tests have connectors.
const IN_CONNECTORS: &str = "_in_connectors";

/// Connections by name; ids are the names.
#[derive(Clone, Debug, Default)]
pub struct Given {
    connections: BTreeMap<String, Connection>,
    tenant: Option<String>,
}

impl Given {
    /// With one connection of these fields; `hosts` and `former` are no fields.
    pub fn one(name: &str, fields: Value) -> Self {
        Given::default().and(name, fields)
    }

    /// Runs are this tenant's.
    pub fn of(mut self, tenant: &str) -> Self {
        self.tenant = Some(tenant.to_owned());
        self
    }

    pub fn and(mut self, name: &str, fields: Value) -> Self {
        let Value::Object(mut fields) = fields else {
            panic!("fields are an object")
        };
        let mut list = |name: &str| {
            let given = fields.remove(name).unwrap_or(json!([]));
            serde_json::from_value::<Vec<String>>(given).unwrap()
        };
        let (hosts, former) = (list("hosts"), list("former"));
        let connection = Connection {
            id: name.to_owned(),
            name: name.to_owned(),
            provider: name.to_owned(),
            hosts,
            fields,
            former,
        };
        self.connections.insert(name.to_owned(), connection);
        self
    }
}

impl Connections for Given {
    fn open(&self, reference: String) -> ConnectionFuture {
        let found = self.connections.get(&reference).cloned();
        Box::pin(async move { found.ok_or(ConnectionError::Missing) })
    }

    fn tenant(&self) -> Option<String> {
        self.tenant.clone()
    }
}

/// A runtime that may reach 127.0.0.0/8.
pub fn open_runtime() -> Runtime {
    start(RuntimeConfig {
        egress: EgressPolicy::parse(["127.0.0.0/8"]).unwrap(),
        ..config()
    })
}

/// A runtime that may reach what an operator's list has, besides public addresses.
pub fn runtime_that_may_reach(allowed: &str) -> Runtime {
    start(RuntimeConfig {
        egress: EgressPolicy::parse([allowed]).unwrap(),
        ..config()
    })
}

/// [`open_runtime`], with the drivers of databases and mail servers in processes of their own.
pub fn open_runtime_with_connectors() -> Runtime {
    with_connectors(EgressPolicy::parse(["127.0.0.0/8"]).unwrap())
}

/// Either, by the name of the module that the test is in.
pub fn open_runtime_of(module: &str) -> Runtime {
    match module.ends_with(IN_CONNECTORS) {
        true => open_runtime_with_connectors(),
        false => open_runtime(),
    }
}

/// The same for public addresses only.
pub fn closed_runtime_of(module: &str) -> Runtime {
    match module.ends_with(IN_CONNECTORS) {
        true => with_connectors(EgressPolicy::default()),
        false => closed_runtime(),
    }
}

fn with_connectors(egress: EgressPolicy) -> Runtime {
    start(RuntimeConfig {
        egress,
        connectors: Some(connectors(&[])),
        ..config()
    })
}

/// What is started as connectors.
fn connectors(arguments: &[&str]) -> WorkerProgram {
    WorkerProgram {
        program: env!("CARGO_BIN_EXE_heddle-test-connector").into(),
        arguments: arguments.iter().map(Into::into).collect(),
    }
}

/// A runtime that may reach this machine and open these files, and whose connectors crash as soon as they are asked.
pub fn runtime_with_crashing_connectors(files: SqliteFiles) -> Runtime {
    start(RuntimeConfig {
        egress: EgressPolicy::parse(["127.0.0.0/8"]).unwrap(),
        sqlite_files: files,
        connectors: Some(connectors(&["crash"])),
        ..config()
    })
}

/// A runtime that may reach this machine, and whose connectors open any mailbox and then say this, whatever they are asked.
pub fn runtime_with_lying_connectors(answer: &str) -> Runtime {
    start(RuntimeConfig {
        egress: EgressPolicy::parse(["127.0.0.0/8"]).unwrap(),
        connectors: Some(connectors(&["lie", answer])),
        ..config()
    })
}

/// A runtime that may open these files, each tenant so many bytes of them; by the name of the module that the test is in.
pub fn runtime_with_sqlite_of(module: &str, files: SqliteFiles, tenant_bytes_max: u64) -> Runtime {
    start(RuntimeConfig {
        sqlite_files: files,
        sqlite_bytes_max: tenant_bytes_max,
        connectors: module.ends_with(IN_CONNECTORS).then(|| connectors(&[])),
        ..config()
    })
}

/// A runtime that may reach public addresses only.
pub fn closed_runtime() -> Runtime {
    start(config())
}

/// With machine code kept for all tests, which compiling takes long.
fn start(config: RuntimeConfig) -> Runtime {
    Runtime::new(RuntimeConfig {
        cache_dir: Some(CACHE.into()),
        ..config
    })
    .unwrap()
}

/// What a node did.
pub struct Ran {
    pub outcome: Outcome,
}

impl Ran {
    /// What left the node.
    pub fn output(&self) -> Value {
        let output = self.outcome.output.as_ref();
        let output = output.unwrap_or_else(|| panic!("{:?}", self.outcome));
        serde_json::from_str(output.get()).unwrap()
    }

    /// `CODE: message` of its failure.
    pub fn failure(&self) -> String {
        let error = self.outcome.error.as_ref();
        let error = error.unwrap_or_else(|| panic!("{:?}", self.outcome));
        format!("{}: {}", error.code, error.message)
    }
}

/// Runs one node.
pub async fn run(runtime: &Runtime, node_type: &str, parameters: Value, given: &Given) -> Ran {
    run_data(
        runtime,
        node_type,
        json!({ "parameters": parameters }),
        given,
        Limits::default(),
    )
    .await
}

/// The same with all of the node's data, and limits.
pub async fn run_data(runtime: &Runtime, node_type: &str, data: Value, given: &Given, limits: Limits) -> Ran {
    let pattern = json!({
        "nodes": [
            { "id": "start", "type": "OnManual" },
            { "id": "it", "type": node_type, "data": data },
            { "id": "end", "type": "Return" },
        ],
        "edges": [
            { "source": "start", "target": "it" },
            { "source": "it", "target": "end" },
        ],
    });
    run_pattern(runtime, &pattern, given, limits).await
}

/// Runs nodes of these ids, types and parameters in a row, with these services; the output is the last one's.
pub async fn run_with(runtime: &Runtime, nodes: &[(&str, &str, Value)], services: &Services) -> Ran {
    let mut drawn = vec![json!({ "id": "start", "type": "OnManual" })];
    let mut edges = Vec::new();
    let mut last = "start";
    for (id, node_type, parameters) in nodes {
        drawn.push(json!({ "id": id, "type": node_type, "data": { "parameters": parameters } }));
        edges.push(json!({ "source": last, "target": id }));
        last = id;
    }
    drawn.push(json!({ "id": "end", "type": "Return" }));
    edges.push(json!({ "source": last, "target": "end" }));
    let pattern = json!({ "nodes": drawn, "edges": edges });
    run_served(runtime, &pattern, services.clone(), Limits::default()).await
}

/// Runs a pattern that begins at the node `start`.
pub async fn run_pattern(runtime: &Runtime, pattern: &Value, given: &Given, limits: Limits) -> Ran {
    let services = Services {
        connections: Arc::new(given.clone()),
        ..Services::default()
    };
    run_served(runtime, pattern, services, limits).await
}

async fn run_served(runtime: &Runtime, pattern: &Value, services: Services, limits: Limits) -> Ran {
    let compiled = heddle_compiler::compile(pattern, &json!({}), &Options::default());
    let artifact = compiled
        .artifact
        .unwrap_or_else(|| panic!("{:?}", compiled.diagnostics));
    let program = runtime.load(&artifact.wasm, Tier::Fast).unwrap();
    let request = RunRequest {
        trigger_node_id: Some("start".into()),
        variables: Map::new(),
        services,
        limits,
        ..request(0, &Value::Null)
    };
    let outcome = runtime.run(&program, request).await;
    Ran { outcome }
}

/// Runs nodes of one type in a row; the output is the array of theirs.
pub async fn run_chain(runtime: &Runtime, node_type: &str, nodes: &[(String, Value)]) -> Ran {
    let outputs: Vec<String> = nodes.iter().map(|(id, _)| format!("$nodes['{id}']")).collect();
    let value = format!("{{{{ [{}] }}}}", outputs.join(", "));
    let mut drawn = vec![json!({ "id": "start", "type": "OnManual" })];
    let mut edges = Vec::new();
    let mut last = "start";
    for (id, parameters) in nodes {
        drawn.push(json!({ "id": id, "type": node_type, "data": { "parameters": parameters } }));
        edges.push(json!({ "source": last, "target": id }));
        last = id;
    }
    drawn.push(json!({ "id": "end", "type": "Return", "data": { "parameters": { "value": value } } }));
    edges.push(json!({ "source": last, "target": "end" }));
    let pattern = json!({ "nodes": drawn, "edges": edges });
    run_pattern(runtime, &pattern, &Given::default(), Limits::default()).await
}
