//! How long does a list of 10,000 patterns take, on both databases?
//!
//! `cargo bench -p heddle --bench patterns` prints one table: a page, its total included, as the store gives it, and
//! as a client sees it over HTTP. PostgreSQL is measured when HEDDLE_TEST_POSTGRES names a server (a URL of a user
//! who may create databases). Figures are kept in `benches/README.md`.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures time")]
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark stops at the first surprise and prints"
)]

use heddle_api::app::App;
use heddle_model::access::{Editor, Role, Scope, WorkspaceRole};
use heddle_model::audit::Origin;
use heddle_model::clock::{Clock, Timestamp};
use heddle_model::ids::{PatternId, UserId, WorkspaceId};
use heddle_store::accounts::{self, UserRow};
use heddle_store::large_texts::Text;
use heddle_store::patterns::{self, Filter, Order, PatternRow, Sort, Tags};
use heddle_store::versions::{self, NewVersion, Part};
use heddle_store::{Start, Store, StoreError};
use std::future::Future;
use std::time::{Duration, Instant};

#[path = "patterns/database.rs"]
mod database;

const PATTERNS: i64 = 10_000;
/// How often each row of the table is measured.
const TIMES: usize = 200;

#[tokio::main]
async fn main() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let files = tempfile::tempdir().unwrap();
    println!(
        "{:<52} {:>9} {:>9} {:>9}",
        format!("of {PATTERNS} patterns"),
        "p50",
        "p99",
        "min"
    );
    let store = Store::open_sqlite(&files.path().join("heddle.db")).await.unwrap();
    measure("SQLite", store, files.path()).await;
    match std::env::var("HEDDLE_TEST_POSTGRES") {
        Ok(server) => {
            let database = database::Scratch::create(&server).await;
            let store = Store::open_postgres(&database.url).await.unwrap();
            measure("PostgreSQL", store, files.path()).await;
            database.drop().await;
        }
        Err(_) => println!("HEDDLE_TEST_POSTGRES names no server: PostgreSQL is left out"),
    }
}

async fn measure(name: &str, store: Store, files: &std::path::Path) {
    let (scope, email) = fill(&store).await;
    database::settle(&store).await;
    let app = App::new(database::config(files), store, Clock::System);
    let membership = scope.workspace().map(|workspace| (workspace, scope.role()));
    let login = app.tokens.begin(0);
    let token = app
        .tokens
        .issue(scope.user(), &email, Role::User, membership, &login)
        .unwrap();
    let address = database::serve(&app).await;
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    for (what, query, filter) in cases() {
        let (app, filter) = (&app, &filter);
        let stored = times(async || {
            let mut reader = app.store.reader().await.unwrap();
            let (page, total) = patterns::list(&mut reader.db(), &scope, filter).await.unwrap();
            assert!(!page.is_empty() && total > 0);
        });
        row(&format!("{name}: {what}"), stored.await);
        let url = format!("http://{address}/api/patterns{query}");
        let served = times(async || {
            let reply = client.get(&url).bearer_auth(&token).send().await.unwrap();
            assert_eq!(reply.status(), 200);
            reply.bytes().await.unwrap();
        });
        row(&format!("{name}: {what}, over HTTP"), served.await);
    }
}

fn cases() -> Vec<(&'static str, &'static str, Filter)> {
    let all = Filter {
        is_of_workspace: false,
        search: None,
        is_public: None,
        is_template: None,
        tags: Vec::new(),
        order: Order {
            by: Sort::CreatedAt,
            is_descending: true,
        },
        limit: 20,
        start: Start::Offset(0),
    };
    let by_name = Order {
        by: Sort::Name,
        is_descending: false,
    };
    let search = Filter {
        search: Some("ORDER 99".to_owned()),
        ..all.clone()
    };
    let tagged = Filter {
        tags: vec!["tag 3".to_owned()],
        ..all.clone()
    };
    let named = Filter {
        order: by_name,
        ..all.clone()
    };
    let deep = Filter {
        start: Start::Offset(PATTERNS - 20),
        ..all.clone()
    };
    vec![
        ("the newest 20", "", all),
        ("20 by name", "?sortBy=name", named),
        ("the last 20", "?offset=9980", deep),
        ("a search that finds 111", "?search=ORDER%2099", search),
        ("with a tag that 1,000 have", "?tags=tag%203", tagged),
    ]
}

/// A user with all the patterns, beside another one with as many.
async fn fill(store: &Store) -> (Scope, String) {
    let mut last = None;
    for number in 0..2 {
        let user = UserRow {
            id: UserId::new(),
            email: format!("user{number}@example.com"),
            first_name: "Ann".to_owned(),
            last_name: "Lee".to_owned(),
            role: Role::User,
            password_hash: None,
            avatar_url: None,
            created_at: Timestamp::from_millis(0),
            email_verified: false,
            generation: 0,
            is_disabled: false,
        };
        let row = user.clone();
        let created = store.write(move |db| Box::pin(async move { accounts::create(db, &row).await }));
        let workspace: WorkspaceId = created.await.unwrap();
        let origin = Origin {
            at: Timestamp::from_millis(0),
            address: None,
            api_key: None,
        };
        let scope = Scope::checked(user.id, Some((workspace, WorkspaceRole::Owner)), origin);
        let editor: Editor = scope.editor().unwrap();
        let filled: Result<(), StoreError> = store
            .write(move |db| {
                Box::pin(async move {
                    for number in 0..PATTERNS {
                        let row = pattern(&scope, number);
                        patterns::insert(db, &editor, &row).await?;
                        let graph = format!(r#"{{"nodes":[],"edges":[],"note":"{}"}}"#, "x".repeat(2_000));
                        let graph = Text::whole(&graph.into());
                        let version = NewVersion {
                            by: scope.user(),
                            summary: "created",
                            graph: Part::New(&graph),
                            definitions: Part::New(None),
                        };
                        versions::add(db, &row, &version).await?;
                    }
                    Ok(())
                })
            })
            .await;
        filled.unwrap();
        last = Some((scope, user.email));
    }
    last.unwrap()
}

fn pattern(scope: &Scope, number: i64) -> PatternRow {
    let time = Timestamp::from_millis(number * 1_000);
    PatternRow {
        id: PatternId::new(),
        owner_id: scope.user(),
        workspace_id: scope.workspace(),
        name: format!("Order {number} of the customers of the north"),
        description: "Takes the order, checks it, and tells those who must know. ".repeat(5),
        is_public: number % 7 == 0,
        is_template: number % 11 == 0,
        tags: Tags(vec![format!("tag {}", number % 10), "all".to_owned()]),
        version_number: 1,
        created_at: time,
        updated_at: time,
        call_interface: None,
    }
}

async fn times<F: Future<Output = ()>>(work: impl Fn() -> F) -> Vec<Duration> {
    let mut times = Vec::with_capacity(TIMES);
    for _ in 0..TIMES / 10 {
        work().await;
    }
    for _ in 0..TIMES {
        let begun = Instant::now();
        work().await;
        times.push(begun.elapsed());
    }
    times.sort_unstable();
    times
}

fn row(what: &str, times: Vec<Duration>) {
    let shown = |time: Duration| format!("{:.2} ms", time.as_secs_f64() * 1e3);
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    println!(
        "{what:<52} {:>9} {:>9} {:>9}",
        shown(p50),
        shown(p99),
        shown(times[0])
    );
}
