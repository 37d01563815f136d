//! Programs that are put together of machine code from elsewhere: what is none is refused.

use crate::harness::{START, manifest, module, runtime};
use heddle_runtime::{CompileError, CompileJob, ProgramError, Runtime, Tier};

/// Machine code as a worker would give it.
fn code(runtime: &Runtime, wasm: &[u8], tier: Tier) -> Vec<u8> {
    let plan = runtime.plan(wasm.to_vec(), tier).unwrap();
    let request = plan.jobs().first().unwrap().request();
    CompileJob::execute_request(&request).unwrap()
}

/// A module that no other test has loaded.
fn fresh(name: &str) -> Vec<u8> {
    module(&format!("{START} (global i32 (i32.const {}))", name.len()), &{
        let mut manifest = manifest();
        manifest["name"] = name.into();
        manifest
    })
}

#[test]
fn code_of_an_engine_that_only_compiles_is_loaded() {
    let runtime = runtime();
    for (name, tier) in [("fast", Tier::Fast), ("optimized", Tier::Optimized)] {
        let wasm = fresh(name);
        let plan = runtime.plan(wasm.clone(), tier).unwrap();
        let program = runtime.assemble(plan, vec![code(&runtime, &wasm, tier)]).unwrap();
        assert!(program.code_bytes() > 0);
        assert!(runtime.plan(wasm, tier).unwrap().jobs().is_empty(), "it is kept");
    }
}

#[test]
fn what_is_no_machine_code_is_refused() {
    let runtime = runtime();
    let wasm = fresh("broken");
    let whole = code(&runtime, &wasm, Tier::Fast);
    let cut = whole.get(..whole.len() / 2).unwrap().to_vec();
    for code in [vec![], b"hello".to_vec(), b"\x7fELF".to_vec(), wasm.clone(), cut] {
        let plan = runtime.plan(wasm.clone(), Tier::Fast).unwrap();
        let refused = runtime.assemble(plan, vec![code]).unwrap_err();
        assert!(matches!(refused, ProgramError::Compile(_)), "{refused}");
    }
    let plan = runtime.plan(wasm, Tier::Fast).unwrap();
    let refused = runtime.assemble(plan, Vec::new()).unwrap_err();
    assert!(
        matches!(refused, ProgramError::Compile(CompileError::CodeMissing)),
        "{refused}"
    );
}

#[test]
fn requests_that_are_none_are_refused() {
    for request in [&b""[..], b"\x09", b"\x00", b"\x01nothing", b"\x02\0asm"] {
        assert!(CompileJob::execute_request(request).is_err(), "{request:?}");
    }
}
