//! The process of a connector: it begins by giving up everything but what its kind needs, and ends with the service.

use heddle_processes::{Channel, ChannelError, FrameError, Receiver, Rights, Sender};
use serde::Serialize;
use std::io;

/// Confines this process and does its work until that ends. What `prepare` opens stays open; it may start no thread.
pub fn serve<T, W>(
    limits: &str,
    rights: Rights,
    prepare: impl FnOnce() -> io::Result<T>,
    work: impl FnOnce(Channel, T) -> W + Send + 'static,
) -> Result<(), ChannelError>
where
    T: Send + 'static,
    W: Future<Output = io::Result<()>>,
{
    let (channel, (runtime, prepared)) = Channel::confined_after(limits, rights, || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        Ok((runtime, prepare()?))
    })?;
    // Nobody else has chosen one in this process.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let work = move || runtime.block_on(work(channel, prepared));
    // On a thread, since the main one's stack is asked for in a file that can't be opened any more.
    let thread = std::thread::Builder::new().name("connector".into()).spawn(work);
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(Ok(()))) => Ok(()),
        Ok(Ok(Err(error))) | Err(error) => Err(ChannelError::Socket(error)),
        // The panic has been told; the service sees how this process ended.
        Ok(Err(_)) => std::process::exit(101),
    }
}

/// The next request; `None`: there will be no more.
pub async fn receive(receiver: &mut Receiver) -> io::Result<Option<Vec<u8>>> {
    receiver.receive().await.map_err(io::Error::other)
}

/// Answers. The result says whether the answer was small enough to be sent.
pub async fn reply(sender: &mut Sender, reply: &impl Serialize) -> io::Result<Result<(), usize>> {
    let reply = serde_json::to_vec(reply)?;
    match sender.send(&reply).await {
        Ok(()) => Ok(Ok(())),
        Err(FrameError::TooLarge { bytes_max, .. }) => Ok(Err(bytes_max)),
        Err(error) => Err(io::Error::other(error)),
    }
}
