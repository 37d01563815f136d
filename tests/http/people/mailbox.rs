//! A mail server that keeps what it gets: as much of SMTP as one sender needs.

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

pub struct Mailbox {
    port: u16,
    letters: mpsc::UnboundedReceiver<Letter>,
}

/// A letter that came.
#[derive(Debug)]
pub struct Letter {
    pub to: String,
    /// Headers and text.
    pub text: String,
}

impl Letter {
    /// What stands after the `#` of its link to this page.
    pub fn secret(&self, page: &str) -> String {
        let (_, rest) = self.text.split_once(&format!("{page}#")).unwrap();
        rest.split_whitespace().next().unwrap().to_owned()
    }
}

impl Mailbox {
    pub async fn open() -> Mailbox {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (sender, letters) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, sender.clone()));
            }
        });
        Mailbox { port, letters }
    }

    /// For the setting `mail_url`.
    pub fn url(&self) -> String {
        format!("smtp://127.0.0.1:{}?tls=none", self.port)
    }

    /// The next letter, which must be for this address.
    pub async fn letter_to(&mut self, address: &str) -> Letter {
        let letter = self.letters.recv().await.unwrap();
        assert_eq!(letter.to, address, "{letter:?}");
        letter
    }

    /// Whether nothing has come that was not taken out.
    pub fn is_empty(&mut self) -> bool {
        self.letters.try_recv().is_err()
    }
}

async fn converse(stream: TcpStream, letters: mpsc::UnboundedSender<Letter>) {
    let (reader, mut writer) = stream.into_split();
    let mut lines = BufReader::new(reader).lines();
    let mut to = String::new();
    writer.write_all(b"220 here\r\n").await.unwrap();
    while let Ok(Some(line)) = lines.next_line().await {
        let verb = line.get(..4).unwrap_or_default().to_ascii_uppercase();
        if verb == "RCPT" {
            to = line.split(['<', '>']).nth(1).unwrap().to_owned();
        }
        let answer: &[u8] = match verb.as_str() {
            "DATA" => b"354 go on\r\n",
            "QUIT" => b"221 bye\r\n",
            _ => b"250 ok\r\n",
        };
        writer.write_all(answer).await.unwrap();
        if verb != "DATA" {
            continue;
        }
        let mut text = String::new();
        while let Ok(Some(line)) = lines.next_line().await {
            if line == "." {
                break;
            }
            // Quoted-printable, as far as letters of ours have it.
            match line.strip_suffix('=') {
                Some(begun) => text.push_str(begun),
                None => {
                    text.push_str(&line);
                    text.push('\n');
                }
            }
        }
        let text = text.replace("=3D", "=");
        let _ = letters.send(Letter { to: to.clone(), text });
        writer.write_all(b"250 taken\r\n").await.unwrap();
    }
}
