//! Uuid: new identifiers (RFC 9562) of the run's seeded randomness.

use super::parameters;
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use heddle_contract::abi::code;
use heddle_values::Object;

/// Version 4 (random) or 7 (the time of the run first).
pub fn uuid(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let random = u128::from(context.random()) << 64 | u128::from(context.random());
    let (version, bits) = match parameters::integer(parameters, "version", 4, 7)?.unwrap_or(4) {
        4 => (4, random),
        7 => {
            let time_ms = u128::from(context.now_ms().max(0).unsigned_abs());
            (7, random & (u128::MAX >> 48) | time_ms << 80)
        }
        other => {
            let message = format!("Parameter `version` takes 4 or 7, but it is {other}.");
            return Err(Failure::new(code::PARAMETER, message));
        }
    };
    // The version is the 13th of 32 digits, the variant the two highest bits of the 17th.
    let bits = bits & !(0xf << 76 | 0b11 << 62) | version << 76 | 0b10 << 62;
    let text = format!(
        "{:08x}-{:04x}-{:04x}-{:04x}-{:012x}",
        bits >> 96,
        bits >> 80 & 0xffff,
        bits >> 64 & 0xffff,
        bits >> 48 & 0xffff,
        bits & 0xffff_ffff_ffff
    );
    Ok(Outcome::Emit(Emission::one(0, text.into())))
}
