//! Csv against Papa Parse.

use crate::oracle;
use crate::sandbox::{Node, alike};
use serde_json::{Value, json};

/// From RFC 4180 and of what spreadsheets write.
const TEXTS: &[&str] = &[
    "aaa,bbb,ccc\r\nzzz,yyy,xxx\r\n",
    "aaa,bbb,ccc\r\nzzz,yyy,xxx",
    "\"aaa\",\"b \r\nbb\",\"ccc\"\r\nzzz,yyy,xxx",
    "\"aaa\",\"b\"\"bb\",\"ccc\"",
    "a,,\n,,\n",
    "a, b ,\" c \"\n",
    "\"\",\"\"\"\",\",\"\n",
    "a\n\n\nb\n",
    "é,😀\n\"日\n本\",x\n",
    "\"a\n\n\nb\",c\r\nd,e",
    "1,2\n",
    "\"a\"",
];

#[tokio::test]
async fn rows_are_read_alike() {
    let mut random = oracle::random(8);
    let mut cases = Vec::new();
    for text in TEXTS {
        cases.push(json!({"text": text, "delimiter": ","}));
    }
    for _ in oracle::cases(150) {
        let delimiter = random.choice([",", ";", "\t", "|"]).unwrap();
        let newline = random.choice(["\n", "\r\n"]).unwrap();
        let rows = (0..random.u32(1..5)).map(|_| {
            let cells: Vec<String> = (0..3).map(|_| quoted(cell(&mut random), &mut random)).collect();
            cells.join(delimiter)
        });
        let text = rows.collect::<Vec<_>>().join(newline);
        cases.push(json!({"text": text, "delimiter": delimiter}));
    }
    let Some(answers) = oracle::ask("csv", &cases) else {
        return;
    };
    let node = Node::new(
        "Csv",
        json!({"header": false, "value": "{{ $input.text }}", "delimiter": "{{ $input.delimiter }}"}),
    );
    for (case, expected) in cases.iter().zip(answers) {
        assert_eq!(node.run(case).await, Ok(expected), "{case}");
    }
}

#[tokio::test]
async fn what_one_writes_the_other_reads() {
    let mut random = oracle::random(9);
    let rows = |random: &mut fastrand::Rng| -> Value {
        let row = |random: &mut fastrand::Rng| json!({"a": cell(random), "b c": cell(random), "\"d\",": "x"});
        (0..random.u32(1..4)).map(|_| row(random)).collect()
    };
    let values: Vec<Value> = oracle::cases(100).map(|_| rows(&mut random)).collect();
    let (read, write) = (
        Node::new("Csv", json!({})),
        Node::new("Csv", json!({"operation": "stringify"})),
    );
    let Some(theirs) = oracle::ask("csvWrite", &values) else {
        return;
    };
    let mut ours = Vec::new();
    for (value, text) in values.iter().zip(theirs) {
        assert_eq!(
            read.run(&text).await.as_ref().map(alike),
            Ok(alike(value)),
            "{text}"
        );
        ours.push(json!({"text": write.run(value).await.unwrap(), "delimiter": ","}));
    }
    for ((value, text), table) in values.iter().zip(&ours).zip(oracle::ask("csv", &ours).unwrap()) {
        let first = json!(["a", "b c", "\"d\","]);
        let rows = value.as_array().unwrap().iter();
        let rows = rows.map(|row| row.as_object().unwrap().values().cloned().collect::<Value>());
        assert_eq!(
            table,
            [first].into_iter().chain(rows).collect::<Value>(),
            "{text}"
        );
    }
}

fn cell(random: &mut fastrand::Rng) -> String {
    let cells = [
        "",
        "a",
        "1.5",
        "x,y",
        "x;y",
        "t\tu",
        "say \"hi\"",
        "two\nlines",
        "\r\n",
        " padded ",
        "é😀",
        "|",
        "\"",
        "'",
    ];
    random.choice(cells).unwrap().to_owned()
}

/// Quoted where it must be, and sometimes where it need not.
fn quoted(cell: String, random: &mut fastrand::Rng) -> String {
    match cell.contains([',', ';', '\t', '|', '"', '\n', '\r']) || random.u32(0..3) == 0 || cell.is_empty() {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell,
    }
}
