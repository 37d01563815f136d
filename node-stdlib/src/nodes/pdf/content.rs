//! What a page shows: the operators of its content that show text (ISO 32000-2, 9.4), and where lines and words end.

use super::document::{Document, Page};
use super::filters::{BYTES_MAX, too_large};
use super::font::Font;
use super::object::{Dictionary, Item, Lexer, Object, is_space};
use crate::failure::Failure;
use heddle_contract::abi::code;
use std::collections::HashMap;
use std::rc::Rc;

/// Forms within forms, forms of a page, and states that are kept.
const DEPTH_MAX: usize = 20;
const FORMS_MAX: usize = 10_000;
const STATES_MAX: usize = 512;
const OPERANDS_MAX: usize = 100_000;
/// Bytes of the text of a file.
pub(super) const TEXT_BYTES_MAX: usize = 16 << 20;

/// Row by row: `[a b 0; c d 0; e f 1]`.
type Matrix = [f64; 6];
const IDENTITY: Matrix = [1.0, 0.0, 0.0, 1.0, 0.0, 0.0];

fn times([a, b, c, d, e, f]: Matrix, [g, h, i, j, k, l]: Matrix) -> Matrix {
    [
        a * g + b * i,
        a * h + b * j,
        c * g + d * i,
        c * h + d * j,
        e * g + f * i + k,
        e * h + f * j + l,
    ]
}

#[derive(Clone)]
struct State {
    matrix: Matrix,
    font: Option<Rc<Font>>,
    size: f64,
    character_space: f64,
    word_space: f64,
    scale: f64,
    leading: f64,
}

/// Where the last text ended: along its direction, and beside it.
struct End {
    direction: (f64, f64),
    along: f64,
    across: f64,
}

/// Content that a page draws.
struct Form {
    content: Vec<u8>,
    dictionary: Rc<Dictionary>,
    /// The reference to it.
    object: Object,
}

/// Content that goes on once a form in it is read.
struct Frame {
    bytes: Rc<Vec<u8>>,
    at: usize,
    resources: Option<Rc<Dictionary>>,
    state: State,
    states: Vec<State>,
}

struct Reader<'d, 'f> {
    document: &'d Document<'f>,
    fonts: &'d mut Fonts,
    state: State,
    states: Vec<State>,
    resources: Option<Rc<Dictionary>>,
    text_matrix: Matrix,
    line_matrix: Matrix,
    /// Forms that are being read, and how many were.
    open: Vec<Object>,
    forms: usize,
    last: Option<End>,
    out: String,
}

/// Fonts that were read, by the number of their object.
#[derive(Default)]
pub(super) struct Fonts(HashMap<u32, Rc<Font>>);

/// The text of a page.
pub(super) fn text(document: &Document<'_>, page: &Page, fonts: &mut Fonts) -> Result<String, Failure> {
    let mut content = Vec::new();
    for part in document.list(page.dictionary.get("Contents").unwrap_or(&Object::Null)) {
        content.extend(document.stream(&part)?.unwrap_or_default());
        content.push(b'\n');
        if content.len() > BYTES_MAX {
            return Err(too_large());
        }
    }
    let state = State {
        matrix: IDENTITY,
        font: None,
        size: 0.0,
        character_space: 0.0,
        word_space: 0.0,
        scale: 1.0,
        leading: 0.0,
    };
    let mut reader = Reader {
        document,
        fonts,
        state,
        states: Vec::new(),
        resources: page.resources.clone(),
        text_matrix: IDENTITY,
        line_matrix: IDENTITY,
        open: Vec::new(),
        forms: 0,
        last: None,
        out: String::new(),
    };
    reader.read(content)?;
    let lines: Vec<&str> = reader.out.lines().map(str::trim_end).collect();
    Ok(lines.join("\n").trim().to_owned())
}

impl Reader<'_, '_> {
    /// Reads content, and that of forms in it, without recursion.
    fn read(&mut self, content: Vec<u8>) -> Result<(), Failure> {
        let mut outer: Vec<Frame> = Vec::new();
        let (mut bytes, mut at) = (Rc::new(content), 0);
        loop {
            let current = bytes.clone();
            let mut lexer = Lexer::of_operators(&current);
            lexer.at = at;
            let mut operands = Vec::new();
            let mut form = None;
            while let Some(item) = lexer.item() {
                match item {
                    Item::Object(object) if operands.len() < OPERANDS_MAX => operands.push(object),
                    Item::Object(_) => {}
                    Item::Word(b"Do") => {
                        form = self.form(&operands)?;
                        operands.clear();
                        if form.is_some() {
                            break;
                        }
                    }
                    Item::Word(b"BI") => {
                        lexer.at = after_image(&current, lexer.at);
                        operands.clear();
                    }
                    Item::Word(word) => {
                        self.operator(word, &operands)?;
                        operands.clear();
                    }
                }
            }
            let stopped = lexer.at;
            match (form, outer.pop()) {
                (Some(form), last) => {
                    outer.extend(last);
                    outer.push(Frame {
                        bytes: current,
                        at: stopped,
                        resources: self.resources.clone(),
                        state: self.state.clone(),
                        states: std::mem::take(&mut self.states),
                    });
                    self.enter(&form.dictionary);
                    self.open.push(form.object);
                    self.forms += 1;
                    (bytes, at) = (Rc::new(form.content), 0);
                }
                (None, Some(frame)) => {
                    self.open.pop();
                    (bytes, at) = (frame.bytes, frame.at);
                    (self.resources, self.state, self.states) = (frame.resources, frame.state, frame.states);
                }
                (None, None) => return Ok(()),
            }
        }
    }

    /// A form that is drawn, unless it is within itself.
    fn form(&self, operands: &[Object]) -> Result<Option<Form>, Failure> {
        if self.open.len() >= DEPTH_MAX || self.forms >= FORMS_MAX {
            return Ok(None);
        }
        let Some(name) = operands.last().and_then(Object::name) else {
            return Ok(None);
        };
        let object = self.resource("XObject", name);
        let Some(object) = object.filter(|object| !self.open.contains(object)) else {
            return Ok(None);
        };
        let Some(dictionary) = self.document.dictionary(&object) else {
            return Ok(None);
        };
        if self.document.field(&dictionary, "Subtype").name() != Some("Form") {
            return Ok(None);
        }
        let content = self.document.stream(&object)?;
        Ok(content.map(|content| Form {
            content,
            dictionary,
            object,
        }))
    }

    fn enter(&mut self, form: &Dictionary) {
        let numbers = self.document.list(form.get("Matrix").unwrap_or(&Object::Null));
        let numbers: Vec<f64> = numbers
            .iter()
            .filter_map(|number| self.document.resolve(number).number())
            .collect();
        if let Ok(matrix) = Matrix::try_from(numbers) {
            self.state.matrix = times(matrix, self.state.matrix);
        }
        let own = self.document.own_resources(form);
        if own.is_some() {
            self.resources = own;
        }
    }

    /// As it is written: mostly a reference.
    fn resource(&self, kind: &str, name: &str) -> Option<Object> {
        let resources = self.resources.as_ref()?;
        let kind = self.document.dictionary(resources.get(kind)?)?;
        kind.get(name).cloned()
    }

    fn operator(&mut self, word: &[u8], operands: &[Object]) -> Result<(), Failure> {
        let number = |index: usize| operands.get(index).and_then(Object::number).unwrap_or_default();
        match word {
            b"q" if self.states.len() < STATES_MAX => self.states.push(self.state.clone()),
            b"Q" => {
                if let Some(state) = self.states.pop() {
                    self.state = state;
                }
            }
            b"cm" => {
                let matrix = [0, 1, 2, 3, 4, 5].map(number);
                self.state.matrix = times(matrix, self.state.matrix);
            }
            b"BT" => (self.text_matrix, self.line_matrix) = (IDENTITY, IDENTITY),
            b"Tf" => {
                self.state.size = number(1);
                self.state.font = match operands.first().and_then(Object::name) {
                    Some(name) => self.font(name)?,
                    None => None,
                };
            }
            b"Tc" => self.state.character_space = number(0),
            b"Tw" => self.state.word_space = number(0),
            b"Tz" => self.state.scale = number(0) / 100.0,
            b"TL" => self.state.leading = number(0),
            b"Td" => self.move_by(number(0), number(1)),
            b"TD" => {
                self.state.leading = -number(1);
                self.move_by(number(0), number(1));
            }
            b"T*" => self.move_by(0.0, -self.state.leading),
            b"Tm" => {
                self.line_matrix = [0, 1, 2, 3, 4, 5].map(number);
                self.text_matrix = self.line_matrix;
            }
            b"Tj" => self.show(operands.first())?,
            b"'" => {
                self.move_by(0.0, -self.state.leading);
                self.show(operands.first())?;
            }
            b"\"" => {
                self.state.word_space = number(0);
                self.state.character_space = number(1);
                self.move_by(0.0, -self.state.leading);
                self.show(operands.get(2))?;
            }
            b"TJ" => {
                let Some(Object::Array(parts)) = operands.first() else {
                    return Ok(());
                };
                for part in parts.iter() {
                    match part.number() {
                        Some(back) => {
                            let by = -back / 1_000.0 * self.state.size * self.state.scale;
                            self.text_matrix = times([1.0, 0.0, 0.0, 1.0, by, 0.0], self.text_matrix);
                        }
                        None => self.show(Some(part))?,
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn move_by(&mut self, x: f64, y: f64) {
        self.line_matrix = times([1.0, 0.0, 0.0, 1.0, x, y], self.line_matrix);
        self.text_matrix = self.line_matrix;
    }

    fn font(&mut self, name: &str) -> Result<Option<Rc<Font>>, Failure> {
        let Some(object) = self.resource("Font", name) else {
            return Ok(None);
        };
        if let Object::Reference(number) = &object
            && let Some(known) = self.fonts.0.get(number)
        {
            return Ok(Some(known.clone()));
        }
        let Some(dictionary) = self.document.dictionary(&object) else {
            return Ok(None);
        };
        let font = Rc::new(Font::read(self.document, &dictionary)?);
        if let Object::Reference(number) = object {
            self.fonts.0.insert(number, font.clone());
        }
        Ok(Some(font))
    }

    fn show(&mut self, text: Option<&Object>) -> Result<(), Failure> {
        let (Some(Object::Text(bytes)), Some(font)) = (text, self.state.font.clone()) else {
            return Ok(());
        };
        let place = times(self.text_matrix, self.state.matrix);
        let (mut text, mut width) = (String::new(), 0.0);
        for one in font.shown(bytes) {
            let space = if one.is_space { self.state.word_space } else { 0.0 };
            width += (one.width * self.state.size + self.state.character_space + space) * self.state.scale;
            text.push_str(&one.text);
            if self.out.len() + text.len() > TEXT_BYTES_MAX {
                let message = format!(
                    "A page of the PDF has more than {} MiB of text.",
                    TEXT_BYTES_MAX >> 20
                );
                return Err(Failure::new(code::FILE_LIMIT, message));
            }
        }
        self.text_matrix = times([1.0, 0.0, 0.0, 1.0, width, 0.0], self.text_matrix);
        self.put(&text, place, times(self.text_matrix, self.state.matrix));
        Ok(())
    }

    /// Puts a text behind what there is, with a space or a new line between them if there is one on the page.
    fn put(&mut self, text: &str, place: Matrix, end: Matrix) {
        if text.is_empty() {
            return;
        }
        let [a, b, c, d, x, y] = place;
        let length = a.hypot(b);
        let direction = match length > 0.0 {
            true => (a / length, b / length),
            false => (1.0, 0.0),
        };
        let size = (self.state.size * c.hypot(d)).abs();
        let along = |x: f64, y: f64| x * direction.0 + y * direction.1;
        let across = y * direction.0 - x * direction.1;
        if let Some(last) = &self.last {
            let is_same_way = direction.0 * last.direction.0 + direction.1 * last.direction.1 > 0.99;
            let gap = along(x, y) - last.along;
            let is_same_line = is_same_way && (across - last.across).abs() < 0.5 * size && gap > -2.0 * size;
            let has_space = self.out.ends_with([' ', '\n']) || text.starts_with(' ');
            if !is_same_line {
                if text.trim().is_empty() {
                    return;
                }
                self.out.push('\n');
            } else if gap > 0.18 * size && !has_space {
                self.out.push(' ');
            }
        }
        self.out.push_str(text);
        self.last = Some(End {
            direction,
            along: along(end[4], end[5]),
            across,
        });
    }
}

/// Where content goes on behind an image that is written in it.
fn after_image(bytes: &[u8], from: usize) -> usize {
    let space = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_none_or(|byte| is_space(*byte));
    let rest = bytes.get(from..).unwrap_or_default();
    let ends = |(offset, pair): (usize, &[u8])| {
        let at = from + offset;
        (pair == b"EI" && space(at.checked_sub(1)) && space(Some(at + 2))).then_some(at + 2)
    };
    rest.windows(2).enumerate().find_map(ends).unwrap_or(bytes.len())
}
