//! Comments say more than the name below them; what has nothing more to say has none.

use crate::{is_test, sources};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{Attribute, Ident, Meta};

/// Sources of the artifacts: a comment taken away there is a rebuild, so that is done with the next one.
const LATER: &[&str] = &[
    "javascript/",
    "node-stdlib/contract/",
    "node-stdlib/memory/",
    "node-stdlib/src/",
    "node-stdlib/values/",
];
/// Words that say nothing by themselves.
const EMPTY: &[&str] = &[
    "a", "an", "and", "are", "as", "at", "be", "by", "for", "in", "is", "it", "its", "of", "or", "that",
    "the", "these", "this", "those", "to", "what", "when", "which", "with",
];
/// Derived or attached, they make texts for users of comments: the API's document, and the help of the command line.
const SHOWN: &[&str] = &[
    "ToSchema",
    "IntoParams",
    "Parser",
    "Args",
    "Subcommand",
    "ValueEnum",
];
const SHOWN_BY: &[&str] = &["arg", "clap", "command", "schema", "utoipa"];

#[test]
fn comments_do_not_repeat_names() {
    let mut found = Vec::new();
    for (path, text) in sources() {
        if !is_test(&path)
            && !path.starts_with("benches/")
            && !LATER.iter().any(|room| path.starts_with(room))
        {
            let repeated = Repeated::of(&text);
            found.extend(repeated.into_iter().map(|repeated| format!("{path}: {repeated}")));
        }
    }
    assert!(
        found.is_empty(),
        "say what the name does not, such as a unit or why, or nothing:\n{}",
        found.join("\n")
    );
}

#[test]
fn repeated_names_are_found() {
    for source in [
        "/// The routes.\nfn routes() {}",
        "/// A user.\nstruct UserRow;",
        "struct Row { /// Id of the user.\n user_id: u8 }",
        "struct Row { /// The id.\n maker: Option<UserId> }",
        "enum Kind { /// A kind of text.\n Text }",
        "impl Scope { /// The user.\n fn user(&self) {} }",
    ] {
        assert_eq!(Repeated::of(source).len(), 1, "{source}");
    }
    for source in [
        "fn routes() {}",
        "/// The routes of `/api/nodes`.\nfn routes() {}",
        "struct Row { /// Id of the user who made it.\n user_id: u8 }",
        "#[derive(ToSchema)]\nstruct Row { /// Id of the user.\n user_id: u8 }",
        "#[derive(Parser)]\nenum Command { Serve { #[arg(long)] /// The port.\n port: u16 } }",
        "/// The run.\n///\n/// It ends.\nfn run() {}",
    ] {
        assert_eq!(Repeated::of(source), [""; 0], "{source}");
    }
}

/// Comments all of whose words are in the name that they stand above, in that of the type around it, or in a field's type.
#[derive(Default)]
struct Repeated {
    found: Vec<String>,
    /// Names around, and whether their comments are shown to users.
    around: Vec<(String, bool)>,
}

impl Repeated {
    fn of(text: &str) -> Vec<String> {
        let mut repeated = Repeated::default();
        repeated.visit_file(&syn::parse_file(text).unwrap());
        repeated.found
    }

    fn look(&mut self, name: &Ident, attributes: &[Attribute]) {
        self.look_beside(name, attributes, BTreeSet::new());
    }

    /// The same where some words are known besides.
    fn look_beside(&mut self, name: &Ident, attributes: &[Attribute], mut known: BTreeSet<String>) {
        let texts: Vec<_> = attributes.iter().filter_map(comment).collect();
        let [text] = &texts[..] else {
            return;
        };
        if is_shown(attributes) || self.around.iter().any(|(_, is_shown)| *is_shown) || text.contains('`') {
            return;
        }
        known.extend(words(&name.to_string()));
        if let Some((around, _)) = self.around.last() {
            known.extend(words(around));
        }
        let said = words(text);
        let is_empty = |word: &String| EMPTY.contains(&word.as_str());
        if !said.is_empty() && said.iter().all(|word| is_empty(word) || known.contains(word)) {
            self.found.push(format!("`{name}`: {}", text.trim()));
        }
    }

    fn within(&mut self, name: &str, attributes: &[Attribute], visit: impl FnOnce(&mut Self)) {
        self.around.push((name.to_owned(), is_shown(attributes)));
        visit(self);
        self.around.pop();
    }
}

impl<'ast> Visit<'ast> for Repeated {
    fn visit_item_struct(&mut self, item: &'ast syn::ItemStruct) {
        self.look(&item.ident, &item.attrs);
        self.within(&item.ident.to_string(), &item.attrs, |this| {
            visit::visit_item_struct(this, item);
        });
    }

    fn visit_item_enum(&mut self, item: &'ast syn::ItemEnum) {
        self.look(&item.ident, &item.attrs);
        self.within(&item.ident.to_string(), &item.attrs, |this| {
            visit::visit_item_enum(this, item);
        });
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        self.look(&variant.ident, &variant.attrs);
        self.within(&variant.ident.to_string(), &variant.attrs, |this| {
            visit::visit_variant(this, variant);
        });
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if let Some(name) = &field.ident {
            let mut types = TypeWords::default();
            types.visit_type(&field.ty);
            self.look_beside(name, &field.attrs, types.0);
        }
    }

    fn visit_item_trait(&mut self, item: &'ast syn::ItemTrait) {
        self.look(&item.ident, &item.attrs);
        self.within(&item.ident.to_string(), &[], |this| {
            visit::visit_item_trait(this, item)
        });
    }

    fn visit_item_impl(&mut self, item: &'ast syn::ItemImpl) {
        let name = match &*item.self_ty {
            syn::Type::Path(path) => path.path.segments.last().map(|segment| segment.ident.to_string()),
            _ => None,
        };
        self.within(&name.unwrap_or_default(), &[], |this| {
            visit::visit_item_impl(this, item)
        });
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.look(&item.sig.ident, &item.attrs);
        self.within("", &[], |this| visit::visit_item_fn(this, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.look(&item.sig.ident, &item.attrs);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.look(&item.sig.ident, &item.attrs);
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.look(&item.ident, &item.attrs);
    }

    fn visit_item_type(&mut self, item: &'ast syn::ItemType) {
        self.look(&item.ident, &item.attrs);
    }
}

/// The words of the types that a type is made of.
#[derive(Default)]
struct TypeWords(BTreeSet<String>);

impl<'ast> Visit<'ast> for TypeWords {
    fn visit_path_segment(&mut self, segment: &'ast syn::PathSegment) {
        self.0.extend(words(&segment.ident.to_string()));
        visit::visit_path_segment(self, segment);
    }
}

/// The text of a line of documentation.
fn comment(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else {
        return None;
    };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit {
            lit: syn::Lit::Str(text),
            ..
        }) if pair.path.is_ident("doc") => Some(text.value()),
        _ => None,
    }
}

fn is_shown(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let by = path.segments.first().map(|segment| segment.ident.to_string());
        let derives = match &attribute.meta {
            Meta::List(list) if path.is_ident("derive") => list.tokens.to_string(),
            _ => String::new(),
        };
        by.is_some_and(|by| SHOWN_BY.contains(&by.as_str()))
            || derives
                .split(|c: char| !c.is_alphanumeric())
                .any(|name| SHOWN.contains(&name))
    })
}

/// The words of a text, or of a name in any case, in lower case and without the `s` of plurals.
fn words(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut word = String::new();
    let mut before = ' ';
    for c in text.chars().chain([' ']) {
        let begins = !c.is_alphanumeric() || c.is_uppercase() && !before.is_uppercase();
        if begins && !word.is_empty() {
            let plural = word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && word != "this";
            word.truncate(word.len() - usize::from(plural));
            found.insert(std::mem::take(&mut word));
        }
        if c.is_alphanumeric() {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    found
}
