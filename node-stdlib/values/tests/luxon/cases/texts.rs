//! Texts and fields that date-times are made of.

use super::{Case, Generator, made};
use serde_json::{Value as Json, json};

impl Generator {
    pub(super) fn digits(&mut self, count: usize) -> String {
        (0..count)
            .map(|_| char::from(b'0' + self.below(10) as u8))
            .collect()
    }

    pub(super) fn number_text(&mut self, most: i64) -> String {
        let number = self.between(0, most);
        format!("{number:02}")
    }

    pub(super) fn zone_options(&mut self) -> Json {
        match self.below(4) {
            0 => json!({ "zone": self.zone() }),
            1 => json!({ "zone": self.zone(), "setZone": true }),
            2 => json!({ "setZone": true }),
            _ => json!({}),
        }
    }

    /// A text with a character more, less or other.
    pub(super) fn damaged(&mut self, mut text: String) -> String {
        if text.is_empty() || !self.chance(12) {
            return text;
        }
        let at = usize::try_from(self.below(text.len() as u64)).unwrap();
        if !text.is_char_boundary(at) || !text.is_char_boundary(at + 1) {
            return text;
        }
        match self.below(3) {
            0 => drop(text.remove(at)),
            1 => text.insert_str(at, self.pick(&["0", "9", "-", ":", "T", " ", "Z", "+", "x"])),
            _ => text.truncate(at),
        }
        text
    }

    pub(super) fn iso_time(&mut self) -> String {
        let colon = self.pick(&[":", ":", ""]);
        let mut time = self.number_text(24);
        if self.chance(90) {
            time += colon;
            time += &self.number_text(60);
            if self.chance(80) {
                time += colon;
                time += &self.number_text(60);
                if self.chance(60) {
                    let count = 1 + self.below(9) as usize;
                    time += self.pick(&[".", ","]);
                    time += &self.digits(count);
                }
            }
        }
        time + self.pick(&[
            "",
            "",
            "Z",
            "z",
            "+02:00",
            "-0330",
            "+05",
            "+01:00[Europe/Prague]",
            "[Asia/Tokyo]",
            "[No/Where]",
        ])
    }

    pub fn read_iso(&mut self) -> Case {
        let dash = self.pick(&["-", "-", ""]);
        let year = self.between(1970, 2040);
        let date = match self.below(10) {
            0 => format!(
                "{year}{dash}W{}{dash}{}",
                self.number_text(53),
                self.between(1, 7)
            ),
            1 => format!("{year}{dash}W{}", self.number_text(53)),
            2 => format!("{year}{dash}{:03}", self.between(0, 367)),
            3 => format!("{year}{dash}{}", self.number_text(13)),
            4 => format!(
                "+00{year}{dash}{}{dash}{}",
                self.number_text(12),
                self.number_text(28)
            ),
            5 => String::new(),
            _ => format!(
                "{year}{dash}{}{dash}{}",
                self.number_text(12),
                self.number_text(31)
            ),
        };
        let text = match (date.is_empty(), self.chance(80)) {
            (true, _) => self.iso_time(),
            (false, true) => format!("{date}T{}", self.iso_time()),
            (false, false) => date,
        };
        let text = self.damaged(text);
        let options = self.zone_options();
        Case(made("DateTime.fromISO", json!([text, options]), json!([])))
    }

    pub fn read_other(&mut self) -> Case {
        let (ms, zone) = (self.ms().abs(), self.zone());
        let from = made("DateTime.fromMillis", json!([ms, { "zone": zone }]), json!([]));
        let (reader, pattern) = [
            ("DateTime.fromSQL", "yyyy-MM-dd HH:mm:ss.SSS ZZ"),
            ("DateTime.fromSQL", "yyyy-MM-dd HH:mm:ss z"),
            ("DateTime.fromSQL", "yyyy-MM-dd HH:mm"),
            ("DateTime.fromSQL", "yyyy-MM-dd"),
            ("DateTime.fromSQL", "HH:mm:ss"),
            ("DateTime.fromRFC2822", "EEE, dd LLL yyyy HH:mm:ss ZZZ"),
            ("DateTime.fromRFC2822", "d LLL yy HH:mm 'EST'"),
            (
                "DateTime.fromRFC2822",
                "EEE, dd LLL yyyy HH:mm:ss 'GMT (comment)'",
            ),
            ("DateTime.fromHTTP", "EEE, dd LLL yyyy HH:mm:ss 'GMT'"),
            ("DateTime.fromHTTP", "EEEE, dd-LLL-yy HH:mm:ss 'GMT'"),
            ("DateTime.fromHTTP", "EEE LLL dd HH:mm:ss yyyy"),
        ][usize::try_from(self.below(11)).unwrap()];
        let text = crate::evaluate::text_of(&from, pattern);
        let text = self.damaged(text);
        let options = self.zone_options();
        Case(made(reader, json!([text, options]), json!([])))
    }

    pub fn read_formatted(&mut self) -> Case {
        const READABLE: &[&str] = &[
            "S", "SSS", "u", "s", "ss", "m", "mm", "h", "hh", "H", "HH", "Z", "ZZ", "ZZZ", "z", "a", "d",
            "dd", "EEE", "EEEE", "ccc", "LL", "LLL", "LLLL", "M", "MM", "MMM", "y", "yy", "yyyy", "kkkk",
            "WW", "o", "ooo",
        ];
        let pattern = match self.below(3) {
            0 => self.pattern(READABLE),
            1 => format!(
                "{} {}",
                self.pick(&[
                    "yyyy-MM-dd",
                    "dd/MM/yyyy",
                    "d. LLLL yyyy",
                    "MM/d/yy",
                    "EEE, MMM d yyyy",
                    "yyyyMMdd"
                ]),
                self.pick(&[
                    "HH:mm:ss",
                    "hh:mm a",
                    "h:mma",
                    "HHmmss",
                    "HH:mm ZZ",
                    "HH:mm:ss.SSS z",
                    "HH 'h' mm"
                ]),
            ),
            _ => format!(
                "{}{}",
                self.pick(&[
                    "yyyy-MM-dd",
                    "D",
                    "DD",
                    "DDD",
                    "kkkk-'W'WW",
                    "yyyy-ooo",
                    "d/M/yyyy",
                    "LLLL yyyy"
                ]),
                self.pick(&["", "", " HH:mm", " 'x'"]),
            ),
        };
        let (ms, zone) = (self.ms().abs(), self.zone());
        let from = made("DateTime.fromMillis", json!([ms, { "zone": zone }]), json!([]));
        let text = crate::evaluate::text_of(&from, &pattern);
        let text = self.damaged(text);
        let options = self.zone_options();
        Case(made(
            "DateTime.fromFormat",
            json!([text, pattern, options]),
            json!([]),
        ))
    }

    pub(super) fn fields_object(&mut self) -> Json {
        let mut object = serde_json::Map::new();
        let kind = self.below(10);
        let names: &[(&str, i64, i64)] = match kind {
            0 => &[("weekYear", 1999, 2030), ("weekNumber", 1, 53), ("weekday", 1, 7)],
            1 => &[("year", 1999, 2030), ("ordinal", 1, 366)],
            2 => &[("weekday", 1, 7), ("hour", 0, 23)],
            3 => &[("day", 1, 31), ("weekday", 1, 7), ("year", 2020, 2030)],
            _ => &[
                ("year", 1999, 2030),
                ("month", 1, 12),
                ("day", 1, 31),
                ("hour", 0, 24),
                ("minute", 0, 59),
                ("second", 0, 60),
                ("millisecond", 0, 999),
            ],
        };
        for (name, least, most) in names {
            if self.chance(80) {
                let value = match self.below(30) {
                    0 => json!(self.between(-3, 70)),
                    // Weeks with a fraction Luxon calculates with, and weekdays in text never match.
                    1 if kind > 2 && !name.starts_with("week") => json!(self.between(1, 9) as f64 / 2.0),
                    2 if *name != "weekday" => json!(self.between(*least, *most).to_string()),
                    _ => json!(self.between(*least, *most)),
                };
                object.insert((*name).to_owned(), value);
            }
        }
        Json::Object(object)
    }

    pub fn fields(&mut self) -> Case {
        let fields = self.fields_object();
        match self.below(4) {
            0 => self.then(json!([["set", [fields]]])),
            1 => {
                let count = 1 + self.below(7);
                let ranges = [(1, 2030), (0, 13), (0, 31), (0, 24), (0, 60), (0, 60), (0, 999)];
                let mut parts: Vec<Json> = ranges
                    .iter()
                    .take(count as usize)
                    .map(|(least, most)| json!(self.between(*least, *most)))
                    .collect();
                let name = self.pick(&["DateTime.utc", "DateTime.local"]);
                if name == "DateTime.local" {
                    parts.push(json!({ "zone": self.zone() }));
                }
                Case(made(name, parts.into(), json!([])))
            }
            _ => Case(made(
                "DateTime.fromObject",
                json!([fields, { "zone": self.zone() }]),
                json!([]),
            )),
        }
    }

    pub fn read_date(&mut self) -> Case {
        let from = made("DateTime.fromMillis", json!([self.ms().abs()]), json!([]));
        let pattern = self.pick(&[
            "yyyy-MM-dd",
            "yyyy-MM",
            "yyyy",
            "yyyy-MM-dd'T'HH:mm",
            "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'",
            "yyyy-MM-dd'T'HH:mm:ss'+02:00'",
            "yyyy-MM-dd HH:mm:ss",
            "yyyy/MM/dd",
            "yyyy/M/d HH:mm",
            "M/d/yyyy",
            "MM/dd/yyyy hh:mm:ss a",
            "LLL d, yyyy",
            "LLLL d, yyyy HH:mm",
            "d LLL yyyy",
            "EEE, dd LLL yyyy HH:mm:ss 'GMT'",
            "EEE LLL dd yyyy HH:mm:ss 'GMT+0200 (CEST)'",
            "EEE, d LLL yyyy HH:mm:ss ZZZ",
            "d-LLL-yy",
            "yyyy-MM-dd HH:mm:ss.SSS",
            "LLL d yyyy h:mm a 'PST'",
        ]);
        let text = crate::evaluate::text_of(&from, pattern);
        let text = self.damaged(text);
        let name = self.pick(&["Date.parse", "new Date"]);
        Case(made(name, json!([text]), json!([])))
    }
}
