//! Environments are kept apart: from patterns outside of their workspace, from what is undeployed, and after their end.

use super::environments::Scene;
use crate::harness::{Service, User, chain, each_database};
use heddle_model::access::{Role, WorkspaceRole};
use heddle_store::sql;
use serde_json::{Value, json};

/// Gives the environment's tone.
fn toned(start: &str) -> Value {
    chain(&[
        ("start", start, json!({})),
        ("end", "Return", json!({"value": "{{ $vars.TONE }}"})),
    ])
}

fn calling(callee: &str) -> Value {
    chain(&[
        ("start", "OnManual", json!({})),
        ("call", "CallPattern", json!({"patternId": callee})),
        ("end", "Return", json!({"value": "{{ $input }}"})),
    ])
}

/// The user, in no workspace.
fn outside(service: &Service, user: &User, name: &str) -> User {
    let tokens = &service.app.tokens;
    let (email, begun) = (format!("{name}@example.com"), tokens.begin(0));
    let token = tokens.issue(user.id.parse().unwrap(), &email, Role::User, None, &begun);
    User {
        id: user.id.clone(),
        token: token.unwrap(),
    }
}

impl Scene<'_> {
    async fn undeploy(&self, pattern: &str, environment: &str) {
        let path = format!("/api/patterns/{pattern}/deploy?environmentId={environment}");
        self.send("DELETE", &path, None).await.data(200);
    }
}

each_database! {
    async fn a_personal_pattern_gets_no_environment_of_a_workspace(service: Service) {
        let scene = Scene::drawn(&service, &toned("OnManual")).await;
        let bob = service.member(&scene.ann, "bob", WorkspaceRole::Editor).await;
        let own = service.drawn(&outside(&service, &bob, "bob"), &toned("OnManual")).await;
        let deploy = async |body: Value| {
            let path = format!("/api/patterns/{own}/deploy");
            service.post(&path).bearer(&bob.token).json(&body).send().await
        };
        let refused = deploy(json!({"nodeDefinitions": {}, "environmentId": scene.production})).await;
        refused.assert_refused(400, "VALIDATION");
        assert_eq!(refused.wrong_fields(), ["environmentId"], "{refused}");

        let deployed = deploy(json!({"nodeDefinitions": {}})).await;
        let id = deployed.data(200)["deploymentId"].as_str().unwrap().to_owned();
        let promote = format!("/api/deployments/{id}/promote");
        let body = json!({"environmentId": scene.production});
        let refused = service.post(&promote).bearer(&bob.token).json(&body).send().await;
        assert_eq!(refused.wrong_fields(), ["environmentId"], "{refused}");

        // As it was possible to deploy it before.
        let (row, environment) = (id.clone(), scene.production.clone());
        let changed = service.app.store.write(move |db| {
            Box::pin(async move {
                let update = sql("update deployments set environment_id = ? where id = ?");
                db.execute(update.bind(environment).bind(row)).await
            })
        });
        assert_eq!(changed.await.unwrap(), 1);
        let ran = service.execute(&bob, &id, "?wait=true", &json!({})).await;
        assert!(!ran.data(200).to_string().contains("loud"), "{ran}");
    }

    async fn what_is_undeployed_in_an_environment_stands_in_nobodys_way(service: Service) {
        service.app.executions.start().await.unwrap();
        let (mut scene, _, _) = Scene::deployed(&service, &toned("OnCall")).await;
        let callee = scene.pattern.clone();
        scene.pattern = service.drawn(&scene.ann, &calling(&callee)).await;
        let caller = scene.deploy(json!({"environmentId": scene.staging})).await;
        assert_eq!(scene.output(&caller, json!({})).await, "quiet");
        scene.undeploy(&callee, &scene.staging).await;
        assert_eq!(scene.output(&caller, json!({})).await, "loud");

        // Nor does it stop the only deployment that is left from moving.
        scene.pattern = callee;
        let third = scene.environment("third").await;
        let moved = scene.ask(json!({"environmentId": third, "move": true})).await;
        assert_eq!(moved.status, 200, "{moved}");
        let places = scene.places().await;
        assert!(places.contains(&("third".to_owned(), 2, "active".to_owned(), true)), "{places:?}");
    }

    async fn an_environment_takes_what_was_undeployed_there_with_it(service: Service) {
        let mut counting = chain(&[
            ("start", "OnManual", json!({})),
            ("count", "KeyValue", json!({"operation": "increment", "key": "n", "scope": "pattern"})),
        ]);
        let clock = json!({"id": "clock", "type": "OnSchedule", "data": {"parameters": {"cron": "0 * * * *"}}});
        counting["nodes"].as_array_mut().unwrap().push(clock);
        let edge = json!({"source": "clock", "target": "count"});
        counting["edges"].as_array_mut().unwrap().push(edge);
        let (scene, production, staging) = Scene::deployed(&service, &counting).await;
        for deployment in [&production, &staging] {
            service.ran(&scene.ann, deployment, &json!({})).await;
        }
        scene.undeploy(&scene.pattern, &scene.staging).await;
        scene.send("DELETE", &format!("{}/{}", scene.environments, scene.staging), None).await.data(200);
        let redeploy = format!("/api/deployments/{staging}/redeploy");
        scene.send("POST", &redeploy, None).await.assert_refused(404, "NOT_FOUND");
        let places = scene.places().await;
        assert_eq!(places, [("production".to_owned(), 2, "active".to_owned(), true)]);
        let count = async |statement: &'static str| {
            let mut reader = service.app.store.reader().await.unwrap();
            let (count,): (i64,) = reader.db().one(sql(statement)).await.unwrap();
            count
        };
        assert_eq!(count("select count(*) from key_values").await, 1);
        assert_eq!(count("select count(*) from schedules").await, 1);
    }

    async fn nothing_is_deployed_to_an_environment_that_is_being_deleted(service: Service) {
        let scene = Scene::drawn(&service, &toned("OnManual")).await;
        for name in ["first", "second", "third"] {
            let environment = scene.environment(name).await;
            let path = format!("{}/{environment}", scene.environments);
            let body = json!({"environmentId": environment, "move": false});
            let (deployed, deleted) = tokio::join!(scene.ask(body), scene.send("DELETE", &path, None));
            match deleted.status {
                200 => assert_eq!(deployed.wrong_fields(), ["environmentId"], "{deployed}"),
                _ => {
                    deleted.assert_refused(409, "CONFLICT");
                    deployed.data(200);
                }
            }
        }
    }

    async fn what_was_undeployed_in_an_environment_that_is_gone_does_not_run_again_without_secrets(service: Service) {
        let scene = Scene::drawn(&service, &toned("OnManual")).await;
        let third = scene.environment("third").await;
        scene.set_variables(&third, json!({"TONE": "third"})).await;
        let id = scene.deploy(json!({"environmentId": third})).await;
        scene.undeploy(&scene.pattern, &third).await;
        let redeploy = format!("/api/deployments/{id}/redeploy");
        scene.send("POST", &redeploy, None).await.data(200);
        assert_eq!(scene.output(&id, json!({})).await, "third");
        scene.undeploy(&scene.pattern, &third).await;
        scene.send("DELETE", &format!("{}/{third}", scene.environments), None).await.data(200);
        let refused = scene.send("POST", &redeploy, None).await;
        refused.assert_refused(409, "CONFLICT");
        assert!(refused.body["error"]["message"].as_str().unwrap().contains("environment"), "{refused}");
        let found = scene.send("GET", &format!("/api/deployments/{id}"), None).await;
        assert_eq!(found.data(200)["status"], "undeployed", "{found}");
        // It is deployed anew where there is an environment.
        let again = scene.deploy(json!({"environmentId": scene.production})).await;
        assert_eq!(scene.output(&again, json!({})).await, "loud");
    }

    async fn nothing_is_redeployed_to_an_environment_that_is_being_deleted(service: Service) {
        let scene = Scene::drawn(&service, &toned("OnManual")).await;
        for name in ["first", "second", "third"] {
            let environment = scene.environment(name).await;
            let body = json!({"environmentId": environment, "move": false});
            let id = scene.deploy(body).await;
            scene.undeploy(&scene.pattern, &environment).await;
            let (redeploy, path) = (format!("/api/deployments/{id}/redeploy"), format!("{}/{environment}", scene.environments));
            let (redeployed, deleted) = tokio::join!(scene.send("POST", &redeploy, None), scene.send("DELETE", &path, None));
            match deleted.status {
                200 => assert!([404, 409].contains(&redeployed.status), "{redeployed}"),
                _ => {
                    deleted.assert_refused(409, "CONFLICT");
                    redeployed.data(200);
                    // The others are not in each other's way.
                    scene.undeploy(&scene.pattern, &environment).await;
                }
            }
        }
    }

    async fn runs_are_listed_by_the_environment_of_their_deployment(service: Service) {
        let graph = chain(&[("start", "OnManual", json!({})), ("end", "Return", json!({"value": 1}))]);
        let (scene, production, staging) = Scene::deployed(&service, &graph).await;
        let loud = service.ran(&scene.ann, &production, &json!({})).await;
        let quiet = service.ran(&scene.ann, &staging, &json!({})).await;
        for (environment, name, run) in
            [(&scene.production, "production", &loud), (&scene.staging, "staging", &quiet)]
        {
            let listed = scene.get(&format!("/api/runs?environmentId={environment}")).await;
            let listed = listed.as_array().unwrap();
            assert_eq!((listed.len(), &listed[0]["id"]), (1, &json!(run)), "{listed:?}");
            assert_eq!((&listed[0]["environmentId"], &listed[0]["environmentName"]), (&json!(environment), &json!(name)));
        }
        assert_eq!(scene.get("/api/runs").await.as_array().unwrap().len(), 2);
        let nowhere = scene.get("/api/runs?environmentId=01932c07-209e-7f64-b0a3-5c1f1b0e6f3a").await;
        assert_eq!(nowhere, json!([]));
        let wrong = scene.send("GET", "/api/runs?environmentId=staging", None).await;
        wrong.assert_refused(400, "VALIDATION");
    }

    async fn lists_show_what_is_deployed_rather_than_what_is_undeployed(service: Service) {
        let (scene, production, staging) = Scene::deployed(&service, &toned("OnManual")).await;
        let shown = async || {
            let listed = scene.send("GET", "/api/patterns?owner=workspace", None).await;
            assert_eq!(listed.status, 200, "{listed}");
            listed.body["data"][0]["overview"]["deployment"]["id"].clone()
        };
        assert_eq!(shown().await, production);
        scene.undeploy(&scene.pattern, &scene.production).await;
        assert_eq!(shown().await, staging);
        scene.undeploy(&scene.pattern, &scene.staging).await;
        assert_eq!(shown().await, production);
    }
}
