//! Starts the binary with a fixed environment. Knows nothing of what is tested.

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A directory of its own for one test, and the binary started within it.
pub struct Place {
    dir: tempfile::TempDir,
}

/// How a process ended.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Place {
    pub fn new() -> Self {
        Place {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    /// Writes a file and returns its name.
    pub fn file<'a>(&self, name: &'a str, content: impl AsRef<[u8]>) -> &'a str {
        fs::write(self.path(name), content).unwrap();
        name
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    pub fn run(&self, arguments: &[&str]) -> Ended {
        self.run_with_input(arguments, "")
    }

    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Ended {
        let mut child = self.command(arguments).stdin(Stdio::piped()).spawn().unwrap();
        // A process that does not read its input closes the pipe; that is its right.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        let output = child.wait_with_output().unwrap();
        Ended {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    /// The binary with pipes for its output and machine code kept for all tests in one directory.
    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_heddle"));
        command.args(arguments).current_dir(self.dir.path()).env_clear();
        // Where tests/coverage/run has what was executed counted.
        command.envs(std::env::var_os("LLVM_PROFILE_FILE").map(|file| ("LLVM_PROFILE_FILE", file)));
        command.env(
            "HEDDLE_CACHE_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("heddle-cache"),
        );
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }
}

impl Ended {
    /// What was printed, as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error} in {self:#?}"))
    }

    pub fn assert_code(&self, code: i32) -> &Self {
        assert_eq!(self.code, Some(code), "{self:#?}");
        self
    }
}

/// Root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A graph of `(id, type, data)` nodes and edges such as `a:true -> b:left`, as JSON.
pub fn graph(nodes: &[(&str, &str, Value)], edges: &[&str]) -> Value {
    let nodes: Vec<Value> = nodes
        .iter()
        .map(|(id, node_type, data)| serde_json::json!({"id": id, "type": node_type, "data": data}))
        .collect();
    let edges: Vec<Value> = edges
        .iter()
        .enumerate()
        .map(|(index, edge)| {
            let (source, target) = edge.split_once(" -> ").unwrap();
            let mut edge = serde_json::json!({"id": format!("e{index}")});
            for (end, handle, text) in [
                ("source", "sourceHandle", source),
                ("target", "targetHandle", target),
            ] {
                let (node, port) = text
                    .split_once(':')
                    .map_or((text, None), |(node, port)| (node, Some(port)));
                edge[end] = node.into();
                if let Some(port) = port {
                    edge[handle] = port.into();
                }
            }
            edge
        })
        .collect();
    serde_json::json!({"nodes": nodes, "edges": edges})
}
