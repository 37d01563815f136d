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
    #[cfg(target_os = "linux")]
    assert_those_give_way();
    let answered = of_request(async {
        asked_by(UserId::new());
        store.ping().await
    });
    answered.await.unwrap();
}

/// Threads that have looked something up for users give way to all others; the writer's and the service's own don't.
#[cfg(target_os = "linux")]
fn assert_those_give_way() {
    let threads = |beginning: &str| -> Vec<i32> {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let tasks = tasks.map(|task| task.unwrap().path());
        let read = |path: std::path::PathBuf| std::fs::read_to_string(path).ok();
        let named =
            tasks.filter(|task| read(task.join("comm")).is_some_and(|name| name.starts_with(beginning)));
        // Threads of other tests may end meanwhile.
        named
            .filter_map(|task| read(task.join("stat")))
            .map(|stat| niceness(&stat))
            .collect()
    };
    let own = niceness(&std::fs::read_to_string("/proc/thread-self/stat").unwrap());
    let of_users = threads(USERS_THREADS);
    let least = i32::from(NICENESS_OF_USERS);
    assert!(of_users.iter().any(|niceness| *niceness >= least), "{of_users:?}");
    let others = threads("sqlx-sqlite");
    assert!(!others.is_empty());
    assert!(others.iter().all(|niceness| *niceness == own), "{others:?}");
}

/// The 19th field of what Linux says of a thread; the second is its name, which may have spaces.
#[cfg(target_os = "linux")]
fn niceness(stat: &str) -> i32 {
    let (_, after_name) = stat.rsplit_once(')').unwrap();
    after_name.split_whitespace().nth(16).unwrap().parse().unwrap()
}
