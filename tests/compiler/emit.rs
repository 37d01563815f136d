//! Modules: every one is valid WebAssembly, carries its plan and manifest, and stays small.

use crate::expressions::EVERYTHING;
use heddle_compiler::Artifact;
use heddle_compiler::emit::emit;
use heddle_compiler::expression::parse;
use heddle_compiler::lowered::{Argument, Body, Lowered, Site, TextPart};
use heddle_contract::plan::{Node, Plan, Scope, View};
use insta::assert_snapshot;
use serde_json::json;
use wasmparser::{Parser, Payload, Validator};

fn site(parameter: &str, source: &str) -> Site {
    let expression = parse(source, &EVERYTHING).unwrap();
    Site {
        parameter: parameter.to_owned(),
        source: source.to_owned(),
        utf16: 0..source.len(),
        expression,
        reasons: Vec::new(),
    }
}

fn expression(parameter: &str, source: &str) -> Argument {
    Argument::Expression(site(parameter, source))
}

fn lowered(bodies: Vec<Option<Body>>) -> Lowered {
    let node = |index| Node {
        id: format!("n{index}"),
        inputs: vec!["in".to_owned()],
        outputs: 1,
        ..Node::default()
    };
    let plan = Plan {
        nodes: (0..bodies.len()).map(node).collect(),
        scopes: vec![Scope::default()],
        ..Plan::default()
    };
    Lowered {
        plan,
        bodies,
        ..Lowered::default()
    }
}

fn standard(node_type: &'static str, parameters: Vec<(&str, Argument)>) -> Option<Body> {
    let parameters = parameters
        .into_iter()
        .map(|(name, argument)| (name.to_owned(), argument))
        .collect();
    Some(Body::Standard {
        node_type,
        needs: Vec::new(),
        parameters,
    })
}

/// The module, which is valid.
fn valid(lowered: Lowered) -> Artifact {
    let artifact = emit(lowered);
    Validator::new().validate_all(&artifact.wasm).unwrap();
    artifact
}

/// The module as text, without its data, whose bytes are the plan's own business.
fn wat(lowered: Lowered) -> String {
    let text = wasmprinter::print_bytes(&valid(lowered).wasm).unwrap();
    text.lines()
        .filter(|line| !line.trim_start().starts_with("(data"))
        .map(|line| format!("{line}\n"))
        .collect()
}

#[test]
fn a_node_evaluates_its_parameters_and_calls_its_type() {
    let text = Argument::Text(vec![
        TextPart::Literal("Hello ".to_owned()),
        TextPart::Expression(site("message", "$input.name")),
    ]);
    assert_snapshot!(wat(lowered(vec![
        None,
        standard("Log", vec![("level", Argument::Constant(json!("info"))), ("message", text)]),
    ])), @r#"
    (module
      (type (;0;) (func (param i32) (result i32)))
      (type (;1;) (func (param i32 i32) (result i32)))
      (type (;2;) (func (param i32 i32 i32) (result i32)))
      (type (;3;) (func (param i32)))
      (type (;4;) (func))
      (type (;5;) (func (result i32)))
      (type (;6;) (func (param i32 i32 i32 i32)))
      (import "heddle" "input_path" (func $input_path (;0;) (type 0)))
      (import "heddle" "text" (func $text (;1;) (type 0)))
      (import "heddle" "concat" (func $concat (;2;) (type 1)))
      (import "heddle" "object_2" (func $object_2 (;3;) (type 2)))
      (import "heddle" "node_Log" (func $node_Log (;4;) (type 3)))
      (import "heddle" "reserve" (func $reserve (;5;) (type 0)))
      (import "heddle" "start" (func $start (;6;) (type 6)))
      (import "heddle" "site_address" (func $site_address (;7;) (type 5)))
      (import "heddle" "memory" (memory (;0;) 0))
      (import "heddle" "__indirect_function_table" (table (;0;) 0 funcref))
      (global $site (;0;) (mut i32) i32.const 0)
      (export "run" (func $run))
      (elem (;0;) func $dispatch:node $dispatch:function)
      (func $node:n1 (;8;) (type 4)
        i32.const 0
        i32.const -3
        i32.const -4
        global.get $site
        i32.const 0
        i32.store
        i32.const 1
        call $input_path
        call $text
        call $concat
        call $object_2
        call $node_Log
      )
      (func $run (;9;) (type 3) (param $trigger i32)
        (local $base i32) (local $table_base i32)
        call $site_address
        global.set $site
        i32.const 500
        call $reserve
        local.tee $base
        i32.const 0
        i32.const 500
        memory.init 0
        data.drop 0
        ref.null func
        i32.const 2
        table.grow 0
        local.tee $table_base
        i32.const -1
        i32.eq
        if ;; label = @1
          unreachable
        end
        local.get $table_base
        i32.const 0
        i32.const 2
        table.init 0
        elem.drop 0
        local.get $base
        i32.const 500
        local.get $table_base
        local.get $trigger
        call $start
      )
      (func $dispatch:node (;10;) (type 3) (param i32)
        block ;; label = @1
          block ;; label = @2
            local.get 0
            br_table 0 (;@2;) 1 (;@1;)
          end
          call $node:n1
          return
        end
        unreachable
      )
      (func $dispatch:function (;11;) (type 0) (param i32) (result i32)
        block ;; label = @1
          local.get 0
          br_table 0 (;@1;) 0 (;@1;)
        end
        unreachable
      )
      (@custom "heddle" (after data) "{\22abiVersion\22:0,\22nodes\22:[],\22triggers\22:[],\22functions\22:[{\22node\22:1}],\22rights\22:{\22effects\22:[],\22secrets\22:[],\22connections\22:[],\22hosts\22:[],\22patterns\22:[]},\22settings\22:{},\22trace\22:false}")
    )
    "#);
}

#[test]
fn short_circuits_are_blocks() {
    assert_snapshot!(wat(lowered(vec![Some(Body::Outputs(vec![(
        0,
        expression("out", "$input?.a.b ?? (!$item ? -1 : $index || `x${$a}`)"),
    )]))])), @r#"
    (module
      (type (;0;) (func (result i32)))
      (type (;1;) (func (param i32) (result i32)))
      (type (;2;) (func (param i32 i32) (result i32)))
      (type (;3;) (func (param i32 i32)))
      (type (;4;) (func (param i32)))
      (type (;5;) (func))
      (type (;6;) (func (param i32 i32 i32 i32)))
      (import "heddle" "input" (func $input (;0;) (type 0)))
      (import "heddle" "is_nullish" (func $is_nullish (;1;) (type 1)))
      (import "heddle" "path" (func $path (;2;) (type 2)))
      (import "heddle" "item" (func $item (;3;) (type 0)))
      (import "heddle" "truthy" (func $truthy (;4;) (type 1)))
      (import "heddle" "index" (func $index (;5;) (type 0)))
      (import "heddle" "first" (func $first (;6;) (type 0)))
      (import "heddle" "to_string" (func $to_string (;7;) (type 1)))
      (import "heddle" "concat" (func $concat (;8;) (type 2)))
      (import "heddle" "emit" (func $emit (;9;) (type 3)))
      (import "heddle" "reserve" (func $reserve (;10;) (type 1)))
      (import "heddle" "start" (func $start (;11;) (type 6)))
      (import "heddle" "site_address" (func $site_address (;12;) (type 0)))
      (import "heddle" "memory" (memory (;0;) 0))
      (import "heddle" "__indirect_function_table" (table (;0;) 0 funcref))
      (global $site (;0;) (mut i32) i32.const 0)
      (export "run" (func $run))
      (elem (;0;) func $dispatch:node $dispatch:function)
      (func $node:n0 (;13;) (type 5)
        (local $value0 i32) (local $value1 i32)
        i32.const 0
        global.get $site
        i32.const 0
        i32.store
        block (result i32) ;; label = @1
          call $input
          local.set $value0
          i32.const 0
          local.get $value0
          call $is_nullish
          br_if 0 (;@1;)
          drop
          local.get $value0
          i32.const 0
          call $path
        end
        local.tee $value0
        call $is_nullish
        if (result i32) ;; label = @1
          call $item
          call $truthy
          i32.eqz
          if (result i32) ;; label = @2
            i32.const -3
          else
            call $index
            local.tee $value1
            call $truthy
            if (result i32) ;; label = @3
              local.get $value1
            else
              i32.const -4
              call $first
              call $to_string
              call $concat
            end
          end
        else
          local.get $value0
        end
        call $emit
      )
      (func $run (;14;) (type 4) (param $trigger i32)
        (local $base i32) (local $table_base i32)
        call $site_address
        global.set $site
        i32.const 360
        call $reserve
        local.tee $base
        i32.const 0
        i32.const 360
        memory.init 0
        data.drop 0
        ref.null func
        i32.const 2
        table.grow 0
        local.tee $table_base
        i32.const -1
        i32.eq
        if ;; label = @1
          unreachable
        end
        local.get $table_base
        i32.const 0
        i32.const 2
        table.init 0
        elem.drop 0
        local.get $base
        i32.const 360
        local.get $table_base
        local.get $trigger
        call $start
      )
      (func $dispatch:node (;15;) (type 4) (param i32)
        block ;; label = @1
          block ;; label = @2
            local.get 0
            br_table 0 (;@2;) 1 (;@1;)
          end
          call $node:n0
          return
        end
        unreachable
      )
      (func $dispatch:function (;16;) (type 1) (param i32) (result i32)
        block ;; label = @1
          local.get 0
          br_table 0 (;@1;) 0 (;@1;)
        end
        unreachable
      )
      (@custom "heddle" (after data) "{\22abiVersion\22:0,\22nodes\22:[],\22triggers\22:[],\22functions\22:[{\22node\22:0}],\22rights\22:{\22effects\22:[],\22secrets\22:[],\22connections\22:[],\22hosts\22:[],\22patterns\22:[]},\22settings\22:{},\22trace\22:false}")
    )
    "#);
}

#[test]
fn parameters_of_items_are_functions_of_their_own() {
    let condition = Argument::Function(
        "condition".to_owned(),
        Box::new(expression("condition", "$item > 3")),
    );
    let fields = Argument::Object(vec![
        (
            "a".to_owned(),
            Argument::Array(vec![Argument::Constant(json!({"x": [1]})), condition]),
        ),
        ("none".to_owned(), Argument::Constant(json!(null))),
    ]);
    let lowered = lowered(vec![standard("Filter", vec![("items", fields)])]);
    let artifact = emit(lowered.clone());
    let functions = serde_json::to_value(&artifact.manifest.functions).unwrap();
    assert_eq!(
        functions,
        json!([{"node": 0, "parameter": "condition"}, {"node": 0}])
    );
    assert_snapshot!(wat(lowered), @r#"
    (module
      (type (;0;) (func (result i32)))
      (type (;1;) (func (param i32 i32)))
      (type (;2;) (func (result f64)))
      (type (;3;) (func (param i32) (result i32)))
      (type (;4;) (func (param i32 i32 i32) (result i32)))
      (type (;5;) (func (param i32 i32) (result i32)))
      (type (;6;) (func (param i32)))
      (type (;7;) (func))
      (type (;8;) (func (param i32 i32 i32 i32)))
      (type (;9;) (func (param i32 f64 f64) (result f64)))
      (type (;10;) (func (param f64 f64) (result f64)))
      (import "heddle" "array" (func $array (;0;) (type 0)))
      (import "heddle" "push" (func $push (;1;) (type 1)))
      (import "heddle" "item_number" (func $item_number (;2;) (type 2)))
      (import "heddle" "function" (func $function (;3;) (type 3)))
      (import "heddle" "object_2" (func $object_2 (;4;) (type 4)))
      (import "heddle" "object_1" (func $object_1 (;5;) (type 5)))
      (import "heddle" "node_Filter" (func $node_Filter (;6;) (type 6)))
      (import "heddle" "reserve" (func $reserve (;7;) (type 3)))
      (import "heddle" "start" (func $start (;8;) (type 8)))
      (import "heddle" "site_address" (func $site_address (;9;) (type 0)))
      (import "heddle" "memory" (memory (;0;) 0))
      (import "heddle" "__indirect_function_table" (table (;0;) 0 funcref))
      (global $site (;0;) (mut i32) i32.const 0)
      (export "run" (func $run))
      (elem (;0;) func $dispatch:node $dispatch:function $dispatch:numbers)
      (func $function:n0.condition (;10;) (type 0) (result i32)
        global.get $site
        i32.const 0
        i32.store
        call $item_number
        f64.const 0x1.8p+1 (;=3;)
        f64.gt
        i32.const 2
        i32.add
      )
      (func $node:n0 (;11;) (type 7)
        (local $value0 i32)
        i32.const 0
        i32.const 1
        call $array
        local.set $value0
        local.get $value0
        i32.const -4
        call $push
        local.get $value0
        i32.const 1073741824
        call $function
        call $push
        local.get $value0
        i32.const 1
        call $object_2
        call $object_1
        call $node_Filter
      )
      (func $run (;12;) (type 6) (param $trigger i32)
        (local $base i32) (local $table_base i32)
        call $site_address
        global.set $site
        i32.const 356
        call $reserve
        local.tee $base
        i32.const 0
        i32.const 356
        memory.init 0
        data.drop 0
        ref.null func
        i32.const 3
        table.grow 0
        local.tee $table_base
        i32.const -1
        i32.eq
        if ;; label = @1
          unreachable
        end
        local.get $table_base
        i32.const 0
        i32.const 3
        table.init 0
        elem.drop 0
        local.get $base
        i32.const 356
        local.get $table_base
        local.get $trigger
        call $start
      )
      (func $dispatch:node (;13;) (type 6) (param i32)
        block ;; label = @1
          block ;; label = @2
            local.get 0
            br_table 1 (;@1;) 0 (;@2;) 1 (;@1;)
          end
          call $node:n0
          return
        end
        unreachable
      )
      (func $dispatch:function (;14;) (type 3) (param i32) (result i32)
        block ;; label = @1
          block ;; label = @2
            local.get 0
            br_table 0 (;@2;) 1 (;@1;) 1 (;@1;)
          end
          call $function:n0.condition
          return
        end
        unreachable
      )
      (func $dispatch:numbers (;15;) (type 9) (param i32 f64 f64) (result f64)
        block ;; label = @1
          block ;; label = @2
            local.get 0
            br_table 0 (;@2;) 1 (;@1;) 1 (;@1;)
          end
          local.get 1
          local.get 2
          call 16
          return
        end
        unreachable
      )
      (func (;16;) (type 10) (param f64 f64) (result f64)
        local.get 0
        f64.const 0x1.8p+1 (;=3;)
        f64.gt
        f64.convert_i32_u
      )
      (@custom "heddle" (after data) "{\22abiVersion\22:7,\22nodes\22:[],\22triggers\22:[],\22functions\22:[{\22node\22:0,\22parameter\22:\22condition\22},{\22node\22:0}],\22rights\22:{\22effects\22:[],\22secrets\22:[],\22connections\22:[],\22hosts\22:[],\22patterns\22:[]},\22settings\22:{},\22trace\22:false}")
    )
    "#);
}

/// A pattern that uses everything that expressions have.
fn rich() -> Lowered {
    let sources = [
        "[1, ...$input, [$a, $b]]",
        "{ $json, 'b c': 2, [$index]: 5, ...$item }",
        "$nodes.first ?? $('First step').item",
        "$secrets.KEY + $vars.x + $run.id + $trigger + $error",
        "[$random(), $uuid()]",
        "($input?.a?.[0]?.b).c",
        "void 0, typeof +$input, ~1, !$a, -$b",
        "$a - $b * 2 / 3 % 4 ** 5 & 6 | 7 ^ 8 << 1 >> 2 >>> 3",
        "[1 < 2, 1 <= 2, 1 > 2, 1 >= 2, 1 == 2, 1 != 2, 1 === 2, 1 !== 2, 'a' in $input]",
        "``",
        "`${1}${2}`",
        "'\\uD800' + `\\uDC00${$input}`",
        "[undefined, null, true, false, NaN, Infinity, -0]",
        "{}",
        "{ a: 1, b: $item.a.b }",
        "[{ a: 1, b: 2, c: 3 }, { a: 1, b: 2, c: 3, d: 4 }, { a: 1, b: 2, c: 3, d: 4, e: 5 }]",
        "[]",
        "$input.a && ($input.b || ($input.c ?? $input?.[$a?.b && $b?.c]))",
        "$a.map((x, i, all) => all.filter(y => y > x)?.map?.(([z]) => z + i))",
        "Math.max(1, $a.concat(1, 2, 3, 4), ...$b)",
        "parseInt('1', 10)",
        "/x/.test($a.b)",
        "[$input - 1 > $item - 2, $a - $b, $a * $b, $a / $b, $a % $b, $a ** $b, $a.b.c]",
        "[$a < $b, $a <= $b, $a > $b, $a >= $b, $a == $b, $a != $b, $a === $b, $a !== $b]",
        "$a.map(x => Math.cos(x * x - 1) % 2 ** -x.y.z > 0 && !x ? Math.max(-x, 1 / 3) : true + 1)",
        "`a${$a}b${`${$b}${1}${2}${3}`}`",
    ];
    let body = |source: &&str| standard("SetFields", vec![("fields", expression("fields", source))]);
    let mut bodies: Vec<_> = sources.iter().map(body).collect();
    bodies.push(standard("NoOp", vec![]));
    bodies.push(standard(
        "SetFields",
        vec![("fields", Argument::Constant(json!({"a": [1, "é", {}], "b": {}})))],
    ));
    bodies.push(standard("SetFields", vec![("fields", Argument::Text(vec![]))]));
    lowered(bodies)
}

#[test]
fn every_construct_gives_a_valid_module() {
    valid(rich());
}

#[test]
fn every_operator_is_a_guest_function_that_exists() {
    let wasm = emit(rich()).wasm;
    let mut imported = Vec::new();
    for payload in Parser::new(0).parse_all(&wasm) {
        if let Payload::ImportSection(section) = payload.unwrap() {
            imported.extend(
                section
                    .into_imports()
                    .map(|import| import.unwrap().name.to_owned()),
            );
        }
    }
    // `rich` has every construct but long text parameters, definitions, lenient expressions and lists of items.
    let missing: Vec<_> = heddle_contract::abi::GUEST_FUNCTIONS
        .iter()
        .map(|function| function.name)
        .filter(|name| !imported.iter().any(|import| import == name))
        .collect();
    assert_eq!(missing, ["text", "text_show", "lenient", "input_list", "emit"]);
}

#[test]
fn the_same_input_gives_the_same_bytes() {
    assert_eq!(emit(rich()).wasm, emit(rich()).wasm);
}

#[test]
fn the_module_carries_plan_and_manifest() {
    let artifact = emit(rich());
    let mut data = None;
    let mut manifest = None;
    for payload in Parser::new(0).parse_all(&artifact.wasm) {
        match payload.unwrap() {
            Payload::DataSection(section) => {
                data = section.into_iter().next().map(|data| data.unwrap().data.to_vec())
            }
            Payload::CustomSection(section) if section.name() == "heddle" => {
                manifest = Some(section.data().to_vec())
            }
            _ => {}
        }
    }
    let data = data.unwrap();
    let view = View::new(&data).unwrap();
    assert_eq!(
        view.site(1),
        (1, "fields", "{ $json, 'b c': 2, [$index]: 5, ...$item }")
    );
    assert_eq!(view.node(3).function(), Some(3));
    let manifest: heddle_contract::manifest::Manifest = serde_json::from_slice(&manifest.unwrap()).unwrap();
    assert_eq!(manifest, artifact.manifest);
    let bodies = manifest
        .functions
        .iter()
        .filter(|function| function.parameter.is_none());
    assert_eq!(bodies.count(), view.node_count() as usize);
}

#[test]
fn a_pattern_without_functions_is_valid() {
    valid(lowered(vec![None]));
}

#[test]
fn deep_expressions_are_emitted_on_any_stack() {
    let sources = [
        format!("$input{}", " + 1".repeat(900)),
        format!("{}1{}", "[".repeat(240), "]".repeat(240)),
        format!("$input{}", "?.a".repeat(900)),
        format!("{}1", "!".repeat(250)),
    ];
    let emit_all = move || {
        for source in sources {
            valid(lowered(vec![standard(
                "Log",
                vec![("message", expression("message", &source))],
            )]));
        }
    };
    std::thread::Builder::new()
        .stack_size(512 * 1024)
        .spawn(emit_all)
        .unwrap()
        .join()
        .unwrap();
}
