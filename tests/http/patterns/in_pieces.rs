//! Large graphs and definitions: SQLite has them in pieces beside their rows, of which nobody notices anything.

use super::{get, pattern, save};
use crate::harness::{Database, Reply, Service, User, each_database, until};
use heddle_model::quota::Quota;
use heddle_store::{StoreError, sql};
use serde_json::{Value, json};
use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;

/// Bytes of a piece.
const PIECE: usize = 128 << 10;

/// A graph of so many bytes and some more, with characters of one to four bytes.
fn large(bytes: usize, name: &str) -> Value {
    let text = "aä€𝄞".repeat(1_000);
    let nodes = (0..=bytes / text.len()).map(
        |index| json!({"id": format!("{name}{index}"), "type": "NoOp", "data": {"parameters": {"text": text}}}),
    );
    json!({"nodes": nodes.collect::<Vec<_>>(), "edges": []})
}

/// Definitions of so many bytes and some more.
fn definitions(bytes: usize) -> Value {
    json!({"Own": {"kind": "javascript", "code": "aä€𝄞".repeat(bytes / 10 + 1)}})
}

fn nodes(graph: &Value) -> usize {
    graph["nodes"].as_array().unwrap().len()
}

async fn put(service: &Service, user: &User, path: &str, body: &Value) -> Reply {
    service.put(path).bearer(&user.token).json(body).send().await
}

async fn number(service: &Service, query: &'static str) -> i64 {
    let mut reader = service.app.store.reader().await.unwrap();
    let (number,): (i64,) = reader.db().one(sql(query)).await.unwrap();
    number
}

/// How many texts are in pieces.
async fn texts(service: &Service) -> i64 {
    number(service, "select count(distinct row_id) from text_pieces").await
}

/// Whether so many texts are in pieces, in a database that has any.
async fn assert_texts(service: &Service, expected: i64) {
    if let Database::Sqlite = service.database() {
        assert_eq!(texts(service).await, expected);
    }
}

async fn change(service: &Service, statement: &'static str) {
    let changed: Result<u64, StoreError> = service
        .app
        .store
        .write(move |db| Box::pin(async move { db.execute(sql(statement)).await }))
        .await;
    changed.unwrap();
}

/// That an answer has this graph and these definitions, which it would take long to print.
fn assert_content(reply: &Reply, graph: &Value, definitions: &Value) {
    assert_eq!(reply.status, 200, "{}", reply.code());
    assert!(reply.body["graphData"] == *graph, "another graph");
    assert!(reply.body["nodeDefinitions"] == *definitions, "other definitions");
}

each_database! {
    async fn they_are_whole_wherever_they_are_read(service: Service) {
        let ann = service.user("ann").await;
        let (first, second, own) = (large(2 << 20, "a"), large(3 << 20, "b"), definitions(1 << 20));
        let id = pattern(&service, &ann, json!({"name": "Orders", "graphData": first, "nodeDefinitions": own})).await;
        let path = format!("/api/patterns/{id}");
        assert_content(&get(&service, &ann, &path).await, &first, &own);
        assert_texts(&service, 2).await;
        assert_eq!(save(&service, &ann, &id, json!({"graphData": second, "nodeDefinitions": own})).await, 2);
        // Of the same definitions there is one text, and of a graph that stays as it is.
        assert_texts(&service, 3).await;
        assert_eq!(save(&service, &ann, &id, json!({"name": "Bills"})).await, 3);
        let back = service.post(&format!("{path}/rollback")).bearer(&ann.token).json(&json!({"versionNumber": 1})).send().await;
        assert_eq!(back.status, 200, "{}", back.code());
        assert_texts(&service, 3).await;
        for (version, graph) in [(1, &first), (2, &second), (3, &second), (4, &first)] {
            assert_content(&get(&service, &ann, &format!("{path}/versions/{version}")).await, graph, &own);
        }
        let compared = get(&service, &ann, &format!("{path}/versions/compare?v1=1&v2=3")).await;
        assert_eq!(compared.body["changes"], json!({
            "nodesAdded": nodes(&second), "nodesRemoved": nodes(&first), "nodesChanged": 0, "edgesAdded": 0, "edgesRemoved": 0,
        }), "{}", compared.code());
        let listed = get(&service, &ann, &format!("{path}/versions")).await;
        assert_eq!(listed.body[0]["summary"], "restored version 1");

        let exported = get(&service, &ann, &format!("{path}/export")).await;
        assert_content(&exported, &first, &own);
        let mut copies = Vec::new();
        for (made_by, body) in [("/api/patterns/import".to_owned(), &exported.body), (format!("{path}/clone"), &json!({}))] {
            let copy = service.post(&made_by).bearer(&ann.token).json(body).send().await;
            assert_eq!(copy.status, 201, "{made_by}: {}", copy.code());
            let copy = format!("/api/patterns/{}", copy.body["id"].as_str().unwrap());
            assert_content(&get(&service, &ann, &copy).await, &first, &own);
            copies.push(copy);
        }
        assert_texts(&service, 7).await;
        if let Database::Sqlite = service.database() {
            assert_eq!(number(&service, "select max(octet_length(graph)) from pattern_versions").await, 49);
            assert_eq!(number(&service, "select max(octet_length(definitions)) from pattern_definitions").await, 49);
            let most = number(&service, "select max(octet_length(text)) from text_pieces").await;
            assert!(usize::try_from(most).unwrap() <= PIECE, "{most}");
        }
        for (gone, left) in copies.into_iter().chain([path]).zip([5, 3, 0]) {
            assert_eq!(service.delete(&gone).bearer(&ann.token).send().await.status, 204);
            assert_texts(&service, left).await;
        }
    }

    async fn what_is_searched_in_them_is_found_also_between_two_pieces(service: Service) {
        let ann = service.user("ann").await;
        let connection = json!({"provider": "shop", "apiKey": "x"});
        let made = service.post("/api/connections/api-key").bearer(&ann.token).json(&connection).send().await;
        assert_eq!(made.status, 201, "{made}");
        let shop = made.body["id"].as_str().unwrap();
        let before = r#"{"nodes":[{"id":"ask","type":"HttpRequest","note":""#;
        let more = "x".repeat(2 * PIECE);
        let after = format!(r#"","data":{{"parameters":{{"connection":"{shop}"}}}}}}],"edges":[],"more":"{more}"}}"#);
        let name = after.find(r#""connection""#).unwrap();
        let note = "x".repeat(PIECE - 6 - before.len() - name);
        let body = format!(r#"{{"graphData":{before}{note}{after}}}"#);
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        let request = service.put(&format!("/api/patterns/{id}")).bearer(&ann.token).header("content-type", "application/json");
        let saved = request.body(body).send().await;
        assert_eq!(saved.status, 200, "{}", saved.code());
        assert_texts(&service, 1).await;
        let uses = get(&service, &ann, &format!("/api/connections/{shop}/uses")).await;
        assert_eq!(uses.body["uses"][0]["patternId"], json!(id), "{uses}");
        assert_eq!(uses.body["uses"][0]["nodes"][0]["reference"], shop, "{uses}");
    }

    async fn drafts_take_the_place_of_others_with_all_of_their_pieces(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
        let (path, own) = (format!("/api/patterns/{id}/draft"), definitions(1 << 20));
        let (first, second, small) = (large(2 << 20, "a"), large(2 << 20, "b"), json!({"nodes": [], "edges": []}));
        for (graph, definitions, left) in [
            (&first, &own, 2), (&second, &json!({}), 1), (&small, &own, 1), (&small, &json!({}), 0), (&second, &own, 2),
        ] {
            let body = json!({"baseVersion": 1, "graphData": graph, "nodeDefinitions": definitions});
            let stored = put(&service, &ann, &path, &body).await;
            assert_eq!(stored.status, 200, "{}", stored.code());
            assert_content(&get(&service, &ann, &path).await, graph, definitions);
            assert_texts(&service, left).await;
        }
        let refused = service.put(&path).bearer(&ann.token).header("if-none-match", "*")
            .json(&json!({"baseVersion": 1, "graphData": first})).send().await;
        refused.assert_refused(409, "CONFLICT");
        assert_texts(&service, 2).await;
        // It is a version then.
        save(&service, &ann, &id, json!({"graphData": second})).await;
        get(&service, &ann, &path).await.assert_refused(404, "NOT_FOUND");
        assert_texts(&service, 1).await;
        put(&service, &ann, &path, &json!({"baseVersion": 2, "graphData": first})).await;
        assert_texts(&service, 2).await;
        assert_eq!(service.delete(&path).bearer(&ann.token).send().await.status, 204);
        assert_texts(&service, 1).await;
    }
}

async fn counted(database: Database) {
    let service = Service::with(database, |config| {
        config.quotas.set(Quota::PatternBytes, 3_000_000)
    })
    .await;
    let ann = service.user("ann").await;
    let (graph, own) = (large(2_000_000, "a"), definitions(2_000_000));
    let body = json!({"name": "Orders", "graphData": graph});
    let first = pattern(&service, &ann, body.clone()).await;
    assert_texts(&service, 1).await;
    let create = async || {
        let made = service.post("/api/patterns").bearer(&ann.token).json(&body);
        made.send().await
    };
    create().await.assert_refused(403, "QUOTA_EXCEEDED");
    let path = format!("/api/patterns/{first}");
    for (path, body) in [
        (path.clone(), json!({"graphData": graph})),
        (path.clone(), json!({"nodeDefinitions": own})),
        (
            format!("{path}/draft"),
            json!({"baseVersion": 1, "graphData": graph}),
        ),
    ] {
        put(&service, &ann, &path, &body)
            .await
            .assert_refused(403, "QUOTA_EXCEEDED");
    }
    assert_texts(&service, 1).await;
    assert_eq!(service.delete(&path).bearer(&ann.token).send().await.status, 204);
    assert_texts(&service, 0).await;

    // All of it is there again. A draft's bytes are those of what takes its place, and the same definitions count once.
    let id = pattern(&service, &ann, json!({"name": "Bills"})).await;
    let path = format!("/api/patterns/{id}");
    for name in ["a", "b"] {
        let body = json!({"baseVersion": 1, "graphData": large(2_000_000, name)});
        let stored = put(&service, &ann, &format!("{path}/draft"), &body).await;
        assert_eq!(stored.status, 200, "{}", stored.code());
    }
    let body = json!({"nodeDefinitions": own});
    assert_eq!(save(&service, &ann, &id, body.clone()).await, 2);
    assert_eq!(save(&service, &ann, &id, body).await, 3);
    assert_texts(&service, 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn they_count_in_full_and_nothing_is_left_of_those_that_are_too_many() {
    counted(Database::Sqlite).await;
    counted(Database::Postgres).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_whose_rows_are_not_stored_nothing_is_left() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
    let (graph, own) = (large(1 << 20, "a"), definitions(1 << 20));
    let attempts = async || {
        let body = json!({"name": "Bills", "graphData": graph, "nodeDefinitions": own});
        let path = format!("/api/patterns/{id}");
        let draft = json!({"baseVersion": 1, "graphData": graph, "nodeDefinitions": own});
        [
            service
                .post("/api/patterns")
                .bearer(&ann.token)
                .json(&body)
                .send()
                .await,
            put(&service, &ann, &path, &body).await,
            put(&service, &ann, &format!("{path}/draft"), &draft).await,
        ]
    };
    for (refusing, no_longer) in [
        (
            "create trigger refuse before insert on text_pieces when new.number = 3 begin select raise(abort, 'refused'); end",
            "drop trigger refuse",
        ),
        (
            "create trigger refuse before insert on pattern_versions begin select raise(abort, 'refused'); end",
            "drop trigger refuse",
        ),
    ] {
        change(&service, refusing).await;
        let made = attempts().await;
        assert!(
            made[0].status >= 500 && made[1].status >= 500,
            "{} {}",
            made[0],
            made[1]
        );
        // What the trigger of versions does not refuse is a draft.
        let drafts = 2 * number(&service, "select count(*) from pattern_drafts").await;
        assert_eq!(texts(&service).await, drafts);
        change(&service, no_longer).await;
    }
    let made = attempts().await;
    assert_eq!(made.map(|reply| reply.status), [201, 200, 200]);
    // Of the draft of before nothing is left.
    assert_eq!(texts(&service).await, 6);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_those_whose_senders_go_away_nothing_is_left_without_a_row() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let body = json!({"name": "Orders", "graphData": large(400_000, "a")});
    let request = ("POST", "/api/patterns", Some(ann.token.as_str()));
    let stored = "select count(*) from pattern_versions where octet_length(graph) = 49";
    service
        .leave(request, &body, async || number(&service, stored).await > 0)
        .await;
    until(async || texts(&service).await == number(&service, stored).await).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_crash_has_left_of_them_goes_once_it_is_old() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let (graph, drawn, own) = (large(1 << 20, "a"), large(1 << 20, "b"), definitions(1 << 20));
    let body = json!({"name": "Orders", "graphData": graph, "nodeDefinitions": own});
    let id = pattern(&service, &ann, body).await;
    let path = format!("/api/patterns/{id}");
    let draft = json!({"baseVersion": 1, "graphData": drawn, "nodeDefinitions": own});
    put(&service, &ann, &format!("{path}/draft"), &draft).await;
    // As if they had been stored in November 2024.
    for statement in [
        "update text_pieces set row_id = '01932c07' || substr(row_id, 9)",
        "update pattern_versions set graph = substr(graph, 1, 13) || '01932c07' || substr(graph, 22)",
        "update pattern_definitions set definitions = substr(definitions, 1, 13) || '01932c07' || substr(definitions, 22)",
        "update pattern_drafts set graph = substr(graph, 1, 13) || '01932c07' || substr(graph, 22),
             definitions = substr(definitions, 1, 13) || '01932c07' || substr(definitions, 22)",
        // Those of no row: old ones, and those that may be about to have one.
        "insert into text_pieces (row_id, number, text) values ('01932c07-209e-7f64-b0a3-5c1f1b0e6f3a', 0, 'a'),
             ('01932c07-209e-7f64-b0a3-5c1f1b0e6f3a', 1, 'b'), ('ffffffff-ffff-7fff-bfff-ffffffffffff', 0, 'c')",
    ] {
        change(&service, statement).await;
    }
    assert_eq!(texts(&service).await, 6);
    service.app.executions.clear_away().await.unwrap();
    assert_eq!(texts(&service).await, 5);
    let old = "select count(*) from text_pieces where row_id = '01932c07-209e-7f64-b0a3-5c1f1b0e6f3a'";
    assert_eq!(number(&service, old).await, 0);
    assert_content(&get(&service, &ann, &path).await, &graph, &own);
    assert_content(&get(&service, &ann, &format!("{path}/draft")).await, &drawn, &own);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_in_its_row_of_before_is_read_copied_and_replaced() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
    // As earlier versions stored it.
    change(
        &service,
        r#"update pattern_versions set graph = '{"nodes":[],"edges":[],"note":"' || hex(zeroblob(200000)) || '"}'"#,
    )
    .await;
    let graph = json!({"nodes": [], "edges": [], "note": "0".repeat(400_000)});
    for (version, changes, in_pieces) in [
        (1, json!({"name": "Bills"}), 0),
        (2, json!({"graphData": graph}), 0),
        (3, json!({"name": "Orders"}), 1),
    ] {
        assert_eq!(texts(&service).await, in_pieces);
        let path = format!("/api/patterns/{id}/versions/{version}");
        assert_content(&get(&service, &ann, &path).await, &graph, &json!({}));
        assert_eq!(save(&service, &ann, &id, changes).await, version + 1);
    }
}

/// How many pages each transaction has in the log of an SQLite database. Source: SQLite, "Database File Format", section 4.
fn transactions(log: &[u8]) -> Vec<usize> {
    let number = |bytes: &[u8]| u32::from_be_bytes(bytes.try_into().unwrap());
    let (page_bytes, salts) = (number(&log[8..12]) as usize, &log[16..24]);
    let (mut transactions, mut pages) = (Vec::new(), 0);
    for frame in log[32..].chunks_exact(24 + page_bytes) {
        // What is left of an earlier log has other salts.
        if frame[8..16] != *salts {
            break;
        }
        pages += 1;
        if number(&frame[4..8]) > 0 {
            transactions.push(pages);
            pages = 0;
        }
    }
    transactions
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_transaction_has_more_than_a_piece_of_them() {
    let service = Service::start(Database::Sqlite).await;
    let ann = service.user("ann").await;
    let id = pattern(&service, &ann, json!({"name": "Orders"})).await;
    let file = service.app.config.data_dir.join("heddle.db");
    // While somebody reads what there was before, the log does not begin anew.
    let mut reader = SqliteConnectOptions::new()
        .filename(&file)
        .connect()
        .await
        .unwrap();
    for statement in ["begin", "select count(*) from patterns"] {
        sqlx::query(statement).execute(&mut reader).await.unwrap();
    }
    let (graph, own) = (large(3 << 20, "a"), definitions(2 << 20));
    save(
        &service,
        &ann,
        &id,
        json!({"graphData": graph, "nodeDefinitions": own}),
    )
    .await;
    let draft = json!({"baseVersion": 2, "graphData": graph});
    let stored = put(&service, &ann, &format!("/api/patterns/{id}/draft"), &draft).await;
    assert_eq!(stored.status, 200, "{}", stored.code());
    save(&service, &ann, &id, json!({"name": "Bills"})).await;
    let transactions = transactions(&std::fs::read(file.with_extension("db-wal")).unwrap());
    let all: usize = transactions.iter().sum();
    assert!(all > (7 << 20) / 4096, "{transactions:?}");
    // A piece, and pages of tables, indexes and lists of pages.
    assert!(transactions.iter().all(|pages| *pages < 64), "{transactions:?}");
}
