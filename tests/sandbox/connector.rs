//! What the tests of connectors start as their process.

fn main() {
    let limits = std::env::args().next_back().unwrap_or_default();
    if let Err(error) = heddle_runtime::serve_connector(&limits) {
        eprintln!("{error}");
        std::process::exit(1);
    }
}
