//! What users look up has a limit of time.

use super::*;
use crate::asking::{asked_by, of_request};
use heddle_model::ids::UserId;

/// Counts without end.
const ENDLESS: &str =
    "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n";

#[tokio::test(flavor = "multi_thread")]
async fn what_a_user_asks_for_ends_in_time_and_the_connection_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let limit = Duration::from_millis(200);
    let store = Store::open_sqlite_with(&dir.path().join("heddle.db"), limit)
        .await
        .unwrap();
    for _ in 0..2 * USER_READERS_MAX {
        let refused = of_request(async {
            asked_by(UserId::new());
            let mut reader = store.reader().await.unwrap();
            reader.db().one::<(i64,)>(sql(ENDLESS)).await
        });
        assert!(matches!(refused.await, Err(StoreError::TooLong(_))));
    }
    let answered = of_request(async {
        asked_by(UserId::new());
        store.ping().await
    });
    answered.await.unwrap();
}
