//! Emits a WebAssembly module from a lowered pattern.
//!
//! One module: a function for each node body and each function value, `run`, one passive data segment (the plan with
//! the constants), one passive element segment (the dispatchers), and components as custom sections. The interface is
//! [`heddle_contract::abi`]. Knows nothing about drawn graphs, and checks nothing: all errors have been found
//! before.

mod body;
mod call;
mod constants;
mod expression;
mod imports;
mod module;
mod numbers;
mod unboxed;

use crate::artifact::Artifact;
use crate::lowered::{Body, Lowered};
use body::FunctionBuilder;
use heddle_catalogue::TRANSFORM;
use heddle_contract::abi::ABI_VERSION_OF_NUMBERS;
use heddle_contract::manifest::Expressions;
use module::{Module, Operands};

/// Emits the module. Deterministic: the same input gives the same bytes.
pub fn emit(lowered: Lowered) -> Artifact {
    let Lowered {
        mut plan,
        bodies,
        mut manifest,
        components,
        effects,
    } = lowered;
    let mut module = Module {
        is_lenient: manifest.settings.expressions == Expressions::Lenient,
        ..Module::default()
    };
    for (index, (node, body)) in plan.nodes.iter_mut().zip(&bodies).enumerate() {
        if let Some(body) = body {
            node.function = Some(emit_node(&mut module, index as u32, body));
        }
    }
    plan.sites = std::mem::take(&mut module.sites);
    manifest.abi_version = manifest.abi_version.max(module.imports.abi_version());
    if !module.of_numbers.is_empty() {
        manifest.abi_version = manifest.abi_version.max(ABI_VERSION_OF_NUMBERS);
    }
    (plan.constants, plan.names) = std::mem::take(&mut module.constants).finish();
    manifest.functions = module
        .functions
        .iter()
        .map(|function| function.origin.clone())
        .collect();
    let wasm = module.encode(&plan, &manifest, &components);
    Artifact {
        wasm,
        manifest,
        effects,
    }
}

/// The function of a node as a whole; gives its number, with what [`GIVES_NUMBER`](heddle_contract::abi::GIVES_NUMBER) tells.
fn emit_node(module: &mut Module, node: u32, body: &Body) -> u32 {
    let mut function = FunctionBuilder::new(module, node);
    match body {
        Body::Standard {
            node_type,
            needs,
            parameters,
        } => match parameters.as_slice() {
            // The node's own function would only take the value out of its parameters.
            [(name, value)] if *node_type == TRANSFORM.name && needs.is_empty() && name == "value" => {
                function.integer(0);
                function.argument(value);
                function.call("emit");
                let index = function.finish(None);
                return index | module.form_of_numbers(node, index, value, Operands::Input);
            }
            _ => {
                needs.iter().for_each(|need| function.need(need));
                function.object(parameters);
                function.call_node(node_type);
            }
        },
        Body::Outputs(outputs) => {
            for (port, value) in outputs {
                function.integer(*port);
                function.argument(value);
                function.call("emit");
            }
        }
    }
    function.finish(None)
}
