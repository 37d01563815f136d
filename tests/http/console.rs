//! The console is served with the headers that keep it safe, and by those servers that have it.

use crate::harness::{Database, Reply, Service};
use flate2::read::GzDecoder;
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;

fn header<'a>(reply: &'a Reply, name: &str) -> &'a str {
    reply
        .headers
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

/// The files that are checked in, by their addresses, with what is in them.
fn files() -> Vec<(String, Vec<u8>)> {
    let artifact = Path::new(env!("CARGO_MANIFEST_DIR")).join("../console/artifact");
    let entries = std::fs::read_dir(artifact)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let gzipped = entries.filter(|path| path.extension().is_some_and(|extension| extension == "gz"));
    let mut files = Vec::new();
    for path in gzipped {
        let mut content = Vec::new();
        let file = std::fs::File::open(&path).unwrap();
        GzDecoder::new(file).read_to_end(&mut content).unwrap();
        files.push((path.file_stem().unwrap().to_str().unwrap().to_owned(), content));
    }
    files
}

#[tokio::test]
async fn the_page_is_at_every_address_of_the_console_with_a_nonce_of_its_own() {
    let service = Service::start(Database::Sqlite).await;
    let (_, page) = files()
        .into_iter()
        .find(|(name, _)| name == "index.html")
        .unwrap();
    let page = String::from_utf8(page).unwrap();
    let mut nonces = BTreeSet::new();
    for path in [
        "/",
        "/?x=1",
        "/sign-in",
        "/register",
        "/w/some/patterns/1",
        "/w/x",
    ] {
        let reply = service.get(path).send().await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(header(&reply, "content-type"), "text/html; charset=utf-8");
        assert_eq!(header(&reply, "cache-control"), "no-store");
        assert_eq!(header(&reply, "x-content-type-options"), "nosniff");
        assert_eq!(header(&reply, "referrer-policy"), "same-origin");
        assert_eq!(header(&reply, "cross-origin-opener-policy"), "same-origin");
        let policy = header(&reply, "content-security-policy");
        let nonce = policy
            .split("'nonce-")
            .nth(1)
            .unwrap()
            .split('\'')
            .next()
            .unwrap();
        assert_eq!(nonce.len(), 24, "{policy}");
        assert_eq!(
            policy.replace(nonce, "…"),
            "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-…'; style-src-attr 'unsafe-inline'; \
             img-src 'self' data:; font-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
             form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
             trusted-types svelte-trusted-html heddle-worker"
        );
        assert_eq!(reply.text, page.replace("__NONCE__", nonce));
        assert!(
            nonces.insert(nonce.to_owned()),
            "{path} has a nonce that was there before"
        );
    }
    assert!(page.contains("__NONCE__"));
}

#[tokio::test]
async fn every_file_is_served_compressed_or_not_and_kept_for_a_year() {
    let service = Service::start(Database::Sqlite).await;
    for (name, content) in files().into_iter().filter(|(name, _)| name != "index.html") {
        let path = format!("/assets/{name}");
        for (accepted, is_compressed) in [("gzip, br", true), ("identity", false), ("gzip;q=0", false)] {
            let reply = service
                .get(&path)
                .header("accept-encoding", accepted)
                .bytes()
                .await;
            let (headers, body) = reply;
            let of = |name: &str| headers.get(name).map_or("", |value| value.to_str().unwrap());
            assert_eq!(
                of("cache-control"),
                "public, max-age=31536000, immutable",
                "{name}"
            );
            assert_eq!(of("vary"), "accept-encoding");
            assert_eq!(of("x-content-type-options"), "nosniff");
            assert!(of("content-security-policy").starts_with("default-src 'none';"));
            let kind = match name.rsplit('.').next().unwrap() {
                "js" => "text/javascript; charset=utf-8",
                "css" => "text/css; charset=utf-8",
                "svg" => "image/svg+xml",
                "woff2" => "font/woff2",
                other => panic!("{name}: which type has .{other}?"),
            };
            assert_eq!(of("content-type"), kind, "{name}");
            assert_eq!(
                of("content-encoding"),
                if is_compressed { "gzip" } else { "" },
                "{name}"
            );
            let body = match is_compressed {
                true => {
                    let mut inflated = Vec::new();
                    GzDecoder::new(&*body).read_to_end(&mut inflated).unwrap();
                    inflated
                }
                false => body,
            };
            assert_eq!(body, content, "{name}");
        }
    }
}

#[tokio::test]
async fn everything_else_stays_as_it_was() {
    let service = Service::start(Database::Sqlite).await;
    for path in [
        "/w",
        "/w/",
        "/index.html",
        "/assets/index.html",
        "/assets/none.js",
        "/assets/",
        "/patterns",
        "/api",
    ] {
        let reply = service.get(path).send().await;
        reply.assert_refused(404, "NOT_FOUND");
    }
    service
        .post("/")
        .send()
        .await
        .assert_refused(405, "METHOD_NOT_ALLOWED");
    let document = service.get("/api/openapi.json").send().await;
    assert!(document.body["paths"]["/"].is_null() && document.body["paths"]["/sign-in"].is_null());
}

#[tokio::test]
async fn servers_without_the_console_answer_as_before() {
    let service = Service::with(Database::Sqlite, |config| config.console = false).await;
    for path in ["/", "/sign-in", "/register", "/w/x", "/assets/x"] {
        service.get(path).send().await.assert_refused(404, "NOT_FOUND");
    }
}
