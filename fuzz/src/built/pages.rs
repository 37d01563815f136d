//! Pages and regular expressions, which are read by what is compiled for the sandbox only: so patterns read them there, as any run does.
//! The first byte says which, regular expressions stand on a line of their own. A run ends within its limits, and by no trap.

use crate::runs::{Origin, compile, run, runtime};
use heddle_runtime::{Program, Tier};
use serde_json::{Value, json};
use std::sync::LazyLock;

static TEXT: LazyLock<Program> = LazyLock::new(|| program("Html", &json!({"operation": "text"})));
static EXTRACT: LazyLock<Program> = LazyLock::new(|| {
    let selectors = json!({
        "one": {"selector": "a[href]"}, "all": {"selector": "td:nth-child(2n+1) > :not(b), ul li:last-child", "all": true},
    });
    program("Html", &json!({ "selectors": selectors }))
});
static REGEX: LazyLock<Program> = LazyLock::new(|| {
    let code = "export default ({ input }) => \
        [...input.text.matchAll(new RegExp(input.pattern, input.flags))].map((match) => [match.index, ...match])";
    program("JavaScript", &json!({ "code": code }))
});

/// Compiles the patterns, and what they are compiled for.
pub(super) fn prepare() {
    for program in [&TEXT, &EXTRACT, &REGEX] {
        LazyLock::force(program);
    }
}

/// Checks an input.
pub fn check(data: &[u8]) {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let text = String::from_utf8_lossy(rest);
    let page = || Value::from(&*text);
    match kind % 3 {
        0 => run(&TEXT, &page(), Origin::Compiler),
        1 => run(&EXTRACT, &page(), Origin::Compiler),
        _ => {
            let (pattern, text) = text.split_once('\n').unwrap_or((&*text, ""));
            let flags = if kind % 2 == 0 { "gu" } else { "gis" };
            let event = json!({"pattern": pattern, "text": text, "flags": flags});
            run(&REGEX, &event, Origin::Compiler);
        }
    }
}

/// OnManual, the node, Return.
fn program(node: &str, parameters: &Value) -> Program {
    let graph = json!({
        "nodes": [
            {"id": "start", "type": "OnManual"},
            {"id": "it", "type": node, "data": {"parameters": parameters}},
            {"id": "end", "type": "Return"},
        ],
        "edges": [{"source": "start", "target": "it"}, {"source": "it", "target": "end"}],
    });
    let artifact = compile(&json!({"graph": graph, "nodeDefinitions": {}}), false);
    let module = artifact.expect("the pattern is right").wasm;
    runtime()
        .load(&module, Tier::Fast)
        .expect("the module is heddle's own")
}
