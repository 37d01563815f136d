//! A value that says `$file` proves nothing: whoever forges one reads nothing by it.

use super::reading;
use crate::harness::{Service, User, chain, each_database};
use crate::webhooks::fixture::{Hook, graph, returns};
use serde_json::{Value, json};

/// What a run that reads a file gives: the text, or the code of its error.
async fn read(service: &Service, user: &User, deployment: &str, event: Value) -> Value {
    let reply = service.execute(user, deployment, "?wait=true", &event).await;
    let ended = reply.data(200).clone();
    match ended["error"].is_null() {
        true => ended["output"].clone(),
        false => ended["error"]["code"].clone(),
    }
}

each_database! {
    async fn nobody_elses_file_is_read(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let file = service.uploaded(&ann, "secret.txt", b"of ann").await;
        assert_eq!(service.content(&eve, &file).await.0, 404);
        let path = format!("/api/files/{}", file["$file"].as_str().unwrap());
        service.delete(&path).bearer(&eve.token).send().await.assert_refused(404, "NOT_FOUND");
        let listed = service.get("/api/files").bearer(&eve.token).send().await;
        assert_eq!(listed.body["data"], json!([]));
        let of_eve = service.deployed(&eve, &reading()).await;
        assert_eq!(read(&service, &eve, &of_eve, json!({"file": file})).await, "FILE_NOT_FOUND");
        // Whoever may see it may give it to a run.
        let of_ann = service.deployed(&ann, &reading()).await;
        assert_eq!(read(&service, &ann, &of_ann, json!({"file": file})).await, "of ann");
    }

    async fn a_run_reads_only_what_it_holds(service: Service) {
        let ann = service.user("ann").await;
        let file = service.uploaded(&ann, "a.txt", b"of another run").await;
        let id = file["$file"].as_str().unwrap();
        // Code of the workspace's own that makes an id up: the file is the workspace's, but the run does not hold it.
        let forging = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("read", "File", json!({"file": "{{ ({ '$file': $input.id }) }}"})),
            ("end", "Return", json!({})),
        ])).await;
        assert_eq!(read(&service, &ann, &forging, json!({"id": id})).await, "FILE_NOT_FOUND");
        for id in ["", "x", "../../etc/passwd", "00000000-0000-7000-8000-000000000000"] {
            assert_eq!(read(&service, &ann, &forging, json!({"id": id})).await, "FILE_NOT_FOUND", "{id}");
        }
        // An event that a sender has written, to the same workspace.
        let hook = Hook::saved_by(&service, ann.clone(), graph(
            json!({}),
            &[json!({"id": "read", "type": "File", "data": {"parameters": {"file": "{{ $input.body.file }}"}}}),
              returns("{{ $input }}")],
        )).await;
        let deployment = hook.deploy().await;
        let body = json!({"file": file}).to_string();
        let run = hook.signed(&body).send().await;
        assert_eq!(run.status, 202, "{run}");
        let run = run.body["runId"].as_str().unwrap().to_owned();
        let ended = service.ended(&ann, &deployment, &run).await;
        assert_eq!(ended["error"]["code"], "FILE_NOT_FOUND", "{ended}");
    }

    async fn kept_values_carry_files_from_run_to_run(service: Service) {
        let ann = service.user("ann").await;
        let file = service.uploaded(&ann, "a.txt", b"kept").await;
        let keeping = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("keep", "KeyValue", json!({"operation": "{{ $input.operation }}", "key": "k", "value": "{{ $input.value }}", "scope": "workspace"})),
            ("read", "File", json!({"file": "{{ $input.file }}"})),
            ("end", "Return", json!({})),
        ])).await;
        let set = json!({"operation": "set", "value": {"file": file}});
        assert_eq!(read(&service, &ann, &keeping, set).await, "kept");
        assert_eq!(read(&service, &ann, &keeping, json!({"operation": "get"})).await, "kept");
        let path = format!("/api/files/{}", file["$file"].as_str().unwrap());
        service.delete(&path).bearer(&ann.token).send().await.assert_refused(409, "CONFLICT");
        // Forged into a kept value, it stays forged.
        let other = service.uploaded(&ann, "b.txt", b"another").await;
        let forging = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("keep", "KeyValue", json!({"operation": "set", "key": "k", "value": "{{ ({ file: { '$file': $input.id } }) }}", "scope": "workspace"})),
            ("end", "Return", json!({})),
        ])).await;
        service.execute(&ann, &forging, "?wait=true", &json!({"id": other["$file"]})).await.data(200);
        assert_eq!(read(&service, &ann, &keeping, json!({"operation": "get"})).await, "FILE_NOT_FOUND");
    }

    async fn called_patterns_get_files_and_give_them(service: Service) {
        let ann = service.user("ann").await;
        let file = service.uploaded(&ann, "a.txt", b"passed on").await;
        let called = service.drawn(&ann, &chain(&[
            ("start", "OnCall", json!({})),
            ("read", "File", json!({"file": "{{ $input.file }}"})),
            ("make", "File", json!({"operation": "make", "content": "{{ $input.toUpperCase() }}", "name": "b.txt"})),
            ("end", "Return", json!({})),
        ])).await;
        service.deploy(&ann, &called).await;
        let calling = service.deployed(&ann, &chain(&[
            ("start", "OnManual", json!({})),
            ("call", "CallPattern", json!({"patternId": called, "inputs": {"file": "{{ $input.file }}"}})),
            ("read", "File", json!({"file": "{{ $input }}"})),
            ("end", "Return", json!({})),
        ])).await;
        assert_eq!(read(&service, &ann, &calling, json!({"file": file})).await, "PASSED ON");
    }

    async fn a_run_that_is_started_again_has_its_files(service: Service) {
        let ann = service.user("ann").await;
        let file = service.uploaded(&ann, "a.txt", b"again").await;
        let deployment = service.deployed(&ann, &reading()).await;
        let run = service.ran(&ann, &deployment, &json!({"file": file})).await;
        let again = service.post(&format!("/api/deployments/{deployment}/runs/{run}/replay")).bearer(&ann.token).send().await;
        let again = again.data(200)["runId"].as_str().unwrap().to_owned();
        let ended = service.ended(&ann, &deployment, &again).await;
        assert_eq!(ended["output"], "again", "{ended}");
        let listed = service.get(&format!("/api/deployments/{deployment}/runs/{again}/files")).bearer(&ann.token).send().await;
        assert_eq!(listed.data(200)[0]["$file"], file["$file"], "{listed}");
        assert_eq!(listed.data(200)[0]["expiresAt"], Value::Null);
    }

    async fn test_runs_have_the_files_of_their_event(service: Service) {
        let ann = service.user("ann").await;
        let file = service.uploaded(&ann, "a.txt", b"tried").await;
        let drawn = reading();
        let compiled = service.post("/api/execute/transpile").bearer(&ann.token)
            .json(&json!({"graphData": drawn, "nodeDefinitions": {}, "pinnedNodes": {"start": {"file": file}}})).send().await;
        let run = service.post("/api/execute/run").bearer(&ann.token).json(&json!({"code": compiled.body["code"]})).send().await;
        assert_eq!(run.body["output"], "tried", "{run}");
    }

    async fn tests_keep_the_files_of_their_cases(service: Service) {
        let ann = service.user("ann").await;
        let file = service.uploaded(&ann, "a.txt", b"of a test").await;
        let pattern = service.drawn(&ann, &reading()).await;
        let tests = format!("/api/patterns/{pattern}/tests");
        let made = service.post(&tests).bearer(&ann.token).json(&json!({"name": "x", "event": {"file": file}})).send().await;
        assert_eq!(made.status, 201, "{made}");
        let path = format!("/api/files/{}", file["$file"].as_str().unwrap());
        service.delete(&path).bearer(&ann.token).send().await.assert_refused(409, "CONFLICT");
        let test = format!("{tests}/{}", made.body["id"].as_str().unwrap());
        let changed = service.request("PUT", &test).bearer(&ann.token).json(&json!({"event": {}})).send().await;
        assert_eq!(changed.status, 200, "{changed}");
        assert_eq!(service.delete(&path).bearer(&ann.token).send().await.status, 204);
    }
}
