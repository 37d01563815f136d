//! The two realms and what is put into their globals before the snapshot.

use crate::codec::{Classes, class_of};
use crate::{layout, natives};
use heddle_javascript::protocol::SourceKind;
use rquickjs::{Context, Ctx, Function, Module, Object, Persistent, Result, Runtime, Value};

/// What QuickJS may use of the stack; the module's own is larger (see build-engine.sh), so that overflow is an
/// exception and not a trap.
const STACK_BYTES_MAX: usize = 400 << 10;
/// Cycles are looked for when the heap has grown to this. Most runs end before.
const COLLECT_BYTES: usize = 16 << 20;

/// In this order, each a function `(native, global) => …`: for both realms, for modules, for expressions.
const PRELUDE: &[(&str, &str)] = &[
    ("console", include_str!("prelude/console.js")),
    ("encoding", include_str!("prelude/encoding.js")),
    ("clone", include_str!("prelude/clone.js")),
    ("url", include_str!("prelude/url.js")),
    ("crypto", include_str!("prelude/crypto.js")),
    ("performance", include_str!("prelude/performance.js")),
    ("languages", include_str!("prelude/languages.js")),
    ("intl", include_str!("prelude/intl.js")),
    ("date_times", include_str!("prelude/date_times.js")),
];
const MODULE_PRELUDE: &[(&str, &str)] = &[
    ("timers", include_str!("prelude/timers.js")),
    ("buffer", include_str!("prelude/buffer.js")),
    ("files", include_str!("prelude/files.js")),
    ("form_data", include_str!("prelude/form_data.js")),
    ("fetch", include_str!("prelude/fetch.js")),
    ("key_values", include_str!("prelude/key_values.js")),
    ("require", include_str!("prelude/require.js")),
];
const EXPRESSION_PRELUDE: &[(&str, &str)] = &[
    ("times", include_str!("prelude/times.js")),
    ("freeze", include_str!("prelude/freeze.js")),
];

/// The only module that code can import: one that is there already, since nothing loads any.
const LUXON: (&str, &str) = ("luxon", include_str!("luxon.mjs"));

/// Globals of their own.
pub struct Realm {
    pub context: Context,
    /// The `log` that a module's function is given.
    pub log: Persistent<Value<'static>>,
    /// What makes a value of a time that JavaScript has no type for: in the realm of expressions.
    pub time: Persistent<Value<'static>>,
    /// What values that refer to files inherit, and what stores those that code has made: in the realm of modules.
    pub file: Persistent<Value<'static>>,
    pub store_files: Persistent<Value<'static>>,
}

/// Everything that is ready before the first call.
pub struct Engine {
    pub runtime: Runtime,
    pub modules: Realm,
    pub expressions: Realm,
    pub classes: Classes,
}

impl Engine {
    /// Builds both realms.
    pub fn new() -> Result<Self> {
        let runtime = Runtime::new()?;
        runtime.set_max_stack_size(STACK_BYTES_MAX);
        runtime.set_gc_threshold(COLLECT_BYTES);
        let modules = realm(&runtime, &[PRELUDE, MODULE_PRELUDE])?;
        modules.context.with(|ctx| -> Result<()> {
            let (name, source) = LUXON;
            let (_, evaluated) = Module::declare(ctx.clone(), name, source)?.eval()?;
            evaluated.finish::<Value>()?;
            Ok(())
        })?;
        let expressions = realm(&runtime, &[PRELUDE, EXPRESSION_PRELUDE])?;
        let classes = modules.context.with(|ctx| -> Result<Classes> {
            Ok(Classes {
                object: class_of(&ctx.eval("({})")?),
                number: class_of(&ctx.eval("Object(1)")?),
                string: class_of(&ctx.eval("Object('')")?),
                boolean: class_of(&ctx.eval("Object(true)")?),
            })
        })?;
        runtime.run_gc();
        Ok(Engine {
            runtime,
            modules,
            expressions,
            classes,
        })
    }

    /// Where sources of this kind are loaded.
    pub fn realm(&self, kind: SourceKind) -> &Realm {
        match kind {
            SourceKind::Module => &self.modules,
            SourceKind::Expression => &self.expressions,
        }
    }
}

fn realm(runtime: &Runtime, preludes: &[&[(&str, &str)]]) -> Result<Realm> {
    let context = Context::full(runtime)?;
    context.with(|ctx| -> Result<_> {
        let native = natives::object(&ctx)?;
        let globals = ctx.globals();
        let mut log = Value::new_undefined(ctx.clone());
        let (mut time, mut store_files) = (log.clone(), log.clone());
        for (name, source) in preludes.iter().copied().flatten() {
            let result = install(&ctx, name, source, &native, &globals)?;
            match *name {
                "console" => log = result,
                "times" => time = result,
                "files" => store_files = result,
                _ => {}
            }
        }
        let kept = |value| Persistent::save(&ctx, value);
        // SAFETY: the context is alive.
        unsafe { layout::check(ctx.as_raw().as_ptr()) };
        Ok(Realm {
            context: context.clone(),
            log: kept(log),
            time: kept(time),
            file: kept(native.get("filePrototype")?),
            store_files: kept(store_files),
        })
    })
}

fn install<'js>(
    ctx: &Ctx<'js>,
    name: &str,
    source: &str,
    native: &Object<'js>,
    globals: &Object<'js>,
) -> Result<Value<'js>> {
    let function: Function = crate::calls::evaluate(ctx, source, &format!("heddle:{name}"))?;
    function.call((native.clone(), globals.clone()))
}
