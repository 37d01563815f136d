//! A node by itself, in a run that has an input and nothing else.

use heddle_node_stdlib::failure::Failure;
use heddle_node_stdlib::node::{Context, Level, Origins, Outcome, Script, Scripted, Step};
use heddle_node_stdlib::nodes::lookup;
use heddle_values::{Array, Object, Value};

/// Effects of a node: more mean that it asks for the same again and again.
const EFFECTS_MAX: usize = 20_000;

/// What leaves a node first, by whichever port; its effects are answered so.
pub(super) fn run(
    node: &str,
    parameters: &Object,
    input: Value,
    mut answer: impl FnMut(&Value) -> Value,
) -> Result<Value, Failure> {
    let mut run = Run(input);
    let (begin, _) = lookup(node).expect("a node");
    let mut outcome = begin(parameters, &mut run)?;
    for _ in 0..EFFECTS_MAX {
        outcome = match outcome {
            Outcome::Step {
                request,
                step: Step(step),
                ..
            } => step.resume(answer(&request), &mut run)?,
            Outcome::Emit(emission) => {
                let first = emission.0.into_iter().next();
                return Ok(first.map(|(_, value)| value).unwrap_or_default());
            }
            other => panic!("{other:?}"),
        };
    }
    panic!("{node} does not end");
}

/// A run of one node, which has an input and nothing else.
struct Run(Value);

impl Context for Run {
    fn input(&self) -> Value {
        self.0.clone()
    }

    fn item(&self) -> Value {
        Value::Undefined
    }

    fn javascript(&mut self, _: Script<'_>) -> Result<Scripted, Failure> {
        Err(Failure::new("INTERNAL", "There is no engine."))
    }

    fn input_port(&self, port: usize) -> Option<Value> {
        (port == 0).then(|| self.0.clone())
    }

    fn call(&mut self, _: u32, _: &Value, _: usize) -> Result<Value, Failure> {
        Ok(Value::Undefined)
    }

    fn call_plain(&mut self, _: u32) -> Result<Value, Failure> {
        Ok(Value::Undefined)
    }

    fn call_pair(&mut self, _: u32, _: &Value, _: &Value) -> Result<Value, Failure> {
        Ok(Value::Undefined)
    }

    fn pair(&mut self, _: u32, _: &Array, _: Vec<u32>) {}

    fn pair_lists(&mut self, _: u32, _: Origins) {}

    fn log(&mut self, _: Level, _: &str) {}

    fn respond(&mut self, _: &Value) {}

    fn random(&mut self) -> u64 {
        0
    }

    fn now_ms(&self) -> i64 {
        1_790_000_000_000
    }

    fn execution_key(&self) -> String {
        "run-1/node".to_owned()
    }
}
