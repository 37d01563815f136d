//! Loading sources, calling functions, and what calls wait for.

use crate::codec::{from_engine, to_engine};
use crate::failure::Failure;
use crate::random;
use crate::realm::{Engine, Realm};
use heddle_javascript::protocol::{SOURCE_NAME, SourceKind, Status};
use heddle_javascript::wire::{Text, Writer};
use rquickjs::{
    Array, Ctx, Error, Exception, FromJs, Function, Module, Object, Persistent, Promise, Result, Value, qjs,
};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::CString;

/// Room for inputs and answers that is there from the start.
pub const BUFFER_BYTES: usize = 16 << 10;
/// Functions of one run at most, and calls that wait.
const FUNCTIONS_MAX: usize = 100_000;

type Kept = Persistent<Value<'static>>;
type KeptFunction = Persistent<Function<'static>>;

/// What has been loaded and what is waiting.
#[derive(Default)]
pub struct Calls {
    functions: Vec<(SourceKind, KeptFunction)>,
    waiting: BTreeMap<u32, Call>,
    next: u32,
    /// Arguments and value of the last call. In most runs there is no other one, and they need never be freed.
    last: Vec<Kept>,
}

/// A call that has begun.
struct Call {
    kind: SourceKind,
    /// What the function returned.
    result: Kept,
    random: u64,
    requests: Requests,
}

/// What a call has asked of the host.
#[derive(Default)]
struct Requests {
    next: u32,
    unsent: Vec<Unsent>,
    open: BTreeMap<u32, Open>,
}

struct Unsent {
    id: u32,
    kind: String,
    request: Kept,
}

struct Open {
    /// A call whose value is there still waits for these; not so for a timer.
    matters: bool,
    resolve: KeptFunction,
    reject: KeptFunction,
}

thread_local! {
    /// Of the call that is executing.
    static REQUESTS: RefCell<Requests> = RefCell::default();
    /// Whether code has made files, in any call, which are to be stored if they are part of a value.
    static MADE_FILES: Cell<bool> = const { Cell::new(false) };
}

/// Asks the host for something; the promise settles when it has answered.
pub fn request<'js>(ctx: &Ctx<'js>, kind: String, request: Value<'js>) -> Result<Promise<'js>> {
    let (promise, resolve, reject) = ctx.promise()?;
    let open = Open {
        matters: kind != "sleep",
        resolve: Persistent::save(ctx, resolve),
        reject: Persistent::save(ctx, reject),
    };
    let request = Persistent::save(ctx, request);
    REQUESTS.with_borrow_mut(|requests| {
        let id = requests.next;
        requests.next += 1;
        requests.open.insert(id, open);
        requests.unsent.push(Unsent { id, kind, request });
    });
    Ok(promise)
}

/// Gives back what an input had more than the usual room.
pub fn give_back(input: &mut Vec<u8>) {
    input.clear();
    input.shrink_to(BUFFER_BYTES);
}

/// Notes that code has made a file.
pub fn made_file() {
    MADE_FILES.set(true);
}

/// Evaluates a script in strict mode under a name of its own.
pub fn evaluate<'js, T: FromJs<'js>>(ctx: &Ctx<'js>, source: &str, name: &str) -> Result<T> {
    let length = source.len();
    let source = CString::new(source).map_err(|_| no_nul(ctx))?;
    let name = CString::new(name)?;
    let flags = (qjs::JS_EVAL_TYPE_GLOBAL | qjs::JS_EVAL_FLAG_STRICT) as i32;
    // SAFETY: source and name end with a NUL, and the length is that of the source; the value is owned.
    let value = unsafe {
        let raw = qjs::JS_Eval(
            ctx.as_raw().as_ptr(),
            source.as_ptr(),
            length as u32,
            name.as_ptr(),
            flags,
        );
        if qjs::JS_IsException(raw) {
            return Err(Error::Exception);
        }
        Value::from_raw(ctx.clone(), raw)
    };
    T::from_js(ctx, value)
}

fn no_nul(ctx: &Ctx<'_>) -> Error {
    Exception::throw_syntax(ctx, "The source contains a NUL character")
}

impl Calls {
    /// Loads a source; the answer is the function's number.
    pub fn load(&mut self, engine: &Engine, kind: SourceKind, source: &[u8], writer: &mut Writer) -> Status {
        let loaded = engine.realm(kind).context.with(|ctx| {
            let loaded = load(&ctx, kind, source).map_err(|error| Failure::caught(&ctx, error));
            loaded.map(|function| Persistent::save(&ctx, function))
        });
        match loaded {
            Ok(_) if self.functions.len() == FUNCTIONS_MAX => failed(
                writer,
                &Failure::new("RangeError", "Too many functions are loaded"),
            ),
            Ok(function) => {
                writer.number(self.functions.len() as f64);
                self.functions.push((kind, function));
                Status::Done
            }
            Err(failure) => failed(writer, &failure),
        }
    }

    /// Calls a function.
    pub fn call(
        &mut self,
        engine: &Engine,
        function: u32,
        seed: u64,
        arguments: &mut Vec<u8>,
        writer: &mut Writer,
    ) -> Status {
        let Some((kind, function)) = self.functions.get(function as usize).cloned() else {
            let message = format!("There is no function {function}");
            return failed(writer, &Failure::new("InternalError", message));
        };
        random::exchange(seed);
        REQUESTS.take();
        let realm = engine.realm(kind);
        let (status, result) = realm.context.with(|ctx| {
            let list = arguments_of(&ctx, kind, realm, arguments);
            // What the code makes may be where they were.
            give_back(arguments);
            let list = match list {
                Ok(list) => list,
                Err(error) => return (failed(writer, &Failure::caught(&ctx, error)), None),
            };
            self.last.push(Persistent::save(&ctx, list.as_value().clone()));
            let mut result = match apply(&ctx, kind, function, &list) {
                Ok(result) => result,
                Err(error) => return (failed(writer, &Failure::caught(&ctx, error)), None),
            };
            let status = settle(engine, realm, &mut result, self.next, writer);
            (status, Some(Persistent::save(&ctx, result)))
        });
        match result {
            Some(result) if status == Status::Pending => self.wait(kind, result),
            result => self.last.extend(result),
        }
        status
    }

    /// Frees what the last call has left, before there is anything of the next one.
    pub fn forget_last(&mut self) {
        self.last.clear();
    }

    /// Hands an answer to a call that waits for it.
    pub fn resume(
        &mut self,
        engine: &Engine,
        id: u32,
        request: u32,
        answer: &[u8],
        writer: &mut Writer,
    ) -> Status {
        let Some(mut call) = self.waiting.remove(&id) else {
            let message = format!("There is no call {id}");
            return failed(writer, &Failure::new("InternalError", message));
        };
        random::exchange(call.random);
        let open = call.requests.open.remove(&request);
        REQUESTS.replace(std::mem::take(&mut call.requests));
        let kind = call.kind;
        let realm = engine.realm(kind);
        let (status, result) = realm.context.with(|ctx| {
            let resumed = call.result.restore(&ctx).and_then(|result| {
                if let Some(open) = open {
                    hand_over(&ctx, open, answer)?;
                }
                Ok(result)
            });
            let mut result = match resumed {
                Ok(result) => result,
                Err(error) => return (failed(writer, &Failure::caught(&ctx, error)), None),
            };
            let status = settle(engine, realm, &mut result, id, writer);
            let kept = (status == Status::Pending).then(|| Persistent::save(&ctx, result));
            (status, kept)
        });
        if let Some(result) = result {
            self.waiting.insert(id, waiting(kind, result));
        }
        status
    }

    fn wait(&mut self, kind: SourceKind, result: Kept) {
        self.waiting.insert(self.next, waiting(kind, result));
        self.next += 1;
    }
}

/// The call that has just stopped.
fn waiting(kind: SourceKind, result: Kept) -> Call {
    Call {
        kind,
        result,
        random: random::exchange(0),
        requests: REQUESTS.take(),
    }
}

fn failed(writer: &mut Writer, failure: &Failure) -> Status {
    failure.write(writer);
    Status::Failed
}

fn load<'js>(ctx: &Ctx<'js>, kind: SourceKind, source: &[u8]) -> Result<Function<'js>> {
    let source =
        str::from_utf8(source).map_err(|_| Exception::throw_syntax(ctx, "The source is not valid UTF-8"))?;
    match kind {
        SourceKind::Expression => evaluate(ctx, source, SOURCE_NAME),
        SourceKind::Module => module(ctx, source),
    }
}

fn module<'js>(ctx: &Ctx<'js>, source: &str) -> Result<Function<'js>> {
    if source.contains('\0') {
        return Err(no_nul(ctx));
    }
    let (module, evaluated) = Module::declare(ctx.clone(), SOURCE_NAME, source)?.eval()?;
    while ctx.execute_pending_job() {}
    evaluated.result::<Value>().unwrap_or_else(|| {
        let message = "The module's top level waits for something; only its default function can";
        Err(Exception::throw_type(ctx, message))
    })?;
    let default: Value = module.namespace()?.get("default")?;
    default.into_function().ok_or_else(|| {
        let message =
            "The module has no function as its default export: write `export default ({input}) => …`";
        Exception::throw_type(ctx, message)
    })
}

/// The arguments of a call.
fn arguments_of<'js>(
    ctx: &Ctx<'js>,
    kind: SourceKind,
    realm: &Realm,
    arguments: &[u8],
) -> Result<Array<'js>> {
    let time = realm.time.clone().restore(ctx)?.into_function();
    let file = realm.file.clone().restore(ctx)?.into_object();
    let list = to_engine(ctx, arguments, (time, file))?;
    let list = list
        .into_array()
        .ok_or_else(|| Exception::throw_internal(ctx, "The arguments are not an array"))?;
    if kind == SourceKind::Module
        && let Ok(context) = list.get::<Object>(0)
    {
        context.set("log", realm.log.clone().restore(ctx)?)?;
    }
    Ok(list)
}

fn apply<'js>(
    ctx: &Ctx<'js>,
    kind: SourceKind,
    function: KeptFunction,
    arguments: &Array<'js>,
) -> Result<Value<'js>> {
    let function = function.restore(ctx)?;
    let result: Value = function.call((rquickjs::function::Rest(
        arguments.iter().collect::<Result<Vec<Value>>>()?,
    ),))?;
    match kind {
        SourceKind::Module => adopt(ctx, result),
        SourceKind::Expression => value_of(ctx, result),
    }
}

/// An expression's value. What its code has left to be done is done now, so that none of it belongs to another call.
fn value_of<'js>(ctx: &Ctx<'js>, result: Value<'js>) -> Result<Value<'js>> {
    while ctx.execute_pending_job() {}
    match result.is_promise() {
        true => Err(Exception::throw_type(
            ctx,
            "An expression can't wait for a promise: use a JavaScript node",
        )),
        false => Ok(result),
    }
}

/// A promise of another kind (an object with `then`) as one of the engine's own.
fn adopt<'js>(ctx: &Ctx<'js>, result: Value<'js>) -> Result<Value<'js>> {
    let Some(object) = result.as_object().filter(|_| !result.is_promise()) else {
        return Ok(result);
    };
    if !object.get::<_, Value>("then")?.is_function() {
        return Ok(result);
    }
    let (promise, resolve, _) = ctx.promise()?;
    resolve.call::<_, ()>((result,))?;
    Ok(promise.into_value())
}

fn hand_over(ctx: &Ctx<'_>, open: Open, answer: &[u8]) -> Result<()> {
    let answer = to_engine(ctx, answer, (None, None))?;
    let answer = answer
        .into_object()
        .ok_or_else(|| Exception::throw_internal(ctx, "The answer is not an object"))?;
    if let Some(error) = answer.get::<_, Option<Object>>("error")? {
        let message: String = error.get("message")?;
        let exception = Exception::from_message(ctx.clone(), &message)?;
        exception.set("code", error.get::<_, Value>("code")?)?;
        return open.reject.restore(ctx)?.call((exception,));
    }
    open.resolve.restore(ctx)?.call((answer.get::<_, Value>("ok")?,))
}

/// What has become of a value that a function has returned, once all that can be done is done.
fn settled<'js>(result: &Value<'js>) -> Option<Result<Value<'js>>> {
    while result.ctx().execute_pending_job() {}
    match result.as_promise() {
        Some(promise) => promise.result::<Value>(),
        None => Some(Ok(result.clone())),
    }
}

/// Whether the call waits for anything, and whether it is for more than timers.
fn waits() -> (bool, bool) {
    REQUESTS.with_borrow(|requests| {
        (
            !requests.open.is_empty(),
            requests.open.values().any(|open| open.matters),
        )
    })
}

/// Executes what can be, and answers with the value, the failure, or what the call waits for. Files that are part of the value are
/// stored first: `result` is then the promise of it.
fn settle<'js>(
    engine: &Engine,
    realm: &Realm,
    result: &mut Value<'js>,
    id: u32,
    writer: &mut Writer,
) -> Status {
    let ctx = &result.ctx().clone();
    let mut found = settled(result);
    if let Some(Ok(value)) = &found
        && MADE_FILES.get()
        && !waits().1
        // Expressions have none.
        && let Ok(store) = realm.store_files.clone().restore(ctx)
        && let Some(store) = store.into_function()
    {
        found = match store.call((value.clone(),)) {
            Ok(stored) => {
                *result = stored;
                settled(result)
            }
            Err(error) => Some(Err(error)),
        };
    }
    let (waits, matters) = waits();
    let outcome = match found {
        Some(Ok(value)) if !matters => from_engine(&value, writer, engine.classes).map(|()| Status::Done),
        Some(Err(error)) => Err(error),
        None if !waits => {
            let message = "The code waits for a promise that nothing is left to settle";
            return failed(writer, &Failure::new("Error", message));
        }
        _ => pending(engine, ctx, id, writer).map(|()| Status::Pending),
    };
    outcome.unwrap_or_else(|error| {
        let failure = Failure::caught(ctx, error);
        *writer = Writer::new(std::mem::take(writer).finish());
        failed(writer, &failure)
    })
}

fn pending(engine: &Engine, ctx: &Ctx<'_>, id: u32, writer: &mut Writer) -> Result<()> {
    let unsent = REQUESTS.with_borrow_mut(|requests| std::mem::take(&mut requests.unsent));
    let list = Array::new(ctx.clone())?;
    for (index, unsent) in unsent.into_iter().enumerate() {
        let entry = Object::new(ctx.clone())?;
        entry.set("id", unsent.id)?;
        entry.set("kind", unsent.kind)?;
        entry.set("request", unsent.request.restore(ctx)?)?;
        list.set(index, entry)?;
    }
    writer.object();
    writer.key(Text::Utf8("call"));
    writer.number(f64::from(id));
    writer.key(Text::Utf8("requests"));
    // The list's keys are numbered with those of the message: the encoder goes on with the same writer.
    from_engine(&list.into_value(), writer, engine.classes)?;
    writer.end();
    Ok(())
}
