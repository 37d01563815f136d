//! The attacker is a process of its own, with the lowest priority: on one machine its own work would otherwise slow Ann down,
//! which on another machine it doesn't.
//!
//! It reads lines and answers each with one: the server's addresses for HTTP and mail, then `begin NAME` and `end`.

use crate::ATTACKER;
use crate::attack::{Answers, Attack};
use crate::fixture::{Fixture, watched};
use crate::outside::Outside;
use crate::process::Process;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Arc;
use tokio::task::JoinSet;

/// What `nice` is given.
const NICENESS: i32 = 19;

/// The process, from outside.
pub struct Attacker {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

impl Attacker {
    /// Starts it, with the addresses of the services that its patterns call.
    pub fn start() -> (Attacker, String) {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .arg(ATTACKER)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (to, from) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let from = BufReader::new(from);
        let mut attacker = Attacker { child, to, from };
        let outside = attacker.answer();
        (attacker, outside)
    }

    /// Has it make all that its attacks need, at this server, which takes mail at `smtp`.
    pub fn on(mut self, server: SocketAddr, smtp: SocketAddr) -> Attacker {
        self.say(&format!("{server} {smtp}"));
        self
    }

    pub fn begin(&mut self, attack: Attack) {
        self.say(&format!("begin {}", attack.name()));
    }

    /// Ends the attack, and with it all that is left of it; what it was answered.
    pub fn end(&mut self) -> String {
        self.say("end")
    }

    fn say(&mut self, line: &str) -> String {
        writeln!(self.to, "{line}").unwrap();
        self.answer()
    }

    fn answer(&mut self) -> String {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).unwrap();
        assert!(read > 0, "the attacker has ended");
        line.trim().to_owned()
    }
}

impl Drop for Attacker {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process, from inside.
pub async fn serve() {
    rustix::process::nice(NICENESS).unwrap();
    let outside = Outside::start().await;
    println!("{}", outside.addresses());
    let mut lines = std::io::stdin().lines();
    let mut next = move || tokio::task::block_in_place(|| lines.next());
    let places = next().unwrap().unwrap();
    let (server, smtp) = places.split_once(' ').unwrap();
    let process = Process::elsewhere(server.parse().unwrap());
    let fixture = Fixture::new(&process, &outside, smtp.parse().unwrap()).await;
    println!("ready");
    let (mut tasks, mut answers) = (JoinSet::new(), Arc::new(Answers::default()));
    let mut current = Attack::Idle;
    while let Some(Ok(line)) = next() {
        match line.strip_prefix("begin ") {
            Some(name) => {
                current = Attack::named(name).unwrap();
                answers = Arc::default();
                if current == Attack::AtQuotas {
                    fixture.use_up_quotas().await;
                }
                outside.set_on(true);
                watched::resume(&fixture.user, current.watching(&fixture)).await;
                current.begin(&fixture, &answers, &mut tasks);
                println!("begun");
            }
            None => {
                tasks.shutdown().await;
                outside.set_on(false);
                fixture.await_rest().await;
                current.end(&fixture).await;
                println!("{answers}");
            }
        }
    }
}
