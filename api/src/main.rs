<<<<<<< HEAD
fn main() {}
=======
//! The binary `heddle`. Knows nothing but where to begin.

fn main() -> std::process::ExitCode {
    heddle_api::cli::main()
}
>>>>>>> a3b74e7 (Command line: structure, reports, catalogue)
