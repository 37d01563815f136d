//! What an executor says. Whoever reads it trusts nothing of it.

use super::bytes::{Malformed, Reader, Write};
use crate::effect_error::EffectError;
use crate::effect_host::ComponentRequest;
use heddle_processes::Frame;

const STARTED: u8 = 0;
const LOADED: u8 = 1;
const EFFECT: u8 = 2;
const WAITS: u8 = 3;
const CALLED: u8 = 4;
const SENDS: u8 = 5;
const WATCH_EVENT: u8 = 6;
const ENDED: u8 = 7;
const GONE: u8 = 8;

/// Room that a frame has at first.
const FRAME_ROOM: usize = 64;
/// Headers of a component's request.
const HEADERS_MAX: usize = 1_000;
/// Effects whose results a run takes between two waits.
const TAKEN_MAX: usize = 100_000;

/// What an executor says.
#[derive(Debug)]
pub enum FromExecutor<'a> {
    /// It can execute runs; or why not.
    Started {
        /// What is wrong.
        failure: Option<&'a str>,
    },
    /// A program can be executed, or not.
    Loaded {
        program: u32,
        /// Which component is the reason, if one is, and what is wrong.
        failure: Option<(Option<u32>, &'a str)>,
    },
    /// A run starts an effect.
    Effect { run: u32, asked: AskedEffect<'a> },
    /// A run waits for an effect.
    Waits {
        run: u32,
        /// Effects whose results it has taken since it last waited.
        taken: Vec<u32>,
    },
    /// The call of a component has ended.
    Called {
        run: u32,
        /// The effect that is the call.
        effect: u32,
        /// Its output as JSON text.
        result: Result<&'a str, EffectError>,
    },
    /// A component sends a request.
    Sends {
        run: u32,
        /// The effect that is the call.
        call: u32,
        /// By which the answer is known.
        number: u32,
        request: ComponentRequest,
    },
    /// A run that is watched has done something.
    WatchEvent {
        run: u32,
        /// For [`crate::WatchEvent::read`], which knows the run's limits.
        event: &'a [u8],
    },
    /// A run has ended.
    Ended {
        run: u32,
        /// For [`crate::Report::read`], which knows the run's limits.
        report: &'a [u8],
    },
    /// A run that was cancelled is no more.
    Gone { run: u32 },
}

/// Whom a frame of an executor is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addressee {
    /// Whoever keeps the executor.
    Keeper,
    /// Whoever has this run.
    Run {
        run: u32,
        /// Whether nothing comes of it any more.
        is_last: bool,
    },
}

/// An effect that a run starts.
#[derive(Clone, Copy, Debug)]
pub struct AskedEffect<'a> {
    /// Plan index of the node that asks.
    pub node: u32,
    /// What kind of effect, by its name.
    pub kind: &'a str,
    /// Which effect of the run it is.
    pub key: &'a str,
    /// JSON; `None`: it was too large to be copied.
    pub request: Option<&'a str>,
    /// Whether the executor can call a component for it.
    pub is_call: bool,
}

impl<'a> FromExecutor<'a> {
    /// Whom a frame is for, without reading the rest.
    pub fn addressee(frame: &[u8]) -> Result<Addressee, Malformed> {
        let mut reader = Reader::new(frame);
        match reader.u8()? {
            STARTED | LOADED => Ok(Addressee::Keeper),
            kind @ EFFECT..=GONE => Ok(Addressee::Run {
                run: reader.u32()?,
                is_last: matches!(kind, ENDED | GONE),
            }),
            _ => Err(Malformed("its kind is unknown")),
        }
    }

    /// Reads a frame.
    pub fn read(frame: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame);
        let kind = reader.u8()?;
        let read = match kind {
            STARTED => FromExecutor::Started {
                failure: reader.maybe_text()?,
            },
            LOADED => {
                let program = reader.u32()?;
                let failure = match reader.maybe_text()? {
                    None => None,
                    Some(reason) => Some((reader.flag()?.then(|| reader.u32()).transpose()?, reason)),
                };
                FromExecutor::Loaded { program, failure }
            }
            EFFECT..=GONE => Self::of_run(kind, reader.u32()?, &mut reader)?,
            _ => return Err(Malformed("its kind is unknown")),
        };
        reader.end()?;
        Ok(read)
    }

    fn of_run(kind: u8, run: u32, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            EFFECT => FromExecutor::Effect {
                run,
                asked: AskedEffect {
                    node: reader.u32()?,
                    kind: reader.text()?,
                    key: reader.text()?,
                    request: reader.maybe_text()?,
                    is_call: reader.flag()?,
                },
            },
            WAITS => {
                let count = reader.length()?;
                if count > TAKEN_MAX {
                    return Err(Malformed("a run took too many results"));
                }
                let taken = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
                FromExecutor::Waits { run, taken }
            }
            CALLED => FromExecutor::Called {
                run,
                effect: reader.u32()?,
                result: match reader.flag()? {
                    true => Ok(reader.text()?),
                    false => Err(reader.failure()?),
                },
            },
            SENDS => FromExecutor::Sends {
                run,
                call: reader.u32()?,
                number: reader.u32()?,
                request: request(reader)?,
            },
            WATCH_EVENT => FromExecutor::WatchEvent {
                run,
                event: reader.rest(),
            },
            ENDED => FromExecutor::Ended {
                run,
                report: reader.rest(),
            },
            _ => FromExecutor::Gone { run },
        })
    }

    /// Writes it.
    pub(crate) fn frame(&self) -> Frame {
        self.frame_with_room(0)
    }

    /// Writes it, with room for so much more.
    fn frame_with_room(&self, bytes: usize) -> Frame {
        let mut frame = Frame::with_capacity(FRAME_ROOM.saturating_add(bytes));
        let to = &mut frame;
        match self {
            FromExecutor::Started { failure } => {
                to.u8(STARTED);
                to.maybe_text(*failure);
            }
            FromExecutor::Loaded { program, failure } => {
                to.u8(LOADED);
                to.u32(*program);
                to.maybe_text(failure.map(|(_, reason)| reason));
                if let Some((component, _)) = failure {
                    to.flag(component.is_some());
                    component.iter().for_each(|component| to.u32(*component));
                }
            }
            FromExecutor::Effect { run, asked } => {
                to.u8(EFFECT);
                to.u32(*run);
                to.u32(asked.node);
                to.text(asked.kind);
                to.text(asked.key);
                to.maybe_text(asked.request);
                to.flag(asked.is_call);
            }
            FromExecutor::Waits { run, taken } => {
                to.u8(WAITS);
                to.u32(*run);
                to.length(taken.len());
                taken.iter().for_each(|taken| to.u32(*taken));
            }
            FromExecutor::Called { run, effect, result } => {
                to.u8(CALLED);
                to.u32(*run);
                to.u32(*effect);
                to.flag(result.is_ok());
                match result {
                    Ok(output) => to.text(output),
                    Err(error) => to.failure(error),
                }
            }
            FromExecutor::Sends {
                run,
                call,
                number,
                request,
            } => {
                to.u8(SENDS);
                to.u32(*run);
                to.u32(*call);
                to.u32(*number);
                write_request(to, request);
            }
            FromExecutor::WatchEvent { run, event } => {
                to.u8(WATCH_EVENT);
                to.u32(*run);
                to.extend(event);
            }
            FromExecutor::Ended { run, report } => {
                to.u8(ENDED);
                to.u32(*run);
                to.extend(report);
            }
            FromExecutor::Gone { run } => {
                to.u8(GONE);
                to.u32(*run);
            }
        }
        frame
    }
}

/// A frame that an event is appended to.
pub(crate) fn event_frame(run: u32) -> Frame {
    FromExecutor::WatchEvent { run, event: &[] }.frame()
}

/// A frame that a report of about so many bytes is appended to.
pub(crate) fn ended(run: u32, bytes: usize) -> Frame {
    FromExecutor::Ended { run, report: &[] }.frame_with_room(bytes)
}

fn request(reader: &mut Reader<'_>) -> Result<ComponentRequest, Malformed> {
    let method = reader.text()?.to_owned();
    let url = reader.text()?.to_owned();
    let count = reader.length()?;
    if count > HEADERS_MAX {
        return Err(Malformed("a request has too many headers"));
    }
    let mut headers = Vec::with_capacity(count);
    for _ in 0..count {
        headers.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
    }
    Ok(ComponentRequest {
        method,
        url,
        headers,
        body: reader.maybe_bytes()?.map(<[u8]>::to_vec),
        timeout_ms: reader.flag()?.then(|| reader.u32()).transpose()?,
        follow_redirects: reader.flag()?,
    })
}

fn write_request(to: &mut Frame, request: &ComponentRequest) {
    to.text(&request.method);
    to.text(&request.url);
    to.length(request.headers.len());
    for (name, value) in &request.headers {
        to.text(name);
        to.text(value);
    }
    to.maybe_bytes(request.body.as_deref());
    to.flag(request.timeout_ms.is_some());
    request.timeout_ms.iter().for_each(|timeout| to.u32(*timeout));
    to.flag(request.follow_redirects);
}
