//! The place that an effect's result takes among those of its run which the sandbox has not taken yet, and the room of its run's owner
//! for its bytes, which are kept as long, and for its values.
//!
//! **What only waits takes its place once what it waited for has come, before it reads that**, so that results don't pile up beside a run that
//! computes. It never has one while it waits: others, which it may wait for, could not begin. Whatever has a place comes to its end without
//! another one.

use super::large::{room_for_bytes, room_kept, room_of_result, values_if_many};
use crate::aside::{aside_if_large, is_small};
use heddle_sandbox::{EffectCode, EffectError};
use serde_json::Value;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// Bytes of the largest results, unless limits are raised.
const RESULT_BYTES: usize = 8 << 20;

/// The place of one effect. Cheap to clone: all clones are the same.
#[derive(Clone, Debug)]
pub struct ResultPlace(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    free: Arc<Semaphore>,
    /// Whose run it is.
    owner: Option<u128>,
    is_wanted: AtomicBool,
    /// Set once there is room for its bytes.
    has_room: OnceCell<()>,
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    place: Option<OwnedSemaphorePermit>,
    bytes: Option<OwnedSemaphorePermit>,
    values: Option<OwnedSemaphorePermit>,
}

/// What a result holds until the sandbox has taken it.
#[derive(Debug)]
pub(super) struct Untaken {
    _place: OwnedSemaphorePermit,
    _bytes: Option<OwnedSemaphorePermit>,
}

impl ResultPlace {
    /// One of these, which are never closed, for a run of this owner. `None`: it waits neither for others of its run nor for room for its
    /// bytes, since its run takes no result before this one, and may have all of the owner's room for others.
    pub(super) fn among(free: impl Into<Option<Arc<Semaphore>>>, owner: Option<u128>) -> Self {
        let (free, has_room) = match free.into() {
            Some(free) => (free, OnceCell::new()),
            None => (Arc::new(Semaphore::new(1)), OnceCell::from(())),
        };
        ResultPlace(Arc::new(Inner {
            free,
            owner,
            is_wanted: AtomicBool::new(false),
            has_room,
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

    /// Takes it, and then room for as much as a result has at most, for what is not read in parts.
    pub async fn take_with_room(&self) {
        self.take().await;
        self.make_room(RESULT_BYTES).await;
    }

    /// Whether it was asked for, so that what the effect has waited for is there.
    pub fn is_wanted(&self) -> bool {
        self.0.is_wanted.load(Ordering::Relaxed)
    }

    /// Waits until its owner has room for so many bytes, and takes that, once for the result however often this is called: what is read in
    /// several parts says before the first how large all of it may be. The place is to be taken before; what is small needs no room. Whoever
    /// has room comes to the end without waiting for other effects.
    pub async fn make_room(&self, bytes: usize) {
        if is_small(bytes) {
            return;
        }
        let take = || async {
            let room = room_for_bytes(self.0.owner, bytes).await;
            self.held().bytes = room;
        };
        self.0.has_room.get_or_init(take).await;
    }

    /// Waits until its owner has room for so many values, and takes that, at most once; until the result is written.
    pub async fn make_room_for_values(&self, values: usize) {
        let room = room_of_result(self.0.owner, values).await;
        self.held().values = room;
    }

    /// Reads JSON that is the result, or much of it, once its owner has room for it and for its values; the place is to be taken before. The
    /// room for values is kept until the result is written.
    pub async fn read(&self, json: String) -> Result<Value, EffectError> {
        let (owner, bytes) = (self.0.owner, json.len());
        let interrupted = || EffectError::new(EffectCode::Internal, "The effect was interrupted.");
        let counting = aside_if_large(owner, bytes, move || (values_if_many(&json), json));
        let (values, json) = counting.await.ok_or_else(interrupted)?;
        self.make_room(bytes).await;
        self.make_room_for_values(values).await;
        let reading = aside_if_large(owner, bytes, move || serde_json::from_str::<Value>(&json));
        let read = reading.await.ok_or_else(interrupted)?;
        // What was given out as JSON is JSON.
        Ok(read.unwrap_or_default())
    }

    /// The place, if it was taken, and room for these bytes, for as long as the sandbox has not taken the result; other room is given back.
    pub(super) fn given(&self, bytes: usize) -> Option<Untaken> {
        let held = std::mem::take(&mut *self.held());
        Some(Untaken {
            _place: held.place?,
            _bytes: held.bytes.and_then(|room| room_kept(room, bytes)),
        })
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        self.0.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Of what is in no run.
impl Default for ResultPlace {
    fn default() -> Self {
        ResultPlace::among(None, None)
    }
}

#[cfg(test)]
mod tests {
    use super::super::effect::Effect;
    use super::*;
    use crate::connections::{ConnectionFuture, Connections, Granted, NoConnections};
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
        let held = first.given(0);
        assert!(held.is_some() && (&mut taking).now_or_never().is_none());
        drop(held);
        taking.await;
        assert!(second.given(0).is_some() && second.given(0).is_none());
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
        assert!(room_of_result(owner, usize::MAX).now_or_never().is_none());
        assert!(one.given(0).is_none());
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

    /// Reads as much as a result may have. Counts those that had room for it.
    struct Reads(Arc<AtomicUsize>);

    impl Effect for Reads {
        const KIND: &'static str = "http";

        type Needs = ResultPlace;
        type Output = Value;

        fn start(
            &self,
            _: Value,
            place: ResultPlace,
        ) -> impl Future<Output = Result<Value, EffectError>> + Send + 'static {
            let read = self.0.clone();
            async move {
                place.make_room(RESULT_BYTES).await;
                read.fetch_add(1, Ordering::SeqCst);
                Ok("x".repeat(RESULT_BYTES).into())
            }
        }
    }

    /// Whose runs they are.
    #[derive(Debug)]
    struct Of(u128);

    impl Connections for Of {
        fn open(&self, reference: String) -> ConnectionFuture {
            NoConnections.open(reference)
        }

        fn owner(&self) -> Option<u128> {
            Some(self.0)
        }
    }

    fn handles() -> Handles {
        handles_of(Arc::new(NoConnections))
    }

    fn handles_of(connections: Arc<dyn Connections>) -> Handles {
        let vault = Arc::new(Vault::new(Secrets::new(), Arc::new([]), String::new()));
        let connections = Granted::new(connections, Arc::new([]), vault.clone());
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

    /// A run of this owner that reads so often.
    fn reading(read: &Arc<AtomicUsize>, owner: u128, count: usize) -> RunEffects {
        let mut effects = RunEffects::new(Handle::current(), None);
        for number in 0..count {
            let prepared = Prepared::Work {
                effect: Arc::new(Reads(read.clone())),
                request: "null".to_owned(),
                handles: Box::new(handles_of(Arc::new(Of(owner)))),
            };
            let started = effects.start(0, number.to_string(), prepared, Span::none());
            assert!(started.is_ok());
        }
        effects
    }

    #[tokio::test]
    async fn what_all_runs_of_an_owner_leave_untaken_is_bounded() {
        const OF_EACH: usize = 9;
        const AT_ONCE: usize = 16;
        let (owner, other) = (0x554e_5441_4b45_4e31, 0x554e_5441_4b45_4e32);
        let read = Arc::new(AtomicUsize::new(0));
        let have_read = async |count: usize| {
            // All that can go on does so here, while the runs compute.
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            assert_eq!(read.load(Ordering::SeqCst), count);
        };
        let mut runs = [(); 2].map(|()| reading(&read, owner, OF_EACH));
        have_read(AT_ONCE).await;
        let _other = reading(&read, other, 1);
        have_read(AT_ONCE + 1).await;
        for effects in &mut runs {
            for _ in 0..OF_EACH {
                let Ok(Waited::Ended(id, json)) = effects.wait().await else {
                    panic!("the run has nothing to wait for");
                };
                assert!(json.len() > RESULT_BYTES);
                effects.taken(id);
            }
        }
        have_read(2 * OF_EACH + 1).await;
    }

    #[tokio::test]
    async fn what_a_run_waits_for_alone_needs_no_room() {
        let owner = Some(0x414c_4f4e);
        let all = room_for_bytes(owner, usize::MAX).await;
        let alone = ResultPlace::among(None, owner);
        assert!(alone.make_room(RESULT_BYTES).now_or_never().is_some());
        let place = ResultPlace::among(Arc::new(Semaphore::new(1)), owner);
        assert!(place.make_room(1_000).now_or_never().is_some(), "it is small");
        let mut waiting = Box::pin(place.make_room(RESULT_BYTES));
        assert!((&mut waiting).now_or_never().is_none());
        drop(all);
        waiting.await;
        assert!(
            place.make_room(RESULT_BYTES).now_or_never().is_some(),
            "it has room"
        );
    }
}
