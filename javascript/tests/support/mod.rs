//! The engine on wasmtime, as a run has it: fuel, epochs and a limit on memory.

#![expect(clippy::unwrap_used, reason = "a test: a panic is its failure")]

use heddle_javascript::ENGINE_WASM;
use heddle_javascript::protocol::{self, SourceKind, Status};
use heddle_javascript::wire::{Reader, Text, Token, Writer};
use serde_json::{Map, Number, Value, json};
use std::sync::LazyLock;
use wasmtime::{
    Caller, Config, Engine, Extern, InstancePre, Linker, Memory, Module, ResourceLimiter, Store, TypedFunc,
};

/// 2023-11-14T22:13:20Z.
pub const NOW_MS: f64 = 1_700_000_000_000.0;

/// What one run may use.
#[derive(Clone, Copy)]
pub struct Limits {
    pub fuel: u64,
    pub memory_bytes: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            fuel: 2_000_000_000,
            memory_bytes: 64 << 20,
        }
    }
}

pub struct State {
    memory_bytes_max: usize,
    pub logs: Vec<(i32, String)>,
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        match desired <= self.memory_bytes_max {
            true => Ok(true),
            false => Err(wasmtime::Error::msg("out of memory")),
        }
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(true)
    }
}

static ENGINE: LazyLock<InstancePre<State>> = LazyLock::new(|| {
    let mut config = Config::new();
    config.consume_fuel(true);
    config.epoch_interruption(true);
    config.max_wasm_stack(3 << 19);
    let engine = Engine::new(&config).unwrap();
    let module = Module::new(&engine, ENGINE_WASM).unwrap();
    let mut linker = Linker::new(&engine);
    let log = |mut caller: Caller<'_, State>, level: i32, at: i32, bytes: i32| {
        let memory = caller
            .get_export(protocol::MEMORY)
            .and_then(Extern::into_memory)
            .unwrap();
        let range = at as u32 as usize..at as u32 as usize + bytes as u32 as usize;
        let text = String::from_utf8(memory.data(&caller)[range].to_vec()).unwrap();
        caller.data_mut().logs.push((level, text));
    };
    linker.func_wrap(protocol::HOST, protocol::LOG, log).unwrap();
    linker.instantiate_pre(&module).unwrap()
});

/// An instance.
pub struct Guest {
    pub store: Store<State>,
    memory: Memory,
    reserve: TypedFunc<i32, i32>,
    load: TypedFunc<(i32, i32), i32>,
    call: TypedFunc<(i32, i64, i32), i32>,
    resume: TypedFunc<(i32, i32, i32), i32>,
    result: TypedFunc<(), i64>,
}

/// Answer to a request of the engine: `Ok` a value, or code and message of a failure.
pub type Answer = Result<Value, (&'static str, &'static str)>;

impl Guest {
    pub fn new() -> Self {
        Guest::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let state = State {
            memory_bytes_max: limits.memory_bytes,
            logs: Vec::new(),
        };
        let mut store = Store::new(ENGINE.module().engine(), state);
        store.limiter(|state| state);
        store.set_fuel(limits.fuel).unwrap();
        store.set_epoch_deadline(1);
        let instance = ENGINE.instantiate(&mut store).unwrap();
        let configure = instance
            .get_typed_func::<(i32, f64), ()>(&mut store, protocol::CONFIGURE)
            .unwrap();
        configure
            .call(&mut store, (limits.memory_bytes as i32, NOW_MS))
            .unwrap();
        Guest {
            memory: instance.get_memory(&mut store, protocol::MEMORY).unwrap(),
            reserve: instance.get_typed_func(&mut store, protocol::RESERVE).unwrap(),
            load: instance.get_typed_func(&mut store, protocol::LOAD).unwrap(),
            call: instance.get_typed_func(&mut store, protocol::CALL).unwrap(),
            resume: instance.get_typed_func(&mut store, protocol::RESUME).unwrap(),
            result: instance.get_typed_func(&mut store, protocol::RESULT).unwrap(),
            store,
        }
    }

    /// Writes the input; gives its length.
    pub fn write(&mut self, input: &[u8]) -> wasmtime::Result<i32> {
        let at = self.reserve.call(&mut self.store, input.len() as i32)?;
        assert_ne!(at, 0, "the input is refused");
        self.memory.write(&mut self.store, at as u32 as usize, input)?;
        Ok(input.len() as i32)
    }

    /// The answer's bytes.
    pub fn answer(&mut self) -> wasmtime::Result<Vec<u8>> {
        let packed = self.result.call(&mut self.store, ())?;
        let (at, length) = ((packed >> 32) as u32 as usize, packed as u32 as usize);
        Ok(self.memory.data(&self.store)[at..at + length].to_vec())
    }

    pub fn load_raw(&mut self, kind: SourceKind, source: &str) -> wasmtime::Result<(Status, Value)> {
        let bytes = self.write(source.as_bytes())?;
        let status = self.load.call(&mut self.store, (kind as i32, bytes))?;
        Ok((Status::from_code(status).unwrap(), read(&self.answer()?)))
    }

    /// Loads a source that is fine.
    pub fn load(&mut self, kind: SourceKind, source: &str) -> i32 {
        match self.load_raw(kind, source).unwrap() {
            (Status::Done, function) => function.as_i64().unwrap() as i32,
            (_, failure) => panic!("{source}: {failure}"),
        }
    }

    pub fn call_raw(
        &mut self,
        function: i32,
        seed: i64,
        arguments: &[u8],
    ) -> wasmtime::Result<(Status, Vec<u8>)> {
        let bytes = self.write(arguments)?;
        let status = self.call.call(&mut self.store, (function, seed, bytes))?;
        Ok((Status::from_code(status).unwrap(), self.answer()?))
    }

    pub fn call(&mut self, function: i32, seed: i64, arguments: Value) -> wasmtime::Result<(Status, Value)> {
        let (status, answer) = self.call_raw(function, seed, &written(&arguments))?;
        Ok((status, read(&answer)))
    }

    pub fn resume(&mut self, call: i32, request: i32, answer: &Answer) -> wasmtime::Result<(Status, Value)> {
        let answer = match answer {
            Ok(value) => json!({"ok": value}),
            Err((code, message)) => json!({"error": {"code": code, "message": message}}),
        };
        let bytes = self.write(&written(&answer))?;
        let status = self.resume.call(&mut self.store, (call, request, bytes))?;
        Ok((Status::from_code(status).unwrap(), read(&self.answer()?)))
    }
}

/// Result of a module's function for `input`, its requests answered by `host` in order: kind and request.
pub fn run_with(
    source: &str,
    input: Value,
    limits: Limits,
    mut host: impl FnMut(&str, &Value) -> Answer,
) -> (Guest, wasmtime::Result<Result<Value, Value>>) {
    let mut guest = Guest::with(limits);
    let result = (|| {
        let function = match guest.load_raw(SourceKind::Module, source)? {
            (Status::Done, function) => function.as_i64().unwrap() as i32,
            (_, failure) => return Ok(Err(failure)),
        };
        let mut step = guest.call(function, 7, json!([{"input": input}]))?;
        let mut waiting = std::collections::VecDeque::new();
        loop {
            match step {
                (Status::Done, value) => return Ok(Ok(value)),
                (Status::Failed, failure) => return Ok(Err(failure)),
                (Status::Pending, pending) => {
                    waiting.extend(pending["requests"].as_array().unwrap().clone());
                    let request = waiting.pop_front().unwrap();
                    let answer = host(request["kind"].as_str().unwrap(), &request["request"]);
                    let call = pending["call"].as_i64().unwrap() as i32;
                    step = guest.resume(call, request["id"].as_i64().unwrap() as i32, &answer)?;
                }
            }
        }
    })();
    (guest, result)
}

/// As [`run_with`], without requests and within the limits.
pub fn run(source: &str, input: Value) -> Result<Value, Value> {
    run_with(source, input, Limits::default(), |kind, _| {
        panic!("asked for {kind}")
    })
    .1
    .unwrap()
}

/// The value of a function body.
pub fn body(body: &str) -> Value {
    run(
        &format!("export default async ({{input}}) => {{ {body} }}"),
        Value::Null,
    )
    .unwrap_or_else(|failure| panic!("{body}: {failure}"))
}

/// Writes what is no object, and the elements of a list as told; the properties of an object.
pub fn write_but_objects<'a>(
    value: &'a Value,
    writer: &mut Writer,
    mut write: impl FnMut(&'a Value, &mut Writer),
) -> Option<&'a Map<String, Value>> {
    match value {
        Value::Null => writer.null(),
        Value::Bool(value) => writer.bool(*value),
        Value::Number(number) => writer.number(number.as_f64().unwrap()),
        Value::String(text) => writer.text(Text::Utf8(text)),
        Value::Array(items) => {
            writer.array(items.len() as u32);
            items.iter().for_each(|item| write(item, writer));
        }
        Value::Object(properties) => return Some(properties),
    }
    None
}

/// JSON as a message.
pub fn written(value: &Value) -> Vec<u8> {
    fn write(value: &Value, writer: &mut Writer) {
        let Some(properties) = write_but_objects(value, writer, write) else {
            return;
        };
        writer.object();
        for (name, item) in properties {
            writer.key(Text::Utf8(name));
            write(item, writer);
        }
        writer.end();
    }
    let mut writer = Writer::default();
    write(value, &mut writer);
    writer.finish()
}

/// A message as JSON, with `{"$undefined": true}`, `{"$number": "NaN"}`, `{"$units": […]}` and `{"$date": ms}` for
/// what JSON has not.
pub fn read(message: &[u8]) -> Value {
    fn units(bytes: &[u8]) -> Value {
        json!({"$units": bytes.chunks(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect::<Vec<_>>()})
    }
    fn number(number: f64) -> Value {
        if number as i64 as f64 == number && !(number == 0.0 && number.is_sign_negative()) {
            return json!(number as i64);
        }
        Number::from_f64(number).map_or_else(|| json!({"$number": number.to_string()}), Value::Number)
    }
    /// `kinds`: the keys of each, when its first object has ended.
    fn value(reader: &mut Reader<'_>, kinds: &mut Vec<Option<Vec<String>>>) -> Value {
        let token = reader.token().unwrap();
        match token {
            Token::Undefined => json!({"$undefined": true}),
            Token::Null => Value::Null,
            Token::Bool(value) => json!(value),
            Token::Number(value) => number(value),
            Token::Date(ms) => json!({"$date": number(ms)}),
            Token::Time { ms, text, .. } => json!({"$time": [number(ms), text]}),
            Token::Shared | Token::Again(_) => panic!("is for the other direction"),
            Token::Utf8(text) => json!(text),
            Token::Utf16(bytes) => units(bytes),
            Token::Array(length) => (0..length).map(|_| value(reader, kinds)).collect(),
            Token::Object | Token::Kind => {
                let number = kinds.len();
                kinds.extend((token == Token::Kind).then_some(None));
                let (mut properties, mut names) = (Map::new(), Vec::new());
                while let Some(key) = reader.key().unwrap() {
                    let name = match key.text {
                        Token::Utf8(name) => name.to_owned(),
                        _ => "$units".to_owned(),
                    };
                    names.push(name.clone());
                    properties.insert(name, value(reader, kinds));
                }
                if token == Token::Kind {
                    kinds[number] = Some(names);
                }
                Value::Object(properties)
            }
            Token::Like(kind) => {
                let names = kinds[kind].clone().unwrap();
                let properties = names.into_iter().map(|name| (name, value(reader, kinds)));
                Value::Object(properties.collect())
            }
        }
    }
    let mut reader = Reader::new(message);
    let read = value(&mut reader, &mut Vec::new());
    assert!(reader.is_at_end());
    read
}
