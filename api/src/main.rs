//! The binary `heddle`. Knows nothing but where to begin.

fn main() -> std::process::ExitCode {
    heddle_api::cli::main()
}
