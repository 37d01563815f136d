//! The pace at which large files are written to a directory. Its disk is usually the database's too, and a commit there takes as
//! long as the disk has to do with what came before: with megabytes that were only written to memory so far, say, once anything
//! is synced. So large files are written a piece at a time, one of all at once, whose owners take turns, and each piece is on the
//! disk before the next; afterwards the disk rests from files for as long as that took.

use crate::error::FileError;
use heddle_model::clock::monotonic;
use heddle_model::ids::UserId;
use heddle_store::per_user::PerUser;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// How long the disk rests at most: who needs that long for a piece has a disk that is busy with others anyway.
const REST_MAX: Duration = Duration::from_millis(100);
/// Timers are precise to a millisecond. What one is late by is made up for, but no more than that.
const LATE_MAX: Duration = Duration::from_millis(2);

/// The turns of all files of a directory.
#[derive(Debug)]
pub struct Pace {
    of_owners: PerUser,
    of_all: Arc<Semaphore>,
    rested_at: Mutex<Instant>,
}

/// The disk is this file's for as long as the value is there.
#[derive(Debug)]
pub struct Turn {
    pace: Arc<Pace>,
    began: Instant,
    _of_owner: Option<OwnedSemaphorePermit>,
    _of_all: OwnedSemaphorePermit,
}

impl Pace {
    pub fn new() -> Arc<Self> {
        Arc::new(Pace {
            of_owners: PerUser::new(1),
            of_all: Arc::new(Semaphore::new(1)),
            rested_at: Mutex::new(monotonic()),
        })
    }

    /// Waits for a turn. Of one owner's files, one at a time waits among those of others.
    pub async fn turn(self: &Arc<Self>, owner: Option<UserId>) -> Result<Turn, FileError> {
        let of_owner = match owner {
            Some(owner) => {
                let permit = self.of_owners.of(owner).acquire_owned().await;
                Some(permit.map_err(FileError::bytes)?)
            }
            None => None,
        };
        let of_all = self.of_all.clone().acquire_owned().await;
        let of_all = of_all.map_err(FileError::bytes)?;
        let rests_for = self.rested_at().saturating_duration_since(monotonic());
        if !rests_for.is_zero() {
            tokio::time::sleep(rests_for).await;
        }
        Ok(Turn {
            pace: self.clone(),
            began: monotonic(),
            _of_owner: of_owner,
            _of_all: of_all,
        })
    }

    fn rested_at(&self) -> Instant {
        *self.rested_at.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut rested_at = self.pace.rested_at.lock().unwrap_or_else(PoisonError::into_inner);
        *rested_at = rest(*rested_at, self.began, monotonic());
    }
}

/// Until when the disk rests after a turn that has ended now, if before it did until then.
fn rest(before: Instant, began: Instant, now: Instant) -> Instant {
    let took = now.saturating_duration_since(began);
    let late = began.saturating_duration_since(before).min(LATE_MAX);
    now + took.min(REST_MAX).saturating_sub(late)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_disk_rests_as_long_as_it_was_taken() {
        let ms = Duration::from_millis;
        let (before, second) = (monotonic(), ms(1_000));
        // On time, late by a millisecond, and after a time without files.
        assert_eq!(rest(before, before, before + ms(5)), before + ms(10));
        assert_eq!(rest(before, before + ms(1), before + ms(6)), before + ms(10));
        assert_eq!(
            rest(before, before + second, before + second + ms(5)),
            before + second + ms(8)
        );
        // Neither for ever nor into the past.
        assert_eq!(rest(before, before, before + second), before + second + REST_MAX);
        assert_eq!(rest(before, before + second, before + second), before + second);
    }

    #[tokio::test]
    async fn one_file_of_an_owner_waits_among_those_of_others() {
        let (pace, ann, bob) = (Pace::new(), Some(UserId::new()), Some(UserId::new()));
        let first = pace.turn(ann).await.unwrap();
        let mut others = Vec::new();
        for _ in 0..3 {
            others.push(Box::pin(pace.turn(ann)));
        }
        let mut of_bob = Box::pin(pace.turn(bob));
        for waiting in &mut others {
            assert!(futures_util::poll!(waiting).is_pending());
        }
        assert!(futures_util::poll!(&mut of_bob).is_pending());
        drop(first);
        // Ann's second file has waited longer for her own turn, and asks for the disk only now: behind Bob's.
        let ended = tokio::select! {
            biased;
            turn = &mut others[0] => (ann, turn),
            turn = &mut of_bob => (bob, turn),
        };
        assert_eq!(ended.0, bob);
        drop(ended.1.unwrap());
        assert!(others[0].as_mut().await.is_ok());
    }

    #[tokio::test]
    async fn whoever_goes_leaves_the_disk_to_others() {
        let (pace, ann) = (Pace::new(), Some(UserId::new()));
        let turn = pace.turn(ann).await.unwrap();
        let mut waiting = Box::pin(pace.turn(ann));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop(waiting);
        drop(turn);
        assert!(pace.turn(ann).await.is_ok());
        assert!(pace.turn(None).await.is_ok());
    }
}
