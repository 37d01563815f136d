//! Lines and blocks of bytes from a mail server, each of which is bounded while it arrives. Knows nothing of what they mean.

use crate::egress::Meter;
use std::io;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};

/// A connection, with TLS or without.
pub(super) trait Duplex: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Duplex for T {}

/// What is wrong with a server, to be read behind its name.
#[derive(Debug, thiserror::Error)]
pub enum MailboxError {
    #[error("closed the connection")]
    Closed,
    #[error("can't be talked to: {0}")]
    Io(#[from] io::Error),
    #[error("did not answer within {} s", .0.as_secs())]
    Late(Duration),
    #[error("sent a line of more than {0} bytes")]
    Long(usize),
    #[error("sent more than the {0} bytes that were asked for")]
    Large(usize),
    #[error("sent what {0} does not allow")]
    Garbled(&'static str),
    /// What is wrong in words of ours.
    #[error("{0}")]
    Unfit(String),
    /// What it said.
    #[error("refused {asked}: {said}")]
    Refused { asked: String, said: String },
}

/// Does it within a time.
pub(super) async fn timed<T>(
    time_max: Duration,
    work: impl Future<Output = Result<T, MailboxError>>,
) -> Result<T, MailboxError> {
    let done = tokio::time::timeout(time_max, work).await;
    done.unwrap_or(Err(MailboxError::Late(time_max)))
}

/// A connection to a server.
pub(super) struct Wire {
    stream: BufReader<Box<dyn Duplex>>,
    meter: Meter,
}

impl Wire {
    /// What the server sends is counted by this meter.
    pub fn new(stream: Box<dyn Duplex>, meter: Meter) -> Self {
        Wire {
            stream: BufReader::new(stream),
            meter,
        }
    }

    /// From now on the server may send so many bytes.
    pub fn grant(&self, bytes: u64) {
        self.meter.grant(bytes);
    }

    /// The stream, to speak TLS on it. What came before that can be anybody's, so there must be nothing.
    pub fn into_stream(self) -> Result<(Box<dyn Duplex>, Meter), MailboxError> {
        match self.stream.buffer().is_empty() {
            true => Ok((self.stream.into_inner(), self.meter)),
            false => Err(MailboxError::Garbled("STARTTLS")),
        }
    }

    pub async fn send(&mut self, bytes: &[u8]) -> Result<(), MailboxError> {
        let stream = self.stream.get_mut();
        stream.write_all(bytes).await?;
        stream.flush().await?;
        Ok(())
    }

    /// Waits until something is there to be read. Nothing is lost if that is dropped.
    pub async fn ready(&mut self) -> Result<(), MailboxError> {
        match self.stream.fill_buf().await?.is_empty() {
            true => Err(MailboxError::Closed),
            false => Ok(()),
        }
    }

    /// A line without its end.
    pub async fn line(&mut self, bytes_max: usize) -> Result<Vec<u8>, MailboxError> {
        let mut line = Vec::new();
        loop {
            let arrived = self.stream.fill_buf().await?;
            if arrived.is_empty() {
                return Err(MailboxError::Closed);
            }
            let end = arrived.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(arrived.len(), |end| end + 1);
            line.extend_from_slice(arrived.get(..used).unwrap_or_default());
            self.stream.consume(used);
            if line.len() > bytes_max.saturating_add(2) {
                return Err(MailboxError::Long(bytes_max));
            }
            if end.is_some() {
                line.pop();
                if line.last() == Some(&b'\r') {
                    line.pop();
                }
                return Ok(line);
            }
        }
    }

    /// So many bytes. Room is made as they arrive.
    pub async fn block(&mut self, bytes: usize) -> Result<Vec<u8>, MailboxError> {
        let mut block = Vec::new();
        let limited = &mut (&mut self.stream).take(bytes as u64);
        limited.read_to_end(&mut block).await?;
        match block.len() == bytes {
            true => Ok(block),
            false => Err(MailboxError::Closed),
        }
    }
}
