//! A socket in a directory of this process, behind which is one connection that the egress guard has made. Drivers
//! resolve names themselves; this way they reach the address that was checked and no other, while their TLS still
//! verifies the server's name. What the server sends is counted on its way.

use super::super::peer::reach;
use super::target::Target;
use crate::egress::{EgressPolicy, Meter, relay};
use heddle_sandbox::{EffectCode, EffectError};
use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::net::UnixListener;
use tokio::sync::oneshot;

/// Removes the directory once the driver is connected.
pub(super) struct Tunnel {
    dir: PathBuf,
    /// Says that bytes may be carried; if it is dropped before, none are.
    release: Option<oneshot::Sender<()>>,
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        // What stays is an empty directory below the system's temporary one.
        let _ = std::fs::remove_dir_all(&self.dir);
    }
}

impl Tunnel {
    /// Connects to the target and waits, in the background, for the driver at the socket in [`Tunnel::dir`], and for
    /// [`Tunnel::release`].
    pub async fn open(policy: &EgressPolicy, target: &Target, meter: &Meter) -> Result<Self, EffectError> {
        let place = (target.host.as_str(), target.port);
        let outside = reach(policy, place, &target.name(), EffectCode::SqlFailed, meter).await?;
        let failed = |error: io::Error| {
            EffectError::new(
                EffectCode::Internal,
                format!("Can't create a socket for the database: {error}."),
            )
        };
        let (release, released) = oneshot::channel();
        let tunnel = Tunnel {
            dir: own_dir().map_err(failed)?,
            release: Some(release),
        };
        let listener = UnixListener::bind(tunnel.dir.join(target.socket())).map_err(failed)?;
        tokio::spawn(async move {
            let driver = async { listener.accept().await.map_err(drop) };
            let released = async { released.await.map_err(drop) };
            if let Ok(((inside, _), ())) = tokio::try_join!(driver, released) {
                // Also ends when the server sends more than it may; the driver sees the end of its stream.
                relay(inside, outside).await;
            }
        });
        Ok(tunnel)
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// From now on bytes are carried, as soon as there is a driver.
    pub fn release(&mut self) {
        if let Some(release) = self.release.take() {
            // The driver, or the server, may be gone already.
            let _ = release.send(());
        }
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
