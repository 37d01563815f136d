//! What n8n adds to strings.

use super::times::{made, number_to_date_time};
use super::{addresses, letters, markdown};
use crate::date_time::{self, Temporal};
use crate::digest::{digest, hex};
use crate::methods::arguments::Arguments;
use crate::methods::{Caller, Exception, Global, Kind, Method, Outcome, base64, global, json, uri};
use crate::{Object, Text, Value, ops, text_to_number};
use ::base64::Engine as _;
use ::base64::engine::general_purpose::STANDARD;
use std::rc::Rc;

pub(super) fn call(
    text: &Text,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    Some(match method {
        Method::Base64Decode => base64_decode(text),
        Method::Base64Encode => Ok(STANDARD.encode(text.to_utf8().as_bytes()).into()),
        Method::ExtractDomain => Ok(found(addresses::domain(&text.to_utf8()))),
        Method::ExtractEmail => Ok(found(addresses::email(&text.to_utf8()))),
        Method::ExtractUrl => Ok(found(addresses::find_url(&text.to_utf8()))),
        Method::ExtractUrlPath => {
            Ok(addresses::url_path(&text.to_utf8()).map_or(Value::Undefined, Value::from))
        }
        Method::Hash => hash(text, arguments),
        Method::IsDomain => Ok(addresses::is_domain(&text.to_utf8()).into()),
        Method::IsEmail => Ok(addresses::is_email(&text.to_utf8()).into()),
        Method::IsUrl => Ok(addresses::is_url(&text.to_utf8()).into()),
        Method::IsNumeric => Ok(is_numeric(text).into()),
        Method::ParseJson => json::parse(Arguments::new(&[text.clone().into()])),
        Method::Quote => quote(text, arguments),
        Method::RemoveMarkdown => Ok(markdown::removed(&text.to_utf8()).into()),
        Method::RemoveTags => Ok(without_tags(&text.to_utf8()).into()),
        Method::ToBoolean => Ok(to_boolean(text).into()),
        Method::ToDateTime => to_date_time(text, arguments, caller),
        Method::ToDecimalNumber | Method::ToFloat => {
            number(text, "float", |text| parsed(Global::ParseFloat, text, caller))
        }
        Method::ToInt | Method::ToWholeNumber => {
            number(text, "integer", |text| parsed(Global::ParseInt, text, caller))
        }
        Method::ToNumber => number(text, "number", |text| Ok(text_to_number(text).into())),
        Method::ToSentenceCase => Ok(letters::sentences(&text.to_utf8()).into()),
        Method::ToSnakeCase => Ok(letters::snake(&text.to_utf8()).into()),
        Method::ToTitleCase => Ok(letters::title(&text.to_utf8()).into()),
        Method::UrlDecode => uri::decode(text, kept(arguments)),
        Method::UrlEncode => uri::encode(text, kept(arguments)),
        _ => return of_time(text, method, arguments, caller),
    })
}

fn found(text: Option<&str>) -> Value {
    text.map_or(Value::Undefined, Value::from)
}

/// In double quotes, or in those that are given.
fn quote(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let quote = match arguments.defined(0) {
        Some(_) => arguments.text(0)?,
        None => "\"".into(),
    };
    let written = letters::quoted(&text.to_utf8(), &quote.to_utf8());
    Ok(written.into())
}

/// With `true`, the whole is an address, whose reserved characters stay.
fn kept(arguments: Arguments<'_>) -> &'static str {
    match arguments.get(0).truthy() {
        true => uri::RESERVED_AND_HASH,
        false => "",
    }
}

fn base64_decode(text: &Text) -> Outcome {
    let bytes = base64::bytes(text)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned().into())
}

fn hash(text: &Text, arguments: Arguments<'_>) -> Outcome {
    let algorithm = match arguments.defined(0) {
        Some(_) => arguments.text(0)?.to_utf8().to_lowercase(),
        None => "md5".to_owned(),
    };
    let text = text.to_utf8();
    if algorithm == "base64" {
        return Ok(STANDARD.encode(text.as_bytes()).into());
    }
    digest(&algorithm, None, text.as_bytes()).map_or_else(
        || {
            let message =
                format!("there is no hash `{algorithm}`: expected md5, sha1, sha256, sha512 or base64");
            Err(Exception::new(Kind::Type, message))
        },
        |digest| Ok(hex(&digest).into()),
    )
}

/// Text without spaces that is a number as a whole.
fn is_numeric(text: &Text) -> bool {
    let text = text.to_utf8();
    !text.is_empty() && !text.contains(' ') && !text_to_number(&text).is_nan()
}

fn to_boolean(text: &Text) -> bool {
    let text = text.to_utf8().to_lowercase();
    !["", "false", "no", "0"].contains(&text.as_str())
}

/// Without what stands between `<` and `>`, or between `<` and the end.
fn without_tags(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tag)) = rest.split_once('<') {
        out.push_str(before);
        if tag.is_empty() || tag.starts_with('>') {
            // `<` by itself is no tag.
            out.push('<');
            rest = tag;
        } else {
            rest = tag.split_once('>').map_or("", |(_, after)| after);
        }
    }
    out.push_str(rest);
    out
}

fn parsed(global: Global, text: &str, caller: &mut dyn Caller) -> Outcome {
    global::call(global, Arguments::new(&[text.into(), Value::Undefined]), caller)
}

/// Without signs of currencies.
fn number(text: &Text, kind: &str, read: impl FnOnce(&str) -> Outcome) -> Outcome {
    let is_currency = |c: char| matches!(c, '$' | '¢'..='¥' | '\u{20a0}'..='\u{20cf}');
    let digits: String = text.to_utf8().chars().filter(|c| !is_currency(*c)).collect();
    let number = read(&digits)?;
    match number {
        Value::Number(number) if number.is_nan() => {
            let shape = Value::from(text.clone()).shape();
            Err(Exception::new(
                Kind::Type,
                format!("{shape} can't be made a {kind}"),
            ))
        }
        number => Ok(number),
    }
}

/// By a format of Luxon's or a unit; without one, by what the text looks like.
fn to_date_time(text: &Text, arguments: Arguments<'_>, caller: &mut dyn Caller) -> Outcome {
    if arguments.defined(0).is_some() {
        let format = arguments.text(0)?;
        return match format.to_utf8().as_ref() {
            "ms" | "s" | "us" | "excel" => {
                let number = text_to_number(&text.to_utf8());
                number_to_date_time(number, arguments, caller)
            }
            _ => made(
                Global::DateTimeFromFormat,
                &[text.clone().into(), format.into()],
                caller,
            ),
        };
    }
    let trimmed: Value = text.to_utf8().trim().into();
    let mut options = Object::new();
    options.insert("setZone", true.into());
    let given = [trimmed, options.into()];
    for global in [
        Global::DateTimeFromISO,
        Global::DateTimeFromHTTP,
        Global::DateTimeFromRFC2822,
        Global::DateTimeFromSQL,
    ] {
        let time = made(global, &given, caller)?;
        if matches!(&time, Value::Temporal(time) if is_valid(time)) {
            return Ok(time);
        }
    }
    let ms = made(Global::DateParse, &given[..1], caller)?;
    if matches!(ms, Value::Number(ms) if !ms.is_nan()) {
        return made(Global::DateTimeFromMillis, &[ms], caller);
    }
    let shape = Value::from(text.clone()).shape();
    Err(Exception::new(Kind::Type, format!("{shape} is not a date-time")))
}

fn is_valid(time: &Temporal) -> bool {
    matches!(date_time::get(time, "isValid"), Some(Value::Bool(true)))
}

/// A text that is exactly what a `Date` is written as has n8n's methods of dates.
fn of_time(
    text: &Text,
    method: Method,
    arguments: Arguments<'_>,
    caller: &mut dyn Caller,
) -> Option<Outcome> {
    let is_dates = matches!(
        method,
        Method::BeginningOf
            | Method::DiffTo
            | Method::DiffToNow
            | Method::EndOfMonth
            | Method::Extract
            | Method::Format
            | Method::IsBetween
            | Method::IsWeekend
            | Method::Minus
            | Method::Plus
    );
    // 2026-03-28T12:00:00.000Z
    if !is_dates || text.len() != 24 {
        return None;
    }
    let date = made(Global::NewDate, &[text.clone().into()], caller).ok()?;
    let Value::Temporal(date) = date else {
        return None;
    };
    let written = date.to_json()?;
    if text.as_str() != Some(written.as_str()) {
        return None;
    }
    let date: Rc<Temporal> = date;
    date_time::call_method(&date, method.name(), arguments.all(), &caller.clock())
        .map(|outcome| outcome.map_err(Exception::from))
}

/// `a=1&b=2`, as in the query of an address.
pub(super) fn query(object: &Object) -> Outcome {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in object.iter() {
        query.append_pair(&name.to_utf8(), &ops::to_string(value)?.to_utf8());
    }
    Ok(query.finish().into())
}
