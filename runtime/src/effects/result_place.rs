//! The place that an effect's result takes among those of its run which the sandbox has not taken yet, and the room for its values.
//!
//! **What only waits takes its place once what it waited for has come, before it reads that**, so that results don't pile up beside a run that
//! computes. It never has one while it waits: others, which it may wait for, could not begin. Whatever has a place comes to its end without
//! another one.

use super::large::{room, values_if_many};
use crate::aside::aside_if_large;
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The place of one effect. Cheap to clone: all clones are the same.
#[derive(Clone, Debug)]
pub struct ResultPlace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    free: Arc<Semaphore>,
    /// Whose run it is.
    owner: Option<u128>,
    is_wanted: AtomicBool,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    place: Option<OwnedSemaphorePermit>,
    room: Option<OwnedSemaphorePermit>,
}

impl ResultPlace {
    /// One of these, which are never closed, for a run of this owner.
    pub(super) fn among(free: Arc<Semaphore>, owner: Option<u128>) -> Self {
        ResultPlace(Arc::new(Inner {
            free,
            owner,
            is_wanted: AtomicBool::new(false),
            held: Mutex::default(),
        }))
    }

    /// Takes it, unless all are taken.
    pub fn try_take(&self) -> bool {
        self.0.is_wanted.store(true, Ordering::Relaxed);
        let mut held = self.held();
        if held.place.is_none() {
            held.place = self.0.free.clone().try_acquire_owned().ok();
        }
        held.place.is_some()
    }

    /// Takes it, and waits for it if all are taken: until the run has taken another result.
    pub async fn take(&self) {
        if self.try_take() {
            return;
        }
        let place = self.0.free.clone().acquire_owned().await.ok();
        self.held().place = place;
    }

    /// Whether it was asked for, so that what the effect has waited for is there.
    pub fn is_wanted(&self) -> bool {
        self.0.is_wanted.load(Ordering::Relaxed)
    }

    /// Reads JSON that is the result, or much of it, once its owner has room for its values; the place is to be taken before. The room is
    /// kept until the result is written.
    pub async fn read(&self, json: String) -> Result<Value, EffectError> {
        let (owner, bytes) = (self.0.owner, json.len());
        let interrupted = || EffectError::new(EffectCode::Internal, "The effect was interrupted.");
        let counting = aside_if_large(owner, bytes, move || (values_if_many(&json), json));
        let (values, json) = counting.await.ok_or_else(interrupted)?;
        let room = room(owner, values).await;
        self.held().room = room;
        let reading = aside_if_large(owner, bytes, move || serde_json::from_str::<Value>(&json));
        let read = reading.await.ok_or_else(interrupted)?;
        // What was given out as JSON is JSON.
        Ok(read.unwrap_or_default())
    }

    /// The place, if it was taken, for as long as the sandbox has not taken the result; the room is given back.
    pub(super) fn given(&self) -> Option<OwnedSemaphorePermit> {
        let held = std::mem::take(&mut *self.held());
        held.place
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of what is in no run.
impl Default for ResultPlace {
    fn default() -> Self {
        ResultPlace::among(Arc::new(Semaphore::new(1)), None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::effect::Effect;
    use super::*;
    use crate::connections::{Granted, NoConnections};
    use crate::effects::{
        Bounds, Clock, Egress, Handles, OpenSinks, OpenStreams, Parking, Prepared, RunEffects, Signals,
    };
    use crate::files::MemoryFiles;
    use crate::key_values::MemoryValues;
    use crate::secrets::{Secrets, Vault};
    use futures_util::FutureExt;
    use heddle_sandbox::Waited;
    use heddle_sandbox::clock::monotonic;
    use serde_json::json;
    use std::sync::atomic::AtomicUsize;
    use tokio::runtime::Handle;
    use tracing::Span;

    #[tokio::test]
    async fn a_place_is_taken_once_and_waited_for_if_there_is_none() {
        let free = Arc::new(Semaphore::new(1));
        let place = || ResultPlace::among(free.clone(), Some(1));
        let (first, second) = (place(), place());
        assert!(!first.is_wanted() && first.try_take() && first.is_wanted());
        assert!(first.clone().try_take(), "it has one");
        assert!(!second.try_take() && second.is_wanted());
        let mut taking = Box::pin(second.take());
        assert!((&mut taking).now_or_never().is_none());
        let held = first.given();
        assert!(held.is_some() && (&mut taking).now_or_never().is_none());
        drop(held);
        taking.await;
        assert!(second.given().is_some() && second.given().is_none());
        assert_eq!(free.available_permits(), 1);
        let third = place();
        third.take().await;
        assert_eq!(free.available_permits(), 0);
        drop(third);
        assert_eq!(
            free.available_permits(),
            1,
            "whoever ends otherwise gives it back"
        );
    }

    #[tokio::test]
    async fn many_values_are_read_when_there_is_room_for_them() {
        let owner = Some(0x5245_5355_4c54);
        let many = format!("[0{}]", ",0".repeat(2_000_000));
        let place = || ResultPlace::among(Arc::new(Semaphore::new(1)), owner);
        let (one, other) = (place(), place());
        let read = one.read(many.clone()).await.unwrap();
        assert_eq!(read.as_array().map(Vec::len), Some(2_000_001));
        assert_eq!(other.read("[7]".to_owned()).await.unwrap(), json!([7]));
        // All of the room is the first one's, until its result is written.
        assert!(room(owner, usize::MAX).now_or_never().is_none());
        assert!(one.given().is_none());
        assert!(other.read(many).await.is_ok());
    }

    /// What it waits for is there at once. Counts those whose results were read.
    struct Waits(Arc<AtomicUsize>);

    impl Effect for Waits {
        const KIND: &'static str = "wait";
        const ONLY_WAITS: bool = true;

        type Needs = ResultPlace;
        type Output = Value;

        fn start(
            &self,
            _: Value,
            place: ResultPlace,
        ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
            let read = self.0.clone();
            async move {
                place.take().await;
                read.fetch_add(1, Ordering::SeqCst);
                place.read("7".to_owned()).await
            }
        }
    }

    fn handles() -> Handles {
        let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), String::new()));
        let connections = Granted::new(Arc::new(NoConnections), Arc::new([]), vault.clone());
        Handles {
            key: String::new(),
            idempotency_key: String::new(),
            attempt: 1,
            bounds: Bounds {
                result_bytes_max: 1 << 20,
                deadline: monotonic(),
            },
            hosts: Arc::new([]),
            patterns: Arc::new([]),
            vault,
            connections: Arc::new(connections),
            key_values: Arc::new(MemoryValues::default()),
            files: Arc::new(MemoryFiles::default()),
            response: None,
            sinks: OpenSinks::default(),
            streams: OpenStreams::default(),
            calls: None,
            signals: Signals::of(None),
            clock: Clock::of(None),
            egress: Egress::default(),
            parking: Parking {
                is_possible: false,
                state: None,
            },
            place: None,
        }
    }

    #[tokio::test]
    async fn of_what_only_waits_as_much_is_read_as_the_run_may_leave_untaken() {
        const EFFECTS: usize = 100;
        const UNTAKEN_MAX: usize = 32;
        let read = Arc::new(AtomicUsize::new(0));
        let mut effects = RunEffects::new(Handle::current(), None);
        for number in 0..EFFECTS {
            let prepared = Prepared::Work {
                effect: Arc::new(Waits(read.clone())),
                request: "null".to_owned(),
                handles: Box::new(handles()),
            };
            let started = effects.start(0, number.to_string(), prepared, Span::none());
            assert!(started.is_ok());
        }
        for taken in 0..EFFECTS {
            // All that can go on does so here, while the run computes.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            assert_eq!(read.load(Ordering::SeqCst), (taken + UNTAKEN_MAX).min(EFFECTS));
            let Ok(Waited::Ended(id, json)) = effects.wait().await else {
                panic!("the run has nothing to wait for");
            };
            assert_eq!(json, br#"{"ok":7}"#);
            effects.taken(id);
        }
    }
}
