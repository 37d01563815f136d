//! Escapes from expressions and code nodes, and nodes that give the host away.

use super::{all_of, row};
use crate::harness::{Service, each_database};
use secrecy::ExposeSecret;
use serde_json::{Value, json};

/// What code that got out would find. `ARGUMENT` is a string literal with this.
/// `Buffer` is no part of a host: the engine has one of its own, over plain arrays; and `require` gives luxon and nothing else.
const LOOK_AROUND: &str = "return [typeof process, typeof (() => { try { return require('fs') } catch {} })(), typeof module, typeof Deno, typeof Bun, typeof std, \
                           typeof os, typeof WebAssembly].join()";
const NOTHING: &str = "undefined,undefined,undefined,undefined,undefined,undefined,undefined,undefined";

/// Number, technique, and an expression that finds nothing or fails.
const EXPRESSIONS: &[(&str, &str, &str)] = &[
    (
        "CVE-2025-68613",
        "a function's `this` is the host's global object",
        "(function () { return this.process.mainModule; })()",
    ),
    (
        "CVE-2025-68613",
        "the constructor of a constructor compiles in the host",
        "(() => {}).constructor(ARGUMENT)()",
    ),
    (
        "CVE-2026-25049",
        "destructuring takes `constructor` without naming it as a property",
        "(({ constructor: c }) => c(ARGUMENT)())(() => {})",
    ),
    (
        "CVE-2026-25049",
        "a key that becomes text only when it is used",
        "(() => {})[['constructor']](ARGUMENT)()",
    ),
    (
        "CVE-2026-72765",
        "an arrow function's body is not rewritten",
        "(() => { const f = () => { return []['at']['constructor'](ARGUMENT)(); }; return f(); })()",
    ),
    (
        "CVE-2026-27577",
        "a name that the rewriting overlooks",
        "((process) => typeof process + typeof globalThis.process)(globalThis.process)",
    ),
    (
        "CVE-2026-85165",
        "what an expression changes stays for the next one",
        "(() => { Error.prepareStackTrace = () => 'kept'; return 'kept'; })()",
    ),
    (
        "CVE-2026-33696",
        "a prototype that all objects share gets a new field",
        "(() => { $input.__proto__.kept = 'kept'; return 'kept'; })()",
    ),
];

/// Number, technique, and a module that finds nothing or fails.
const MODULES: &[(&str, &str, &str)] = &[
    (
        "CVE-2025-68697",
        "helpers of the host within the code node",
        "export default async function (c) { return [typeof this, typeof c.helpers, typeof helpers, typeof $helpers].join(); }",
    ),
    (
        "CVE-2026-27495",
        "the task runner's own objects",
        "export default () => Object.getOwnPropertySymbols(globalThis).map((s) => globalThis[s])[0].process.env",
    ),
    (
        "CVE-2026-119408",
        "code outside of the task runner",
        "export default () => (() => {}).constructor(ARGUMENT)()",
    ),
    (
        "CVE-2025-61917",
        "memory that is handed out as it was left",
        "export default () => `${[Buffer.allocUnsafe(1 << 16), new Uint8Array(1 << 16)].map((it) => it.find(Boolean))}`",
    ),
    (
        "CVE-2026-0863",
        "an exception's objects lead to the interpreter's frames",
        "export default () => { try { null.x; } catch (e) { return e.constructor.constructor(ARGUMENT)(); } }",
    ),
    (
        "CVE-2025-68668",
        "the interpreter's bridge to the host",
        "export default () => globalThis.pyodide.globals.get('js').process.env",
    ),
    (
        "CVE-2026-48499",
        "a module of another's run is still there",
        "export default async () => (await import('/tmp/code.js')).default",
    ),
];

/// Number, technique, node type and parameters that can't be deployed.
fn undeployable() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let value = |expression: &str| json!({"value": format!("{{{{ {expression} }}}}")});
    let mut all = vec![
        (
            "CVE-2025-68613",
            "the environment of the process",
            "Transform",
            value("process.env.PATH"),
        ),
        (
            "CVE-2025-68613",
            "variables of the environment by a name",
            "Transform",
            value("$env.PATH"),
        ),
        (
            "CVE-2026-1470",
            "`with` hides a name from checks of the syntax tree",
            "Transform",
            value("(function () { with (function () {}) { return constructor('return process')(); } })()"),
        ),
        (
            "CVE-2026-85165",
            "a free name in a spread",
            "Transform",
            value("[...process.argv]"),
        ),
        (
            "CVE-2026-85165",
            "a free name in a computed key",
            "Transform",
            value("({ [process.pid]: 1 })"),
        ),
        (
            "CVE-2026-85165",
            "a free name in a case",
            "Transform",
            value("(() => { switch (1) { case process.pid: return 1; } })()"),
        ),
        (
            "CVE-2026-85165",
            "a free name that a class extends",
            "Transform",
            value("class extends process.EventEmitter {}"),
        ),
        (
            "GHSA-9x83-43r8-5hwc",
            "a helper's prototype",
            "Transform",
            value("$fromAI.constructor('return process')()"),
        ),
        (
            "CVE-2025-61917",
            "an allocation without clearing",
            "Transform",
            value("Buffer.allocUnsafe(4096)"),
        ),
        (
            "CVE-2025-68668",
            "an import",
            "Transform",
            value("import('child_process')"),
        ),
        (
            "CVE-2025-68697",
            "an import of files",
            "JavaScript",
            json!({"code": "import fs from 'fs'; export default () => fs.readFileSync('/etc/passwd', 'utf8');"}),
        ),
    ];
    // There is no node that could be made to execute a command, to clone a repository or to touch a file.
    for (number, kind) in [
        ("CVE-2025-71380", "ExecuteCommand"),
        ("CVE-2025-62726", "Git"),
        ("CVE-2025-65964", "Git"),
        ("CVE-2026-21877", "n8n-nodes-base.git"),
        ("CVE-2026-25053", "n8n-nodes-base.git"),
        ("CVE-2026-44790", "n8n-nodes-base.git"),
        ("CVE-2026-72770", "n8n-nodes-base.git"),
        ("CVE-2025-57749", "ReadWriteFile"),
        ("CVE-2026-25052", "n8n-nodes-base.readWriteFile"),
        ("CVE-2026-25055", "Ssh"),
        ("CVE-2026-25115", "Python"),
        ("CVE-2026-49444", "n8n-nodes-base.code"),
        ("CVE-2026-119408", "n8n-nodes-base.functionItem"),
        ("CVE-2026-21893", "n8n-nodes-evil.evil; id"),
        ("CVE-2026-35216", "Bash"),
    ] {
        all.push((number, "a node that reaches the host", kind, json!({})));
    }
    all
}

each_database! {
    async fn code_and_expressions_find_nothing_of_the_host(service: Service) {
        let ann = service.user("ann").await;
        let argument = json!(LOOK_AROUND).to_string();
        let entries = || EXPRESSIONS.iter().map(|entry| ("Transform", entry)).chain(MODULES.iter().map(|entry| ("JavaScript", entry)));
        let nodes: Vec<(&str, Value)> = entries().map(|(kind, (_, _, source))| {
            let source = source.replace("ARGUMENT", &argument);
            (kind, if kind == "Transform" { json!({"value": format!("{{{{ {source} }}}}")}) } else { json!({"code": source}) })
        }).collect();
        let deployment = service.deployed(&ann, &row(&nodes, &all_of(nodes.len()))).await;
        // A second run of the same deployment finds what the first one found.
        for _ in 0..2 {
            let outcome = service.outcome_of(&ann, &deployment, &json!({})).await;
            let found = outcome["output"].as_array().unwrap_or_else(|| panic!("{outcome}"));
            assert_eq!(found.len(), nodes.len());
            for (found, (_, (number, technique, _))) in found.iter().zip(entries()) {
                let failed = ["EXPRESSION", "JAVASCRIPT"].contains(&found["error"]["code"].as_str().unwrap_or_default());
                let nothing = found.as_str().is_some_and(|text| text.replace("undefined", "").trim_matches(',').is_empty())
                    || found == NOTHING;
                assert!(failed || nothing, "{number}: {technique}: {found}");
            }
            let text = outcome.to_string();
            for secret in [std::env::var("PATH").unwrap(), service.app.config.jwt_secret.expose_secret().to_owned(), "root:".to_owned()] {
                assert!(!text.contains(&secret), "{text}");
            }
        }
        let clean = "{{ [({}).kept, [].kept, new Error('x').stack === 'kept', /x/.source] }}";
        let found = service.output_of(&ann, &row(&[], &json!(clean)), &json!({})).await;
        assert_eq!(found, json!([null, null, false, "x"]));
    }

    async fn what_reaches_for_the_host_is_not_deployed(service: Service) {
        let ann = service.user("ann").await;
        let pattern = service.drawn(&ann, &row(&[], &json!(1))).await;
        for (number, technique, kind, parameters) in undeployable() {
            service.redrawn(&ann, &pattern, &row(&[(kind, parameters)], &json!(1))).await;
            let path = format!("/api/patterns/{pattern}/deploy");
            let refused = service.ask(&ann, "POST", &path, &json!({"nodeDefinitions": {}})).await;
            assert_eq!((refused.status, &refused.body["success"]), (422, &json!(false)), "{number}: {technique}: {refused}");
            assert_eq!(refused.body["errors"][0]["nodeId"], "n0", "{number}: {technique}: {refused}");
        }
    }

    /// CVE-2026-73081 (Activepieces): the name of a step gets into a command line. CVE-2026-48499 (Activepieces): code is
    /// kept by its name, so that another tenant's is executed.
    async fn names_of_nodes_are_neither_commands_nor_keys(service: Service) {
        let (ann, eve) = (service.user("ann").await, service.user("eve").await);
        let mark = std::env::temp_dir().join(format!("heddle-{}", uuid::Uuid::now_v7().simple()));
        let command = format!("$(touch {0}); `touch {0}` | touch {0}", mark.display());
        let graph = |code: &str| {
            let mut graph = row(&[("JavaScript", json!({"code": code}))], &json!("{{ $input }}"));
            graph["nodes"][1]["data"]["label"] = json!(command);
            graph
        };
        let output = service.output_of(&ann, &graph("export default () => 'ann'"), &json!({})).await;
        assert_eq!(output, "ann");
        let output = service.output_of(&eve, &graph("export default () => 'eve'"), &json!({})).await;
        assert_eq!(output, "eve", "the same ids and names, other code");
        assert!(!mark.exists());
        let mut named = graph("export default () => 1");
        named["nodes"][1]["id"] = json!(command);
        let pattern = service.drawn(&ann, &named).await;
        let path = format!("/api/patterns/{pattern}/deploy");
        assert_eq!(service.ask(&ann, "POST", &path, &json!({"nodeDefinitions": {}})).await.status, 422);
        assert!(!mark.exists());
    }
}
