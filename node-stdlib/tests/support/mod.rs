//! A run that exists only as far as a single node asks for it: inputs from the test, function values from closures.

use heddle_node_stdlib::failure::Failure;
use heddle_node_stdlib::node::{Context, Level, Origins, Outcome, Script, Scripted};
use heddle_node_stdlib::nodes::lookup;
use heddle_values::{Array, Object, Value, parse_json};

/// A parameter that is evaluated for each item, or for two.
pub type Function = fn(&Value, &Value) -> Result<Value, Failure>;

/// What the node under test sees.
#[derive(Default)]
pub struct Fake {
    /// Values by input port.
    pub ports: Vec<Option<Value>>,
    /// What `Value::Function(n)` computes: from the item and its index, or from `$a` and `$b`.
    pub functions: Vec<Function>,
    /// Lines logged.
    pub logs: Vec<(Level, String)>,
    /// By port: where its elements come from.
    pub paired: Vec<(u32, Vec<u32>)>,
    /// Response set.
    pub response: Option<Value>,
    /// State of the generator.
    pub seed: u64,
}

impl Context for Fake {
    fn input(&self) -> Value {
        self.input_port(0).unwrap_or_default()
    }

    fn item(&self) -> Value {
        Value::Undefined
    }

    fn javascript(&mut self, _: Script<'_>) -> Result<Scripted, Failure> {
        panic!("no engine here")
    }

    fn input_port(&self, port: usize) -> Option<Value> {
        self.ports.get(port).cloned().flatten()
    }

    fn call(&mut self, function: u32, item: &Value, index: usize) -> Result<Value, Failure> {
        self.functions[function as usize](item, &Value::Number(index as f64))
    }

    fn call_plain(&mut self, function: u32) -> Result<Value, Failure> {
        self.functions[function as usize](&Value::Undefined, &Value::Undefined)
    }

    fn call_pair(&mut self, function: u32, first: &Value, second: &Value) -> Result<Value, Failure> {
        self.functions[function as usize](first, second)
    }

    fn pair(&mut self, port: u32, items: &Array, origins: Vec<u32>) {
        assert!(origins.iter().all(|origin| (*origin as usize) < items.len()));
        self.paired.push((port, origins));
    }

    fn pair_lists(&mut self, _: u32, _: Origins) {}

    fn log(&mut self, level: Level, message: &str) {
        self.logs.push((level, message.to_owned()));
    }

    fn respond(&mut self, response: &Value) {
        self.response.get_or_insert_with(|| response.clone());
    }

    fn random(&mut self) -> u64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        self.seed
    }

    fn now_ms(&self) -> i64 {
        1_790_000_000_000
    }

    fn execution_key(&self) -> String {
        "run-1/node".into()
    }
}

/// A value from JSON text; `{"$function": n}` anywhere is a function value.
pub fn value(json: &str) -> Value {
    with_functions(
        parse_json(json.as_bytes(), 100).unwrap_or_else(|error| panic!("{json}: {}", error.message)),
    )
}

fn with_functions(value: Value) -> Value {
    match value {
        Value::Array(items) => items
            .into_vec()
            .into_iter()
            .map(with_functions)
            .collect::<Vec<_>>()
            .into(),
        Value::Object(object) => match object.get("$function") {
            Some(Value::Number(number)) => Value::Function(*number as u32),
            _ => Value::Object(
                object
                    .into_properties()
                    .map(|(name, value)| (name, with_functions(value)))
                    .collect(),
            ),
        },
        other => other,
    }
}

/// Runs a node on one input; what leaves as `{"port": value}` by port number, or `CODE: message`.
pub fn run(node_type: &str, parameters: &str, input: &str) -> String {
    let mut fake = Fake {
        ports: vec![Some(value(input))],
        ..Fake::default()
    };
    run_with(&mut fake, node_type, parameters)
}

/// The same in a context of the test's own.
pub fn run_with(fake: &mut Fake, node_type: &str, parameters: &str) -> String {
    match outcome(fake, node_type, parameters) {
        Ok(Outcome::Emit(emission)) => {
            let ports = emission
                .0
                .into_iter()
                .map(|(port, value)| (port.to_string(), value.into_json()));
            Value::Object(Object::from_iter(ports)).to_json()
        }
        Ok(other) => format!("{other:?}"),
        Err(failure) => format!("{}: {}", failure.code, failure.message),
    }
}

/// What the node wants to happen.
pub fn outcome(fake: &mut Fake, node_type: &str, parameters: &str) -> Result<Outcome, Failure> {
    let Value::Object(parameters) = value(parameters) else {
        panic!("parameters are an object")
    };
    let (node, _) = lookup(node_type).unwrap_or_else(|| panic!("no node {node_type}"));
    node(&parameters, fake)
}
