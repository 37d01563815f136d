//! Ordinary messages are read as mail-parser reads them; hostile ones are read or refused, however deep they are.

use super::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A message of parts within parts, as mail programs write them.
fn ordinary(random: &mut StdRng) -> String {
    let mut message = String::from("From: ann@example.org\r\nSubject: x\r\n");
    part(random, &mut message, 0);
    message
}

fn part(random: &mut StdRng, message: &mut String, level: usize) {
    if level < 4 && random.random_ratio(1, 2) {
        let kinds = ["mixed", "alternative", "related", "Report; report-type=x"];
        let kind = kinds[random.random_range(0..kinds.len())];
        let boundary = format!("=_b{level}-{}", random.random::<u32>());
        let spelled = [
            "Content-Type: multipart/",
            "content-type:\r\n MULTIPART/",
            "CONTENT-TYPE : Multipart/",
        ];
        let spelled = spelled[random.random_range(0..spelled.len())];
        message.push_str(&format!(
            "{spelled}{kind};\r\n\tboundary=\"{boundary}\"\r\n\r\nFor old programs.\r\n"
        ));
        for _ in 0..random.random_range(1..4) {
            message.push_str(&format!("--{boundary}\r\n"));
            part(random, message, level + 1);
            message.push_str("\r\n");
        }
        message.push_str(&format!("--{boundary}--\r\n"));
        return;
    }
    let number = random.random_range(1_000..10_000);
    message.push_str(&match random.random_range(0..7) {
        0 => format!("Content-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\nW=E4lder {number}"),
        1 => format!("Content-Type: text/html\r\n\r\n<p>Hello {number}</p>"),
        2 => format!("Content-Type: image/png; name=a.png\r\nContent-Transfer-Encoding: base64\r\n\r\niVBORw0K{number}"),
        3 => format!("Content-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"{number}.pdf\"\r\n\r\n%PDF"),
        4 => format!("Content-Type: text/csv; name=b.csv\r\n\r\na,b,{number}"),
        5 => format!("\r\nJust text {number}"),
        _ => format!("Content-Type: text/plain\r\nContent-Disposition: attachment\r\n\r\nnotes {number}"),
    });
}

#[test]
fn ordinary_messages_are_read_as_the_parser_reads_them() {
    let mut random = StdRng::seed_from_u64(17);
    for _ in 0..2_000 {
        let raw = ordinary(&mut random);
        let ours = Parts::read(raw.as_bytes()).unwrap();
        let theirs = MessageParser::default().parse(raw.as_bytes()).unwrap();
        let trimmed = |text: Option<Cow<'_, str>>| text.map(|text| text.trim_end().to_owned());
        assert_eq!(trimmed(ours.text()), trimmed(theirs.body_text(0)), "{raw}");
        assert_eq!(trimmed(ours.html()), trimmed(theirs.body_html(0)), "{raw}");
        let ours: Vec<_> = ours
            .attachments()
            .map(|part| {
                (
                    part.contents().trim_ascii_end(),
                    part.header.as_ref().and_then(|header| header.attachment_name()),
                )
            })
            .collect();
        let theirs: Vec<_> = theirs
            .attachments()
            .map(|part| (part.contents().trim_ascii_end(), part.attachment_name()))
            .collect();
        assert_eq!(ours, theirs, "{raw}");
    }
}

/// A level around what is within it, in every spelling that might be taken for another.
fn wrapped(random: &mut StdRng, level: usize, message: &mut String) {
    message.push_str(&match random.random_range(0..8) {
        0 => "Content-Type: message/rfc822\r\n\r\n".to_owned(),
        1 => "content-TYPE:\r\n\tMessage (a (b) c)/RFC822\r\n\r\n".to_owned(),
        2 => "Content-Type: message/global\n\n".to_owned(),
        3 => format!("Content-Type: multipart/digest; boundary=d{level}\r\n\r\n--d{level}\r\n\r\n"),
        4 => format!(
            "Content-Type: multipart/mixed; boundary*0=\"m\"; boundary*1={level}\r\n\r\n--m{level}\r\n"
        ),
        5 => format!("Content-Type: multipart/x; boundary=\"a b{level} \"\r\n\r\n--a b{level}   \r\n"),
        6 => format!("Content-Type: multipart/mixed; boundary*=utf-8''m%2d{level}\r\n\r\n--m-{level}\n"),
        _ => format!("A: b\nContent-Type: multipart/related;\r\n boundary=r{level}\r\n\r\n--r{level}\r\n"),
    });
}

#[test]
fn no_depth_is_too_deep() {
    let mut random = StdRng::seed_from_u64(18);
    for levels in [10, 49, 1_000, 40_000] {
        for _ in 0..4 {
            let mut raw = String::from("Subject: x\r\n");
            for level in 0..levels {
                wrapped(&mut random, level, &mut raw);
            }
            raw.push_str("Content-Type: text/plain\r\n\r\nhello\r\n");
            match Parts::read(raw.as_bytes()) {
                Ok(parts) => assert!(parts.parts.len() <= PARTS_MAX),
                Err(refused) => assert_ne!(refused, Refused::NoMessage),
            }
        }
    }
}

#[test]
fn limits_are_named() {
    let refused = |raw: String| {
        Parts::read(raw.as_bytes())
            .err()
            .map(|refused| refused.to_string())
    };
    let header = "Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n";
    let parts = format!("{header}{}", "--b\r\n\r\nx\r\n".repeat(100_000));
    assert_eq!(refused(parts).as_deref(), Some("it has more than 1000 parts"));
    let deep: String = (0..60)
        .map(|level| format!("Content-Type: multipart/mixed; boundary=b{level}\r\n\r\n--b{level}\r\n"))
        .collect();
    assert_eq!(
        refused(deep).as_deref(),
        Some("its parts are nested more than 50 levels deep")
    );
    let fields = format!("{}\r\nhello", "A: b\r\n".repeat(20_000));
    assert_eq!(
        refused(fields).as_deref(),
        Some("it has more than 10000 header fields")
    );
    let folded = format!(
        "Content-Type: text/plain;{}\r\n\r\nx",
        "\r\n a*1=b;".repeat(10_000)
    );
    assert_eq!(
        refused(folded).as_deref(),
        Some("a header field is larger than 16 KiB")
    );
    let long = format!("To: {}\r\n\r\nx", "a@example.org, ".repeat(50_000));
    assert_eq!(
        refused(long).as_deref(),
        Some("a header is larger than 512 KiB, or all together are larger than 2 MiB")
    );
    let spelled = format!("c o n t e n t - x: {}\r\n\r\nx", "y".repeat(20_000));
    assert_eq!(
        refused(spelled).as_deref(),
        Some("a header field is larger than 16 KiB")
    );
    assert_eq!(
        refused(String::new()).as_deref(),
        Some("this is not an RFC 5322 message")
    );
}

#[test]
fn a_message_within_the_message_is_a_file() {
    let raw = "Subject: x\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n--b\r\n\
        Content-Type: message/rfc822\r\n\r\nSubject: inner\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n\
        --c\r\n\r\ninner text\r\n--c--\r\n\r\n--b--\r\n";
    let parts = Parts::read(raw.as_bytes()).unwrap();
    assert_eq!(parts.text().as_deref(), Some("hello"));
    let files: Vec<&[u8]> = parts.attachments().map(Part::contents).collect();
    assert_eq!(files.len(), 1);
    assert!(files[0].starts_with(b"Subject: inner") && files[0].ends_with(b"--c--\r\n"));
}
