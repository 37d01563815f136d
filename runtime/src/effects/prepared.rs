//! An effect about to start.

use super::effect::AnyEffect;
use super::needs::Handles;
use heddle_sandbox::EffectError;
use std::sync::Arc;

/// Permitted work, or the reason why it is not.
pub enum Prepared {
    /// To be done.
    Work {
        effect: Arc<dyn AnyEffect>,
        request: String,
        handles: Box<Handles>,
    },
    Refused(EffectError),
}
