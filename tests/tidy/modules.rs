//! A crate's modules and what each of them imports, read from its sources. Knows nothing of which imports are allowed.

use crate::names::{Found, Scope, Scopes, Segments};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree, Visibility};

/// Which names a module imports of another one, by the indices of both in [`Modules::files`].
pub type Imports = BTreeMap<(usize, usize), BTreeSet<String>>;

/// The modules of one target (a library or a program), each of which is a file.
pub struct Modules {
    /// As they were asked for.
    pub files: Vec<PathBuf>,
    /// Private `use`s and paths in bodies. A name counts for the file that defines it, through whichever re-exports it
    /// came. Neither `mod` nor a re-export itself is an import, and what is compiled for tests only does not count.
    pub imports: Imports,
}

impl Modules {
    /// Reads all files from the root of a target on; `read` gives the text of a file, `None` if there is none.
    ///
    /// # Panics
    /// If a file is missing or is not Rust.
    pub fn read(root: &Path, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut loader = Loader {
            read,
            files: Vec::new(),
            scopes: Scopes::default(),
            sources: Vec::new(),
        };
        loader.load(root, Place::Root, None);
        let Loader {
            files,
            scopes,
            sources,
            ..
        } = loader;
        let mut imports = Imports::new();
        for (scope, items) in sources.iter().enumerate() {
            let mut reader = Reader {
                scopes: &scopes,
                scope,
                locals: Vec::new(),
                imports: &mut imports,
            };
            items.iter().for_each(|item| reader.visit_item(item));
        }
        Modules { files, imports }
    }
}

/// Where the files of a file's `mod` declarations are.
enum Place {
    /// Beside it: it is `lib.rs`, `main.rs` or `mod.rs`.
    Root,
    /// In a folder of its name.
    Module,
}

struct Loader<'a> {
    read: &'a dyn Fn(&Path) -> Option<String>,
    files: Vec<PathBuf>,
    scopes: Scopes,
    /// The items of each scope.
    sources: Vec<Vec<Item>>,
}

impl Loader<'_> {
    fn load(&mut self, path: &Path, place: Place, parent: Option<(usize, String)>) {
        let text = (self.read)(path).unwrap_or_else(|| panic!("{} is missing", path.display()));
        let parsed = syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        self.files.push(path.to_owned());
        let folder = match place {
            Place::Root => path.parent().unwrap_or(Path::new("")).to_owned(),
            Place::Module => path.with_extension(""),
        };
        self.add(parsed.items, self.files.len() - 1, &folder, parent);
    }

    /// A scope of a file: the file itself, or a module within it.
    fn add(&mut self, items: Vec<Item>, file: usize, folder: &Path, parent: Option<(usize, String)>) {
        let scope = self.scopes.add(parent, file);
        self.sources.push(Vec::new());
        for item in items {
            if is_for_tests(attributes(&item)) {
                continue;
            }
            declare(self.scopes.get_mut(scope), &item);
            let Item::Mod(module) = item else {
                self.sources[scope].push(item);
                continue;
            };
            let name = module.ident.to_string();
            let child = Some((scope, name.clone()));
            match (module.content, path_attribute(&module.attrs)) {
                (Some((_, items)), _) => self.add(items, file, &folder.join(name), child),
                (None, Some(path)) => {
                    let beside = self.files[file].with_file_name(path);
                    self.load(&beside, Place::Root, child);
                }
                (None, None) => {
                    let beside = folder.join(format!("{name}.rs"));
                    match (self.read)(&beside) {
                        Some(_) => self.load(&beside, Place::Module, child),
                        None => self.load(&folder.join(name).join("mod.rs"), Place::Root, child),
                    }
                }
            }
        }
    }
}

/// Enters into a scope the names that an item gives it.
fn declare(scope: &mut Scope, item: &Item) {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => match &item.ident {
            Some(name) => name,
            None => return,
        },
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::TraitAlias(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        Item::Use(item) => {
            let Uses { names, globs } = Uses::of(item);
            scope.aliases.extend(names);
            scope.globs.extend(globs);
            return;
        }
        _ => return,
    };
    scope.items.insert(name.to_string());
}

/// What a `use` declares.
#[derive(Default)]
struct Uses {
    names: Vec<(String, Segments)>,
    globs: Vec<Segments>,
}

impl Uses {
    fn of(item: &syn::ItemUse) -> Self {
        let mut uses = Uses::default();
        if item.leading_colon.is_none() {
            uses.add(&item.tree, &mut Vec::new());
        }
        uses
    }

    fn add(&mut self, tree: &UseTree, prefix: &mut Segments) {
        match tree {
            UseTree::Path(path) => {
                prefix.push(path.ident.to_string());
                self.add(&path.tree, prefix);
                prefix.pop();
            }
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.add(tree, prefix)),
            UseTree::Glob(_) => self.globs.push(prefix.clone()),
            UseTree::Name(name) => self.name(prefix, &name.ident, &name.ident),
            UseTree::Rename(renamed) => self.name(prefix, &renamed.ident, &renamed.rename),
        }
    }

    /// `prefix::{self}` declares the last name of the prefix.
    fn name(&mut self, prefix: &[String], name: &syn::Ident, alias: &syn::Ident) {
        let mut path = prefix.to_vec();
        if name != "self" {
            path.push(name.to_string());
        }
        let alias = match (alias == "self", path.last()) {
            (true, Some(last)) => last.clone(),
            _ => alias.to_string(),
        };
        self.names.push((alias, path));
    }
}

/// Collects what the items of one scope import.
struct Reader<'a> {
    scopes: &'a Scopes,
    scope: usize,
    /// Names that the `use`s of the blocks around declare.
    locals: Vec<HashMap<String, Segments>>,
    imports: &'a mut Imports,
}

impl Reader<'_> {
    fn path(&mut self, mut path: Segments) {
        let local = self.locals.iter().rev().find_map(|names| names.get(&path[0]));
        if let Some(local) = local {
            path.splice(..1, local.iter().cloned());
        }
        if let Some(Found::Item(scope, name)) = self.scopes.resolve(self.scope, &path) {
            let (from, to) = (self.scopes.file(self.scope), self.scopes.file(scope));
            if from != to {
                self.imports.entry((from, to)).or_default().insert(name);
            }
        }
    }

    /// All paths that a macro gets; nobody knows which of them it uses.
    fn tokens(&mut self, tokens: TokenStream, which: fn(&[String]) -> bool) {
        let mut path = Segments::new();
        let mut colons = 0;
        let mut is_member = false;
        for token in tokens {
            match &token {
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => colons += 1,
                TokenTree::Ident(name) if colons == 2 || path.is_empty() && !is_member => {
                    path.push(name.to_string());
                    colons = 0;
                    continue;
                }
                _ => {
                    self.token_path(&mut path, which);
                    colons = 0;
                    if let TokenTree::Ident(name) = &token
                        && !is_member
                    {
                        path.push(name.to_string());
                    }
                }
            }
            is_member = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '.');
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream(), which);
            }
        }
        self.token_path(&mut path, which);
    }

    fn token_path(&mut self, path: &mut Segments, which: fn(&[String]) -> bool) {
        let path = std::mem::take(path);
        if !path.is_empty() && which(&path) {
            self.path(path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_for_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !is_for_tests(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if matches!(item.vis, Visibility::Inherited) {
            let Uses { names, globs } = Uses::of(item);
            let paths = names.into_iter().map(|(_, path)| path).chain(globs);
            paths
                .filter(|path| !path.is_empty())
                .for_each(|path| self.path(path));
        }
    }

    fn visit_block(&mut self, block: &'ast syn::Block) {
        let mut names = HashMap::new();
        for statement in &block.stmts {
            if let syn::Stmt::Item(Item::Use(item)) = statement {
                names.extend(Uses::of(item).names);
            }
        }
        self.locals.push(names);
        visit::visit_block(self, block);
        self.locals.pop();
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.path(
                path.segments
                    .iter()
                    .map(|segment| segment.ident.to_string())
                    .collect(),
            );
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        // Other names in the definition of a macro are those of where it is used.
        let is_definition = called.path.is_ident("macro_rules");
        let which: fn(&[String]) -> bool = match is_definition {
            true => |path| path.len() > 1 && path[0] == "crate",
            false => |_| true,
        };
        self.tokens(called.tokens.clone(), which);
        visit::visit_macro(self, called);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if attribute.path().is_ident("doc") {
            return;
        }
        if let syn::Meta::List(list) = &attribute.meta {
            // Words such as `default` are the attribute's own.
            self.tokens(list.tokens.clone(), |path| {
                path.len() > 1 || path[0].starts_with(char::is_uppercase)
            });
            for text in texts(list.tokens.clone()) {
                // serde has paths as texts: `with = "super::base64"`.
                if let Ok(path) = text.parse::<syn::Path>() {
                    self.visit_path(&path);
                }
            }
        }
    }
}

/// The literal texts within tokens that look like paths.
fn texts(tokens: TokenStream) -> Vec<syn::LitStr> {
    let literal = |token| match token {
        TokenTree::Literal(literal) => syn::parse_str::<syn::LitStr>(&literal.to_string()).ok(),
        _ => None,
    };
    let texts = tokens.into_iter().filter_map(literal);
    texts.filter(|text| text.value().contains("::")).collect()
}

/// Whether `cfg` leaves something out but for tests.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute
                .parse_args::<syn::Meta>()
                .is_ok_and(|condition| needs_test(&condition))
    })
}

fn needs_test(condition: &syn::Meta) -> bool {
    match condition {
        syn::Meta::Path(path) => path.is_ident("test"),
        syn::Meta::List(list) if list.path.is_ident("all") => {
            let parser = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
            list.parse_args_with(parser)
                .is_ok_and(|conditions| conditions.iter().any(needs_test))
        }
        _ => false,
    }
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit {
                lit: syn::Lit::Str(text),
                ..
            }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
