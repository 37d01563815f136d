//! What the tests of connectors start as their processes: honest ones, or such as crash (`crash`).

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["crash", ..] => std::process::abort(),
        [kind, limits] => heddle_runtime::serve_worker(kind, limits),
        _ => None,
    };
    match served {
        Some(Ok(())) => {}
        Some(Err(error)) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
        None => panic!("started by hand: {arguments:?}"),
    }
}
