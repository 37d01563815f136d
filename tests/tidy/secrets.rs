//! What prints itself for a log or a panic must not print a secret: no field that is named like one, and that could
//! hold one, is in a type that derives `Debug`. Such a field is a `secrecy` type, or its type has no `Debug`.

use super::{is_test, sources};
use syn::visit::{self, Visit};
use syn::{Attribute, Fields};

/// The last word of a name that says what a field holds.
const WORDS: &[&str] = &[
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "key",
    "passphrase",
    "password",
    "passwords",
    "secret",
    "secrets",
    "signature",
    "token",
    "tokens",
];

/// What can hold one as it is.
const HOLDERS: &[&str] = &[
    "String",
    "str",
    "u8",
    "Bytes",
    "BytesMut",
    "Value",
    "RawValue",
    "HeaderValue",
];

/// Fields that are named like secrets and are none.
const PUBLIC: &[(&str, &str)] = &[
    ("AcceptedRow.key", "an idempotency key"),
    ("Answer.key", "the name of a result in the journal"),
    ("AskedEffect.key", "the name of a result in the journal"),
    ("Bearer.0", "the address at which a provider's tokens are revoked"),
    ("CallContext.key", "an idempotency key"),
    ("Collector.secrets", "names"),
    ("DemoAccount.password", "the demo's, which everybody knows"),
    ("DemoLogin.password", "the demo's, which everybody knows"),
    ("EndpointRow.secret", "encrypted"),
    ("Entry.key", "the name of a result in the journal"),
    ("EntryRow.key", "the name of a result in the journal"),
    ("FileRow.sealed_key", "encrypted"),
    ("IdempotencyKey.0", "an idempotency key"),
    ("IdempotencyKey.key", "an idempotency key"),
    ("Kept.key", "the name of a result in the journal"),
    ("ImportRow.key", "encrypted"),
    ("KeyRow.key", "an idempotency key"),
    ("KeyValue.key", "a name that a pattern chooses"),
    ("KeyValueRequest.key", "a name that a pattern chooses"),
    ("LeftRow.parent_key", "the name of a result in the journal"),
    ("ListedKeyValue.key", "a name that a pattern chooses"),
    ("ListedValueRow.key", "a name that a pattern chooses"),
    ("NoToken.0", "why there is none"),
    ("Node.credentials", "types and names"),
    ("Manifest.key", "encrypted"),
    ("Missing.secrets", "names"),
    ("NeededRights.secrets", "names"),
    ("NewBlob.sealed_key", "encrypted"),
    ("OfferRow.email_key", "an email address, as it is compared"),
    ("PutValue.key", "a name that a pattern chooses"),
    ("Rights.secrets", "names"),
    ("Secret.0", "a name, in an expression"),
    ("Secret.1", "a name, in the audit log"),
    ("Step.secret", "where it is in an answer"),
    ("StoredEntry.key", "the name of a result in the journal"),
    ("WaitingRow.key", "the name of a result in the journal"),
];

#[test]
fn nothing_that_prints_itself_holds_a_secret() {
    let mut found = Found::default();
    for (path, text) in sources() {
        let is_shipped = [
            "api/",
            "compiler/",
            "import/",
            "javascript/",
            "node-stdlib/",
            "processes/",
            "remote/",
            "runtime/",
        ]
        .iter()
        .any(|folder| path.starts_with(folder));
        if is_shipped && !is_test(&path) {
            found.path = path;
            found.visit_file(&syn::parse_file(&text).unwrap());
        }
    }
    assert!(found.types > 300, "the types that derive Debug were not found");
    let wrong: Vec<String> = found
        .fields
        .iter()
        .filter(|(field, _)| !PUBLIC.iter().any(|(public, _)| public == field))
        .map(|(field, path)| format!("{path}: {field}"))
        .collect();
    assert!(
        wrong.is_empty(),
        "`Debug` could print these: use secrecy, don't derive it, or say in tests/tidy/secrets.rs why they are \
         public:\n{}",
        wrong.join("\n")
    );
    for (public, _) in PUBLIC {
        assert!(
            found.fields.iter().any(|(field, _)| field == public),
            "{public} is not there any more: remove it from tests/tidy/secrets.rs"
        );
    }
}

#[test]
fn a_field_that_could_print_a_secret_is_found() {
    let text = "
        #[derive(Clone, Debug)] struct Login { user: String, password: String, jwt_secret: SecretString }
        #[derive(Debug)] enum Means { Bearer { token: Option<Vec<u8>> }, Nobody { token: u64 } }
        #[derive(Debug)] struct ApiKey(String);
        #[derive(Clone)] struct Quiet { password: String }
    ";
    let mut found = Found::default();
    found.visit_file(&syn::parse_file(text).unwrap());
    let fields: Vec<&str> = found.fields.iter().map(|(field, _)| field.as_str()).collect();
    assert_eq!(fields, ["Login.password", "Means.token", "ApiKey.0"]);
}

#[derive(Default)]
struct Found {
    path: String,
    types: usize,
    /// Fields, each with its file.
    fields: Vec<(String, String)>,
}

impl Found {
    fn look(&mut self, name: &str, attributes: &[Attribute], fields: &Fields) {
        if !derives_debug(attributes) {
            return;
        }
        self.types += 1;
        for (index, field) in fields.iter().enumerate() {
            let field_name = field.ident.as_ref().map(ToString::to_string);
            // What stands for itself is named by its type.
            let telling = field_name.clone().unwrap_or_else(|| snake_case(name));
            let is_named_so = WORDS.contains(&telling.rsplit('_').next().unwrap());
            let mut holder = Holder(false);
            holder.visit_type(&field.ty);
            if is_named_so && holder.0 {
                let shown = field_name.unwrap_or_else(|| index.to_string());
                self.fields.push((format!("{name}.{shown}"), self.path.clone()));
            }
        }
    }
}

impl<'ast> Visit<'ast> for Found {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.look(&item.ident.to_string(), &item.attrs, &item.fields);
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        for variant in &item.variants {
            // A variant without names is known by its own: `Password(String)`.
            let name = match variant.fields {
                Fields::Unnamed(_) => &variant.ident,
                _ => &item.ident,
            };
            self.look(&name.to_string(), &item.attrs, &variant.fields);
        }
    }
}

/// Whether a type has a place for text or bytes; `secrecy`'s types are none.
struct Holder(bool);

impl<'ast> Visit<'ast> for Holder {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        let name = segment.ident.to_string();
        if !name.starts_with("Secret") {
            self.0 |= HOLDERS.contains(&name.as_str());
            visit::visit_path_segment(self, segment);
        }
    }
}

fn derives_debug(attributes: &[Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes.iter().filter(|it| it.path().is_ident("derive")) {
        // What it derives besides has no say here.
        let _ = attribute.parse_nested_meta(|meta| {
            found |= meta.path.is_ident("Debug");
            Ok(())
        });
    }
    found
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for c in name.chars() {
        if c.is_uppercase() && !out.is_empty() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
    }
    out
}
