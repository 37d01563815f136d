//! The same module with a trace: what its run does is as it was, and each node's part of it is reported.

use heddle_contract::plan::View;
use std::ops::Range;
use wasmparser::{Parser, Payload};

/// Where the plan's flags begin, of which the lowest bit asks for a trace.
const FLAGS_AT: usize = 4;

/// The module with a trace, whether it was compiled with one or not; `None`: it has no plan. It is verified only when it is
/// loaded.
pub fn traced(mut wasm: Vec<u8>) -> Option<Vec<u8>> {
    let plan = plan(&wasm)?;
    if !View::new(wasm.get(plan.clone())?)?.trace() {
        *wasm.get_mut(plan.start.checked_add(FLAGS_AT)?)? |= 1;
    }
    // Whatever the form of plans may become: this one asks for a trace.
    View::new(wasm.get(plan)?)?.trace().then_some(wasm)
}

/// Where the plan is: it begins the first data segment.
fn plan(wasm: &[u8]) -> Option<Range<usize>> {
    for payload in Parser::new(0).parse_all(wasm) {
        if let Payload::DataSection(segments) = payload.ok()? {
            let segment = segments.into_iter().next()?.ok()?;
            let end = segment.range.end;
            return Some(end.checked_sub(segment.data.len())?..end);
        }
    }
    None
}
