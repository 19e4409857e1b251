//! What a controller reads of its log and from other controllers: messages of the consensus
//! library, the files of the log, snapshots, backups.

use common::id::{ClusterId, ControllerId, LogIndex};
use common::rules_level::{RulesLevel, RulesLevels, TooEarly, UnknownLevel};
use replica::{Bootstrap, Machine, Replica, ReplicaConfig, SNAPSHOT_BYTES_MIN};
use wal::{Disk, DiskFile, Entry, HardState, Index, MemDisk, Options, Recovered, Snapshot};
use wal::{Term, Wal};

/// A machine that accepts everything.
struct NoState;

impl Machine for NoState {
    type Command = Vec<u8>;
    type Answer = ();
    type Frozen = ();

    fn command_bytes(command: &Vec<u8>) -> usize {
        command.len()
    }

    fn pack(&mut self, commands: Vec<Vec<u8>>) -> Vec<u8> {
        commands.concat()
    }

    fn apply(&mut self, _: LogIndex, _: &[u8]) -> Result<Vec<()>, String> {
        Ok(Vec::new())
    }

    fn check_command(&self, _: &Vec<u8>) -> Result<(), TooEarly> {
        Ok(())
    }

    fn check_entry_level(&self, entry: &[u8]) -> Result<(), UnknownLevel> {
        check(entry)
    }

    fn check_snapshot_level(&self, bytes: &[u8]) -> Result<(), UnknownLevel> {
        check(bytes)
    }

    fn freeze(&self) {}

    fn checksum((): &()) -> Result<u32, String> {
        Ok(0)
    }

    fn encode_snapshot((): &()) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn restore(&mut self, _: LogIndex, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    fn set_leading(&mut self, _: bool) {}
}

/// Some entries are of a level that this machine does not know.
fn check(bytes: &[u8]) -> Result<(), UnknownLevel> {
    let known = RulesLevels { oldest: RulesLevel::FIRST, newest: RulesLevel::FIRST };
    match bytes.first() {
        Some(0xff) => Err(UnknownLevel { needs: RulesLevel(0xff), known }),
        _ => Ok(()),
    }
}

/// Gives a new follower messages, each after its length in two bytes, with a tick after each.
pub fn raft_message(bytes: &[u8]) {
    let replica_config = ReplicaConfig {
        id: ControllerId(1),
        cluster: ClusterId(7),
        bootstrap: Bootstrap::Join,
        snapshot_every: 100,
        snapshot_bytes_min: SNAPSHOT_BYTES_MIN,
        compare_every: 2,
        seed: 1,
        options: small_segments(),
    };
    let mut replica = Replica::<_, _, ()>::open(MemDisk::new(), &replica_config, NoState).unwrap();
    // The whole input as one message, as the golden files are.
    if replica.step(bytes).is_err() || settle(&mut replica).is_err() {
        return;
    }
    let mut rest = bytes;
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length)).min(after.len());
        let (message, after) = after.split_at(length);
        rest = after;
        // An error ends the process: this log would not be what it promised.
        if replica.step(message).is_err() || settle(&mut replica).is_err() {
            return;
        }
        if replica.tick().is_err() {
            return;
        }
    }
}

fn settle(replica: &mut Replica<NoState, MemDisk, ()>) -> Result<(), replica::LogError> {
    while let replica::Settled::Sending = replica.process_ready()? {
        replica.take_outbox();
    }
    replica.take_outbox();
    Ok(())
}

const fn small_segments() -> Options {
    Options { segment_bytes: Options::SEGMENT_BYTES_MIN, salt: 3, memory_bytes: 1 << 16 }
}

/// The length of one change of a file: its number, the offset, the kind of change, a byte.
const CHANGE_BYTES: usize = 5;

/// Damages the files of a good log, and opens it. The log is refused, or opens again as the same.
/// An input that begins like a segment or a snapshot replaces that file.
pub fn wal_recovery(bytes: &[u8]) {
    let disk = sample_log();
    match bytes {
        [b'K', b'A', b'N', b'T', b'L', ..] => write(&disk, "log-00000000000000000001", bytes),
        [b'K', b'A', b'N', b'T', ..] => write(&disk, "snapshot-00000000000000000004", bytes),
        _ => bytes.chunks_exact(CHANGE_BYTES).for_each(|change| damage(&disk, change)),
    }
    disk.restart();
    let Some(first) = opened(&disk) else { return };
    disk.restart();
    let again = opened(&disk).unwrap_or_else(|| panic!("it opened only once"));
    assert_eq!(first.0.last_index, again.0.last_index);
    assert_eq!(first.1, again.1, "other entries than at the first start");
}

/// A log of several segments with a snapshot.
fn sample_log() -> MemDisk {
    let disk = MemDisk::new();
    let (mut wal, _) = Wal::open(disk.clone(), small_segments()).unwrap();
    for index in 1..=12 {
        let payload = vec![index as u8; 40];
        let entry = Entry { index: Index(index), term: Term(1 + index / 5), payload };
        let hard_state = HardState { commit: Index(index - 1), payload: vec![2; 8] };
        wal.append(vec![entry], Some(hard_state)).unwrap();
        wal.sync().unwrap();
    }
    let payload = vec![9; 60];
    wal.save_snapshot(&Snapshot { index: Index(4), term: Term(1), payload }).unwrap();
    disk
}

fn damage(disk: &MemDisk, change: &[u8]) {
    let mut names = disk.list().unwrap();
    names.sort();
    let [number, low, high, kind, value] = *change else { return };
    if names.is_empty() {
        return;
    }
    let name = &names[usize::from(number) % names.len()];
    let mut content = disk.content(name).unwrap();
    let offset = usize::from(u16::from_le_bytes([low, high]));
    if content.is_empty() {
        return;
    }
    let at = offset % content.len();
    match kind % 4 {
        0 => content[at] ^= value.max(1),
        1 => content.truncate(at),
        2 => content[at..].fill(0),
        _ => return disk.remove(name).unwrap(),
    }
    write(disk, name, &content);
}

fn write(disk: &MemDisk, name: &str, bytes: &[u8]) {
    let file = disk.create(name).unwrap();
    file.write_at(0, bytes).unwrap();
    file.sync().unwrap();
    disk.sync_dir().unwrap();
}

fn opened(disk: &MemDisk) -> Option<(Recovered, Vec<Entry>)> {
    let (wal, recovered) = Wal::open(disk.clone(), small_segments()).ok()?;
    let all = wal.entries(recovered.first_index, recovered.last_index.next(), u64::MAX).unwrap();
    let all = all.into_iter().map(std::borrow::Cow::into_owned).collect();
    Some((recovered, all))
}

/// Opens a replica from a snapshot with this payload.
pub fn raft_snapshot(bytes: &[u8]) {
    let disk = MemDisk::new();
    let (mut wal, _) = Wal::open(disk.clone(), small_segments()).unwrap();
    let snapshot = Snapshot { index: Index(4), term: Term(1), payload: bytes.to_vec() };
    if wal.install_snapshot(&snapshot).is_err() {
        return;
    }
    drop(wal);
    disk.restart();
    let replica_config = ReplicaConfig {
        id: ControllerId(1),
        cluster: ClusterId(7),
        bootstrap: Bootstrap::None,
        snapshot_every: 100,
        snapshot_bytes_min: SNAPSHOT_BYTES_MIN,
        compare_every: 2,
        seed: 1,
        options: small_segments(),
    };
    if let Ok(mut replica) = Replica::<_, _, ()>::open(disk, &replica_config, NoState) {
        let _ = settle(&mut replica);
        let _ = replica.tick();
    }
}

/// Reads a state; what is read can be written and read again.
pub fn state_snapshot(bytes: &[u8]) {
    let mut whole = b"kantstat".to_vec();
    whole.extend_from_slice(&u32::from(state::LEVELS.newest.0).to_le_bytes());
    whole.extend_from_slice(bytes);
    for bytes in [bytes, &whole] {
        if let Ok(state) = state::persist::from_bytes(bytes) {
            let written = state::persist::to_bytes(&state).unwrap();
            assert!(state::persist::from_bytes(&written).is_ok());
        }
    }
}

/// Reads a backup whose checksum is right: the length of its head in the first byte, then head and
/// state.
pub fn backup(bytes: &[u8]) {
    let _ = kantctld::backup::from_bytes(bytes);
    let mut whole = b"kantback".to_vec();
    whole.extend_from_slice(&1_u32.to_le_bytes());
    if let Some((length, rest)) = bytes.split_first() {
        whole.extend_from_slice(&u32::from(*length).to_le_bytes());
        whole.extend_from_slice(rest);
    }
    whole.extend_from_slice(&crc32fast::hash(&whole).to_le_bytes());
    let _ = kantctld::backup::from_bytes(&whole);
}
