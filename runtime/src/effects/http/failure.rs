//! Messages for failed requests.

use super::address::place;
use crate::egress::{GuardError, ResolveError, denied_address};
use heddle_sandbox::{EffectCode, EffectError};
use reqwest::Url;
use std::error::Error;
use std::io;

pub(super) fn failed(message: String) -> EffectError {
    EffectError::new(EffectCode::HttpFailed, message)
}

/// Why no client was given for a URL.
pub(super) fn guarded(error: GuardError) -> EffectError {
    match error {
        GuardError::Scheme(_) => denied(format!("{error}.")),
        GuardError::NoHost(_) => EffectError::parameter(format!("{error}.")),
        GuardError::Denied { host, address } => denied(denied_address(&host, address)),
        GuardError::Client(_) | GuardError::Tls(_) => {
            EffectError::new(EffectCode::Internal, format!("{error}."))
        }
    }
}

fn denied(message: String) -> EffectError {
    EffectError::new(EffectCode::EgressDenied, message)
}

/// Why a request got no answer, or not a whole one.
pub(super) fn send_error(error: &reqwest::Error, url: &Url) -> EffectError {
    let place = place(url);
    if let Some(resolve) = find::<ResolveError>(error) {
        return match resolve {
            ResolveError::Denied { host, address } => denied(denied_address(host, *address)),
            ResolveError::Unknown { .. } | ResolveError::NoAddress { .. } => {
                failed(format!("{place}: {resolve}."))
            }
        };
    }
    if error.is_timeout() {
        return EffectError::new(
            EffectCode::Timeout,
            format!("{place} could not be reached in time."),
        );
    }
    if let Some(tls) = find::<rustls::Error>(error) {
        return failed(format!("Can't establish a secure connection to {place}: {tls}."));
    }
    let reason = match find::<io::Error>(error).map(io::Error::kind) {
        Some(io::ErrorKind::ConnectionRefused) => "nothing listens there (connection refused)".to_owned(),
        Some(io::ErrorKind::ConnectionReset) => "it reset the connection".to_owned(),
        Some(io::ErrorKind::UnexpectedEof) => {
            "it closed the connection in the middle of its response".to_owned()
        }
        _ => innermost(error),
    };
    failed(format!("The request to {place} failed: {reason}."))
}

type Cause<'a> = &'a (dyn Error + 'static);

fn chain(error: &reqwest::Error) -> impl Iterator<Item = Cause<'_>> {
    fn source<'a>(error: &Cause<'a>) -> Option<Cause<'a>> {
        let error: Cause<'a> = *error;
        // An I/O error's source is the source of the error that it wraps, which would be passed over.
        match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        }
    }
    std::iter::successors(Some(error as Cause<'_>), source)
}

fn find<T: Error + 'static>(error: &reqwest::Error) -> Option<&T> {
    chain(error).find_map(|error| error.downcast_ref::<T>())
}

fn innermost(error: &reqwest::Error) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}
