//! Code snippets that send a signed request to a webhook, using only what comes with each language.

use heddle_model::signature::Scheme;
use serde::Serialize;
use std::fmt::Write;
use utoipa::ToSchema;

/// What the snippets send.
const BODY: &str = r#"{"hello":"world"}"#;

/// A signed request in several languages.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct Snippets {
    /// For a POSIX shell with curl and openssl.
    pub curl: String,
    /// For Python 3.
    pub python: String,
    /// For Node.js 18 or later.
    pub javascript: String,
    /// For PowerShell 7.
    pub pwsh: String,
}

impl Snippets {
    /// For an endpoint.
    pub fn new(url: &str, scheme: Scheme, secret: &str) -> Self {
        let recipe = Recipe::new(scheme, secret);
        Snippets {
            curl: recipe.curl(url, secret),
            python: recipe.python(url, secret),
            javascript: recipe.javascript(url, secret),
            pwsh: recipe.pwsh(url, secret),
        }
    }
}

/// A part of what is signed, or of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Text(&'static str),
    Seconds,
    Id,
    Signature,
}

/// A scheme as steps that every language can take.
struct Recipe {
    /// What is signed before the body.
    signed: &'static [Part],
    headers: &'static [(&'static str, &'static [Part])],
    is_base64: bool,
    /// Whether the secret is base64 after its prefix.
    has_base64_key: bool,
}

impl Recipe {
    fn new(scheme: Scheme, secret: &str) -> Self {
        use Part::{Id, Seconds, Signature, Text};
        let (signed, headers): (&[Part], &[(&str, &[Part])]) = match scheme {
            Scheme::Heddle => (&[], &[("X-Webhook-Signature", &[Signature])]),
            Scheme::Github => (&[], &[("X-Hub-Signature-256", &[Text("sha256="), Signature])]),
            Scheme::Stripe => (
                &[Seconds, Text(".")],
                &[(
                    "Stripe-Signature",
                    &[Text("t="), Seconds, Text(",v1="), Signature],
                )],
            ),
            Scheme::Slack => (
                &[Text("v0:"), Seconds, Text(":")],
                &[
                    ("X-Slack-Request-Timestamp", &[Seconds]),
                    ("X-Slack-Signature", &[Text("v0="), Signature]),
                ],
            ),
            Scheme::Shopify => (&[], &[("X-Shopify-Hmac-SHA256", &[Signature])]),
            Scheme::StandardWebhooks => (
                &[Id, Text("."), Seconds, Text(".")],
                &[
                    ("webhook-id", &[Id]),
                    ("webhook-timestamp", &[Seconds]),
                    ("webhook-signature", &[Text("v1,"), Signature]),
                ],
            ),
        };
        Recipe {
            signed,
            headers,
            is_base64: matches!(scheme, Scheme::Shopify | Scheme::StandardWebhooks),
            has_base64_key: scheme == Scheme::StandardWebhooks && secret.starts_with("whsec_"),
        }
    }

    fn uses(&self, part: Part) -> bool {
        self.signed.contains(&part)
    }

    /// Parts one after the other, each as the language writes it.
    fn joined(parts: &[Part], text: fn(&str) -> String, name: fn(&str) -> String, between: &str) -> String {
        let written: Vec<String> = parts
            .iter()
            .map(|part| match part {
                Part::Text(literal) => text(literal),
                Part::Seconds => name("timestamp"),
                Part::Id => name("id"),
                Part::Signature => name("signature"),
            })
            .collect();
        written.join(between)
    }

    fn curl(&self, url: &str, secret: &str) -> String {
        let in_quotes =
            |parts: &[Part]| Recipe::joined(parts, str::to_owned, |name| format!("${{{name}}}"), "");
        let mut code = format!(
            "url={}\nsecret={}\nbody={}\n",
            shell(url),
            shell(secret),
            shell(BODY)
        );
        if self.uses(Part::Seconds) {
            code.push_str("timestamp=$(date +%s)\n");
        }
        if self.uses(Part::Id) {
            code.push_str("id=\"msg_$(openssl rand -hex 12)\"\n");
        }
        let mut key = "-hmac \"$secret\"";
        if self.has_base64_key {
            code.push_str(
                "key=$(printf '%s' \"${secret#whsec_}\" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')\n",
            );
            key = "-mac HMAC -macopt \"hexkey:$key\"";
        }
        let signed = in_quotes(self.signed);
        let digest = if self.is_base64 {
            "-binary | openssl base64 -A"
        } else {
            "| sed 's/^.* //'"
        };
        // Writing to a String can't fail.
        let _ = writeln!(
            code,
            "signature=$(printf '%s' \"{signed}$body\" | openssl dgst -sha256 {key} {digest})"
        );
        code.push_str("curl -sS -X POST \"$url\" \\\n  -H 'Content-Type: application/json' \\\n");
        for (name, parts) in self.headers {
            let _ = writeln!(code, "  -H \"{name}: {}\" \\", in_quotes(parts));
        }
        code.push_str("  --data-binary \"$body\"\n");
        code
    }

    fn python(&self, url: &str, secret: &str) -> String {
        let written = |parts: &[Part]| Recipe::joined(parts, json, str::to_owned, " + ");
        let mut imports = vec!["hashlib", "hmac"];
        imports.extend(self.is_base64.then_some("base64"));
        imports.extend(self.uses(Part::Id).then_some("secrets"));
        imports.extend(self.uses(Part::Seconds).then_some("time"));
        imports.extend(["urllib.error", "urllib.request"]);
        imports.sort_unstable();
        let mut code: String = imports.iter().map(|name| format!("import {name}\n")).collect();
        let _ = writeln!(
            code,
            "\nurl = {}\nsecret = {}\nbody = b'{BODY}'",
            json(url),
            json(secret)
        );
        if self.uses(Part::Seconds) {
            code.push_str("timestamp = str(int(time.time()))\n");
        }
        if self.uses(Part::Id) {
            code.push_str("id = \"msg_\" + secrets.token_hex(12)\n");
        }
        let key = if self.has_base64_key {
            "base64.b64decode(secret.removeprefix(\"whsec_\"))"
        } else {
            "secret.encode()"
        };
        let signed = match self.signed {
            [] => "body".to_owned(),
            parts => format!("({}).encode() + body", written(parts)),
        };
        let digest = format!("hmac.new({key}, {signed}, hashlib.sha256)");
        let _ = match self.is_base64 {
            true => writeln!(code, "signature = base64.b64encode({digest}.digest()).decode()"),
            false => writeln!(code, "signature = {digest}.hexdigest()"),
        };
        code.push_str("request = urllib.request.Request(url, data=body, method=\"POST\", headers={\n");
        code.push_str("    \"Content-Type\": \"application/json\",\n");
        for (name, parts) in self.headers {
            let _ = writeln!(code, "    \"{name}\": {},", written(parts));
        }
        code.push_str(
            "})\ntry:\n    response = urllib.request.urlopen(request)\n\
             except urllib.error.HTTPError as error:\n    response = error\n\
             print(response.status, response.read().decode())\n",
        );
        code
    }

    fn javascript(&self, url: &str, secret: &str) -> String {
        let written = |parts: &[Part]| Recipe::joined(parts, json, str::to_owned, " + ");
        let taken = if self.uses(Part::Id) {
            "createHmac, randomBytes"
        } else {
            "createHmac"
        };
        let mut code = format!("import(\"node:crypto\").then(async ({{ {taken} }}) => {{\n");
        let _ = writeln!(
            code,
            "  const url = {};\n  const secret = {};",
            json(url),
            json(secret)
        );
        let _ = writeln!(code, "  const body = '{BODY}';");
        if self.uses(Part::Seconds) {
            code.push_str("  const timestamp = String(Math.floor(Date.now() / 1000));\n");
        }
        if self.uses(Part::Id) {
            code.push_str("  const id = \"msg_\" + randomBytes(12).toString(\"hex\");\n");
        }
        let key = if self.has_base64_key {
            "Buffer.from(secret.slice(\"whsec_\".length), \"base64\")"
        } else {
            "secret"
        };
        let signed = match self.signed {
            [] => "body".to_owned(),
            parts => format!("{} + body", written(parts)),
        };
        let encoding = if self.is_base64 { "base64" } else { "hex" };
        let _ = writeln!(
            code,
            "  const signature = createHmac(\"sha256\", {key}).update({signed}).digest(\"{encoding}\");"
        );
        code.push_str("  const response = await fetch(url, {\n    method: \"POST\",\n    headers: {\n");
        code.push_str("      \"Content-Type\": \"application/json\",\n");
        for (name, parts) in self.headers {
            let _ = writeln!(code, "      \"{name}\": {},", written(parts));
        }
        code.push_str(
            "    },\n    body,\n  });\n  console.log(response.status, await response.text());\n});\n",
        );
        code
    }

    fn pwsh(&self, url: &str, secret: &str) -> String {
        let written = |parts: &[Part]| Recipe::joined(parts, power_shell, |name| format!("${name}"), " + ");
        let mut code = format!(
            "$url = {}\n$secret = {}\n$body = {}\n",
            power_shell(url),
            power_shell(secret),
            power_shell(BODY)
        );
        if self.uses(Part::Seconds) {
            code.push_str("$timestamp = [string][DateTimeOffset]::UtcNow.ToUnixTimeSeconds()\n");
        }
        if self.uses(Part::Id) {
            code.push_str("$id = 'msg_' + [guid]::NewGuid().ToString('N')\n");
        }
        code.push_str(if self.has_base64_key {
            "$key = [Convert]::FromBase64String($secret.Substring('whsec_'.Length))\n"
        } else {
            "$key = [Text.Encoding]::UTF8.GetBytes($secret)\n"
        });
        let signed = match self.signed {
            [] => "$body".to_owned(),
            parts => format!("{} + $body", written(parts)),
        };
        let _ = writeln!(
            code,
            "$hmac = [Security.Cryptography.HMACSHA256]::new($key)\n\
             $hash = $hmac.ComputeHash([Text.Encoding]::UTF8.GetBytes({signed}))"
        );
        code.push_str(if self.is_base64 {
            "$signature = [Convert]::ToBase64String($hash)\n"
        } else {
            "$signature = [BitConverter]::ToString($hash).Replace('-', '').ToLower()\n"
        });
        code.push_str("$headers = @{\n");
        for (name, parts) in self.headers {
            let _ = writeln!(code, "  '{name}' = {}", written(parts));
        }
        code.push_str(
            "}\nInvoke-RestMethod -Method Post -Uri $url -Body $body -ContentType 'application/json' -Headers $headers \
             -SkipHeaderValidation\n",
        );
        code
    }
}

/// A literal of a POSIX shell.
fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A literal of Python and JavaScript.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A literal of PowerShell, which takes typographic quotes for quotes too.
fn power_shell(text: &str) -> String {
    let mut literal = String::from("'");
    for c in text.chars() {
        if matches!(c, '\'' | '\u{2018}'..='\u{201b}') {
            literal.push(c);
        }
        literal.push(c);
    }
    literal.push('\'');
    literal
}
