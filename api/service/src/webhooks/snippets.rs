//! Code snippets that send a request that a webhook, a form or a chat takes, using only what comes with each language.

mod filled;
mod sample;

use super::jwt;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use filled::Sent;
use heddle_model::clock::Timestamp;
use heddle_model::signature::{Authentication, Digests, Scheme};
use heddle_model::webhook::{Segment, Webhook};
use sample::{FILE, Sample};
use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::time::Duration;
use utoipa::ToSchema;

/// How long a token in a snippet is good for.
const TOKEN_TTL: Duration = Duration::from_secs(60 * 60);
/// What stands for a token that only its issuer can make.
const TOKEN: &str = "A-TOKEN-OF-THE-ISSUER";

/// A request in several languages, signed if the webhook asks for it.
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
    /// For an endpoint with this address. `given` is what the body says, as far as one of the kind that the webhook takes can say
    /// it. What is sent has a token, if at all, that is good for an hour.
    pub fn new(url: &str, webhook: &Webhook, secret: &str, given: Option<&Value>, now: Timestamp) -> Self {
        let recipe = Recipe::new(url, webhook, secret, given, now);
        Snippets {
            curl: recipe.curl(secret),
            python: recipe.python(secret),
            javascript: recipe.javascript(secret),
            pwsh: recipe.pwsh(secret),
        }
    }
}

/// A part of what is signed, or of a header.
#[derive(Clone, PartialEq, Eq)]
enum Part {
    Text(String),
    Seconds,
    Id,
    Signature,
    Secret,
}

/// A request as steps that every language can take.
struct Recipe {
    url: String,
    method: &'static str,
    body: Option<Sample>,
    /// What is signed, before the body if that is signed.
    signed: Vec<Part>,
    signs_body: bool,
    headers: Vec<(String, Vec<Part>)>,
    digest: Digests,
    is_base64: bool,
    /// Whether the secret is base64 after its prefix.
    has_base64_key: bool,
    /// Whether the answer comes piece by piece.
    is_streamed: bool,
}

impl Recipe {
    fn new(url: &str, webhook: &Webhook, secret: &str, given: Option<&Value>, now: Timestamp) -> Self {
        let (method, has_body) = method(webhook);
        let body = Sample::new(webhook, given).filter(|_| has_body);
        let authentication = &webhook.authentication;
        let scheme = authentication.scheme;
        let mut recipe = Recipe {
            url: url.to_owned(),
            method,
            body,
            signed: Vec::new(),
            signs_body: scheme != Scheme::Twilio,
            headers: Vec::new(),
            digest: match scheme {
                Scheme::Twilio => Digests::Sha1,
                _ => authentication.mac.algorithm,
            },
            is_base64: match scheme {
                Scheme::Shopify | Scheme::StandardWebhooks | Scheme::Twilio => true,
                _ => authentication.mac.is_base64,
            },
            has_base64_key: scheme == Scheme::StandardWebhooks && secret.starts_with("whsec_"),
            is_streamed: webhook.chat.is_some(),
        };
        for segment in &webhook.path {
            let (Segment::Text(text) | Segment::Name(text)) = segment;
            recipe.url.push('/');
            recipe.url.push_str(text);
        }
        if recipe.is_streamed {
            let events = Part::Text("text/event-stream".to_owned());
            recipe.headers.push(("Accept".to_owned(), vec![events]));
        }
        recipe.prove(authentication, secret, now);
        recipe
    }

    /// Adds what proves who the sender is.
    fn prove(&mut self, authentication: &Authentication, secret: &str, now: Timestamp) {
        use Part::{Id, Seconds, Secret, Signature};
        let text = |text: &str| Part::Text(text.to_owned());
        let name = authentication.header();
        let mut header = |name: &str, parts: Vec<Part>| self.headers.push((name.to_owned(), parts));
        match authentication.scheme {
            Scheme::Heddle | Scheme::Shopify => header(name, vec![Signature]),
            Scheme::Github => header(name, vec![text("sha256="), Signature]),
            Scheme::Stripe => {
                header(name, vec![text("t="), Seconds, text(",v1="), Signature]);
                self.signed = vec![Seconds, text(".")];
            }
            Scheme::Slack => {
                header("X-Slack-Request-Timestamp", vec![Seconds]);
                header(name, vec![text("v0="), Signature]);
                self.signed = vec![text("v0:"), Seconds, text(":")];
            }
            Scheme::StandardWebhooks => {
                header("webhook-id", vec![Id]);
                header("webhook-timestamp", vec![Seconds]);
                header(name, vec![text("v1,"), Signature]);
                self.signed = vec![Id, text("."), Seconds, text(".")];
            }
            Scheme::Twilio => {
                header(name, vec![Signature]);
                self.sign_as_twilio();
            }
            Scheme::Hmac => {
                header(name, vec![text(&authentication.mac.prefix), Signature]);
                if let Some(time) = &authentication.mac.timestamp_header {
                    header(time, vec![Seconds]);
                    self.signed = vec![Seconds, text(&authentication.mac.separator)];
                }
            }
            Scheme::Gitlab | Scheme::Header => header(name, vec![Secret]),
            Scheme::Bearer => header(name, vec![text("Bearer "), Secret]),
            Scheme::Basic => {
                let given = STANDARD.encode(format!("{}:{secret}", authentication.user));
                header(name, vec![text(&format!("Basic {given}"))]);
            }
            Scheme::Jwt => {
                let token = jwt::example(&authentication.jwt, secret, now.plus(TOKEN_TTL));
                let token = token.unwrap_or_else(|| TOKEN.to_owned());
                header(name, vec![text(&format!("Bearer {token}"))]);
            }
            Scheme::Open => {}
        }
    }

    /// Twilio signs the address with a form's fields; of another body, the address has the hash.
    fn sign_as_twilio(&mut self) {
        let fields = match &self.body {
            Some(body) if body.is_form() => body.fields_in_order(),
            Some(body) => {
                let hash = hex::encode(Sha256::digest(&body.text));
                self.url.push_str(&format!("?bodySHA256={hash}"));
                String::new()
            }
            None => String::new(),
        };
        self.signed = vec![Part::Text(format!("{}{fields}", self.url))];
    }

    fn uses(&self, part: &Part) -> bool {
        let mut headers = self.headers.iter().flat_map(|(_, parts)| parts);
        self.signed.contains(part) || headers.any(|used| used == part)
    }

    fn is_signed(&self) -> bool {
        self.uses(&Part::Signature)
    }

    /// Whether the secret is needed besides what is worked out already.
    fn needs_secret(&self) -> bool {
        self.is_signed() || self.uses(&Part::Secret)
    }

    /// Whether the body is part of what is signed.
    fn has_signed_body(&self) -> bool {
        self.signs_body && self.body.is_some()
    }

    /// Parts one after the other, each as the language writes it.
    fn joined(parts: &[Part], text: fn(&str) -> String, name: fn(&str) -> String, between: &str) -> String {
        let written: Vec<String> = parts
            .iter()
            .filter(|part| !matches!(part, Part::Text(literal) if literal.is_empty()))
            .map(|part| match part {
                Part::Text(literal) => text(literal),
                Part::Seconds => name("timestamp"),
                Part::Id => name("id"),
                Part::Signature => name("signature"),
                Part::Secret => name("secret"),
            })
            .collect();
        written.join(between)
    }

    /// What is signed as one expression, in a language in which `+` joins texts and `nothing` is an empty one.
    fn signed_text(&self, written: String, body: &str, nothing: &str) -> String {
        match (written.is_empty(), self.has_signed_body()) {
            (true, true) => body.to_owned(),
            (false, true) => format!("{written} + {body}"),
            (true, false) => nothing.to_owned(),
            (false, false) => written,
        }
    }

    fn curl(&self, secret: &str) -> String {
        let in_quotes =
            |parts: &[Part]| Recipe::joined(parts, in_double_quotes, |name| format!("${{{name}}}"), "");
        let mut code = format!("url={}\n", shell(&self.url));
        if self.needs_secret() {
            let _ = writeln!(code, "secret={}", shell(secret));
        }
        let form = self.body.as_ref().and_then(Sample::with_files);
        if form.is_some() {
            let _ = writeln!(code, "file=$(mktemp)\nprintf '%s' {} > \"$file\"", shell(FILE));
        } else if let Some(Sample { text: body, .. }) = &self.body {
            let _ = match body.contains('\r') {
                true => writeln!(
                    code,
                    "body=$(printf '%b' {})",
                    shell(&body.escape_default().to_string().replace("\\\"", "\""))
                ),
                false => writeln!(code, "body={}", shell(body)),
            };
        }
        if self.uses(&Part::Seconds) {
            code.push_str("timestamp=$(date +%s)\n");
        }
        if self.uses(&Part::Id) {
            code.push_str("id=\"msg_$(openssl rand -hex 12)\"\n");
        }
        let mut key = "-hmac \"$secret\"";
        if self.has_base64_key {
            code.push_str(
                "key=$(printf '%s' \"${secret#whsec_}\" | openssl base64 -d -A | od -An -v -tx1 | tr -d ' \\n')\n",
            );
            key = "-mac HMAC -macopt \"hexkey:$key\"";
        }
        if self.is_signed() {
            let signed = in_quotes(&self.signed);
            let body = if self.has_signed_body() { "$body" } else { "" };
            let form = if self.is_base64 {
                "-binary | openssl base64 -A"
            } else {
                "| sed 's/^.* //'"
            };
            let digest = digest_name(self.digest);
            // Writing to a String can't fail.
            let _ = writeln!(
                code,
                "signature=$(printf '%s' \"{signed}{body}\" | openssl dgst -{digest} {key} {form})"
            );
        }
        let method = match self.method {
            "HEAD" => "--head".to_owned(),
            method => format!("-X {method}"),
        };
        let unbuffered = if self.is_streamed { "N" } else { "" };
        let _ = write!(code, "curl -sS{unbuffered} {method} \"$url\"");
        if let (Some(Sample { content_type, .. }), None) = (&self.body, form) {
            let _ = write!(code, " \\\n  -H 'Content-Type: {content_type}'");
        }
        for (name, parts) in &self.headers {
            let _ = write!(
                code,
                " \\\n  -H \"{}: {}\"",
                in_double_quotes(name),
                in_quotes(parts)
            );
        }
        match form {
            Some(fields) => fields.iter().for_each(|field| code.push_str(&curl_field(field))),
            None if self.body.is_some() => code.push_str(" \\\n  --data-binary \"$body\""),
            None => {}
        }
        code.push('\n');
        code
    }

    fn python(&self, secret: &str) -> String {
        let written = |parts: &[Part]| Recipe::joined(parts, json, str::to_owned, " + ");
        let mut imports = Vec::new();
        if self.is_signed() {
            imports.extend(["hashlib", "hmac"]);
            imports.extend(self.is_base64.then_some("base64"));
        }
        imports.extend(self.uses(&Part::Id).then_some("secrets"));
        imports.extend(self.uses(&Part::Seconds).then_some("time"));
        imports.extend(["urllib.error", "urllib.request"]);
        imports.sort_unstable();
        let mut code: String = imports.iter().map(|name| format!("import {name}\n")).collect();
        let _ = writeln!(code, "\nurl = {}", json(&self.url));
        if self.needs_secret() {
            let _ = writeln!(code, "secret = {}", json(secret));
        }
        let _ = match &self.body {
            Some(body) if body.text.is_ascii() => writeln!(code, "body = b{}", in_single_quotes(&body.text)),
            Some(body) => writeln!(code, "body = {}.encode()", in_single_quotes(&body.text)),
            None => writeln!(code, "body = None"),
        };
        if self.uses(&Part::Seconds) {
            code.push_str("timestamp = str(int(time.time()))\n");
        }
        if self.uses(&Part::Id) {
            code.push_str("id = \"msg_\" + secrets.token_hex(12)\n");
        }
        if self.is_signed() {
            let key = if self.has_base64_key {
                "base64.b64decode(secret.removeprefix(\"whsec_\"))"
            } else {
                "secret.encode()"
            };
            let before = match written(&self.signed) {
                text if text.is_empty() => text,
                text => format!("({text}).encode()"),
            };
            let signed = self.signed_text(before, "body", "b''");
            let digest = format!("hmac.new({key}, {signed}, hashlib.{})", digest_name(self.digest));
            let _ = match self.is_base64 {
                true => writeln!(code, "signature = base64.b64encode({digest}.digest()).decode()"),
                false => writeln!(code, "signature = {digest}.hexdigest()"),
            };
        }
        let _ = writeln!(
            code,
            "request = urllib.request.Request(url, data=body, method=\"{}\", headers={{",
            self.method
        );
        if let Some(Sample { content_type, .. }) = &self.body {
            let _ = writeln!(code, "    \"Content-Type\": \"{content_type}\",");
        }
        for (name, parts) in &self.headers {
            let _ = writeln!(code, "    {}: {},", json(name), written(parts));
        }
        code.push_str(
            "})\ntry:\n    response = urllib.request.urlopen(request)\n\
             except urllib.error.HTTPError as error:\n    response = error\n",
        );
        code.push_str(match self.is_streamed {
            true => "print(response.status)\nfor line in response:\n    print(line.decode(), end=\"\", flush=True)\n",
            false => "print(response.status, response.read().decode())\n",
        });
        code
    }

    fn javascript(&self, secret: &str) -> String {
        let written = |parts: &[Part]| Recipe::joined(parts, json, str::to_owned, " + ");
        let taken = match (self.is_signed(), self.uses(&Part::Id)) {
            (true, true) => "createHmac, randomBytes",
            (true, false) => "createHmac",
            _ => "",
        };
        let mut code = match taken {
            "" => "(async () => {\n".to_owned(),
            taken => format!("import(\"node:crypto\").then(async ({{ {taken} }}) => {{\n"),
        };
        let _ = writeln!(code, "  const url = {};", json(&self.url));
        if self.needs_secret() {
            let _ = writeln!(code, "  const secret = {};", json(secret));
        }
        if let Some(body) = &self.body {
            let _ = writeln!(code, "  const body = {};", in_single_quotes(&body.text));
        }
        if self.uses(&Part::Seconds) {
            code.push_str("  const timestamp = String(Math.floor(Date.now() / 1000));\n");
        }
        if self.uses(&Part::Id) {
            code.push_str("  const id = \"msg_\" + randomBytes(12).toString(\"hex\");\n");
        }
        if self.is_signed() {
            let key = if self.has_base64_key {
                "Buffer.from(secret.slice(\"whsec_\".length), \"base64\")"
            } else {
                "secret"
            };
            let signed = self.signed_text(written(&self.signed), "body", "\"\"");
            let encoding = if self.is_base64 { "base64" } else { "hex" };
            let digest = digest_name(self.digest);
            let _ = writeln!(
                code,
                "  const signature = createHmac(\"{digest}\", {key}).update({signed}).digest(\"{encoding}\");"
            );
        }
        let _ = writeln!(
            code,
            "  const response = await fetch(url, {{\n    method: \"{}\",\n    headers: {{",
            self.method
        );
        if let Some(Sample { content_type, .. }) = &self.body {
            let _ = writeln!(code, "      \"Content-Type\": \"{content_type}\",");
        }
        for (name, parts) in &self.headers {
            let _ = writeln!(code, "      {}: {},", json(name), written(parts));
        }
        code.push_str("    },\n");
        if self.body.is_some() {
            code.push_str("    body,\n");
        }
        code.push_str(match self.is_streamed {
            true => {
                "  });\n  console.log(response.status);\n  const pieces = response.body.pipeThrough(new TextDecoderStream());\n  \
                 for await (const piece of pieces) process.stdout.write(piece);\n"
            }
            false => "  });\n  console.log(response.status, await response.text());\n",
        });
        code.push_str(if taken.is_empty() { "})();\n" } else { "});\n" });
        code
    }

    fn pwsh(&self, secret: &str) -> String {
        let written = |parts: &[Part]| Recipe::joined(parts, power_shell, |name| format!("${name}"), " + ");
        let mut code = format!("$url = {}\n", power_shell(&self.url));
        if self.needs_secret() {
            let _ = writeln!(code, "$secret = {}", power_shell(secret));
        }
        if let Some(body) = &self.body {
            let lines: Vec<String> = body.text.split("\r\n").map(power_shell).collect();
            let _ = writeln!(code, "$body = {}", lines.join(" + \"`r`n\" + "));
        }
        if self.uses(&Part::Seconds) {
            code.push_str("$timestamp = [string][DateTimeOffset]::UtcNow.ToUnixTimeSeconds()\n");
        }
        if self.uses(&Part::Id) {
            code.push_str("$id = 'msg_' + [guid]::NewGuid().ToString('N')\n");
        }
        if self.is_signed() {
            code.push_str(if self.has_base64_key {
                "$key = [Convert]::FromBase64String($secret.Substring('whsec_'.Length))\n"
            } else {
                "$key = [Text.Encoding]::UTF8.GetBytes($secret)\n"
            });
            let signed = self.signed_text(written(&self.signed), "$body", "''");
            let digest = digest_name(self.digest).to_uppercase();
            let _ = writeln!(
                code,
                "$hmac = [Security.Cryptography.HMAC{digest}]::new($key)\n\
                 $hash = $hmac.ComputeHash([Text.Encoding]::UTF8.GetBytes({signed}))"
            );
            code.push_str(if self.is_base64 {
                "$signature = [Convert]::ToBase64String($hash)\n"
            } else {
                "$signature = [BitConverter]::ToString($hash).Replace('-', '').ToLower()\n"
            });
        }
        code.push_str("$headers = @{\n");
        for (name, parts) in &self.headers {
            let _ = writeln!(code, "  {} = {}", power_shell(name), written(parts));
        }
        let body = match &self.body {
            Some(Sample { content_type, .. }) => format!(" -Body $body -ContentType '{content_type}'"),
            None => String::new(),
        };
        let _ = writeln!(
            code,
            "}}\nInvoke-RestMethod -Method {} -Uri $url{body} -Headers $headers -SkipHeaderValidation",
            capitalised(self.method)
        );
        code
    }
}

/// The method to send by, and whether its requests have a body.
fn method(webhook: &Webhook) -> (&'static str, bool) {
    let with_body = ["POST", "PUT", "PATCH"]
        .into_iter()
        .find(|method| webhook.methods.has(method));
    match with_body {
        Some(method) => (method, true),
        None => (webhook.methods.names().next().unwrap_or("POST"), false),
    }
}

/// A field of a form with files, as curl puts it into the body. Only what stands for a file is more than text to it.
fn curl_field((name, sent): &(String, Sent)) -> String {
    match sent {
        Sent::Text(text) => format!(" \\\n  --form-string {}", shell(&format!("{name}={text}"))),
        Sent::File(file) => format!(
            " \\\n  -F \"{}=@$file;filename={};type={}\"",
            in_double_quotes(name),
            in_double_quotes(&file.name),
            in_double_quotes(&file.media_type)
        ),
    }
}

/// As OpenSSL, Python and Node.js call it.
const fn digest_name(digest: Digests) -> &'static str {
    match digest {
        Digests::Sha1 => "sha1",
        Digests::Sha256 => "sha256",
        Digests::Sha512 => "sha512",
    }
}

/// As PowerShell writes methods.
fn capitalised(method: &str) -> String {
    let lower = method.to_lowercase();
    let mut letters = lower.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// A text within double quotes of a POSIX shell.
fn in_double_quotes(text: &str) -> String {
    let mut literal = String::new();
    for c in text.chars() {
        if matches!(c, '"' | '$' | '`' | '\\') {
            literal.push('\\');
        }
        literal.push(c);
    }
    literal
}

/// A literal of Python and JavaScript, of ASCII.
fn in_single_quotes(text: &str) -> String {
    let text = text.replace('\\', "\\\\").replace('\'', "\\'");
    format!("'{}'", text.replace('\r', "\\r").replace('\n', "\\n"))
}

/// A literal of a POSIX shell.
fn shell(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// A literal of Python and JavaScript.
fn json(text: &str) -> String {
    Value::from(text).to_string()
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
