//! Senders of mail who mean harm: what a mail server says to the built-in SMTP listener, spoilt. The server lives, replies to all of
//! it, keeps its memory within bounds, and takes the next message.

use crate::port;
use crate::server::Server;
use crate::spoiler::{Spoiler, cases};
use serde_json::json;
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::Duration;

/// By which the server's memory may grow, in KiB: a few messages at a time, each of which is a MiB or two.
const GROWTH_KIB_MAX: u64 = 256 << 10;
/// Senders at a time.
const TOGETHER: u64 = 4;
/// A session in which nothing moves for so long has failed.
const SILENCE_MAX: Duration = Duration::from_secs(50);

/// Right messages, with what a reader of mail has to take apart.
const MESSAGES: [&str; 4] = [
    "From: =?utf-8?q?=C3=84nne?= <ann@example.org>
Subject: =?iso-8859-1?b?R3L832U=?= =?utf-8?q?and_more?=
References: <a@example.org> <b@example.org>
Date: Thu, 1 Jan 2026 00:00:00 +0100

..stuffed
Hi
",
    "From: ann@example.org
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=\"outer\"

--outer
Content-Type: multipart/alternative; boundary=inner

--inner
Content-Type: text/plain; charset=utf-8
Content-Transfer-Encoding: quoted-printable

Gr=C3=BC=C3=9Fe=
!
--inner
Content-Type: text/html; charset=windows-1252

<p>Hi</p>
--inner--
--outer
Content-Type: application/pdf; name*0*=utf-8''a%20; name*1=b.pdf
Content-Disposition: attachment; filename*=utf-8''%C3%BC.pdf
Content-Transfer-Encoding: base64

aGV5aGV5aGV5aGV5
--outer--
",
    "From: Group: ann@example.org, \"B, ob\" <bob@example.org>;
Content-Type: message/rfc822

Subject: within
Content-Type: multipart/mixed; boundary=b

--b
Content-Type: message/rfc822

Subject: deeper

Hi
--b--
",
    "From: ann@example.org
Content-Type: text/plain; charset=\"shift_jis\"; format=flowed
Content-Transfer-Encoding: base64

g2WDWINng2WDWINn
",
];

/// A session, piece by piece: the envelope, then each section of the message.
fn session(address: &str, number: u64) -> Vec<Vec<u8>> {
    let message = MESSAGES[usize::try_from(number).unwrap() % MESSAGES.len()];
    let message =
        format!("To: {address}\nMessage-ID: <{number}@example.org>\n{message}").replace('\n', "\r\n");
    let mut pieces = vec![
        "EHLO example.org\r\n".to_owned(),
        "MAIL FROM:<ann@example.org> SIZE=1000 BODY=8BITMIME\r\n".to_owned(),
        format!("RCPT TO:<{address}>\r\n"),
        "DATA\r\n".to_owned(),
    ];
    pieces.extend(message.split_inclusive("\r\n\r\n").map(str::to_owned));
    pieces.extend([".\r\n".to_owned(), "QUIT\r\n".to_owned()]);
    pieces.into_iter().map(String::into_bytes).collect()
}

/// What is replied to this, said in one go.
fn converse(place: SocketAddr, said: &[u8]) -> Vec<u8> {
    let stream = TcpStream::connect(place).unwrap();
    stream.set_read_timeout(Some(SILENCE_MAX)).unwrap();
    stream.set_write_timeout(Some(SILENCE_MAX)).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            // It may hang up before it has heard everything.
            let _ = (&stream).write_all(said);
            let _ = stream.shutdown(Shutdown::Write);
        });
        let mut heard = Vec::new();
        if let Err(error) = (&stream).read_to_end(&mut heard) {
            // Whoever hangs up with something unheard resets the connection.
            assert!(
                !matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut),
                "{error}"
            );
        }
        heard
    })
}

/// One spoilt session; whether it was one.
fn case(place: SocketAddr, address: &str, number: u64) -> bool {
    let pieces = session(address, number);
    let mut spoiler = Spoiler::new(number, pieces.len());
    let said: Vec<u8> = pieces
        .into_iter()
        .flat_map(|piece| spoiler.spoil(piece))
        .collect();
    let heard = String::from_utf8(converse(place, &said)).unwrap();
    for line in heard.lines() {
        let is_reply = line.len() >= 3 && line.bytes().take(3).all(|byte| byte.is_ascii_digit());
        assert!(is_reply, "case {number}: {line}");
    }
    spoiler.has_spoilt()
}

/// The most memory that the server has had, in KiB.
fn memory_peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.process.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap().trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn whatever_senders_of_mail_say_the_server_replies_and_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let place = SocketAddr::from(([127, 0, 0, 1], port::free()));
    let mut server = Server::start(dir.path(), &[("HEDDLE_SMTP_LISTEN", &place.to_string())]);
    let graph =
        json!({"nodes": [{"id": "mail", "type": "OnEmail", "data": {"parameters": {}}}], "edges": []});
    let (token, deployment) = server.deploy(&graph);
    let deployment = format!("/api/deployments/{deployment}");
    let (_, one) = server.call("GET", &deployment, &token, "");
    let address = one["data"]["emailEndpoints"][0]["address"]
        .as_str()
        .unwrap()
        .to_owned();
    let (before, count) = (memory_peak(&server), cases(300));
    let spoilt: usize = std::thread::scope(|scope| {
        let senders: Vec<_> = (0..TOGETHER)
            .map(|first| {
                let address = address.as_str();
                let numbers = (first..count).step_by(usize::try_from(TOGETHER).unwrap());
                scope.spawn(move || numbers.filter(|number| case(place, address, *number)).count())
            })
            .collect();
        senders.into_iter().map(|sender| sender.join().unwrap()).sum()
    });
    // Otherwise most cases would try nothing.
    assert!(spoilt as u64 * 10 >= count * 8, "{spoilt} of {count} are spoilt");
    let grown = memory_peak(&server).saturating_sub(before);
    assert!(grown < GROWTH_KIB_MAX, "{grown} KiB");
    assert!(server.process.try_wait().unwrap().is_none());
    let total = || {
        let (_, runs) = server.call("GET", &format!("{deployment}/runs?limit=1"), &token, "");
        runs["meta"]["total"].as_u64().unwrap()
    };
    let accepted = total();
    let said = session(&address, count).concat();
    let heard = String::from_utf8(converse(place, &said)).unwrap();
    assert!(heard.contains("250 2.0.0 Message accepted"), "{heard}");
    assert_eq!(total(), accepted + 1);
}
