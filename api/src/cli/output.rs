//! Standard output and standard error: coloured only where a terminal can show it, quiet when a pipe is closed.

use super::failure::{Exit, Failure};
use std::io::{ErrorKind, Write};

/// Writes results to standard output.
pub fn result(text: &str) -> Result<(), Failure> {
    written(write_line(&mut anstream::stdout().lock(), text))
}

/// Writes bytes to standard output.
pub fn result_bytes(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    written(out.write_all(bytes).and_then(|()| out.flush()))
}

/// Writes messages other than the result to standard error. Errors in doing so can't be reported.
pub fn note(text: &str) {
    let _ = write_line(&mut anstream::stderr().lock(), text);
}

/// Like [`note`], unless there is nothing to say.
pub fn note_if_any(text: &str) {
    if !text.is_empty() {
        note(text);
    }
}

fn write_line(out: &mut impl Write, text: &str) -> std::io::Result<()> {
    out.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn written(result: std::io::Result<()>) -> Result<(), Failure> {
    match result {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Failure::Closed),
        Err(error) => Err(Failure::new(
            Exit::File,
            "FILE",
            format!("can't write to standard output: {error}"),
        )),
    }
}
