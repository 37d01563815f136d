//! Servers other than HTTP's: the egress guard connects to them, and what they send is counted below TLS.

use crate::egress::{DialError, EgressPolicy, Meter, Metered, ResolveError, denied_address, dial};
use heddle_sandbox::{EffectCode, EffectError};
use tokio::net::TcpStream;

/// A connection to a server, or the error with this code of one that can't be reached. `name` is the server's in
/// messages.
pub(crate) async fn reach(
    policy: &EgressPolicy,
    (host, port): (&str, u16),
    name: &str,
    code: EffectCode,
    meter: &Meter,
) -> Result<Metered<TcpStream>, EffectError> {
    let stream = dial(policy, host, port).await.map_err(|error| match error {
        DialError::Resolve(ResolveError::Denied { host, address }) => {
            EffectError::new(EffectCode::EgressDenied, denied_address(&host, address))
        }
        other => EffectError::new(code, format!("{name} can't be reached: {other}.")),
    })?;
    Ok(Metered {
        stream,
        meter: meter.clone(),
    })
}
