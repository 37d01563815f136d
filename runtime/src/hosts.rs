//! Lists of hosts that something may be sent to: `api.example.com`, `api.example.com:8443`, `*.example.com`.

/// Whether a list names this host. An entry without a port means any.
pub fn names(entries: &[String], host: &str, port: Option<u16>) -> bool {
    let host = host.trim_matches(['[', ']']);
    entries.iter().any(|entry| {
        let (name, at) = split_port(entry);
        let fits = match name.strip_prefix("*.") {
            Some(domain) => host.len().checked_sub(domain.len() + 1).is_some_and(|dot| {
                host.get(dot..)
                    .is_some_and(|end| end.starts_with('.') && end[1..].eq_ignore_ascii_case(domain))
            }),
            None => name.trim_matches(['[', ']']).eq_ignore_ascii_case(host),
        };
        fits && at.is_none_or(|at| Some(at) == port)
    })
}

fn split_port(entry: &str) -> (&str, Option<u16>) {
    match entry.rsplit_once(':') {
        Some((name, port)) if !name.contains(':') || name.ends_with(']') => match port.parse() {
            Ok(port) => (name, Some(port)),
            Err(_) => (entry, None),
        },
        _ => (entry, None),
    }
}
