//! Nodes that decide what runs.

use crate::built::Translation;
use crate::conditions::Conditions;
use crate::expression::quoted;
use crate::loops;
use crate::room::bytes;
use crate::scene::Scene;
use crate::workflow::Node;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn with_remarks(translation: Translation, remarks: Vec<(&'static str, String)>) -> Translation {
    remarks
        .into_iter()
        .fold(translation, |translation, (code, message)| {
            translation.differs(code, message)
        })
}

pub(super) fn condition(scene: &Scene<'_>) -> Translation {
    let conditions = Conditions::of_node(scene.node);
    let translation = Translation::each("If", conditions.parameters(&scene.names)).outputs(["true", "false"]);
    with_remarks(translation, conditions.remarks)
}

/// A branch that nothing takes ends, as an empty list does in n8n.
pub(super) fn filter(scene: &Scene<'_>) -> Translation {
    let conditions = Conditions::of_node(scene.node);
    let translation = Translation::each("If", conditions.parameters(&scene.names)).outputs(["true"]);
    with_remarks(translation, conditions.remarks)
}

pub(super) fn switch(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    if node.choice(&["mode"], "rules") == "expression" {
        return by_number(scene);
    }
    let rules = match node.version < 3.0 {
        true => old_rules(scene),
        false => rules(scene),
    };
    if rules.is_empty() {
        return Translation::stub("the Switch has no rules, or compares something very long");
    }
    let fallback = fallback(scene, rules.len());
    let mut remarks = Vec::new();
    let mut by_output: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for (output, conditions) in rules {
        by_output
            .entry(output)
            .or_default()
            .push(conditions.javascript(&scene.names));
        remarks.extend(conditions.remarks);
    }
    remarks.dedup();
    let shared = by_output.values().any(|rules| rules.len() > 1);
    let (cases, ports) = cases(by_output, fallback);
    let all = node.flag(&["options", "allMatchingOutputs"], false);
    let translation = Translation::each("Switch", json!({"cases": cases, "all": all}))
        .outputs(ports)
        .differs_if(
            shared,
            "rules",
            "several rules lead to one output; an earlier output comes first",
        );
    with_remarks(translation, remarks)
}

/// A case for each output, and the ports by output. Nothing leaves through an output that no rule leads to. What no rule takes may
/// leave by a rule's output.
fn cases(mut by_output: BTreeMap<usize, Vec<String>>, fallback: Option<usize>) -> (Vec<Value>, Vec<String>) {
    let last = by_output.keys().copied().chain(fallback).max().unwrap_or(0);
    let others: Vec<String> = by_output
        .iter()
        .filter(|(output, _)| fallback != Some(**output))
        .flat_map(|(_, rules)| rules.iter().cloned())
        .collect();
    let (mut cases, mut ports) = (Vec::new(), Vec::new());
    for output in 0..=last {
        let name = format!("case{output}");
        match (by_output.remove(&output), fallback == Some(output)) {
            (Some(mut rules), is_fallback) => {
                if is_fallback {
                    rules.push(match others.is_empty() {
                        true => "true".to_owned(),
                        false => format!("!({})", others.join(" || ")),
                    });
                }
                let when = format!("{{{{ {} }}}}", rules.join(" || "));
                cases.push(json!({"name": name, "when": when}));
                ports.push(name);
            }
            (None, true) => ports.push("default".to_owned()),
            (None, false) => {
                cases.push(json!({"name": name, "when": false}));
                ports.push(name);
            }
        }
    }
    (cases, ports)
}

/// The output of what no rule takes.
fn fallback(scene: &Scene<'_>, rules: usize) -> Option<usize> {
    let given = match scene.node.version < 3.0 {
        true => scene.node.parameter(&["fallbackOutput"]),
        false => scene.node.parameter(&["options", "fallbackOutput"]),
    };
    match given {
        Value::Number(number) => number.as_u64().map(|number| (number as usize).min(100)),
        Value::String(text) if text == "extra" => Some(rules),
        _ => None,
    }
}

fn rules(scene: &Scene<'_>) -> Vec<(usize, Conditions)> {
    let loose = scene.node.flag(&["looseTypeValidation"], false);
    let conditions = |rule: &Value| Conditions::new(rule.get("conditions").unwrap_or(&Value::Null), loose);
    let rules = scene.node.list(&["rules", "values"]).iter().take(100);
    rules.map(conditions).enumerate().collect()
}

/// Bytes of what an old Switch compares.
const LEFT_BYTES_MAX: usize = 16 << 10;

fn old_rules(scene: &Scene<'_>) -> Vec<(usize, Conditions)> {
    let kind = scene.node.choice(&["dataType"], "number");
    let left = scene.node.parameter(&["value1"]);
    // Every rule has it, so that a long one would be there a hundred times.
    let rules = match bytes([left]) > LEFT_BYTES_MAX {
        true => &[][..],
        false => scene.node.list(&["rules", "rules"]),
    };
    let rules = rules.iter().take(100).enumerate();
    let read = |(number, rule): (usize, &Value)| {
        let output = rule.get("output").and_then(Value::as_u64);
        let default = if scene.node.version < 2.0 { 0 } else { number };
        let output = output.map_or(default, |output| (output as usize).min(100));
        let operation = rule.get("operation").and_then(Value::as_str).unwrap_or("equal");
        let default = if kind == "number" { json!(0) } else { json!("") };
        (
            output,
            Conditions::one(kind, left, operation, rule.get("value2").unwrap_or(&default)),
        )
    };
    rules.map(read).collect()
}

fn by_number(scene: &Scene<'_>) -> Translation {
    let given = scene.node.parameter(&["output"]);
    let count = scene
        .node
        .parameter(&["numberOutputs"])
        .as_u64()
        .unwrap_or(4)
        .clamp(1, 100);
    let ports: Vec<String> = (0..count).map(|number| format!("case{number}")).collect();
    let cases: Vec<Value> = (0..)
        .zip(&ports)
        .map(|(number, name)| json!({"name": name, "equals": number}))
        .collect();
    let value = format!("{{{{ Number({}) }}}}", scene.source(given));
    Translation::each("Switch", json!({"value": value, "cases": cases})).outputs(ports)
}

pub(super) fn merge(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let old = matches!(
        node.choice(&["mode"], "append"),
        "mergeByKey"
            | "mergeByIndex"
            | "removeKeyMatches"
            | "multiplex"
            | "keepKeyMatches"
            | "passThrough"
            | "wait"
    );
    let by = match node.choice(&["mode"], "append") {
        "combine" => node.choice(
            &["combineBy"],
            node.choice(&["combinationMode"], "combineByFields"),
        ),
        mode => mode,
    };
    match by {
        "append" => Translation::whole("Merge", json!({"mode": "append"})),
        "combineByPosition" | "mergeByPosition" | "mergeByIndex" => by_position(scene),
        "combineByFields" | "mergeByFields" | "mergeByKey" => by_fields(scene, old),
        "chooseBranch" | "passThrough" | "wait" => choose(scene),
        "combineAll" | "multiplex" => product(scene),
        "removeKeyMatches" | "keepKeyMatches" => by_old_key(scene, by == "keepKeyMatches"),
        other => Translation::stub(format!("Merge has no mode like `{other}`")),
    }
}

/// Whether edges lead to both inputs.
fn has_both(scene: &Scene<'_>) -> bool {
    let mut edges = scene
        .workflow
        .edges
        .iter()
        .filter(|edge| edge.is_main && edge.target == scene.place);
    edges.clone().any(|edge| edge.input == 0) && edges.any(|edge| edge.input == 1)
}

/// How fields of the same name are merged.
const CLASH: &str = "if a field is an object in both, the last one replaces the other; n8n merges them";

/// How n8n is told to merge fields of the same name, if it is told.
fn clash_handling(node: &Node) -> Option<&Value> {
    let setting = node.parameter(&["options", "clashHandling", "values"]);
    setting
        .as_object()
        .is_some_and(|setting| !setting.is_empty())
        .then_some(setting)
}

/// Whether what is in fields of the same name is merged.
fn is_deep(node: &Node) -> bool {
    let setting = clash_handling(node).and_then(|setting| setting.get("mergeMode"));
    node.version >= 2.0 && setting.is_none_or(|mode| mode == "deepMerge")
}

/// What differs of fields of the same name.
fn clash(node: &Node) -> Option<&'static str> {
    let setting = clash_handling(node);
    let choice = |name: &str| {
        setting
            .and_then(|setting| setting.get(name))
            .and_then(Value::as_str)
    };
    let last = format!("preferInput{}", inputs(node).unwrap_or(2));
    match (setting, choice("resolveClash")) {
        (Some(_), None) => {
            Some("if fields have the same name, the last one counts; the export does not say what n8n does")
        }
        (Some(_), Some("addSuffix")) => {
            Some("fields get no suffixes: if several have the same name, the last one counts")
        }
        (Some(_), Some(prefers)) if prefers != "preferLast" && prefers != last => {
            Some("if fields have the same name, the last input's counts; n8n prefers another input's")
        }
        (Some(setting), _) if setting.get("overrideEmpty") == Some(&Value::Bool(true)) => {
            Some("empty fields of the last input count as well; n8n keeps the value of another input")
        }
        _ if !is_deep(node) => Some("items have the files of the last input only; n8n keeps those of all"),
        _ => None,
    }
}

/// How many inputs it has; none if that is computed.
fn inputs(node: &Node) -> Option<u64> {
    match node.parameter(&["numberInputs"]) {
        Value::Null => Some(2),
        given => given.as_u64(),
    }
}

/// Whether exactly one edge leads to each input.
fn has_one_each(scene: &Scene<'_>) -> bool {
    let edges = scene.workflow.edges.iter();
    let edges = edges.filter(|edge| edge.is_main && edge.target == scene.place);
    let mut found: Vec<u64> = edges.map(|edge| edge.input as u64).collect();
    found.sort_unstable();
    inputs(scene.node).is_some_and(|inputs| found.into_iter().eq(0..inputs))
}

fn by_position(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let unpaired = match node.version >= 2.0 {
        true => node.flag(&["options", "includeUnpaired"], false),
        false => node.choice(&["join"], "left") != "inner",
    };
    let clash = clash(node);
    Translation::whole("Merge", json!({"mode": "zip", "deep": is_deep(node)}))
        .differs_if(clash.is_some(), "clash", clash.unwrap_or_default())
        .differs_if(
            unpaired,
            "unpaired",
            "items without a partner at their place are left out",
        )
        .differs_if(
            (2.0..3.0).contains(&node.version),
            "empty",
            "if one input gets no items, nothing leaves; n8n passes on the items of the other one",
        )
        .differs_if(
            !has_one_each(scene),
            "inputs",
            "the lists of all edges are merged; n8n gives nothing if an input has no edge, and does not merge lists of the same input",
        )
}

fn choose(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let second = node.choice(&["output"], "input1") == "input2"
        || node.located("useDataOfInput") == 2
        || node.text(&["useDataOfInput"]) == "2";
    let empty = node.choice(&["output"], "specifiedInput") == "empty";
    if !has_both(scene) || empty {
        return Translation::stub("nothing leads to one of its inputs, or it gives an empty item");
    }
    match second {
        true => Translation::of_two("SecondInput", "{{ $input.b }}"),
        false => Translation::of_two("FirstInput", "{{ $input.a }}"),
    }
}

fn product(scene: &Scene<'_>) -> Translation {
    if !has_both(scene) {
        return Translation::stub("nothing leads to one of its inputs");
    }
    let all = "{{ $input.a.flatMap(left => $input.b.map(right => ({ ...left, ...right }))) }}";
    Translation::of_two("AllCombinations", all).differs("clash", CLASH)
}

fn by_fields(scene: &Scene<'_>, old: bool) -> Translation {
    let node = scene.node;
    let string = node
        .text(&["fieldsToMatchString"])
        .split(',')
        .next()
        .unwrap_or_default()
        .trim();
    let listed = |name: &str| {
        let pair = node
            .parameter(&["mergeByFields"])
            .pointer(&format!("/values/0/{name}"));
        pair.and_then(Value::as_str).unwrap_or(string).to_owned()
    };
    let (left, right) = match old {
        true => (
            node.text(&["propertyName1"]).to_owned(),
            node.text(&["propertyName2"]).to_owned(),
        ),
        false => (listed("field1"), listed("field2")),
    };
    let several = node.list(&["mergeByFields", "values"]).len() > 1
        || node.text(&["fieldsToMatchString"]).contains(',');
    if left.is_empty() || right.is_empty() || left.starts_with('=') || right.starts_with('=') || several {
        return Translation::stub("there are no fields to match, several, or computed ones");
    }
    let join = node.choice(&["joinMode"], if old { "enrichInput1" } else { "keepMatches" });
    if let ("keepNonMatches", of @ ("input1" | "input2")) = (join, node.choice(&["outputDataFrom"], "both")) {
        return without_partner(scene, &left, &right, of == "input2");
    }
    let kind = match join {
        "keepMatches" => "inner",
        "enrichInput1" => "left",
        "enrichInput2" => "right",
        "keepEverything" => "full",
        other => return Translation::stub(format!("Merge has no mode like `{other}`")),
    };
    let of_one = node.choice(&["outputDataFrom"], "both") != "both";
    let translation = match kind {
        "inner" => {
            let parameters = json!({"mode": "join", "key": left, "rightKey": right, "deep": is_deep(node)});
            let clash = clash(node);
            Translation::whole("Merge", parameters)
                .differs_if(clash.is_some(), "clash", clash.unwrap_or_default())
                .differs(
                    "key",
                    "items whose field is null have no partner; n8n pairs them with each other",
                )
        }
        _ => Translation::whole("Join", json!({"leftKey": left, "rightKey": right, "type": kind}))
            .inputs(&["left", "right"])
            .differs("clash", CLASH),
    };
    translation.differs_if(
        of_one && kind == "inner",
        "output",
        "items have the fields of both inputs; in n8n the node is set to keep those of one",
    )
}

/// What follows the name of an item to read its field.
fn path(node: &Node, field: &str) -> String {
    let parts = match node.flag(&["options", "disableDotNotation"], false) {
        true => vec![field],
        false => field.split('.').collect(),
    };
    let parts = parts.into_iter().map(|part| format!("?.[{}]", quoted(part)));
    parts.collect()
}

/// The items of one input of which the other one has none with the same field.
fn without_partner(scene: &Scene<'_>, left: &str, right: &str, of_second: bool) -> Translation {
    if !has_both(scene) {
        return Translation::stub("nothing leads to one of its inputs");
    }
    let (left, right) = (path(scene.node, left), path(scene.node, right));
    let ((own, key), (others, other_key)) = match of_second {
        true => (("b", right), ("a", left)),
        false => (("a", left), ("b", right)),
    };
    let kept = format!(
        "{{{{ $input.{own}.filter(one => one{key} === undefined || !$input.{others}.some(other => other{other_key} === one{key})) }}}}"
    );
    Translation::of_two("WithoutPartner", &kept).differs(
        "key",
        "fields match if they are strictly equal, and objects and lists never do",
    )
}

/// Merging by key in n8n's first version, which compares texts: the items of the first input that have a partner, or those that have none.
fn by_old_key(scene: &Scene<'_>, with_partner: bool) -> Translation {
    let node = scene.node;
    let (left, right) = (node.text(&["propertyName1"]), node.text(&["propertyName2"]));
    if left.is_empty() || right.is_empty() || left.starts_with('=') || right.starts_with('=') {
        return Translation::stub("there are no fields to match, or computed ones");
    }
    if !has_both(scene) {
        return Translation::stub("nothing leads to one of its inputs");
    }
    let (left, right) = (path(node, left), path(node, right));
    let partner =
        format!("$input.b.some(other => other{right} && String(other{right}) === String(one{left}))");
    let (name, kept) = match with_partner {
        true => ("WithPartner", format!("one{left} !== undefined && {partner}")),
        false => ("WithoutPartner", format!("one{left} === undefined || !{partner}")),
    };
    Translation::of_two(name, &format!("{{{{ $input.a.filter(one => {kept}) }}}}")).differs(
        "key",
        "all values are compared as text; in n8n only texts and numbers are",
    )
}

pub(super) fn batches(scene: &Scene<'_>) -> Translation {
    let size = loops::batch(scene.node);
    let parameters = json!({"batchSize": size});
    let mut edges = scene.workflow.edges.iter();
    let returns = edges
        .any(|edge| edge.is_main && edge.target == scene.place && scene.flow.leads(scene.place, edge.source));
    let ports = if scene.node.version >= 3.0 {
        ["done", "item"]
    } else {
        ["item", "done"]
    };
    Translation::whole("ForEach", parameters)
        .outputs(ports)
        .differs_if(
            !returns,
            "loop",
            "nothing comes back, so n8n would execute the first batch only; here all are",
        )
        .differs_if(
            returns && may_give_nothing(scene),
            "loop",
            "a round from which nothing comes back is followed by the next one; n8n's loop ends there",
        )
        .differs_if(
            scene.node.flag(&["options", "reset"], false),
            "reset",
            "it never starts over with the items that have come back",
        )
}

/// Whether a round may end without an item.
fn may_give_nothing(scene: &Scene<'_>) -> bool {
    let is_inside = |place: usize| {
        place != scene.place && scene.flow.leads(scene.place, place) && scene.flow.leads(place, scene.place)
    };
    let mut edges = scene
        .workflow
        .edges
        .iter()
        .filter(|edge| edge.is_main && is_inside(edge.source));
    edges.any(|edge| {
        let node = scene.workflow.nodes.get(edge.source);
        let decides = node.is_some_and(|node| matches!(node.kind.as_str(), "if" | "switch" | "filter"));
        decides || scene.flow.gives_several(edge.source)
    })
}

pub(super) fn wait(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    match node.choice(&["resume"], "timeInterval") {
        "webhook" => Translation::whole("WaitForCallback", json!({})).differs(
            "callback",
            "the run waits for a POST to `$run.callbackUrl`, and goes on with that request",
        ),
        "form" => super::forms::waited_for(scene),
        "specificTime" => Translation::whole("Wait", json!({"until": scene.of(&["dateTime"])})),
        _ => duration(scene),
    }
}

fn duration(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let (amount, unit) = match node.version > 1.0 {
        true => (5.0, "seconds"),
        false => (1.0, "hours"),
    };
    let factor: f64 = match node.choice(&["unit"], unit) {
        "minutes" => 60_000.0,
        "hours" => 3_600_000.0,
        "days" => 86_400_000.0,
        _ => 1_000.0,
    };
    let given = node.parameter(&["amount"]);
    let milliseconds = match given {
        Value::String(text) if text.starts_with('=') => json!(format!(
            "{{{{ Math.round({} * {factor}) }}}}",
            scene.source(given)
        )),
        given => {
            let amount = given
                .as_f64()
                .or_else(|| given.as_str()?.parse().ok())
                .unwrap_or(amount);
            json!((amount * factor).clamp(0.0, 31_622_400_000.0).round() as u64)
        }
    };
    Translation::whole("Wait", json!({"durationMs": milliseconds}))
}

pub(super) fn nothing(_: &Scene<'_>) -> Translation {
    Translation::whole("NoOp", json!({}))
}

pub(super) fn execution_data(_: &Scene<'_>) -> Translation {
    Translation::whole("NoOp", json!({})).differs(
        "execution-data",
        "runs have no fields of their own by which to search",
    )
}

pub(super) fn stop(scene: &Scene<'_>) -> Translation {
    let is_object = scene.node.choice(&["errorType"], "errorMessage") == "errorObject";
    let message = match is_object {
        true => json!(format!(
            "{{{{ JSON.stringify({}) }}}}",
            scene.source(scene.node.parameter(&["errorObject"]))
        )),
        false => match scene.of(&["errorMessage"]) {
            Value::String(text) if !text.is_empty() => text.into(),
            _ => json!("An error occurred"),
        },
    };
    Translation::each("Throw", json!({"message": message}))
}

pub(super) fn respond(scene: &Scene<'_>) -> Translation {
    let node = scene.node;
    let mut parameters = json!({});
    let status = node.parameter(&["options", "responseCode"]);
    if !status.is_null() {
        parameters["status"] = scene.value(status);
    }
    let headers = node.list(&["options", "responseHeaders", "entries"]);
    if !headers.is_empty() {
        parameters["headers"] = super::http::pairs(scene, headers);
    }
    let body = scene.of(&["responseBody"]);
    let first = "{{ $input }}";
    match node.choice(&["respondWith"], "firstIncomingItem") {
        "text" => {
            parameters["body"] = body;
            parameters["bodyType"] = "text".into();
        }
        "json" => match body.as_str().map(serde_json::from_str::<Value>) {
            Some(Ok(value)) if !body.as_str().is_some_and(|text| text.contains("{{")) => {
                parameters["body"] = value
            }
            _ => {
                let source = scene.source(node.parameter(&["responseBody"]));
                parameters["body"] = format!("{{{{ [{source}].map(body => typeof body === \"string\" ? JSON.parse(body) : body)[0] }}}}").into();
            }
        },
        "noData" => {
            parameters["body"] = "".into();
            parameters["bodyType"] = "text".into();
        }
        "allIncomingItems" => {
            parameters["body"] = "{{ $input }}".into();
            return Translation::whole("RespondToWebhook", parameters);
        }
        "redirect" => {
            parameters["status"] = if status.is_null() {
                json!(307)
            } else {
                scene.value(status)
            };
            parameters["headers"] = json!({"Location": scene.of(&["redirectURL"])});
            parameters["body"] = "".into();
            parameters["bodyType"] = "text".into();
        }
        "firstIncomingItem" => parameters["body"] = first.into(),
        other => return Translation::stub(format!("answers can't be of the kind `{other}`")),
    }
    // It is executed for each item, and the first one answers.
    Translation::each("RespondToWebhook", parameters)
}
