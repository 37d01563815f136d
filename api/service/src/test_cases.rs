//! Tests of patterns: cases that people keep with a pattern, run against its graph and compared with what is expected.
//! Knows nothing about HTTP.

mod case;
mod difference;
mod making;
mod naming;
mod path;
mod running;
mod verdict;

pub use case::{CASE_BYTES_MAX, Case, CaseChanges, Expectation};
pub use difference::{Difference, DifferenceKind};
pub(crate) use difference::{Differences, value_of};
pub use making::{Made, Unpinned, UnpinnedReason, from_event, from_run};
pub(crate) use path::Path;
pub use running::{CaseError, CaseResult, Subject, Tally, require, run};
pub use verdict::{Compared, Verdict, compare};

use crate::Service;
use crate::patterns::changeable;
use case::{ALL_BYTES_MAX, TESTS_MAX, too_large};
use heddle_compiler::text;
use heddle_execution::blocking::{computing, computing_if_large};
use heddle_model::access::{Editor, Scope};
use heddle_model::audit::{Action, Object};
use heddle_model::clock::Timestamp;
use heddle_model::error::{Code, ServiceError};
use heddle_model::ids::{PatternId, TestId, UserId};
use heddle_model::quota::{Quota, Quotas};
use heddle_store::audit;
use heddle_store::patterns::{self, PatternRow};
use heddle_store::quota::{self, Payer};
use heddle_store::test_cases::{self, NewTest, Taken, TestRow, WholeTestRow};
use heddle_store::{Db, Load, StoreError};
use serde_json::value::RawValue;
use std::sync::Arc;

/// How often a test is read again that others have changed since it was read.
const CHANGES_MAX: usize = 8;

/// A test with its case.
#[derive(Clone, Debug)]
pub struct Test {
    pub row: TestRow,
    /// What it runs with, and what is expected.
    pub case: Case,
}

impl Test {
    fn stored(whole: WholeTestRow) -> Result<Test, StoreError> {
        let case = serde_json::from_str(&whole.content).map_err(|_| StoreError::Corrupt {
            table: "pattern_tests",
            column: "content",
            row: whole.row.id.to_string(),
        })?;
        Ok(Test { row: whole.row, case })
    }

    /// Reads a stored test for a user: if it is large, where no other request waits for it.
    async fn read(user: UserId, whole: WholeTestRow) -> Result<Test, ServiceError> {
        let bytes = whole.content.len();
        Ok(computing_if_large(Some(user), bytes, move || Test::stored(whole)).await??)
    }

    fn new(id: TestId, case: Case, now: Timestamp) -> Test {
        let row = TestRow {
            id,
            name: case.name.clone(),
            created_at: now,
            updated_at: now,
            last_status: None,
            last_at: None,
            last_version: None,
        };
        Test { row, case }
    }
}

/// The pattern, if its tests are the caller's to see: those of somebody else's public one are not.
pub async fn visible(db: &mut Db<'_>, scope: &Scope, pattern: PatternId) -> Result<PatternRow, ServiceError> {
    Ok(patterns::visible(db, scope, pattern)
        .await?
        .ok_or(Code::NotFound)?)
}

/// The tests of a pattern, the oldest first.
pub async fn list(
    service: &Service,
    scope: &Scope,
    pattern: PatternId,
) -> Result<Vec<TestRow>, ServiceError> {
    let mut reader = service.store.reader().await?;
    visible(&mut reader.db(), scope, pattern).await?;
    Ok(test_cases::list(&mut reader.db(), scope, pattern).await?)
}

/// A test of a pattern.
pub async fn get(
    service: &Service,
    scope: &Scope,
    (pattern, test): (PatternId, TestId),
) -> Result<Test, ServiceError> {
    let mut reader = service.store.reader().await?;
    let found = test_cases::find(&mut reader.db(), scope, pattern, test).await?;
    drop(reader);
    Test::read(scope.user(), found.ok_or(Code::NotFound)?).await
}

/// All tests of a pattern with their cases, for copies of it.
pub async fn all(service: &Service, scope: &Scope, pattern: PatternId) -> Result<Vec<Case>, ServiceError> {
    let mut cases = Vec::new();
    let rows = test_cases::list(&mut service.store.reader().await?.db(), scope, pattern).await?;
    for row in rows {
        let found = test_cases::find(&mut service.store.reader().await?.db(), scope, pattern, row.id).await?;
        // One may have been removed meanwhile.
        if let Some(found) = found {
            cases.push(Test::read(scope.user(), found).await?.case);
        }
    }
    Ok(cases)
}

/// Adds a test to a pattern.
pub async fn add(
    service: &Service,
    editor: Editor,
    pattern: PatternId,
    mut case: Case,
) -> Result<Test, ServiceError> {
    let now = service.clock.now();
    case.started_at.get_or_insert(now);
    let make = move || Ok::<_, ServiceError>((new_test(TestId::new(), &case)?, case));
    let (new, case) = computing(Some(editor.user()), make).await??;
    let (id, quotas) = (new.id, service.quotas);
    let load = Load::of(Some(editor.user()), new.content.len());
    let write = service.store.write_sized(load, move |db| {
        Box::pin(async move {
            let row = changeable(db, &editor, pattern).await?;
            test_cases::insert(db, pattern, &new, now).await?;
            audit::note(db, &editor, Action::TestAdded.of(Object::Test(new.id))).await?;
            allowed(db, &quotas, &row).await
        })
    });
    write.await?;
    Ok(Test::new(id, case, now))
}

/// Changes a test of a pattern.
pub async fn change(
    service: &Service,
    editor: Editor,
    (pattern, id): (PatternId, TestId),
    changes: CaseChanges,
) -> Result<Test, ServiceError> {
    let (now, quotas) = (service.clock.now(), service.quotas);
    let changes = Arc::new(changes);
    // It is read, changed and written as text outside of the transaction, for which others wait.
    for _ in 0..CHANGES_MAX {
        let mut reader = service.store.reader().await?;
        changeable(&mut reader.db(), &editor, pattern).await?;
        let found = test_cases::find(&mut reader.db(), &editor, pattern, id).await?;
        drop(reader);
        let found = found.ok_or(Code::NotFound)?;
        let (before, changes) = (found.content.clone(), changes.clone());
        let make = move || {
            let mut test = Test::stored(found)?;
            test.case.change((*changes).clone());
            Ok::<_, ServiceError>((new_test(id, &test.case)?, test))
        };
        let (new, test) = computing(Some(editor.user()), make).await??;
        let load = Load::of(Some(editor.user()), new.content.len());
        let write = service.store.write_sized(load, move |db| {
            Box::pin(async move {
                let row = changeable(db, &editor, pattern).await?;
                if !test_cases::update(db, &editor, pattern, (before.as_str(), &new), now).await? {
                    return Ok(false);
                }
                audit::note(db, &editor, Action::TestChanged.of(Object::Test(id))).await?;
                allowed(db, &quotas, &row).await?;
                Ok::<_, ServiceError>(true)
            })
        });
        if write.await? {
            let mut changed = Test::new(id, test.case, now);
            changed.row.created_at = test.row.created_at;
            return Ok(changed);
        }
    }
    let message = "Others are changing this test at the moment: try again shortly.";
    Err(Code::Unavailable.with(message).retry_after_s(1))
}

/// Removes a test of a pattern. 404 if there is none.
pub async fn remove(
    service: &Service,
    editor: Editor,
    (pattern, id): (PatternId, TestId),
) -> Result<(), ServiceError> {
    let write = service.store.write(move |db| {
        Box::pin(async move {
            changeable(db, &editor, pattern).await?;
            audit::note(db, &editor, Action::TestDeleted.of(Object::Test(id))).await?;
            match test_cases::remove(db, &editor, pattern, id).await? {
                true => Ok(()),
                false => Err(Code::NotFound.into()),
            }
        })
    });
    write.await
}

/// The cases of a list as text, as far as they are few and small enough to be read: their values take many times that.
pub fn unread(list: &RawValue) -> Result<Vec<&RawValue>, ServiceError> {
    let count_max = usize::try_from(TESTS_MAX).unwrap_or(usize::MAX);
    let cases = text::elements(Some(list), count_max).map_err(|_| too_many())?;
    match cases.iter().find(|case| case.get().len() > CASE_BYTES_MAX) {
        Some(case) => Err(too_large(case.get().len())),
        None => Ok(cases),
    }
}

/// Cases ready to be stored with a new pattern. Environments are its workspace's, so none is named in a copy.
///
/// Each one is taken when those before it are known to be within the limits, and only its text is kept. One that names no
/// time to run at runs at this one from now on, so that its result does not change with the calendar.
pub fn copies<E: From<ServiceError>>(
    cases: impl IntoIterator<Item = Result<Case, E>>,
    now: Timestamp,
) -> Result<Vec<NewTest>, E> {
    let mut tests = Vec::new();
    let mut taken = Taken { count: 0, bytes: 0 };
    for case in cases {
        let mut case = case?;
        case.environment_id = None;
        case.started_at.get_or_insert(now);
        let test = new_test(TestId::new(), &case)?;
        taken.count += 1;
        taken.bytes += test.stored_bytes();
        within_limits(taken)?;
        tests.push(test);
    }
    Ok(tests)
}

fn new_test(id: TestId, case: &Case) -> Result<NewTest, ServiceError> {
    Ok(NewTest {
        id,
        name: case.name.clone(),
        content: case.checked()?,
    })
}

/// Checks what a pattern's tests take after a change, within its transaction.
async fn allowed(db: &mut Db<'_>, quotas: &Quotas, pattern: &PatternRow) -> Result<(), ServiceError> {
    within_limits(test_cases::taken(db, pattern.id).await?)?;
    let payer = Payer::User(pattern.owner_id);
    quota::check(db, quotas, &[(payer, &[Quota::PatternBytes])]).await?;
    Ok(())
}

fn within_limits(taken: Taken) -> Result<(), ServiceError> {
    if taken.count > TESTS_MAX {
        return Err(too_many());
    }
    if taken.bytes > ALL_BYTES_MAX {
        let message = format!(
            "The pattern's tests would have more than {ALL_BYTES_MAX} bytes together, which is the limit: make events and \
             pins smaller."
        );
        return Err(Code::QuotaExceeded.with(message));
    }
    Ok(())
}

fn too_many() -> ServiceError {
    let message =
        format!("A pattern can have at most {TESTS_MAX} tests: delete one that is no longer needed.");
    Code::QuotaExceeded.with(message)
}
