//! What the tests of connectors start as their processes: honest ones, such as crash (`crash`), or such as lie (`lie ANSWER`).

use heddle_processes::{Channel, ChannelError, Rights};

/// What one says whose mailbox is open.
const ENTERED: &str = r#"{"Entered":{"numbering":{"Growing":{"validity":7,"next":2}},"can_wait":true}}"#;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let served = match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["crash", ..] => std::process::abort(),
        ["lie", answer, _, limits] => Some(lie(answer, limits)),
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

/// Opens a mailbox without anybody, and answers everything else with this.
fn lie(answer: &str, limits: &str) -> Result<(), ChannelError> {
    let mut channel = Channel::confined(limits, Rights::Compute)?;
    let answer = answer.to_owned();
    let work = move || {
        let mut said = ENTERED;
        // The service ends it.
        while let Ok(Some(_)) = channel.receive() {
            if channel.send(said.as_bytes()).is_err() {
                return;
            }
            said = &answer;
        }
    };
    // As real workers do: what asks for the main thread's stack would open a file.
    if std::thread::spawn(work).join().is_err() {
        std::process::exit(101);
    }
    Ok(())
}
