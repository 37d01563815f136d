//! Date-times in code: objects that hold the values of `heddle_values`, so that there is one implementation of them,
//! and what is written for people. The classes around them are `prelude/date_times.js` and `prelude/intl.js`.

use crate::allocator::now_ms;
use crate::codec::text_of;
use heddle_values::date_time::{self, Clock, Date};
use heddle_values::methods::{self, Exception as Refusal, Kind};
use heddle_values::{Object as Fields, Temporal, Text, TypeError, Value as Plain};
use rquickjs::class::{JsClass, Readable, Trace, Tracer};
use rquickjs::function::Constructor;
use rquickjs::object::Property;
use rquickjs::{Array, Class, Ctx, Error, Exception, Function, JsLifetime, Object, Result, Value, qjs};

/// A text that is read, or a format, may have so many bytes: what is longer is no date-time.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Texts that are compared may be longer.
const COMPARED_BYTES_MAX: usize = 1 << 20;
/// Arguments are nested no deeper: options that hold a date-time or a list.
const DEPTH_MAX: usize = 4;
/// So many values may be in the arguments of one call.
const VALUES_MAX: usize = 100_000;

/// What an object of `DateTime`, `Duration` or a time zone stands for: a time, or the zone's name.
struct Held(Plain);

impl<'js> Trace<'js> for Held {
    fn trace<'a>(&self, _: Tracer<'a, 'js>) {}
}

// SAFETY: it holds nothing of the engine.
unsafe impl<'js> JsLifetime<'js> for Held {
    type Changed<'to> = Held;
}

impl<'js> JsClass<'js> for Held {
    const NAME: &'static str = "Time";
    type Mutable = Readable;

    fn constructor(_: &Ctx<'js>) -> Result<Option<Constructor<'js>>> {
        Ok(None)
    }
}

/// Adds the functions to `native`. Of each that makes objects, the first argument has what these inherit: `dateTime`,
/// `duration` and `zone`.
pub fn define<'js>(ctx: &Ctx<'js>, native: &Object<'js>) -> Result<()> {
    // The class is known before the snapshot is taken.
    drop(Class::<Held>::prototype(ctx)?);
    native.set("timeOf", Function::new(ctx.clone(), time_of)?)?;
    native.set("timeMade", Function::new(ctx.clone(), time_made)?)?;
    native.set("timeCall", Function::new(ctx.clone(), time_call)?)?;
    native.set("timeGet", Function::new(ctx.clone(), time_get)?)?;
    native.set("timeKind", Function::new(ctx.clone(), time_kind)?)?;
    native.set("timePreset", Function::new(ctx.clone(), time_preset)?)?;
    native.set("timeForPeople", Function::new(ctx.clone(), time_for_people)?)?;
    native.set("zoneName", Function::new(ctx.clone(), zone_name)?)?;
    native.set("numberForPeople", Function::new(ctx.clone(), number_for_people)?)?;
    native.set("collate", Function::new(ctx.clone(), collate)?)?;
    Ok(())
}

/// A time that came with the arguments of a call (see `heddle_javascript::wire`).
fn time_of<'js>(ctx: Ctx<'js>, kinds: Object<'js>, kind: i32, ms: f64, text: String) -> Result<Value<'js>> {
    to_code(&ctx, &kinds, Temporal::handed_over(kind == 1, ms, &text).into())
}

/// `DateTime.fromISO(…)` and the like, by their names.
fn time_made<'js>(
    ctx: Ctx<'js>,
    kinds: Object<'js>,
    name: String,
    arguments: Array<'js>,
) -> Result<Value<'js>> {
    let arguments = list_of(&ctx, &arguments)?;
    let made = date_time::call_static(&name, &arguments, &clock());
    given(&ctx, &kinds, &name, made)
}

/// `receiver.name(…)`
fn time_call<'js>(
    ctx: Ctx<'js>,
    kinds: Object<'js>,
    receiver: Value<'js>,
    name: String,
    arguments: Array<'js>,
) -> Result<Value<'js>> {
    let arguments = list_of(&ctx, &arguments)?;
    let time = time(&ctx, &receiver)?;
    let result = date_time::call_method(&time, &name, &arguments, &clock());
    given(&ctx, &kinds, &name, result)
}

fn given<'js>(
    ctx: &Ctx<'js>,
    kinds: &Object<'js>,
    name: &str,
    outcome: Option<std::result::Result<Plain, TypeError>>,
) -> Result<Value<'js>> {
    match outcome {
        Some(Ok(value)) => to_code(ctx, kinds, value),
        Some(Err(error)) => Err(Exception::throw_type(ctx, &error.0)),
        None => Err(Exception::throw_type(
            ctx,
            &format!("`.{name}` is not a function of this time"),
        )),
    }
}

/// `receiver.name`
fn time_get<'js>(
    ctx: Ctx<'js>,
    kinds: Object<'js>,
    receiver: Value<'js>,
    name: String,
) -> Result<Value<'js>> {
    // The only getter of a zone.
    if let Some(zone @ Plain::String(_)) = held(&receiver) {
        return to_code(&ctx, &kinds, zone);
    }
    let time = time(&ctx, &receiver)?;
    match (name.as_str(), date_time::get(&time, &name).unwrap_or_default()) {
        ("zone", zone @ Plain::String(_)) => object_of(&kinds, "zone", zone),
        (_, value) => to_code(&ctx, &kinds, value),
    }
}

/// What an object stands for: 0 nothing, 1 a date-time, 2 a duration, 3 a zone.
fn time_kind(value: Value<'_>) -> i32 {
    match held(&value) {
        Some(Plain::Temporal(temporal)) => match *temporal {
            Temporal::DateTime(_) => 1,
            Temporal::Duration(_) => 2,
            Temporal::Date(_) => 0,
        },
        Some(_) => 3,
        None => 0,
    }
}

/// The options that are called `DateTime.DATE_SHORT` and the like.
fn time_preset(ctx: Ctx<'_>, name: String) -> Result<Option<Object<'_>>> {
    let Some(options) = date_time::preset(&name) else {
        return Ok(None);
    };
    let object = Object::new(ctx)?;
    for (key, value) in options {
        define_property(&object, key, *value)?;
    }
    Ok(Some(object))
}

/// A time as `Intl.DateTimeFormat` writes it in UTC or the zone of the options, with a mark before and behind each part if
/// that is wished (see `date_time::for_people`). `wanted` is 0 for a date, 1 for a time, 2 for both when nothing is said.
fn time_for_people<'js>(
    ctx: Ctx<'js>,
    ms: f64,
    locale: Value<'js>,
    options: Value<'js>,
    wanted: i32,
    is_marked: bool,
) -> Result<String> {
    let left = &mut Room::default();
    let locale = plain(&ctx, &locale, DEPTH_MAX, left)?;
    let options = plain(&ctx, &options, DEPTH_MAX, left)?;
    let wanted = match wanted {
        0 => date_time::Wanted::Date,
        1 => date_time::Wanted::Time,
        3 => date_time::Wanted::DateUnlessGiven,
        _ => date_time::Wanted::Both,
    };
    date_time::for_people(ms, &locale, &options, wanted, is_marked)
        .map_err(|error| Exception::throw_range(&ctx, &error.0))
}

/// The name of a time zone as it is to be shown, if there is such a zone.
fn zone_name(name: String) -> Option<String> {
    (name.len() <= TEXT_BYTES_MAX).then(|| date_time::zone_name(&name))?
}

/// A number in American English with so many decimal places, its thousands set apart or not.
fn number_for_people(ctx: Ctx<'_>, number: f64, least: f64, most: f64, is_grouped: bool) -> Result<String> {
    let mut options = Fields::new();
    options.insert("minimumFractionDigits", Plain::Number(least));
    options.insert("maximumFractionDigits", Plain::Number(most));
    options.insert("useGrouping", Plain::Bool(is_grouped));
    let arguments = [Plain::Undefined, Plain::from(options)];
    match methods::number_to_locale(number, &arguments) {
        Ok(text) => Ok(text.to_text().to_utf8().into_owned()),
        Err(refusal) => Err(thrown(&ctx, &refusal)),
    }
}

/// How ASCII texts are sorted: -1, 0 or 1; `undefined` for others.
fn collate<'js>(
    ctx: Ctx<'js>,
    one: rquickjs::String<'js>,
    other: rquickjs::String<'js>,
) -> Result<Option<f64>> {
    let (one, other) = (text_of(&one), text_of(&other));
    if one.len() > COMPARED_BYTES_MAX || other.len() > COMPARED_BYTES_MAX {
        return Err(Exception::throw_range(
            &ctx,
            "The texts are too long to be compared by a language's rules",
        ));
    }
    let arguments = [Plain::from(other)];
    match methods::text_to_locale_order(&Text::from(one), &arguments) {
        Ok(Plain::Number(order)) => Ok(Some(order)),
        _ => Ok(None),
    }
}

fn thrown(ctx: &Ctx<'_>, refusal: &Refusal) -> Error {
    match refusal.kind {
        Kind::Range => Exception::throw_range(ctx, &refusal.message),
        _ => Exception::throw_type(ctx, &refusal.message),
    }
}

fn clock() -> Clock {
    Clock::utc(now_ms())
}

/// What an object of ours holds.
fn held(value: &Value<'_>) -> Option<Plain> {
    let class = Class::<Held>::from_object(value.as_object()?)?;
    let plain = class.borrow().0.clone();
    Some(plain)
}

fn time(ctx: &Ctx<'_>, receiver: &Value<'_>) -> Result<Temporal> {
    match held(receiver) {
        Some(Plain::Temporal(time)) => Ok((*time).clone()),
        _ => Err(Exception::throw_type(
            ctx,
            "A method of DateTime or Duration was called on something else",
        )),
    }
}

/// What is left of what the arguments of a call may have.
struct Room {
    values: usize,
}

impl Default for Room {
    fn default() -> Self {
        Room { values: VALUES_MAX }
    }
}

fn list_of<'js>(ctx: &Ctx<'js>, list: &Array<'js>) -> Result<Vec<Plain>> {
    let left = &mut Room::default();
    let items = list.iter::<Value>();
    items.map(|item| plain(ctx, &item?, DEPTH_MAX, left)).collect()
}

/// A value of code as a plain one. What is nested too deeply to mean anything is `undefined`.
fn plain<'js>(ctx: &Ctx<'js>, value: &Value<'js>, levels: usize, left: &mut Room) -> Result<Plain> {
    left.values = left
        .values
        .checked_sub(1)
        .ok_or_else(|| Exception::throw_range(ctx, "The arguments have too many values for a date-time"))?;
    if let Some(text) = value.as_string() {
        let text = text_of(text);
        return match text.len() > TEXT_BYTES_MAX {
            true => Err(Exception::throw_range(
                ctx,
                "The text is too long for a date-time",
            )),
            false => Ok(text.into()),
        };
    }
    if let Some(value) = value.as_bool() {
        return Ok(Plain::Bool(value));
    }
    if let Some(number) = value.as_number() {
        return Ok(Plain::Number(number));
    }
    if value.is_null() {
        return Ok(Plain::Null);
    }
    let Some(object) = value.as_object().filter(|object| !object.is_function()) else {
        return Ok(Plain::Undefined);
    };
    if let Some(held) = held(value) {
        return Ok(held);
    }
    // SAFETY: only looks at the object.
    if unsafe { qjs::JS_IsDate(value.as_raw()) } {
        return Ok(Temporal::Date(Date::new(date_ms(ctx, value)?)).into());
    }
    if levels == 0 {
        return Ok(Plain::Undefined);
    }
    if let Some(list) = value.as_array() {
        let items = list.iter::<Value>();
        let items = items.map(|item| plain(ctx, &item?, levels - 1, left));
        return Ok(Plain::from(items.collect::<Result<Vec<_>>>()?));
    }
    let mut fields = Fields::new();
    for property in object.props::<rquickjs::String, Value>() {
        let (name, value) = property?;
        fields.insert(text_of(&name), plain(ctx, &value, levels - 1, left)?);
    }
    Ok(fields.into())
}

/// The time of a `Date`, as code that calculates with it gets it.
fn date_ms<'js>(ctx: &Ctx<'js>, date: &Value<'js>) -> Result<f64> {
    let mut ms = f64::NAN;
    // SAFETY: writes one number.
    match unsafe { qjs::JS_ToFloat64(ctx.as_raw().as_ptr(), &mut ms, date.as_raw()) } {
        ..0 => Err(Error::Exception),
        _ => Ok(ms),
    }
}

/// A plain value as one of code.
fn to_code<'js>(ctx: &Ctx<'js>, kinds: &Object<'js>, value: Plain) -> Result<Value<'js>> {
    Ok(match value {
        Plain::Undefined | Plain::Function(_) => Value::new_undefined(ctx.clone()),
        Plain::Null => Value::new_null(ctx.clone()),
        Plain::Bool(value) => Value::new_bool(ctx.clone(), value),
        Plain::Number(number) => Value::new_number(ctx.clone(), number),
        Plain::String(text) => rquickjs::String::from_str(ctx.clone(), &text.to_utf8())?.into_value(),
        Plain::Temporal(ref temporal) => match &**temporal {
            Temporal::DateTime(_) => return object_of(kinds, "dateTime", value),
            Temporal::Duration(_) => return object_of(kinds, "duration", value),
            // SAFETY: the context is alive, and the date is owned.
            Temporal::Date(date) => unsafe {
                let raw = qjs::JS_NewDate(ctx.as_raw().as_ptr(), date.ms());
                if qjs::JS_IsException(raw) {
                    return Err(Error::Exception);
                }
                Value::from_raw(ctx.clone(), raw)
            },
        },
        Plain::Array(items) => {
            let list = Array::new(ctx.clone())?;
            for (index, item) in items.iter().enumerate() {
                list.set(index, to_code(ctx, kinds, item.clone())?)?;
            }
            list.into_value()
        }
        Plain::Object(fields) => {
            let object = Object::new(ctx.clone())?;
            for (name, value) in fields.iter() {
                define_property(&object, &name.to_utf8(), to_code(ctx, kinds, value.clone())?)?;
            }
            object.into_value()
        }
    })
}

/// An object that stands for a value and inherits what its kind has.
fn object_of<'js>(kinds: &Object<'js>, kind: &str, value: Plain) -> Result<Value<'js>> {
    let prototype: Object = kinds.get(kind)?;
    Ok(Class::instance_proto(Held(value), prototype)?.into_value())
}

/// Defined, not set: no setter that code has put into a prototype is called.
fn define_property<'js, V: rquickjs::IntoJs<'js>>(object: &Object<'js>, name: &str, value: V) -> Result<()> {
    let property = Property::from(value).writable().configurable().enumerable();
    object.prop(name, property)
}
