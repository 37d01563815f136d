//! Url: URLs taken apart and built, as the WHATWG URL Standard has it.

use super::parameters;
use super::text::{refuse_secret, text_or_input, value_or_input};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use ::url::Url;
use heddle_contract::abi::code;
use heddle_values::{Object, Text, Value};

const FIELDS: [&str; 11] = [
    "base", "href", "protocol", "username", "password", "host", "hostname", "port", "pathname", "query",
    "hash",
];

/// `parse` or `build`.
pub fn url(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    let value = match parameters::choice(parameters, "operation", &["parse", "build"], "parse")? {
        "parse" => parse(&text_or_input(parameters, context)?)?,
        _ => match value_or_input(parameters, context) {
            Value::Object(fields) => build(&fields)?,
            other => {
                return Err(parameters::mismatch(
                    "value",
                    "an object of a URL's fields",
                    &other,
                ));
            }
        },
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn read(text: &str) -> Result<Url, Failure> {
    Url::parse(text.trim()).map_err(|error| {
        let shown = Value::from(text).shape();
        let message =
            format!("There is no URL in {shown}: {error}. A URL begins with a scheme, like `https://`.");
        Failure::new(code::PARSE, message)
    })
}

fn parse(text: &str) -> Result<Value, Failure> {
    let url = read(text)?;
    let hostname = url.host_str().unwrap_or_default();
    let host = match url.port() {
        Some(port) => format!("{hostname}:{port}"),
        None => hostname.to_owned(),
    };
    let hash = url
        .fragment()
        .map_or(String::new(), |fragment| format!("#{fragment}"));
    let fields = [
        ("href", url.as_str().into()),
        ("protocol", format!("{}:", url.scheme()).into()),
        ("username", url.username().into()),
        ("host", host.into()),
        ("hostname", hostname.into()),
        (
            "port",
            url.port().map_or(Value::Null, |port| f64::from(port).into()),
        ),
        ("pathname", url.path().into()),
        ("query", query(&url)),
        ("hash", hash.into()),
    ];
    let fields = fields.into_iter().map(|(name, value)| (Text::from(name), value));
    Ok(Value::Object(fields.collect()))
}

fn query(url: &Url) -> Value {
    let mut query = Object::new();
    for (name, value) in url.query_pairs() {
        let value = Value::from(value.as_ref());
        if !query.contains(&name) {
            query.insert(name.as_ref(), value);
            continue;
        }
        query.update(&name, |present| match present {
            Value::Array(values) => values.push(value),
            single => *single = vec![single.clone(), value].into(),
        });
    }
    query.into()
}

fn build(fields: &Object) -> Result<Value, Failure> {
    if let Some(unknown) = fields
        .keys()
        .find(|name| !FIELDS.contains(&name.to_utf8().as_ref()))
    {
        let message = format!("A URL has no field `{unknown}`; there are {}.", FIELDS.join(", "));
        return Err(Failure::new(code::PARAMETER, message));
    }
    refuse_secret(&Value::from(fields.clone()).to_json())?;
    let mut url = base(fields)?;
    if let Some(host) = parameters::text(fields, "host")? {
        set_host(&mut url, &host)?;
    }
    if let Some(hostname) = parameters::text(fields, "hostname")? {
        url.set_host(Some(&hostname))
            .map_err(|_| refused("hostname", &hostname))?;
    }
    if let Some(port) = parameters::text(fields, "port")? {
        let number = port.parse().map_err(|_| refused("port", &port))?;
        url.set_port(Some(number)).map_err(|()| refused("port", &port))?;
    }
    if let Some(name) = parameters::text(fields, "username")?.filter(|name| !name.is_empty()) {
        url.set_username(&name).map_err(|()| refused("username", &name))?;
    }
    if let Some(password) = parameters::text(fields, "password")? {
        url.set_password(Some(&password))
            .map_err(|()| refused("password", "…"))?;
    }
    if let Some(path) = parameters::text(fields, "pathname")? {
        url.set_path(&path);
    }
    if let Some(query) = parameters::object(fields, "query")? {
        set_query(&mut url, query)?;
    }
    if let Some(hash) = parameters::text(fields, "hash")? {
        let hash = hash.strip_prefix('#').unwrap_or(&hash);
        url.set_fragment(Some(hash).filter(|hash| !hash.is_empty()));
    }
    Ok(url.as_str().into())
}

/// The URL whose parts the other fields replace: `base`, `href`, or one of the protocol and host alone.
fn base(fields: &Object) -> Result<Url, Failure> {
    let protocol = parameters::text(fields, "protocol")?;
    let protocol = protocol
        .as_deref()
        .map(|name| name.trim_end_matches("//").trim_end_matches(':'));
    for name in ["base", "href"] {
        let Some(text) = parameters::text(fields, name)? else {
            continue;
        };
        let mut url = read(&text)?;
        if let Some(protocol) = protocol {
            url.set_scheme(protocol)
                .map_err(|()| refused("protocol", protocol))?;
        }
        return Ok(url);
    }
    let host = match parameters::text(fields, "host")? {
        Some(host) => host,
        None => parameters::text(fields, "hostname")?.ok_or_else(|| {
            Failure::new(
                code::PARAMETER,
                "A URL is built from `base`, or from `host` or `hostname`; none is given.",
            )
        })?,
    };
    read(&format!("{}://{host}", protocol.unwrap_or("https")))
}

fn set_host(url: &mut Url, host: &str) -> Result<(), Failure> {
    let parsed = Url::parse(&format!("{}://{host}/", url.scheme())).map_err(|_| refused("host", host))?;
    url.set_host(parsed.host_str())
        .map_err(|_| refused("host", host))?;
    url.set_port(parsed.port()).map_err(|()| refused("host", host))
}

/// Arrays become a name repeated; what is null or undefined is left out.
fn set_query(url: &mut Url, query: &Object) -> Result<(), Failure> {
    url.set_query(None);
    let mut pairs = Vec::new();
    for (name, value) in query.iter() {
        match value {
            Value::Array(values) => pairs.extend(values.iter().map(|value| (name, value))),
            single => pairs.push((name, single)),
        }
    }
    pairs.retain(|(_, value)| !value.is_nullish());
    for (name, value) in pairs {
        if matches!(value, Value::Array(_) | Value::Object(_) | Value::Function(_)) {
            let field = format!("query.{name}");
            return Err(parameters::mismatch(
                &field,
                "text, a number, a boolean or an array of them",
                value,
            ));
        }
        url.query_pairs_mut()
            .append_pair(&name.to_utf8(), &value.to_text().to_utf8());
    }
    Ok(())
}

fn refused(field: &str, value: &str) -> Failure {
    Failure::new(
        code::PARAMETER,
        format!("`{value}` can't be the {field} of this URL."),
    )
}
