//! Jwt: JSON Web Tokens (RFC 7519) in their compact form. The host signs, and says whether a signature is right,
//! since only it has secrets; what a token claims is read and judged here. Knows nothing of keys.

use super::parameters::{array, choice, given, integer, mismatch, object, required_text, text};
use super::text::{holds_secret, refuse_secret};
use crate::failure::Failure;
use crate::node::{Context, Emission, NodeResult, Outcome};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use heddle_contract::abi::code;
use heddle_values::{JSON_DEPTH_MAX, Object, Value, parse_json};

const ALGORITHMS: &[&str] = &["HS256", "HS384", "HS512", "RS256", "ES256"];
/// Ten years.
const SECONDS_MAX: i64 = 10 * 366 * 24 * 60 * 60;

/// `sign`, `verify` or `decode`.
pub fn jwt(parameters: &Object, context: &mut dyn Context) -> NodeResult {
    match choice(parameters, "operation", &["sign", "verify", "decode"], "verify")? {
        "sign" => {
            let input = signing_input(parameters, context)?;
            signature("sign", parameters, &input, None)
        }
        "verify" => {
            let token = Token::read(&token_text(parameters, context)?)?;
            token.check_header(algorithm(parameters)?)?;
            signature("verify", parameters, &token.signed, Some(&token.signature))
        }
        _ => {
            let token = Token::read(&token_text(parameters, context)?)?;
            let parts: [(&str, Value); 3] = [
                ("header", token.header.into()),
                ("payload", token.payload.into()),
                ("signature", token.signature.into()),
            ];
            Ok(Outcome::Emit(Emission::one(0, Object::from_iter(parts).into())))
        }
    }
}

/// The host has signed, or looked at a signature.
pub fn resume(parameters: &Object, answer: Value, context: &mut dyn Context) -> NodeResult {
    let value = match answer {
        Value::String(token) => token.into(),
        Value::Bool(true) => {
            let token = Token::read(&token_text(parameters, context)?)?;
            token.check_claims(parameters, context.now_ms().div_euclid(1000) as f64)?;
            token.payload.into()
        }
        _ => {
            return Err(invalid(
                "The token's signature does not match the secret: somebody else made the token, or it was changed.",
            ));
        }
    };
    Ok(Outcome::Emit(Emission::one(0, value)))
}

fn algorithm(parameters: &Object) -> Result<&'static str, Failure> {
    choice(parameters, "algorithm", ALGORITHMS, "HS256")
}

fn signature(
    operation: &'static str,
    parameters: &Object,
    input: &str,
    signature: Option<&str>,
) -> NodeResult {
    let mut request = Object::new();
    request.insert("operation", operation.into());
    request.insert("algorithm", algorithm(parameters)?.into());
    request.insert("input", input.into());
    request.insert("secret", required_text(parameters, "secret")?.into());
    if let Some(signature) = signature {
        request.insert("signature", signature.into());
    }
    Ok(Outcome::Effect {
        kind: "jwt",
        request: request.into(),
    })
}

/// Header and payload as they are signed.
fn signing_input(parameters: &Object, context: &dyn Context) -> Result<String, Failure> {
    let mut header = Object::new();
    header.insert("alg", algorithm(parameters)?.into());
    header.insert("typ", "JWT".into());
    for (name, value) in object(parameters, "header")?.into_iter().flat_map(Object::iter) {
        if *name == "alg" || *name == "crit" || *name == "b64" {
            let message = format!("Parameter `header` can't have the field `{name}`.");
            return Err(Failure::new(code::PARAMETER, message));
        }
        header.insert(name.clone(), value.clone());
    }
    let payload = match given(parameters, "payload") {
        Some(payload) => payload.clone(),
        None => context.input(),
    };
    let Value::Object(mut payload) = payload.into_json() else {
        let value = parameters
            .get("payload")
            .cloned()
            .unwrap_or_else(|| context.input());
        return Err(mismatch("payload", "an object of claims", &value));
    };
    if let Some(seconds) = integer(parameters, "expiresInSeconds", 1, SECONDS_MAX)? {
        let now = context.now_ms().div_euclid(1000);
        payload.insert("iat", Value::Number(now as f64));
        payload.insert("exp", Value::Number(now.saturating_add(seconds) as f64));
    }
    let (header, payload) = (
        Value::from(header).into_json().to_json(),
        Value::from(payload).to_json(),
    );
    // Anyone can read a token.
    refuse_secret(&header)?;
    refuse_secret(&payload)?;
    Ok(format!(
        "{}.{}",
        URL_SAFE_NO_PAD.encode(header),
        URL_SAFE_NO_PAD.encode(payload)
    ))
}

fn token_text(parameters: &Object, context: &dyn Context) -> Result<String, Failure> {
    let token = match text(parameters, "token")? {
        Some(token) => token,
        None => match context.input() {
            Value::String(token) => token.to_utf8().into_owned(),
            input => return Err(mismatch("token", "the text of a token", &input)),
        },
    };
    match holds_secret(&token) {
        true => Err(Failure::new(
            code::PARAMETER,
            "A secret can't be read as a token here: within a pattern it is only a reference.",
        )),
        false => Ok(token),
    }
}

/// A token taken apart.
struct Token {
    header: Object,
    payload: Object,
    /// The two parts that are signed.
    signed: String,
    signature: String,
}

impl Token {
    fn read(text: &str) -> Result<Token, Failure> {
        // As it comes in a request.
        let text = text.trim();
        let text = text.strip_prefix("Bearer ").unwrap_or(text).trim_start();
        let parts: Vec<&str> = text.split('.').collect();
        let &[header, payload, signature] = parts.as_slice() else {
            let message = format!(
                "The text is not a token: it has {} parts instead of three separated by dots.",
                parts.len()
            );
            return Err(Failure::new(code::PARSE, message));
        };
        if URL_SAFE_NO_PAD.decode(signature).is_err() {
            return Err(unreadable("signature", "it is not base64url"));
        }
        Ok(Token {
            header: part(header, "header")?,
            payload: part(payload, "payload")?,
            signed: format!("{header}.{payload}"),
            signature: signature.to_owned(),
        })
    }

    /// The token must name the very algorithm that is expected: it must not choose how it is checked.
    fn check_header(&self, expected: &str) -> Result<(), Failure> {
        let named = self.header.get("alg").cloned().unwrap_or_default().to_text();
        if named != expected {
            let message = format!("The token's algorithm is `{named}`, but `{expected}` is expected.");
            return Err(invalid(&message));
        }
        match self.header.contains("crit") {
            true => Err(invalid(
                "The token requires extensions (`crit`), which are not supported here.",
            )),
            false => Ok(()),
        }
    }

    fn check_claims(&self, parameters: &Object, now: f64) -> Result<(), Failure> {
        let leeway = integer(parameters, "leewaySeconds", 0, 3600)?.unwrap_or(0) as f64;
        if let Some(expires) = self.time("exp")?
            && now >= expires + leeway
        {
            return Err(Failure::new(code::JWT_EXPIRED, "The token has expired."));
        }
        if let Some(begins) = self.time("nbf")?
            && now < begins - leeway
        {
            return Err(Failure::new(
                code::JWT_NOT_YET_VALID,
                "The token is not valid yet.",
            ));
        }
        for (parameter, claim) in [("issuer", "iss"), ("audience", "aud")] {
            self.check_one_of(parameters, parameter, claim)?;
        }
        Ok(())
    }

    /// A time in seconds since 1970.
    fn time(&self, claim: &str) -> Result<Option<f64>, Failure> {
        match self.payload.get(claim) {
            None => Ok(None),
            Some(Value::Number(seconds)) => Ok(Some(*seconds)),
            Some(other) => {
                let message = format!(
                    "The token's `{claim}` is {}, not a number of seconds.",
                    other.shape()
                );
                Err(invalid(&message))
            }
        }
    }

    /// Whether the claim, or one of its values, is one of those that the parameter allows.
    fn check_one_of(&self, parameters: &Object, parameter: &str, claim: &str) -> Result<(), Failure> {
        let allowed: Vec<Value> = match given(parameters, parameter) {
            None => return Ok(()),
            Some(Value::Array(_)) => {
                let values = array(parameters, parameter)?;
                values
                    .into_iter()
                    .flat_map(|values| values.iter().cloned())
                    .collect()
            }
            Some(_) => vec![required_text(parameters, parameter)?.into()],
        };
        let claimed = match self.payload.get(claim) {
            None => Vec::new(),
            Some(Value::Array(values)) => values.iter().cloned().collect(),
            Some(value) => vec![value.clone()],
        };
        let fits = |value: &Value| {
            matches!(value, Value::String(_)) && allowed.iter().any(|it| it.strict_equal(value))
        };
        match claimed.iter().any(fits) {
            true => Ok(()),
            false => {
                let message =
                    format!("The token's `{claim}` is not one that parameter `{parameter}` allows.");
                Err(invalid(&message))
            }
        }
    }
}

fn part(text: &str, name: &str) -> Result<Object, Failure> {
    let bytes = URL_SAFE_NO_PAD
        .decode(text)
        .map_err(|_| unreadable(name, "it is not base64url"))?;
    match parse_json(&bytes, JSON_DEPTH_MAX) {
        Ok(Value::Object(object)) => Ok(object),
        _ => Err(unreadable(name, "it is not a JSON object")),
    }
}

fn unreadable(name: &str, why: &str) -> Failure {
    Failure::new(code::PARSE, format!("The token's {name} can't be read: {why}."))
}

fn invalid(message: &str) -> Failure {
    Failure::new(code::JWT_INVALID, message)
}
