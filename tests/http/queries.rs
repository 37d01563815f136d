//! Parameters of queries, as the document describes them.

use crate::access::fixture::Fixture;
use crate::document::operations;
use crate::harness::{Service, each_database};
use heddle_api::http::routes::document;
use serde_json::Value;

/// Whether an empty parameter is one of its values.
fn may_be_empty(schema: &Value) -> bool {
    let is_text = ["string", "array"].into_iter().any(|name| {
        let types = &schema["type"];
        types == name
            || types
                .as_array()
                .is_some_and(|types| types.iter().any(|it| it == name))
    });
    is_text && schema["enum"].is_null() && schema["format"].is_null()
}

each_database! {
    async fn what_is_no_text_is_refused_by_name_when_it_is_empty(service: Service) {
        let fixture = Fixture::new(&service).await;
        let mut parameters = 0;
        for operation in operations(&document()) {
            // Needs a token of another kind; its queries are those of other operations.
            if operation.path.starts_with("/operator/") {
                continue;
            }
            for parameter in operation.told["parameters"].as_array().into_iter().flatten() {
                if parameter["in"] != "query" || may_be_empty(&parameter["schema"]) {
                    continue;
                }
                let (name, address) = (parameter["name"].as_str().unwrap(), fixture.address(&operation));
                let path = address.split('?').next().unwrap();
                let request = service.request(&operation.method, &format!("{path}?{name}="));
                let reply = request.bearer(&fixture.owner.token).send().await;
                assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{operation} {name}: {reply}");
                assert_eq!(reply.body["error"]["details"][0]["path"], name, "{operation}: {reply}");
                parameters += 1;
            }
        }
        assert!(parameters > 20, "{parameters}");
    }

    async fn an_empty_text_is_as_good_as_none(service: Service) {
        let ann = service.user("ann").await;
        service.post("/api/patterns").bearer(&ann.token).json(&serde_json::json!({"name": "hers"})).send().await;
        let reply = service.get("/api/patterns?search=").bearer(&ann.token).send().await;
        assert_eq!((reply.status, &reply.body["meta"]["total"]), (200, &serde_json::json!(1)), "{reply}");
    }

    async fn the_word_of_a_forms_checkbox_is_no_truth_value(service: Service) {
        let ann = service.user("ann").await;
        let reply = service.get("/api/patterns?isPublic=on").bearer(&ann.token).send().await;
        assert_eq!((reply.status, reply.code()), (400, "VALIDATION"), "{reply}");
    }
}
