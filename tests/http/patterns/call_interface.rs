//! What a pattern takes and gives when another calls it.

use super::{get, pattern};
use crate::harness::{Service, each_database};
use serde_json::json;

each_database! {
    async fn a_call_interface_is_set_read_and_removed(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}/call-interface");
        let none = json!({"callInterface": {"inputs": [], "outputs": []}});
        let read = get(&service, &ann, &path).await;
        assert_eq!((read.status, &read.body), (200, &none));
        let interface = json!({
            "inputs": [{"name": "orderId", "type": "string"}, {"name": "lines", "type": "array"}],
            "outputs": [{"name": "orderId", "type": "integer"}, {"name": "all", "type": "object"}]
        });
        let set = service.put(&path).bearer(&ann.token).json(&interface).send().await;
        assert_eq!((set.status, &set.body), (200, &json!({"callInterface": interface})));
        assert_eq!(get(&service, &ann, &path).await.body, set.body);
        // It is not part of a version.
        let pattern = get(&service, &ann, &format!("/api/patterns/{id}")).await;
        assert_eq!(pattern.body["versionNumber"], 1);
        for _ in 0..2 {
            let removed = service.delete(&path).bearer(&ann.token).send().await;
            assert_eq!((removed.status, removed.text.as_str()), (204, ""));
        }
        assert_eq!(get(&service, &ann, &path).await.body, none);
    }

    async fn a_call_interface_that_can_not_be_is_refused_by_field(service: Service) {
        let ann = service.user("ann").await;
        let id = pattern(&service, &ann, json!({"name": "x"})).await;
        let path = format!("/api/patterns/{id}/call-interface");
        let field = json!({"name": "a", "type": "string"});
        for (body, wrong) in [
            (json!({"inputs": []}), "outputs"),
            (json!({"outputs": []}), "inputs"),
            (json!({"inputs": {}, "outputs": []}), "inputs"),
            (json!({"inputs": [["a", "string"]], "outputs": []}), "inputs[0]"),
            (json!({"inputs": [], "outputs": [field, []]}), "outputs[1]"),
            (json!({"inputs": [{"name": "a"}], "outputs": []}), "inputs[0].type"),
            (json!({"inputs": [{"type": "string"}], "outputs": []}), "inputs[0].name"),
            (json!({"inputs": [{"name": "a", "type": "text"}], "outputs": []}), "inputs[0].type"),
            (json!({"inputs": [], "outputs": [{"name": " ", "type": "any"}]}), "outputs[0].name"),
            (json!({"inputs": [field, field], "outputs": []}), "inputs[1].name"),
            (json!({"inputs": vec![field; 101], "outputs": []}), "inputs"),
        ] {
            let reply = service.put(&path).bearer(&ann.token).json(&body).send().await;
            assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{body}: {reply}");
            assert_eq!(reply.body["error"]["details"][0]["path"], wrong, "{body}: {reply}");
        }
    }
}
