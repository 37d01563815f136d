//! What a run asks of whoever executes effects for it, as plain data. A run in its sandbox knows nothing else of the
//! outside: whether that is the same process or the other end of a socket.

use crate::effect_error::{EffectCode, EffectError};
use crate::stop::Stop;
use crate::watch_event::WatchEvent;
use std::pin::Pin;

/// The host's side of one run's effects.
pub trait EffectHost: Send + 'static {
    /// Starts an effect. Its id is the number of those that were started before it.
    fn start(&mut self, asked: EffectRequest) -> Result<(), Stop>;

    /// Waits until one has ended, or only parked ones are left.
    fn wait(&mut self) -> Waiting<'_>;

    /// The run has taken the result of this effect, and makes room for others by that.
    fn taken(&mut self, id: u32);

    /// The run has done something, of which is told only where [`crate::RunInput::is_watched`].
    fn emit(&mut self, event: WatchEvent);
}

/// A wait for effects.
pub type Waiting<'a> = Pin<Box<dyn Future<Output = Result<Waited, Stop>> + Send + 'a>>;

/// An effect that a run asks for.
pub struct EffectRequest {
    /// Plan index of the node that asks.
    pub node: u32,
    /// What kind of effect, by its name.
    pub kind: String,
    /// Which effect of the run it is, see the run loop in `node-stdlib`.
    pub key: String,
    /// JSON; `None`: it was too large to be copied.
    pub request: Option<String>,
    /// For the effect `component`: the call, which begins when it is first polled.
    pub call: Option<ComponentCall>,
}

/// How a wait for effects ended.
pub enum Waited {
    /// This one has ended, with this result as JSON.
    Ended(u32, Vec<u8>),
    /// Only those that have parked are left.
    Parked,
}

/// A component at work: its output as JSON text. Dropping it ends the call.
pub type ComponentCall = Pin<Box<dyn Future<Output = Result<String, EffectError>> + Send>>;

/// Sends requests of components.
pub trait RequestHost: Send + Sync + 'static {
    /// Sends a request of the component that the effect with this id calls.
    fn send(&self, call: u32, request: ComponentRequest) -> Sending;
}

/// A request of a component on its way.
pub type Sending = Pin<Box<dyn Future<Output = Result<ComponentResponse, EffectError>> + Send>>;

/// An HTTP request of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentRequest {
    pub method: String,
    /// The whole address.
    pub url: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// What is sent.
    pub body: Option<Vec<u8>>,
    /// How long it may take, in milliseconds.
    pub timeout_ms: Option<u32>,
    /// Whether redirects are followed.
    pub follow_redirects: bool,
}

impl ComponentRequest {
    /// Refuses more bytes than the request of an effect may have: it is in memory several times while it is sent, and no run's memory
    /// pays for that.
    pub fn check_size(&self, bytes_max: usize) -> Result<(), EffectError> {
        let headers = self.headers.iter();
        let headers: usize = headers.map(|(name, value)| name.len() + value.len()).sum();
        let body = self.body.as_ref().map_or(0, Vec::len);
        let bytes = self.method.len() + self.url.len() + headers + body;
        if bytes <= bytes_max {
            return Ok(());
        }
        let message = format!(
            "A request of the component has {} KiB, more than the {} KiB allowed.",
            bytes.div_ceil(1 << 10),
            bytes_max >> 10
        );
        Err(EffectError::new(EffectCode::EffectLimit, message))
    }
}

/// What comes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ComponentResponse {
    pub status: u16,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// What was sent back.
    pub body: Vec<u8>,
}
