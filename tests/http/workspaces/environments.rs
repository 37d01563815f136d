//! Environments, their secrets and variables.

use super::{NOW, active, get, join, send};
use crate::harness::{Service, User, doubling, each_database};
use heddle_model::ids::EnvironmentId;
use heddle_store::secrets;
use serde_json::json;
use std::time::Duration;

/// Path of the environment `production` of the user's active workspace.
async fn production(service: &Service, user: &User) -> String {
    let path = format!("/api/workspaces/{}/environments", active(user));
    let listed = get(service, user, &path).await;
    let id = listed.data(200)[0]["id"].as_str().unwrap().to_owned();
    format!("{path}/{id}")
}

fn id_in(path: &str) -> EnvironmentId {
    path.rsplit('/').next().unwrap().parse().unwrap()
}

each_database! {
    async fn environments_are_made_listed_and_deleted(service: Service) {
        let ann = service.user("ann").await;
        let first = production(&service, &ann).await;
        let path = format!("/api/workspaces/{}/environments", active(&ann));
        service.app.clock.advance(Duration::from_secs(60));
        let made = send(&service, &ann, "POST", &path, json!({"name": "staging"})).await;
        let id = made.data(201)["id"].as_str().unwrap().to_owned();
        let staging = json!({"id": id, "name": "staging", "createdAt": "2026-11-21T09:01:00.000Z"});
        assert_eq!(made.data(201), &staging);
        let production = json!({"id": id_in(&first), "name": "production", "createdAt": NOW});
        assert_eq!(get(&service, &ann, &path).await.data(200), &json!([production, staging]));
        send(&service, &ann, "POST", &path, json!({"name": "staging"})).await.assert_refused(409, "CONFLICT");
        assert_eq!(send(&service, &ann, "POST", &path, json!({"name": " "})).await.wrong_fields(), ["name"]);
        assert_eq!(send(&service, &ann, "POST", &path, json!({})).await.wrong_fields(), ["name"]);

        let deleted = service.delete(&first).bearer(&ann.token).send().await;
        assert_eq!(deleted.data(200), &json!({"id": id_in(&first), "status": "deleted"}));
        service.delete(&first).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        let last = format!("{path}/{id}");
        service.delete(&last).bearer(&ann.token).send().await.assert_refused(409, "CONFLICT");
        service.delete(&format!("{path}/nonsense")).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
    }

    async fn an_environment_that_a_deployment_uses_is_kept(service: Service) {
        let ann = service.user("ann").await;
        let path = format!("/api/workspaces/{}/environments", active(&ann));
        let made = send(&service, &ann, "POST", &path, json!({"name": "staging"})).await;
        let staging = made.data(201)["id"].as_str().unwrap().to_owned();
        let pattern = service.drawn(&ann, &doubling()).await;
        let deploy = format!("/api/patterns/{pattern}/deploy");
        let body = json!({"nodeDefinitions": {}, "environmentId": staging});
        send(&service, &ann, "POST", &deploy, body).await.data(200);

        let one = format!("{path}/{staging}");
        let refused = service.delete(&one).bearer(&ann.token).send().await;
        refused.assert_refused(409, "CONFLICT");
        assert!(refused.text.contains("undeploy"), "{refused}");
        service.delete(&deploy).bearer(&ann.token).send().await.data(200);
        service.delete(&one).bearer(&ann.token).send().await.data(200);
    }

    async fn a_secret_is_set_and_never_told(service: Service) {
        let ann = service.user("ann").await;
        let production = production(&service, &ann).await;
        let (all, one) = (format!("{production}/secrets"), format!("{production}/secrets/SMTP_PASSWORD"));
        assert_eq!(get(&service, &ann, &all).await.data(200), &json!([]));
        let set = send(&service, &ann, "PUT", &one, json!({"value": "first"})).await;
        assert_eq!(set.data(200), &json!({"name": "SMTP_PASSWORD", "createdAt": NOW, "updatedAt": NOW}));
        service.app.clock.advance(Duration::from_secs(60));
        let set = send(&service, &ann, "PUT", &one, json!({"value": "sécond\n"})).await;
        let told = json!({"name": "SMTP_PASSWORD", "createdAt": NOW, "updatedAt": "2026-11-21T09:01:00.000Z"});
        assert_eq!(set.data(200), &told);
        send(&service, &ann, "PUT", &format!("{all}/a_1"), json!({"value": "x"})).await.data(200);
        let names = get(&service, &ann, &all).await;
        assert_eq!(names.data(200)[0], told);
        assert_eq!(names.data(200)[1]["name"], "a_1");

        let mut reader = service.app.store.reader().await.unwrap();
        let opened = secrets::open_all(&mut reader.db(), &service.app.vault, id_in(&production)).await.unwrap();
        assert_eq!(opened["SMTP_PASSWORD"].expose(), "sécond\n");
        drop(reader);

        let deleted = service.delete(&one).bearer(&ann.token).send().await;
        assert_eq!(deleted.data(200), &json!({"id": "SMTP_PASSWORD", "status": "deleted"}));
        service.delete(&one).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
    }

    async fn a_secret_may_be_bound_to_hosts(service: Service) {
        let ann = service.user("ann").await;
        let production = production(&service, &ann).await;
        let one = format!("{production}/secrets/KEY");
        let set = send(&service, &ann, "PUT", &one, json!({"value": "v", "hosts": ["api.example.com"]})).await;
        assert_eq!(set.data(200)["hosts"], json!(["api.example.com"]));
        assert_eq!(get(&service, &ann, &format!("{production}/secrets")).await.data(200)[0]["hosts"], json!(["api.example.com"]));
        for hosts in [json!("x"), json!(["https://x"]), json!([""]), json!(vec!["x"; 51])] {
            let wrong = send(&service, &ann, "PUT", &one, json!({"value": "v", "hosts": hosts})).await;
            assert_eq!(wrong.status, 400, "{wrong}");
        }
        // A new value without hosts is for any.
        let set = send(&service, &ann, "PUT", &one, json!({"value": "v"})).await;
        assert_eq!(set.data(200).get("hosts"), None);
    }

    async fn what_is_wrong_with_a_secret_is_named(service: Service) {
        let ann = service.user("ann").await;
        let secrets = format!("{}/secrets", production(&service, &ann).await);
        for name in ["a-b", "a%20b", "a%00b", "%C3%A9", &"x".repeat(201)] {
            let path = format!("{secrets}/{name}");
            assert_eq!(send(&service, &ann, "PUT", &path, json!({"value": "x"})).await.wrong_fields(), ["name"]);
            service.delete(&path).bearer(&ann.token).send().await.assert_refused(404, "NOT_FOUND");
        }
        for value in [json!(""), json!(1), json!(null), json!("x".repeat(65_537))] {
            let set = send(&service, &ann, "PUT", &format!("{secrets}/X"), json!({"value": value})).await;
            assert_eq!(set.wrong_fields(), ["value"]);
        }
        send(&service, &ann, "PUT", &format!("{secrets}/X"), json!({"value": "x".repeat(65_536)})).await.data(200);
        assert_eq!(send(&service, &ann, "PUT", &format!("{secrets}/X"), json!({})).await.wrong_fields(), ["value"]);
    }

    async fn variables_are_one_flat_object(service: Service) {
        let ann = service.user("ann").await;
        let production = production(&service, &ann).await;
        let path = format!("{production}/variables");
        assert_eq!(get(&service, &ann, &path).await.data(200), &json!({}));
        let variables = json!({"REGION": "eu", "RETRIES": 3, "DEBUG": false, "NOTHING": null});
        assert_eq!(send(&service, &ann, "PUT", &path, variables.clone()).await.data(200), &variables);
        assert_eq!(get(&service, &ann, &path).await.data(200), &variables);
        let many = (0..11_000).map(|number| (format!("V{number}"), json!(1)));
        let many: serde_json::Value = many.collect::<serde_json::Map<_, _>>().into();
        let fewer = json!({"REGION": "us"});
        assert_eq!(send(&service, &ann, "PUT", &path, fewer.clone()).await.data(200), &fewer);
        for (body, field) in [
            (json!({"a": {}}), "a"),
            (json!({"a": []}), "a"),
            (json!({"b": 1, "a": vec![1; 50_000]}), "a"),
            (many.clone(), ""),
            (json!({"a b": 1}), "a b"),
            (json!({"": 1}), ""),
            (json!({"a": "\u{0}"}), "a"),
            (json!({"a": "x".repeat(65_536)}), ""),
            (json!([]), ""),
        ] {
            assert_eq!(send(&service, &ann, "PUT", &path, body.clone()).await.wrong_fields(), [field]);
        }
        let mut reader = service.app.store.reader().await.unwrap();
        let stored = secrets::variables(&mut reader.db(), id_in(&production)).await.unwrap();
        assert_eq!(serde_json::Value::from(stored), fewer);
        // Of two who have read the same, the second is refused.
        let read = get(&service, &ann, &path).await;
        let tag = read.headers["etag"].to_str().unwrap().to_owned();
        let change = async |body: &str| {
            let request = service.put(&path).bearer(&ann.token).header("if-match", &tag);
            request.header("content-type", "application/json").body(body.to_owned()).send().await
        };
        let first = change(r#"{"REGION": "first"}"#).await;
        assert_eq!((first.status, first.headers["etag"] == tag), (200, false));
        change(r#"{"REGION": "second"}"#).await.assert_refused(409, "CONFLICT");
        let read = get(&service, &ann, &path).await;
        assert_eq!((read.data(200), &read.headers["etag"]), (&json!({"REGION": "first"}), &first.headers["etag"]));
    }

    async fn changes_are_for_admins_of_the_workspace(service: Service) {
        let ann = service.user("ann").await;
        let workspace = active(&ann);
        let production = production(&service, &ann).await;
        let secret = format!("{production}/secrets/X");
        let variables = format!("{production}/variables");
        let environments = format!("/api/workspaces/{workspace}/environments");
        for role in ["viewer", "editor"] {
            let member = join(&service, &ann, role, &workspace, role).await;
            get(&service, &member, &environments).await.data(200);
            get(&service, &member, &format!("{production}/secrets")).await.data(200);
            get(&service, &member, &variables).await.data(200);
            for (method, path, body) in [
                ("POST", &environments, json!({"name": "x"})),
                ("DELETE", &production, json!({})),
                ("PUT", &secret, json!({"value": "x"})),
                ("DELETE", &secret, json!({})),
                ("PUT", &variables, json!({})),
            ] {
                send(&service, &member, method, path, body).await.assert_refused(403, "FORBIDDEN");
            }
        }
        let admin = join(&service, &ann, "adam", &workspace, "admin").await;
        send(&service, &admin, "PUT", &secret, json!({"value": "x"})).await.data(200);
    }

    async fn an_environment_is_reached_through_its_own_workspace_only(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let production = production(&service, &ann).await;
        send(&service, &ann, "PUT", &format!("{production}/secrets/X"), json!({"value": "x"})).await.data(200);
        let detour = format!("/api/workspaces/{}/environments/{}", active(&eve), id_in(&production));
        for (method, rest) in [
            ("DELETE", ""), ("GET", "/secrets"), ("PUT", "/secrets/X"), ("DELETE", "/secrets/X"),
            ("GET", "/variables"), ("PUT", "/variables"),
        ] {
            let body = if rest == "/variables" { json!({}) } else { json!({"value": "y"}) };
            let reply = send(&service, &eve, method, &format!("{detour}{rest}"), body.clone()).await;
            reply.assert_refused(404, "NOT_FOUND");
            let reply = send(&service, &eve, method, &format!("{production}{rest}"), body).await;
            reply.assert_refused(404, "WORKSPACE_NOT_FOUND");
        }
        let mut reader = service.app.store.reader().await.unwrap();
        let opened = secrets::open_all(&mut reader.db(), &service.app.vault, id_in(&production)).await.unwrap();
        assert_eq!(opened["X"].expose(), "x");
    }

    async fn a_secret_moved_in_the_database_does_not_open(service: Service) {
        let (ann, bob) = (service.user("ann").await, service.user("bob").await);
        let (here, there) = (production(&service, &ann).await, production(&service, &bob).await);
        for (user, path) in [(&ann, &here), (&bob, &there)] {
            send(&service, user, "PUT", &format!("{path}/secrets/X"), json!({"value": "x"})).await.data(200);
        }
        send(&service, &ann, "PUT", &format!("{here}/secrets/Y"), json!({"value": "y"})).await.data(200);
        for (change, environment) in [
            // To another name, and to another workspace with its data key's name.
            ("update secrets set name = 'Z' where name = 'Y'", &here),
            ("update secrets set data_key = (select data_key from secrets order by environment_id limit 1),
                 ciphertext = (select ciphertext from secrets order by environment_id limit 1)
              where environment_id = (select max(environment_id) from secrets)", &there),
        ] {
            let done = service.app.store.write(move |db| Box::pin(async move {
                db.execute(heddle_store::sql(change)).await
            }));
            assert!(done.await.map_err(|error: heddle_store::StoreError| error).unwrap() > 0);
            let mut reader = service.app.store.reader().await.unwrap();
            let opened = secrets::open_all(&mut reader.db(), &service.app.vault, id_in(environment)).await;
            assert!(matches!(opened, Err(heddle_store::vault::VaultError::Unopenable)), "{opened:?}");
        }
    }
}
