//! Changes of zone, comparisons, durations, texts for people, and dates.

use super::{Case, Generator, made};
use serde_json::{Value as Json, json};

impl Generator {
    pub fn zone_change(&mut self) -> Case {
        let zone = match self.below(12) {
            0 => json!("No/Where"),
            1 => json!(self.between(-700, 700)),
            2 => json!("default"),
            3 => json!("europe/prague"),
            _ => json!(self.zone()),
        };
        let keep = json!({ "keepLocalTime": self.chance(50) });
        let call = match self.below(6) {
            0 => json!(["toUTC", [self.between(-12, 12) * 30, keep]]),
            1 => json!(["toUTC", []]),
            2 => json!(["toLocal", []]),
            _ => json!(["setZone", [zone, keep]]),
        };
        self.then(json!([call]))
    }

    pub fn comparison(&mut self) -> Case {
        let other = self.instant();
        let call = match self.below(4) {
            0 => json!(["equals", [other]]),
            _ => json!(["hasSame", [other, self.unit()]]),
        };
        let near = self.between(-100, 100) * 3_600_000;
        match self.chance(50) {
            true => self.then(json!([call])),
            false => {
                let mut case = other.clone();
                case["calls"] = json!([["plus", [near]], [call[0], [other, call[1].get(1)]]]);
                Case(case)
            }
        }
    }

    pub fn relative(&mut self) -> Case {
        let method = self.pick(&["toRelative", "toRelativeCalendar"]);
        let mut options = json!({});
        if self.chance(60) {
            options["base"] = self.instant();
        }
        if self.chance(30) {
            options["unit"] = json!(self.pick(&["years", "months", "weeks", "days", "hours", "minutes"]));
        }
        if self.chance(20) {
            options["style"] = json!("short");
        }
        if self.chance(20) && method == "toRelative" {
            options["padding"] = json!(self.between(0, 100_000));
        }
        let near = crate::NOW_MS as i64 + self.between(-100_000, 100_000) * 1000;
        let ms = if self.chance(50) { near } else { self.ms() };
        let make = json!([ms, { "zone": self.zone() }]);
        Case(made("DateTime.fromMillis", make, json!([[method, [options]]])))
    }

    pub fn duration_case(&mut self) -> Case {
        let object = self.units_object();
        let mut case = match self.below(8) {
            0 => {
                let text = crate::evaluate::text_of_duration(&object);
                let text = self.damaged(text);
                made("Duration.fromISO", json!([text]), json!([]))
            }
            1 => made(
                "Duration.fromMillis",
                json!([self.between(-1_000_000_000, 1_000_000_000)]),
                json!([]),
            ),
            2 => {
                let time = self.iso_time();
                made("Duration.fromISOTime", json!([time]), json!([]))
            }
            3 => made(
                "Duration.fromObject",
                json!([object, { "conversionAccuracy": "longterm" }]),
                json!([]),
            ),
            _ => made("Duration.fromObject", json!([object]), json!([])),
        };
        let (a, b, c) = (self.unit(), self.unit(), self.unit());
        let other = self.units_object();
        case["calls"] = json!([match self.below(16) {
            0 => json!(["plus", [other]]),
            1 => json!(["minus", [other]]),
            2 => json!(["negate", []]),
            3 => json!(["normalize", []]),
            4 => json!(["rescale", []]),
            5 => json!(["shiftToAll", []]),
            6 | 7 => json!(["shiftTo", [a, b, c]]),
            8 | 9 => json!(["as", [a]]),
            10 => json!(["toISO", []]),
            11 => json!(["toMillis", []]),
            12 => json!([
                "toFormat",
                [self.pick(&["hh:mm:ss", "d 'days' h:mm", "y-MM-dd", "S", "m.ss.SSS", "w"])]
            ]),
            13 => json!(["toISOTime", []]),
            14 => json!(["@hours", []]),
            _ => json!(["equals", [made("Duration.fromObject", json!([other]), json!([]))]]),
        }]);
        Case(case)
    }

    pub(super) fn people_options(&mut self) -> Json {
        let styles: &[(&str, &[&str])] = &[
            ("weekday", &["short", "long"]),
            ("year", &["numeric", "2-digit"]),
            ("month", &["numeric", "2-digit", "short", "long"]),
            ("day", &["numeric", "2-digit"]),
            ("hour", &["numeric", "2-digit"]),
            ("minute", &["numeric", "2-digit"]),
            ("second", &["numeric", "2-digit"]),
        ];
        let sets: &[&[usize]] = &[
            &[1, 2, 3],
            &[0, 1, 2, 3],
            &[1, 2],
            &[2, 3],
            &[0, 2, 3],
            &[2],
            &[0],
            &[4, 5],
            &[4, 5, 6],
            &[4],
            &[1, 2, 3, 4, 5],
            &[0, 1, 2, 3, 4, 5, 6],
            &[2, 3, 4, 5],
        ];
        let mut options = serde_json::Map::new();
        if self.chance(25) {
            let style = |generator: &mut Self| json!(generator.pick(&["full", "long", "medium", "short"]));
            if self.chance(75) {
                options.insert("dateStyle".into(), style(self));
            }
            if self.chance(50) {
                options.insert("timeStyle".into(), json!(self.pick(&["medium", "short"])));
            }
            return Json::Object(options);
        }
        for index in self.pick(sets) {
            let (name, values) = styles[*index];
            options.insert(name.to_owned(), json!(self.pick(values)));
        }
        if self.chance(30) && options.contains_key("hour") {
            match self.chance(50) {
                true => options.insert("hour12".into(), json!(false)),
                false => options.insert("hourCycle".into(), json!(self.pick(&["h23", "h12"]))),
            };
        }
        Json::Object(options)
    }

    pub fn for_people(&mut self) -> Case {
        let presets = [
            "DATE_SHORT",
            "DATE_MED",
            "DATE_MED_WITH_WEEKDAY",
            "DATE_FULL",
            "DATE_HUGE",
            "TIME_SIMPLE",
            "TIME_WITH_SECONDS",
            "TIME_WITH_SHORT_OFFSET",
            "TIME_24_SIMPLE",
            "TIME_24_WITH_SECONDS",
            "DATETIME_SHORT",
            "DATETIME_SHORT_WITH_SECONDS",
            "DATETIME_MED",
            "DATETIME_MED_WITH_SECONDS",
            "DATETIME_MED_WITH_WEEKDAY",
            "DATETIME_FULL",
            "DATETIME_FULL_WITH_SECONDS",
        ];
        // Offsets for which Luxon takes another zone, with another name, are left out.
        let zone = self.pick(&[
            "utc",
            "Europe/Prague",
            "America/New_York",
            "America/Los_Angeles",
            "Asia/Kolkata",
        ]);
        // The names of zones begin in 1970.
        let ms = self.ms().abs();
        let call = match self.below(5) {
            0 => json!(["toLocaleString", []]),
            1 => json!(["toLocaleString", [{ "preset": self.pick(&presets) }]]),
            2 => json!(["toLocaleString", [self.people_options(), { "locale": "en-GB" }]]),
            3 => {
                let method = self.pick(&["toLocaleString", "toLocaleDateString", "toLocaleTimeString"]);
                let locale = self.pick(&["en-US", "en-GB"]);
                let arguments = match self.below(4) {
                    0 => json!([]),
                    1 => json!([locale]),
                    _ => json!([locale, self.people_options()]),
                };
                return Case(made("new Date", json!([ms]), json!([[method, arguments]])));
            }
            _ => json!(["toLocaleString", [self.people_options()]]),
        };
        Case(made(
            "DateTime.fromMillis",
            json!([ms, { "zone": zone }]),
            json!([call]),
        ))
    }

    pub fn date(&mut self) -> Case {
        let mut case = match self.below(4) {
            0 => {
                let ranges = [
                    (-1, 2030),
                    (-3, 20),
                    (-40, 70),
                    (-30, 50),
                    (-70, 90),
                    (-9, 90),
                    (-9, 2000),
                ];
                let count = 2 + self.below(6) as usize;
                let parts: Vec<Json> = ranges
                    .iter()
                    .take(count)
                    .map(|(least, most)| json!(self.between(*least, *most)))
                    .collect();
                made(self.pick(&["new Date", "Date.UTC"]), parts.into(), json!([]))
            }
            1 => made("new Date", json!([self.instant()]), json!([])),
            2 if self.chance(20) => made("new Date", json!(["no date"]), json!([])),
            _ => made("new Date", json!([self.ms()]), json!([])),
        };
        if case["make"][0] == "Date.UTC" {
            return Case(case);
        }
        let part = self.pick(&[
            "FullYear",
            "Month",
            "Date",
            "Hours",
            "Minutes",
            "Seconds",
            "Milliseconds",
        ]);
        let utc = self.pick(&["", "UTC"]);
        case["calls"] = json!([match self.below(4) {
            0 => json!([format!("get{utc}{part}"), []]),
            1 => {
                let most = if part == "FullYear" { 2030 } else { 70 };
                let count = if part == "Milliseconds" || part == "Date" {
                    1
                } else {
                    1 + self.below(2)
                };
                let arguments: Vec<Json> = (0..count).map(|_| json!(self.between(-40, most))).collect();
                json!([format!("set{utc}{part}"), arguments])
            }
            _ => json!([
                self.pick(&[
                    "toISOString",
                    "toJSON",
                    "toString",
                    "toDateString",
                    "toTimeString",
                    "toUTCString",
                    "getTime",
                    "valueOf",
                    "getDay",
                    "getUTCDay",
                    "getTimezoneOffset",
                ]),
                []
            ]),
        }]);
        Case(case)
    }
}
