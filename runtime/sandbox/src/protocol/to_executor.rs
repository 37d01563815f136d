//! What the service says to an executor, which believes it.

use super::bytes::{Malformed, Reader, Write};
use crate::component::Origin;
use crate::config::SandboxConfig;
use crate::digest::Digest256;
use crate::effect_error::EffectError;
use crate::effect_host::ComponentResponse;
use crate::limits::{Ceilings, Limits};
use crate::state::RunInput;
use crate::stop::Stop;
use heddle_processes::Frame;
use serde_json::value::RawValue;
use std::time::Duration;

const START: u8 = 0;
const JAVASCRIPT: u8 = 1;
const LOAD: u8 = 2;
const UNLOAD: u8 = 3;
const RUN: u8 = 4;
const ENDED: u8 = 5;
const PARKED: u8 = 6;
const STOPPED: u8 = 7;
const CALL: u8 = 8;
const SENT: u8 = 9;
const CANCEL: u8 = 10;

/// What the service says. Machine code comes as descriptors with the frame.
#[derive(Debug)]
pub enum ToExecutor<'a> {
    /// The first word; with the standard library.
    Start(SandboxConfig),
    /// With the JavaScript engine.
    JavaScript,
    /// With a program's module and its components in order.
    Load {
        /// By which it is known from now on.
        program: u32,
        /// What the module says of itself, as JSON.
        manifest: &'a [u8],
        /// Names of what it imports.
        imports: Vec<&'a str>,
        components: Vec<GivenComponent>,
    },
    /// A program is not needed any more.
    Unload { program: u32 },
    /// A run is to be executed.
    Run {
        /// By which it is known.
        run: u32,
        program: u32,
        given: GivenRun<'a>,
    },
    /// A result that a run waits for.
    Ended {
        run: u32,
        effect: u32,
        /// The result.
        json: &'a [u8],
    },
    /// A run waits for parked effects only.
    Parked { run: u32 },
    /// A run must stop.
    Stopped {
        run: u32,
        /// Why.
        stop: Stop,
    },
    /// The call of a component begins.
    Call { run: u32, effect: u32 },
    /// What came of a component's request.
    Sent {
        run: u32,
        /// By which it is known.
        number: u32,
        /// The answer.
        result: Result<ComponentResponse, EffectError>,
    },
    /// A run is not needed any more.
    Cancel { run: u32 },
}

/// A component of a program.
#[derive(Clone, Copy, Debug)]
pub struct GivenComponent {
    /// SHA-256 of the component.
    pub digest: Digest256,
    /// Whether it may send requests.
    pub may_send: bool,
}

/// The input of a run.
#[derive(Debug)]
pub struct GivenRun<'a> {
    /// Plan index of the trigger.
    pub trigger: u32,
    /// eventData as JSON.
    pub event: &'a str,
    /// What the guest learns of its run, as JSON.
    pub context: &'a str,
    /// What components see of the run.
    pub origin: (&'a str, i64, u64),
    /// Whether it is to tell what it does as it happens.
    pub is_watched: bool,
    /// Whom its memory counts towards.
    pub owner: Option<u128>,
    pub limits: Limits,
}

impl<'a> GivenRun<'a> {
    /// Of an input.
    pub fn of(input: &'a RunInput) -> Self {
        GivenRun {
            trigger: input.trigger,
            event: &input.event,
            context: &input.context,
            origin: (
                input.origin.run.get(),
                input.origin.started_at_ms,
                input.origin.seed,
            ),
            is_watched: input.is_watched,
            owner: input.owner,
            limits: input.limits.clone(),
        }
    }

    /// As the sandbox takes it.
    pub(crate) fn input(self) -> Result<RunInput, Malformed> {
        let (run, started_at_ms, seed) = self.origin;
        Ok(RunInput {
            trigger: self.trigger,
            event: self.event.into(),
            context: self.context.to_owned(),
            origin: Origin {
                run: RawValue::from_string(run.to_owned()).map_err(|_| Malformed("a value is not JSON"))?,
                started_at_ms,
                seed,
            },
            is_watched: self.is_watched,
            owner: self.owner,
            limits: self.limits,
        })
    }

    fn write(&self, to: &mut Frame) {
        to.u32(self.trigger);
        to.text(self.event);
        to.text(self.context);
        to.text(self.origin.0);
        to.i64(self.origin.1);
        to.u64(self.origin.2);
        to.flag(self.is_watched);
        write_owner(to, self.owner);
        write_limits(to, &self.limits);
    }

    fn read(reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(GivenRun {
            trigger: reader.u32()?,
            event: reader.text()?,
            context: reader.text()?,
            origin: (reader.text()?, reader.i64()?, reader.u64()?),
            is_watched: reader.flag()?,
            owner: read_owner(reader)?,
            limits: read_limits(reader)?,
        })
    }
}

impl<'a> ToExecutor<'a> {
    /// Reads a frame.
    pub(crate) fn read(frame: &'a [u8]) -> Result<Self, Malformed> {
        let mut reader = Reader::new(frame);
        let kind = reader.u8()?;
        let read = match kind {
            START => ToExecutor::Start(read_config(&mut reader)?),
            JAVASCRIPT => ToExecutor::JavaScript,
            LOAD => read_load(&mut reader)?,
            UNLOAD => ToExecutor::Unload {
                program: reader.u32()?,
            },
            RUN..=CANCEL => Self::of_run(kind, reader.u32()?, &mut reader)?,
            _ => return Err(Malformed("its kind is unknown")),
        };
        reader.end()?;
        Ok(read)
    }

    fn of_run(kind: u8, run: u32, reader: &mut Reader<'a>) -> Result<Self, Malformed> {
        Ok(match kind {
            RUN => ToExecutor::Run {
                run,
                program: reader.u32()?,
                given: GivenRun::read(reader)?,
            },
            ENDED => ToExecutor::Ended {
                run,
                effect: reader.u32()?,
                json: reader.bytes()?,
            },
            PARKED => ToExecutor::Parked { run },
            STOPPED => ToExecutor::Stopped {
                run,
                stop: Stop {
                    code: reader.text()?.to_owned().into(),
                    cause: reader.text()?.to_owned(),
                    advice: reader.text()?.to_owned().into(),
                },
            },
            CALL => ToExecutor::Call {
                run,
                effect: reader.u32()?,
            },
            SENT => ToExecutor::Sent {
                run,
                number: reader.u32()?,
                result: match reader.flag()? {
                    true => Ok(read_response(reader)?),
                    false => Err(reader.failure()?),
                },
            },
            _ => ToExecutor::Cancel { run },
        })
    }

    /// Writes it.
    pub fn frame(&self) -> Frame {
        let mut frame = Frame::with_capacity(self.room());
        let to = &mut frame;
        match self {
            ToExecutor::Start(config) => {
                to.u8(START);
                write_config(to, config);
            }
            ToExecutor::JavaScript => to.u8(JAVASCRIPT),
            ToExecutor::Load {
                program,
                manifest,
                imports,
                components,
            } => {
                to.u8(LOAD);
                to.u32(*program);
                to.bytes(manifest);
                to.length(imports.len());
                imports.iter().for_each(|name| to.text(name));
                to.length(components.len());
                for component in components {
                    to.extend(&component.digest);
                    to.flag(component.may_send);
                }
            }
            ToExecutor::Unload { program } => {
                to.u8(UNLOAD);
                to.u32(*program);
            }
            ToExecutor::Run { run, program, given } => {
                to.u8(RUN);
                to.u32(*run);
                to.u32(*program);
                given.write(to);
            }
            _ => self.write_to_run(to),
        }
        frame
    }

    fn write_to_run(&self, to: &mut Frame) {
        match self {
            ToExecutor::Ended { run, effect, json } => {
                to.u8(ENDED);
                to.u32(*run);
                to.u32(*effect);
                to.bytes(json);
            }
            ToExecutor::Parked { run } => {
                to.u8(PARKED);
                to.u32(*run);
            }
            ToExecutor::Stopped { run, stop } => {
                to.u8(STOPPED);
                to.u32(*run);
                to.text(&stop.code);
                to.text(&stop.cause);
                to.text(&stop.advice);
            }
            ToExecutor::Call { run, effect } => {
                to.u8(CALL);
                to.u32(*run);
                to.u32(*effect);
            }
            ToExecutor::Sent { run, number, result } => {
                to.u8(SENT);
                to.u32(*run);
                to.u32(*number);
                to.flag(result.is_ok());
                match result {
                    Ok(response) => write_response(to, response),
                    Err(error) => to.failure(error),
                }
            }
            ToExecutor::Cancel { run } => {
                to.u8(CANCEL);
                to.u32(*run);
            }
            _ => {}
        }
    }

    /// Bytes that it takes, about.
    fn room(&self) -> usize {
        256 + match self {
            ToExecutor::Run { given, .. } => given.event.len() + given.context.len() + given.origin.0.len(),
            ToExecutor::Ended { json, .. } => json.len(),
            ToExecutor::Load { manifest, .. } => manifest.len(),
            _ => 0,
        }
    }
}

fn read_load<'a>(reader: &mut Reader<'a>) -> Result<ToExecutor<'a>, Malformed> {
    let program = reader.u32()?;
    let manifest = reader.bytes()?;
    let count = reader.length()?;
    let imports = (0..count).map(|_| reader.text()).collect::<Result<_, _>>()?;
    let count = reader.length()?;
    let component = |reader: &mut Reader<'a>| {
        Ok(GivenComponent {
            digest: reader.digest()?,
            may_send: reader.flag()?,
        })
    };
    let components = (0..count).map(|_| component(reader)).collect::<Result<_, _>>()?;
    Ok(ToExecutor::Load {
        program,
        manifest,
        imports,
        components,
    })
}

fn write_config(to: &mut Frame, config: &SandboxConfig) {
    to.u32(config.runs_max);
    to.size(config.background_threads);
    to.u64(config.foreground_time.as_micros() as u64);
    to.size(config.memory_bytes_max);
    to.size(config.all_memory_bytes_max);
    to.size(config.table_elements_max);
    to.flag(config.code_is_sealed);
}

fn read_config(reader: &mut Reader<'_>) -> Result<SandboxConfig, Malformed> {
    Ok(SandboxConfig {
        runs_max: reader.u32()?,
        background_threads: reader.size()?,
        foreground_time: Duration::from_micros(reader.u64()?),
        memory_bytes_max: reader.size()?,
        all_memory_bytes_max: reader.size()?,
        table_elements_max: reader.size()?,
        code_is_sealed: reader.flag()?,
    })
}

fn write_owner(to: &mut Frame, owner: Option<u128>) {
    to.flag(owner.is_some());
    if let Some(owner) = owner {
        to.u64((owner >> 64) as u64);
        to.u64(owner as u64);
    }
}

fn read_owner(reader: &mut Reader<'_>) -> Result<Option<u128>, Malformed> {
    if !reader.flag()? {
        return Ok(None);
    }
    let (high, low) = (reader.u64()?, reader.u64()?);
    Ok(Some(u128::from(high) << 64 | u128::from(low)))
}

fn write_limits(to: &mut Frame, limits: &Limits) {
    to.u64(limits.fuel_max);
    to.size(limits.memory_bytes_max);
    to.size(limits.table_elements_max);
    to.u64(u64::try_from(limits.deadline.as_micros()).unwrap_or(u64::MAX));
    to.size(limits.log_bytes_max);
    to.size(limits.log_lines_max);
    to.size(limits.output_bytes_max);
    to.u32(limits.effects_max);
    to.size(limits.event_bytes_max);
    to.size(limits.effect_result_bytes_max);
    to.size(limits.journal_bytes_max);
    to.u64(limits.ceilings.fuel);
    to.size(limits.ceilings.memory_bytes);
    to.u32(limits.ceilings.effects);
    to.u64(u64::try_from(limits.ceilings.deadline.as_micros()).unwrap_or(u64::MAX));
}

fn read_limits(reader: &mut Reader<'_>) -> Result<Limits, Malformed> {
    Ok(Limits {
        fuel_max: reader.u64()?,
        memory_bytes_max: reader.size()?,
        table_elements_max: reader.size()?,
        deadline: Duration::from_micros(reader.u64()?),
        log_bytes_max: reader.size()?,
        log_lines_max: reader.size()?,
        output_bytes_max: reader.size()?,
        effects_max: reader.u32()?,
        event_bytes_max: reader.size()?,
        effect_result_bytes_max: reader.size()?,
        journal_bytes_max: reader.size()?,
        ceilings: Ceilings {
            fuel: reader.u64()?,
            memory_bytes: reader.size()?,
            effects: reader.u32()?,
            deadline: Duration::from_micros(reader.u64()?),
        },
    })
}

fn write_response(to: &mut Frame, response: &ComponentResponse) {
    to.u32(response.status.into());
    to.length(response.headers.len());
    for (name, value) in &response.headers {
        to.text(name);
        to.text(value);
    }
    to.bytes(&response.body);
}

fn read_response(reader: &mut Reader<'_>) -> Result<ComponentResponse, Malformed> {
    let status = u16::try_from(reader.u32()?).map_err(|_| Malformed("a status is too large"))?;
    let count = reader.length()?;
    let mut headers = Vec::with_capacity(count);
    for _ in 0..count {
        headers.push((reader.text()?.to_owned(), reader.text()?.to_owned()));
    }
    Ok(ComponentResponse {
        status,
        headers,
        body: reader.bytes()?.to_vec(),
    })
}
