//! Removing rows a little at a time: as many together as the database removes within milliseconds, which depends on how large
//! they are, so that nobody's writes wait long for it. Where finding them takes long, however few they are, it is done
//! seldom.

use futures_util::future::BoxFuture;
use heddle_model::clock::{monotonic, since};
use heddle_store::turns::GROUP_BYTES_MAX;
use heddle_store::{Db, Load, Store, StoreError};
use std::time::Duration;

/// Rows of the first batch, and of the least and the largest.
const ROWS_FIRST: i64 = 16;
const ROWS_MIN: i64 = 4;
const ROWS_MAX: i64 = 500;
/// A batch that took less is followed by a larger one, and one that took more by a smaller one.
const SHORT: Duration = Duration::from_millis(4);
const LONG: Duration = Duration::from_millis(12);
/// How many times as many rows there are, or as few, after a batch that took long.
const STEP: i64 = 4;
/// Others' small writes go first.
pub(crate) const LOAD: Load = Load::of(None, GROUP_BYTES_MAX);

/// How many rows come next.
pub(crate) struct Batch {
    rows: i64,
    /// Rows of the last batch of another size, and how long they took.
    before: Option<(i64, Duration)>,
}

impl Batch {
    pub const fn first() -> Self {
        Batch {
            rows: ROWS_FIRST,
            before: None,
        }
    }

    pub const fn rows(&self) -> i64 {
        self.rows
    }

    /// The last one took so long.
    pub fn adapt(&mut self, took: Duration) {
        let rows = if took < SHORT {
            self.rows * 2
        } else if took <= LONG {
            self.rows
        } else if self.is_spent_on_finding(took) {
            self.rows * STEP
        } else {
            self.rows / STEP
        };
        let rows = rows.clamp(ROWS_MIN, ROWS_MAX);
        if rows != self.rows {
            self.before = Some((self.rows, took));
            self.rows = rows;
        }
    }

    /// Whether the last one took about as long as one of several times as many rows, or as few.
    fn is_spent_on_finding(&self, took: Duration) -> bool {
        self.before.is_some_and(|(rows, before)| {
            let (few, many) = match rows < self.rows {
                true => (before, took),
                false => (took, before),
            };
            many < few.saturating_mul(2)
        })
    }
}

/// Removes until a batch is not full any more; how many rows there were. `some` removes up to so many.
pub(crate) async fn remove<F>(store: &Store, some: F) -> Result<u64, StoreError>
where
    F: for<'c> Fn(&'c mut Db<'_>, i64) -> BoxFuture<'c, Result<u64, StoreError>>
        + Clone
        + Send
        + Sync
        + 'static,
{
    let (mut total, mut batch) = (0_u64, Batch::first());
    loop {
        let (some, rows) = (some.clone(), batch.rows());
        let removed = store.write_sized(LOAD, move |db| {
            Box::pin(async move {
                let began = monotonic();
                let removed = some(db, rows).await?;
                Ok::<_, StoreError>((removed, since(began)))
            })
        });
        let (removed, took) = removed.await?;
        total = total.saturating_add(removed);
        if removed < rows.unsigned_abs() {
            return Ok(total);
        }
        batch.adapt(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many rows each batch has, where a batch takes so long by itself, and each row so long besides.
    fn rows(batch_us: u64, row_us: u64) -> Vec<i64> {
        let mut batch = Batch::first();
        let next = || {
            let rows = batch.rows();
            batch.adapt(Duration::from_micros(batch_us + row_us * rows.unsigned_abs()));
            rows
        };
        std::iter::repeat_with(next).take(12).collect()
    }

    #[test]
    fn batches_are_as_large_as_their_rows_are_small() {
        assert!(rows(100, 1).ends_with(&[ROWS_MAX; 6]), "small ones");
        let large = rows(100, 2_000);
        assert!(large.iter().skip(1).all(|rows| *rows == ROWS_MIN), "{large:?}");
        let middling = rows(100, 100);
        assert!(middling.iter().skip(4).all(|rows| *rows == 64), "{middling:?}");
    }

    #[test]
    fn what_takes_long_to_find_is_looked_for_seldom() {
        let found = rows(1_000_000, 10);
        assert!(found.ends_with(&[ROWS_MAX; 6]), "{found:?}");
    }
}
