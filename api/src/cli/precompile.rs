//! `heddle precompile`: compiles heddle's own modules, for those who install it.

use super::failure::{Exit, Failure};
use super::output;
use super::progress::Progress;
use crate::config::installed;
use bytesize::ByteSize;
use clap::Args;
use heddle_runtime::PrecompileError;
use std::path::PathBuf;
use std::process::ExitCode;

/// Flags of `heddle precompile`.
#[derive(Args, Debug)]
pub struct PrecompileArgs {
    /// Directory to write to. Default: lib/heddle beside the bin directory that the program is in, such as /usr/lib/heddle, where servers and
    /// other commands look for it; servers look into another one if their setting precompiled_dir names it.
    #[arg(long, value_name = "DIR", env = "HEDDLE_PRECOMPILED_DIR")]
    out: Option<PathBuf>,
}

/// Writes the machine code, and says what of it.
pub fn precompile(args: &PrecompileArgs) -> Result<ExitCode, Failure> {
    let dir = args.out.clone().or_else(installed::code_dir);
    let dir = dir
        .ok_or_else(|| Failure::usage("can't tell where heddle is installed: name a directory with --out"))?;
    let made = {
        let _progress = Progress::start("compiling");
        heddle_runtime::precompile(&dir)
    };
    for module in made.map_err(|error| failed(&error))? {
        let done = if module.was_there { "kept" } else { "wrote" };
        let (name, path) = (module.name, module.path.display());
        let size = ByteSize::b(module.bytes as u64);
        output::result(&format!("{done} {name}, {size}: {path}"))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn failed(error: &PrecompileError) -> Failure {
    let (code, advice) = match error {
        PrecompileError::Write { .. } => (
            "FILE",
            ".\n  Run it as a user who may (`sudo heddle precompile`), or name another directory with --out, and tell servers of it \
             with the setting precompiled_dir",
        ),
        PrecompileError::Unusable(_) => ("FILE", ""),
        PrecompileError::Engine(_) => ("ENGINE", ""),
    };
    Failure::new(Exit::File, code, format!("{error}{advice}"))
}
