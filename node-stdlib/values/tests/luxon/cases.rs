//! Cases: `{make: [name, arguments], calls: [[method, arguments]]}`, a method that begins with `@` being a property.
//! Arguments are JSON, `{make, calls}` for what a case gives, or `{preset}`.

mod others;
mod texts;

use serde_json::{Value as Json, json};
use std::fmt;

/// One case.
#[derive(Clone, Debug)]
pub struct Case(pub Json);

impl serde::Serialize for Case {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fn arguments(node: &Json) -> String {
            let values = node.as_array().unwrap().iter();
            values.map(argument).collect::<Vec<_>>().join(", ")
        }
        fn argument(node: &Json) -> String {
            match node.get("make") {
                Some(_) => Case(node.clone()).to_string(),
                None => node.to_string(),
            }
        }
        let make = &self.0["make"];
        write!(f, "{}({})", make[0].as_str().unwrap(), arguments(&make[1]))?;
        for call in self.0["calls"].as_array().unwrap() {
            let method = call[0].as_str().unwrap();
            match method.strip_prefix('@') {
                Some(property) => write!(f, ".{property}")?,
                None => write!(f, ".{method}({})", arguments(&call[1]))?,
            }
        }
        Ok(())
    }
}

const ZONES: &[&str] = &[
    "utc",
    "Europe/Prague",
    "America/New_York",
    "America/Los_Angeles",
    "Asia/Kolkata",
    "Asia/Tokyo",
    "Australia/Lord_Howe",
    "Australia/Sydney",
    "America/Sao_Paulo",
    "Africa/Cairo",
    "Pacific/Apia",
    "America/St_Johns",
    "Asia/Kathmandu",
    "UTC+5:30",
    "UTC-8",
    "utc+1",
    "Europe/London",
];

/// Instants at and near changes of the clock in those zones, and other odd ones.
const EDGES_MS: &[i64] = &[
    1_774_746_000_000,
    1_792_890_000_000,
    1_772_953_200_000,
    1_793_512_800_000,
    1_743_260_400_000,
    1_325_239_200_000,
    1_325_152_800_000,
    951_782_400_000,
    1_709_164_800_000,
    946_684_799_999,
    0,
    -1,
    1_735_689_599_999,
    1_767_225_600_000,
    1_775_316_600_000,
    1_791_041_400_000,
    4_102_444_800_000,
];

const UNITS: &[&str] = &[
    "years",
    "quarters",
    "months",
    "weeks",
    "days",
    "hours",
    "minutes",
    "seconds",
    "milliseconds",
];

pub const TOKENS: &[&str] = &[
    "S", "SSS", "u", "uu", "uuu", "s", "ss", "m", "mm", "h", "hh", "H", "HH", "Z", "ZZ", "ZZZ", "z", "a",
    "d", "dd", "c", "ccc", "cccc", "ccccc", "E", "EEE", "EEEE", "EEEEE", "L", "LL", "LLL", "LLLL", "LLLLL",
    "M", "MM", "MMM", "MMMM", "MMMMM", "y", "yy", "yyyy", "yyyyyy", "G", "GG", "GGGGG", "kk", "kkkk", "W",
    "WW", "n", "nn", "ii", "iiii", "o", "ooo", "q", "qq", "X", "x", "D", "DD", "DDD", "DDDD", "t", "tt", "T",
    "TT", "f", "ff", "F", "FF", "YYYY", "DDDDD", "sss", "e", "Q",
];

/// Makes cases, always the same ones for a seed.
pub struct Generator(u64);

impl Generator {
    pub fn new(seed: &str) -> Self {
        let fold = |state: u64, byte: u8| (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Generator(seed.bytes().fold(0xcbf2_9ce4_8422_2325, fold))
    }

    /// SplitMix64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    pub(super) fn between(&mut self, least: i64, most: i64) -> i64 {
        least + i64::try_from(self.below(u64::try_from(most - least + 1).unwrap())).unwrap()
    }

    pub(super) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    pub(super) fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    pub(super) fn zone(&mut self) -> &'static str {
        self.pick(ZONES)
    }

    pub(super) fn ms(&mut self) -> i64 {
        let edge = EDGES_MS[usize::try_from(self.below(EDGES_MS.len() as u64)).unwrap()];
        match self.below(4) {
            0 => edge + self.between(-7_200_000, 7_200_000),
            1 => edge + self.between(-3, 3) * 1_800_000,
            2 => edge + self.between(-40, 40) * 86_400_000,
            _ => self.between(0, 2_600_000_000_000),
        }
    }

    pub(super) fn instant(&mut self) -> Json {
        let (ms, zone) = (self.ms(), self.zone());
        made("DateTime.fromMillis", json!([ms, { "zone": zone }]), json!([]))
    }

    pub(super) fn then(&mut self, calls: Json) -> Case {
        let mut case = self.instant();
        case["calls"] = calls;
        Case(case)
    }

    pub(super) fn unit(&mut self) -> String {
        let unit = self.pick(UNITS);
        match self.below(4) {
            0 => unit.trim_end_matches('s').to_owned(),
            1 => unit.to_uppercase(),
            _ => unit.to_owned(),
        }
    }

    pub(super) fn amount(&mut self) -> Json {
        match self.below(10) {
            0 => json!(self.between(-40, 40) as f64 / 4.0),
            1 => json!(self.between(-900, 900)),
            2 => json!(self.between(-30, 30).to_string()),
            _ => json!(self.between(-30, 30)),
        }
    }

    pub(super) fn units_object(&mut self) -> Json {
        let mut object = serde_json::Map::new();
        for _ in 0..=self.below(3) {
            let (unit, amount) = (self.pick(UNITS).to_owned(), self.amount());
            object.insert(unit, amount);
        }
        Json::Object(object)
    }

    pub fn arithmetic(&mut self) -> Case {
        let method = self.pick(&["plus", "minus"]);
        let operand = match self.below(8) {
            0 => json!(self.between(-100_000_000, 100_000_000)),
            1 => made("Duration.fromObject", json!([self.units_object()]), json!([])),
            _ => self.units_object(),
        };
        self.then(json!([[method, [operand]]]))
    }

    pub fn start_or_end(&mut self) -> Case {
        let method = self.pick(&["startOf", "endOf"]);
        let unit = self.unit();
        self.then(json!([[method, [unit]]]))
    }

    pub fn difference(&mut self) -> Case {
        let other = self.instant();
        let first = self.unit();
        let units = match self.below(3) {
            0 => json!(first),
            1 => json!([first, self.unit()]),
            _ => json!([first, self.unit(), self.unit(), self.unit()]),
        };
        let mut calls = vec![match self.chance(25) {
            true => json!(["diff", [other, units, { "conversionAccuracy": "longterm" }]]),
            false => json!(["diff", [other, units]]),
        }];
        if self.chance(30) {
            calls.push(json!(["as", [self.pick(UNITS)]]));
        }
        self.then(calls.into())
    }

    pub(super) fn pattern(&mut self, tokens: &[&str]) -> String {
        let mut pattern = String::new();
        for _ in 0..=self.below(5) {
            pattern.push_str(self.pick(tokens));
            pattern.push_str(self.pick(&["-", " ", "/", ":", ", ", "'T'", "' at '", "''", ".", " '' ", "_"]));
        }
        pattern.push_str(self.pick(tokens));
        pattern
    }

    pub fn format(&mut self) -> Case {
        let pattern = self.pattern(TOKENS);
        self.then(json!([["toFormat", [pattern]]]))
    }

    pub fn getter(&mut self) -> Case {
        let property = self.pick(&[
            "year",
            "quarter",
            "month",
            "day",
            "hour",
            "minute",
            "second",
            "millisecond",
            "weekday",
            "weekNumber",
            "weekYear",
            "weeksInWeekYear",
            "localWeekday",
            "localWeekNumber",
            "localWeekYear",
            "ordinal",
            "daysInMonth",
            "daysInYear",
            "isInLeapYear",
            "isInDST",
            "isOffsetFixed",
            "isWeekend",
            "zoneName",
            "offset",
            "offsetNameShort",
            "monthShort",
            "monthLong",
            "weekdayShort",
            "weekdayLong",
            "isValid",
            "invalidReason",
        ]);
        let call = json!([format!("@{property}"), []]);
        match self.chance(5) {
            true => Case(made("DateTime.fromISO", json!(["no date"]), json!([call]))),
            false => self.then(json!([call])),
        }
    }

    pub fn standard_text(&mut self) -> Case {
        let flag = |generator: &mut Self| generator.chance(50);
        let method = self.pick(&[
            "toISO",
            "toISO",
            "toISOTime",
            "toISODate",
            "toISOWeekDate",
            "toSQL",
            "toSQLDate",
            "toSQLTime",
            "toHTTP",
            "toRFC2822",
            "toString",
            "toJSON",
            "toMillis",
            "toSeconds",
            "toUnixInteger",
            "toObject",
            "toJSDate",
        ]);
        let mut options = json!({
            "suppressMilliseconds": flag(self),
            "suppressSeconds": flag(self),
            "includeOffset": flag(self),
            "includePrefix": flag(self),
            "format": self.pick(&["basic", "extended"]),
        });
        if self.chance(30) {
            options["precision"] = json!(self.pick(&["year", "months", "day", "hour", "minute", "seconds"]));
        }
        if method.starts_with("toSQL") {
            options = json!({"includeOffset": flag(self), "includeZone": flag(self), "includeOffsetSpace": flag(self)});
        }
        let arguments = if self.chance(60) {
            json!([options])
        } else {
            json!([])
        };
        let arguments = if method == "toObject" {
            json!([])
        } else {
            arguments
        };
        self.then(json!([[method, arguments]]))
    }
}

fn made(name: &str, arguments: Json, calls: Json) -> Json {
    json!({ "make": [name, arguments], "calls": calls })
}
