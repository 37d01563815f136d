//! Where requests and credentials may not go, in every spelling.

use crate::harness::{START, load, request, runtime};
use crate::server::{Server, ok};
use crate::services::{Given, closed_runtime, open_runtime, run};
use serde_json::{Value, json};

/// Every way to write an address that no run may reach. `PORT` is where a server listens that must hear of none.
const PRIVATE: &[&str] = &[
    "http://127.0.0.1:PORT/",
    "http://127.0.0.1.:PORT/",
    "http://127.1:PORT/",
    "http://127.0.1:PORT/",
    "http://2130706433:PORT/",
    "http://0x7f000001:PORT/",
    "http://0x7f.1:PORT/",
    "http://0x7f.0x0.0x0.0x1:PORT/",
    "http://0177.0.0.1:PORT/",
    "http://0177.0.0.01:PORT/",
    "http://017700000001:PORT/",
    "http://127.000.000.001:PORT/",
    "http://127.255.255.254:PORT/",
    "http://127.0.0.1%2e:PORT/",
    "http://%31%32%37.0.0.1:PORT/",
    "http://１２７.０.０.１:PORT/",
    "http://①②⑦.⓪.⓪.①:PORT/",
    "http://127。0。0。1:PORT/",
    "http://127．0．0．1:PORT/",
    "http://localhost:PORT/",
    "http://LOCALHOST:PORT/",
    "http://localhost.:PORT/",
    "http://ⓛocalhost:PORT/",
    "http://l%6fcalhost:PORT/",
    "http://0:PORT/",
    "http://0.0.0.0:PORT/",
    "http://0x0:PORT/",
    "http://00000:PORT/",
    "http://[::1]:PORT/",
    "http://[0:0:0:0:0:0:0:1]:PORT/",
    "http://[0000:0000:0000:0000:0000:0000:0000:0001]:PORT/",
    "http://[::]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "http://[::ffff:7f00:1]:PORT/",
    "http://[0:0:0:0:0:ffff:127.0.0.1]:PORT/",
    "http://[::FFFF:7F00:0001]:PORT/",
    "http://[::127.0.0.1]:PORT/",
    "http://[64:ff9b::7f00:1]:PORT/",
    "http://[64:ff9b::127.0.0.1]:PORT/",
    "http://[2002:7f00:1::]:PORT/",
    "http://[fe80::1]:PORT/",
    "http://[fec0::1]:PORT/",
    "http://[fd00:ec2::254]/latest/meta-data/",
    "http://[ff02::1]:PORT/",
    "http://user@127.0.0.1:PORT/",
    "http://user:password@127.0.0.1:PORT/",
    "http://example.com@127.0.0.1:PORT/",
    "http://example.com:80@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@example.com/",
    "http://127.0.0.1:PORT#@example.com/",
    "http://127.0.0.1:PORT?@example.com/",
    "http:\\\\127.0.0.1:PORT/",
    "http:127.0.0.1:PORT/",
    "http:////127.0.0.1:PORT/",
    " http://127.0.0.1:PORT/ ",
    "ht\ttp://127.0.0.1:PORT/",
    "http://127.0.0\n.1:PORT/",
    "HTTP://127.0.0.1:PORT/",
    "https://127.0.0.1:PORT/",
    "http://169.254.169.254/latest/meta-data/",
    "http://2852039166/latest/meta-data/",
    "http://0xA9FEA9FE/",
    "http://[::ffff:169.254.169.254]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://192.168.0.1/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://100.64.0.1/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "file:///etc/passwd",
    "file://127.0.0.1/etc/passwd",
    "ftp://127.0.0.1:PORT/",
    "gopher://127.0.0.1:PORT/",
    "dict://127.0.0.1:PORT/",
    "ws://127.0.0.1:PORT/",
    "data:text/plain,x",
];

/// CVE-2026-31818, CVE-2026-72855 (Budibase), GHSA-jp9j-jr97-w9pj (n8n): the address that is checked is not the one that is
/// connected to.
#[tokio::test]
async fn private_addresses_are_refused_however_they_are_written() {
    const HTTP: u32 = 8;
    let server = Server::start(|_| ok("inside")).await;
    let urls: Vec<String> = PRIVATE
        .iter()
        .map(|url| url.replace("PORT", &server.address.port().to_string()))
        .collect();
    let refusals = ["EGRESS_DENIED", "INVALID_URL", "HTTP_FAILED"];

    let sandbox = runtime();
    let program = load(&sandbox, START);
    for url in &urls {
        let http = json!({"method": "GET", "url": url, "headers": [], "followRedirects": true});
        let outcome = sandbox.run(&program, request(HTTP, &http)).await;
        let result: Value = serde_json::from_str(outcome.output.as_ref().unwrap().get()).unwrap();
        let code = result["error"]["code"].as_str().unwrap_or_default();
        assert!(refusals.contains(&code), "{url:?}: {result}");
    }

    let code = format!(
        "const urls = {};
        export default async () => {{
            const all = [];
            for (const url of urls) {{
                try {{ all.push((await fetch(url)).status); }} catch (error) {{ all.push(error.code ?? error.name); }}
            }}
            return all;
        }}",
        json!(urls)
    );
    let ran = run(
        &closed_runtime(),
        "JavaScript",
        json!({ "code": code }),
        &Given::default(),
    )
    .await;
    let found = ran.output();
    assert_eq!(found.as_array().map(Vec::len), Some(urls.len()));
    for (found, url) in found.as_array().unwrap().iter().zip(&urls) {
        let code = found.as_str().unwrap_or_default();
        assert!(
            refusals.contains(&code) || code == "TypeError",
            "{url:?}: {found}"
        );
    }
    assert_eq!(server.requests(), [""; 0], "nothing came through");
}

/// CVE-2026-25631: credentials that are for `*.example.com` are sent to a host whose name only looks like it.
#[tokio::test]
async fn credentials_for_some_hosts_go_to_no_other() {
    let server = Server::start(ok).await;
    let port = server.address.port();
    let runtime = open_runtime();
    for (hosts, url) in [
        (json!(["*.example.com"]), format!("http://127.0.0.1:{port}/")),
        (
            json!(["*.example.com"]),
            format!("http://api.example.com@127.0.0.1:{port}/"),
        ),
        (
            json!(["*.example.com"]),
            format!("http://127.0.0.1:{port}/?x=.example.com"),
        ),
        (
            json!(["*.example.com"]),
            format!("http://127.0.0.1:{port}/#.example.com"),
        ),
        (
            json!(["*.example.com"]),
            format!("http://127.0.0.1:{port}/.example.com"),
        ),
        (
            json!(["*.example.com"]),
            format!("http://127.0.0.1:{port}\\.example.com"),
        ),
        // The end of a name is no name below it.
        (json!(["*.7.0.0.1"]), format!("http://127.0.0.1:{port}/")),
        (json!(["*.0.0.127.0.0.1"]), format!("http://127.0.0.1:{port}/")),
        (json!(["27.0.0.1"]), format!("http://127.0.0.1:{port}/")),
        (
            json!(["127.0.0.1.example.com"]),
            format!("http://127.0.0.1:{port}/"),
        ),
        (json!(["127.0.0"]), format!("http://127.0.0.1:{port}/")),
        (json!(["127.0.0.1:80"]), format!("http://127.0.0.1:{port}/")),
    ] {
        let given = Given::one("shop", json!({"token": "k3y", "hosts": hosts}));
        let ran = run(
            &runtime,
            "HttpRequest",
            json!({"url": url, "connection": "shop"}),
            &given,
        )
        .await;
        let failure = ran.failure();
        assert!(failure.starts_with("NOT_PERMITTED: "), "{hosts} {url}: {failure}");
    }
    assert_eq!(server.requests(), [""; 0]);
}
