//! `heddle compile`: compiles a pattern to a module. `run` and `validate` compile with it too.

use super::diagnostics;
use super::failure::{Exit, Failure};
use super::input::{self, DATA_BYTES_MAX};
use super::output;
use super::pattern::{Input, Pattern};
use clap::Args;
use heddle_compiler::{Artifact, Options};
use serde_json::{Map, Value};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Flags of `heddle compile`.
#[derive(Args, Debug)]
pub struct CompileArgs {
    /// Pattern as JSON; - reads standard input.
    file: PathBuf,
    /// File for the module; - writes to standard output.
    #[arg(short, long, value_name = "OUT", required_unless_present = "wat")]
    output: Option<PathBuf>,
    /// Write the module as text, to standard output unless --output is given.
    #[arg(long)]
    wat: bool,
    /// Custom node types, as a JSON object of definitions by type name.
    #[arg(long, value_name = "FILE")]
    definitions: Option<PathBuf>,
    #[command(flatten)]
    instrumentation: Instrumentation,
}

/// What can be compiled into a module to inspect its runs.
#[derive(Args, Debug, Default)]
pub struct Instrumentation {
    /// Record what each node did; `run` then prints it as a tree.
    #[arg(long)]
    pub trace: bool,
    /// Pinned outputs: a JSON object from node id to the value that the node emits instead of executing.
    #[arg(long, value_name = "FILE")]
    pub pin: Option<PathBuf>,
    /// Pause before this node; can be given several times.
    #[arg(long, value_name = "NODE")]
    pub breakpoint: Vec<String>,
}

impl Instrumentation {
    /// Name of the first flag that was given.
    pub fn first_flag(&self) -> Option<&'static str> {
        let given = [
            ("--trace", self.trace),
            ("--pin", self.pin.is_some()),
            ("--breakpoint", !self.breakpoint.is_empty()),
        ];
        given.iter().find(|(_, given)| *given).map(|(flag, _)| *flag)
    }

    fn options(&self) -> Result<Options, Failure> {
        let pinned_nodes = self
            .pin
            .as_deref()
            .map(read_pins)
            .transpose()?
            .unwrap_or_default();
        Ok(Options {
            trace: self.trace,
            breakpoints: self.breakpoint.clone(),
            pinned_nodes,
            ..Options::default()
        })
    }
}

/// Runs the command.
pub fn compile(args: &CompileArgs) -> Result<ExitCode, Failure> {
    let pattern = match Input::read(&args.file, args.definitions.as_deref())? {
        Input::Pattern(pattern) => pattern,
        Input::Module { name, .. } => {
            return Err(Failure::new(
                Exit::Invalid,
                "INVALID_PATTERN",
                format!("{name} is already a module"),
            ));
        }
    };
    let artifact = artifact(&pattern, &args.instrumentation)?;
    let bytes = if args.wat {
        text_form(&artifact.wasm)?.into_bytes()
    } else {
        artifact.wasm
    };
    match args.output.as_deref().filter(|path| !input::is_stdin(path)) {
        Some(path) => write_file(path, &bytes)?,
        None if !args.wat && std::io::stdout().is_terminal() => {
            return Err(Failure::usage(
                "a module is binary and can't be printed to a terminal: name a file with --output, or use \
                 --wat",
            ));
        }
        None => output::result_bytes(&bytes)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Compiles a pattern; its warnings go to standard error.
pub fn artifact(pattern: &Pattern, instrumentation: &Instrumentation) -> Result<Artifact, Failure> {
    let options = instrumentation.options()?;
    let compiled = heddle_compiler::compile(&pattern.graph, &pattern.definitions, &options);
    match compiled.artifact {
        Some(artifact) => {
            output::note_if_any(&diagnostics::render(pattern, &compiled.diagnostics));
            Ok(artifact)
        }
        None => Err(diagnostics::refusal(pattern, compiled.diagnostics)),
    }
}

/// Pins from a file. The output of a paused run is accepted too: it has its pins under `pinnedNodes`.
fn read_pins(path: &Path) -> Result<Map<String, Value>, Failure> {
    let mut pins: Map<String, Value> = input::read_json(path, "the file of pins", DATA_BYTES_MAX)?;
    match pins.remove("pinnedNodes") {
        Some(Value::Object(of_paused_run)) if pins.contains_key("breakpoint") => Ok(of_paused_run),
        Some(pin) => {
            pins.insert("pinnedNodes".to_owned(), pin);
            Ok(pins)
        }
        None => Ok(pins),
    }
}

fn text_form(wasm: &[u8]) -> Result<String, Failure> {
    wasmprinter::print_bytes(wasm).map_err(|error| {
        Failure::new(
            Exit::Invalid,
            "INVALID_MODULE",
            format!("can't print the module as text: {error:#}"),
        )
    })
}

fn write_file(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(path, bytes).map_err(|error| {
        Failure::new(
            Exit::File,
            "FILE",
            format!("cannot write {}: {error}", path.display()),
        )
    })
}
