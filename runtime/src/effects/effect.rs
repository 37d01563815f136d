//! The trait that every kind of effect implements.

use super::needs::{Handles, Needs};
use super::progress::{EffectFuture, Progress};
use crate::secrets::Vault;
use heddle_sandbox::EffectError;
use serde_json::Value;

/// One kind of effect.
pub trait Effect: Send + Sync + 'static {
    /// The name by which runs start it and manifests list it.
    const KIND: &'static str;

    /// What becomes of references to secrets in its requests. Nothing, unless it is known where they go.
    const REVEALS: Reveals = Reveals::Nothing;

    /// Whether it only waits, so that any number may be in flight. If its result may be large, it needs a `ResultPlace`, and takes that
    /// once what it waited for is there, before it reads it.
    const ONLY_WAITS: bool = false;

    /// Whether its result is not kept, since doing it once more gives the same: a run that goes on after a crash has only its
    /// place among the others from the journal.
    const IS_DONE_AGAIN: bool = false;

    /// What it is given of its run besides its request.
    type Needs: Needs;

    /// What it gives: a value, or [`Progress`] if it may park.
    type Output: Into<Progress> + Send;

    /// Does the work. Dropping the future cancels it.
    fn start(
        &self,
        request: Value,
        needs: Self::Needs,
    ) -> impl Future<Output = Result<Self::Output, EffectError>> + Send + 'static;

    /// Hears that the journal has its result, so that it is not started: what it would have used up is given up.
    fn is_known(&self, _request: &str, _needs: Self::Needs) {}

    /// Whether it need not be done again, and gives null, once the journal has what came of what its node was writing.
    fn only_writes(&self, _request: &str) -> bool {
        false
    }

    /// What it gives, without the secrets that the run has used.
    fn masked(&self, result: Value, vault: &Vault) -> Value {
        vault.mask_value(result)
    }

    /// Whether doing it again changes nothing outside, so that nobody has to wait until its result is safe.
    fn is_repeatable(&self) -> bool {
        false
    }

    /// Whether secrets may have left by it, in its request or in those that it sends itself.
    fn may_reveal(&self) -> bool {
        Self::REVEALS != Reveals::Nothing
    }
}

/// Whether secrets are put in place of their references.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reveals {
    /// They stay references: what is kept, or handed to code and patterns, holds no secret.
    Nothing,
    /// The effect sends to a host. It puts those in that are bound to hosts, when it knows which one it is.
    ToHost,
    /// The effect makes a digest or a signature.
    Digest,
}

/// An effect of any kind.
pub trait AnyEffect: Send + Sync {
    /// See [`Effect::REVEALS`].
    fn reveals(&self) -> Reveals;

    /// See [`Effect::ONLY_WAITS`].
    fn only_waits(&self) -> bool;

    /// See [`Effect::IS_DONE_AGAIN`].
    fn is_done_again(&self) -> bool;

    /// See [`Effect::is_known`].
    fn is_known(&self, request: &str, handles: &Handles);

    /// See [`Effect::only_writes`].
    fn only_writes(&self, request: &str) -> bool;

    /// See [`Effect::masked`].
    fn masked(&self, result: Value, vault: &Vault) -> Value;

    /// See [`Effect::is_repeatable`].
    fn is_repeatable(&self) -> bool;

    /// See [`Effect::may_reveal`].
    fn may_reveal(&self) -> bool;

    /// Starts it with what it needs of these.
    fn start(&self, request: Value, handles: &Handles) -> EffectFuture;
}

impl<E: Effect> AnyEffect for E {
    fn reveals(&self) -> Reveals {
        E::REVEALS
    }

    fn only_waits(&self) -> bool {
        E::ONLY_WAITS
    }

    fn is_done_again(&self) -> bool {
        E::IS_DONE_AGAIN
    }

    fn is_known(&self, request: &str, handles: &Handles) {
        Effect::is_known(self, request, E::Needs::of(handles));
    }

    fn only_writes(&self, request: &str) -> bool {
        Effect::only_writes(self, request)
    }

    fn masked(&self, result: Value, vault: &Vault) -> Value {
        Effect::masked(self, result, vault)
    }

    fn is_repeatable(&self) -> bool {
        Effect::is_repeatable(self)
    }

    fn may_reveal(&self) -> bool {
        Effect::may_reveal(self)
    }

    fn start(&self, request: Value, handles: &Handles) -> EffectFuture {
        let work = Effect::start(self, request, E::Needs::of(handles));
        Box::pin(async move { work.await.map(Into::into) })
    }
}
