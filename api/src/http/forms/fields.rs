//! The fields of a form as HTML, with what is typed in them. Every text is escaped.

use crate::http::pages::escaped;
use heddle_model::form::{Choice, Field, FieldError, Form, Kind};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::fmt::Write;
use std::slice;

/// Characters that a link can write into a field.
const LINKED_CHARS_MAX: usize = 2_000;
/// Fields that a link can fill in.
const LINKED_MAX: usize = 1_000;
/// Bytes of what was sent that are shown again in one field, and in all fields of a page. The page would be several times as large
/// as what was sent: a quotation mark takes six bytes in it.
const AGAIN_BYTES_MAX: usize = 64 << 10;
const AGAIN_BYTES_IN_ALL: usize = 256 << 10;
/// What people read at a field that was sent with more.
const CUT: &str =
    "This is too long to be shown again: only its beginning is here, so add the rest before you send it.";

/// What each field has, in their order.
pub struct Filled(Vec<Typed>);

/// What is in a field.
#[derive(Default)]
struct Typed {
    values: Vec<String>,
    /// Whether it is the beginning only.
    is_cut: bool,
}

impl From<Vec<String>> for Typed {
    fn from(values: Vec<String>) -> Self {
        Typed {
            values,
            is_cut: false,
        }
    }
}

impl Typed {
    /// Of what was sent, what the field's input shows: the choices that it has, or one text, of which there are so many bytes at most.
    fn again(field: &Field, sent: &[Value], bytes_max: usize) -> Self {
        let mut texts = sent.iter().filter_map(Value::as_str);
        match field.kind {
            Kind::File => Typed::default(),
            // Whether it is ticked is all that it shows.
            Kind::Checkbox => texts
                .next()
                .map(|_| String::new())
                .into_iter()
                .collect::<Vec<_>>()
                .into(),
            _ if has_choices(field) => {
                let sent: HashSet<&str> = texts.collect();
                let values = field.choices.iter().map(|choice| &choice.value);
                let chosen = values.filter(|value| sent.contains(value.as_str()));
                chosen.cloned().collect::<Vec<_>>().into()
            }
            _ => {
                let Some(text) = texts.next() else {
                    return Typed::default();
                };
                let shown = text
                    .get(..text.floor_char_boundary(bytes_max))
                    .unwrap_or_default();
                Typed {
                    values: vec![shown.to_owned()],
                    is_cut: shown.len() < text.len(),
                }
            }
        }
    }
}

const fn has_choices(field: &Field) -> bool {
    matches!(field.kind, Kind::Select | Kind::Radio | Kind::Checkboxes)
}

/// What was sent for a field.
fn sent_for<'g>(field: &Field, given: &'g Map<String, Value>) -> &'g [Value] {
    match given.get(&field.name) {
        Some(Value::Array(several)) => several,
        Some(one) => slice::from_ref(one),
        None => &[],
    }
}

/// How many bytes of each text are shown again, so that there is room for all of them: short ones are shown whole, and of the others
/// equally much.
fn bytes_of_each(mut lengths: Vec<usize>) -> usize {
    lengths.sort_unstable();
    let (mut room, mut left) = (AGAIN_BYTES_IN_ALL, lengths.len());
    for length in lengths {
        let share = room / left;
        if length > share {
            return share.min(AGAIN_BYTES_MAX);
        }
        room -= length;
        left -= 1;
    }
    AGAIN_BYTES_MAX
}

impl Filled {
    /// When the page opens: what its address says, or else the defaults. Nobody can choose a file for somebody else.
    pub fn by_link(form: &Form, query: &str) -> Filled {
        let query: Vec<_> = form_urlencoded::parse(query.as_bytes())
            .take(LINKED_MAX)
            .collect();
        let of = |field: &Field| {
            let linked = query.iter().filter(|(name, _)| *name == field.name);
            let linked: Vec<String> = linked
                .map(|(_, value)| value.chars().take(LINKED_CHARS_MAX).collect())
                .collect();
            match linked.is_empty() {
                true => Typed::from(field.default.clone()),
                false => Typed::from(linked),
            }
        };
        Filled(form.fields.iter().map(of).collect())
    }

    /// What was sent, or its beginning.
    pub fn sent(form: &Form, given: &Map<String, Value>) -> Filled {
        let texts = form.fields.iter().filter(|field| !has_choices(field));
        let first = texts.filter_map(|field| sent_for(field, given).iter().find_map(Value::as_str));
        let bytes_max = bytes_of_each(first.map(str::len).collect());
        let of = |field: &Field| Typed::again(field, sent_for(field, given), bytes_max);
        Filled(form.fields.iter().map(of).collect())
    }

    /// What is wrong with fields, and which of them are shown only in part.
    pub fn messages(&self, mistakes: &[FieldError]) -> Vec<FieldError> {
        let mut messages = mistakes.to_vec();
        for (place, _) in self.0.iter().enumerate().filter(|(_, typed)| typed.is_cut) {
            match messages.iter_mut().find(|mistake| mistake.field == place) {
                Some(mistake) => mistake.message = format!("{} {CUT}", mistake.message),
                None => messages.push(FieldError {
                    field: place,
                    message: CUT.to_owned(),
                }),
            }
        }
        messages.sort_by_key(|mistake| mistake.field);
        messages
    }

    fn of(&self, place: usize) -> &[String] {
        self.0
            .get(place)
            .map(|typed| typed.values.as_slice())
            .unwrap_or_default()
    }
}

/// One field to be written.
struct Shown<'f> {
    field: &'f Field,
    /// Its place, of which the ids are made.
    place: usize,
    values: &'f [String],
    mistake: Option<&'f str>,
}

/// A field with its label, help and mistake.
pub fn field(field: &Field, place: usize, filled: &Filled, mistake: Option<&str>) -> String {
    let shown = Shown {
        field,
        place,
        values: filled.of(place),
        mistake,
    };
    match field.kind {
        Kind::Hidden => shown.hidden(),
        Kind::Checkbox => shown.checkbox(),
        Kind::Radio | Kind::Checkboxes => shown.group(),
        _ => shown.single(),
    }
}

/// Where the summary of mistakes leads for a field; nowhere if it is not shown.
pub fn target(field: &Field, place: usize) -> Option<String> {
    match field.kind {
        Kind::Hidden => None,
        Kind::Radio | Kind::Checkboxes => Some(format!("f{place}-0")),
        _ => Some(format!("f{place}")),
    }
}

fn all(text: &str) -> String {
    escaped(text, usize::MAX)
}

impl Shown<'_> {
    fn name(&self) -> String {
        all(&self.field.name)
    }

    fn first(&self) -> &str {
        self.values.first().map(String::as_str).unwrap_or_default()
    }

    fn hidden(&self) -> String {
        let (name, value) = (self.name(), all(self.first()));
        format!("<input type=\"hidden\" name=\"{name}\" value=\"{value}\">")
    }

    /// The label's text.
    fn label(&self) -> String {
        let optional = match self.field.is_required || self.field.kind == Kind::Checkbox {
            true => "",
            false => " <span class=\"optional\">(optional)</span>",
        };
        format!("{}{optional}", all(&self.field.label))
    }

    /// Help and mistake, which the field's description names.
    fn notes(&self) -> String {
        let mut notes = String::new();
        let place = self.place;
        // Writing to a String can't fail.
        if !self.field.help.is_empty() {
            let help = all(&self.field.help);
            let _ = write!(notes, "<p class=\"help\" id=\"f{place}-help\">{help}</p>");
        }
        if let Some(mistake) = self.mistake {
            let _ = write!(
                notes,
                "<p class=\"mistake\" id=\"f{place}-mistake\"><span class=\"unseen\">Error: </span>{}</p>",
                all(mistake)
            );
        }
        notes
    }

    fn description(&self) -> String {
        let place = self.place;
        let mut ids = Vec::new();
        if !self.field.help.is_empty() {
            ids.push(format!("f{place}-help"));
        }
        if self.mistake.is_some() {
            ids.push(format!("f{place}-mistake"));
        }
        match ids.is_empty() {
            true => String::new(),
            false => format!(" aria-describedby=\"{}\"", ids.join(" ")),
        }
    }

    fn class(&self) -> &'static str {
        match self.mistake {
            Some(_) => "field wrong",
            None => "field",
        }
    }

    /// Attributes of every input but those of groups.
    fn attributes(&self) -> String {
        let mut out = format!(" id=\"f{}\" name=\"{}\"", self.place, self.name());
        out.push_str(&self.description());
        if self.field.is_required {
            out.push_str(" required");
        }
        if self.mistake.is_some() {
            out.push_str(" aria-invalid=\"true\"");
        }
        out
    }

    fn single(&self) -> String {
        let (place, label, notes) = (self.place, self.label(), self.notes());
        let input = match self.field.kind {
            Kind::TextArea => self.textarea(),
            Kind::Select => self.select(),
            _ => self.input(),
        };
        format!(
            "<div class=\"{}\"><label for=\"f{place}\">{label}</label>{notes}{input}</div>",
            self.class()
        )
    }

    /// Attributes that only some kinds have: texts in pairs of name and value.
    fn further(&self) -> String {
        let field = self.field;
        let mut out = String::new();
        let mut set = |name: &str, value: &str| {
            // Writing to a String can't fail.
            let _ = write!(out, " {name}=\"{}\"", all(value));
        };
        if !field.placeholder.is_empty() {
            set("placeholder", &field.placeholder);
        }
        for (name, length) in [("minlength", field.length_min), ("maxlength", field.length_max)] {
            if let Some(length) = length {
                set(name, &length.to_string());
            }
        }
        if matches!(field.kind, Kind::Number | Kind::Date | Kind::Time) {
            for (name, bound) in [("min", &field.min), ("max", &field.max)] {
                if let Some(bound) = bound {
                    set(name, bound);
                }
            }
        }
        match field.kind {
            Kind::Number if field.is_integer => set("inputmode", "numeric"),
            Kind::Number => set("step", "any"),
            Kind::Email => set("autocomplete", "email"),
            Kind::Tel => set("autocomplete", "tel"),
            Kind::Url => set("autocomplete", "url"),
            Kind::File if !field.accept.is_empty() => set("accept", &field.accept.join(",")),
            _ => {}
        }
        if field.kind == Kind::File && field.is_multiple {
            out.push_str(" multiple");
        }
        out
    }

    fn input(&self) -> String {
        let value = match self.field.kind {
            Kind::File => String::new(),
            _ => format!(" value=\"{}\"", all(self.first())),
        };
        let (kind, attributes, further) = (self.field.kind.name(), self.attributes(), self.further());
        format!("<input type=\"{kind}\"{attributes}{further}{value}>")
    }

    /// A line break right after the tag does not belong to the text.
    fn textarea(&self) -> String {
        let (attributes, further) = (self.attributes(), self.further());
        format!(
            "<textarea rows=\"5\"{attributes}{further}>\n{}</textarea>",
            all(self.first())
        )
    }

    fn select(&self) -> String {
        let mut options = String::new();
        if !self.field.is_multiple {
            options.push_str("<option value=\"\">Choose…</option>");
        }
        for choice in &self.field.choices {
            let (value, label) = (all(&choice.value), all(&choice.label));
            let selected = if self.has(choice) { " selected" } else { "" };
            // Writing to a String can't fail.
            let _ = write!(options, "<option value=\"{value}\"{selected}>{label}</option>");
        }
        let multiple = if self.field.is_multiple { " multiple" } else { "" };
        format!("<select{}{multiple}>{options}</select>", self.attributes())
    }

    fn has(&self, choice: &Choice) -> bool {
        self.values.contains(&choice.value)
    }

    fn checkbox(&self) -> String {
        let place = self.place;
        let checked = if self.values.is_empty() { "" } else { " checked" };
        format!(
            "<div class=\"{}\">{}<div class=\"choice\"><input type=\"checkbox\" value=\"on\"{}{checked}>\
             <label for=\"f{place}\">{}</label></div></div>",
            self.class(),
            self.notes(),
            self.attributes(),
            self.label()
        )
    }

    fn group(&self) -> String {
        let (place, name) = (self.place, self.name());
        let (kind, required) = match self.field.kind {
            Kind::Radio if self.field.is_required => ("radio", " required"),
            Kind::Radio => ("radio", ""),
            _ => ("checkbox", ""),
        };
        let mut choices = String::new();
        for (index, choice) in self.field.choices.iter().enumerate() {
            let (value, label) = (all(&choice.value), all(&choice.label));
            let checked = if self.has(choice) { " checked" } else { "" };
            // Writing to a String can't fail.
            let _ = write!(
                choices,
                "<div class=\"choice\"><input type=\"{kind}\" id=\"f{place}-{index}\" name=\"{name}\" value=\"{value}\"\
                 {required}{checked}><label for=\"f{place}-{index}\">{label}</label></div>"
            );
        }
        format!(
            "<fieldset class=\"{}\"{}><legend>{}</legend>{}{choices}</fieldset>",
            self.class(),
            self.description(),
            self.label(),
            self.notes()
        )
    }
}

#[cfg(test)]
mod tests {
    use super::{AGAIN_BYTES_IN_ALL, AGAIN_BYTES_MAX, Filled, bytes_of_each, field};
    use heddle_model::form::Form;
    use serde_json::{Value, json};

    /// Texts that would end what they stand in.
    const ATTACKS: [&str; 6] = [
        "\"><script>alert(1)</script>",
        "'><img src=x onerror=alert(1)>",
        "</textarea><script>",
        "</option></select><b>",
        "&lt;script&gt;",
        "\u{0}\r\n<b \u{202e}",
    ];

    /// The HTML of a form's fields, which all have this text wherever one can stand.
    fn written(text: &str) -> Vec<String> {
        let kinds = [
            "text",
            "textarea",
            "number",
            "email",
            "url",
            "tel",
            "date",
            "time",
            "select",
            "radio",
            "checkboxes",
            "checkbox",
            "file",
            "hidden",
        ];
        let of = |kind: &str| {
            json!({
                "name": text, "type": kind, "label": text, "help": text, "placeholder": text, "default": text, "min": text,
                "max": text, "accept": [text], "options": [text, {"value": "a", "label": text}], "pattern": text,
            })
        };
        let fields: Vec<Value> = kinds.into_iter().map(of).collect();
        let form = Form::of(json!({ "fields": fields }).as_object().unwrap());
        let given = json!({ text: text });
        let filled = [
            Filled::by_link(&form, ""),
            Filled::by_link(
                &form,
                &form_urlencoded::Serializer::new(String::new())
                    .append_pair(text, text)
                    .finish(),
            ),
            Filled::sent(&form, given.as_object().unwrap()),
        ];
        let all = form.fields.iter().enumerate();
        all.flat_map(|(place, of_form)| {
            let written = |filled: &Filled| field(of_form, place, filled, Some(text));
            filled.iter().map(written).collect::<Vec<_>>()
        })
        .collect()
    }

    /// Tags and quotes of HTML, without what stands between them.
    fn skeleton(html: &str) -> String {
        html.chars().filter(|c| "<>\"'".contains(*c)).collect()
    }

    #[test]
    fn whatever_is_written_or_typed_stays_text() {
        let harmless = written("plain");
        for attack in ATTACKS {
            let attacked = written(attack);
            for (attacked, harmless) in attacked.iter().zip(&harmless) {
                assert_eq!(skeleton(attacked), skeleton(harmless), "{attacked}");
            }
            assert_eq!(attacked.len(), harmless.len());
        }
    }

    #[test]
    fn short_texts_are_shown_whole_beside_long_ones() {
        assert_eq!(bytes_of_each(Vec::new()), AGAIN_BYTES_MAX);
        assert_eq!(bytes_of_each(vec![7, 8 << 20]), AGAIN_BYTES_MAX);
        let mut lengths = vec![100; 50];
        lengths.extend([1 << 20; 50]);
        let each = bytes_of_each(lengths);
        assert!(each > 100 && each * 50 + 5_000 <= AGAIN_BYTES_IN_ALL, "{each}");
    }

    #[test]
    fn of_what_was_sent_the_beginning_is_shown_and_people_are_told() {
        let fields = json!([
            {"name": "long", "type": "textarea"}, {"name": "short"}, {"name": "day", "type": "select", "options": ["Mon", "Fri"]},
        ]);
        let form = Form::of(json!({ "fields": fields }).as_object().unwrap());
        let days = vec![json!("Mon"); 100_000];
        // A character of two bytes lies across the limit.
        let given =
            json!({"long": format!("x{}", "é".repeat(AGAIN_BYTES_MAX)), "short": "whole", "day": days});
        let filled = Filled::sent(&form, given.as_object().unwrap());
        assert_eq!(
            filled.of(0),
            [format!("x{}", "é".repeat(AGAIN_BYTES_MAX / 2 - 1))]
        );
        assert_eq!(
            (filled.of(1), filled.of(2)),
            (&["whole".to_owned()][..], &["Mon".to_owned()][..])
        );
        let mistakes = [heddle_model::form::FieldError {
            field: 0,
            message: "Enter less.".to_owned(),
        }];
        for (mistakes, begins) in [
            (&mistakes[..0], "This is too long"),
            (&mistakes[..], "Enter less. This is too long"),
        ] {
            let told = filled.messages(mistakes);
            assert_eq!((told.len(), told[0].field), (1, 0));
            assert!(told[0].message.starts_with(begins), "{told:?}");
        }
    }
}
