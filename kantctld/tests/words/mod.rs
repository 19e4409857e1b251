//! A small machine for tests of the log: a list of words.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]
#![allow(dead_code, reason = "each test uses what it needs")]

use common::id::LogIndex;
use common::rules_level::{TooEarly, UnknownLevel};
use kantctld::raft::Machine;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
pub struct Words {
    pub words: Arc<Mutex<Vec<String>>>,
    pub leading: Arc<Mutex<bool>>,
    pub restored_at: Arc<Mutex<Option<u64>>>,
}

impl Machine for Words {
    type Command = String;
    type Answer = usize;
    type Frozen = String;

    fn command_bytes(command: &String) -> usize {
        command.len()
    }

    fn check_command(&self, _: &String) -> Result<(), TooEarly> {
        Ok(())
    }

    fn check_entry_level(&self, _: &[u8]) -> Result<(), UnknownLevel> {
        Ok(())
    }

    fn check_snapshot_level(&self, _: &[u8]) -> Result<(), UnknownLevel> {
        Ok(())
    }

    fn pack(&mut self, commands: Vec<String>) -> Vec<u8> {
        commands.join("\n").into_bytes()
    }

    fn apply(&mut self, _index: LogIndex, entry: &[u8]) -> Result<Vec<usize>, String> {
        let text = std::str::from_utf8(entry).map_err(|e| e.to_string())?;
        let mut words = self.words.lock().unwrap();
        let mut add = |word: &str| {
            words.push(word.to_owned());
            words.len()
        };
        Ok(text.split('\n').map(&mut add).collect())
    }

    fn freeze(&self) -> String {
        self.words.lock().unwrap().join("\n")
    }

    fn encode_snapshot(words: &String) -> Result<Vec<u8>, String> {
        Ok(words.clone().into_bytes())
    }

    fn checksum(words: &String) -> Result<u32, String> {
        Ok(crc32fast::hash(words.as_bytes()))
    }

    fn restore(&mut self, index: LogIndex, bytes: &[u8]) -> Result<(), String> {
        let text = String::from_utf8(bytes.to_vec()).map_err(|e| e.to_string())?;
        *self.words.lock().unwrap() = text.split('\n').map(str::to_owned).collect();
        *self.restored_at.lock().unwrap() = Some(index.0);
        Ok(())
    }

    fn set_leading(&mut self, leading: bool) {
        *self.leading.lock().unwrap() = leading;
    }
}
