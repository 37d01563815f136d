//! CheckIban: whether an account number is an IBAN (ISO 13616), by its check digits (ISO 7064, MOD 97-10).
//!
//! Input: `{iban, …}`. It leaves by `valid`, written without spaces, or by `invalid` with the reason. The parameter
//! `countries` lists those that are served; an account elsewhere fails the node with the code `COUNTRY`.

use serde::Deserialize;
use serde_json::{Map, Value, json};

wit_bindgen::generate!({ path: "../../../wit", world: "node" });

struct CheckIban;

export!(CheckIban);

#[derive(Deserialize)]
struct Parameters {
    #[serde(default)]
    countries: Vec<String>,
}

impl Guest for CheckIban {
    fn execute(input: String, parameters: String, _context: String) -> Result<String, Failure> {
        let mut payment: Map<String, Value> = read(&input)?;
        let parameters: Parameters = read(&parameters)?;
        let iban: String = payment
            .get("iban")
            .and_then(Value::as_str)
            .ok_or_else(|| failure(None, "The input has no text `iban`."))?
            .chars()
            .filter(|character| !character.is_whitespace())
            .collect();
        if let Err(reason) = check(&iban) {
            payment.insert("reason".into(), reason.into());
            return Ok(json!({ "invalid": payment }).to_string());
        }
        let country = &iban[..2];
        if !parameters.countries.is_empty() && !parameters.countries.iter().any(|known| known == country) {
            let message = format!("There are no payments to the country {country}.");
            return Err(failure(Some("COUNTRY"), &message));
        }
        heddle::node::log::write(
            heddle::node::log::Level::Debug,
            &format!("{country}: the check digits are right"),
        );
        payment.insert("iban".into(), iban.into());
        Ok(json!({ "valid": payment }).to_string())
    }
}

fn read<T: for<'a> Deserialize<'a>>(json: &str) -> Result<T, Failure> {
    serde_json::from_str(json).map_err(|error| failure(None, &error.to_string()))
}

fn failure(code: Option<&str>, message: &str) -> Failure {
    Failure {
        code: code.map(str::to_owned),
        message: message.to_owned(),
    }
}

fn check(iban: &str) -> Result<(), &'static str> {
    if !(15..=34).contains(&iban.len()) || !iban.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err("an IBAN has 15 to 34 letters and digits");
    }
    let (start, account) = iban.split_at(4);
    if !start[..2].bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Err("an IBAN begins with a country");
    }
    // The first four characters go to the end; letters count from A = 10.
    let remainder = account
        .chars()
        .chain(start.chars())
        .fold(0, |remainder, character| {
            let value = character.to_digit(36).unwrap_or(0);
            let shift = if value > 9 { 100 } else { 10 };
            (remainder * shift + value) % 97
        });
    match remainder {
        1 => Ok(()),
        _ => Err("the check digits are wrong"),
    }
}
