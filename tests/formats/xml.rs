//! Xml against saxes, which checks every rule of XML, and against fast-xml-parser, whose form of values is much used.

use crate::oracle::{self, is_error};
use crate::sandbox::{Node, alike};
use serde_json::{Value, json};

/// Documents and what only looks like one; from the rules of XML 1.0 and the namespaces of real documents.
const DOCUMENTS: &[&str] = &[
    "<a/>",
    "<a></a >",
    "<?xml version=\"1.0\" encoding='UTF-8' standalone='yes'?><a/>",
    "<?xml version='1.0'?>\n<!DOCTYPE a [ <!ELEMENT a (#PCDATA)> <!-- > --> ]>\n<a>x</a>\n\n<?end?>",
    "<soap:Envelope xmlns:soap=\"http://www.w3.org/2003/05/soap-envelope\"><soap:Body><m:Get xmlns:m='urn:x'><m:Name>a</m:Name></m:Get></soap:Body></soap:Envelope>",
    "<rss version=\"2.0\"><channel><title>T</title><item><title>1</title></item><item><title>2</title><guid isPermaLink='false'>g</guid></item></channel></rss>",
    "<a>&#x9;&#10;&#13;&#32;x&#8364;&#x1F600;</a>",
    "<a b='&#x9;&#10;x\ty\nz&#13;'/>",
    "<a b=\"'\" c='\"'>'\"</a>",
    "<a>a]]b ]> ></a>",
    "<a><![CDATA[]]></a>",
    "<a><![CDATA[ <x>&amp;]] ]]><![CDATA[>]]></a>",
    "<a>x<!-- - -->y<?p <a>?>z</a>",
    "<a>\u{a0}x\u{a0}</a>",
    "<élan ünï='1'>日本</élan>",
    "<a.b-c_d:e f.g='1'/>",
    "<a\n  b = '1'\n\tc\n=\n'2'\n/>",
    "<a b=''/>",
    "<a>\r\n\r\n1\r2</a>",
    "",
    " ",
    "text",
    "<a",
    "<a>",
    "</a>",
    "<a></b>",
    "<a><b></a></b>",
    "<a/><a/>",
    "<a/>x",
    "x<a/>",
    "<a b/>",
    "<a b=1/>",
    "<a b='1\"/>",
    "<a b='1' b='2'/>",
    "<a b='1'c='2'/>",
    "<a b='<'/>",
    "<a b='&'/>",
    "<a b='&x;'/>",
    "<a>&</a>",
    "<a>&x;</a>",
    "<a>&#;</a>",
    "<a>&#xZ;</a>",
    "<a>&#0;</a>",
    "<a>&#xFFFE;</a>",
    "<a>&#x110000;</a>",
    "<a>&#xD800;</a>",
    "<a>]]></a>",
    "<a><!-- a -- b --></a>",
    "<a><!-- a ---></a>",
    "<a><!- a --></a>",
    "<a><![cdata[x]]></a>",
    "<a><![CDATA[x]></a>",
    " <?xml version='1.0'?><a/>",
    "<a><?xml version='1.0'?></a>",
    "<?xml?><a/>",
    "<?xml encoding='UTF-8'?><a/>",
    "<a><? p?></a>",
    "<a/><!DOCTYPE a>",
    "<!DOCTYPE a><!DOCTYPE a><a/>",
    "<1a/>",
    "<-a/>",
    "< a/>",
    "<a></ a>",
    "<a 1b='2'/>",
    "<a/ >",
    "<a>\u{b}</a>",
    "<a>\u{ffff}</a>",
];

#[tokio::test]
async fn a_strict_parser_reads_and_refuses_the_same() {
    let mut documents: Vec<Value> = DOCUMENTS.iter().map(|text| json!(text)).collect();
    let mut random = oracle::random(1);
    documents.extend(oracle::cases(200).map(|_| Value::from(element(&mut random, 4))));
    // One character of a document changed.
    for _ in oracle::cases(200) {
        let mut text: Vec<char> = element(&mut random, 2).chars().collect();
        let at = random.usize(0..text.len());
        match random.choice(['<', '>', '&', ';', '/', '"', ' ', 'x', '\u{7f}', '!']) {
            Some(character) if random.bool() => text[at] = character,
            _ => drop(text.remove(at)),
        }
        documents.push(text.into_iter().collect::<String>().into());
    }
    let Some(answers) = oracle::ask("xml", &documents) else {
        return;
    };
    let node = Node::new("Xml", json!({}));
    let mut wrong = Vec::new();
    for (document, expected) in documents.iter().zip(answers) {
        let same = match node.run(document).await {
            Ok(value) => !is_error(&expected) && alike(&value) == alike(&expected),
            Err(failure) => is_error(&expected) && failure.starts_with("PARSE: "),
        };
        if !same {
            wrong.push(format!(
                "{document}: {:?}, saxes: {expected}",
                node.run(document).await
            ));
        }
    }
    oracle::assert_none(&wrong);
}

#[tokio::test]
async fn values_have_a_form_that_is_much_used() {
    let mut random = oracle::random(2);
    let mut documents: Vec<Value> = oracle::cases(200)
        .map(|_| Value::from(element(&mut random, 4)))
        .collect();
    documents.extend(DOCUMENTS[4..6].iter().map(|text| json!(text)));
    let Some(answers) = oracle::ask("fastXml", &documents) else {
        return;
    };
    let node = Node::new("Xml", json!({}));
    let mut wrong = Vec::new();
    for (document, expected) in documents.iter().zip(answers) {
        let ours = node.run(document).await;
        if ours.as_ref().map(alike) != Ok(alike(&expected)) {
            wrong.push(format!("{document}: {ours:?}, fast-xml-parser: {expected}"));
        }
    }
    oracle::assert_none(&wrong);
}

#[tokio::test]
async fn what_is_written_is_read_by_others() {
    let mut random = oracle::random(3);
    let read = Node::new("Xml", json!({}));
    let write = Node::new("Xml", json!({"operation": "stringify", "indent": 2}));
    let (mut values, mut written) = (Vec::new(), Vec::new());
    for _ in oracle::cases(150) {
        let value = read.run(&element(&mut random, 4).into()).await.unwrap();
        written.push(write.run(&value).await.unwrap());
        values.push(value);
    }
    let Some(answers) = oracle::ask("xml", &written) else {
        return;
    };
    for ((value, text), expected) in values.iter().zip(&written).zip(answers) {
        assert_eq!(alike(value), alike(&expected), "{text}");
    }
}

/// An element with attributes, text and elements; names repeat.
fn element(random: &mut fastrand::Rng, depth: u32) -> String {
    let name = random.choice(["a", "b", "n:c", "d-e"]).unwrap();
    let mut out = format!("<{name}");
    for attribute in ["x", "n:y"] {
        if random.u32(0..4) == 0 {
            let value = random.choice(["", "1", " é ", "&lt;&amp;", "a&#x20;b"]).unwrap();
            out += &format!(" {attribute}=\"{value}\"");
        }
    }
    // Text on one side of elements only: libraries join the pieces differently.
    out += random
        .choice([">", ">t", "> 1 ", ">\n", "><![CDATA[<&>]]>", ">&quot;&gt;"])
        .unwrap();
    let elements = if depth == 0 { 0 } else { random.u32(0..4) };
    for _ in 0..elements {
        out += &element(random, depth - 1);
        out += random.choice(["", "\n ", "<!-- c -->"]).unwrap();
    }
    out + &format!("</{name}>")
}
