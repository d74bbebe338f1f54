//! Values that the interface allows in two shapes.

use serde::{Deserialize, Serialize};

/// What to run: a line for the shell, or words that are run without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Command {
    Shell(String),
    Words(Vec<String>),
}

impl std::fmt::Display for Command {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Command::Shell(line) => f.write_str(line),
            Command::Words(words) => f.write_str(&words.join(" ")),
        }
    }
}

impl From<&str> for Command {
    fn from(line: &str) -> Self {
        Command::Shell(line.into())
    }
}

impl From<&String> for Command {
    fn from(line: &String) -> Self {
        Command::Shell(line.clone())
    }
}

impl From<String> for Command {
    fn from(line: String) -> Self {
        Command::Shell(line)
    }
}

impl From<Vec<String>> for Command {
    fn from(words: Vec<String>) -> Self {
        Command::Words(words)
    }
}

impl From<&[&str]> for Command {
    fn from(words: &[&str]) -> Self {
        Command::Words(words.iter().map(|w| w.to_string()).collect())
    }
}

impl<const N: usize> From<[&str; N]> for Command {
    fn from(words: [&str; N]) -> Self {
        Command::from(&words[..])
    }
}

/// An answer about one thing, or a list when several were asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum OneOrMany<T> {
    Many(Vec<T>),
    One(T),
}

impl<T> OneOrMany<T> {
    pub fn into_vec(self) -> Vec<T> {
        match self {
            OneOrMany::Many(all) => all,
            OneOrMany::One(one) => vec![one],
        }
    }
}
