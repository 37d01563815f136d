//! Values of a message to values of the engine.

use super::texts::{Ends, Texts, is_ascii};
use super::value::{Owned, too_deep};
use crate::layout;
use heddle_javascript::wire::{DEPTH_MAX, Key, Reader, TimeKind, Token};
use rquickjs::{Ctx, Error, Exception, Function, Object, Value, qjs};

/// Makes the value of a message; `time` makes those of times that JavaScript has no type for, if there is one, and `file` is what
/// objects inherit that refer to files.
pub fn to_engine<'js>(
    ctx: &Ctx<'js>,
    message: &[u8],
    (time, file): (Option<Function<'js>>, Option<Object<'js>>),
) -> rquickjs::Result<Value<'js>> {
    let context = ctx.as_raw().as_ptr();
    let mut decoder = Decoder {
        context,
        reader: Reader::new(message),
        values: Vec::new(),
        atoms: Vec::new(),
        kinds: Vec::new(),
        texts: Texts::new(context, message.len()),
        depth: 0,
        time,
        file,
        mark: None,
        shared: Vec::new(),
    };
    let read = match decoder.value() {
        Ok(()) if !decoder.reader.is_at_end() => Err(Stop::Broken),
        other => other,
    };
    match (read, decoder.values.pop()) {
        // SAFETY: the value is owned and of this context.
        (Ok(()), Some(value)) => Ok(unsafe { Value::from_raw(ctx.clone(), value) }),
        (read, value) => {
            decoder.values.extend(value);
            Err(match read {
                Err(Stop::Thrown) => Error::Exception,
                Err(Stop::Other(error)) => *error,
                Err(Stop::TooDeep) => Exception::throw_range(ctx, &too_deep()),
                Ok(()) | Err(Stop::Broken) => {
                    Exception::throw_internal(ctx, &decoder.reader.broken().to_string())
                }
            })
        }
    }
}

/// Why the decoder stopped; small, since it is part of what every step returns.
enum Stop {
    Broken,
    TooDeep,
    /// The engine has an exception.
    Thrown,
    Other(Box<Error>),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        match error {
            Error::Exception => Stop::Thrown,
            other => Stop::Other(Box::new(other)),
        }
    }
}

/// Keys that objects have in common.
struct Kind {
    /// In their order, kept by the decoder.
    keys: Vec<qjs::JSAtom>,
    /// Which of them refers to a file.
    mark: Option<usize>,
    /// The first object, if others can be made like it.
    first: Option<Owned>,
}

struct Decoder<'a, 'js> {
    context: *mut qjs::JSContext,
    reader: Reader<'a>,
    /// What was read and is part of nothing yet, owned.
    values: Vec<qjs::JSValue>,
    /// Of the message's keys, by their index.
    atoms: Vec<qjs::JSAtom>,
    /// By number; none until the first object has ended.
    kinds: Vec<Option<Kind>>,
    texts: Texts<'a>,
    depth: usize,
    time: Option<Function<'js>>,
    file: Option<Object<'js>>,
    /// Index of the key by which an object refers to a file.
    mark: Option<usize>,
    /// By number; none until they have ended.
    shared: Vec<Option<Owned>>,
}

impl Drop for Decoder<'_, '_> {
    fn drop(&mut self) {
        for value in self.values.drain(..) {
            // SAFETY: each value is owned once.
            unsafe { qjs::JS_FreeValue(self.context, value) }
        }
        for atom in &self.atoms {
            // SAFETY: each atom is owned once.
            unsafe { qjs::JS_FreeAtom(self.context, *atom) }
        }
    }
}

impl<'a> Decoder<'a, '_> {
    /// Reads a value, which is then the last of `values`.
    fn value(&mut self) -> Result<(), Stop> {
        let token = self.reader.unchecked().map_err(|_| Stop::Broken)?;
        let value = match token {
            Token::Undefined => qjs::JS_UNDEFINED,
            Token::Null => qjs::JS_NULL,
            Token::Bool(true) => qjs::JS_TRUE,
            Token::Bool(false) => qjs::JS_FALSE,
            Token::Number(number) => qjs::JS_NewFloat64(number),
            // SAFETY: the context is alive.
            Token::Date(ms) => checked(unsafe { qjs::JS_NewDate(self.context, ms) })?,
            Token::Utf8(text) => self.utf8(text)?,
            Token::Utf16(units) => self.utf16(units)?,
            Token::Time { kind, ms, text } => self.time(kind, ms, text)?,
            Token::Shared => return self.shared(),
            Token::Again(number) => match self.shared.get(number) {
                // SAFETY: duplicates the value, so that both own it.
                Some(Some(value)) => unsafe { qjs::JS_DupValue(self.context, value.raw) },
                _ => return Err(Stop::Broken),
            },
            other => return self.nested(other),
        };
        self.values.push(value);
        Ok(())
    }

    #[inline(always)]
    fn nested(&mut self, token: Token<'a, &'a [u8]>) -> Result<(), Stop> {
        if self.depth == DEPTH_MAX {
            return Err(Stop::TooDeep);
        }
        self.depth += 1;
        match token {
            Token::Array(length) => self.array(length)?,
            Token::Object => self.object(None)?,
            Token::Kind => {
                let number = self.kinds.len();
                self.kinds.push(None);
                self.object(Some(number))?;
            }
            Token::Like(number) => self.like(number)?,
            _ => return Err(Stop::Broken),
        }
        self.depth -= 1;
        Ok(())
    }

    /// An array or object that may come again.
    #[inline(never)]
    fn shared(&mut self) -> Result<(), Stop> {
        let number = self.shared.len();
        self.shared.push(None);
        let token = self.reader.unchecked().map_err(|_| Stop::Broken)?;
        self.nested(token)?;
        if let (Some(place), Some(value)) = (self.shared.get_mut(number), self.values.last()) {
            *place = Some(Owned::again(self.context, *value));
        }
        Ok(())
    }

    #[inline(never)]
    fn time(&mut self, kind: TimeKind, ms: f64, text: &'a str) -> Result<qjs::JSValue, Stop> {
        let Some(make) = &self.time else {
            // Its text alone, without the zone behind it.
            let text = text.split_once('[').map_or(text, |(text, _)| text);
            return self.utf8(text.as_bytes());
        };
        let value: Value = make.call((kind as u8, ms, text))?;
        Ok(Owned::again(self.context, value.as_raw()).into_raw())
    }

    fn utf8(&mut self, text: &'a [u8]) -> Result<qjs::JSValue, Stop> {
        let ends = Ends::of(text);
        if let Some(known) = self.texts.find(ends, text) {
            return Ok(known);
        }
        let value = match is_ascii(text) && !text.is_empty() {
            // SAFETY: it is ASCII, and not empty.
            true => unsafe { layout::new_ascii(self.context, text) },
            false if str::from_utf8(text).is_err() => return Err(Stop::Broken),
            false => None,
        };
        let value = match value {
            Some(value) => value,
            // SAFETY: pointer and length belong to one text.
            None => checked(unsafe {
                qjs::JS_NewStringLen(self.context, text.as_ptr().cast(), text.len() as u32)
            })?,
        };
        self.texts.keep(ends, text, value);
        Ok(value)
    }

    #[inline(never)]
    fn utf16(&self, bytes: &[u8]) -> Result<qjs::JSValue, Stop> {
        let (pairs, _) = bytes.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| u16::from_le_bytes(*pair)).collect();
        // SAFETY: pointer and length belong to one text.
        checked(unsafe { qjs::JS_NewStringUTF16(self.context, units.as_ptr(), units.len() as u32) })
    }

    #[inline(never)]
    fn array(&mut self, length: usize) -> Result<(), Stop> {
        let first = self.values.len();
        for _ in 0..length {
            self.value()?;
        }
        let values = self.values.get(first..).unwrap_or_default();
        // SAFETY: the array takes the values, also when it fails. The length is at most that of the message.
        let array = unsafe { qjs::JS_NewArrayFrom(self.context, values.len() as i32, values.as_ptr()) };
        self.values.truncate(first);
        self.values.push(checked(array)?);
        Ok(())
    }

    /// An object with its keys, which are those of a kind if that has a number.
    #[inline(never)]
    fn object(&mut self, kind: Option<usize>) -> Result<(), Stop> {
        // SAFETY: the context is alive.
        let object = Owned::checked(self.context, unsafe { qjs::JS_NewObject(self.context) })?;
        let (mut keys, mut mark, mut is_file) = (Vec::new(), None, false);
        while let Some(key) = self.reader.key().map_err(|_| Stop::Broken)? {
            let atom = self.atom(key)?;
            let is_mark = self.mark == Some(key.index);
            if kind.is_some() {
                mark = mark.or(is_mark.then_some(keys.len()));
                keys.push(atom);
            }
            self.value()?;
            let value = self.values.pop().unwrap_or(qjs::JS_UNDEFINED);
            is_file |= is_mark && is_string(value);
            define(&object, atom, value)?;
        }
        if is_file {
            self.make_file(&object)?;
        }
        if let Some(place) = kind.and_then(|kind| self.kinds.get_mut(kind)) {
            // SAFETY: the object is alive, and the decoder owns it.
            let is_like = !is_file && unsafe { layout::has_properties(object.raw, keys.len()) };
            let first = is_like.then(|| Owned::again(self.context, object.raw));
            *place = Some(Kind { keys, mark, first });
        }
        self.values.push(object.into_raw());
        Ok(())
    }

    /// An object with the keys of a kind.
    #[inline(never)]
    fn like(&mut self, number: usize) -> Result<(), Stop> {
        let kind = self.kinds.get(number).and_then(Option::as_ref);
        let count = kind.ok_or(Stop::Broken)?.keys.len();
        let first = self.values.len();
        for _ in 0..count {
            self.value()?;
        }
        let Some(Some(kind)) = self.kinds.get(number) else {
            return Err(Stop::Broken);
        };
        let values = self.values.get_mut(first..).unwrap_or_default();
        let mark = kind.mark.and_then(|mark| values.get(mark));
        let is_file = mark.is_some_and(|value| is_string(*value));
        let made = kind.first.as_ref().and_then(|first| {
            // SAFETY: the first one is fresh and alive; the values are owned, and as many as it has properties.
            unsafe { layout::new_like(self.context, (first.raw, first.raw), values) }
        });
        let object = match made {
            Some(raw) => Owned {
                context: self.context,
                raw,
            },
            None => {
                // SAFETY: the context is alive.
                let object = Owned::checked(self.context, unsafe { qjs::JS_NewObject(self.context) })?;
                for (key, value) in kind.keys.iter().zip(values.iter_mut()) {
                    define(&object, *key, std::mem::replace(value, qjs::JS_UNDEFINED))?;
                }
                object
            }
        };
        self.values.truncate(first);
        if is_file {
            self.make_file(&object)?;
        }
        self.values.push(object.into_raw());
        Ok(())
    }

    /// Lets an object that refers to a file inherit what files have.
    fn make_file(&self, object: &Owned) -> Result<(), Stop> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        // SAFETY: both are alive; the object duplicates what it inherits.
        match unsafe { qjs::JS_SetPrototype(self.context, object.raw, file.as_raw()) } {
            ..0 => Err(Stop::Thrown),
            _ => Ok(()),
        }
    }

    /// The key's atom, which the decoder keeps.
    fn atom(&mut self, key: Key<'a>) -> Result<qjs::JSAtom, Stop> {
        if let Some(atom) = self.atoms.get(key.index) {
            return Ok(*atom);
        }
        let text = match key.text {
            Token::Utf8(text) => self.utf8(text.as_bytes())?,
            Token::Utf16(units) => self.utf16(units)?,
            _ => return Err(Stop::Broken),
        };
        if matches!(key.text, Token::Utf8("$file")) {
            self.mark = Some(key.index);
        }
        let text = Owned {
            context: self.context,
            raw: text,
        };
        // SAFETY: the text is alive.
        let atom = unsafe { qjs::JS_ValueToAtom(self.context, text.raw) };
        if atom == qjs::JS_ATOM_NULL {
            return Err(Stop::Thrown);
        }
        self.atoms.push(atom);
        Ok(atom)
    }
}

/// Gives an object a property. Defined, not set: `__proto__` is a property like any other.
fn define(object: &Owned, key: qjs::JSAtom, value: qjs::JSValue) -> Result<(), Stop> {
    let flags = qjs::JS_PROP_C_W_E as i32;
    // SAFETY: object and key are alive; the value is given away.
    match unsafe { qjs::JS_DefinePropertyValue(object.context, object.raw, key, value, flags) } {
        ..0 => Err(Stop::Thrown),
        _ => Ok(()),
    }
}

fn is_string(value: qjs::JSValue) -> bool {
    // SAFETY: only looks at the tag.
    unsafe { qjs::JS_VALUE_GET_TAG(value) == qjs::JS_TAG_STRING }
}

/// What an engine function gave, unless that is an exception.
fn checked(value: qjs::JSValue) -> Result<qjs::JSValue, Stop> {
    // SAFETY: only looks at the tag.
    match unsafe { qjs::JS_IsException(value) } {
        true => Err(Stop::Thrown),
        false => Ok(value),
    }
}
