//! What the compiler says of graphs: one case for each rule, and good graphs of which it says nothing.

use heddle_compiler::{Diagnostic, Options, Severity, check};
use serde_json::{Value, json};

/// Diagnostics as text: `error[code] node.parameter: message`, help and excerpt below.
pub(crate) fn said(diagnostics: &[Diagnostic]) -> String {
    let mut text = String::new();
    for diagnostic in diagnostics {
        let severity = match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let place = [diagnostic.node_id.as_deref(), diagnostic.parameter.as_deref()];
        let place: Vec<&str> = place.into_iter().flatten().collect();
        let place = if place.is_empty() {
            "graph".to_owned()
        } else {
            place.join(" ")
        };
        text += &format!(
            "{severity}[{}] {place}: {}\n",
            diagnostic.code, diagnostic.message
        );
        if let Some(help) = &diagnostic.help {
            text += &format!("  {help}\n");
        }
        if let Some(excerpt) = &diagnostic.excerpt {
            text += &format!("  at `{}`\n", &excerpt.text[excerpt.span.clone()]);
        }
    }
    text
}

pub(crate) fn of(graph: Value) -> String {
    said(&check(&graph, &json!({}), &Options::default()))
}

pub(crate) fn with_definitions(graph: Value, definitions: Value) -> String {
    said(&check(&graph, &definitions, &Options::default()))
}

pub(crate) fn node(id: &str, node_type: &str, parameters: Value) -> Value {
    json!({ "id": id, "type": node_type, "data": { "parameters": parameters } })
}

/// Edges written `a -> b` or `a.port -> b.port`.
pub(crate) fn graph(nodes: impl IntoIterator<Item = Value>, edges: &[&str]) -> Value {
    let end = |text: &str| {
        let (id, port) = text
            .split_once('.')
            .map_or((text, None), |(id, port)| (id, Some(port)));
        (id.to_owned(), port.map(str::to_owned))
    };
    let edge = |text: &&str| {
        let (source, target) = text.split_once(" -> ").unwrap();
        let ((source, source_handle), (target, target_handle)) = (end(source), end(target));
        json!({ "source": source, "sourceHandle": source_handle, "target": target, "targetHandle": target_handle })
    };
    json!({
        "nodes": nodes.into_iter().collect::<Vec<_>>(),
        "edges": edges.iter().map(edge).collect::<Vec<_>>(),
    })
}

/// A graph that starts at `start`, an OnManual.
pub(crate) fn started(nodes: impl IntoIterator<Item = Value>, edges: &[&str]) -> Value {
    graph(
        [node("start", "OnManual", json!({}))].into_iter().chain(nodes),
        edges,
    )
}

pub(crate) fn noop(id: &str) -> Value {
    node(id, "NoOp", json!({}))
}

pub(crate) fn transform(id: &str, value: &str) -> Value {
    node(id, "Transform", json!({ "value": value }))
}

macro_rules! says {
    ($name:ident, $said:expr, @$expected:literal) => {
        #[test]
        fn $name() {
            insta::assert_snapshot!($said, @$expected);
        }
    };
}

says!(nothing_is_said_of_good_graphs, of(started(
    [
        transform("order", "{{ $input.order }}"),
        node("big", "If", json!({ "condition": "{{ $input.total > 40 }}" })),
        transform("discounted", "{{ ({ ...$input, price: $(\"order\").total * 0.9 }) }}"),
        noop("join"),
        node("each", "ForEach", json!({ "items": "{{ $input.lines }}" })),
        transform("line", "{{ $item.price * $index }}"),
        node("end", "Return", json!({ "value": "{{ $nodes[\"line\"] }}" })),
    ],
    &["start -> order", "order -> big", "big.true -> discounted", "discounted -> join", "big.false -> join",
      "join -> each", "each.item -> line", "line -> each.next", "each.done -> end"],
)), @"");

says!(malformed_fields, of(json!({
    "nodes": [
        5,
        { "id": "a b", "type": "NoOp" },
        { "id": "n", "type": 4, "data": { "retry": { "maxAttempts": 0, "factor": "x" }, "onError": "branche",
          "disabled": "no", "each": 1, "once": "x", "always": 0, "parameters": [], "typeVersion": 7, "timeoutMs": -1 } },
        { "id": "n", "type": "NoOp" },
        { "id": "t", "type": "OnManual", "data": null },
    ],
    "edges": [{ "source": "t" }, { "source": "t", "target": "n", "sourceHandle": 3 }],
    "settings": { "timeoutMs": "soon", "memoryMb": 8, "computeSeconds": 0.5, "maxEffects": 100_001, "retry": { "maxAttempts": 1.5 } },
})), @r#"
error[malformed] graph: settings.timeoutMs must be a whole number from 1 to 2592000000, not the text "soon"
error[malformed] graph: settings.memoryMb must be a whole number from 16 to 4096, not 8
error[malformed] graph: settings.computeSeconds must be a whole number from 1 to 86400, not 0.5
error[malformed] graph: settings.maxEffects must be a whole number from 1 to 100000, not 100001
error[malformed] graph: settings.retry.maxAttempts must be a whole number from 1 to 100, not 1.5
error[malformed] graph: nodes[0] must be an object, not 5
error[malformed] graph: nodes[1].id must be 1 to 64 letters, digits and any of _ . : - (given: the text "a b")
error[malformed] graph: edges[0].target must be the id of a node (given: it is missing)
error[malformed] graph: edges[1].sourceHandle must be text, not 3
error[malformed] n: nodes[2].type must be the name of a node type (given: 4)
error[malformed] n: nodes[2].data.typeVersion must be 1, the only version, not 7
error[malformed] n: nodes[2].data.disabled must be true or false, not the text "no"
error[malformed] n: nodes[2].data.parameters must be an object, not an array of 0
error[malformed] n: nodes[2].data.onError must be "fail", "continue" or "branch", not the text "branche"
  did you mean `branch`?
error[malformed] n: nodes[2].data.retry.maxAttempts must be a whole number from 1 to 100, not 0
error[malformed] n: nodes[2].data.retry.factor must be a number from 1 to 100, not the text "x"
error[malformed] n: nodes[2].data.timeoutMs must be a whole number from 1 to 2592000000, not -1
error[malformed] n: nodes[2].data.each must be true or false, not 1
error[malformed] n: nodes[2].data.once must be true or false, not the text "x"
error[malformed] n: nodes[2].data.always must be true or false, not 0
error[duplicate-id] n: nodes[3].id: another node already has the id `n`
  give every node its own id
"#);

says!(once_and_always_where_they_cannot_be, of({
    let mut graph = started([node("merge", "Merge", json!({})), node("end", "Return", json!({}))], &["start -> merge", "merge -> end"]);
    for (node, option) in [(0usize, "once"), (0, "always"), (1, "once"), (2, "always")] {
        graph["nodes"][node]["data"][option] = true.into();
    }
    graph
}), @r#"
error[option] start: once can't be used on a trigger: no list comes to it
error[option] start: always can't be used on a trigger: what starts a run always leaves it
error[option] merge: once can't be used on a Merge, which joins all that comes; use it on the nodes before
error[option] end: always can't be used on a node without an output
"#);

says!(not_a_graph, of(json!([1])), @r#"
error[malformed] graph: a graph is an object with nodes and edges, not an array of 1
"#);

says!(unknown_types_and_ports, of(started(
    [node("a", "Transfrom", json!({})), node("b", "If", json!({ "condition": true })), noop("c"), noop("d")],
    &["start -> a", "a -> b", "b.ture -> c", "b.false -> c.input", "c.error -> d", "gone -> d", "d -> strat"],
)), @r#"
error[unknown-type] a: there is no node type `Transfrom`
  did you mean `Transform`?
error[unknown-port] b: `If` has no output port `ture`; its output ports: `true` and `false`
  did you mean `true`?
error[unknown-port] c: `NoOp` has no input port `input`; its input ports: `in`
  did you mean `in`?
error[unknown-port] c: `NoOp` has no output port `error`; its output ports: `out`
  set onError to "branch" to get an error port
error[unknown-node] d: an edge comes from a node `gone` that does not exist
error[unknown-node] d: an edge goes to a node `strat` that does not exist
  did you mean `start`?
"#);

says!(triggers, of(graph(
    [noop("a"), node("hook", "OnWebhook", json!({ "alias": "{{ 1 }}" })), node("tick", "OnSchedule", json!({ "cron": "61 * * *" }))],
    &["hook -> a", "a -> hook", "tick -> a"],
)), @r#"
error[edge-into-trigger] hook: an edge from `a` enters a trigger; a run starts there
  delete the edge, or let it enter the node after the trigger
error[literal-only] hook alias: must be a literal: it is needed before the run and can't be an expression
error[cron] tick cron: has 4 fields; it takes 5 (minute hour day month weekday), or 6 with seconds first
"#);

says!(cron_fields, of(graph([node("tick", "OnSchedule", json!({ "cron": "0 25 * JAN-MAR MON,WED" }))], &[])), @r#"
error[cron] tick cron: `25` is not a valid hour: use numbers from 0 to 23, `*`, ranges `a-b`, steps `/n` and lists `a,b`
"#);

says!(time_zones, of(graph(
    [
        node("tick", "OnSchedule", json!({ "cron": "0 9 * * *", "timezone": "Europe/Berln" })),
        node("tock", "OnSchedule", json!({ "cron": "0 9 * * *", "timezone": "+02:00" })),
        node("fine", "OnSchedule", json!({ "cron": "0 9 * * *", "timezone": "America/Argentina/Ushuaia" })),
        node("local", "DateTime", json!({ "operation": "format", "timezone": "Europe/Prag" })),
        node("offset", "DateTime", json!({ "operation": "format", "timezone": "-05:30" })),
        node("computed", "DateTime", json!({ "operation": "format", "timezone": "{{ $vars.zone }}" })),
    ],
    &["tick -> local", "local -> offset", "offset -> computed"],
)), @r#"
error[time-zone] tick timezone: there is no time zone `Europe/Berln`
  did you mean `Europe/Berlin`?
error[time-zone] tock timezone: there is no time zone `+02:00`
  write a name such as `Europe/Berlin`, or leave it out for UTC
error[time-zone] local timezone: there is no time zone `Europe/Prag`
  did you mean `Europe/Prague`?
"#);

says!(a_misspelt_trigger_may_be_the_one, of(graph(
    [node("start", "OnManul", json!({})), noop("a"), node("w", "RespondToWebhook", json!({}))],
    &["start -> a", "a -> w"],
)), @r#"
error[unknown-type] start: there is no node type `OnManul`
  did you mean `OnManual`?
"#);

says!(what_if_decides_by, of(started(
    [
        node("none", "If", json!({ "conditions": null })),
        node("both", "If", json!({ "condition": true, "conditions": [] })),
        node("null", "If", json!({ "condition": null })),
    ],
    &["start -> none", "start -> both", "start -> null"],
)), @r#"
error[missing-parameter] none condition: `condition` or `conditions` is required
  write a condition, for example `{{ $input.total > 40 }}`
error[parameter-conflict] both conditions: both `condition` and `conditions` are given
  keep one of them and delete the other
"#);

says!(cases_that_are_not_written_out, of(started(
    [
        node("whole", "Switch", json!({ "cases": "{{ $vars.cases }}" })),
        node("one", "Switch", json!({ "cases": [{ "name": "a", "equals": null }, "{{ $vars.b }}", { "name": "c" }] })),
        noop("x"), noop("y"),
    ],
    &["start -> whole", "start -> one", "whole.paid -> x", "one.b -> y"],
)), @r#"
error[literal-only] whole cases: must be a literal: the names of its cases are its output ports
  write the cases out; in each, `equals` and `when` can be expressions
error[literal-only] one cases[1]: must be a literal: the names of its cases are its output ports
  write the cases out; in each, `equals` and `when` can be expressions
error[missing-parameter] one cases[2]: `equals` or `when` is required to select the case
"#);

says!(no_trigger, of(graph([noop("a"), noop("b")], &["a -> b"])), @r#"
error[no-trigger] graph: no node starts a run: the graph has no trigger
  add one, for example an OnManual node, and connect its output to the first node
"#);

says!(cycles, of(started(
    [noop("a"), noop("b"), noop("c"), noop("d")],
    &["start -> a", "a -> b", "b -> c", "c -> a", "d -> d"],
)), @r#"
error[cycle] a: these nodes wait for each other: a → b → c → a
  to repeat, use a ForEach or Loop node and connect the last node back to its port `next`
error[cycle] d: these nodes wait for each other: d → d
  to repeat, use a ForEach or Loop node and connect the last node back to its port `next`
warning[unreachable] d: never runs: no trigger leads to it
  the nodes that lead to it are not reached either
"#);

says!(loop_bodies, of(started(
    [node("each", "ForEach", json!({})), noop("inside"), noop("outside"), noop("after")],
    &["start -> each", "start -> outside", "each.item -> inside", "inside -> each.next", "outside -> inside",
      "outside -> each.next", "each.done -> after"],
)), @r#"
error[loop-return] each: its port `next` is fed by `outside`, which is not in its body
  connect only nodes reachable from its port `item` to `next`
warning[several-edges] each: several edges may deliver to its port `next` (`inside` and `outside`): it would get an array
  join them with a Merge node
error[loop-entry] inside: is in the body of the loop `each`, and the edge from `outside` enters it from outside
  use the value of `outside` as $nodes["outside"], or start the edge at the port `item` of `each`
warning[several-edges] inside: several edges may deliver to its port `in` (`each` and `outside`): it would get an array
  join them with a Merge node
"#);

says!(inner_loops_return_by_done, of(started(
    [node("outer", "ForEach", json!({})), node("inner", "ForEach", json!({})), noop("deep")],
    &["start -> outer", "outer.item -> inner", "inner.item -> deep", "deep -> outer.next"],
)), @r#"
error[loop-return] outer: its port `next` is fed by `deep` from within the inner loop `inner`
  connect `inner`'s port `done` to `next`
"#);

says!(unreachable_and_disabled, of(json!({
    "nodes": [
        { "id": "start", "type": "OnManual" },
        { "id": "a", "type": "NoOp", "data": { "disabled": true } },
        { "id": "island", "type": "NoOp" },
        { "id": "coast", "type": "NoOp" },
    ],
    "edges": [{ "source": "start", "target": "a" }, { "source": "island", "target": "coast" },
              { "source": "start", "target": "a" }],
})), @r#"
warning[duplicate-edge] a: a second edge from `start` enters the same port
  delete one of the two; it is ignored
warning[disabled] a: is disabled: it passes its input through
warning[unreachable] island: never runs: no trigger leads to it
  no edge enters it
warning[unreachable] coast: never runs: no trigger leads to it
  the nodes that lead to it are not reached either
"#);

says!(parameters, of(started(
    [
        node("pick", "PickFields", json!({ "field": ["a"] })),
        node("set", "SetFields", json!({ "fields": 3, "keepInput": "true" })),
        node("switch", "Switch", json!({ "cases": [{ "nam": "x" }, { "name": 5 }, { "name": "b" }, { "name": "b" }] })),
        node("merge", "Merge", json!({ "mode": "frist" })),
        node("merge2", "Merge", json!({ "mode": "{{ 1 }}" })),
        node("loop", "Loop", json!({ "condition": true, "maxIterations": "10" })),
        node("text", "PickFields", json!({ "fields": "all of {{ $input.names }}" })),
    ],
    &["start -> pick", "pick -> set", "set -> switch", "switch.b -> merge", "merge -> merge2", "merge2 -> loop",
      "loop.done -> text"],
)), @r#"
warning[unknown-parameter] pick field: `field` is unknown here and ignored
  did you mean `fields`?
error[missing-parameter] pick fields: `fields` is required
  names of the fields to keep
error[parameter-type] set fields: must be an object, not 3
error[parameter-type] set keepInput: must be true or false, not the text "true"
  write it without quotes: true
error[missing-parameter] switch cases[0]: `equals` or `when` is required to select the case
warning[unknown-parameter] switch cases[0].nam: `nam` is unknown here and ignored
  did you mean `name`?
error[missing-parameter] switch cases[0].name: `name` is required
  name of the case's output port
error[missing-parameter] switch cases[1]: `equals` or `when` is required to select the case
error[parameter-type] switch cases[1].name: must be text, not 5
error[missing-parameter] switch cases[2]: `equals` or `when` is required to select the case
error[missing-parameter] switch cases[3]: `equals` or `when` is required to select the case
error[duplicate-port] switch cases[3].name: the output port `b` already exists
  give each case its own name
error[parameter-type] merge mode: must be one of `first`, `append`, `combine`, `zip` and `join`, not the text "frist"
  did you mean `first`?
error[literal-only] merge2 mode: must be a literal: it is needed before the run and can't be an expression
error[parameter-type] loop maxIterations: must be a whole number from 1 to 1000000, not the text "10"
  write it without quotes: 10
error[parameter-type] text fields: text around an expression makes it a string, but an array is expected
  write only `{{ … }}`, without anything around it
"#);

says!(expressions, of(started(
    [transform("a", "x {{ $input. }}"), transform("b", "{{ $unknown }}"), transform("c", "{{ 1")],
    &["start -> a", "a -> b", "b -> c"],
)), @r#"
error[syntax] a value: this is not a JavaScript expression: unexpected token
  at ``
error[unknown-name] b value: there is no `$unknown`
  the names are `$input`, `$nodes["id"]`, `$("Label")`, `$trigger`, `$item`, `$index`, `$run`, `$now`, `$today`, `$vars`, `$secrets.NAME`, `$error`, `$random()` and `$uuid()`
  at `$unknown`
error[syntax] c value: `{{` is never closed
  close it with `}}`
  at `{{`
"#);

says!(references, of(json!({
    "nodes": [
        { "id": "start", "type": "OnManual" },
        { "id": "a", "type": "NoOp", "data": { "label": "Twin" } },
        { "id": "b", "type": "NoOp", "data": { "label": "Twin" } },
        transform("late", "{{ [$nodes.b, $nodes[\"later\"], $nodes.late] }}"),
        transform("later", "{{ [$(\"Twin\"), $(\"lat\"), $nodes.gone] }}"),
    ],
    "edges": [{ "source": "start", "target": "a" }, { "source": "start", "target": "b" },
              { "source": "a", "target": "late" }, { "source": "late", "target": "later" }],
})), @r#"
error[not-before] late value: `b` can't have run before this node: no path leads from it to here
  connect the nodes in that order, or use the value where both are known
  at `$nodes.b`
error[not-before] late value: `later` can't have run before this node: no path leads from it to here
  connect the nodes in that order, or use the value where both are known
  at `$nodes["later"]`
error[not-before] late value: `late` is this node itself, which has no output yet
  connect the nodes in that order, or use the value where both are known
  at `$nodes.late`
error[ambiguous-label] later value: several nodes have the label `Twin`
  use $nodes["a"] or $nodes["b"] or give each node its own label
  at `$("Twin")`
error[unknown-node] later value: there is no node with the label `lat`
  did you mean `late`?
  at `$("lat")`
error[unknown-node] later value: there is no node with the id `gone`
  at `$nodes.gone`
"#);

says!(references_into_loops, of(started(
    [
        node("each", "ForEach", json!({})), noop("first"), noop("side"),
        transform("second", "{{ [$nodes.first, $nodes.side, $nodes.each] }}"),
        transform("after", "{{ [$nodes.first, $nodes.second] }}"),
        transform("elsewhere", "{{ $nodes.first }}"),
    ],
    &["start -> each", "start -> elsewhere", "each.item -> first", "each.item -> side", "first -> second",
      "second -> each.next", "each.done -> after"],
)), @r#"
error[not-before] second value: `side` can't have run before this node: no path leads from it to here
  connect the nodes in that order, or use the value where both are known
  at `$nodes.side`
error[not-before] elsewhere value: `first` can't have run before this node: no path leads from it to here
  connect the nodes in that order, or use the value where both are known
  at `$nodes.first`
"#);

says!(several_live_edges, of(started(
    [
        node("if", "If", json!({ "condition": true })), noop("yes"), noop("no"), noop("join"), noop("both"),
        node("merge", "Merge", json!({})),
    ],
    &["start -> if", "if.true -> yes", "if.false -> no", "yes -> join", "no -> join", "join -> both", "if.true -> both",
      "both -> merge", "yes -> merge"],
)), @r#"
warning[several-edges] both: several edges may deliver to its port `in` (`join` and `if`): it would get an array
  join them with a Merge node
"#);

says!(error_ports_exclude_other_ports, of(json!({
    "nodes": [
        { "id": "start", "type": "OnManual" },
        { "id": "call", "type": "HttpRequest",
          "data": { "onError": "branch", "parameters": { "url": "https://example.com" } } },
        transform("failed", "{{ $error.message }}"),
        transform("end", "{{ $input }}"),
    ],
    "edges": [{ "source": "start", "target": "call" }, { "source": "call", "target": "end" },
              { "source": "call", "sourceHandle": "error", "target": "failed" }, { "source": "failed", "target": "end" }],
})), @"");

says!(only_the_first_counts, of(started(
    [
        node("if", "If", json!({ "condition": true })),
        node("r1", "Return", json!({})), node("r2", "Return", json!({})), node("r3", "Return", json!({})),
        node("w", "RespondToWebhook", json!({})), node("w2", "RespondToWebhook", json!({})),
    ],
    &["start -> if", "if.true -> r1", "if.false -> r2", "if.false -> r3", "start -> w", "w -> w2"],
)), @r#"
warning[several-returns] r3: a run may reach both this node and `r2`; only the first Return counts
warning[no-webhook] w: nobody waits for this response: the graph has no OnWebhook, OnForm or OnChat
warning[no-webhook] w2: nobody waits for this response: the graph has no OnWebhook, OnForm or OnChat
warning[responds-twice] w2: a run may reach both this node and `w`; only the first RespondToWebhook counts
"#);

says!(of_answers_in_graphs_of_items_only_those_are_told_that_come_in_the_same_runs, of({
    let answer = |id: &str| node(id, "RespondToWebhook", json!({}));
    let mut drawn = graph(
        [
            node("hook", "OnWebhook", json!({})), node("if", "If", json!({ "condition": true })),
            answer("w1"), answer("w2"), answer("w3"), answer("w4"), node("s", "StreamResponse", json!({})),
        ],
        &["hook -> if", "if.true -> w1", "if.false -> w2", "w1 -> w3", "if.false -> w4", "w4 -> s"],
    );
    drawn["settings"] = json!({ "items": true });
    drawn
}), @r#"
warning[responds-twice] w2: this node answers in the same runs as `s`; then the response is what was streamed, and this one is not sent
warning[responds-twice] w3: this node answers in the same runs as `w1`; only the first RespondToWebhook counts
warning[responds-twice] w4: this node answers in the same runs as `w2`; only the first RespondToWebhook counts
warning[responds-twice] w4: this node answers in the same runs as `s`; then the response is what was streamed, and this one is not sent
"#);

says!(what_is_streamed_counts_before_a_whole_response, of(started(
    [
        node("if", "If", json!({ "condition": true })), node("s", "StreamResponse", json!({})),
        node("w", "RespondToWebhook", json!({})), node("w2", "RespondToWebhook", json!({})),
    ],
    &["start -> if", "if.true -> s", "s -> w", "if.false -> w2"],
)), @r#"
warning[no-webhook] s: nobody waits for this response: the graph has no OnWebhook, OnForm or OnChat
warning[no-webhook] w: nobody waits for this response: the graph has no OnWebhook, OnForm or OnChat
warning[responds-twice] w: a run may reach both this node and `s`; then the response is what was streamed, and this one is not sent
warning[no-webhook] w2: nobody waits for this response: the graph has no OnWebhook, OnForm or OnChat
"#);

says!(effects_in_long_loops, of(started(
    [
        node("loop", "Loop", json!({ "condition": true, "maxIterations": 100_000 })),
        node("call", "HttpRequest", json!({ "url": "https://example.com" })),
    ],
    &["start -> loop", "loop.item -> call", "call -> loop.next"],
)), @r#"
warning[unbounded-effect] call: this effect may happen more than 1000 times in the loop `loop`
  lower the loop's maxIterations
"#);

fn expression(inputs: Value, outputs: Value, values: Value) -> Value {
    json!({ "kind": "expression", "inputs": inputs, "outputs": outputs, "outputValues": values })
}

says!(types_of_ports, with_definitions(
    started(
        [node("list", "List", json!({})), node("text", "Text", json!({})), node("number", "Number", json!({}))],
        &["start -> list", "list -> text", "text -> number"],
    ),
    json!({
        "List": expression(json!([{ "name": "in" }]), json!([{ "name": "out", "type": "array" }]), json!({ "out": [] })),
        "Text": expression(json!([{ "name": "in", "type": "string" }]), json!([{ "name": "out", "type": "string" }]), json!({ "out": "" })),
        "Number": expression(json!([{ "name": "in", "type": "number" }]), json!([]), json!({})),
    }),
), @r#"
error[type-mismatch] text: `list` gives an array at `out`, but `in` takes a string
  put a Transform between them
warning[type-mismatch] number: `text` gives a string at `out`, but `in` takes a number
  put a Transform between them
"#);

says!(definitions, with_definitions(
    started([node("a", "Add", json!({ "left": 1 }))], &["start -> a.left"]),
    json!({
        "Add": expression(
            json!([{ "name": "left" }, { "name": "right" }, { "name": "note", "required": false, "type": "txt" }]),
            json!([{ "name": "sum" }, { "name": "rest" }]),
            json!({ "summ": "{{ $input.left + $nodes.start }}" }),
        ),
        "Other": { "kind": "grpah" },
        "Transform": expression(json!([]), json!([]), json!({})),
        "Bad": 7,
    }),
), @r#"
error[unknown-port-type] nodeDefinitions.Add: in definition `Add`: inputs[2].type is the text "txt"; types are `any`, `string`, `number`, `integer`, `boolean`, `object` and `array`
error[unknown-port] nodeDefinitions.Add: in definition `Add`: outputValues has `summ`, which is not an output
  did you mean `sum`?
error[missing-output] nodeDefinitions.Add: in definition `Add`: output `sum` has no value
  add `sum` to outputValues
error[missing-output] nodeDefinitions.Add: in definition `Add`: output `rest` has no value
  add `rest` to outputValues
error[malformed] nodeDefinitions.Bad: in definition `Bad`: it must be an object, not 7
warning[unused-definition] nodeDefinitions.Bad: no node uses the definition `Bad`
error[unknown-kind] nodeDefinitions.Other: in definition `Other`: there is no kind `grpah`
  did you mean `graph`?
warning[unused-definition] nodeDefinitions.Other: no node uses the definition `Other`
error[shadows-standard] nodeDefinitions.Transform: in definition `Transform`: `Transform` is a standard node type and can't be redefined
  give the definition another name
warning[unused-definition] nodeDefinitions.Transform: no node uses the definition `Transform`
error[missing-input] a: the input `right` has no edge
  connect an edge to it
warning[unknown-parameter] a left: `Add` takes its values through edges, not parameters
  connect an edge to the input `left`
"#);

pub(crate) fn composite(graph: Value) -> Value {
    json!({ "kind": "graph", "inputs": [{ "name": "in" }], "outputs": [{ "name": "out" }], "graphData": graph })
}

says!(composites_that_contain_themselves, with_definitions(
    started([node("a", "A", json!({}))], &["start -> a"]),
    json!({
        "A": composite(graph([node("call", "OnCall", json!({})), node("b", "B", json!({})), node("end", "Return", json!({}))],
            &["call -> b", "b -> end"])),
        "B": composite(graph([node("call", "OnCall", json!({})), node("a", "A", json!({})), node("end", "Return", json!({}))],
            &["call -> a", "a -> end"])),
    }),
), @r#"
error[recursive-definition] nodeDefinitions.A: composites contain themselves: A → B → A
  to repeat, put a Loop node inside instead
"#);

says!(insides_of_composites, with_definitions(
    json!({
        "nodes": [{ "id": "start", "type": "OnManual" },
                  { "id": "a", "type": "A", "data": { "each": true, "retry": { "maxAttempts": 2 }, "onError": "continue" } }],
        "edges": [{ "source": "start", "target": "a" }],
    }),
    json!({ "A": composite(graph(
        [node("hook", "OnWebhook", json!({})), transform("x", "{{ $nodes.start }}"), node("each", "ForEach", json!({}))],
        &["hook -> x", "x -> each"],
    )) }),
), @r#"
error[composite-entry] nodeDefinitions.A: in definition `A`: a composite's inner graph starts at one OnCall; this one has 0
error[composite-return] nodeDefinitions.A: in definition `A`: its inner graph has outputs but no Return, so nothing leaves it
warning[inner-trigger] nodeDefinitions.A.graphData.nodes.hook: in definition `A`, node `hook`: `OnWebhook` can't start a run inside a composite
  delete it; a composite starts at its OnCall
error[unknown-node] nodeDefinitions.A.graphData.nodes.x.value: in definition `A`, node `x`: there is no node with the id `start`
  at `$nodes.start`
"#);

says!(options, {
    let options = Options {
        breakpoints: vec!["strat".to_owned()],
        pinned_nodes: [
            ("gone".to_owned(), json!(1)),
            ("start".to_owned(), json!({ "$pin": true, "port": "uot", "value": 1 })),
        ].into_iter().collect(),
        ..Options::default()
    };
    said(&check(&started([], &[]), &json!({}), &options))
}, @r#"
error[unknown-port] start: the pin's port `uot` is not an output that can be pinned; those are `out`
error[unknown-node] strat: there is no node `strat` for this breakpoint
  did you mean `start`?
error[unknown-node] gone: there is no node `gone` for this pin
"#);

#[test]
fn sizes_count_what_composites_hold() {
    let nodes = (0..60).map(|index| node(&format!("n{index}"), "A", json!({})));
    let inner = (0..20)
        .map(|index| noop(&format!("i{index}")))
        .chain([node("call", "OnCall", json!({}))]);
    let definitions = json!({ "A": { "kind": "graph", "outputs": [], "graphData": graph(inner, &[]) } });
    let said = with_definitions(started(nodes, &[]), definitions);
    assert!(
        said.contains("error[too-large] graph: the graph has 1321 nodes"),
        "{said}"
    );
    let many = started((0..1_000).map(|index| noop(&format!("n{index}"))), &[]);
    insta::assert_snapshot!(of(many), @"error[too-large] graph: the graph has 1001 nodes; 1000 are allowed");
}

#[test]
fn fields_that_are_almost_known_are_mistakes_and_an_editors_own_are_not() {
    let mistyped = json!({
        "nodes": [{"id": "a", "type": "OnManual", "data": {
            "onErorr": "branch", "timeoutMS": 5, "icon": "bolt", "notes": "x", "retry": {"maxAttemps": 3, "why": 1},
        }, "onError": "continue", "paramters": {}, "selected": true, "width": 5}],
        "edges": [], "viewport": {"x": 1}, "notes": [{"id": "n", "text": "x"}], "setings": {}, "settings": {"timeoutMS": 1},
    });
    let told = of(mistyped);
    for (field, help) in [
        (
            "warning[unknown-field] graph: setings is unknown",
            "did you mean `settings`?",
        ),
        (
            "graph: settings.timeoutMS is unknown",
            "did you mean `timeoutMs`?",
        ),
        ("a: nodes[0].data.onErorr is unknown", "did you mean `onError`?"),
        (
            "a: nodes[0].data.timeoutMS is unknown",
            "did you mean `timeoutMs`?",
        ),
        (
            "a: nodes[0].data.retry.maxAttemps is unknown",
            "did you mean `maxAttempts`?",
        ),
        ("a: nodes[0].onError is unknown", "did you mean `data.onError`?"),
        (
            "a: nodes[0].paramters is unknown",
            "did you mean `data.parameters`?",
        ),
        (
            "a: nodes[0].data.retry.why is unknown",
            "known are `maxAttempts`, `backoffMs` and `factor`",
        ),
    ] {
        let line = told.lines().position(|line| line.contains(field));
        let line = line.unwrap_or_else(|| panic!("{field} is not told:\n{told}"));
        assert!(
            told.lines().nth(line + 1).unwrap().contains(help),
            "{field}:\n{told}"
        );
    }
    for own in ["icon", "notes", "viewport", "selected", "width"] {
        assert!(!told.contains(own), "{own}:\n{told}");
    }
}
