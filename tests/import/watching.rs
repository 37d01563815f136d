//! Triggers of services become webhooks that their services are told of when they are deployed, as far as all is known before.

use crate::drawn::{imported, node, says, workflow};
use heddle_import::Imported;
use serde_json::{Value, json};

fn trigger(kind: &str, parameters: Value) -> Imported {
    let mut given = workflow(&[node("it", kind, parameters)], &[]);
    given["nodes"][0]["credentials"] = json!({"someApi": {"id": "1", "name": "mine"}});
    imported(&given)
}

fn of_type<'i>(imported: &'i Imported, kind: &str) -> &'i Value {
    let nodes = imported.graph_data["nodes"].as_array().unwrap();
    let found = nodes.iter().find(|node| node["type"] == kind);
    found.unwrap_or_else(|| panic!("{kind}: {:#}", imported.graph_data))
}

#[test]
fn what_a_trigger_asks_its_service_for_is_asked_when_it_is_deployed() {
    let of_gitlab =
        json!({"owner": "group", "repository": "shop", "events": ["push", "merge_requests", "note"]});
    let of_bitbucket =
        json!({"resource": "repository", "workspace": "ws", "repository": "shop", "events": ["repo:push"]});
    for (kind, given, expected, asked) in [
        (
            "gitlabTrigger",
            of_gitlab,
            "OnGitLabEvent",
            json!({"project": "group/shop", "push": true, "mergeRequests": true, "comments": true}),
        ),
        (
            "bitbucketTrigger",
            of_bitbucket,
            "OnBitbucketEvent",
            json!({"workspace": "ws", "repository": "shop", "events": ["repo:push"]}),
        ),
        (
            "stripeTrigger",
            json!({"events": ["charge.failed"]}),
            "OnStripeEvent",
            json!({"events": ["charge.failed"]}),
        ),
        (
            "shopifyTrigger",
            json!({"topic": "orders/create"}),
            "OnShopifyEvent",
            json!({"topic": "orders/create"}),
        ),
        (
            "wooCommerceTrigger",
            json!({"event": "order.created"}),
            "OnWooCommerceEvent",
            json!({"topic": "order.created"}),
        ),
        (
            "linearTrigger",
            json!({"resources": ["issue", "comment"]}),
            "OnLinearEvent",
            json!({"kinds": ["Issue", "Comment"]}),
        ),
    ] {
        let imported = trigger(kind, given);
        let found = of_type(&imported, expected);
        let mut parameters = found["data"]["parameters"].clone();
        assert_eq!(parameters["connection"], "mine", "{kind}");
        parameters.as_object_mut().unwrap().remove("connection");
        assert_eq!(parameters, asked, "{kind}");
        assert!(says(&imported, "subscription"), "{kind}");
    }
}

#[test]
fn where_that_is_not_known_people_tell_the_service_of_the_webhook() {
    let unknown = json!({"owner": "={{ $vars.group }}", "repository": "shop", "events": ["push"]});
    let no_event = json!({"owner": "group", "repository": "shop", "events": ["nothing"]});
    for (kind, given, expected) in [
        ("gitlabTrigger", unknown, "OnGitLabEvent"),
        ("gitlabTrigger", no_event, "OnGitLabEvent"),
        (
            "bitbucketTrigger",
            json!({"resource": "workspace", "workspace": "ws"}),
            "OnBitbucketEvent",
        ),
        ("slackTrigger", json!({"trigger": ["message"]}), "OnSlackEvent"),
        (
            "shopifyTrigger",
            json!({"topic": "={{ $vars.topic }}"}),
            "OnShopifyEvent",
        ),
    ] {
        let imported = trigger(kind, given);
        let found = of_type(&imported, expected);
        assert_eq!(found["data"]["parameters"], json!({}), "{kind}");
        let told = imported
            .report
            .items
            .iter()
            .find(|item| item.code == "subscription")
            .unwrap();
        assert!(
            told.message.contains("the service needs the webhook's address"),
            "{kind}: {}",
            told.message
        );
    }
}
