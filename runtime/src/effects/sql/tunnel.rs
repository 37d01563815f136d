//! A socket in a directory of this process, behind which is one connection that the egress guard has made. Drivers
//! resolve names themselves; this way they reach the address that was checked and no other, while their TLS still
//! verifies the server's name. What the server sends is counted on its way.

use super::target::Target;
use crate::effect_error::{EffectCode, EffectError};
use crate::egress::{DialError, EgressPolicy, Meter, Metered, ResolveError, denied_address, dial};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::UnixListener;

/// Removes the directory once the driver is connected.
pub(super) struct Tunnel {
    dir: PathBuf,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // What stays is an empty directory below the system's temporary one.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Tunnel {
    /// Connects to the target and waits, in the background, for the driver at the socket in [`Tunnel::dir`].
    pub async fn open(policy: &EgressPolicy, target: &Target, meter: &Meter) -> Result<Self, EffectError> {
        let stream = dial(policy, &target.host, target.port)
            .await
            .map_err(|error| match error {
                DialError::Resolve(ResolveError::Denied { host, address }) => {
                    EffectError::new(EffectCode::EgressDenied, denied_address(&host, address))
                }
                other => EffectError::new(
                    EffectCode::SqlFailed,
                    format!("{} can't be reached: {other}.", target.name()),
                ),
            })?;
        let mut outside = Metered {
            stream,
            meter: meter.clone(),
        };
        let failed = |error: io::Error| {
            EffectError::new(
                EffectCode::Internal,
                format!("Can't create a socket for the database: {error}."),
            )
        };
        let tunnel = Tunnel {
            dir: own_dir().map_err(failed)?,
        };
        let listener = UnixListener::bind(tunnel.dir.join(target.socket())).map_err(failed)?;
        tokio::spawn(async move {
            if let Ok((mut inside, _)) = listener.accept().await {
                // Ends with either side, or when the server sends more than it may; the driver sees the end of its
                // stream.
                let _ = tokio::io::copy_bidirectional(&mut inside, &mut outside).await;
            }
        });
        Ok(tunnel)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }
}

fn own_dir() -> io::Result<PathBuf> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("heddle-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        match DirBuilder::new().mode(0o700).create(&dir) {
            Ok(()) => return Ok(dir),
            // Of a process of before, or of somebody who guesses.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}
