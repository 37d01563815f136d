//! What the prelude can't write in JavaScript, or not well: an object that only the prelude sees.

use crate::codec::text_of;
use crate::{calls, random, times};
use rquickjs::String as Text;
use rquickjs::function::{Opt, This};
use rquickjs::{ArrayBuffer, Ctx, Exception, Function, Object, Promise, Result, TypedArray, Value};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha384, Sha512};
use url::{Url, quirks};

/// How languages write dates and times from now, a line for each (tools/languages.mjs). Not in the heap until it is used.
const LANGUAGES: &str = include_str!("languages.txt");

#[link(wasm_import_module = "host")]
unsafe extern "C" {
    #[link_name = "engine_log"]
    fn host_log(level: i32, text: *const u8, bytes: usize);
}

/// The object `native`. Also replaces `Math.random` and `Function.prototype.toString`.
pub fn object<'js>(ctx: &Ctx<'js>) -> Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let math: Object = ctx.globals().get("Math")?;
    math.prop(
        "random",
        method(Function::new(ctx.clone(), random::fraction)?.with_name("random")?),
    )?;
    let functions: Object = ctx.eval("Function.prototype")?;
    let original: Function = functions.get("toString")?;
    let to_string = move |this: This<Value<'js>>| text_of_function(&original, this);
    functions.prop(
        "toString",
        method(Function::new(ctx.clone(), to_string)?.with_name("toString")?),
    )?;
    native.set("log", Function::new(ctx.clone(), log)?)?;
    native.set("request", Function::new(ctx.clone(), request)?)?;
    native.set("madeFile", Function::new(ctx.clone(), calls::made_file)?)?;
    native.set("randomBytes", Function::new(ctx.clone(), random_bytes)?)?;
    native.set("digest", Function::new(ctx.clone(), digest)?)?;
    native.set("encodeUtf8", Function::new(ctx.clone(), encode_utf8)?)?;
    native.set("decodeUtf8", Function::new(ctx.clone(), decode_utf8)?)?;
    native.set("languageLine", Function::new(ctx.clone(), language_line)?)?;
    native.set("parseUrl", Function::new(ctx.clone(), parse_url)?)?;
    native.set("changeUrl", Function::new(ctx.clone(), change_url)?)?;
    times::define(ctx, &native)?;
    Ok(native)
}

/// A property as built-in methods are: writable and configurable, but not enumerable.
fn method(function: Function<'_>) -> rquickjs::object::Property<Function<'_>> {
    rquickjs::object::Property::from(function)
        .writable()
        .configurable()
}

/// `Function.prototype.toString`, but what is built in has its text in one line, as V8 has it.
fn text_of_function<'js>(original: &Function<'js>, this: This<Value<'js>>) -> Result<Text<'js>> {
    let text: Text = original.call((this,))?;
    let utf8 = text_of(&text);
    // No source ends like this: it would be none.
    let Some(head) = utf8.strip_suffix("() {\n    [native code]\n}") else {
        return Ok(text);
    };
    let head = match head.starts_with("function bound ") {
        true => "function ",
        false => head,
    };
    Text::from_str(text.ctx().clone(), &format!("{head}() {{ [native code] }}"))
}

fn log(level: i32, text: Text<'_>) {
    let text = text_of(&text);
    // SAFETY: the host only reads the text, now.
    unsafe { host_log(level, text.as_ptr(), text.len()) }
}

/// A promise for what the host will answer.
fn request<'js>(ctx: Ctx<'js>, kind: String, request: Value<'js>) -> Result<Promise<'js>> {
    calls::request(&ctx, kind, request)
}

fn random_bytes<'js>(ctx: Ctx<'js>, count: usize) -> Result<TypedArray<'js, u8>> {
    /// As crypto.getRandomValues has it.
    const BYTES_MAX: usize = 65_536;
    let count = count.min(BYTES_MAX);
    let bits = std::iter::repeat_with(|| random::bits().to_le_bytes());
    TypedArray::new(ctx, bits.flatten().take(count).collect::<Vec<u8>>())
}

fn digest<'js>(ctx: Ctx<'js>, algorithm: String, data: TypedArray<'js, u8>) -> Result<ArrayBuffer<'js>> {
    // SAFETY: nothing of the engine executes while the bytes are borrowed.
    let bytes = unsafe { data.as_bytes() }.unwrap_or_default();
    let digest = match algorithm.as_str() {
        "SHA-1" => Sha1::digest(bytes).to_vec(),
        "SHA-256" => Sha256::digest(bytes).to_vec(),
        "SHA-384" => Sha384::digest(bytes).to_vec(),
        "SHA-512" => Sha512::digest(bytes).to_vec(),
        _ => {
            return Err(Exception::throw_dom(
                &ctx,
                "NotSupportedError",
                "Unrecognized algorithm name",
            ));
        }
    };
    ArrayBuffer::new(ctx, digest)
}

fn encode_utf8<'js>(ctx: Ctx<'js>, text: Text<'js>) -> Result<TypedArray<'js, u8>> {
    TypedArray::new(ctx, text_of(&text).into_bytes())
}

/// `undefined` when the bytes are no UTF-8 and `fatal` is set.
fn decode_utf8(data: TypedArray<'_, u8>, fatal: bool) -> Option<String> {
    // SAFETY: as in `digest`.
    let bytes = unsafe { data.as_bytes() }.unwrap_or_default();
    match str::from_utf8(bytes) {
        Ok(text) => Some(text.to_owned()),
        Err(_) if fatal => None,
        Err(_) => Some(String::from_utf8_lossy(bytes).into_owned()),
    }
}

/// What stands behind a key; `undefined` if there is no such line.
fn language_line(key: String) -> Option<String> {
    LANGUAGES.lines().find_map(|line| {
        line.strip_prefix(key.as_str())?
            .strip_prefix('\t')
            .map(str::to_owned)
    })
}

/// The URL's parts in the order that `prelude/url.js` expects; `undefined` if it is none.
fn parse_url(url: Text<'_>, base: Opt<Text<'_>>) -> Option<Vec<String>> {
    let base = match base.0 {
        Some(base) => Some(Url::parse(&text_of(&base)).ok()?),
        None => None,
    };
    let url = Url::options()
        .base_url(base.as_ref())
        .parse(&text_of(&url))
        .ok()?;
    Some(parts(&url))
}

fn change_url(href: String, part: String, value: Text<'_>) -> Option<Vec<String>> {
    let value = text_of(&value);
    let mut url = Url::parse(&href).ok()?;
    // A part that can't be set stays as it was, as the URL standard has it.
    let _ = match part.as_str() {
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            Ok(())
        }
        _ => Ok(()),
    };
    Some(parts(&url))
}

fn parts(url: &Url) -> Vec<String> {
    let parts = [
        quirks::href(url),
        quirks::protocol(url),
        quirks::username(url),
        quirks::password(url),
        quirks::host(url),
        quirks::hostname(url),
        quirks::port(url),
        quirks::pathname(url),
        quirks::search(url),
        quirks::hash(url),
    ];
    let origin = quirks::origin(url);
    parts.into_iter().map(str::to_owned).chain([origin]).collect()
}
