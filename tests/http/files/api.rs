//! `/api/files`: what is uploaded is read again, whole and in part, by those who may.

use super::bytes;
use crate::harness::{Service, each_database};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

each_database! {
    async fn what_was_uploaded_is_read_in_whole_and_in_part(service: Service) {
        let ann = service.user("ann").await;
        for size in [0, 1, 65_535, 65_536, 65_537, 600_000] {
            let content = bytes(size);
            let file = service.uploaded(&ann, "data.bin", &content).await;
            assert_eq!(file["size"], size);
            assert_eq!(file["sha256"], hex::encode(Sha256::digest(&content)), "{size}");
            assert_eq!((file["name"].as_str(), file["type"].as_str()), (Some("data.bin"), Some("text/plain")));
            assert_eq!(service.content(&ann, &file).await, (200, content.clone()));
            let path = format!("/api/files/{}", file["$file"].as_str().unwrap());
            for (range, part) in [("bytes=0-9", 0..10), ("bytes=65530-65545", 65_530..65_546), ("bytes=-7", size.saturating_sub(7)..size)] {
                let answer = service.get(&path).bearer(&ann.token).header("range", range).begin().await;
                let part = part.start.min(size)..part.end.min(size);
                if part.is_empty() {
                    assert_eq!(answer.status(), 416, "{size} {range}");
                    assert_eq!(answer.headers()["content-range"], format!("bytes */{size}").as_str());
                    continue;
                }
                assert_eq!(answer.status(), 206, "{size} {range}");
                let told = format!("bytes {}-{}/{size}", part.start, part.end - 1);
                assert_eq!(answer.headers()["content-range"], told.as_str());
                assert_eq!(answer.bytes().await.unwrap(), content[part], "{size} {range}");
            }
        }
    }

    async fn without_a_body_a_file_is_empty(service: Service) {
        let ann = service.user("ann").await;
        let sent = service.post("/api/files?name=empty.txt").bearer(&ann.token).send().await;
        let file = sent.data(201).clone();
        let expected = (json!("empty.txt"), json!(0), json!("application/octet-stream"));
        assert_eq!((file["name"].clone(), file["size"].clone(), file["type"].clone()), expected, "{sent}");
        assert_eq!(service.content(&ann, &file).await, (200, Vec::new()));
        let document = service.document().await;
        let body = &document["paths"]["/api/files"]["post"]["requestBody"];
        assert!(body["content"].is_object() && body["required"] != true, "{body}");
    }

    async fn served_content_can_only_be_downloaded(service: Service) {
        let ann = service.user("ann").await;
        let page = service.post("/api/files?name=..%2Fa%20%C3%BC.html").bearer(&ann.token)
            .header("content-type", "text/html").body("<script>alert(1)</script>").send().await;
        let file = page.data(201).clone();
        assert_eq!(file["name"], "a ü.html");
        let path = format!("/api/files/{}", file["$file"].as_str().unwrap());
        let answer = service.get(&path).bearer(&ann.token).begin().await;
        let headers = answer.headers().clone();
        let disposition = "attachment; filename=\"a _.html\"; filename*=UTF-8''a%20%C3%BC.html";
        for (name, value) in [
            ("content-disposition", disposition), ("x-content-type-options", "nosniff"),
            ("content-security-policy", "sandbox; default-src 'none'"), ("accept-ranges", "bytes"),
            ("content-type", "text/html"), ("content-length", "25"),
        ] {
            assert_eq!(headers[name], value, "{name}");
        }
        let tag = headers["etag"].to_str().unwrap().to_owned();
        let same = service.get(&path).bearer(&ann.token).header("if-none-match", &tag).begin().await;
        assert_eq!(same.status(), 304);
        let other = service.get(&path).bearer(&ann.token).header("range", "bytes=0-1").header("if-range", "\"x\"").begin().await;
        assert_eq!(other.status(), 200);
        let head = service.request("HEAD", &path).bearer(&ann.token).begin().await;
        assert_eq!((head.status().as_u16(), &head.headers()["content-length"]), (200, &"25".parse().unwrap()));
        assert_eq!(head.bytes().await.unwrap().len(), 0);
    }

    async fn a_form_is_uploaded_as_the_file_within(service: Service) {
        let ann = service.user("ann").await;
        let send = async |query: &str, parts: &[&str]| {
            let parts: String = parts.iter().map(|part| format!("--b\r\nContent-Disposition: form-data; {part}\r\n")).collect();
            let request = service.post(&format!("/api/files{query}")).bearer(&ann.token);
            let request = request.header("content-type", "Multipart/Form-Data; boundary=b");
            request.body(format!("{parts}--b--\r\n")).send().await
        };
        let csv = "name=\"file\"; filename=\"x.csv\"\r\nContent-Type: text/csv\r\n\r\na,b\r\n1,2";
        let (text, none) = ("name=\"n\"\r\n\r\n1", "name=\"other\"; filename=\"\"\r\n\r\n");
        for (query, parts, name) in [
            ("", &[csv][..], "x.csv"), ("", &[text, csv, none], "x.csv"), ("?name=other.csv", &[csv], "other.csv"),
        ] {
            let file = send(query, parts).await.data(201).clone();
            assert_eq!((file["name"].as_str(), file["type"].as_str()), (Some(name), Some("text/csv")));
            assert_eq!(service.content(&ann, &file).await, (200, b"a,b\r\n1,2".to_vec()));
        }
        let empty = send("", &["name=\"file\"; filename=\"empty.txt\"\r\n\r\n"]).await.data(201).clone();
        assert_eq!((empty["name"].as_str(), empty["size"].as_u64()), (Some("empty.txt"), Some(0)));
        for (parts, problem) in [
            (&[csv, csv][..], "the body has several files"), (&[text], "the body has no file"), (&[none], "the body has no file"),
            (&["name=\"file\"; filename=\"x\""], "the body is not valid multipart/form-data"),
        ] {
            let refused = send("", parts).await;
            assert_eq!((refused.status, refused.code()), (400, "VALIDATION"), "{refused}");
            let told = refused.body["error"]["details"][0]["message"].as_str().unwrap();
            assert!(told.starts_with(problem), "{told}");
        }
        let listed = service.get("/api/files").bearer(&ann.token).send().await;
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 4, "what was refused leaves nothing");
    }

    async fn a_file_in_a_form_is_no_larger_than_it_may_be(service: Service) {
        let service = Service::with(service.database(), |config| config.files.bytes_max = 100_000).await;
        let ann = service.user("ann").await;
        for (size, padding, status) in [(100_000, 0, 201), (100_001, 0, 413), (1, 200_000, 413)] {
            let mut body = b"--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f\"\r\n\r\n".to_vec();
            body.extend(bytes(size));
            body.extend_from_slice(b"\r\n--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\n");
            body.extend(vec![b'x'; padding]);
            body.extend_from_slice(b"\r\n--b--\r\n");
            // Without a declared length, it is counted.
            for is_declared in [true, false] {
                let request = service.post("/api/files").bearer(&ann.token).header("content-type", "multipart/form-data; boundary=b");
                let pieces: Vec<Result<Vec<u8>, std::io::Error>> = body.chunks(10_000).map(|piece| Ok(piece.to_vec())).collect();
                let sent = match is_declared {
                    true => request.body(body.clone()).send().await,
                    false => request.body(reqwest::Body::wrap_stream(futures_util::stream::iter(pieces))).send().await,
                };
                assert_eq!(sent.status, status, "{size} {padding} {is_declared}: {sent}");
            }
        }
    }

    async fn files_are_listed_from_the_newest_and_removed(service: Service) {
        let ann = service.user("ann").await;
        let mut made = Vec::new();
        for n in 0..5 {
            made.push(service.uploaded(&ann, &format!("{n}.txt"), b"the same").await);
        }
        let ids: Vec<&Value> = made.iter().rev().map(|file| &file["$file"]).collect();
        let first = service.get("/api/files?limit=3").bearer(&ann.token).send().await.body;
        let listed: Vec<&Value> = first["data"].as_array().unwrap().iter().map(|file| &file["$file"]).collect();
        assert_eq!(listed, ids[..3]);
        let next = format!("/api/files?limit=3&cursor={}", first["meta"]["nextCursor"].as_str().unwrap());
        let second = service.get(&next).bearer(&ann.token).send().await.body;
        assert_eq!((second["data"].as_array().unwrap().len(), &second["meta"]["nextCursor"]), (2, &Value::Null));
        let path = format!("/api/files/{}", made[0]["$file"].as_str().unwrap());
        assert_eq!(service.delete(&path).bearer(&ann.token).send().await.status, 204);
        service.get(&path).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        // The others have the same bytes.
        assert_eq!(service.content(&ann, &made[1]).await, (200, b"the same".to_vec()));
        service.get("/api/files?limit=0").bearer(&ann.token).send().await.assert_refused(400, "VALIDATION");
    }

    async fn a_file_is_no_larger_than_it_may_be(service: Service) {
        let service = Service::with(service.database(), |config| config.files.bytes_max = 100_000).await;
        let ann = service.user("ann").await;
        service.uploaded(&ann, "a", &bytes(100_000)).await;
        let announced = service.post("/api/files").bearer(&ann.token).body(bytes(100_001)).send().await;
        announced.assert_refused(413, "PAYLOAD_TOO_LARGE");
        let pieces = futures_util::stream::iter((0..11).map(|_| Ok::<_, std::io::Error>(bytes(10_000))));
        let unannounced = service.post("/api/files").bearer(&ann.token).body(reqwest::Body::wrap_stream(pieces)).send().await;
        unannounced.assert_refused(413, "PAYLOAD_TOO_LARGE");
        let listed = service.get("/api/files").bearer(&ann.token).send().await;
        assert_eq!(listed.body["data"].as_array().unwrap().len(), 1);
    }

    async fn files_count_toward_the_storage_of_their_workspace(service: Service) {
        use heddle_model::workspace_quota::WorkspaceQuota;
        let service = Service::with(service.database(), |config| {
            config.workspace_quotas.set(WorkspaceQuota::StorageBytes, Some(1_000_000));
        }).await;
        let ann = service.user("ann").await;
        service.uploaded(&ann, "a", &bytes(600_000)).await;
        let more = service.post("/api/files").bearer(&ann.token).body(bytes(600_000)).send().await;
        more.assert_refused(429, "WORKSPACE_QUOTA_EXCEEDED");
        service.uploaded(&ann, "b", &bytes(200_000)).await;
    }
}
