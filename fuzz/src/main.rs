//! What libFuzzer calls: the target that `HEDDLE_FUZZ_TARGET` names does its work with each input. `run` builds and starts
//! this program.

#![no_main]
#![expect(clippy::unwrap_used, reason = "a target panics when something does not hold")]
#![expect(
    clippy::disallowed_methods,
    reason = "that runs end in time is measured from outside"
)]

mod built;
#[path = "../../tests/shared/component.rs"]
#[expect(dead_code, reason = "two of them are enough")]
mod component;
#[path = "../../tests/semantics/expression.rs"]
#[expect(dead_code, reason = "the reference evaluator is not used here")]
mod expression;
#[path = "../../tests/semantics/generate.rs"]
mod generate;
#[path = "../../tests/semantics/graph.rs"]
#[expect(dead_code, reason = "the reference evaluator is not used here")]
mod graph;
#[path = "../../tests/semantics/js.rs"]
#[expect(dead_code, reason = "the reference evaluator is not used here")]
mod js;
mod mutate;
mod runs;
mod targets;
#[path = "../../tests/semantics/terms.rs"]
mod terms;

use std::ffi::{c_char, c_int};
use std::sync::LazyLock;
use targets::Check;

/// The target's name.
static NAME: LazyLock<String> = LazyLock::new(|| std::env::var("HEDDLE_FUZZ_TARGET").unwrap_or_default());

static CHECK: LazyLock<Check> = LazyLock::new(|| {
    let name: &str = &NAME;
    let all = || targets::ALL.iter().chain(built::ALL);
    let named = all().find(|(known, _)| *known == name).map(|(_, check)| *check);
    named.unwrap_or_else(|| {
        let names: Vec<&str> = all().map(|(name, _)| *name).collect();
        eprintln!("HEDDLE_FUZZ_TARGET is none of {}: {name:?}", names.join(", "));
        std::process::exit(2)
    })
});

/// Prints the node types as words of a dictionary, if that is all that `run` wants.
fn print_types() {
    if std::env::var_os("HEDDLE_FUZZ_TYPES").is_some() {
        for name in mutate::types() {
            println!("\"{name}\"");
        }
        std::process::exit(0);
    }
}

/// Before the first input. A panic ends the process at once, where libFuzzer sees it: nothing may catch it.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "libFuzzer looks for this name")]
pub extern "C" fn LLVMFuzzerInitialize(_count: *mut c_int, _arguments: *mut *mut *mut c_char) -> c_int {
    print_types();
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        print(panic);
        std::process::abort();
    }));
    LazyLock::force(&CHECK);
    built::prepare(&NAME);
    0
}

/// One input.
///
/// # Safety
///
/// `data` points to `size` bytes that nothing else changes, as libFuzzer promises.
#[unsafe(no_mangle)]
#[expect(unsafe_code, reason = "libFuzzer looks for this name")]
pub unsafe extern "C" fn LLVMFuzzerTestOneInput(data: *const u8, size: usize) -> c_int {
    let input = match size {
        0 => &[],
        // SAFETY: by the promise above.
        _ => unsafe { std::slice::from_raw_parts(data, size) },
    };
    (*CHECK)(input);
    0
}
