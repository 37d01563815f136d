//! Checks that components in definitions implement the world `heddle:node` (wit/node.wit). Executing them is up to the
//! runtime.

use crate::diagnostic::list;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;
use wasmparser::component_types::{
    ComponentDefinedType, ComponentEntityType, ComponentFuncTypeId, ComponentInstanceTypeId, ComponentValType,
};
use wasmparser::types::{Types, TypesRef};
use wasmparser::{Parser, Payload, Validator, WasmFeatures};

/// One component may have so many bytes: one made of JavaScript brings an engine of 12 MB.
pub(crate) const BYTES_MAX: usize = 16 << 20;
/// Compilers take more than linear time for a function's body.
const BODY_BYTES_MAX: usize = 1 << 20;
/// Types are written out for comparison and in messages; nothing of the world nests as deep.
const TYPE_DEPTH_MAX: usize = 8;
/// No function of the world has a longer type.
const SIGNATURE_BYTES_MAX: usize = 1_000;

/// What engines have had for long.
const FEATURES: WasmFeatures = WasmFeatures::MUTABLE_GLOBAL
    .union(WasmFeatures::SATURATING_FLOAT_TO_INT)
    .union(WasmFeatures::SIGN_EXTENSION)
    .union(WasmFeatures::REFERENCE_TYPES)
    .union(WasmFeatures::MULTI_VALUE)
    .union(WasmFeatures::BULK_MEMORY)
    .union(WasmFeatures::SIMD)
    .union(WasmFeatures::FLOATS)
    .union(WasmFeatures::GC_TYPES)
    .union(WasmFeatures::COMPONENT_MODEL);

const EXECUTE: &str = "execute";
const EXECUTE_TYPE: &str = "func(input: string, parameters: string, context: string) -> \
                            result<string, record{code: option<string>, message: string}>";
/// Interfaces of the world, and their functions.
const HEDDLE: &str = "heddle:node/";
const LOG: &str = "heddle:node/log@0.1.0";
const HTTP: &str = "heddle:node/http@0.1.0";
const FUNCTIONS: &[(&str, &str, &str)] = &[
    (
        LOG,
        "write",
        "func(level: enum{debug, info, warn, error}, message: string)",
    ),
    (
        HTTP,
        "send",
        "func(request: record{method: string, url: string, headers: list<tuple<string, string>>, body: \
         option<list<u8>>, timeout-ms: option<u32>, follow-redirects: bool}) -> result<record{status: u16, \
         headers: list<tuple<string, string>>, body: list<u8>}, record{code: string, message: string}>",
    ),
];
/// Packages of WASI 0.2 that the host gives, all empty: no files, arguments, variables or streams.
const WASI: &[&str] = &["cli", "clocks", "filesystem", "io", "random"];

/// Reads a component, given as base64; `may_send` when the definition lists hosts.
pub(crate) fn read(base64: &str, may_send: bool) -> Result<Vec<u8>, Refusal> {
    let too_large = |bytes: usize| {
        let message = format!(
            "the component is {} KiB, more than the {} allowed",
            bytes >> 10,
            BYTES_MAX >> 10
        );
        refused(message).with_help("build it in release mode, without debug information".to_owned())
    };
    if base64.len() / 4 * 3 > BYTES_MAX + 3 {
        return Err(too_large(base64.len() / 4 * 3));
    }
    let bytes = STANDARD
        .decode(base64.trim())
        .map_err(|error| refused(format!("component is not valid base64: {error}")))?;
    if bytes.len() > BYTES_MAX {
        return Err(too_large(bytes.len()));
    }
    check(&bytes, may_send)?;
    Ok(bytes)
}

/// Why a component can't be a node.
pub(crate) struct Refusal {
    pub message: String,
    pub help: Option<String>,
}

impl Refusal {
    fn with_help(self, help: String) -> Self {
        Refusal {
            help: Some(help),
            ..self
        }
    }
}

fn refused(message: impl Into<String>) -> Refusal {
    Refusal {
        message: message.into(),
        help: None,
    }
}

fn check(bytes: &[u8], may_send: bool) -> Result<(), Refusal> {
    if Parser::is_core_wasm(bytes) {
        let help = "turn it into a component: `wasm-tools component new module.wasm -o component.wasm`";
        return Err(refused("this is a WebAssembly module, not a component").with_help(help.to_owned()));
    }
    if !Parser::is_component(bytes) {
        return Err(refused(
            "this is not a WebAssembly component: it has no component header",
        ));
    }
    let broken =
        |error: wasmparser::BinaryReaderError| refused(format!("the component is not valid: {error}"));
    let imports = imports(bytes).map_err(broken)??;
    for name in &imports {
        check_name(name, may_send)?;
    }
    let types = Validator::new_with_features(FEATURES)
        .validate_all(bytes)
        .map_err(broken)?;
    check_execute(&types)?;
    for name in imports.iter().filter(|name| name.starts_with(HEDDLE)) {
        let item = types.component_item_for_import(name);
        if let Some(ComponentEntityType::Instance(instance)) = item.map(|item| item.ty) {
            check_functions(&types, name, instance)?;
        }
    }
    Ok(())
}

/// Names of the component's own imports; cheap refusals on the way.
fn imports(bytes: &[u8]) -> Result<Result<Vec<String>, Refusal>, wasmparser::BinaryReaderError> {
    let mut names = Vec::new();
    // Components within the component have imports of their own, which it satisfies.
    let mut depth = 0;
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth -= 1,
            Payload::ComponentImportSection(reader) if depth == 0 => {
                for import in reader {
                    names.push(import?.name.name.to_owned());
                }
            }
            Payload::CodeSectionEntry(body) if body.range().len() > BODY_BYTES_MAX => {
                let message = format!(
                    "a function of the component is {} KiB, more than the {} allowed",
                    body.range().len() >> 10,
                    BODY_BYTES_MAX >> 10
                );
                return Ok(Err(refused(message)));
            }
            _ => {}
        }
    }
    Ok(Ok(names))
}

fn check_name(name: &str, may_send: bool) -> Result<(), Refusal> {
    let package = name.strip_prefix("wasi:").and_then(|rest| rest.split_once('/'));
    let wasi = package.filter(|(_, interface)| interface.contains("@0.2."));
    let help = match (name, wasi) {
        // Types of the world itself.
        (name, _) if !name.contains(':') => return Ok(()),
        (LOG, _) => return Ok(()),
        (HTTP, _) if may_send => return Ok(()),
        (HTTP, _) => "list the `hosts` that it sends requests to in the definition, such as [\"api.example.com\"], or [\"*\"] for any"
            .to_owned(),
        (_, Some((package, _))) if WASI.contains(&package) => return Ok(()),
        (_, Some(("http", _))) => format!(
            "send requests through {HTTP}; build a component from JavaScript with disableFeatures: \
             [\"http\", \"fetch-event\"]"
        ),
        _ => format!(
            "a node provides {}, and of WASI 0.2 {}",
            list([LOG, HTTP].into_iter()),
            list(WASI.iter().copied())
        ),
    };
    Err(refused(format!(
        "the component imports `{name}`, which nodes don't provide"
    ))
    .with_help(help))
}

fn check_execute(types: &Types) -> Result<(), Refusal> {
    let help = || "build it for the world `node` of wit/node.wit, see docs/custom-nodes.md".to_owned();
    let item = types.component_item_for_export(EXECUTE);
    let Some(ComponentEntityType::Func(function)) = item.map(|item| item.ty) else {
        return Err(refused("the component does not export a function `execute`").with_help(help()));
    };
    let found = signature(types.as_ref(), function);
    if found != EXECUTE_TYPE {
        let message = format!("the component's `execute` is {found}, but a node's is {EXECUTE_TYPE}");
        return Err(refused(message).with_help(help()));
    }
    Ok(())
}

fn check_functions(types: &Types, interface: &str, instance: ComponentInstanceTypeId) -> Result<(), Refusal> {
    for (name, item) in &types.as_ref()[instance].exports {
        let ComponentEntityType::Func(function) = item.ty else {
            continue;
        };
        let known = FUNCTIONS
            .iter()
            .find(|(known, function, _)| *known == interface && function == name);
        let found = signature(types.as_ref(), function);
        if known.is_none_or(|(_, _, expected)| found != *expected) {
            let message =
                format!("the component imports `{name}` of {interface} as {found}, which is the wrong type");
            return Err(refused(message).with_help("build it again with wit/node.wit".to_owned()));
        }
    }
    Ok(())
}

/// A function's type as WIT would write it, records and enums written out.
fn signature(types: TypesRef<'_>, function: ComponentFuncTypeId) -> String {
    let function = &types[function];
    let mut text = String::from(if function.async_ { "async func(" } else { "func(" });
    fields(
        types,
        &mut text,
        0,
        function.params.iter().map(|(name, ty)| (name.as_str(), ty)),
    );
    text.push(')');
    if let Some(result) = &function.result {
        text.push_str(" -> ");
        write_type(types, &mut text, 0, result);
    }
    text
}

fn fields<'t>(
    types: TypesRef<'_>,
    text: &mut String,
    depth: usize,
    fields: impl Iterator<Item = (&'t str, &'t ComponentValType)>,
) {
    for (index, (name, ty)) in fields.enumerate() {
        if text.len() > SIGNATURE_BYTES_MAX {
            return text.push('…');
        }
        let comma = if index > 0 { ", " } else { "" };
        // Writing to a string can't fail.
        let _ = write!(text, "{comma}{name}: ");
        write_type(types, text, depth, ty);
    }
}

fn write_type(types: TypesRef<'_>, text: &mut String, depth: usize, ty: &ComponentValType) {
    let id = match ty {
        ComponentValType::Primitive(primitive) => return text.push_str(&primitive.to_string()),
        ComponentValType::Type(_) if depth >= TYPE_DEPTH_MAX => return text.push('…'),
        ComponentValType::Type(id) => *id,
    };
    // Types share their parts, and may be exponentially larger than the component.
    if text.len() > SIGNATURE_BYTES_MAX {
        return;
    }
    let inside = |text: &mut String, ty: &ComponentValType| write_type(types, text, depth + 1, ty);
    let all = |text: &mut String, open: &str, inner: &[Option<ComponentValType>]| {
        text.push_str(open);
        for (index, ty) in inner.iter().enumerate() {
            if text.len() > SIGNATURE_BYTES_MAX {
                return;
            }
            text.push_str(if index > 0 { ", " } else { "<" });
            match ty {
                Some(ty) => inside(text, ty),
                None => text.push('_'),
            }
        }
        text.push('>');
    };
    match &types[id] {
        ComponentDefinedType::Primitive(primitive) => text.push_str(&primitive.to_string()),
        ComponentDefinedType::Record(record) => {
            text.push_str("record{");
            fields(
                types,
                text,
                depth + 1,
                record.fields.iter().map(|(name, ty)| (name.as_str(), ty)),
            );
            text.push('}');
        }
        ComponentDefinedType::Enum(cases) => {
            let cases: Vec<&str> = cases.iter().map(|case| case.as_str()).collect();
            let _ = write!(text, "enum{{{}}}", cases.join(", "));
        }
        ComponentDefinedType::List { element, .. } => all(text, "list", &[Some(*element)]),
        ComponentDefinedType::Option { ty, .. } => all(text, "option", &[Some(*ty)]),
        ComponentDefinedType::Result { ok, err, .. } => all(text, "result", &[*ok, *err]),
        ComponentDefinedType::Tuple(tuple) => {
            let types: Vec<_> = tuple.types.iter().copied().map(Some).collect();
            all(text, "tuple", &types);
        }
        _ => text.push_str("another type"),
    }
}
