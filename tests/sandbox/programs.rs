//! Modules that are refused before anything of them runs.

use crate::harness::{START, manifest, module, raw_module, refusal};
use heddle_runtime::{ProgramError, Tier};
use serde_json::json;

#[test]
fn bytes_that_are_no_module_are_refused() {
    for bytes in [
        &b""[..],
        b"\0asm",
        b"hello",
        b"\0asm\x01\0\0\0\xff\xff",
        b"\0asm\x0d\0\x01\0",
    ] {
        assert!(
            matches!(
                refusal(bytes),
                ProgramError::NotWasm(_) | ProgramError::Exports(0)
            ),
            "{bytes:?}"
        );
    }
    let mut wasm = module(START, &manifest());
    wasm.truncate(wasm.len() / 2);
    assert!(matches!(refusal(&wasm), ProgramError::NotWasm(_)));
}

#[test]
fn foreign_imports_are_refused_by_name() {
    for (import, expected) in [
        (
            r#"(import "wasi_snapshot_preview1" "fd_write" (func))"#,
            ("wasi_snapshot_preview1", "fd_write"),
        ),
        (
            r#"(import "host" "log" (func (param i32 i32 i32 i32)))"#,
            ("host", "log"),
        ),
        (r#"(import "heddle" "nothing" (func))"#, ("heddle", "nothing")),
        (r#"(import "heddle" "start" (func))"#, ("heddle", "start")),
        (r#"(import "heddle" "memory" (global i32))"#, ("heddle", "memory")),
        (r#"(import "heddle" "memory" (memory 76))"#, ("heddle", "memory")),
        (r#"(import "heddle" "memory" (memory 0 1))"#, ("heddle", "memory")),
        (
            r#"(import "heddle" "__indirect_function_table" (table 9999 funcref))"#,
            ("heddle", "__indirect_function_table"),
        ),
        (
            r#"(import "heddle" "__indirect_function_table" (table 0 externref))"#,
            ("heddle", "__indirect_function_table"),
        ),
        (
            r#"(import "heddle" "node_Nothing" (func (param i32)))"#,
            ("heddle", "node_Nothing"),
        ),
    ] {
        let section = manifest().to_string().replace('"', "\\\"");
        let wasm = raw_module(&format!(
            "(module {import} (func (export \"run\") (param i32)) (@custom \"heddle\" \"{section}\"))"
        ));
        let ProgramError::ForeignImport { module, name, .. } = refusal(&wasm) else {
            panic!("{import}");
        };
        assert_eq!((module.as_str(), name.as_str()), expected);
    }
}

#[test]
fn what_would_run_or_allocate_by_itself_is_refused() {
    let run = r#"(func $run (export "run") (param i32))"#;
    let start = module(&format!("{run} (func $begin) (start $begin)"), &manifest());
    assert!(matches!(refusal(&start), ProgramError::StartFunction));
    let memory = raw_module(r#"(module (memory 1) (func (export "run") (param i32)))"#);
    assert!(matches!(refusal(&memory), ProgramError::OwnResource("memory")));
    let table = raw_module(r#"(module (table 1 funcref) (func (export "run") (param i32)))"#);
    assert!(matches!(refusal(&table), ProgramError::OwnResource("table")));
}

#[test]
fn a_module_has_one_export() {
    for body in [
        "",
        r#"(func (export "go") (param i32))"#,
        r#"(func (export "run"))"#,
        r#"(func (export "run") (param i32)) (func (export "more"))"#,
        r#"(global (export "run") i32 (i32.const 0))"#,
    ] {
        assert!(
            matches!(
                refusal(&module(body, &manifest())),
                ProgramError::Exports(_) | ProgramError::OtherExport { .. }
            ),
            "{body}"
        );
    }
}

#[test]
fn a_forged_manifest_is_refused() {
    let missing = raw_module(r#"(module (func (export "run") (param i32)))"#);
    assert!(matches!(refusal(&missing), ProgramError::BadManifest(_)));
    let garbled = raw_module(r#"(module (func (export "run") (param i32)) (@custom "heddle" "{nodes"))"#);
    assert!(matches!(refusal(&garbled), ProgramError::BadManifest(_)));
    let twice = r#"(func (export "run") (param i32)) (@custom "heddle" "{}")"#;
    assert!(matches!(
        refusal(&module(twice, &manifest())),
        ProgramError::BadManifest(_)
    ));
    let mut dangling = manifest();
    dangling["triggers"][0]["index"] = json!(1_000);
    assert!(matches!(
        refusal(&module(START, &dangling)),
        ProgramError::BadManifest(_)
    ));
    let mut old = manifest();
    old["abiVersion"] = json!(0);
    assert!(matches!(
        refusal(&module(START, &old)),
        ProgramError::AbiVersion { found: 0, .. }
    ));
    let mut many = manifest();
    many["nodes"] = (0..10_001).map(|_| json!({})).collect();
    assert!(matches!(
        refusal(&module(START, &many)),
        ProgramError::TooLarge { what: "nodes", .. }
    ));
}

/// A module of each proposal that docs/security.md says is off.
#[test]
fn proposals_that_patterns_do_not_need_are_refused() {
    let run = |body: &str| format!("(func (export \"run\") (param i32) {body})");
    for (proposal, body) in [
        ("SIMD", run("(drop (v128.const i32x4 0 0 0 0))")),
        (
            "relaxed SIMD",
            run("(drop (i32x4.relaxed_trunc_f32x4_s (v128.const i32x4 0 0 0 0)))"),
        ),
        (
            "tail calls",
            "(func $run (export \"run\") (param i32) (return_call $run (local.get 0)))".to_owned(),
        ),
        (
            "extended constant expressions",
            format!("(global i32 (i32.add (i32.const 1) (i32.const 2))) {}", run("")),
        ),
        ("threads", run("(drop (i32.atomic.load (i32.const 0)))")),
        ("exceptions", run("(unreachable) (throw_ref)")),
        (
            "garbage collection",
            format!("(type $pair (struct (field i32))) {}", run("")),
        ),
        (
            "typed references",
            format!("(type $f (func)) {}", run("(drop (ref.null $f))")),
        ),
    ] {
        let refused = refusal(&module(&body, &manifest()));
        assert!(
            matches!(refused, ProgramError::NotWasm(_)),
            "{proposal}: {refused}"
        );
    }
    // A memory of another kind is refused before the engine looks at it, as any memory beside the standard library's.
    for memory in ["(memory 1)", "(memory i64 1)", "(memory 1 1 shared)"] {
        let body = format!("{memory} {}", run(""));
        let refused = refusal(&module(&body, &manifest())).to_string();
        assert!(refused.contains("memory"), "{memory}: {refused}");
    }
    // What all of them have around it is taken.
    let nothing = module(&run(""), &manifest());
    assert!(crate::harness::runtime().load(&nothing, Tier::Fast).is_ok());
}

#[test]
fn a_function_too_large_to_compile_quickly_is_refused() {
    let body = format!(
        "(func (export \"run\") (param i32) {})",
        "(drop (i32.const 1000000))".repeat(300_000)
    );
    assert!(matches!(
        refusal(&module(&body, &manifest())),
        ProgramError::TooLarge { .. }
    ));
}
