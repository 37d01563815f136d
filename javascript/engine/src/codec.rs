//! Values of the wire to values of the engine and back.
//!
//! What leaves the engine is what `JSON.stringify` would see (`toJSON`, own enumerable properties, boxed
//! primitives as what they box, functions and symbols left out), with `undefined`, NaN, infinities and dates kept.

use heddle_javascript::protocol::ANSWER_BYTES_MAX;
use heddle_javascript::wire::{DEPTH_MAX, Key, Reader, Text, TimeKind, Token, Writer};
use rquickjs::{Ctx, Error, Exception, Function, Object, Result, Value, qjs};
use std::ptr::null_mut;

/// A value of the engine that is freed when dropped.
struct Owned {
    context: *mut qjs::JSContext,
    raw: qjs::JSValue,
}

impl Owned {
    /// Takes what an engine function gave; an exception becomes an error.
    fn checked(context: *mut qjs::JSContext, raw: qjs::JSValue) -> Result<Self> {
        // SAFETY: only looks at the tag.
        match unsafe { qjs::JS_IsException(raw) } {
            true => Err(Error::Exception),
            false => Ok(Owned { context, raw }),
        }
    }

    fn into_raw(self) -> qjs::JSValue {
        let raw = self.raw;
        std::mem::forget(self);
        raw
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the value is owned and its context lives as long as the engine.
        unsafe { qjs::JS_FreeValue(self.context, self.raw) }
    }
}

/// Makes the value of a message; `time` makes those of times that JavaScript has no type for, if there is one, and `file` is what
/// objects inherit that refer to files.
pub fn to_engine<'js>(
    ctx: &Ctx<'js>,
    message: &[u8],
    (time, file): (Option<Function<'js>>, Option<Object<'js>>),
) -> Result<Value<'js>> {
    let mut decoder = Decoder {
        ctx,
        context: ctx.as_raw().as_ptr(),
        reader: Reader::new(message),
        atoms: Vec::new(),
        depth: 0,
        time,
        file,
        mark: None,
        shared: Vec::new(),
    };
    let value = decoder.value()?;
    if !decoder.reader.is_at_end() {
        return Err(decoder.broken());
    }
    // SAFETY: the value is owned and of this context.
    Ok(unsafe { Value::from_raw(ctx.clone(), value.into_raw()) })
}

struct Decoder<'a, 'js> {
    ctx: &'a Ctx<'js>,
    context: *mut qjs::JSContext,
    reader: Reader<'a>,
    /// Of the message's keys, by their index.
    atoms: Vec<qjs::JSAtom>,
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
        for atom in &self.atoms {
            // SAFETY: each atom is owned once.
            unsafe { qjs::JS_FreeAtom(self.context, *atom) }
        }
    }
}

impl Decoder<'_, '_> {
    fn broken(&self) -> Error {
        Exception::throw_internal(self.ctx, &self.reader.broken().to_string())
    }

    fn value(&mut self) -> Result<Owned> {
        let token = self.reader.token().map_err(|_| self.broken())?;
        let context = self.context;
        // SAFETY: the context is alive and texts are passed with their lengths.
        let raw = unsafe {
            match token {
                Token::Undefined => qjs::JS_UNDEFINED,
                Token::Null => qjs::JS_NULL,
                Token::Bool(true) => qjs::JS_TRUE,
                Token::Bool(false) => qjs::JS_FALSE,
                Token::Number(number) => qjs::JS_NewNumber(context, number),
                Token::Date(ms) => qjs::JS_NewDate(context, ms),
                Token::Utf8(_) | Token::Utf16(_) => return self.text(token),
                Token::Time { kind, ms, text } => return self.time(kind, ms, text),
                Token::Shared => return self.shared(),
                Token::Again(number) => match self.shared.get(number) {
                    Some(Some(value)) => qjs::JS_DupValue(context, value.raw),
                    _ => return Err(self.broken()),
                },
                Token::Array(length) => return self.nested(|decoder| decoder.array(length)),
                Token::Object => return self.nested(Decoder::object),
            }
        };
        Owned::checked(context, raw)
    }

    /// An array or object that may come again.
    fn shared(&mut self) -> Result<Owned> {
        let number = self.shared.len();
        self.shared.push(None);
        let value = match self.reader.token().map_err(|_| self.broken())? {
            Token::Array(length) => self.nested(|decoder| decoder.array(length))?,
            Token::Object => self.nested(Decoder::object)?,
            _ => return Err(self.broken()),
        };
        // SAFETY: duplicates the value, so that both own it.
        let again = Owned::checked(self.context, unsafe { qjs::JS_DupValue(self.context, value.raw) })?;
        if let Some(place) = self.shared.get_mut(number) {
            *place = Some(again);
        }
        Ok(value)
    }

    fn time(&self, kind: TimeKind, ms: f64, text: &str) -> Result<Owned> {
        let Some(make) = &self.time else {
            return self.text(Token::Utf8(text));
        };
        let value: Value = make.call((kind as u8, ms, text))?;
        // SAFETY: duplicates the value, so that what is given back is owned.
        Owned::checked(self.context, unsafe {
            qjs::JS_DupValue(self.context, value.as_raw())
        })
    }

    fn nested(&mut self, inner: impl FnOnce(&mut Self) -> Result<Owned>) -> Result<Owned> {
        if self.depth == DEPTH_MAX {
            return Err(Exception::throw_range(self.ctx, &too_deep()));
        }
        self.depth += 1;
        let value = inner(self);
        self.depth -= 1;
        value
    }

    fn text(&self, token: Token<'_>) -> Result<Owned> {
        let raw = match token {
            // SAFETY: pointer and length belong to one text.
            Token::Utf8(text) => unsafe {
                qjs::JS_NewStringLen(self.context, text.as_ptr().cast(), text.len() as u32)
            },
            Token::Utf16(bytes) => {
                let units = units(bytes);
                // SAFETY: as above.
                unsafe { qjs::JS_NewStringUTF16(self.context, units.as_ptr(), units.len() as u32) }
            }
            _ => return Err(self.broken()),
        };
        Owned::checked(self.context, raw)
    }

    fn array(&mut self, length: usize) -> Result<Owned> {
        let mut items = Vec::with_capacity(length);
        for _ in 0..length {
            items.push(self.value()?);
        }
        let raw: Vec<_> = items.into_iter().map(Owned::into_raw).collect();
        // SAFETY: the array takes the values, also when it fails. The length is at most that of the message.
        let array = unsafe { qjs::JS_NewArrayFrom(self.context, raw.len() as i32, raw.as_ptr()) };
        Owned::checked(self.context, array)
    }

    fn object(&mut self) -> Result<Owned> {
        // SAFETY: the context is alive.
        let object = Owned::checked(self.context, unsafe { qjs::JS_NewObject(self.context) })?;
        let mut is_file = false;
        while let Some(key) = self.reader.key().map_err(|_| self.broken())? {
            let index = key.index;
            let atom = self.atom(key)?;
            let value = self.value()?.into_raw();
            // SAFETY: only looks at the tag.
            is_file |=
                self.mark == Some(index) && unsafe { qjs::JS_VALUE_GET_TAG(value) } == qjs::JS_TAG_STRING;
            // Defined, not set: `__proto__` is a property like any other.
            // SAFETY: object and atom are alive; the value is given away.
            let defined = unsafe {
                let flags = qjs::JS_PROP_C_W_E as i32;
                qjs::JS_DefinePropertyValue(self.context, object.raw, atom, value, flags)
            };
            if defined < 0 {
                return Err(Error::Exception);
            }
        }
        if let Some(file) = self.file.as_ref().filter(|_| is_file) {
            // SAFETY: both are alive; the object duplicates what it inherits.
            if unsafe { qjs::JS_SetPrototype(self.context, object.raw, file.as_raw()) } < 0 {
                return Err(Error::Exception);
            }
        }
        Ok(object)
    }

    /// The key's atom, which the decoder keeps.
    fn atom(&mut self, key: Key<'_>) -> Result<qjs::JSAtom> {
        if let Some(atom) = self.atoms.get(key.index) {
            return Ok(*atom);
        }
        if matches!(key.text, Token::Utf8("$file")) {
            self.mark = Some(key.index);
        }
        let text = self.text(key.text)?;
        // SAFETY: the text is alive.
        let atom = unsafe { qjs::JS_ValueToAtom(self.context, text.raw) };
        if atom == qjs::JS_ATOM_NULL {
            return Err(Error::Exception);
        }
        self.atoms.push(atom);
        Ok(atom)
    }
}

fn units(bytes: &[u8]) -> Vec<u16> {
    let pairs = bytes.chunks_exact(2);
    pairs
        .map(|pair| {
            pair.iter()
                .rev()
                .fold(0, |unit, byte| unit << 8 | u16::from(*byte))
        })
        .collect()
}

fn too_deep() -> String {
    format!("The value is nested more than {DEPTH_MAX} deep, or contains itself")
}

/// A string's text; lone surrogates read as U+FFFD.
pub fn text_of(string: &rquickjs::String<'_>) -> String {
    let context = string.ctx().as_raw().as_ptr();
    if let Ok(text) = string.to_string() {
        return text;
    }
    let mut length = 0;
    // SAFETY: the text is read with the length that came with it, and freed after that.
    unsafe {
        let text = qjs::JS_ToCStringLenUTF16(context, &mut length, string.as_value().as_raw());
        if text.is_null() {
            return String::new();
        }
        let units = std::slice::from_raw_parts(text, length as usize);
        let copy = String::from_utf16_lossy(units);
        qjs::JS_FreeCStringUTF16(context, text);
        copy
    }
}

/// Class ids of the boxed primitives, which the C interface does not name.
#[derive(Clone, Copy, Default)]
pub struct Boxes {
    pub number: u16,
    pub string: u16,
    pub boolean: u16,
}

/// Class of an object.
pub fn class_of(value: &Value<'_>) -> u16 {
    // SAFETY: only looks at the value.
    unsafe { qjs::JS_GetClassID(value.as_raw()) as u16 }
}

/// Writes a value; fails as `JSON.stringify` does, by an exception, and when there is too much of it.
pub fn from_engine<'js>(value: &Value<'js>, writer: &mut Writer, boxes: Boxes) -> Result<()> {
    let ctx = value.ctx();
    let mut encoder = Encoder {
        ctx,
        context: ctx.as_raw().as_ptr(),
        writer,
        keys: [(qjs::JS_ATOM_NULL, 0); KEYS],
        kept: Vec::new(),
        depth: 0,
        boxes,
    };
    encoder.value(value.as_raw(), false)
}

/// Places of the cache of keys.
const KEYS: usize = 64;

struct Encoder<'a, 'js> {
    ctx: &'a Ctx<'js>,
    context: *mut qjs::JSContext,
    writer: &'a mut Writer,
    /// Index of a key by its atom, direct-mapped.
    keys: [(qjs::JSAtom, u32); KEYS],
    /// Atoms in the cache, kept alive so that no other text gets their number.
    kept: Vec<qjs::JSAtom>,
    depth: usize,
    boxes: Boxes,
}

impl Drop for Encoder<'_, '_> {
    fn drop(&mut self) {
        for atom in &self.kept {
            // SAFETY: each was duplicated when it was kept.
            unsafe { qjs::JS_FreeAtom(self.context, *atom) }
        }
    }
}

impl Encoder<'_, '_> {
    /// `replaced`: the value came from a `toJSON`, and its own does not count.
    fn value(&mut self, value: qjs::JSValue, replaced: bool) -> Result<()> {
        if self.writer.len() > ANSWER_BYTES_MAX {
            let message = format!("The value has more than {} MiB", ANSWER_BYTES_MAX >> 20);
            return Err(Exception::throw_range(self.ctx, &message));
        }
        // SAFETY: reads the tag, and then what the tag says is there.
        unsafe {
            match qjs::JS_VALUE_GET_NORM_TAG(value) {
                qjs::JS_TAG_INT => self.writer.integer(qjs::JS_VALUE_GET_INT(value)),
                qjs::JS_TAG_FLOAT64 => self.writer.number(qjs::JS_VALUE_GET_FLOAT64(value)),
                qjs::JS_TAG_BOOL => self.writer.bool(qjs::JS_VALUE_GET_BOOL(value)),
                qjs::JS_TAG_NULL => self.writer.null(),
                qjs::JS_TAG_STRING | qjs::JS_TAG_STRING_ROPE => return self.text(value, Writer::text),
                qjs::JS_TAG_BIG_INT | qjs::JS_TAG_SHORT_BIG_INT => {
                    let message = "A BigInt can't be handed on; make it a Number or a String";
                    return Err(Exception::throw_type(self.ctx, message));
                }
                qjs::JS_TAG_OBJECT => return self.nested(value, replaced),
                _ => self.writer.undefined(),
            }
        }
        Ok(())
    }

    fn nested(&mut self, value: qjs::JSValue, replaced: bool) -> Result<()> {
        if self.depth == DEPTH_MAX {
            return Err(Exception::throw_range(self.ctx, &too_deep()));
        }
        self.depth += 1;
        let result = self.object(value, replaced);
        self.depth -= 1;
        result
    }

    fn object(&mut self, value: qjs::JSValue, replaced: bool) -> Result<()> {
        // SAFETY: all of these read a value that the caller keeps alive.
        unsafe {
            if qjs::JS_IsFunction(self.context, value) {
                self.writer.undefined();
                return Ok(());
            }
            if qjs::JS_IsDate(value) {
                let ms = self.number_of(value)?;
                self.writer.date(ms);
                return Ok(());
            }
            if qjs::JS_IsArray(value) {
                return self.array(value);
            }
        }
        if !replaced && let Some(replaced) = self.to_json(value)? {
            return self.value(replaced.raw, true);
        }
        // SAFETY: as above.
        let class = unsafe { qjs::JS_GetClassID(value) as u16 };
        if class == self.boxes.number {
            let number = self.number_of(value)?;
            self.writer.number(number);
            return Ok(());
        }
        if class == self.boxes.string {
            // SAFETY: gives a new string or an exception.
            let text = Owned::checked(self.context, unsafe { qjs::JS_ToString(self.context, value) })?;
            return self.text(text.raw, Writer::text);
        }
        if class == self.boxes.boolean {
            let text = self.string_of(value)?;
            self.writer.bool(text == "true");
            return Ok(());
        }
        self.properties(value)
    }

    fn number_of(&self, value: qjs::JSValue) -> Result<f64> {
        let mut number = 0.0;
        // SAFETY: writes one double.
        match unsafe { qjs::JS_ToFloat64(self.context, &mut number, value) } {
            0 => Ok(number),
            _ => Err(Error::Exception),
        }
    }

    fn string_of(&self, value: qjs::JSValue) -> Result<String> {
        // SAFETY: duplicates the value, so that both own it.
        let value = unsafe { Value::from_raw(self.ctx.clone(), qjs::JS_DupValue(self.context, value)) };
        value.get::<rquickjs::Coerced<String>>().map(|text| text.0)
    }

    /// What the object's `toJSON` gives, if it has one.
    fn to_json(&self, value: qjs::JSValue) -> Result<Option<Owned>> {
        // SAFETY: the value is alive; names are C strings; the call's arguments are one value that lives.
        unsafe {
            let name = c"toJSON".as_ptr();
            let method = Owned::checked(self.context, qjs::JS_GetPropertyStr(self.context, value, name))?;
            if !qjs::JS_IsFunction(self.context, method.raw) {
                return Ok(None);
            }
            let key = Owned::checked(self.context, qjs::JS_NewStringLen(self.context, c"".as_ptr(), 0))?;
            let mut arguments = [key.raw];
            let result = qjs::JS_Call(self.context, method.raw, value, 1, arguments.as_mut_ptr());
            Owned::checked(self.context, result).map(Some)
        }
    }

    fn array(&mut self, array: qjs::JSValue) -> Result<()> {
        let mut length = 0;
        // SAFETY: writes one length.
        if unsafe { qjs::JS_GetLength(self.context, array, &mut length) } < 0 {
            return Err(Error::Exception);
        }
        // An array's length is less than 2^32.
        let length = length as u32;
        self.writer.array(length);
        for index in 0..length {
            // SAFETY: the array is alive.
            let item = unsafe { qjs::JS_GetPropertyUint32(self.context, array, index) };
            let item = Owned::checked(self.context, item)?;
            self.value(item.raw, false)?;
        }
        Ok(())
    }

    fn properties(&mut self, object: qjs::JSValue) -> Result<()> {
        let mut names = Names {
            context: self.context,
            list: null_mut(),
            length: 0,
        };
        // SAFETY: writes a list and its length.
        let listed = unsafe {
            let flags = (qjs::JS_GPN_STRING_MASK | qjs::JS_GPN_ENUM_ONLY) as i32;
            qjs::JS_GetOwnPropertyNames(self.context, &mut names.list, &mut names.length, object, flags)
        };
        if listed < 0 {
            return Err(Error::Exception);
        }
        self.writer.object();
        for index in 0..names.length {
            let atom = names.atom(index);
            // SAFETY: object and atom are alive.
            let value = unsafe { qjs::JS_GetProperty(self.context, object, atom) };
            let value = Owned::checked(self.context, value)?;
            if !self.is_left_out(value.raw) {
                self.key(atom)?;
                self.value(value.raw, false)?;
            }
        }
        self.writer.end();
        Ok(())
    }

    fn is_left_out(&self, value: qjs::JSValue) -> bool {
        // SAFETY: only looks at the value.
        unsafe {
            qjs::JS_VALUE_GET_TAG(value) == qjs::JS_TAG_SYMBOL || qjs::JS_IsFunction(self.context, value)
        }
    }

    fn key(&mut self, atom: qjs::JSAtom) -> Result<()> {
        let place = atom as usize % KEYS;
        let (known, index) = self.keys[place];
        if known == atom {
            self.writer.known_key(index);
            return Ok(());
        }
        // SAFETY: the atom is alive.
        let text = Owned::checked(self.context, unsafe { qjs::JS_AtomToString(self.context, atom) })?;
        let mut index = 0;
        self.text(text.raw, |writer, text| index = writer.new_key(text))?;
        // SAFETY: as above.
        unsafe { qjs::JS_DupAtom(self.context, atom) };
        self.kept.push(atom);
        self.keys[place] = (atom, index);
        Ok(())
    }

    /// Hands the text of a string to `write`.
    fn text(&mut self, value: qjs::JSValue, write: impl FnOnce(&mut Writer, Text<'_>)) -> Result<()> {
        let mut length = 0;
        // SAFETY: the texts are read with the lengths that came with them, and freed after that.
        unsafe {
            let text = qjs::JS_ToCStringLen2(self.context, &mut length, value, false);
            if text.is_null() {
                return Err(Error::Exception);
            }
            let bytes = std::slice::from_raw_parts(text.cast::<u8>(), length as usize);
            if let Ok(utf8) = str::from_utf8(bytes) {
                write(self.writer, Text::Utf8(utf8));
                qjs::JS_FreeCString(self.context, text);
                return Ok(());
            }
            qjs::JS_FreeCString(self.context, text);
            let text = qjs::JS_ToCStringLenUTF16(self.context, &mut length, value);
            if text.is_null() {
                return Err(Error::Exception);
            }
            let units = std::slice::from_raw_parts(text, length as usize);
            write(self.writer, Text::Utf16(units));
            qjs::JS_FreeCStringUTF16(self.context, text);
        }
        Ok(())
    }
}

struct Names {
    context: *mut qjs::JSContext,
    list: *mut qjs::JSPropertyEnum,
    length: u32,
}

impl Names {
    /// Atom of the name at `index`, which is less than the length.
    fn atom(&self, index: u32) -> qjs::JSAtom {
        // SAFETY: the list has as many entries as its length says.
        unsafe { (*self.list.add(index as usize)).atom }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // SAFETY: the list is owned; an empty one may be null.
        unsafe { qjs::JS_FreePropertyEnum(self.context, self.list, self.length) }
    }
}
