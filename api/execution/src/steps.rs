//! Work in many steps, of which each goes on after another's failure or panic: what can't be done for one deployment or tenant is
//! done for all others.

use heddle_model::Code;
use heddle_model::error::{ServiceError, chain};
use heddle_store::panics::unless_it_panics;
use std::fmt::Display;

/// So many steps in a row that find no database are the last ones: each of thousands would wait for it.
const UNAVAILABLE_MAX: u32 = 10;

/// Steps that are taken one after the other.
#[derive(Default)]
pub(crate) struct Steps {
    first_failure: Option<ServiceError>,
    /// How many have found no database since one did.
    unavailable: u32,
}

impl Steps {
    /// Takes a step, whose failure or panic is logged with its name; what it gives, if it has come to its end. Nothing is done once too many
    /// have found no database.
    pub async fn take<T, E: Into<ServiceError>>(
        &mut self,
        name: impl Display,
        step: impl Future<Output = Result<T, E>>,
    ) -> Option<T> {
        if self.unavailable >= UNAVAILABLE_MAX {
            return None;
        }
        let error = match unless_it_panics(Box::pin(step)).await {
            Some(Ok(given)) => {
                self.unavailable = 0;
                return Some(given);
            }
            Some(Err(error)) => error.into(),
            None => Code::Internal.with("it panicked, as was logged"),
        };
        tracing::error!("Clearing away failed at {name}: {}", chain(&error));
        self.unavailable = match error.code() {
            Code::Unavailable => self.unavailable.saturating_add(1),
            _ => 0,
        };
        self.first_failure.get_or_insert(error);
        None
    }

    /// The first failure, if there was one.
    pub fn result(self) -> Result<(), ServiceError> {
        self.first_failure.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn failing(code: Code) -> Result<(), ServiceError> {
        Err(code.into())
    }

    #[tokio::test]
    async fn steps_go_on_after_failures_and_panics_and_tell_of_the_first() {
        let mut steps = Steps::default();
        assert!(steps.take("one", failing(Code::Conflict)).await.is_none());
        let panicking = async {
            assert!(std::hint::black_box(false), "as by a mistake");
            Ok::<_, ServiceError>(())
        };
        assert!(steps.take("two", panicking).await.is_none());
        let three = steps.take("three", async { Ok::<_, ServiceError>(3) }).await;
        assert_eq!(three, Some(3));
        assert_eq!(steps.result().unwrap_err().code(), Code::Conflict);
        assert!(Steps::default().result().is_ok());
    }

    #[tokio::test]
    async fn without_a_database_most_are_not_tried() {
        let mut steps = Steps::default();
        let done = async || Ok::<_, ServiceError>(());
        for _ in 1..UNAVAILABLE_MAX {
            steps.take("one", failing(Code::Unavailable)).await;
        }
        assert!(steps.take("two", done()).await.is_some(), "it is back");
        for _ in 0..UNAVAILABLE_MAX {
            steps.take("three", failing(Code::Unavailable)).await;
        }
        assert!(steps.take("four", done()).await.is_none());
    }
}
