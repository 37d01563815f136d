//! What is asked of somebody who is logged in, by either protocol, and what the answer may be. Knows nothing of whether it is asked in
//! the service or in a process of its own.

use super::imap::{AboutMessage, Afterwards, Imap};
use super::pop::{ListedMessage, Pop, is_id};
use super::wire::MailboxError;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What the end of a message's last line may add to it.
const LINE_END_BYTES: usize = 2;

/// How the messages of a mailbox are told from each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Numbering {
    /// By numbers that grow, as long as this value stays the same; the next message gets this one, if that is known.
    Growing { validity: u32, next: Option<u32> },
    /// By ids, in a list of all of them.
    Ids,
}

/// The mailbox that is opened.
#[derive(Serialize, Deserialize)]
pub(super) struct Selection {
    pub name: String,
    /// Whether messages in it are going to be changed.
    pub is_changed: bool,
}

#[derive(Serialize, Deserialize)]
pub(super) enum Question {
    /// The numbers of messages from this one on that IMAP's criteria find.
    Search { from: u32, criteria: Option<String> },
    /// All messages that have ids.
    List,
    /// What is told of these.
    About(Vec<u32>),
    /// A message, which has at most so many bytes.
    Fetch { number: u32, bytes_max: usize },
    /// What becomes of a message.
    Settle { number: u32, afterwards: Afterwards },
    /// To wait until messages come, for so long at most.
    Wait(Duration),
    /// To end the session.
    End,
}

#[derive(Debug)]
pub(super) enum Answer {
    Found(Vec<u32>),
    Listed(Vec<ListedMessage>),
    About(Vec<AboutMessage>),
    /// `None`: it is gone.
    Message(Option<Vec<u8>>),
    /// Whether messages have come.
    Waited(bool),
    Done,
}

impl Question {
    /// Whether it can be answered with that: whoever answers may be anybody.
    pub fn takes(&self, answer: &Answer) -> bool {
        match (self, answer) {
            (Question::Search { from, .. }, Answer::Found(found)) => {
                found.is_sorted_by(|one, next| one < next) && found.first().is_none_or(|first| first >= from)
            }
            (Question::List, Answer::Listed(listed)) => listed.iter().all(|one| is_id(&one.id)),
            (Question::About(numbers), Answer::About(messages)) => {
                messages.len() <= numbers.len()
                    && messages.iter().all(|about| numbers.contains(&about.number))
            }
            (Question::Fetch { bytes_max, .. }, Answer::Message(message)) => {
                let bytes = message.as_ref().map_or(0, Vec::len);
                bytes <= bytes_max.saturating_add(LINE_END_BYTES)
            }
            (Question::Settle { .. } | Question::End, Answer::Done)
            | (Question::Wait(_), Answer::Waited(_)) => true,
            _ => false,
        }
    }
}

/// Somebody who is logged in.
pub(super) enum Session {
    Imap(Imap),
    Pop(Pop),
}

impl Session {
    /// Opens a mailbox. By POP3 there is one only, which is open.
    pub async fn select(&mut self, selection: &Selection) -> Result<(), MailboxError> {
        match self {
            Session::Imap(imap) => imap.select(&selection.name, selection.is_changed).await,
            Session::Pop(_) => Ok(()),
        }
    }

    /// How the messages of the open mailbox are told from each other.
    pub fn numbering(&self) -> Numbering {
        match self {
            Session::Imap(imap) => Numbering::Growing {
                validity: imap.validity,
                next: imap.next,
            },
            Session::Pop(_) => Numbering::Ids,
        }
    }

    /// Whether the server tells of new messages by itself.
    pub fn can_wait(&self) -> bool {
        match self {
            Session::Imap(imap) => imap.can_wait(),
            Session::Pop(_) => false,
        }
    }

    /// Asks the server. If this is dropped before it is done, the session can't be used any more.
    pub async fn answer(&mut self, question: &Question) -> Result<Answer, MailboxError> {
        match self {
            Session::Imap(imap) => by_imap(imap, question).await,
            Session::Pop(pop) => by_pop(pop, question).await,
        }
    }
}

async fn by_imap(imap: &mut Imap, question: &Question) -> Result<Answer, MailboxError> {
    Ok(match question {
        Question::Search { from, criteria } => Answer::Found(imap.search(*from, criteria.as_deref()).await?),
        Question::List => Answer::Listed(Vec::new()),
        Question::About(numbers) => Answer::About(imap.about(numbers).await?),
        Question::Fetch { number, bytes_max } => Answer::Message(imap.fetch(*number, *bytes_max).await?),
        Question::Settle { number, afterwards } => {
            imap.settle(*number, afterwards).await?;
            Answer::Done
        }
        Question::Wait(time_max) => Answer::Waited(imap.wait(*time_max).await?),
        Question::End => {
            // The server need not hear of it.
            let _ = imap.log_out().await;
            Answer::Done
        }
    })
}

async fn by_pop(pop: &mut Pop, question: &Question) -> Result<Answer, MailboxError> {
    Ok(match question {
        Question::Search { .. } => Answer::Found(Vec::new()),
        Question::List => Answer::Listed(pop.list().await?),
        Question::About(numbers) => Answer::About(about_each(pop, numbers).await?),
        Question::Fetch { number, bytes_max } => Answer::Message(Some(pop.fetch(*number, *bytes_max).await?)),
        Question::Settle { number, afterwards } => {
            match afterwards {
                Afterwards::Leave => {}
                Afterwards::Delete => pop.delete(*number).await?,
                Afterwards::Seen | Afterwards::Move(_) => {
                    return Err(MailboxError::Unfit(
                        "speaks POP3, by which messages stay or are deleted: correct `afterwards`, or use IMAP"
                            .to_owned(),
                    ));
                }
            }
            Answer::Done
        }
        Question::Wait(_) => Answer::Waited(false),
        Question::End => {
            // What was deleted is gone only then.
            pop.quit().await?;
            Answer::Done
        }
    })
}

async fn about_each(pop: &mut Pop, numbers: &[u32]) -> Result<Vec<AboutMessage>, MailboxError> {
    let mut messages = Vec::new();
    for number in numbers {
        messages.push(AboutMessage {
            number: *number,
            bytes: pop.bytes_of(*number).await?,
            received_at: None,
        });
    }
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_to_its_question() {
        let search = Question::Search {
            from: 5,
            criteria: None,
        };
        assert!(search.takes(&Answer::Found(vec![5, 9])) && search.takes(&Answer::Found(Vec::new())));
        for found in [vec![4, 5], vec![9, 5], vec![5, 5]] {
            assert!(!search.takes(&Answer::Found(found)));
        }
        let listed = |id: &str| {
            Answer::Listed(vec![ListedMessage {
                number: 1,
                id: id.to_owned(),
            }])
        };
        assert!(Question::List.takes(&listed("first")));
        assert!(
            !Question::List.takes(&listed("two words")) && !Question::List.takes(&listed(&"x".repeat(71)))
        );
        let told = |number| {
            Answer::About(vec![AboutMessage {
                number,
                bytes: 1,
                received_at: None,
            }])
        };
        assert!(Question::About(vec![1, 2]).takes(&told(2)));
        assert!(!Question::About(vec![1, 2]).takes(&told(3)) && !Question::About(Vec::new()).takes(&told(1)));
        let fetch = Question::Fetch {
            number: 1,
            bytes_max: 10,
        };
        assert!(fetch.takes(&Answer::Message(None)) && fetch.takes(&Answer::Message(Some(vec![0; 12]))));
        assert!(!fetch.takes(&Answer::Message(Some(vec![0; 13]))));
        assert!(!fetch.takes(&Answer::Done) && !Question::End.takes(&Answer::Waited(true)));
    }
}
