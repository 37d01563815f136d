//! Constants of a module and lists of names, each stored once.

use heddle_contract::plan::Constant;
use std::collections::HashMap;

/// What becomes `constants` and `names` of the plan.
#[derive(Default)]
pub(super) struct Constants {
    constants: Vec<Constant>,
    numbers: HashMap<u64, u32>,
    texts: HashMap<Box<str>, u32>,
    jsons: HashMap<Box<str>, u32>,
    names: Vec<Vec<u32>>,
    lists: HashMap<Vec<u32>, u32>,
}

impl Constants {
    /// Index of a number.
    pub(super) fn number(&mut self, number: f64) -> u32 {
        let constants = &mut self.constants;
        *self
            .numbers
            .entry(number.to_bits())
            .or_insert_with(|| append(constants, Constant::Number(number)))
    }

    /// Index of a string.
    pub(super) fn text(&mut self, text: &str) -> u32 {
        if let Some(index) = self.texts.get(text) {
            return *index;
        }
        let index = append(&mut self.constants, Constant::Text(text.into()));
        self.texts.insert(text.into(), index);
        index
    }

    /// Index of a value given as JSON text.
    pub(super) fn json(&mut self, json: &str) -> u32 {
        if let Some(index) = self.jsons.get(json) {
            return *index;
        }
        let index = append(&mut self.constants, Constant::Json(json.into()));
        self.jsons.insert(json.into(), index);
        index
    }

    /// Index of a list of names.
    pub(super) fn names<'a>(&mut self, names: impl IntoIterator<Item = &'a str>) -> u32 {
        let list: Vec<u32> = names.into_iter().map(|name| self.text(name)).collect();
        let names = &mut self.names;
        *self.lists.entry(list).or_insert_with_key(|list| {
            names.push(list.clone());
            names.len() as u32 - 1
        })
    }

    /// All constants, and all lists of names.
    pub(super) fn finish(self) -> (Vec<Constant>, Vec<Vec<u32>>) {
        (self.constants, self.names)
    }
}

fn append(constants: &mut Vec<Constant>, constant: Constant) -> u32 {
    constants.push(constant);
    constants.len() as u32 - 1
}
