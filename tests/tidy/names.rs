//! What a path stands for in a module: names, re-exports and globs of one crate. Knows nothing of files' texts.

use std::collections::{HashMap, HashSet};

/// The parts of a path.
pub type Segments = Vec<String>;

/// A module, in a file of its own or within a file.
#[derive(Default)]
pub struct Scope {
    parent: Option<usize>,
    file: usize,
    children: HashMap<String, usize>,
    /// What is defined here.
    pub items: HashSet<String>,
    /// What `use` declares here, as it is written.
    pub aliases: HashMap<String, Segments>,
    pub globs: Vec<Segments>,
}

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    Module(usize),
    /// What is defined in a module: the module, and the name there.
    Item(usize, String),
}

/// Names that are being looked for, each with its module, and whether it ends its path.
type Asked = Vec<(usize, String, bool)>;

/// A re-export or a glob leads back to itself: the name is not from there.
struct Circular;

type Answer = Result<Option<Found>, Circular>;

/// All modules of a target; the first is its root.
#[derive(Default)]
pub struct Scopes(Vec<Scope>);

impl Scopes {
    /// Adds a module of a file, with the module that declares it and its name there.
    pub fn add(&mut self, parent: Option<(usize, String)>, file: usize) -> usize {
        let index = self.0.len();
        self.0.push(Scope {
            parent: parent.as_ref().map(|(parent, _)| *parent),
            file,
            ..Scope::default()
        });
        if let Some((parent, name)) = parent {
            self.0[parent].children.insert(name, index);
        }
        index
    }

    pub fn get_mut(&mut self, scope: usize) -> &mut Scope {
        &mut self.0[scope]
    }

    pub fn file(&self, scope: usize) -> usize {
        self.0[scope].file
    }

    /// What a path that is written in a module stands for; `None` if it leads out of the crate.
    pub fn resolve(&self, scope: usize, path: &[String]) -> Option<Found> {
        self.follow(scope, path, &mut Vec::new()).unwrap_or_default()
    }

    fn follow(&self, mut scope: usize, mut path: &[String], asked: &mut Asked) -> Answer {
        let mut is_relative = true;
        while let Some((first, rest)) = path.split_first() {
            scope = match first.as_str() {
                "crate" => 0,
                "self" => scope,
                "super" => match self.0[scope].parent {
                    Some(parent) => parent,
                    None => return Ok(None),
                },
                _ => break,
            };
            (path, is_relative) = (rest, false);
        }
        for (index, name) in path.iter().enumerate() {
            match self.name(scope, name, index + 1 == path.len(), asked)? {
                Some(Found::Module(module)) => scope = module,
                Some(item) => return Ok(Some(item)),
                // The first name may be another crate's, or the language's; after it, a macro has made the item.
                None if index == 0 && is_relative => return Ok(None),
                None => return Ok(Some(Found::Item(scope, name.clone()))),
            }
        }
        Ok(Some(Found::Module(scope)))
    }

    /// A name as a module has it.
    fn name(&self, scope: usize, name: &str, is_last: bool, asked: &mut Asked) -> Answer {
        let question = (scope, name.to_owned(), is_last);
        if asked.contains(&question) {
            return Err(Circular);
        }
        asked.push(question);
        let answer = self.name_once(scope, name, is_last, asked);
        asked.pop();
        answer
    }

    fn name_once(&self, scope: usize, name: &str, is_last: bool, asked: &mut Asked) -> Answer {
        let here = &self.0[scope];
        let child = here.children.get(name).map(|child| Found::Module(*child));
        let item = (here.items.contains(name)).then(|| Found::Item(scope, name.to_owned()));
        // A module and an item may have the same name: the last part of a path is the item.
        let is_module = child.is_some() && !is_last;
        match here.aliases.get(name) {
            Some(alias) if item.is_none() && !is_module => {
                let found = self.follow(scope, alias, asked)?;
                return Ok(found.or(child));
            }
            _ => {}
        }
        let named = if is_module { child } else { item.or(child) };
        match named {
            Some(found) => Ok(Some(found)),
            None => self.name_by_glob(scope, name, is_last, asked),
        }
    }

    fn name_by_glob(&self, scope: usize, name: &str, is_last: bool, asked: &mut Asked) -> Answer {
        let mut answer = Ok(None);
        for glob in &self.0[scope].globs {
            let found = match self.follow(scope, glob, asked) {
                Ok(Some(Found::Module(module))) => self.name(module, name, is_last, asked),
                Ok(_) => Ok(None),
                Err(circular) => Err(circular),
            };
            match found {
                Ok(None) => {}
                Ok(found) => return Ok(found),
                Err(circular) => answer = Err(circular),
            }
        }
        answer
    }
}
