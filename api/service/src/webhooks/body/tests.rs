//! Bodies as their senders make them, and as nobody should.

use super::{BodyKind, raw, read};
use bytes::Bytes;
use serde_json::{Value, json};

/// From "multipart formposts" in the book "Everything curl": `curl -F person=anonymous -F secret=@file.txt`.
const CURL_TYPE: &str = "multipart/form-data; boundary=------------------------d74496d66958873e";
const CURL: &str = "--------------------------d74496d66958873e\r\n\
    Content-Disposition: form-data; name=\"person\"\r\n\r\n\
    anonymous\r\n\
    --------------------------d74496d66958873e\r\n\
    Content-Disposition: form-data; name=\"secret\"; filename=\"file.txt\"\r\n\
    Content-Type: text/plain\r\n\r\n\
    contents of the file\r\n\
    --------------------------d74496d66958873e--\r\n";

async fn value(kind: BodyKind, content_type: &str, body: &[u8]) -> Result<Value, String> {
    let body = Bytes::copy_from_slice(body);
    let read = read(kind, content_type, &body).await?;
    Ok(serde_json::from_str(read.get()).unwrap())
}

/// A multipart body with the boundary `b`, of parts as they are written.
fn parts(parts: &[&str]) -> String {
    let parts: String = parts.iter().map(|part| format!("--b\r\n{part}\r\n")).collect();
    format!("{parts}--b--\r\n")
}

async fn multipart(body: &str) -> Result<Value, String> {
    value(
        BodyKind::Multipart,
        "multipart/form-data; boundary=b",
        body.as_bytes(),
    )
    .await
}

#[tokio::test]
async fn a_repeated_field_is_an_array() {
    let form = b"name=Ann+B.&colour=red&colour=blue&tags%5B%5D=x&empty=&%C3%A9=%26";
    let expected = json!({"name": "Ann B.", "colour": ["red", "blue"], "tags[]": "x", "empty": "", "é": "&"});
    assert_eq!(value(BodyKind::Form, "", form).await, Ok(expected));
    let field = |value: &str| format!("Content-Disposition: form-data; name=\"n\"\r\n\r\n{value}");
    let body = parts(&[&field("1"), &field("2"), &field("3")]);
    assert_eq!(multipart(&body).await, Ok(json!({"n": ["1", "2", "3"]})));
}

#[tokio::test]
async fn curl_sends_fields_and_files() {
    let expected = json!({
        "person": "anonymous",
        "secret": {"filename": "file.txt", "contentType": "text/plain", "size": 20, "base64": "Y29udGVudHMgb2YgdGhlIGZpbGU="},
    });
    assert_eq!(
        value(BodyKind::Multipart, CURL_TYPE, CURL.as_bytes()).await,
        Ok(expected)
    );
}

#[tokio::test]
async fn an_input_in_which_no_file_was_chosen_is_null() {
    let body = "------WebKitFormBoundary7MA4YWxkTrZu0gW\r\n\
        Content-Disposition: form-data; name=\"photo\"; filename=\"\"\r\n\
        Content-Type: application/octet-stream\r\n\r\n\r\n\
        ------WebKitFormBoundary7MA4YWxkTrZu0gW--\r\n";
    let content_type = "multipart/form-data; boundary=----WebKitFormBoundary7MA4YWxkTrZu0gW";
    let read = value(BodyKind::Multipart, content_type, body.as_bytes()).await;
    assert_eq!(read, Ok(json!({"photo": null})));
    // An empty file has a name, and what has bytes is a file.
    let file = |name: &str, content: &str| {
        format!("Content-Disposition: form-data; name=\"f\"; filename=\"{name}\"\r\n\r\n{content}")
    };
    let read = multipart(&parts(&[&file("", ""), &file("a", ""), &file("", "x")])).await;
    let empty = json!({"filename": "a", "contentType": null, "size": 0, "base64": ""});
    let nameless = json!({"filename": "", "contentType": null, "size": 1, "base64": "eA=="});
    assert_eq!(read, Ok(json!({"f": [null, empty, nameless]})));
}

#[tokio::test]
async fn names_of_files_are_decoded_as_their_senders_encode_them() {
    for (parameters, name, file_name) in [
        (
            "name=\"f\"; filename=\"a%22b%0D%0Ac 100%25.txt\"",
            "f",
            "a\"b\r\nc 100%25.txt",
        ),
        (
            "name=\"f\"; filename*=UTF-8''gr%C3%BC%C3%9Fe.txt",
            "f",
            "grüße.txt",
        ),
        ("filename*=utf-8'de'%E2%82%AC.txt; name=f", "f", "€.txt"),
        (
            "name=\"f\"; filename=\"plain.txt\"; filename*=UTF-8''%E2%82%AC.txt",
            "f",
            "plain.txt",
        ),
        (
            "name=\"say %22hi%22\"; filename=\"grüße.txt\"",
            "say \"hi\"",
            "grüße.txt",
        ),
    ] {
        let part = format!("Content-Disposition: form-data; {parameters}\r\n\r\nx");
        let read = multipart(&parts(&[&part])).await;
        let file = json!({"filename": file_name, "contentType": null, "size": 1, "base64": "eA=="});
        assert_eq!(read, Ok(json!({name: file})), "{parameters}");
    }
}

#[tokio::test]
async fn forms_are_read_in_the_character_set_that_is_named() {
    let expected = Ok(json!({"naïve": "Grüße & co", "n": ["", "1=2"]}));
    for (charset, body) in [
        ("iso-8859-1", &b"na%EFve=Gr%FC%DFe+%26+co&n&&n=1=2"[..]),
        ("Windows-1252", b"na\xefve=Gr\xfc\xdfe%20%26+co&n=&n=1%3D2"),
        ("\"utf-8\"", b"na%C3%AFve=Gr%C3%BC%C3%9Fe+%26+co&n&n=1=2"),
        // The standard knows no such parameter.
        ("none-such", b"na%C3%AFve=Gr%C3%BC%C3%9Fe+%26+co&n&n=1=2"),
    ] {
        let content_type = format!("application/x-www-form-urlencoded; charset={charset}");
        assert_eq!(
            value(BodyKind::Form, &content_type, body).await,
            expected,
            "{charset}"
        );
    }
    let many = "a=1&".repeat(1_001);
    let refused = value(BodyKind::Form, "x; charset=latin1", many.as_bytes()).await;
    assert_eq!(refused, Err("has more than 1000 fields".to_owned()));
}

#[tokio::test]
async fn json_may_begin_with_a_byte_order_mark() {
    assert_eq!(
        value(BodyKind::Json, "", b"\xEF\xBB\xBF{\"a\": 1}").await,
        Ok(json!({"a": 1}))
    );
    assert!(
        value(BodyKind::Json, "", b"\xEF\xBB\xBF\xEF\xBB\xBF1")
            .await
            .is_err()
    );
}

#[tokio::test]
async fn broken_multipart_bodies_are_told_from_each_other() {
    let field = "Content-Disposition: form-data; name=\"n\"\r\n\r\n1";
    let whole = parts(&[field]);
    for (content_type, body, problem) in [
        ("multipart/form-data", whole.as_str(), "has no boundary"),
        ("multipart/form-data; boundary=", &whole, "is not valid"),
        ("multipart/form-data; boundary=c", &whole, "is not valid"),
        ("multipart/form-data; boundary=b", "", "is not valid"),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n1",
            "is not valid",
        ),
        (
            "multipart/form-data; boundary=b",
            "--b\r\nContent-Disposition: form-data; name=\"n\"",
            "is not valid",
        ),
        (
            "multipart/form-data; boundary=b",
            &parts(&["Content-Disposition: form-data\r\n\r\n1"]),
            "has a part without a name",
        ),
        (
            "multipart/form-data; boundary=b",
            &parts(&["\r\n\r\n1"]),
            "has a part without a name",
        ),
    ] {
        let refused = value(BodyKind::Multipart, content_type, body.as_bytes()).await;
        let refused = refused.expect_err(body);
        assert!(refused.starts_with(problem), "{content_type} {body:?}: {refused}");
    }
}

#[tokio::test]
async fn a_thousand_fields_are_enough() {
    let form = |count: usize| vec!["a=1"; count].join("&");
    assert!(value(BodyKind::Form, "", form(1_000).as_bytes()).await.is_ok());
    let refused = Err("has more than 1000 fields".to_owned());
    for count in [1_001, 100_000] {
        assert_eq!(value(BodyKind::Form, "", form(count).as_bytes()).await, refused);
    }
    let field = "Content-Disposition: form-data; name=\"n\"\r\n\r\n1";
    assert_eq!(multipart(&parts(&vec![field; 10_000])).await, refused);
    let long = format!("{}=1", "n".repeat(1_001));
    let refused = value(BodyKind::Form, "", long.as_bytes()).await;
    assert_eq!(
        refused,
        Err("has a field whose name is longer than 1000 bytes".to_owned())
    );
}

#[tokio::test]
async fn texts_are_read_in_their_character_set() {
    for (content_type, bytes) in [
        ("text/plain", "Grüße".as_bytes()),
        ("text/xml; charset=\"utf-8\"", "Grüße".as_bytes()),
        ("text/plain; Charset=ISO-8859-1", b"Gr\xfc\xdfe"),
        ("text/plain; charset=windows-1252", b"Gr\xfc\xdfe"),
    ] {
        assert_eq!(
            value(BodyKind::Text, content_type, bytes).await,
            Ok(json!("Grüße")),
            "{content_type}"
        );
    }
    let refused = value(BodyKind::Text, "text/plain", b"Gr\xfc\xdfe").await;
    assert_eq!(refused, Err("is not valid text in UTF-8".to_owned()));
    let refused = value(BodyKind::Text, "text/plain; charset=none-such", b"x").await;
    assert_eq!(refused, Err("has an unknown character set, none-such".to_owned()));
}

#[tokio::test]
async fn other_bytes_are_a_file_without_a_name() {
    let expected = json!({"filename": null, "contentType": "image/png", "size": 3, "base64": "AP8Q"});
    assert_eq!(
        value(BodyKind::Binary, "image/png", b"\x00\xff\x10").await,
        Ok(expected)
    );
}

#[test]
fn the_raw_body_is_given_of_what_is_text() {
    let raw = |kind, body: &'static [u8]| raw(kind, "text/plain", &Bytes::from_static(body));
    assert_eq!(
        raw(BodyKind::Json, b" {\"a\": 1.0} "),
        Ok(Some(" {\"a\": 1.0} ".to_owned()))
    );
    assert_eq!(raw(BodyKind::Form, b"a=%31"), Ok(Some("a=%31".to_owned())));
    assert_eq!(raw(BodyKind::Text, b"x"), Ok(Some("x".to_owned())));
    assert_eq!(raw(BodyKind::Binary, b"\xff"), Ok(None));
    assert!(raw(BodyKind::Form, b"\xff").is_err());
}

#[tokio::test]
async fn what_is_no_json_is_refused() {
    for body in [&b""[..], b"{", b"{} {}", b"\"\xff\"", b"nope", b"{\"a\":1,}"] {
        assert!(value(BodyKind::Json, "", body).await.is_err(), "{body:?}");
    }
}
